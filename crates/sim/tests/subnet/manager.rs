//! The subnet manager dies, another takes over, and what it changes at run time.

use softib_sim::Simulation;
use softib_subnet::Event;
use softib_wire::time::Duration;

use crate::common::{small_tree, star, up};

const PACE: Duration = Duration::from_millis(10);

fn carrier_changes(sim: &Simulation) -> usize {
    let changes = sim.log.events();
    changes
        .filter(|(_, event)| matches!(event, Event::Carrier { .. }))
        .count()
}

#[test]
fn established_neighbours_talk_on_after_the_manager_died() {
    let mut sim = up(&small_tree(), 31);
    assert_eq!(sim.unreachable_pairs(1), []);
    sim.log.clear();
    let now = sim.now();
    sim.subnet.stop_manager(now);
    // Long enough that what they know of each other has to be confirmed again.
    let pings = sim.ping_for((0, 7), Duration::from_millis(500), Duration::from_secs(300));
    assert_eq!(sim.lost(&pings), 0);
    assert_eq!(carrier_changes(&sim), 0, "carrier stays");
    assert_eq!(sim.subnet.view(sim.now()).manager.node, None);
}

#[test]
fn a_new_manager_takes_over_without_a_lost_packet_or_carrier() {
    let mut sim = up(&small_tree(), 32);
    assert_eq!(sim.unreachable_pairs(1), []);
    let lids = |sim: &Simulation| {
        let nodes = sim.subnet.view(sim.now()).nodes;
        let ports = nodes.into_iter().flat_map(|node| node.ports);
        ports.map(|port| port.lid).collect::<Vec<_>>()
    };
    let before = lids(&sim);
    let now = sim.now();
    sim.subnet.stop_manager(now);
    sim.run_for(Duration::from_secs(5));
    sim.log.clear();
    let now = sim.now();
    sim.subnet.start_manager(now);
    let pings = sim.ping_for((0, 7), PACE, Duration::from_secs(20));
    assert_eq!(sim.lost(&pings), 0);
    assert_eq!(carrier_changes(&sim), 0, "carrier stays");
    assert_eq!(lids(&sim), before, "LIDs that are in use stay");
    assert_eq!(sim.unreachable_pairs(1), []);
}

#[test]
fn members_register_again_with_a_new_manager() {
    let mut sim = up(&small_tree(), 33);
    let group = std::net::IpAddr::from([239, 1, 2, 3]);
    let now = sim.now();
    for host in 2..5 {
        let interface = sim.interface(host);
        sim.subnet.set_memberships(now, interface, &[group]);
    }
    sim.run_for(Duration::from_secs(1));
    let members = |sim: &Simulation| {
        let groups = sim.subnet.view(sim.now()).groups;
        groups
            .into_iter()
            .map(|group| (group.mgid, group.members))
            .collect::<Vec<_>>()
    };
    let before = members(&sim);
    assert!(before.iter().any(|(_, members)| members.len() == 3));
    let now = sim.now();
    sim.subnet.stop_manager(now);
    let now = sim.now();
    sim.subnet.start_manager(now);
    sim.run_for(Duration::from_secs(10));
    assert_eq!(members(&sim), before);
}

/// Hard case 4: a change of the manager took the link down.
#[test]
fn case_4_client_reregister_under_a_ping_loses_nothing() {
    let mut sim = up(&star(4), 34);
    assert!(sim.reaches(0, 1, 1));
    for _ in 0..10 {
        let now = sim.now();
        sim.subnet.stop_manager(now);
        sim.subnet.start_manager(now);
        let pings = sim.ping_for((0, 1), PACE, Duration::from_secs(3));
        assert_eq!(sim.lost(&pings), 0);
    }
}

/// Hard case 3: a group that grew from 2K to 4K after the manager was restarted. Here: the other
/// way round does not happen, the settings of a running subnet are those of its specification.
#[test]
fn hosts_that_come_up_while_nobody_manages_join_when_somebody_does() {
    let mut spec = star(4);
    spec.links[3].up = false;
    let mut sim = Simulation::new(&spec, 35).unwrap();
    let now = sim.now();
    sim.run_for(Duration::from_secs(1));
    assert!(sim.subnet.has_carrier(sim.interface(2)));
    sim.subnet.stop_manager(now);
    let late = sim.port(3);
    let now = sim.now();
    sim.subnet.set_link_up(now, late, true).unwrap();
    sim.run_for(Duration::from_secs(30));
    assert!(!sim.subnet.has_carrier(sim.interface(3)));
    let now = sim.now();
    sim.subnet.start_manager(now);
    assert!(sim.run_until(Duration::from_secs(20), Simulation::all_have_carrier));
    assert_eq!(sim.unreachable_pairs(2), []);
}
