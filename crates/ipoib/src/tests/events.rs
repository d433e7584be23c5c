//! Events of the port, and what survives them.

use softib_wire::addr::{Lid, PKey, QKey};
use softib_wire::ipoib::GroupSpace;
use softib_wire::units::Mtu;

use super::bench::{Bench, ip, millis, secs, udp};
use crate::interface::{Action, PortEvent};
use crate::view::PathState;

/// After the subnet manager was restarted with another MTU and Q_Key, these are in use.
#[test]
fn case_03_parameters_follow_every_rejoin() {
    let mut bench = Bench::running(2);
    bench.sa.groups.clear();
    bench.sa.mtu = Mtu::B4096;
    bench.sa.qkey = QKey::new(0x1234);
    for node in 0..2 {
        bench.port_event(node, PortEvent::ClientReregister);
    }
    bench.run(secs(1));
    for node in &bench.nodes {
        assert_eq!(node.last_mtu(), Some(4092));
        assert_eq!(node.qkey, QKey::new(0x1234));
    }
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
    let data = bench.take_log(0x0800);
    assert_eq!(data[0].send.qkey, QKey::new(0x1234));
}

/// A change of the subnet manager costs no packet and no carrier.
#[test]
fn case_04_reregister_loses_nothing() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.nodes[1].delivered.clear();
    // The new manager takes a second to answer anything.
    bench.sa.delay = secs(1);
    for round in 0..400 {
        if round % 100 == 50 {
            bench.port_event(0, PortEvent::ClientReregister);
            bench.port_event(1, PortEvent::ClientReregister);
        }
        bench.ping(0, 1, false);
        bench.run(millis(10));
    }
    bench.run(secs(3));
    assert_eq!(bench.nodes[1].delivered.len(), 400);
    assert_eq!(bench.nodes[0].carrier_changes(), [true]);
    // Each re-registration asks for the path once.
    let queries = bench.nodes[0].path_queries();
    assert!((3..=6).contains(&queries), "{queries}");
}

/// Without a subnet manager, established neighbours keep talking.
#[test]
fn case_04_established_neighbours_outlive_the_manager() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.sa.silent = true;
    bench.port_event(0, PortEvent::ClientReregister);
    bench.nodes[1].delivered.clear();
    for _ in 0..120 {
        bench.ping(0, 1, false);
        bench.run(secs(1));
    }
    assert_eq!(bench.nodes[1].delivered.len(), 120);
    assert!(bench.nodes[0].interface.has_carrier());
}

/// P_Key 0 is exchanged under traffic: the interface is on the other partition's link then.
#[test]
fn case_08_first_pkey_changes() {
    let mut bench = Bench::running(2);
    let old = Bench::broadcast_mgid();
    for node in 0..2 {
        bench.port_event(
            node,
            PortEvent::PKeysChanged {
                table: &[PKey::new(0x8005)],
            },
        );
    }
    bench.run(secs(3));
    let new = GroupSpace::new(2, PKey::new(0x8005)).broadcast();
    for node in &bench.nodes {
        assert_eq!(node.carrier_changes(), [true, false, true]);
        assert_eq!(node.joins_of(new).len(), 1);
        assert_eq!(
            node.joins_of(old).len(),
            1,
            "the old group is not joined again"
        );
        assert!(
            node.attached
                .iter()
                .all(|(mgid, _)| mgid.octets()[4..6] == [0x80, 0x05])
        );
    }
    assert!(
        !bench.sa.groups.contains_key(&old),
        "the old group was left"
    );
    for v6 in [false, true] {
        bench.ping(0, 1, v6);
        bench.run(secs(1));
        assert!(bench.nodes[1].delivered.pop().is_some(), "v6: {v6}");
    }
}

/// Every group's address follows the P_Key, those of IPv6 too.
#[test]
fn case_09_all_groups_follow_the_pkey() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        let node = bench.add(|config| config.pkeys = vec![PKey::new(0)]);
        let groups = [ip("ff02::fb"), ip("224.0.0.251")];
        bench.with(node, |interface, now| {
            interface.set_memberships(now, &groups);
        });
        bench.bring_up(node);
    }
    bench.run(secs(5));
    for node in 0..2 {
        bench.port_event(
            node,
            PortEvent::PKeysChanged {
                table: &[PKey::new(0x8001)],
            },
        );
    }
    bench.run(secs(3));
    let space = GroupSpace::new(2, PKey::new(0x8001));
    for node in &bench.nodes {
        for group in ["ff02::fb", "224.0.0.251", "ff02::1"] {
            let mgid = space.group(ip(group));
            assert!(
                node.attached.iter().any(|(attached, _)| *attached == mgid),
                "{group}"
            );
        }
    }
    bench.ping(0, 1, true);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

/// Another entry of the table changes, or the same P_Key is written again: nothing happens.
#[test]
fn other_pkeys_are_no_business_of_ours() {
    let mut bench = Bench::running(1);
    let table = [PKey::DEFAULT_FULL, PKey::new(0x8001)];
    bench.port_event(0, PortEvent::PKeysChanged { table: &table });
    bench.run(secs(1));
    assert_eq!(bench.nodes[0].carrier_changes(), [true]);
    assert!(bench.nodes[0].leaves().is_empty());
}

/// Switched off during a storm of re-registrations, the interface stays off.
#[test]
fn case_32_down_stays_down() {
    let mut bench = Bench::running(1);
    bench.port_event(0, PortEvent::ClientReregister);
    bench.with(0, |interface, now| interface.set_admin_up(now, false));
    for _ in 0..50 {
        bench.port_event(0, PortEvent::ClientReregister);
        bench.run(millis(7));
    }
    bench.run(secs(60));
    assert_eq!(bench.nodes[0].carrier_changes(), [true, false]);
    assert!(bench.nodes[0].attached.is_empty());
    assert!(bench.sa.groups.is_empty(), "no membership was left behind");
}

/// The subnet prefix changes at run time: the port GID of every request follows.
#[test]
fn case_36_gid_prefix_changes() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.nodes[1].delivered.clear();
    let prefix = 0xFEC0_0000_0000_1234;
    for node in 0..2 {
        bench.nodes[node].asked.clear();
        bench.port_event(node, PortEvent::GidChanged { prefix });
    }
    bench.run(secs(1));
    for node in &bench.nodes {
        assert!(!node.joins().is_empty());
        assert!(
            node.joins()
                .iter()
                .all(|(_, record, _)| record.port_gid.prefix() == prefix)
        );
        assert!(
            node.events
                .iter()
                .any(|event| matches!(event, Action::HardwareAddress(_)))
        );
        assert_eq!(node.carrier_changes(), [true]);
    }
    // Peers were told the new hardware address.
    let known = bench.nodes[0]
        .interface
        .neighbours()
        .find(|view| view.ip == ip("10.0.0.2"));
    assert_eq!(known.unwrap().hardware.unwrap().gid.prefix(), prefix);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

#[test]
fn own_lid_change_starts_over() {
    let mut bench = Bench::running(2);
    bench.send(0, &udp(ip("10.0.0.1"), ip("239.0.0.1"), b"x"));
    bench.run(secs(1));
    bench.nodes[0].lid = Lid::new(44);
    bench.port_event(
        0,
        PortEvent::LidChanged {
            lid: Lid::new(44),
            lmc: 0,
        },
    );
    bench.run(secs(3));
    assert_eq!(bench.nodes[0].carrier_changes(), [true, false, true]);
    // What is not joined again is left: the group that it only sent to.
    let left: Vec<_> = bench.nodes[0]
        .leaves()
        .iter()
        .map(|record| record.mgid)
        .collect();
    assert_eq!(left, [Bench::mgid("239.0.0.1")]);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

#[test]
fn port_flap_under_traffic() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let lid = bench.nodes[0].lid;
    bench.port_event(0, PortEvent::Down);
    assert_eq!(bench.nodes[0].interface.neighbours().count(), 0);
    assert_eq!(bench.nodes[0].interface.poll_timeout(), None);
    bench.port_event(0, PortEvent::Active { lid, lmc: 0 });
    bench.run(secs(1));
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 2);
    // A second "active" that changes nothing does nothing.
    bench.port_event(0, PortEvent::Active { lid, lmc: 0 });
    assert_eq!(bench.nodes[0].carrier_changes(), [true, false, true]);
}

/// A peer's LID changes and nobody tells us: its next ARP message does.
#[test]
fn peer_lid_change_is_noticed_from_its_arp() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.nodes[1].lid = Lid::new(55);
    bench.port_event(
        1,
        PortEvent::LidChanged {
            lid: Lid::new(55),
            lmc: 0,
        },
    );
    bench.run(secs(3));
    // The peer resolves us again, by broadcast.
    bench.ping(1, 0, false);
    bench.run(secs(1));
    let path = bench.nodes[0]
        .interface
        .paths()
        .find(|path| path.dgid == bench.gid(1))
        .unwrap();
    assert_eq!(path.record.unwrap().dlid, Lid::new(55));
    bench.nodes[1].delivered.clear();
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

/// A peer's LID changes and it stays quiet: when it does not answer any more, the path is asked for
/// again before the neighbour is given up.
#[test]
fn peer_lid_change_is_noticed_from_its_silence() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.nodes[1].lid = Lid::new(55);
    bench.nodes[1].delivered.clear();
    for _ in 0..70 {
        bench.ping(0, 1, false);
        bench.run(secs(1));
    }
    // 45 seconds at most until the entry is stale, 5 of delay, 3 of probing; then all is well.
    assert!(
        bench.nodes[1].delivered.len() >= 15,
        "{}",
        bench.nodes[1].delivered.len()
    );
}

/// The way back is another one (multipath): asked once more, then believed.
#[test]
fn differing_source_lid_is_accepted_after_one_query() {
    let mut bench = Bench::running(2);
    // The subnet administration's path to node 2 ends at another of its LIDs.
    bench.sa.lids.insert(bench.gid(1), Lid::new(99));
    for _ in 0..5 {
        bench.ping(1, 0, false);
        bench.run(secs(90));
    }
    let path = bench.nodes[0]
        .interface
        .paths()
        .find(|path| path.dgid == bench.gid(1));
    assert!(path.is_none_or(|path| path.state != PathState::Stale));
    assert!(
        bench.nodes[0].path_queries() <= 10,
        "{}",
        bench.nodes[0].path_queries()
    );
}

/// Two interfaces of one port go down and up in any order, joins under way: neither waits for the
/// other, and nothing is left behind.
#[test]
fn case_15_interfaces_of_one_port_in_any_order() {
    let mut rng = fastrand::Rng::with_seed(15);
    let mut bench = Bench::new();
    bench.sa.delay = millis(3);
    let table = [PKey::DEFAULT_FULL, PKey::new(0x8002)];
    let parent = bench.add(|config| config.pkeys = table.to_vec());
    let (guid, lid) = (bench.nodes[parent].guid, bench.nodes[parent].lid);
    let child = bench.add(|config| {
        config.port_guid = guid;
        config.pkeys = table.to_vec();
        config.partition = crate::Partition::Named(table[1]);
    });
    bench.nodes[child].lid = lid;
    for node in [parent, child] {
        bench.bring_up(node);
    }
    for _ in 0..300 {
        let node = rng.usize(0..2);
        match rng.u8(0..4) {
            0 => bench.with(node, |interface, now| interface.set_admin_up(now, false)),
            1 => bench.with(node, |interface, now| interface.set_admin_up(now, true)),
            2 => bench.port_event(node, PortEvent::ClientReregister),
            _ => bench.run(millis(rng.u64(0..10))),
        }
    }
    for node in [parent, child] {
        bench.with(node, |interface, now| interface.set_admin_up(now, true));
    }
    bench.run(secs(3));
    for node in [parent, child] {
        assert!(bench.nodes[node].interface.has_carrier());
        assert!(
            bench.nodes[node]
                .interface
                .groups()
                .all(|group| group.record.is_some())
        );
    }
    for node in [parent, child] {
        bench.with(node, |interface, now| interface.set_admin_up(now, false));
    }
    bench.run(secs(1));
    assert!(bench.sa.groups.is_empty());
}

/// However long the back-off has become, a re-registration is answered at once, and others that
/// need the broadcast group's record have it meanwhile.
#[test]
fn case_21_reregister_does_not_wait_for_the_back_off() {
    let mut bench = Bench::running(2);
    bench.sa.silent = true;
    bench.port_event(0, PortEvent::ClientReregister);
    bench.run(secs(100));
    bench.sa.silent = false;
    let before = bench.now;
    bench.port_event(0, PortEvent::ClientReregister);
    let joins = bench.nodes[0].joins_of(Bench::broadcast_mgid());
    assert_eq!(joins.last(), Some(&before));
    bench.run(millis(1));
    assert!(
        bench.nodes[0]
            .interface
            .groups()
            .all(|group| group.failures == 0 && !group.joining)
    );
}
