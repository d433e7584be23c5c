//! Every hop pointer with every hop count, both directions, every kind of node, with and without
//! LID-routed parts: compared with the rules of IBA 14.2.2 written down once more, as the text has
//! them. And whole journeys.

use proptest::prelude::*;
use softib_wire::addr::MKey;
use softib_wire::mad::smp::{DirectedSmp, HopPath};
use softib_wire::mad::status::MadStatus;

use super::*;

const PORTS: u8 = 8;
const ARRIVAL: u8 = 5;
const MANAGER: Lid = Lid::new(11);
const TARGET: Lid = Lid::new(22);

#[test]
fn every_smp_that_can_arrive() {
    let mut seen = 0;
    for node in [NodeType::ChannelAdapter, NodeType::Switch, NodeType::Router] {
        for returning in [false, true] {
            for (dr_slid, dr_dlid) in lid_routed_parts() {
                for count in 0..=u8::MAX {
                    for pointer in 0..=u8::MAX {
                        let before = smp(returning, pointer, count, dr_slid, dr_dlid);
                        let mut mad = before;
                        let decision = receive(&mut mad, node, ARRIVAL, PORTS);
                        let case = (node, returning, pointer, count, dr_slid, dr_dlid);
                        assert_eq!(decision, expected_at_arrival(case), "{case:?}");
                        check_changes(&before, &mad, decision, case);
                        seen += 1;
                    }
                }
            }
        }
    }
    assert_eq!(seen, 3 * 2 * 4 * 256 * 256);
}

#[test]
fn every_smp_that_can_be_sent() {
    for node in [NodeType::ChannelAdapter, NodeType::Switch] {
        for returning in [false, true] {
            for (dr_slid, dr_dlid) in lid_routed_parts() {
                for count in 0..=u8::MAX {
                    for pointer in 0..=u8::MAX {
                        let mut mad = smp(returning, pointer, count, dr_slid, dr_dlid);
                        let decision = send(&mut mad, node, PORTS);
                        let case = (node, returning, pointer, count, dr_slid, dr_dlid);
                        assert_eq!(decision, expected_at_source(case), "{case:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn ports_that_are_not_there() {
    for port in [0, PORTS + 1, 255] {
        let mut mad = smp(false, 1, 3, Lid::PERMISSIVE, Lid::PERMISSIVE);
        mad[INITIAL_PATH + 2] = port;
        let decision = receive(&mut mad, NodeType::Switch, ARRIVAL, PORTS);
        assert_eq!(decision, Decision::Discard(SmiDrop::NoSuchPort));

        let mut mad = smp(true, 3, 3, Lid::PERMISSIVE, Lid::PERMISSIVE);
        mad[RETURN_PATH + 2] = port;
        let decision = receive(&mut mad, NodeType::Switch, ARRIVAL, PORTS);
        assert_eq!(decision, Decision::Discard(SmiDrop::NoSuchPort));

        let mut mad = smp(false, 0, 1, Lid::PERMISSIVE, Lid::PERMISSIVE);
        mad[INITIAL_PATH + 1] = port;
        let decision = send(&mut mad, NodeType::ChannelAdapter, PORTS);
        assert_eq!(decision, Decision::Discard(SmiDrop::NoSuchPort));
    }
}

#[test]
fn an_answer_comes_back_by_the_port_that_the_request_left_by() {
    let mut mad = smp(true, 1, 2, Lid::PERMISSIVE, Lid::PERMISSIVE);
    mad[INITIAL_PATH + 1] = ARRIVAL + 1;
    let decision = receive(&mut mad, NodeType::ChannelAdapter, ARRIVAL, PORTS);
    assert_eq!(decision, Decision::Discard(SmiDrop::WrongPort));
}

#[test]
fn agent_and_manager_share_a_node() {
    let mad = |method: u8, attribute_id: u16| {
        DirectedSmp::request(method, attribute_id, 0, 1, MKey::NONE, &HopPath::LOCAL).to_bytes()
    };
    for attribute_id in [
        attribute::NODE_INFO,
        attribute::PORT_INFO,
        attribute::NOTICE,
        0x7777,
    ] {
        assert_eq!(consumer(&mad(method::GET, attribute_id)), Decision::Agent);
        assert_eq!(consumer(&mad(method::SET, attribute_id)), Decision::Agent);
        assert_eq!(
            consumer(&mad(method::GET_RESP, attribute_id)),
            Decision::Manager
        );
    }
    assert_eq!(
        consumer(&mad(method::GET, attribute::SM_INFO)),
        Decision::Manager
    );
    assert_eq!(
        consumer(&mad(method::SET, attribute::SM_INFO)),
        Decision::Manager
    );
    assert_eq!(
        consumer(&mad(method::TRAP, attribute::NOTICE)),
        Decision::Manager
    );
    assert_eq!(
        consumer(&mad(method::TRAP_REPRESS, attribute::NOTICE)),
        Decision::Agent
    );
}

proptest! {
    /// A request goes out along any path through switches, and its answer finds back.
    #[test]
    fn there_and_back(hops in prop::collection::vec((1..=PORTS, 1..=PORTS), 0..=63)) {
        // Of each hop the port to leave by and the port to come in by.
        let exits: Vec<u8> = hops.iter().map(|&(exit, _)| exit).collect();
        let path = HopPath::new(&exits).expect("no longer than 63");
        let request =
            DirectedSmp::request(method::GET, attribute::NODE_INFO, 0, 7, MKey::NONE, &path);
        let mut mad = request.to_bytes();

        let mut decision = send(&mut mad, NodeType::ChannelAdapter, PORTS);
        for (i, &(exit, entrance)) in hops.iter().enumerate() {
            prop_assert_eq!(decision, Decision::Forward(exit));
            // The last node may be an adapter; the others are switches.
            let node = if i + 1 == hops.len() { NodeType::ChannelAdapter } else { NodeType::Switch };
            decision = receive(&mut mad, node, entrance, PORTS);
        }
        prop_assert_eq!(decision, Decision::Agent);

        let arrived = DirectedSmp::parse(&mad).expect("a whole MAD");
        let mut mad = arrived.response_to(MadStatus::OK).to_bytes();
        let mut decision = send(&mut mad, NodeType::ChannelAdapter, PORTS);
        for (i, &(exit, entrance)) in hops.iter().enumerate().rev() {
            prop_assert_eq!(decision, Decision::Forward(entrance));
            let node = if i == 0 { NodeType::ChannelAdapter } else { NodeType::Switch };
            decision = receive(&mut mad, node, exit, PORTS);
        }
        prop_assert_eq!(decision, Decision::Manager);
    }

    #[test]
    fn any_octets_are_survived(
        octets in prop::collection::vec(any::<u8>(), 256),
        is_switch: bool,
        arrival: u8,
        ports: u8,
    ) {
        let node = if is_switch { NodeType::Switch } else { NodeType::ChannelAdapter };
        let mut mad: Mad = octets.try_into().expect("256");
        let mut other = mad;
        receive(&mut mad, node, arrival, ports);
        send(&mut other, node, ports);
        let _ = consumer(&mad);
    }
}

type Case = (NodeType, bool, u8, u8, Lid, Lid);

fn lid_routed_parts() -> [(Lid, Lid); 4] {
    [
        (Lid::PERMISSIVE, Lid::PERMISSIVE),
        (MANAGER, Lid::PERMISSIVE),
        (Lid::PERMISSIVE, TARGET),
        (MANAGER, TARGET),
    ]
}

/// A Get(NodeInfo) whose path is by ports that all are there.
fn smp(returning: bool, pointer: u8, count: u8, dr_slid: Lid, dr_dlid: Lid) -> Mad {
    let mut smp = DirectedSmp::request(
        method::GET,
        attribute::NODE_INFO,
        0,
        1,
        MKey::NONE,
        &HopPath::LOCAL,
    );
    smp.returning = returning;
    smp.hop_pointer = pointer;
    smp.hop_count = count;
    smp.dr_slid = dr_slid;
    smp.dr_dlid = dr_dlid;
    for i in 0..64_u8 {
        smp.initial_path[usize::from(i)] = exit(i);
        smp.return_path[usize::from(i)] = entrance(i);
    }
    smp.to_bytes()
}

/// The port to leave by on hop `i`; the first one is also where the answer comes in.
fn exit(i: u8) -> u8 {
    if i == 1 { ARRIVAL } else { i % PORTS + 1 }
}

fn entrance(i: u8) -> u8 {
    (i + 3) % PORTS + 1
}

/// The rules as the specification numbers them.
fn expected_at_arrival((node, returning, pointer, count, dr_slid, dr_dlid): Case) -> Decision {
    let is_switch = node == NodeType::Switch;
    let here = |lid: Lid| lid == Lid::PERMISSIVE;
    let only_switch = |decision| {
        if is_switch {
            decision
        } else {
            Decision::Discard(SmiDrop::NotASwitch)
        }
    };
    let (p, n) = (u16::from(pointer), u16::from(count));
    if n > 63 {
        return Decision::Discard(SmiDrop::HopCount);
    }
    if !returning {
        return if p == 0 && n > 0 {
            // C14-9:1. Who sends it advances it, unless it comes LID-routed to here.
            if is_switch && !here(dr_slid) {
                Decision::Forward(exit(1))
            } else {
                Decision::Discard(SmiDrop::HopPointer)
            }
        } else if p < n {
            only_switch(Decision::Forward(exit(pointer + 1))) // C14-9:2
        } else if p == n {
            if here(dr_dlid) {
                Decision::Agent // C14-9:3
            } else {
                only_switch(Decision::LidRoute(dr_dlid))
            }
        } else if p == n + 1 {
            Decision::Agent // C14-9:4
        } else {
            Decision::Discard(SmiDrop::HopPointer) // C14-9:5
        };
    }
    if p == 0 {
        Decision::Manager // C14-13:4
    } else if p == 1 {
        if here(dr_slid) {
            Decision::Manager // C14-13:3
        } else {
            only_switch(Decision::LidRoute(dr_slid))
        }
    } else if p <= n || p == n + 1 && !here(dr_dlid) {
        // C14-13:2; and C14-13:1, where the LID-routed part of the way back ends.
        only_switch(Decision::Forward(entrance(pointer - 1)))
    } else {
        Decision::Discard(SmiDrop::HopPointer) // C14-13:5
    }
}

fn expected_at_source((node, returning, pointer, count, dr_slid, dr_dlid): Case) -> Decision {
    let here = |lid: Lid| lid == Lid::PERMISSIVE;
    let (p, n) = (u16::from(pointer), u16::from(count));
    if n > 63 {
        Decision::Discard(SmiDrop::HopCount)
    } else if !here(if returning { dr_dlid } else { dr_slid }) {
        Decision::AsAddressed
    } else if !returning && p == 0 && n > 0 {
        Decision::Forward(exit(1)) // C14-9:1
    } else if !returning && p == 0 {
        match (here(dr_dlid), node) {
            (true, _) => Decision::Agent, // C14-9:3
            (false, NodeType::Switch) => Decision::LidRoute(dr_dlid),
            (false, _) => Decision::Discard(SmiDrop::NotASwitch),
        }
    } else if returning && p == n + 1 && n > 0 {
        Decision::Forward(entrance(pointer - 1)) // C14-13:1
    } else if returning && p == 1 && n == 0 {
        if here(dr_slid) {
            Decision::Manager // C14-13:3
        } else {
            Decision::LidRoute(dr_slid)
        }
    } else {
        Decision::Discard(SmiDrop::HopPointer)
    }
}

/// The hop pointer moves by one or not at all, one entry of the return path is written on the way
/// out, and nothing else changes.
fn check_changes(before: &Mad, after: &Mad, decision: Decision, case: Case) {
    let (_, returning, pointer, count, ..) = case;
    let moves = match decision {
        Decision::Forward(_) | Decision::LidRoute(_) => true,
        Decision::Agent => pointer == count,
        Decision::Manager => returning && pointer == 1,
        Decision::Discard(_) | Decision::AsAddressed => false,
    };
    let mut want = *before;
    if moves && returning {
        want[HOP_POINTER] -= 1;
    } else if moves {
        if pointer > 0 {
            want[RETURN_PATH + usize::from(pointer)] = ARRIVAL;
        }
        want[HOP_POINTER] += 1;
    }
    assert_eq!(after, &want, "{case:?}");
}
