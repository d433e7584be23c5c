//! Bring-up: partition, broadcast group, MTU, carrier, then everything else.

use softib_wire::addr::{Guid, PKey};
use softib_wire::ipoib::GroupSpace;
use softib_wire::mad::sa::JoinState;
use softib_wire::units::Mtu;

use super::bench::{Bench, QKEY, ip, millis, secs};
use crate::interface::{Action, PortEvent, Status};
use crate::partition::Partition;

#[test]
fn broadcast_first_then_mtu_carrier_and_the_others() {
    let mut bench = Bench::new();
    let node = bench.add(|_| {});
    bench.sa.delay = millis(5);
    bench.bring_up(node);
    let joins = bench.nodes[node].joins();
    assert_eq!(joins.len(), 1, "nothing before the broadcast group");
    let (_, record, mask) = joins[0];
    assert_eq!((record.mgid, mask), (Bench::broadcast_mgid(), 0x1_0083));
    assert_eq!(record.join_state, JoinState::FULL);
    assert_eq!(record.port_gid, bench.gid(node));
    assert_eq!(record.pkey, PKey::DEFAULT_FULL);

    bench.run(millis(5));
    let node = &bench.nodes[node];
    assert!(matches!(
        node.events[..],
        [Action::Mtu(2044), Action::Carrier(true)]
    ));
    assert_eq!(node.qkey, QKEY);
    assert_eq!(node.attached.len(), 1);
    assert_eq!(node.interface.status(), Status::Running);
    // All others at once: all-hosts, all-nodes and three solicited-node groups.
    let others: Vec<_> = node.joins().into_iter().skip(1).collect();
    assert!(
        others
            .iter()
            .all(|(at, _, mask)| *at == bench.now && *mask == 0x1_73F7)
    );
    let mut mgids: Vec<_> = others.iter().map(|(_, record, _)| record.mgid).collect();
    mgids.sort();
    let solicited = format!("ff02::1:ff00:{:x}", 1);
    let mut wanted = vec![
        Bench::mgid("224.0.0.1"),
        Bench::mgid("ff02::1"),
        Bench::mgid(&solicited),
    ];
    wanted.sort();
    wanted.dedup();
    mgids.dedup();
    assert_eq!(mgids, wanted);
}

/// 1, 2, 4, 8, 16, 16 … seconds after each failure.
#[test]
fn back_off() {
    let mut bench = Bench::new();
    bench.sa.silent = true;
    let node = bench.add(|_| {});
    bench.bring_up(node);
    bench.run(secs(120));
    let at = bench.nodes[node].joins_of(Bench::broadcast_mgid());
    let gaps: Vec<u64> = at
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_secs())
        .collect();
    // Each join is given up by the subnet administration's client after 3 seconds.
    assert_eq!(gaps[..6], [4, 5, 7, 11, 19, 19]);
    assert!(matches!(
        bench.nodes[node].interface.status(),
        Status::Joining {
            failures: 6..,
            last_error: Some(_)
        }
    ));
    assert!(!bench.nodes[node].interface.has_carrier());

    bench.sa.silent = false;
    bench.run(secs(20));
    assert!(bench.nodes[node].interface.has_carrier());
}

/// A port without a valid P_Key asks the subnet administration for nothing at all.
#[test]
fn case_07_no_join_with_invalid_pkey() {
    for table in [vec![], vec![PKey::new(0)], vec![PKey::new(0x8000)]] {
        let mut bench = Bench::new();
        let node = bench.add(|config| config.pkeys.clone_from(&table));
        bench.bring_up(node);
        bench.port_event(node, PortEvent::ClientReregister);
        bench.run(secs(60));
        assert!(bench.nodes[node].asked.is_empty());
        assert_eq!(bench.nodes[node].interface.status(), Status::NoPKey);
        bench.port_event(
            node,
            PortEvent::PKeysChanged {
                table: &[PKey::DEFAULT_FULL],
            },
        );
        bench.run(secs(1));
        assert_eq!(bench.nodes[node].carrier_changes(), [true]);
    }
}

/// A group that nobody answers for delays no other.
#[test]
fn case_14_joins_in_parallel() {
    let mut bench = Bench::new();
    bench.sa.ignored.insert(Bench::mgid("224.0.0.7"));
    let node = bench.add(|_| {});
    let groups = ["224.0.0.7", "224.0.0.8", "224.0.0.9"].map(ip);
    bench.with(node, |interface, now| {
        interface.set_memberships(now, &groups);
    });
    bench.bring_up(node);
    bench.run(millis(10));
    let own = bench.gid(node);
    for group in ["224.0.0.8", "224.0.0.9", "224.0.0.1", "ff02::1"] {
        let state = bench.sa.membership(Bench::mgid(group), own);
        assert_eq!(state, JoinState::FULL, "{group}");
    }
    bench.run(secs(20));
    let tries = bench.nodes[node].joins_of(Bench::mgid("224.0.0.7"));
    assert!(
        tries.len() >= 3,
        "the one that fails is tried again: {tries:?}"
    );
}

/// The interface is switched off while the answer to its join is under way.
#[test]
fn case_16_down_while_the_join_reply_arrives() {
    let mut bench = Bench::new();
    let node = bench.add(|_| {});
    bench.bring_up(node);
    bench.with(node, |interface, now| interface.set_admin_up(now, false));
    bench.run(secs(60));
    assert!(bench.nodes[node].carrier_changes().is_empty());
    assert!(bench.nodes[node].attached.is_empty());
    // The join may have been granted: it is taken back.
    assert!(bench.sa.groups.is_empty());
    assert_eq!(bench.nodes[node].interface.poll_timeout(), None);
}

#[test]
fn case_41_port_flap_while_switched_off() {
    let mut bench = Bench::new();
    let node = bench.add(|_| {});
    let lid = bench.nodes[node].lid;
    for _ in 0..3 {
        bench.port_event(node, PortEvent::Active { lid, lmc: 0 });
        bench.port_event(node, PortEvent::ClientReregister);
        bench.port_event(
            node,
            PortEvent::LidChanged {
                lid: softib_wire::addr::Lid::new(9),
                lmc: 0,
            },
        );
        bench.port_event(node, PortEvent::Down);
    }
    bench.run(secs(60));
    assert!(bench.nodes[node].asked.is_empty() && bench.nodes[node].events.is_empty());
    assert_eq!(bench.nodes[node].interface.status(), Status::AdminDown);
}

/// A child follows the P_Key that it was given, wherever it is in the table.
#[test]
fn case_28_child_with_its_own_pkey() {
    let mut bench = Bench::new();
    let node = bench.add(|config| {
        config.partition = Partition::Named(PKey::new(0x8001));
        config.pkeys = vec![PKey::DEFAULT_LIMITED, PKey::new(0x8001)];
    });
    bench.bring_up(node);
    bench.run(secs(1));
    let broadcast = GroupSpace::new(2, PKey::new(0x8001)).broadcast();
    assert_eq!(bench.nodes[node].joins()[0].1.mgid, broadcast);
    assert_eq!(bench.nodes[node].pkey_index, Some(1));
    assert!(bench.nodes[node].interface.has_carrier());
}

/// 0x000a and 0x800a name one partition.
#[test]
fn case_33_names_of_a_partition() {
    for bits in [0x000a, 0x800a] {
        let mut bench = Bench::new();
        let node = bench.add(|config| {
            config.partition = Partition::Named(PKey::new(bits));
            config.pkeys = vec![PKey::DEFAULT_FULL, PKey::new(0x800a)];
        });
        assert_eq!(bench.nodes[node].interface.pkey(), PKey::new(0x800a));
        bench.bring_up(node);
        bench.run(secs(1));
        assert!(bench.nodes[node].interface.has_carrier());
    }
}

#[test]
fn case_34_mtu_of_the_group() {
    for (code, mtu) in [(Mtu::B2048, 2044), (Mtu::B4096, 4092), (Mtu::B1024, 1020)] {
        let mut bench = Bench::new();
        bench.sa.mtu = code;
        let node = bench.add(|_| {});
        bench.bring_up(node);
        bench.run(secs(1));
        assert_eq!(bench.nodes[node].last_mtu(), Some(mtu));
    }
}

/// A join that cannot be used is as good as a refusal.
#[test]
fn grant_without_multicast_lid_is_no_grant() {
    let mut bench = Bench::new();
    bench.sa.next_mlid = 5;
    let node = bench.add(|config| config.port_guid = Guid::new(7));
    bench.bring_up(node);
    bench.run(secs(1));
    assert!(!bench.nodes[node].interface.has_carrier());
    assert!(bench.nodes[node].attached.is_empty());
}
