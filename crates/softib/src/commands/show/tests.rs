//! How a view looks as tables.

use softib_subnet::view::{Counter, DropRow, InterfaceRow, NodeRow, PortCounterRow, PortRow};

use super::*;

fn interface(host: &str, carrier: bool, reason: Option<&str>) -> InterfaceRow {
    InterfaceRow {
        host: host.to_owned(),
        interface: "ib0".to_owned(),
        up: true,
        carrier,
        ready: carrier,
        reason: reason.map(str::to_owned),
        mode: "datagram".to_owned(),
        mtu: 2044,
        pkey: "0xffff".to_owned(),
        qpn: "0x000040".to_owned(),
        hardware_address: "00:00".to_owned(),
        addresses: vec!["10.0.0.1/24".to_owned()],
        counters: vec![
            Counter {
                name: "rx_packets".to_owned(),
                value: 3,
            },
            Counter {
                name: "rx_errors".to_owned(),
                value: 0,
            },
        ],
    }
}

fn node() -> NodeRow {
    NodeRow {
        name: "h1".to_owned(),
        kind: "host".to_owned(),
        guid: "0x0002c90100000000".to_owned(),
        ports: vec![PortRow {
            port: 1,
            guid: Some("0x0002c90100000001".to_owned()),
            lid: 0,
            state: "Init".to_owned(),
            phys_state: "LinkUp".to_owned(),
            speed: "4x EDR".to_owned(),
            mtu: 2048,
            pkeys: vec!["0xffff".to_owned()],
            peer: Some("s1[3]".to_owned()),
            impairment: Some("loss 1%".to_owned()),
        }],
    }
}

#[test]
fn interfaces_say_why_they_do_not_run() {
    let rows = [
        interface("h1", true, None),
        interface("h2", false, Some("no subnet manager")),
    ];
    assert_eq!(
        tables::interfaces(&rows),
        "HOST  INTERFACE  STATE       MTU   PKEY    QP        ADDRESSES\n\
         h1    ib0        runs        2044  0xffff  0x000040  10.0.0.1/24\n\
         h2    ib0        no carrier  2044  0xffff  0x000040  10.0.0.1/24\n\
         \n\
         h2:ib0: no carrier, no subnet manager\n"
    );
}

#[test]
fn ports_without_lid_have_none() {
    assert_eq!(
        tables::fabric(&[node()]),
        "NODE  KIND  PORT  LID  STATE  SPEED   MTU   PEER   GUID                CABLE\n\
         h1    host  1     -    Init   4x EDR  2048  s1[3]  0x0002c90100000001  loss 1%\n"
    );
}

#[test]
fn free_ports_of_a_switch_share_a_row() {
    let port = |port, peer: Option<&str>| PortRow {
        port,
        guid: None,
        lid: 0,
        state: if peer.is_some() { "Active" } else { "Down" }.to_owned(),
        phys_state: if peer.is_some() { "LinkUp" } else { "Polling" }.to_owned(),
        speed: "4x EDR".to_owned(),
        mtu: 4096,
        pkeys: Vec::new(),
        peer: peer.map(str::to_owned),
        impairment: None,
    };
    let switch = NodeRow {
        name: "s1".to_owned(),
        kind: "switch".to_owned(),
        guid: "0x0002c90000000001".to_owned(),
        ports: vec![
            port(1, Some("h1[1]")),
            port(2, None),
            port(3, None),
            port(4, Some("h2[1]")),
            port(5, None),
        ],
    };
    assert_eq!(
        tables::fabric(&[switch]),
        "NODE  KIND    PORT  LID  STATE         SPEED   MTU   PEER   GUID\n\
         s1    switch  1     -    Active        4x EDR  4096  h1[1]  -\n\
         s1    switch  2-3   -    Down/Polling  4x EDR  4096  -      -\n\
         s1    switch  4     -    Active        4x EDR  4096  h2[1]  -\n\
         s1    switch  5     -    Down/Polling  4x EDR  4096  -      -\n"
    );
}

#[test]
fn traffic_has_columns_and_other_counters_names() {
    let row = |port, counters: &[(&str, u64)]| PortCounterRow {
        node: "s1".to_owned(),
        port,
        counters: counters
            .iter()
            .map(|&(name, value)| Counter {
                name: name.to_owned(),
                value,
            })
            .collect(),
    };
    let rows = [
        row(0, &[("xmit_pkts", 0)]),
        row(
            1,
            &[
                ("xmit_pkts", 5),
                ("unicast_xmit_pkts", 3),
                ("multicast_xmit_pkts", 2),
                ("symbol_errors", 0),
                ("xmit_discards", 7),
                ("vl15_dropped", 1),
            ],
        ),
    ];
    assert_eq!(
        tables::counters(&rows),
        "PORT   XMIT_PKTS  RCV_PKTS  XMIT_DATA  RCV_DATA  MC_XMIT  MC_RCV  OTHERS\n\
         s1[1]  5          0         0          0         2        0       xmit_discards 7, vl15_dropped 1\n"
    );
}

#[test]
fn drops_that_never_happened_are_not_shown() {
    let row = |count| DropRow {
        place: "s1[3]".to_owned(),
        reason: "no-route".to_owned(),
        meaning: "The table has no port for the LID.".to_owned(),
        count,
    };
    assert_eq!(tables::drops(&[row(0)]), "nothing has been dropped\n");
    assert_eq!(
        tables::drops(&[row(0), row(2)]),
        "PLACE  COUNT  REASON    MEANING\n\
         s1[3]  2      no-route  The table has no port for the LID.\n"
    );
}

#[test]
fn a_host_is_shown_with_what_is_its_own() {
    let mut drops = Vec::new();
    for place in ["h1[1]", "h1/ib0", "h11/ib0", "s1[1]"] {
        drops.push(DropRow {
            place: place.to_owned(),
            reason: "r".to_owned(),
            meaning: String::new(),
            count: 1,
        });
    }
    let view = SubnetView {
        nodes: vec![node()],
        interfaces: vec![interface("h1", true, None), interface("h11", true, None)],
        manager: softib_subnet::view::ManagerRow {
            node: None,
            state: String::new(),
            guid: None,
            lid: 0,
            priority: 0,
            heavy_sweeps: 0,
            light_sweeps: 0,
            nodes: 0,
            switches: 0,
            last_sweep_ms: 0.0,
            smps: 0,
            events: Vec::new(),
        },
        groups: Vec::new(),
        paths: Vec::new(),
        neighbours: Vec::new(),
        counters: Vec::new(),
        drops,
    };
    assert!(host::HostView::new(&view, "s1").is_none());
    let text = host::HostView::new(&view, "h1").unwrap().text();
    assert!(text.contains("ib0: runs, MTU 2044"), "{text}");
    assert!(text.contains("rx_packets               3\n"), "{text}");
    assert!(
        !text.contains("rx_errors") && !text.contains("h11") && !text.contains("s1[1]"),
        "{text}"
    );
    assert!(text.contains("h1/ib0") && text.contains("h1[1]"), "{text}");
}

#[test]
fn routes_are_two_tables() {
    let mut view = RoutesView {
        switch: "s1".to_owned(),
        unicast: vec![softib_subnet::view::UnicastRouteRow {
            lid: 3,
            to: Some("h2".to_owned()),
            port: 2,
            peer: Some("h2[1]".to_owned()),
        }],
        multicast: vec![softib_subnet::view::MulticastRouteRow {
            mlid: "0xc000".to_owned(),
            group: Some("broadcast".to_owned()),
            ports: vec![1, 2],
        }],
    };
    assert_eq!(
        tables::routes(&view),
        "LID  TO  PORT  PEER\n\
         3    h2  2     h2[1]\n\
         \n\
         MLID    GROUP      PORTS\n\
         0xc000  broadcast  1 2\n"
    );
    view.unicast.clear();
    view.multicast.clear();
    assert_eq!(
        tables::routes(&view),
        "the switch's forwarding tables are empty\n"
    );
}
