//! Partitions keep hosts apart, also on the way, and can be changed while the subnet runs.

use softib_sim::Simulation;
use softib_subnet::spec::{IfaceRef, NodeId, NodeKind, PartitionSpec, SubnetSpec};
use softib_wire::addr::PKey;
use softib_wire::time::Duration;

use crate::common::{chain, drops, interface, star, up};

const DEFAULT: PartitionSpec = PartitionSpec {
    pkey: PKey::DEFAULT_FULL,
    members: Vec::new(),
    ipoib: true,
};
const BLUE: PKey = PKey::new(0x8001);

fn blue(members: &[(u32, bool)]) -> PartitionSpec {
    let members = members.iter().map(|&(host, full)| (NodeId(host), full));
    PartitionSpec {
        pkey: BLUE,
        members: members.collect(),
        ipoib: true,
    }
}

/// Gives every host a second interface, in the blue partition.
fn with_blue(mut spec: SubnetSpec, members: &[(u32, bool)]) -> SubnetSpec {
    for node in &mut spec.nodes {
        if let NodeKind::Host { interfaces, .. } = &mut node.kind {
            interfaces.push(interface(Some(BLUE)));
        }
    }
    spec.partitions = vec![DEFAULT, blue(members)];
    spec
}

fn second(sim: &Simulation, host: usize) -> IfaceRef {
    IfaceRef {
        index: 1,
        ..sim.interface(host)
    }
}

fn blue_reaches(sim: &mut Simulation, from: usize, to: usize) -> bool {
    let source = Simulation::address(from, 1).into();
    let destination = Simulation::address(to, 1).into();
    let ping = sim.ping_from(second(sim, from), source, destination, 56);
    sim.run_for(Duration::from_secs(4));
    sim.answered(ping).is_some()
}

#[test]
fn full_members_reach_all_and_limited_ones_only_full_ones_across_switches() {
    // Hosts 0 and 4 are full, 1 and 5 limited, the others no members; 4 and 5 are on the other switch.
    let full = [0, 4];
    let limited = [1, 5];
    let members = [(0, true), (4, true), (1, false), (5, false)];
    let spec = with_blue(chain(&[3, 0, 3]), &members);
    let mut sim = Simulation::new(&spec, 41).unwrap();
    sim.run_for(Duration::from_secs(5));
    for host in 0..6 {
        let member = full.contains(&host) || limited.contains(&host);
        assert!(sim.subnet.has_carrier(sim.interface(host)));
        assert_eq!(
            sim.subnet.has_carrier(second(&sim, host)),
            member,
            "host {host}"
        );
    }
    for from in 0..6 {
        for to in (0..6).filter(|&to| to != from) {
            let both = [from, to];
            let allowed = both
                .iter()
                .all(|host| full.contains(host) || limited.contains(host))
                && both.iter().any(|host| full.contains(host));
            let reached = blue_reaches(&mut sim, from, to);
            assert_eq!(reached, allowed, "{from} to {to}: {:?}", drops(&sim, ""));
        }
    }
    assert_eq!(
        sim.unreachable_pairs(1),
        [],
        "the default partition is whole"
    );
    let view = sim.subnet.view(sim.now());
    let missing = view
        .interfaces
        .iter()
        .find(|row| row.host == "h3" && row.interface == "ib0.8001");
    let reason = missing.unwrap().reason.as_deref().unwrap();
    assert!(reason.contains("P_Key"), "{reason}");
}

/// Hard case 29: interfaces of one port, of one partition and of two, reach each other.
#[test]
fn case_29_two_interfaces_of_one_port_in_one_partition_reach_each_other() {
    let mut spec = with_blue(star(2), &[(0, true), (1, true)]);
    for node in &mut spec.nodes {
        if let NodeKind::Host { interfaces, .. } = &mut node.kind {
            let mut again = interface(Some(BLUE));
            again.name = "ib0.8001b".to_owned();
            interfaces.push(again);
        }
    }
    let mut sim = up(&spec, 42);
    let other = IfaceRef {
        index: 2,
        ..sim.interface(0)
    };
    sim.set_addresses(other, &["10.1.9.9".parse().unwrap()]);
    sim.run_for(Duration::from_secs(1));
    let own = Simulation::address(0, 1).into();
    let ping = sim.ping_from(second(&sim, 0), own, "10.1.9.9".parse().unwrap(), 56);
    sim.run_for(Duration::from_secs(1));
    assert!(sim.answered(ping).is_some());
}

#[test]
fn a_partition_taken_away_and_given_back_takes_carrier_along() {
    let members = [(0, true), (1, true), (2, true)];
    let mut sim = up(&with_blue(star(3), &members), 43);
    assert!(blue_reaches(&mut sim, 0, 1) && blue_reaches(&mut sim, 2, 1));
    for _ in 0..3 {
        let now = sim.now();
        let fewer = vec![DEFAULT, blue(&[(0, true), (2, true)])];
        sim.subnet.set_partitions(now, fewer).unwrap();
        sim.run_for(Duration::from_secs(2));
        assert!(!sim.subnet.has_carrier(second(&sim, 1)));
        assert!(!blue_reaches(&mut sim, 0, 1));
        assert!(blue_reaches(&mut sim, 0, 2), "those who stay talk on");
        let now = sim.now();
        let all = vec![DEFAULT, blue(&members)];
        sim.subnet.set_partitions(now, all).unwrap();
        sim.run_for(Duration::from_secs(2));
        assert!(sim.subnet.has_carrier(second(&sim, 1)));
        assert!(blue_reaches(&mut sim, 0, 1) && blue_reaches(&mut sim, 1, 2));
    }
    assert_eq!(
        sim.unreachable_pairs(1),
        [],
        "the default partition is whole"
    );
}

/// Hard cases 8 and 9: the P_Key at index 0 changes under a running interface.
#[test]
fn case_8_and_9_the_first_p_key_changes_under_traffic_and_ip_follows() {
    let mut sim = up(&star(3), 44);
    sim.add_ipv6();
    sim.run_for(Duration::from_secs(3));
    assert_eq!(sim.unreachable_pairs(1), []);
    let only_the_first_is_full = PartitionSpec {
        members: vec![(NodeId(0), true), (NodeId(1), false), (NodeId(2), false)],
        ..DEFAULT
    };
    for (partition, expected) in [
        (only_the_first_is_full, vec![(1, 2), (2, 1)]),
        (DEFAULT, vec![]),
    ] {
        let now = sim.now();
        sim.subnet.set_partitions(now, vec![partition]).unwrap();
        sim.run_for(Duration::from_secs(5));
        assert!(sim.all_have_carrier());
        assert_eq!(sim.unreachable_pairs(3), expected, "IPv4");
        for (from, to) in [(0, 1), (1, 0), (1, 2)] {
            let [source, destination] = [from, to].map(|host| Simulation::address6(host).into());
            let ping = sim.ping_from(sim.interface(from), source, destination, 56);
            sim.run_for(Duration::from_secs(2));
            let reached = sim.answered(ping).is_some();
            assert_eq!(
                reached,
                !expected.contains(&(from, to)),
                "IPv6 {from} to {to}"
            );
        }
    }
}

#[test]
fn contradicting_partitions_are_refused_and_change_nothing() {
    let mut sim = up(&star(2), 45);
    let now = sim.now();
    let twice = vec![DEFAULT, DEFAULT];
    let error = sim.subnet.set_partitions(now, twice).unwrap_err();
    assert!(error.to_string().contains("0xffff"), "{error}");
    assert!(sim.reaches(0, 1, 1));
    assert_eq!(drops(&sim, ""), []);
}
