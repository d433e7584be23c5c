//! What is lost when a cable is cut, and when a switch or a host dies and returns.

use softib_sim::{Pings, Simulation};
use softib_wire::time::Duration;

use crate::common::{port, set_power, small_tree, star, up};

const PACE: Duration = Duration::from_millis(10);

/// Which spine carries packets between two hosts of different leaves: the second hop.
fn spine_between(sim: &Simulation, from: &str, to: &str) -> String {
    let paths = sim.subnet.view(sim.now()).paths;
    let path = paths
        .iter()
        .find(|path| path.host == from && path.to.as_deref() == Some(to))
        .expect("they have talked");
    let hop = path.hops[2].split('[').next();
    hop.expect("a port has a name").to_owned()
}

fn add(all: &mut Pings, more: Pings) {
    all.0.extend(more.0);
}

#[test]
fn a_spine_link_cut_under_a_ping_costs_less_than_a_second_and_nothing_when_it_returns() {
    let mut sim = up(&small_tree(), 21);
    assert!(sim.reaches(0, 7, 1));
    let spine = spine_between(&sim, "h1", "h8");
    let cable = port(&sim, &spine, 1);
    let mut pings = sim.ping_for((0, 7), PACE, Duration::from_secs(1));
    let now = sim.now();
    sim.subnet.set_link_up(now, cable, false).unwrap();
    add(
        &mut pings,
        sim.ping_for((0, 7), PACE, Duration::from_secs(5)),
    );
    assert!(sim.lost(&pings) < 100, "{} lost", sim.lost(&pings));
    assert!(
        sim.longest_gap(&pings) < Duration::from_secs(1),
        "{:?}",
        sim.longest_gap(&pings)
    );
    let now = sim.now();
    sim.subnet.set_link_up(now, cable, true).unwrap();
    let back = sim.ping_for((0, 7), PACE, Duration::from_secs(15));
    assert_eq!(sim.lost(&back), 0, "put back: none lost");
    assert!(sim.all_have_carrier());
}

#[test]
fn both_sides_of_a_cut_tree_meet_again_when_the_cable_returns() {
    let mut sim = up(&small_tree(), 22);
    for spine in ["spine1", "spine2"] {
        let cable = port(&sim, spine, 1);
        let now = sim.now();
        sim.subnet.set_link_up(now, cable, false).unwrap();
    }
    sim.run_for(Duration::from_secs(5));
    // Who is on the manager's side keeps everything.
    assert!(sim.reaches(1, 2, 1));
    assert!(!sim.reaches(0, 7, 2), "there is no way");
    for spine in ["spine1", "spine2"] {
        let cable = port(&sim, spine, 1);
        let now = sim.now();
        sim.subnet.set_link_up(now, cable, true).unwrap();
    }
    sim.run_for(Duration::from_secs(20));
    assert_eq!(sim.unreachable_pairs(3), []);
}

#[test]
fn a_spine_dies_and_returns() {
    let mut sim = up(&small_tree(), 23);
    assert_eq!(sim.unreachable_pairs(1), []);
    set_power(&mut sim, "spine1", false);
    sim.run_for(Duration::from_secs(1));
    assert_eq!(sim.unreachable_pairs(1), [], "within a second");
    assert_eq!(sim.subnet.view(sim.now()).manager.switches, 3);
    set_power(&mut sim, "spine1", true);
    sim.run_for(Duration::from_secs(1));
    assert_eq!(sim.unreachable_pairs(1), []);
    assert_eq!(sim.subnet.view(sim.now()).manager.switches, 4);
}

#[test]
fn a_leaf_dies_and_returns_with_its_hosts() {
    let mut sim = up(&small_tree(), 24);
    assert_eq!(sim.unreachable_pairs(1), []);
    set_power(&mut sim, "leaf2", false);
    sim.run_for(Duration::from_secs(2));
    assert!(!sim.subnet.has_carrier(sim.interface(7)));
    assert!(sim.reaches(0, 3, 1), "the other leaf goes on");
    assert!(!sim.reaches(0, 7, 1));
    set_power(&mut sim, "leaf2", true);
    sim.run_for(Duration::from_secs(5));
    assert!(sim.all_have_carrier());
    assert_eq!(sim.unreachable_pairs(2), []);
}

#[test]
fn a_host_dies_and_returns_and_is_found_again() {
    let mut sim = up(&small_tree(), 25);
    assert!(sim.reaches(0, 5, 1));
    set_power(&mut sim, "h6", false);
    sim.run_for(Duration::from_secs(2));
    let view = sim.subnet.view(sim.now());
    assert_eq!(view.manager.nodes, 11);
    assert!(
        view.groups
            .iter()
            .all(|group| { !group.members.iter().any(|member| member.port == "h6") }),
        "it is in no group: {:?}",
        view.groups
    );
    set_power(&mut sim, "h6", true);
    sim.run_for(Duration::from_secs(2));
    assert!(sim.all_have_carrier());
    assert!(sim.reaches(0, 5, 2) && sim.reaches(5, 0, 1));
}

#[test]
fn an_interface_switched_off_and_on_again_is_reached() {
    let mut sim = up(&star(3), 26);
    assert!(sim.reaches(0, 1, 1));
    let interface = sim.interface(1);
    for _ in 0..3 {
        let now = sim.now();
        sim.subnet.set_admin_up(now, interface, false);
        sim.run_for(Duration::from_secs(1));
        assert!(!sim.subnet.has_carrier(interface));
        assert!(!sim.reaches(0, 1, 1), "nobody is there");
        let now = sim.now();
        sim.subnet.set_admin_up(now, interface, true);
        sim.run_for(Duration::from_secs(1));
        assert!(sim.subnet.has_carrier(interface));
        assert!(sim.reaches(0, 1, 8));
    }
}
