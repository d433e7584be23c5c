//! Rows of a view as tables.

use softib_subnet::view::{
    Counter, DropRow, GroupRow, InterfaceRow, ManagerRow, NeighbourRow, NodeRow, PathRow,
    PortCounterRow,
};

use super::table;

pub(super) fn fabric(nodes: &[NodeRow]) -> String {
    let header = [
        "node", "kind", "port", "lid", "state", "physical", "speed", "mtu", "peer", "cable", "guid",
    ];
    let rows = nodes.iter().flat_map(|node| {
        node.ports.iter().map(|port| {
            [
                node.name.clone(),
                node.kind.clone(),
                port.port.to_string(),
                lid(port.lid),
                port.state.clone(),
                port.phys_state.clone(),
                port.speed.clone(),
                port.mtu.to_string(),
                port.peer.clone().unwrap_or_else(none),
                port.impairment.clone().unwrap_or_default(),
                port.guid.clone(),
            ]
        })
    });
    table(&header, rows)
}

pub(super) fn interfaces(rows: &[InterfaceRow]) -> String {
    let header = [
        "host",
        "interface",
        "mtu",
        "mode",
        "pkey",
        "qp",
        "addresses",
        "state",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            [
                row.host.clone(),
                row.name.clone(),
                row.mtu.to_string(),
                row.mode.clone(),
                row.pkey.clone(),
                row.qpn.clone(),
                row.addresses.join(" "),
                interface_state(row),
            ]
        }),
    )
}

/// Whether an interface runs, and if not why.
pub(super) fn interface_state(row: &InterfaceRow) -> String {
    match (row.up, row.carrier, &row.reason) {
        (_, true, _) if row.ready => "runs".to_owned(),
        (_, true, _) => "has carrier, makes sure of its addresses".to_owned(),
        (_, false, Some(reason)) => format!("no carrier: {reason}"),
        (false, false, None) => "set down".to_owned(),
        (true, false, None) => "no carrier".to_owned(),
    }
}

pub(super) fn manager(row: &ManagerRow) -> String {
    let node = row
        .node
        .clone()
        .unwrap_or_else(|| "none: `sm` of the lab says so".to_owned());
    let lines = [
        ("node", node),
        ("state", row.state.clone()),
        ("port guid", row.guid.clone()),
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
        ("last heavy sweep", format!("{:.3} ms", row.last_sweep_ms)),
        ("SMPs sent", row.smps.to_string()),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        text.push_str(&format!("{name:<17} {value}\n"));
    }
    if !row.events.is_empty() {
        text.push_str("events\n");
    }
    for event in &row.events {
        text.push_str(&format!("  {event}\n"));
    }
    text
}

pub(super) fn groups(rows: &[GroupRow]) -> String {
    let header = [
        "mgid", "ip", "mlid", "pkey", "qkey", "mtu", "rate", "members",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            [
                row.mgid.clone(),
                row.ip.clone().unwrap_or_else(none),
                row.mlid.clone(),
                row.pkey.clone(),
                row.qkey.clone(),
                row.mtu.to_string(),
                row.rate.clone(),
                row.members.join(", "),
            ]
        }),
    )
}

pub(super) fn paths(rows: &[PathRow]) -> String {
    let header = [
        "host",
        "interface",
        "to",
        "dgid",
        "dlid",
        "sl",
        "mtu",
        "rate",
        "state",
        "hops",
    ];
    table(
        &header,
        rows.iter().map(|row| {
            [
                row.host.clone(),
                row.interface.clone(),
                row.to.clone().unwrap_or_else(none),
                row.dgid.clone(),
                lid(row.dlid),
                row.sl.to_string(),
                row.mtu.to_string(),
                row.rate.clone(),
                row.state.clone(),
                row.hops.join(" "),
            ]
        }),
    )
}

pub(super) fn neighbours(rows: &[NeighbourRow]) -> String {
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
            [
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

/// One line a counter that is not zero: most are.
pub(super) fn counters(rows: &[PortCounterRow]) -> String {
    let lines = rows.iter().flat_map(|row| {
        row.counters
            .iter()
            .filter(|counter| counter.value != 0)
            .map(|counter| {
                [
                    format!("{}[{}]", row.node, row.port),
                    counter.name.clone(),
                    counter.value.to_string(),
                ]
            })
    });
    table(&["port", "counter", "value"], lines)
}

pub(super) fn drops(rows: &[DropRow]) -> String {
    if rows.iter().all(|row| row.count == 0) {
        return "nothing has been dropped\n".to_owned();
    }
    table(
        &["place", "count", "reason", "meaning"],
        rows.iter().filter(|row| row.count != 0).map(|row| {
            [
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
