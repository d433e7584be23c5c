//! Addresses and framing: requirements of RFC 4391 §6 and §9, bytes compared with a capture of real
//! adapters.

use core::net::IpAddr;

use etherparse::SlicedPacket;
use softib_fabric::hca::Received;
use softib_wire::addr::{Gid, Guid, Lid, PKey, Qpn, Sl};
use softib_wire::grh::Grh;
use softib_wire::ipoib::AddressFlags;

use super::bench::{Bench, QKEY, ip, secs, udp};
use crate::counters::DropReason;
use crate::interface::PortEvent;

const ARP_REQUEST: &str = "08060000002008001404000180000405fe800000000000000002c9020024f6360a0001220000000000000000000000000000000000000000\
     0a00003a";
const ARP_REPLY: &str = "08060000002008001404000280000404fe800000000000000002c9020020b4dd0a00003a80000405fe800000000000000002c9020024f636\
     0a000122";
const SOLICITATION: &str = "86dd00006000000000303afffe800000000000000202c9020024f636ff0200000000000000000001ff00189587007d1500000000\
     fe800000000000000202c903000018950103000080000405fe800000000000000002c9020024f636";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

/// The two hosts of the capture: their port GUIDs, queue pairs and addresses.
fn captured_hosts() -> Bench {
    let mut bench = Bench::new();
    let hosts = [
        (0x0002_c902_0024_f636, 0x405, [10, 0, 1, 0x22]),
        (0x0002_c902_0020_b4dd, 0x404, [10, 0, 0, 0x3a]),
    ];
    for (guid, qpn, address) in hosts {
        let node = bench.add(|config| {
            config.port_guid = Guid::new(guid);
            config.qpn = Qpn::from_bits_truncate(qpn);
            config.flags = AddressFlags::RC;
        });
        bench.bring_up(node);
        let link_local = bench.nodes[node].interface.link_local();
        let addresses = [(IpAddr::from(address), 16), (link_local.into(), 64)];
        bench.with(node, |interface, now| {
            interface.set_addresses(now, &addresses);
        });
    }
    bench.run(secs(3));
    bench.log.clear();
    bench
}

#[test]
fn arp_as_captured() {
    let mut bench = captured_hosts();
    bench.send(0, &udp(ip("10.0.1.34"), ip("10.0.0.58"), b"x"));
    bench.run(secs(1));
    let arp = bench.take_log(0x0806);
    assert_eq!(arp.len(), 2);
    assert_eq!(arp[0].bytes(), hex(ARP_REQUEST));
    assert_eq!(arp[1].bytes(), hex(ARP_REPLY));

    // The request as in frame 5: to the broadcast group, with a GRH; the reply as in frame 6.
    let send = &arp[0].send;
    assert_eq!(send.address.dlid, Lid::MULTICAST_FIRST);
    assert_eq!((send.dest_qpn, send.qkey), (Qpn::MULTICAST, QKEY));
    let global = send.address.global.unwrap();
    assert_eq!(global.dgid.to_string(), "ff12:401b:ffff::ffff:ffff");
    assert_eq!(
        (global.hop_limit, global.flow_label, global.traffic_class),
        (0, 0, 0)
    );
    let send = &arp[1].send;
    assert_eq!((send.dest_qpn.bits(), send.address.global), (0x405, None));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

/// The flags octet of a peer's address does not reach the destination queue pair.
#[test]
fn case_39_flags_stay_out_of_the_qpn() {
    let mut bench = captured_hosts();
    bench.send(0, &udp(ip("10.0.1.34"), ip("10.0.0.58"), b"x"));
    bench.run(secs(1));
    let data = bench.take_log(0x0800);
    assert_eq!(data[0].send.dest_qpn.bits(), 0x00_0404);
}

#[test]
fn solicitation_as_captured() {
    let mut bench = captured_hosts();
    let own = ip("fe80::202:c902:24:f636");
    bench.send(0, &udp(own, ip("fe80::202:c903:0:1895"), b"x"));
    bench.run(secs(1));
    let sent = bench.take_log(0x86dd);
    assert_eq!(sent[0].bytes(), hex(SOLICITATION));
    let global = sent[0].send.address.global.unwrap();
    assert_eq!(global.dgid.to_string(), "ff12:601b:ffff::1:ff00:1895");
}

#[test]
fn hardware_address_and_link_local() {
    let bench = captured_hosts();
    let interface = &bench.nodes[0].interface;
    let text = "80:00:04:05:fe:80:00:00:00:00:00:00:00:02:c9:02:00:24:f6:36";
    assert_eq!(interface.hardware_address().to_string(), text);
    assert_eq!(interface.link_local().to_string(), "fe80::202:c902:24:f636");
}

/// Linux's mapping of IPv4 groups: 28 bits of the address.
#[test]
fn case_48_ipv4_multicast_mapping() {
    let mut bench = Bench::running(1);
    bench.send(0, &udp(ip("10.0.0.1"), ip("239.1.2.3"), b"x"));
    bench.run(secs(1));
    let sent = bench.take_log(0x0800);
    let dgid = sent[0].send.address.global.unwrap().dgid;
    assert_eq!(dgid.to_string(), "ff12:401b:ffff::f01:203");
}

#[test]
fn case_40_full_membership_bit_in_mgid() {
    let mut bench = Bench::new();
    let node = bench.add(|config| config.pkeys = vec![PKey::DEFAULT_LIMITED]);
    bench.bring_up(node);
    let (_, record, _) = bench.nodes[node].joins()[0];
    assert_eq!(record.mgid.to_string(), "ff12:401b:ffff::ffff:ffff");
    assert_eq!(record.pkey, PKey::DEFAULT_FULL);
    assert_eq!(bench.nodes[node].pkey_index, Some(0));
}

#[test]
fn ip_passes_unchanged() {
    let mut bench = Bench::running(2);
    for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
        let packet = udp(ip(from), ip(to), b"payload");
        bench.send(0, &packet);
        bench.run(secs(2));
        let got = bench.nodes[1].delivered.pop().unwrap();
        assert_eq!(got.bytes(), packet);
        SlicedPacket::from_ip(got.bytes()).unwrap();
        assert!(bench.nodes[1].delivered.is_empty());
    }
}

fn raw(bench: &Bench, bytes: &[u8], grh: Option<Grh>) -> Received {
    Received {
        src_qpn: Qpn::from_bits_truncate(0x777),
        slid: Lid::new(77),
        dlid: Lid::new(1),
        sl: Sl::default(),
        pkey_index: 0,
        grh,
        immediate: None,
        payload: bench.pool.frame_from(bytes),
    }
}

/// RFC 4391 §6: a receiver copes with a GRH and without, and does not look at reserved octets.
#[test]
fn grh_or_none_on_receive() {
    let mut bench = Bench::running(1);
    let packet = udp(ip("10.0.0.9"), ip("10.0.0.1"), b"x");
    let grh = Grh {
        ip_version: 6,
        traffic_class: 0,
        flow_label: 0,
        payload_length: 0,
        next_header: 0x1b,
        hop_limit: 0,
        sgid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(9)),
        dgid: bench.gid(0),
    };
    for grh in [None, Some(grh)] {
        let bytes = [&[0x08, 0, 0xff, 0xff], packet.as_slice()].concat();
        let received = raw(&bench, &bytes, grh);
        bench.receive(0, received);
        assert_eq!(bench.nodes[0].delivered.pop().unwrap().bytes(), packet);
    }
    assert_eq!(bench.nodes[0].interface.counters().multicast, 0);
}

#[test]
fn refuses_what_is_not_ip() {
    let mut bench = Bench::running(1);
    let ipv4 = udp(ip("10.0.0.9"), ip("10.0.0.1"), b"x");
    let with = |ether_type: u16, rest: &[u8]| [&ether_type.to_be_bytes(), &[0, 0], rest].concat();
    let cases = [
        (vec![0x08, 0, 0], DropReason::EncapsulationCut),
        (with(0x88b5, &ipv4), DropReason::UnknownEtherType),
        (with(0x8035, &ipv4), DropReason::ReverseArp),
        (
            with(0x86dd, &[ipv4.as_slice(), &[0; 40]].concat()),
            DropReason::VersionMismatch,
        ),
        (with(0x0800, &ipv4[..19]), DropReason::RxIpHeaderCut),
        (with(0x0806, &ipv4), DropReason::BadArp),
    ];
    for (bytes, reason) in cases {
        let before = bench.nodes[0].interface.counters().drops.count(reason);
        let received = raw(&bench, &bytes, None);
        bench.receive(0, received);
        let after = bench.nodes[0].interface.counters().drops.count(reason);
        assert_eq!(after, before + 1, "{reason:?}");
    }
    assert!(bench.nodes[0].delivered.is_empty());
    for (packet, reason) in [
        (vec![], DropReason::IpHeaderCut),
        (vec![0x45; 19], DropReason::IpHeaderCut),
        (vec![0x60; 39], DropReason::IpHeaderCut),
        (vec![0x50; 40], DropReason::NotIp),
    ] {
        let before = bench.nodes[0].interface.counters().drops.count(reason);
        bench.send(0, &packet);
        assert_eq!(
            bench.nodes[0].interface.counters().drops.count(reason),
            before + 1
        );
    }
}

/// An adapter or a switch that gives us our own multicast back.
#[test]
fn own_multicast_is_suppressed() {
    let mut bench = Bench::running(2);
    bench.echo = true;
    bench.send(0, &udp(ip("10.0.0.1"), ip("255.255.255.255"), b"x"));
    bench.run(secs(1));
    assert!(bench.nodes[0].delivered.is_empty());
    assert_eq!(
        bench.nodes[0]
            .interface
            .counters()
            .drops
            .count(DropReason::OwnMulticast),
        1
    );
    assert_eq!(bench.nodes[0].interface.counters().rx_dropped, 0);
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    assert_eq!(
        bench.nodes[1].interface.counters().multicast,
        0,
        "that was broadcast"
    );
}

/// Two interfaces on one port, with one LID, GID and P_Key, talk to each other.
#[test]
fn case_29_two_interfaces_on_one_port() {
    let mut bench = Bench::running(1);
    let (guid, lid) = (bench.nodes[0].guid, bench.nodes[0].lid);
    let second = bench.add(|config| config.port_guid = guid);
    bench.nodes[second].lid = lid;
    bench.bring_up(second);
    // Its link-local address is the first one's: that is noticed and left to whoever set it.
    bench.echo = true;
    bench.run(secs(3));
    for (from, to) in [(0, second), (second, 0)] {
        bench.ping(from, to, false);
        bench.run(secs(1));
        assert_eq!(bench.nodes[to].delivered.len(), 1);
        bench.send(from, &udp(ip("10.0.0.1"), ip("255.255.255.255"), b"x"));
        bench.run(secs(1));
        assert_eq!(bench.nodes[to].delivered.len(), 2);
    }
    assert_eq!(bench.nodes[0].delivered.len(), 2);
}

#[test]
fn counters_as_linux_has_them() {
    let mut bench = Bench::running(2);
    let packet = udp(ip("10.0.0.1"), ip("10.0.0.2"), b"x");
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let before = [0, 1].map(|node: usize| bench.nodes[node].interface.counters().clone());
    bench.send(0, &packet);
    bench.run(secs(1));
    let [tx, rx] = [0, 1].map(|node: usize| bench.nodes[node].interface.counters().clone());
    let octets = packet.len() as u64;
    // Linux counts the encapsulation header when sending, and not when receiving.
    assert_eq!(tx.tx_packets - before[0].tx_packets, 1);
    assert_eq!(tx.tx_bytes - before[0].tx_bytes, octets + 4);
    assert_eq!(rx.rx_packets - before[1].rx_packets, 1);
    assert_eq!(rx.rx_bytes - before[1].rx_bytes, octets);
    bench.with(0, |interface, now| {
        interface.handle_send_done(now, 1, false);
    });
    assert_eq!(
        bench.nodes[0].interface.counters().tx_errors,
        tx.tx_errors + 1
    );
}

/// No state is kept for a send: without any completion an interface goes on sending.
#[test]
fn case_13_no_completion_no_stall() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.log.clear();
    for _ in 0..10_000 {
        bench.ping(0, 1, false);
    }
    assert_eq!(bench.log.len(), 10_000);
    assert!(bench.log.iter().all(|logged| !logged.send.signaled));
}

/// DHCP messages are broadcast from and to addresses that no host has, whatever hardware length
/// and client identifier they carry: the interface does not look.
#[test]
fn case_25_26_27_dhcp_passes() {
    let mut bench = Bench::running(2);
    for payload in [[0; 300], [6; 300], [0xff; 300]] {
        let discover = udp(ip("0.0.0.0"), ip("255.255.255.255"), &payload);
        bench.send(0, &discover);
        bench.run(secs(1));
        assert_eq!(bench.nodes[1].delivered.pop().unwrap().bytes(), discover);
    }
}

#[test]
fn limited_and_subnet_broadcast_use_the_broadcast_group() {
    let mut bench = Bench::running(2);
    for destination in ["255.255.255.255", "10.0.0.255"] {
        bench.send(0, &udp(ip("10.0.0.1"), ip(destination), b"x"));
        bench.run(secs(1));
        let sent = bench.take_log(0x0800);
        let dgid = sent[0].send.address.global.unwrap().dgid;
        assert_eq!(dgid, Bench::broadcast_mgid());
        assert_eq!(bench.nodes[1].delivered.len(), 1, "{destination}");
        bench.nodes[1].delivered.clear();
    }
}

#[test]
fn nothing_is_sent_to_oneself_or_to_nobody() {
    let mut bench = Bench::running(1);
    bench.send(0, &udp(ip("10.0.0.1"), ip("10.0.0.1"), b"x"));
    bench.send(0, &udp(ip("10.0.0.1"), ip("0.0.0.0"), b"x"));
    assert!(bench.log.is_empty());
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::OwnDestination), 1);
    assert_eq!(counters.drops.count(DropReason::NoSuchDestination), 1);
    assert_eq!(counters.tx_dropped, 2);
}

/// Nothing leaves and nothing arrives while the interface is down.
#[test]
fn down_means_down() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.port_event(1, PortEvent::Down);
    bench.ping(0, 1, false);
    bench.ping(1, 0, false);
    bench.run(secs(1));
    let counters = bench.nodes[1].interface.counters();
    assert_eq!(counters.drops.count(DropReason::NoCarrier), 1);
    assert_eq!(counters.drops.count(DropReason::InterfaceDown), 1);
}
