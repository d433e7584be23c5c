//! Rows of a view as tables.

use softib_subnet::view::{
    Counter, DropRow, GroupRow, InterfaceRow, ManagerRow, MemberRow, NeighbourRow, NodeRow,
    PathRow, PortCounterRow, PortRow, RoutesView,
};

use super::table;

/// A row a port; those of a switch that nothing is plugged into share one.
pub(super) fn fabric(nodes: &[NodeRow]) -> String {
    let mut header = vec![
        "node", "kind", "port", "lid", "state", "speed", "mtu", "peer", "guid",
    ];
    let mut rows: Vec<_> = nodes.iter().flat_map(port_rows).collect();
    if rows.iter().any(|row| !row[CABLE].is_empty()) {
        header.push("cable");
    } else {
        for row in &mut rows {
            row.truncate(CABLE);
        }
    }
    table(&header, rows)
}

/// The column that says what a cable does to packets, left out where no cable does anything.
const CABLE: usize = 9;

fn port_rows(node: &NodeRow) -> Vec<Vec<String>> {
    let alike = |a: &PortRow, b: &PortRow| {
        let free = |port: &PortRow| port.port != 0 && port.peer.is_none();
        node.kind == "switch" && free(a) && free(b) && port_state(a) == port_state(b)
    };
    let row = |ports: &[PortRow]| {
        let (first, last) = (ports.first()?, ports.last()?);
        Some(vec![
            node.name.clone(),
            node.kind.clone(),
            if first.port == last.port {
                first.port.to_string()
            } else {
                format!("{}-{}", first.port, last.port)
            },
            lid(first.lid),
            port_state(first),
            first.speed.clone(),
            first.mtu.to_string(),
            first.peer.clone().unwrap_or_else(none),
            first.guid.clone().unwrap_or_else(none),
            first.impairment.clone().unwrap_or_default(),
        ])
    };
    node.ports.chunk_by(alike).filter_map(row).collect()
}

/// The logical state, and the physical one where it says more: a port with a link is `LinkUp`.
fn port_state(port: &PortRow) -> String {
    if port.phys_state == "LinkUp" {
        port.state.clone()
    } else {
        format!("{}/{}", port.state, port.phys_state)
    }
}

/// A row an interface, and below a line for each that does not run.
pub(super) fn interfaces(rows: &[InterfaceRow]) -> String {
    let header = [
        "host",
        "interface",
        "state",
        "mtu",
        "pkey",
        "qp",
        "addresses",
    ];
    let mut text = table(
        &header,
        rows.iter().map(|row| {
            vec![
                row.host.clone(),
                row.interface.clone(),
                short_state(row).to_owned(),
                row.mtu.to_string(),
                row.pkey.clone(),
                row.qpn.clone(),
                row.addresses.join(" "),
            ]
        }),
    );
    let mut gap = "\n";
    for row in rows.iter().filter(|row| row.reason.is_some()) {
        let (host, interface) = (&row.host, &row.interface);
        text.push_str(&format!(
            "{gap}{host}:{interface}: {}\n",
            interface_state(row)
        ));
        gap = "";
    }
    text
}

const fn short_state(row: &InterfaceRow) -> &'static str {
    match (row.up, row.carrier) {
        (_, true) if row.ready => "runs",
        (_, true) => "starting",
        (true, false) => "no carrier",
        (false, false) => "down",
    }
}

/// Whether an interface runs, and if not why.
pub(super) fn interface_state(row: &InterfaceRow) -> String {
    let state = short_state(row);
    match &row.reason {
        Some(reason) if !row.ready => format!("{state}, {reason}"),
        _ => state.to_owned(),
    }
}

pub(super) fn manager(row: &ManagerRow) -> String {
    let Some(node) = &row.node else {
        return "no subnet manager: `sm` of the lab says \"none\"\n".to_owned();
    };
    let mut lines = vec![
        ("node", node.clone()),
        ("state", row.state.clone()),
        ("port guid", row.guid.clone().unwrap_or_else(none)),
        ("lid", lid(row.lid)),
        ("priority", row.priority.to_string()),
        (
            "nodes",
            format!("{}, {} of them switches", row.nodes, row.switches),
        ),
        (
            "sweeps",
            format!("{} heavy, {} light", row.heavy_sweeps, row.light_sweeps),
        ),
    ];
    // On cables without delay nothing takes time.
    if row.last_sweep_ms > 0.0 {
        lines.push(("last heavy sweep", format!("{:.3} ms", row.last_sweep_ms)));
    }
    lines.push(("SMPs sent", row.smps.to_string()));
    let mut text = String::new();
    for (name, value) in lines {
        text.push_str(&format!("{name:<17} {value}\n"));
    }
    if !row.events.is_empty() {
        text.push_str("latest events\n");
    }
    for row in &row.events {
        text.push_str(&format!("{:11.3} s  {}\n", row.seconds, row.event));
    }
    text
}

pub(super) fn groups(rows: &[GroupRow]) -> String {
    if rows.is_empty() {
        return "there is no multicast group\n".to_owned();
    }
    let header = [
        "mgid", "ip", "mlid", "pkey", "qkey", "mtu", "gb/s", "members",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            vec![
                row.mgid.clone(),
                row.ip.clone().unwrap_or_else(none),
                row.mlid.clone(),
                row.pkey.clone(),
                row.qkey.clone(),
                row.mtu.to_string(),
                row.rate.to_string(),
                members(&row.members),
            ]
        }),
    )
}

/// Full members by their names alone: most are.
fn members(rows: &[MemberRow]) -> String {
    let name = |row: &MemberRow| {
        if row.state == "full" {
            row.port.clone()
        } else {
            format!("{} ({})", row.port, row.state)
        }
    };
    rows.iter().map(name).collect::<Vec<_>>().join(", ")
}

pub(super) fn paths(rows: &[PathRow]) -> String {
    if rows.is_empty() {
        return "no interface has asked for a path yet\n".to_owned();
    }
    let header = [
        "host",
        "interface",
        "to",
        "dgid",
        "dlid",
        "sl",
        "mtu",
        "gb/s",
        "state",
        "hops",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            vec![
                row.host.clone(),
                row.interface.clone(),
                row.to.clone().unwrap_or_else(none),
                row.dgid.clone(),
                lid(row.dlid),
                row.sl.to_string(),
                row.mtu.to_string(),
                row.rate.map_or_else(none, |rate| rate.to_string()),
                row.state.clone(),
                row.hops.join(" "),
            ]
        }),
    )
}

/// A row a LID, unicast ones first.
pub(super) fn routes(view: &RoutesView) -> String {
    if view.unicast.is_empty() && view.multicast.is_empty() {
        return "the switch's forwarding tables are empty\n".to_owned();
    }
    let unicast = view.unicast.iter().map(|row| {
        vec![
            row.lid.to_string(),
            row.to.clone().unwrap_or_else(none),
            row.port.to_string(),
            row.peer.clone().unwrap_or_else(none),
        ]
    });
    let multicast = view.multicast.iter().map(|row| {
        let ports: Vec<_> = row.ports.iter().map(u8::to_string).collect();
        vec![
            row.mlid.clone(),
            row.group.clone().unwrap_or_else(none),
            ports.join(" "),
        ]
    });
    let mut text = table(&["lid", "to", "port", "peer"], unicast);
    if !view.multicast.is_empty() {
        text.push('\n');
        text.push_str(&table(&["mlid", "group", "ports"], multicast));
    }
    text
}

pub(super) fn neighbours(rows: &[NeighbourRow]) -> String {
    if rows.is_empty() {
        return "no interface knows a neighbour yet\n".to_owned();
    }
    let header = [
        "host",
        "interface",
        "ip",
        "state",
        "age",
        "hardware address",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            vec![
                row.host.clone(),
                row.interface.clone(),
                row.ip.clone(),
                row.state.clone(),
                format!(
                    "{:.1} s",
                    std::time::Duration::from_millis(row.age_ms).as_secs_f64()
                ),
                row.hardware_address.clone().unwrap_or_else(none),
            ]
        }),
    )
}

/// Columns of [`counters`].
const FIGURES: [&str; 6] = [
    "xmit_pkts",
    "rcv_pkts",
    "xmit_data",
    "rcv_data",
    "multicast_xmit_pkts",
    "multicast_rcv_pkts",
];

/// A row a port that counted anything. Traffic has columns; of the others those that are not zero are
/// named, as mostly none is.
pub(super) fn counters(rows: &[PortCounterRow]) -> String {
    let header = [
        "port",
        "xmit_pkts",
        "rcv_pkts",
        "xmit_data",
        "rcv_data",
        "mc_xmit",
        "mc_rcv",
        "others",
    ];
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.counters.iter().any(|counter| counter.value != 0))
        .map(|row| {
            let mut cells = vec![format!("{}[{}]", row.node, row.port)];
            cells.extend(FIGURES.map(|name| {
                let found = row.counters.iter().find(|counter| counter.name == name);
                found.map_or(0, |counter| counter.value).to_string()
            }));
            let others = row.counters.iter().filter(|counter| {
                // What is no multicast is unicast.
                let name = counter.name.as_str();
                counter.value != 0 && !FIGURES.contains(&name) && !name.starts_with("unicast")
            });
            let others = others.map(|counter| format!("{} {}", counter.name, counter.value));
            cells.push(others.collect::<Vec<_>>().join(", "));
            cells
        })
        .collect();
    if rows.is_empty() {
        return "nothing has been counted\n".to_owned();
    }
    table(&header, rows)
}

pub(super) fn drops(rows: &[DropRow]) -> String {
    if rows.iter().all(|row| row.count == 0) {
        return "nothing has been dropped\n".to_owned();
    }
    table(
        &["place", "count", "reason", "meaning"],
        rows.iter().filter(|row| row.count != 0).map(|row| {
            vec![
                row.place.clone(),
                row.count.to_string(),
                row.reason.clone(),
                row.meaning.clone(),
            ]
        }),
    )
}

pub(super) fn named(counters: &[Counter]) -> String {
    counters
        .iter()
        .filter(|counter| counter.value != 0)
        .map(|counter| format!("  {:<24} {}\n", counter.name, counter.value))
        .collect()
}

fn lid(lid: u16) -> String {
    if lid == 0 { none() } else { lid.to_string() }
}

fn none() -> String {
    "-".to_owned()
}
