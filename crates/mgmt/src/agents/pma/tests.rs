use proptest::prelude::*;

use super::*;
use crate::agents::fake::FakeNode;

const PORTS: u8 = 2;

/// An adapter whose port 1 has counted.
fn node() -> FakeNode {
    let mut node = FakeNode::adapter();
    node.counters.insert(
        1,
        Counters {
            symbol_errors: 7,
            link_downed: 300,
            local_link_integrity_errors: 20,
            qp1_dropped: 5,
            transmit_data: 1 << 33,
            receive_data: 1000,
            receive_packets: 10,
            transmit_wait: 9,
            unicast_receive_packets: 6,
            multicast_receive_packets: 4,
            ..Counters::default()
        },
    );
    node
}

fn ask<A: Attribute>(pma: &mut Pma, node: &FakeNode, method: u8, attribute: &A) -> (MadStatus, A) {
    let request = PerfMad::request(method, 77, attribute).to_bytes();
    let answer = pma.handle_mad(node, PORTS, &request).expect("an answer");
    let answer = PerfMad::parse(&answer).expect("whole");
    assert_eq!(answer.header.method, method::GET_RESP);
    assert_eq!(answer.header.transaction_id, 77);
    (answer.header.status, A::parse(&answer.data).expect("whole"))
}

fn classic(port_select: u8) -> PortCounters {
    PortCounters {
        port_select,
        ..PortCounters::default()
    }
}

fn extended(port_select: u8) -> PortCountersExtended {
    PortCountersExtended {
        port_select,
        ..PortCountersExtended::default()
    }
}

#[test]
fn it_says_what_it_can_do() {
    let (status, info) = ask(
        &mut Pma::new(),
        &node(),
        method::GET,
        &ClassPortInfo::default(),
    );
    assert_eq!(status, MadStatus::OK);
    assert_eq!((info.base_version, info.class_version), (1, 1));
    // What perfquery asks for before it asks for all ports, or for 64 bits.
    assert_eq!(info.capability_mask & 0x100, 0x100);
    assert_eq!(info.capability_mask & 0x200, 0x200);
    assert_eq!(info.capability_mask & 0x1000, 0x1000);
}

#[test]
fn counters_stop_at_their_largest_value() {
    let (status, counters) = ask(&mut Pma::new(), &node(), method::GET, &classic(1));
    assert_eq!(status, MadStatus::OK);
    assert_eq!(counters.port_select, 1);
    assert_eq!(counters.symbol_errors, 7);
    assert_eq!(counters.link_downed, 255);
    assert_eq!(counters.local_link_integrity_errors, 15);
    assert_eq!(counters.transmit_data, u32::MAX);
    assert_eq!(counters.receive_data, 1000);
    assert_eq!((counters.qp1_dropped, counters.transmit_wait), (5, 9));

    let (_, counters) = ask(&mut Pma::new(), &node(), method::GET, &extended(1));
    assert_eq!(counters.transmit_data, 1 << 33);
    assert_eq!(counters.unicast_receive_packets, 6);
    assert_eq!(counters.multicast_receive_packets, 4);
}

#[test]
fn a_set_clears_what_it_selects() {
    let (mut pma, mut node) = (Pma::new(), node());
    let clear = PortCounters {
        counter_select: CounterSelect::SYMBOL_ERRORS | CounterSelect::TRANSMIT_DATA,
        counter_select2: CounterSelect2::QP1_DROPPED,
        ..classic(1)
    };
    let (status, counters) = ask(&mut pma, &node, method::SET, &clear);
    assert_eq!(status, MadStatus::OK);
    assert_eq!(
        (
            counters.symbol_errors,
            counters.transmit_data,
            counters.qp1_dropped
        ),
        (0, 0, 0)
    );
    assert_eq!(
        (counters.receive_data, counters.transmit_wait),
        (1000, 9),
        "not selected"
    );

    let port = node.counters.get_mut(&1).expect("port 1");
    port.symbol_errors += 2;
    port.transmit_data += 50;
    let (_, counters) = ask(&mut pma, &node, method::GET, &classic(1));
    assert_eq!((counters.symbol_errors, counters.transmit_data), (2, 50));
    let (_, counters) = ask(&mut pma, &node, method::GET, &extended(1));
    assert_eq!(
        counters.transmit_data,
        (1 << 33) + 50,
        "the others are others"
    );

    let clear = PortCountersExtended {
        counter_select: ExtendedCounterSelect::TRANSMIT_DATA
            | ExtendedCounterSelect::UNICAST_RECEIVE_PACKETS,
        ..extended(1)
    };
    let (_, counters) = ask(&mut pma, &node, method::SET, &clear);
    assert_eq!(
        (counters.transmit_data, counters.unicast_receive_packets),
        (0, 0)
    );
    assert_eq!(
        (counters.receive_data, counters.multicast_receive_packets),
        (1000, 4)
    );
    assert_eq!(
        pma.port_counters(&node, 1).expect("port 1").transmit_data,
        50
    );
    assert_eq!(
        pma.port_counters_extended(&node, 1)
            .expect("port 1")
            .transmit_data,
        0
    );
}

#[test]
fn a_set_can_also_set() {
    let (mut pma, mut node) = (Pma::new(), node());
    let set = PortCounters {
        counter_select: CounterSelect::all(),
        symbol_errors: 0xFFF0,
        receive_packets: 5,
        ..classic(1)
    };
    let (_, counters) = ask(&mut pma, &node, method::SET, &set);
    assert_eq!(
        (counters.symbol_errors, counters.receive_packets),
        (0xFFF0, 5)
    );
    node.counters.get_mut(&1).expect("port 1").symbol_errors += 100;
    let (_, counters) = ask(&mut pma, &node, method::GET, &classic(1));
    assert_eq!(counters.symbol_errors, 0xFFFF);
}

#[test]
fn port_255_is_all_ports() {
    let (mut pma, mut node) = (Pma::new(), node());
    node.counters.get_mut(&2).expect("port 2").receive_data = 11;
    let (status, counters) = ask(&mut pma, &node, method::GET, &classic(ALL_PORTS));
    assert_eq!((status, counters.port_select), (MadStatus::OK, ALL_PORTS));
    assert_eq!(counters.receive_data, 1011);
    assert_eq!(counters.transmit_data, u32::MAX);

    let clear = PortCounters {
        counter_select: CounterSelect::RECEIVE_DATA,
        ..classic(ALL_PORTS)
    };
    let (_, counters) = ask(&mut pma, &node, method::SET, &clear);
    assert_eq!(counters.receive_data, 0);
    let (_, counters) = ask(&mut pma, &node, method::GET, &classic(2));
    assert_eq!(counters.receive_data, 0);
    let (_, counters) = ask(&mut pma, &node, method::GET, &extended(ALL_PORTS));
    assert_eq!(counters.receive_data, 1011);
}

/// What is wrong with a request, and what it is answered with.
type Wrong = (fn(&mut MadHeader), MadStatus);

#[test]
fn what_is_not_there_is_refused() {
    let (mut pma, node) = (Pma::new(), node());
    for port in [0, 3, 254] {
        let (status, _) = ask(&mut pma, &node, method::GET, &classic(port));
        assert_eq!(status, MadStatus::BAD_FIELD, "{port}");
        let (status, _) = ask(&mut pma, &node, method::SET, &extended(port));
        assert_eq!(status, MadStatus::BAD_FIELD, "{port}");
    }
    let cases: [Wrong; 5] = [
        (|header| header.class_version = 2, MadStatus::BAD_VERSION),
        (|header| header.base_version = 0x80, MadStatus::BAD_VERSION),
        (
            |header| header.method = method::GET_TABLE,
            MadStatus::BAD_METHOD,
        ),
        (
            |header| header.attribute_id = 0x7777,
            MadStatus::BAD_METHOD_ATTRIBUTE,
        ),
        (
            |header| {
                header.attribute_id = attribute::CLASS_PORT_INFO;
                header.method = method::SET;
            },
            MadStatus::BAD_METHOD_ATTRIBUTE,
        ),
    ];
    for (change, status) in cases {
        let mut request = PerfMad::request(method::GET, 1, &classic(1));
        change(&mut request.header);
        let answer = pma
            .handle_mad(&node, PORTS, &request.to_bytes())
            .expect("an answer");
        assert_eq!(
            PerfMad::parse(&answer).expect("whole").header.status,
            status
        );
    }
}

#[test]
fn what_is_no_question_is_not_answered() {
    let (mut pma, node) = (Pma::new(), node());
    let mut mad = PerfMad::request(method::GET_RESP, 1, &classic(1)).to_bytes();
    assert!(pma.handle_mad(&node, PORTS, &mad).is_none());
    mad[1] = class::SUBN_ADM;
    assert!(pma.handle_mad(&node, PORTS, &mad).is_none());
    assert_eq!(pma.drops().count(PmaDrop::NotARequest), 1);
    assert_eq!(pma.drops().count(PmaDrop::WrongClass), 1);
}

proptest! {
    #[test]
    fn any_octets_are_survived(
        mut octets in prop::collection::vec(any::<u8>(), 256),
        plausible: bool,
    ) {
        if plausible {
            octets[..3].copy_from_slice(&[1, class::PERF_MGT, 1]);
            octets[3] = 1 + octets[3] % 2;
            octets[16] = 0;
            octets[17] = [0x01, 0x12, 0x1D][usize::from(octets[17] % 3)];
            octets[65] %= 4;
        }
        let mad: Mad = octets.try_into().expect("256");
        let answer = Pma::new().handle_mad(&node(), PORTS, &mad);
        prop_assert!(!plausible || answer.is_some());
    }
}
