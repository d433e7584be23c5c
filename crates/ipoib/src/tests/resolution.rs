//! Address resolution for IPv4: states, queues, failures, changes of address.

use etherparse::{SlicedPacket, TransportSlice};
use softib_fabric::hca::Received;
use softib_wire::addr::{Guid, Lid, Qpn, Sl};
use softib_wire::ipoib::HardwareAddress;
use softib_wire::ipoib::arp::{Arp, Operation, Party};
use softib_wire::time::Duration;

use super::bench::{Bench, ip, ipv4_header, millis, secs, udp};
use crate::counters::DropReason;
use crate::interface::Action;
use crate::route::Route;

fn v4(text: &str) -> core::net::Ipv4Addr {
    text.parse().unwrap()
}

/// An ARP message as a node receives it from a peer that is none of the bench's.
fn arp(bench: &Bench, message: &Arp) -> Received {
    let mut bytes = vec![0x08, 0x06, 0, 0];
    bytes.resize(4 + Arp::LEN, 0);
    message.emit(&mut bytes[4..]);
    Received {
        src_qpn: message.sender.hardware.qpn,
        slid: Lid::new(77),
        dlid: Lid::new(1),
        sl: Sl::default(),
        pkey_index: 0,
        grh: None,
        immediate: None,
        payload: bench.pool.frame_from(&bytes),
    }
}

fn party(bench: &Bench, node: usize, address: &str) -> Party {
    Party {
        hardware: bench.nodes[node].interface.hardware_address(),
        protocol: v4(address),
    }
}

/// Three datagrams wait, the fourth is dropped.
#[test]
fn three_datagrams_wait() {
    let mut bench = Bench::running(2);
    for _ in 0..5 {
        bench.ping(0, 1, false);
    }
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::NeighbourQueueFull), 2);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 3);
}

/// The fragments of one datagram wait together: the first large ping is not lost.
#[test]
fn fragments_wait_together() {
    let mut bench = Bench::running(2);
    let mut fragments = Vec::new();
    for index in 0..30_u16 {
        let mut header = ipv4_header(v4("10.0.0.1"), v4("10.0.0.2"), 2016);
        header.dont_fragment = false;
        header.more_fragments = index < 29;
        header.fragment_offset = index * 252;
        header.identification = 77;
        let mut packet = vec![0; 20 + 2016];
        header.with_checksum().emit(&mut packet);
        fragments.push(packet);
    }
    for fragment in &fragments {
        bench.send(0, fragment);
    }
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 30);
    assert_eq!(bench.nodes[0].interface.counters().tx_dropped, 0);
}

/// Fragments of a datagram whose first one found no room are not kept either.
#[test]
fn headless_fragments_do_not_wait() {
    let mut bench = Bench::running(2);
    for _ in 0..3 {
        bench.ping(0, 1, false);
    }
    for index in 0..3_u16 {
        let mut header = ipv4_header(v4("10.0.0.1"), v4("10.0.0.2"), 800);
        header.dont_fragment = false;
        header.more_fragments = index < 2;
        header.fragment_offset = index * 100;
        let mut packet = vec![0; 820];
        header.with_checksum().emit(&mut packet);
        bench.send(0, &packet);
    }
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 3);
}

/// Three questions a second apart, then the sender is told that nobody is there.
#[test]
fn nobody_answers() {
    let mut bench = Bench::running(1);
    bench.send(0, &udp(ip("10.0.0.1"), ip("10.0.0.99"), b"x"));
    assert_eq!(bench.state(0, "10.0.0.99"), Some("incomplete"));
    bench.run(millis(2900));
    assert_eq!(bench.take_log(0x0806).len(), 3);
    bench.run(secs(1));
    assert_eq!(bench.state(0, "10.0.0.99"), Some("failed"));
    let message = bench.nodes[0].delivered.pop().unwrap();
    let Some(TransportSlice::Icmpv4(icmp)) =
        SlicedPacket::from_ip(message.bytes()).unwrap().transport
    else {
        panic!()
    };
    assert_eq!((icmp.type_u8(), icmp.code_u8()), (3, 1));
    // The next packet asks again.
    bench.send(0, &udp(ip("10.0.0.1"), ip("10.0.0.99"), b"x"));
    assert_eq!(bench.take_log(0x0806).len(), 1);
}

/// reachable → stale → delay → probe, by unicast, → reachable.
#[test]
fn states_as_in_linux() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.state(0, "10.0.0.2"), Some("reachable"));
    // Who was asked knows who asked, but not that it is heard.
    assert_eq!(bench.state(1, "10.0.0.1"), Some("stale"));
    bench.run(secs(45));
    assert_eq!(bench.state(0, "10.0.0.2"), Some("stale"));
    bench.log.clear();
    bench.ping(0, 1, false);
    assert_eq!(bench.state(0, "10.0.0.2"), Some("delay"));
    bench.run(millis(4900));
    assert!(bench.take_log(0x0806).is_empty());
    bench.run(millis(200));
    let arp = bench.take_log(0x0806);
    assert_eq!(arp.len(), 2, "a question and its answer");
    assert!(arp.iter().all(|logged| !logged.is_multicast()));
    assert_eq!(bench.state(0, "10.0.0.2"), Some("reachable"));
}

/// Three unicast questions, three broadcast ones, then the neighbour is given up.
#[test]
fn probes_fall_back_to_broadcast() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(46));
    let queries = bench.nodes[0].path_queries();
    bench.lose = Some(|logged| logged.from == 1);
    bench.ping(0, 1, false);
    bench.log.clear();
    bench.run(secs(5) + millis(5500));
    let kinds: Vec<bool> = bench
        .take_log(0x0806)
        .iter()
        .filter(|logged| logged.from == 0)
        .map(super::bench::Logged::is_multicast)
        .collect();
    assert_eq!(kinds, [false, false, false, true, true, true]);
    assert_eq!(bench.state(0, "10.0.0.2"), Some("probe"));
    assert_eq!(
        bench.nodes[0].path_queries(),
        queries + 1,
        "the path was doubted once"
    );
    bench.run(secs(1));
    assert_eq!(bench.state(0, "10.0.0.2"), Some("failed"));
}

/// Neighbours that nobody sends to are forgotten after 60 seconds.
#[test]
fn idle_neighbours_are_collected() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(55));
    assert!(bench.state(0, "10.0.0.2").is_some());
    bench.run(secs(40));
    assert_eq!(bench.state(0, "10.0.0.2"), None);
    assert_eq!(bench.nodes[0].interface.paths().count(), 0);
}

/// An address moves from one port to another and back (a bond that fails over twice).
#[test]
fn case_05_address_moves_there_and_back() {
    let mut bench = Bench::running(3);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    for owner in [2, 1, 2] {
        let announcement = Arp::request(party(&bench, owner, "10.0.0.2"), v4("10.0.0.2"));
        let received = arp(&bench, &announcement);
        bench.receive(0, received);
        bench.log.clear();
        bench.ping(0, 1, false);
        bench.run(millis(10));
        let data = bench.take_log(0x0800);
        assert_eq!(data.len(), 1);
        assert_eq!(data[0].send.address.dlid, bench.nodes[owner].lid);
        assert_eq!(data[0].send.dest_qpn, bench.nodes[owner].qpn);
    }
}

/// An address moves while the path to its old place is being asked for.
#[test]
fn case_06_address_moves_while_the_path_is_unresolved() {
    let mut bench = Bench::running(3);
    bench.sa.delay = millis(100);
    bench.ping(0, 1, false);
    bench.run(millis(150));
    // Both ends ask for paths now.
    let announcement = Arp::request(party(&bench, 2, "10.0.0.2"), v4("10.0.0.2"));
    let received = arp(&bench, &announcement);
    bench.receive(0, received);
    bench.run(secs(1));
    let to: Vec<Lid> = bench
        .take_log(0x0800)
        .iter()
        .map(|logged| logged.send.address.dlid)
        .collect();
    assert!(
        to.ends_with(&[bench.nodes[2].lid]) || to.is_empty(),
        "{to:?}"
    );
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(
        bench.take_log(0x0800)[0].send.address.dlid,
        bench.nodes[2].lid
    );
}

/// A peer that was restarted has another queue pair: its first ARP message says so.
#[test]
fn restarted_peer_is_reached_at_its_new_queue_pair() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let mut restarted = party(&bench, 1, "10.0.0.2");
    restarted.hardware.qpn = Qpn::from_bits_truncate(0x999);
    let received = arp(&bench, &Arp::request(restarted, v4("10.0.0.1")));
    bench.receive(0, received);
    let queries = bench.nodes[0].path_queries();
    bench.log.clear();
    bench.ping(0, 1, false);
    let data = bench.take_log(0x0800);
    assert_eq!(data[0].send.dest_qpn.bits(), 0x999);
    assert_eq!(
        bench.nodes[0].path_queries(),
        queries,
        "the path is the same"
    );
}

/// Announcements teach only those who know the address already.
#[test]
fn announcements_make_no_entries() {
    let mut bench = Bench::running(2);
    let announcement = Arp::request(party(&bench, 1, "10.0.0.2"), v4("10.0.0.2"));
    let reply = Arp {
        operation: Operation::Reply,
        ..announcement
    };
    for message in [announcement, reply] {
        let received = arp(&bench, &message);
        bench.receive(0, received);
    }
    assert_eq!(bench.nodes[0].interface.neighbours().count(), 0);
    assert_eq!(
        bench.nodes[0]
            .interface
            .counters()
            .drops
            .count(DropReason::UnsolicitedArp),
        1
    );
}

/// A probe (RFC 5227) is answered.
#[test]
fn probes_are_answered() {
    let mut bench = Bench::running(2);
    let probe = Arp::request(party(&bench, 1, "0.0.0.0"), v4("10.0.0.1"));
    let received = arp(&bench, &probe);
    bench.receive(0, received);
    bench.run(millis(10));
    let sent = bench.take_log(0x0806);
    let answer = Arp::parse(&sent[0].bytes()[4..]).unwrap();
    assert_eq!(answer.operation, Operation::Reply);
    assert_eq!(answer.target, probe.sender);
    assert_eq!(bench.nodes[0].interface.neighbours().count(), 0);
}

/// Some stacks fill a request's target with the broadcast address.
#[test]
fn target_hardware_address_of_a_request_is_ignored() {
    let mut bench = Bench::running(2);
    let mut request = Arp::request(party(&bench, 1, "10.0.0.2"), v4("10.0.0.1"));
    request.target.hardware = HardwareAddress::multicast(Bench::broadcast_mgid());
    let received = arp(&bench, &request);
    bench.receive(0, received);
    bench.run(millis(10));
    assert_eq!(bench.take_log(0x0806).len(), 1);
}

#[test]
fn duplicate_ipv4_address_is_reported() {
    let mut bench = Bench::running(2);
    let received = arp(
        &bench,
        &Arp::request(party(&bench, 1, "10.0.0.1"), v4("10.0.0.7")),
    );
    bench.receive(0, received);
    let owner = bench.nodes[1].interface.hardware_address();
    assert!(bench.nodes[0].events.iter().any(|event| matches!(
        event,
        Action::DuplicateAddress { ip: address, owner: Some(by) }
            if *address == ip("10.0.0.1") && *by == owner
    )));
}

#[test]
fn impossible_senders_are_refused() {
    let mut bench = Bench::running(2);
    let good = Arp::request(party(&bench, 1, "10.0.0.2"), v4("10.0.0.1"));
    let with = |change: &dyn Fn(&mut Arp)| {
        let mut message = good;
        change(&mut message);
        message
    };
    let group = HardwareAddress::multicast(Bench::broadcast_mgid());
    for (message, reason) in [
        (
            with(&|m| m.sender.hardware = group),
            DropReason::BadHardwareAddress,
        ),
        (
            with(&|m| m.sender.hardware.qpn = Qpn::GSI),
            DropReason::BadHardwareAddress,
        ),
        (
            with(&|m| m.sender.hardware.gid = softib_wire::addr::Gid::NONE),
            DropReason::BadHardwareAddress,
        ),
        (
            with(&|m| m.sender.protocol = v4("224.0.0.1")),
            DropReason::BadArpAddress,
        ),
        (
            with(&|m| m.target.protocol = v4("255.255.255.255")),
            DropReason::BadArpAddress,
        ),
        (
            with(&|m| m.operation = Operation::ReverseRequest),
            DropReason::ReverseArp,
        ),
    ] {
        let before = bench.nodes[0].interface.counters().drops.count(reason);
        let received = arp(&bench, &message);
        bench.receive(0, received);
        assert_eq!(
            bench.nodes[0].interface.counters().drops.count(reason),
            before + 1,
            "{message:?}"
        );
    }
    assert_eq!(bench.nodes[0].interface.neighbours().count(), 0);
}

/// Packets for far networks go to the router that the longest prefix names.
#[test]
fn next_hop_by_route() {
    let mut bench = Bench::running(3);
    let route = |destination: &str, prefix_len, gateway: Option<&str>| Route {
        destination: ip(destination),
        prefix_len,
        gateway: gateway.map(ip),
    };
    let routes = [
        route("0.0.0.0", 0, Some("10.0.0.2")),
        route("10.0.0.0", 24, None),
        route("192.0.2.0", 24, Some("10.0.0.3")),
        route("2001:db8::", 32, Some("fd00::3")),
    ];
    bench.with(0, |interface, now| interface.set_routes(now, &routes));
    for (from, to, by) in [
        ("10.0.0.1", "198.51.100.1", 1),
        ("10.0.0.1", "192.0.2.9", 2),
        ("fd00::1", "2001:db8::9", 2),
    ] {
        bench.send(0, &udp(ip(from), ip(to), b"x"));
        bench.run(secs(2));
        assert_eq!(bench.nodes[by].delivered.len(), 1, "{to}");
        bench.nodes[by].delivered.clear();
    }
    // Routes change: the next packet goes the new way.
    bench.with(0, |interface, now| interface.set_routes(now, &routes[..2]));
    bench.send(0, &udp(ip("10.0.0.1"), ip("192.0.2.9"), b"x"));
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

/// An established neighbour costs no question to anybody, however much is sent.
#[test]
fn established_neighbour_asks_nothing() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let asked = bench.nodes[0].asked.len();
    for _ in 0..1000 {
        bench.ping(0, 1, false);
    }
    bench.run(Duration::from_millis(1));
    assert_eq!(bench.nodes[0].asked.len(), asked);
    assert_eq!(bench.nodes[1].delivered.len(), 1001);
    assert_eq!(bench.nodes[0].guid, Guid::new(0x0002_c903_0000_0001));
}

/// The whole hardware address counts, its flags included.
#[test]
fn flags_are_part_of_a_neighbours_address() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let mut connected = party(&bench, 1, "10.0.0.2");
    connected.hardware.flags = softib_wire::ipoib::AddressFlags::RC;
    let received = arp(&bench, &Arp::request(connected, v4("10.0.0.1")));
    bench.receive(0, received);
    let view = bench.nodes[0]
        .interface
        .neighbours()
        .find(|view| view.ip == ip("10.0.0.2"));
    assert_eq!(view.unwrap().hardware, Some(connected.hardware));
    assert_eq!(bench.state(0, "10.0.0.2"), Some("stale"));
}
