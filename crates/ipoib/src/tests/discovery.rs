//! Neighbour discovery for IPv6, and duplicate addresses.

use core::net::{IpAddr, Ipv6Addr};

use etherparse::{SlicedPacket, TransportSlice};
use softib_fabric::hca::Received;
use softib_wire::addr::{Lid, Qpn, Sl};
use softib_wire::ipoib::HardwareAddress;
use softib_wire::ipoib::ip::solicited_node;
use softib_wire::ipoib::nd::{Message, NeighbourPacket};
use softib_wire::mad::sa::JoinState;

use super::bench::{Bench, Logged, ip, millis, secs, udp};
use crate::counters::DropReason;
use crate::interface::Action;
use crate::route::AddressState;

fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

fn received(bench: &Bench, packet: &NeighbourPacket, from: HardwareAddress) -> Received {
    let mut bytes = [0; 4 + NeighbourPacket::LEN_MAX];
    bytes[..2].copy_from_slice(&[0x86, 0xdd]);
    let len = packet.emit(&mut bytes[4..]);
    raw(bench, &bytes[..4 + len], from.qpn)
}

fn raw(bench: &Bench, bytes: &[u8], src_qpn: Qpn) -> Received {
    Received {
        src_qpn,
        slid: Lid::new(2),
        dlid: Lid::new(1),
        sl: Sl::default(),
        pkey_index: 0,
        grh: None,
        immediate: None,
        payload: bench.pool.frame_from(bytes),
    }
}

fn parse(logged: &Logged) -> Option<NeighbourPacket> {
    NeighbourPacket::parse(&logged.bytes()[4..]).ok()
}

fn state_of(bench: &Bench, node: usize, address: &str) -> Option<AddressState> {
    let wanted = ip(address);
    let mut addresses = bench.nodes[node].interface.addresses();
    addresses
        .find(|(address, ..)| *address == wanted)
        .map(|(.., state)| state)
}

#[test]
fn resolves_and_answers() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, true);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    assert_eq!(bench.state(0, "fd00::2"), Some("reachable"));
    assert_eq!(bench.state(1, "fd00::1"), Some("stale"));
    let sent: Vec<_> = bench.log.iter().filter_map(parse).collect();
    let [question, answer] = sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(question.destination, solicited_node(v6("fd00::2")));
    let own = bench.nodes[0].interface.hardware_address();
    assert_eq!(
        question.message,
        Message::Solicitation {
            target: v6("fd00::2"),
            source: Some(own)
        }
    );
    assert_eq!(
        (answer.source, answer.destination),
        (v6("fd00::2"), v6("fd00::1"))
    );
    assert!(matches!(
        answer.message,
        Message::Advertisement {
            solicited: true,
            overrides: true,
            router: false,
            ..
        }
    ));
    // Neither was any business of the hosts' stacks.
    assert!(bench.nodes[0].delivered.is_empty());
}

/// Full member of the solicited-node group of every address, and of all-nodes.
#[test]
fn solicited_node_groups_are_joined() {
    let mut bench = Bench::running(1);
    let own = bench.gid(0);
    bench.with(0, |interface, now| {
        interface.set_addresses(now, &[(ip("fd00::12:3456"), 64)]);
    });
    bench.run(secs(1));
    for (group, state) in [
        ("ff02::1:ff12:3456", JoinState::FULL),
        ("ff02::1", JoinState::FULL),
        ("ff02::1:ff00:1", JoinState::empty()),
        ("224.0.0.1", JoinState::empty()),
    ] {
        assert_eq!(
            bench.sa.membership(Bench::mgid(group), own),
            state,
            "{group}"
        );
    }
}

#[test]
fn unicast_probe_then_multicast() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, true);
    bench.run(secs(47));
    bench.ping(0, 1, true);
    bench.log.clear();
    bench.run(secs(6));
    let questions: Vec<_> = bench.log.iter().filter(|logged| logged.from == 0).collect();
    assert_eq!(questions.len(), 1);
    assert!(!questions[0].is_multicast());
    assert_eq!(parse(questions[0]).unwrap().destination, v6("fd00::2"));
    assert_eq!(bench.state(0, "fd00::2"), Some("reachable"));
}

#[test]
fn nobody_answers() {
    let mut bench = Bench::running(1);
    bench.send(0, &udp(ip("fd00::1"), ip("fd00::99"), b"x"));
    bench.run(secs(4));
    assert_eq!(bench.state(0, "fd00::99"), Some("failed"));
    let message = bench.nodes[0].delivered.pop().unwrap();
    let sliced = SlicedPacket::from_ip(message.bytes()).unwrap();
    let Some(TransportSlice::Icmpv6(icmp)) = sliced.transport else {
        panic!()
    };
    assert_eq!((icmp.type_u8(), icmp.code_u8()), (1, 3));
    let octets = |at: usize| message.bytes()[at..at + 16].try_into().unwrap();
    assert!(icmp.is_checksum_valid(octets(8), octets(24)));
}

/// RFC 4862 §5.4: asked from the unspecified address, then ours.
#[test]
fn detection_asks_before_an_address_is_ours() {
    let mut bench = Bench::running(2);
    bench.with(0, |interface, now| {
        interface.set_addresses(now, &[(ip("fd00::77"), 64)]);
    });
    assert_eq!(
        state_of(&bench, 0, "fd00::77"),
        Some(AddressState::Detecting { asked: false })
    );
    bench.run(millis(1100));
    let sent: Vec<_> = bench.log.iter().filter_map(parse).collect();
    let [probe] = sent[..] else {
        panic!("{sent:?}")
    };
    assert_eq!(probe.source, Ipv6Addr::UNSPECIFIED);
    assert_eq!(probe.destination, solicited_node(v6("fd00::77")));
    assert_eq!(
        probe.message,
        Message::Solicitation {
            target: v6("fd00::77"),
            source: None
        }
    );
    bench.run(secs(1));
    assert_eq!(state_of(&bench, 0, "fd00::77"), Some(AddressState::Valid));
}

/// Somebody has the address already, or asks for it at the same time.
#[test]
fn duplicate_addresses_are_found() {
    let mut bench = Bench::running(2);
    bench.with(0, |interface, now| {
        interface.set_addresses(now, &[(ip("fd00::2"), 64)]);
    });
    bench.run(secs(3));
    assert_eq!(
        state_of(&bench, 0, "fd00::2"),
        Some(AddressState::Duplicate)
    );
    assert_eq!(state_of(&bench, 1, "fd00::2"), Some(AddressState::Valid));
    let owner = bench.nodes[1].interface.hardware_address();
    assert!(bench.nodes[0].events.iter().any(|event| matches!(
        event,
        Action::DuplicateAddress { ip: IpAddr::V6(address), owner: Some(by) }
            if *address == v6("fd00::2") && *by == owner
    )));
    // Who lost does not answer for it.
    bench.log.clear();
    bench.ping(1, 0, true);
    bench.run(secs(1));

    let mut bench = Bench::running(2);
    for node in 0..2 {
        bench.with(node, |interface, now| {
            interface.set_addresses(now, &[(ip("fd00::9"), 64)]);
        });
    }
    bench.run(secs(3));
    let states = [0, 1].map(|node| state_of(&bench, node, "fd00::9"));
    assert!(
        states.contains(&Some(AddressState::Duplicate)),
        "{states:?}"
    );
}

/// A message of somebody who has an address of ours for long.
#[test]
fn later_duplicates_are_reported() {
    let mut bench = Bench::running(2);
    let other = bench.nodes[1].interface.hardware_address();
    let claim = NeighbourPacket {
        source: v6("fd00::1"),
        destination: v6("ff02::1"),
        message: Message::Advertisement {
            target: v6("fd00::1"),
            address: Some(other),
            router: false,
            solicited: false,
            overrides: true,
        },
    };
    let packet = received(&bench, &claim, other);
    bench.receive(0, packet);
    assert!(
        bench.nodes[0]
            .events
            .iter()
            .any(|e| matches!(e, Action::DuplicateAddress { .. }))
    );
    assert_eq!(state_of(&bench, 0, "fd00::1"), Some(AddressState::Valid));
}

/// An address in doubt is used, but does not push anybody out of a cache (RFC 4429 §3.3).
#[test]
fn optimistic_addresses() {
    let mut bench = Bench::running(2);
    bench.with(0, |interface, now| {
        interface.set_addresses(now, &[(ip("fd00::77"), 64)]);
    });
    bench.send(0, &udp(ip("fd00::77"), ip("fd00::2"), b"x"));
    bench.run(millis(50));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    for packet in bench
        .log
        .iter()
        .filter(|logged| logged.from == 0)
        .filter_map(parse)
    {
        match packet.message {
            Message::Solicitation { source, .. } => assert_eq!(source, None),
            Message::Advertisement { overrides, .. } => assert!(!overrides),
        }
    }
}

/// Two hosts that start together, both addresses in doubt, still reach each other at once: who
/// asks without a hardware address is answered at the one that its packet's headers tell.
#[test]
fn optimistic_on_both_sides() {
    let mut bench = Bench::running(2);
    for (node, address) in [(0, "fd00::77"), (1, "fd00::88")] {
        bench.with(node, |interface, now| {
            interface.set_addresses(now, &[(ip(address), 64)]);
        });
    }
    bench.send(0, &udp(ip("fd00::77"), ip("fd00::88"), b"there"));
    bench.send(1, &udp(ip("fd00::88"), ip("fd00::77"), b"and back"));
    bench.run(millis(50));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    assert_eq!(bench.nodes[0].delivered.len(), 1);
}

/// RFC 4861 §7.2.5: without the override flag another address only raises doubt.
#[test]
fn override_flag() {
    let mut bench = Bench::running(3);
    bench.ping(0, 1, true);
    bench.run(secs(1));
    let other = bench.nodes[2].interface.hardware_address();
    let claim = |overrides, solicited| NeighbourPacket {
        source: v6("fd00::2"),
        destination: v6("fd00::1"),
        message: Message::Advertisement {
            target: v6("fd00::2"),
            address: Some(other),
            router: false,
            solicited,
            overrides,
        },
    };
    let known = |bench: &Bench| {
        bench.nodes[0]
            .interface
            .neighbours()
            .find(|n| n.ip == ip("fd00::2"))
            .unwrap()
            .hardware
    };
    let packet = received(&bench, &claim(false, false), other);
    bench.receive(0, packet);
    assert_eq!(bench.state(0, "fd00::2"), Some("stale"));
    assert_ne!(known(&bench), Some(other));
    let packet = received(&bench, &claim(true, false), other);
    bench.receive(0, packet);
    assert_eq!(known(&bench), Some(other));
    assert_eq!(bench.state(0, "fd00::2"), Some("stale"));
    let packet = received(&bench, &claim(true, true), other);
    bench.receive(0, packet);
    assert_eq!(bench.state(0, "fd00::2"), Some("reachable"));
}

/// A solicitation without a hardware address is answered all the same.
#[test]
fn solicitation_without_hardware_address() {
    let mut bench = Bench::running(2);
    let from = bench.nodes[1].interface.hardware_address();
    let question = NeighbourPacket {
        source: v6("fd00::2"),
        destination: v6("fd00::1"),
        message: Message::Solicitation {
            target: v6("fd00::1"),
            source: None,
        },
    };
    let packet = received(&bench, &question, from);
    bench.receive(0, packet);
    bench.run(secs(1));
    let answers = bench.log.iter().filter_map(parse).filter(|packet| {
        matches!(packet.message, Message::Advertisement { target, .. } if target == v6("fd00::1"))
    });
    assert_eq!(answers.count(), 1);
}

#[test]
fn what_routers_say_is_noted_and_passed_on() {
    let mut bench = Bench::running(2);
    let router = bench.nodes[1].interface.hardware_address();
    let mut advertisement = vec![
        0x60, 0, 0, 0, 0, 40, 58, 255, // 16 octets and the option
    ];
    advertisement.extend_from_slice(&v6("fe80::2").octets());
    advertisement.extend_from_slice(&v6("ff02::1").octets());
    advertisement.extend_from_slice(&[134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    advertisement.extend_from_slice(&[1, 3, 0, 0]);
    let mut address = [0; 20];
    router.emit(&mut address);
    advertisement.extend_from_slice(&address);
    let bytes = [&[0x86, 0xdd, 0, 0], advertisement.as_slice()].concat();
    let packet = raw(&bench, &bytes, router.qpn);
    bench.receive(0, packet);
    assert_eq!(
        bench.nodes[0].delivered.pop().unwrap().bytes(),
        advertisement
    );
    let view = bench.nodes[0]
        .interface
        .neighbours()
        .find(|n| n.ip == ip("fe80::2"))
        .unwrap();
    assert_eq!((view.hardware, view.is_router), (Some(router), true));

    // Through a router it would be a forgery; and an option of no length ends the reading.
    for (at, octet, reason) in [
        (11, 254, DropReason::NdHopLimit),
        (61, 0, DropReason::NdBadOption),
    ] {
        let mut forged = bytes.clone();
        forged[at] = octet;
        let packet = raw(&bench, &forged, router.qpn);
        bench.receive(0, packet);
        assert_eq!(
            bench.nodes[0].interface.counters().drops.count(reason),
            1,
            "{reason:?}"
        );
    }
    assert!(bench.nodes[0].delivered.is_empty());
}

#[test]
fn malformed_discovery_is_refused_by_reason() {
    let mut bench = Bench::running(2);
    let from = bench.nodes[1].interface.hardware_address();
    let question = NeighbourPacket {
        source: v6("fd00::2"),
        destination: v6("fd00::1"),
        message: Message::Solicitation {
            target: v6("fd00::1"),
            source: Some(from),
        },
    };
    let mut good = vec![0; 4 + NeighbourPacket::LEN_MAX];
    good[..2].copy_from_slice(&[0x86, 0xdd]);
    let len = question.emit(&mut good[4..]);
    good.truncate(4 + len);
    let change = |at: usize, octet: u8| {
        let mut bytes = good.clone();
        bytes[at] = octet;
        bytes
    };
    for (bytes, reason) in [
        (change(11, 64), DropReason::NdHopLimit),
        (change(46, 0xaa), DropReason::NdChecksum),
        (good[..50].to_vec(), DropReason::NdMalformed),
        ([good.clone(), vec![]].concat(), DropReason::NdRedirect),
    ] {
        let bytes = if reason == DropReason::NdRedirect {
            let mut bytes = bytes;
            bytes[44] = 137;
            bytes
        } else {
            bytes
        };
        let packet = raw(&bench, &bytes, from.qpn);
        bench.receive(0, packet);
        assert_eq!(
            bench.nodes[0].interface.counters().drops.count(reason),
            1,
            "{reason:?}"
        );
    }
    assert_eq!(bench.nodes[0].interface.neighbours().count(), 0);
}
