//! From nothing to a subnet that carries packets.

use std::collections::{BTreeMap, BTreeSet};

use softib_wire::addr::{Guid, Lid, PKey};
use softib_wire::mad::attribute;
use softib_wire::mad::sm_info::SmState;
use softib_wire::units::{Mtu, PortState};

use super::fake::{Fabric, Lab, three_levels, two_levels};
use crate::sm::{Members, Membership, Partition, SmEvent};

#[test]
fn two_hosts_and_a_switch() {
    let lab = Lab::up(two_levels(1, 2, 0), 0);
    lab.assert_connected();
    assert_eq!(lab.manager.state(), SmState::Master);
    let view = lab.manager.snapshot();
    assert_eq!(view.nodes.len(), 3);
    assert_eq!(view.links.len(), 2);
    assert_eq!(view.manager.lid, Lid::new(1));
    assert!(lab.events.contains(&SmEvent::SubnetUp));
    // The broadcast group is there before anybody asks.
    assert_eq!(view.groups.len(), 1);
    assert_eq!(view.groups[0].mgid.to_string(), "ff12:401b:ffff::ffff:ffff");
    assert_eq!(view.groups[0].mlid, Lid::MULTICAST_FIRST);
    assert_eq!(view.groups[0].qkey.bits(), 0x0b1b);
    assert_eq!(view.groups[0].mtu, Mtu::B2048);
    // Every host heard once that it has to register.
    assert_eq!(lab.fabric.nodes[0].reregistered, [1]);
    assert_eq!(lab.fabric.nodes[1].reregistered, [1]);
}

#[test]
fn two_hosts_and_a_cable() {
    let mut fabric = Fabric::default();
    let (a, b) = (fabric.host(1), fabric.host(1));
    fabric.connect(a, b);
    let lab = Lab::up(fabric, a);
    for host in [a, b] {
        assert_eq!(
            lab.fabric.nodes[host].ports[1].port_state,
            PortState::Active
        );
        assert_ne!(lab.fabric.lid(host), Lid::NONE);
        assert_eq!(
            lab.fabric.nodes[host].ports[1].master_sm_lid,
            lab.fabric.lid(a)
        );
    }
}

#[test]
fn a_manager_on_a_switch() {
    let fabric = two_levels(2, 3, 2);
    let switch = 6;
    let lab = Lab::up(fabric, switch);
    lab.assert_connected();
    assert_eq!(
        lab.fabric.nodes[0].ports[1].master_sm_lid,
        lab.fabric.lid(switch)
    );
}

#[test]
fn a_host_alone_is_master_of_nothing() {
    let mut fabric = Fabric::default();
    let host = fabric.host(1);
    let mut lab = Lab::new(fabric, host);
    lab.settle();
    assert_eq!(lab.manager.state(), SmState::Master);
}

#[test]
fn fat_trees_come_up() {
    for fabric in [two_levels(4, 4, 2), three_levels(4, 4), three_levels(6, 3)] {
        let lab = Lab::up(fabric, 0);
        lab.assert_connected();
        for node in &lab.fabric.nodes {
            for (number, port) in node.ports.iter().enumerate().skip(1) {
                let cabled = lab.fabric.cables.contains_key(&(
                    lab.fabric
                        .nodes
                        .iter()
                        .position(|other| other.name == node.name)
                        .unwrap(),
                    u8::try_from(number).unwrap(),
                ));
                let expected = if cabled {
                    PortState::Active
                } else {
                    PortState::Down
                };
                assert_eq!(port.port_state, expected, "{} port {number}", node.name);
                if cabled {
                    assert_eq!(port.neighbor_mtu, Some(Mtu::B4096));
                    assert_eq!(port.operational_vls, 4);
                }
            }
        }
    }
}

#[test]
fn an_adapter_with_two_ports() {
    let mut fabric = two_levels(2, 2, 1);
    let host = fabric.host(2);
    // Room for one more on each leaf is made by a switch between.
    let switch = fabric.switch(4);
    fabric.connect(switch, host);
    fabric.connect(switch, host);
    let extra = fabric.host(1);
    fabric.connect(switch, extra);
    let lab = Lab::up(fabric, extra);
    let node = &lab.fabric.nodes[host];
    assert_ne!(node.ports[1].lid, Lid::NONE);
    assert_ne!(node.ports[2].lid, Lid::NONE);
    assert_ne!(node.ports[1].lid, node.ports[2].lid);
    for port in [1, 2] {
        lab.fabric
            .follow((extra, 1), node.ports[port].lid)
            .expect("a way");
    }
}

#[test]
fn mtu_is_the_lesser_of_both_ends() {
    let mut fabric = two_levels(1, 2, 0);
    fabric.nodes[1].ports[1].mtu_cap = Some(Mtu::B1024);
    fabric.nodes[1].ports[1].neighbor_mtu = Some(Mtu::B256);
    let lab = Lab::up(fabric, 0);
    assert_eq!(lab.fabric.nodes[1].ports[1].neighbor_mtu, Some(Mtu::B1024));
    let (switch, port) = lab.fabric.cables[&(1, 1)];
    assert_eq!(
        lab.fabric.nodes[switch].ports[usize::from(port)].neighbor_mtu,
        Some(Mtu::B1024)
    );
    assert_eq!(lab.fabric.nodes[0].ports[1].neighbor_mtu, Some(Mtu::B4096));
}

#[test]
fn lids_that_ports_have_are_kept() {
    let mut fabric = two_levels(2, 2, 1);
    fabric.nodes[1].ports[1].lid = Lid::new(40);
    fabric.nodes[2].ports[1].lid = Lid::new(41);
    // Two ports with one LID: only one of them can keep it.
    fabric.nodes[3].ports[1].lid = Lid::new(41);
    let lab = Lab::up(fabric, 0);
    lab.assert_connected();
    assert_eq!(lab.fabric.lid(1), Lid::new(40));
    let lids: BTreeSet<Lid> = (0..lab.fabric.nodes.len())
        .map(|node| lab.fabric.lid(node))
        .collect();
    assert_eq!(lids.len(), lab.fabric.nodes.len());
    assert!(lids.contains(&Lid::new(41)));
}

#[test]
fn lmc_gives_every_adapter_a_row_of_lids() {
    let fabric = two_levels(2, 2, 2);
    let mut lab = Lab::with(fabric, 0, |config| config.lmc = 2);
    lab.settle();
    for host in 0..4 {
        let base = lab.fabric.lid(host);
        assert!(base.bits().is_multiple_of(4));
        assert_eq!(lab.fabric.nodes[host].ports[1].lmc, 2);
        let other = (host + 1) % 4;
        let ways: BTreeSet<Vec<usize>> = (0..4)
            .map(|way| {
                let lid = Lid::new(base.bits() + way);
                // The fake compares base LIDs only: follow to the leaf.
                follow_switches(&lab, other, lid)
            })
            .collect();
        assert!(!ways.is_empty());
    }
}

fn follow_switches(lab: &Lab, from: usize, lid: Lid) -> Vec<usize> {
    let mut at = lab.fabric.peer((from, 1)).unwrap();
    let mut passed = Vec::new();
    for _ in 0..8 {
        let node = &lab.fabric.nodes[at.0];
        if node.lft.iter().all(|&port| port == 0xFF) {
            return passed;
        }
        passed.push(at.0);
        let port = node.lft[usize::from(lid.bits())];
        assert_ne!(port, 0xFF, "no way to {lid}");
        at = lab.fabric.peer((at.0, port)).unwrap();
    }
    panic!("loop");
}

#[test]
fn partitions_are_written_and_enforced_at_the_leaves() {
    let fabric = two_levels(2, 2, 1);
    let member = |fabric: &Fabric, node: usize| fabric.guid(node, 1);
    let ports = BTreeMap::from([
        (member(&fabric, 1), Membership::Full),
        (member(&fabric, 2), Membership::Limited),
        (Guid::new(0xdead), Membership::Full),
    ]);
    let mut lab = Lab::with(fabric, 0, |config| {
        config.partitions.push(Partition {
            pkey: PKey::new(0x8001),
            members: Members::Ports(ports),
            ipoib: Some(Default::default()),
        });
    });
    lab.settle();
    let keys = |node: usize, port: u8| -> Vec<u16> {
        let table = &lab.fabric.nodes[node].pkeys[&port];
        let keys = table.iter().map(|key| key.bits());
        keys.filter(|&bits| bits != 0).collect()
    };
    assert_eq!(keys(0, 1), [0xFFFF]);
    assert_eq!(keys(1, 1), [0xFFFF, 0x8001]);
    assert_eq!(keys(2, 1), [0xFFFF, 0x0001]);
    assert_eq!(keys(3, 1), [0xFFFF]);
    for host in 0..4 {
        let (leaf, port) = lab.fabric.cables[&(host, 1)];
        assert_eq!(keys(leaf, port), keys(host, 1));
        let info = &lab.fabric.nodes[leaf].ports[usize::from(port)];
        assert!(info.partition_enforcement_inbound && info.partition_enforcement_outbound);
    }
    let spine = lab.fabric.nodes.len() - 1;
    assert!(!lab.fabric.nodes[spine].ports[1].partition_enforcement_inbound);
    let groups = lab.manager.snapshot().groups;
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0].mgid.to_string(), "ff12:401b:8001::ffff:ffff");
}

#[test]
fn partitions_can_change_at_run_time() {
    let mut lab = Lab::up(two_levels(1, 3, 0), 0);
    let guid = lab.fabric.guid(1, 1);
    lab.manager
        .set_partitions(
            lab.now,
            vec![
                Partition::default(),
                Partition {
                    pkey: PKey::new(5),
                    members: Members::Ports(BTreeMap::from([(guid, Membership::Full)])),
                    ipoib: None,
                },
            ],
        )
        .unwrap();
    lab.settle();
    assert_eq!(lab.fabric.nodes[1].pkeys[&1][1], PKey::new(0x8005));
    let (leaf, port) = lab.fabric.cables[&(1, 1)];
    assert!(lab.fabric.nodes[leaf].ports[usize::from(port)].partition_enforcement_inbound);
    lab.manager
        .set_partitions(lab.now, vec![Partition::default()])
        .unwrap();
    lab.settle();
    assert!(!lab.fabric.nodes[1].pkeys[&1][1].is_valid());
    assert!(!lab.fabric.nodes[leaf].ports[usize::from(port)].partition_enforcement_inbound);
    lab.assert_connected();
}

#[test]
fn one_seed_one_result() {
    let run = || {
        let mut lab = Lab::new(three_levels(4, 4), 0);
        lab.loss = 20;
        lab.settle();
        (
            lab.events,
            lab.smps,
            lab.fabric
                .nodes
                .into_iter()
                .map(|node| node.lft)
                .collect::<Vec<_>>(),
        )
    };
    assert!(run() == run());
}

#[test]
fn a_thousand_hosts() {
    let mut lab = Lab::new(three_levels(16, 16), 0);
    lab.settle();
    let view = lab.manager.manager_view();
    assert_eq!(view.nodes, 1024 + 320);
    assert_eq!(view.smps_retried, 0);
    // A bound on what is written: one Set for each step of a port, and each block once.
    assert_eq!(lab.fabric.sets[&attribute::LINEAR_FDB], 320 * 22);
    for from in [0, 100, 1023] {
        for to in 0..1024 {
            lab.fabric
                .follow((from, 1), lab.fabric.lid(to))
                .expect("a way");
        }
    }
}
