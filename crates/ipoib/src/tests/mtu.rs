//! MTU: what fits, what does not, and who is told.

use etherparse::{Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, SlicedPacket, TransportSlice};
use softib_fabric::frame::{Gso, GsoKind, Offload};

use super::bench::{Bench, ip, secs, udp};
use crate::counters::DropReason;

#[test]
fn largest_packet_fits_and_one_more_does_not() {
    for (v6, headers) in [(false, 28), (true, 48)] {
        let mut bench = Bench::running(2);
        let (from, to) = if v6 {
            ("fd00::1", "fd00::2")
        } else {
            ("10.0.0.1", "10.0.0.2")
        };
        bench.send(0, &udp(ip(from), ip(to), &vec![1; 2044 - headers]));
        bench.run(secs(1));
        assert_eq!(bench.nodes[1].delivered.len(), 1);

        let large = udp(ip(from), ip(to), &vec![1; 2045 - headers]);
        bench.send(0, &large);
        bench.run(secs(1));
        assert_eq!(bench.nodes[1].delivered.len(), 1);
        let counters = bench.nodes[0].interface.counters();
        assert_eq!(counters.drops.count(DropReason::TooLong), 1);
        assert_eq!((counters.tx_dropped, counters.tx_errors), (1, 1));

        // The local stack is told, by a message from the peer with the group's MTU.
        let message = bench.nodes[0].delivered.pop().unwrap();
        let sliced = SlicedPacket::from_ip(message.bytes()).unwrap();
        match sliced.transport.unwrap() {
            TransportSlice::Icmpv4(icmp) => check_v4(&icmp, &large),
            TransportSlice::Icmpv6(icmp) => check_v6(&icmp, &large, message.bytes()),
            other => panic!("{other:?}"),
        }
    }
}

fn check_v4(icmp: &Icmpv4Slice<'_>, packet: &[u8]) {
    let Icmpv4Type::DestinationUnreachable(header) = icmp.icmp_type() else {
        panic!()
    };
    let text = format!("{header:?}");
    assert!(
        text.contains("FragmentationNeeded") && text.contains("2044"),
        "{text}"
    );
    assert_eq!(icmp.payload()[..28], packet[..28]);
}

fn check_v6(icmp: &Icmpv6Slice<'_>, packet: &[u8], message: &[u8]) {
    assert!(matches!(
        icmp.icmp_type(),
        Icmpv6Type::PacketTooBig { mtu: 2044 }
    ));
    assert_eq!(icmp.payload()[..48], packet[..48]);
    let address = |at: usize| message[at..at + 16].try_into().unwrap();
    assert!(icmp.is_checksum_valid(address(8), address(24)));
}

#[test]
fn administrator_may_want_less() {
    let mut bench = Bench::running(1);
    bench
        .with(0, |interface, now| interface.set_mtu(now, Some(1500)))
        .unwrap();
    assert_eq!(bench.nodes[0].last_mtu(), Some(1500));
    bench
        .with(0, |interface, now| interface.set_mtu(now, Some(4000)))
        .unwrap();
    assert_eq!(bench.nodes[0].last_mtu(), Some(2044));
    assert!(
        bench
            .with(0, |interface, now| interface.set_mtu(now, Some(4093)))
            .is_err()
    );
    assert!(
        bench
            .with(0, |interface, now| interface.set_mtu(now, Some(71)))
            .is_err()
    );
}

fn tcp_offload(size: u16, header_len: u16) -> Offload {
    Offload {
        needs_checksum: true,
        checksum_start: 20,
        checksum_offset: 16,
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            size,
            header_len,
            ecn: false,
        }),
    }
}

/// A large send goes as one, whole, its offload relative to the IP packet; counters count what it
/// is on the wire.
#[test]
fn large_sends_stay_whole() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.log.clear();
    bench.nodes[1].delivered.clear();
    let before = [0, 1].map(|node: usize| bench.nodes[node].interface.counters().clone());
    let packet = udp(ip("10.0.0.1"), ip("10.0.0.2"), &[7; 60_000]);
    let offload = tcp_offload(2004, 40);
    bench.send_offloaded(0, &packet, offload);
    bench.run(secs(1));
    assert_eq!(bench.log.len(), 1);
    let got = bench.nodes[1].delivered.pop().unwrap();
    assert_eq!(
        (got.bytes(), got.offload()),
        (packet.as_slice(), Some(offload))
    );

    let payload = packet.len() - 40;
    let segments = payload.div_ceil(2004) as u64;
    let octets = packet.len() as u64 + (segments - 1) * 40;
    let [tx, rx] = [0, 1].map(|node: usize| bench.nodes[node].interface.counters().clone());
    assert_eq!(tx.tx_packets - before[0].tx_packets, segments);
    assert_eq!(tx.tx_bytes - before[0].tx_bytes, octets + 4 * segments);
    assert_eq!(rx.rx_packets - before[1].rx_packets, segments);
    assert_eq!(rx.rx_bytes - before[1].rx_bytes, octets);
}

#[test]
fn segments_have_to_fit() {
    let mut bench = Bench::running(2);
    let packet = udp(ip("10.0.0.1"), ip("10.0.0.2"), &[7; 10_000]);
    bench.send_offloaded(0, &packet, tcp_offload(2005, 40));
    bench.send_offloaded(0, &packet, tcp_offload(0, 40));
    bench.send_offloaded(0, &packet, tcp_offload(1000, 20_000));
    assert!(bench.log.is_empty());
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::TooLong), 1);
    assert_eq!(counters.drops.count(DropReason::BadSegmentation), 2);
}

/// RFC 1122 §3.2.2: no errors about multicast.
#[test]
fn nobody_is_told_about_multicast() {
    let mut bench = Bench::running(1);
    bench.send(0, &udp(ip("10.0.0.1"), ip("239.1.1.1"), &[0; 3000]));
    assert!(bench.nodes[0].delivered.is_empty());
    assert_eq!(bench.nodes[0].interface.counters().tx_errors, 1);
}
