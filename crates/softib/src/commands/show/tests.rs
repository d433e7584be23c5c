//! How a view looks as tables.

use softib_subnet::view::{Counter, DropRow, InterfaceRow, NodeRow, PortRow};

use super::*;

fn interface(host: &str, carrier: bool, reason: Option<&str>) -> InterfaceRow {
    InterfaceRow {
        host: host.to_owned(),
        name: "ib0".to_owned(),
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
            guid: "0x0002c90100000001".to_owned(),
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
        "HOST  INTERFACE  MTU   MODE      PKEY    QP        ADDRESSES    STATE\n\
         h1    ib0        2044  datagram  0xffff  0x000040  10.0.0.1/24  runs\n\
         h2    ib0        2044  datagram  0xffff  0x000040  10.0.0.1/24  no carrier: no subnet manager\n"
    );
}

#[test]
fn ports_without_lid_have_none() {
    assert_eq!(
        tables::fabric(&[node()]),
        "NODE  KIND  PORT  LID  STATE  PHYSICAL  SPEED   MTU   PEER   CABLE    GUID\n\
         h1    host  1     -    Init   LinkUp    4x EDR  2048  s1[3]  loss 1%  0x0002c90100000001\n"
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
            guid: String::new(),
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
