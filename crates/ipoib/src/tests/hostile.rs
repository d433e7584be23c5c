//! Input that means harm: nothing panics, every table is bounded, and one seed gives one history.

use proptest::prelude::*;
use softib_fabric::hca::Received;
use softib_wire::addr::{Gid, Guid, Lid, Qpn, Sl};
use softib_wire::ipoib::HardwareAddress;
use softib_wire::ipoib::arp::{Arp, Party};

use super::bench::{Bench, ip, secs, udp};
use crate::group::MAX_SEND_ONLY;
use crate::neighbour::MAX_NEIGHBOURS;
use crate::path::MAX_PATHS;

fn received(bench: &Bench, bytes: &[u8]) -> Received {
    Received {
        src_qpn: Qpn::from_bits_truncate(0x666),
        slid: Lid::new(66),
        dlid: Lid::new(1),
        sl: Sl::default(),
        pkey_index: 0,
        grh: None,
        immediate: None,
        payload: bench.pool.frame_from(bytes),
    }
}

fn arp_from(bench: &Bench, number: u32) -> Received {
    let sender = Party {
        hardware: HardwareAddress {
            qpn: Qpn::from_bits_truncate(0x1000 + number),
            gid: Gid::from_prefix_guid(
                Gid::DEFAULT_PREFIX,
                Guid::new(0xBAD_0000_0000 + u64::from(number)),
            ),
            ..HardwareAddress::UNKNOWN
        },
        protocol: (0x0A00_1000 + number).into(),
    };
    let mut bytes = vec![0x08, 0x06, 0, 0];
    bytes.resize(4 + Arp::LEN, 0);
    Arp::request(sender, "10.0.0.1".parse().unwrap()).emit(&mut bytes[4..]);
    received(bench, &bytes)
}

/// A flood of ARP requests from made-up hosts pushes out nobody that we talk to.
#[test]
fn arp_flood_is_bounded() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    for number in 0..5000 {
        let packet = arp_from(&bench, number);
        bench.receive(0, packet);
    }
    let interface = &bench.nodes[0].interface;
    assert!(interface.neighbours().count() <= MAX_NEIGHBOURS);
    assert!(interface.paths().count() <= MAX_PATHS);
    bench.run(secs(1));
    bench.nodes[1].delivered.clear();
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    assert_eq!(bench.state(0, "10.0.0.2"), Some("reachable"));
}

/// A host that scans a network, or sends to every group there is.
#[test]
fn scans_are_bounded() {
    let mut bench = Bench::running(1);
    for number in 0..3000_u32 {
        let destination = core::net::Ipv4Addr::from(0x0A00_1000 + number);
        bench.send(0, &udp(ip("10.0.0.1"), destination.into(), b"x"));
        let group = core::net::Ipv4Addr::from(0xEF00_0000 + number);
        bench.send(0, &udp(ip("10.0.0.1"), group.into(), b"x"));
    }
    let interface = &bench.nodes[0].interface;
    assert!(interface.neighbours().count() <= MAX_NEIGHBOURS);
    assert!(interface.groups().count() <= MAX_SEND_ONLY + 10);
    bench.run(secs(300));
    let interface = &bench.nodes[0].interface;
    assert_eq!(interface.neighbours().count(), 0);
    assert!(interface.groups().count() <= 10);
}

#[test]
fn one_seed_one_history() {
    let history = || {
        let mut bench = Bench::running(3);
        for round in 0..50 {
            bench.ping(round % 3, (round + 1) % 3, round % 2 == 0);
            bench.run(secs(u64::try_from(round).unwrap()));
        }
        let lines = bench
            .log
            .iter()
            .map(|l| format!("{} {} {:?}", l.at, l.from, l.bytes()));
        lines.collect::<Vec<_>>()
    };
    assert_eq!(history(), history());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn received_octets_never_panic(
        packets in prop::collection::vec(
            (
                prop::sample::select(vec![0x0800_u16, 0x0806, 0x86dd, 0x8035, 0x88ca, 0]),
                prop::collection::vec(any::<u8>(), 0..120),
                prop::option::of(prop::sample::select(vec![133_u8, 134, 135, 136, 137])),
            ),
            1..20,
        )
    ) {
        let mut bench = Bench::running(1);
        for (ether_type, mut rest, kind) in packets {
            if let Some(kind) = kind
                && rest.len() > 44
            {
                let payload = u8::try_from(rest.len() - 40).unwrap();
                rest[0] = 0x60;
                rest[4..8].copy_from_slice(&[0, payload, 58, 255]);
                rest[40..42].copy_from_slice(&[kind, 0]);
            }
            let bytes = [&ether_type.to_be_bytes(), &[0, 0], rest.as_slice()].concat();
            let packet = received(&bench, &bytes);
            bench.receive(0, packet);
        }
        bench.run(secs(5));
    }

    #[test]
    fn sent_octets_never_panic(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 1..20)) {
        let mut bench = Bench::running(1);
        for packet in packets {
            bench.send(0, &packet);
        }
        bench.run(secs(5));
    }
}
