//! Multicast groups: joining as a full member and to send only, promotion, leaving, expiry.

use softib_wire::mad::sa::JoinState;

use super::bench::{Bench, ip, millis, secs, udp};
use crate::counters::DropReason;
use crate::group::Membership;
use crate::interface::PortEvent;

const GROUP: &str = "239.1.2.3";

fn multicast(bench: &mut Bench, node: usize, group: &str) {
    let source = if group.contains(':') {
        "fd00::1"
    } else {
        "10.0.0.1"
    };
    bench.send(node, &udp(ip(source), ip(group), b"multicast"));
}

fn listen(bench: &mut Bench, node: usize, groups: &[&str]) {
    let groups: Vec<_> = groups.iter().map(|group| ip(group)).collect();
    bench.with(node, |interface, now| {
        interface.set_memberships(now, &groups);
    });
}

/// Everything that RFC 4391 §10 wants to be the broadcast group's is given and is.
#[test]
fn case_02_groups_are_created_with_all_attributes() {
    let mut bench = Bench::running(1);
    listen(&mut bench, 0, &[GROUP]);
    let (_, record, mask) = *bench.nodes[0].joins().last().unwrap();
    let broadcast = bench.sa.groups[&Bench::broadcast_mgid()].0;
    assert_eq!(mask, 0x1_73F7);
    assert_eq!(
        (
            record.qkey,
            record.mtu,
            record.rate,
            record.traffic_class,
            record.sl
        ),
        (
            broadcast.qkey,
            broadcast.mtu,
            broadcast.rate,
            broadcast.traffic_class,
            broadcast.sl
        )
    );
    assert_eq!(
        (record.flow_label, record.hop_limit, record.pkey),
        (broadcast.flow_label, broadcast.hop_limit, broadcast.pkey)
    );
}

/// A strict manager, and a broadcast group with a traffic class other than 0.
#[test]
fn case_35_strict_manager() {
    let mut bench = Bench::new();
    bench.sa.traffic_class = 1;
    let node = bench.add(|_| {});
    bench.bring_up(node);
    bench.run(secs(1));
    assert!(
        bench.nodes[node]
            .interface
            .groups()
            .all(|group| group.failures == 0)
    );
    assert!(
        bench.nodes[node]
            .interface
            .groups()
            .all(|group| group.record.is_some())
    );
}

#[test]
fn only_members_receive() {
    for group in [GROUP, "ff05::77"] {
        let mut bench = Bench::running(4);
        listen(&mut bench, 1, &[group]);
        listen(&mut bench, 2, &[group]);
        bench.run(secs(1));
        multicast(&mut bench, 0, group);
        bench.run(secs(1));
        let got: Vec<_> = bench
            .nodes
            .iter()
            .map(|node| node.delivered.len())
            .collect();
        assert_eq!(got, [0, 1, 1, 0], "{group}");
        assert_eq!(bench.nodes[1].interface.counters().multicast, 1);
    }
}

#[test]
fn send_only_join_queues_and_sends() {
    let mut bench = Bench::running(2);
    listen(&mut bench, 1, &[GROUP]);
    bench.run(secs(1));
    for _ in 0..5 {
        multicast(&mut bench, 0, GROUP);
    }
    assert!(bench.log.is_empty());
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 5);
    let join = *bench.nodes[0].joins().last().unwrap();
    assert_eq!(join.1.join_state, JoinState::SEND_ONLY_FULL);
    let own = bench.gid(0);
    assert_eq!(
        bench.sa.membership(Bench::mgid(GROUP), own),
        JoinState::SEND_ONLY_FULL
    );
    assert!(
        !bench.nodes[0]
            .attached
            .iter()
            .any(|(mgid, _)| *mgid == Bench::mgid(GROUP))
    );
}

#[test]
fn send_only_queue_holds_64() {
    let mut bench = Bench::running(2);
    for _ in 0..70 {
        multicast(&mut bench, 0, GROUP);
    }
    let dropped = bench.nodes[0]
        .interface
        .counters()
        .drops
        .count(DropReason::GroupQueueFull);
    assert_eq!(dropped, 6);
    bench.run(secs(1));
    assert_eq!(bench.take_log(0x0800).len(), 64);
}

/// Two joins, then the packets are given up; the entry stays, and the next packet starts over.
#[test]
fn send_only_is_tried_twice() {
    let mut bench = Bench::running(1);
    let mgid = Bench::mgid(GROUP);
    bench.sa.ignored.insert(mgid);
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(20));
    assert_eq!(bench.nodes[0].joins_of(mgid).len(), 2);
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::GroupJoinFailed), 1);
    assert!(
        bench.nodes[0]
            .interface
            .groups()
            .any(|group| group.mgid == mgid)
    );
    bench.sa.ignored.clear();
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(1));
    assert_eq!(bench.nodes[0].joins_of(mgid).len(), 3);
    assert_eq!(bench.take_log(0x0800).len(), 1);
}

#[test]
fn send_only_expires() {
    let mut bench = Bench::running(1);
    let (mgid, own) = (Bench::mgid(GROUP), bench.gid(0));
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(50));
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(50));
    assert_eq!(bench.sa.membership(mgid, own), JoinState::SEND_ONLY_FULL);
    bench.run(secs(45));
    assert_eq!(bench.sa.membership(mgid, own), JoinState::empty());
    assert_eq!(
        bench.nodes[0].leaves()[0].join_state,
        JoinState::SEND_ONLY_FULL
    );
    assert!(
        bench.nodes[0]
            .interface
            .groups()
            .all(|group| group.mgid != mgid)
    );
}

#[test]
fn send_only_is_promoted() {
    let mut bench = Bench::running(2);
    let (mgid, own) = (Bench::mgid(GROUP), bench.gid(0));
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(1));
    listen(&mut bench, 0, &[GROUP]);
    // It can send all the while.
    multicast(&mut bench, 0, GROUP);
    assert_eq!(bench.take_log(0x0800).len(), 2);
    bench.run(secs(1));
    assert_eq!(bench.sa.membership(mgid, own), JoinState::FULL);
    multicast(&mut bench, 1, GROUP);
    bench.run(secs(1));
    assert_eq!(bench.nodes[0].delivered.len(), 1);
}

/// The host joins while the send-only join is still under way.
#[test]
fn promotion_of_a_join_under_way() {
    let mut bench = Bench::running(1);
    bench.sa.delay = millis(100);
    let (mgid, own) = (Bench::mgid(GROUP), bench.gid(0));
    multicast(&mut bench, 0, GROUP);
    listen(&mut bench, 0, &[GROUP]);
    bench.run(secs(1));
    assert_eq!(bench.sa.membership(mgid, own), JoinState::FULL);
    assert_eq!(bench.take_log(0x0800).len(), 1);
    let view = bench.nodes[0]
        .interface
        .groups()
        .find(|group| group.mgid == mgid)
        .unwrap();
    assert_eq!((view.membership, view.joining), (Membership::Full, false));
}

#[test]
fn leaves_when_the_host_does() {
    let mut bench = Bench::running(1);
    let (mgid, own) = (Bench::mgid(GROUP), bench.gid(0));
    listen(&mut bench, 0, &[GROUP, "ff05::1"]);
    bench.run(secs(1));
    listen(&mut bench, 0, &["ff05::1"]);
    bench.run(secs(1));
    assert_eq!(bench.sa.membership(mgid, own), JoinState::empty());
    assert_eq!(bench.nodes[0].leaves()[0].join_state, JoinState::FULL);
    assert!(
        !bench.nodes[0]
            .attached
            .iter()
            .any(|(attached, _)| *attached == mgid)
    );
    // Node-local groups never leave the host.
    listen(&mut bench, 0, &["ff01::1"]);
    assert!(bench.nodes[0].joins_of(Bench::mgid("ff01::1")).len() <= 1);
}

#[test]
fn switching_off_leaves_everything() {
    let mut bench = Bench::running(1);
    listen(&mut bench, 0, &[GROUP]);
    multicast(&mut bench, 0, "239.9.9.9");
    bench.run(secs(1));
    bench.with(0, |interface, now| interface.set_admin_up(now, false));
    bench.run(secs(1));
    assert!(bench.sa.groups.is_empty());
    assert!(bench.nodes[0].attached.is_empty());
}

/// The manager that takes over has another LID for the group.
#[test]
fn rejoin_moves_to_the_new_multicast_lid() {
    let mut bench = Bench::running(2);
    listen(&mut bench, 1, &[GROUP]);
    bench.run(secs(1));
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(1));
    bench.sa.groups.clear();
    bench.sa.next_mlid = 0xC100;
    for node in 0..2 {
        bench.port_event(node, PortEvent::ClientReregister);
    }
    bench.run(secs(1));
    assert!(
        bench
            .nodes
            .iter()
            .all(|node| node.attached.iter().all(|(_, m)| m.bits() >= 0xC100))
    );
    multicast(&mut bench, 0, GROUP);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 2);
}
