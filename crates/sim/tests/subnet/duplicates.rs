//! Two hosts with one address: said, and the first owner keeps talking.

use std::net::IpAddr;

use softib_sim::Simulation;
use softib_subnet::Event;
use softib_subnet::spec::IfaceRef;
use softib_wire::time::Duration;

use crate::common::{star, up};

fn told(sim: &Simulation) -> Vec<(IfaceRef, IpAddr)> {
    let events = sim.log.events();
    events
        .filter_map(|(_, event)| match event {
            Event::DuplicateAddress { interface, ip, .. } => Some((*interface, *ip)),
            _ => None,
        })
        .collect()
}

#[test]
fn an_ipv6_address_that_somebody_has_is_not_used_and_said_to_be_duplicate() {
    let mut sim = up(&star(3), 61);
    sim.add_ipv6();
    sim.run_for(Duration::from_secs(3));
    assert_eq!(told(&sim), [], "all are different at first");
    let taken = IpAddr::V6(Simulation::address6(0));
    let thief = sim.interface(1);
    let own = IpAddr::V4(Simulation::address(1, 0));
    sim.set_addresses(thief, &[own, taken]);
    sim.run_for(Duration::from_secs(3));
    assert!(told(&sim).contains(&(thief, taken)), "{:?}", told(&sim));
    let view = sim.subnet.view(sim.now());
    let row = view.interfaces.iter().find(|row| row.host == "h2").unwrap();
    assert!(
        row.addresses
            .iter()
            .any(|address| address.contains("(duplicate)")),
        "{:?}",
        row.addresses
    );
    let asker = IpAddr::V6(Simulation::address6(2));
    let ping = sim.ping_from(sim.interface(2), asker, taken, 56);
    sim.run_for(Duration::from_secs(1));
    assert!(sim.answered(ping).is_some(), "the first owner is reached");
    let neighbour = sim.subnet.view(sim.now()).neighbours.into_iter();
    let of_asker: Vec<_> = neighbour
        .filter(|row| row.host == "h3" && row.ip == taken.to_string())
        .map(|row| row.hardware_address.unwrap())
        .collect();
    let owner = sim.subnet.view(sim.now()).interfaces.remove(0);
    assert_eq!(of_asker, [owner.hardware_address]);
}

#[test]
fn two_that_ask_for_one_ipv6_address_at_once_both_hear_of_it() {
    let mut sim = up(&star(2), 62);
    let same: IpAddr = "fd00:1b::77".parse().unwrap();
    for host in 0..2 {
        let interface = sim.interface(host);
        sim.set_addresses(interface, &[same]);
    }
    sim.run_for(Duration::from_secs(5));
    let told = told(&sim);
    assert!(!told.is_empty(), "at least one hears of it");
}

#[test]
fn an_ipv4_address_that_two_have_is_said_to_be_duplicate() {
    let mut sim = up(&star(3), 63);
    let taken = IpAddr::V4(Simulation::address(0, 0));
    let thief = sim.interface(1);
    sim.set_addresses(thief, &[taken]);
    // Both answer whoever asks, and each sees what the other one sends.
    let ping = sim.ping_from(thief, taken, Simulation::address(2, 0).into(), 56);
    sim.run_for(Duration::from_secs(2));
    let _ = ping;
    assert!(!told(&sim).is_empty());
}
