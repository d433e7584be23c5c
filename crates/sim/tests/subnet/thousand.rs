//! A thousand hosts on a three-level fat tree: they come up, and each resolves every other.

use std::net::{IpAddr, Ipv6Addr};

use softib_sim::Simulation;
use softib_subnet::topology::FatTree;
use softib_wire::time::Duration;
use softib_wire::units::Mtu;

/// 10 pods of 10 leaves with 10 hosts each.
const TREE: FatTree = FatTree::ThreeLevels {
    radix: 20,
    pods: 10,
};
const HOSTS: usize = 1000;
/// Groups that solicitations of neighbours go to. Of an address the last 24 bits name the group,
/// and they can be chosen: with one group for all, 499,500 questions would come to 1,000 hosts
/// each; with one for each host, 999,000 memberships would be needed to ask them. The hosts of a
/// leaf share one.
const GROUPS: usize = 100;

fn address(host: usize) -> Ipv6Addr {
    let [host, group] = [host, host / (HOSTS / GROUPS)].map(|n| u16::try_from(n).unwrap());
    Ipv6Addr::new(0xFD00, 0x1B, 0, 0, 0, host, 0xFF00, group)
}

#[test]
fn a_thousand_hosts_come_up_and_each_resolves_every_other() {
    let spec = TREE.build(Mtu::B2048).unwrap();
    let mut sim = Simulation::new(&spec, 1000).unwrap();
    assert_eq!(sim.hosts(), HOSTS);
    let came_up = sim.run_until(Duration::from_secs(60), Simulation::all_have_carrier);
    let manager = sim.subnet.manager().unwrap();
    assert!(came_up, "{manager:?}");
    assert_eq!((manager.nodes, manager.switches), (1300, 300));
    assert_eq!(manager.smps_failed, 0);
    every_broadcast_comes_to_all(&mut sim);
    every_pair_resolves(&mut sim);
}

/// Each host asks for the address of one by ARP: the question comes to all others.
fn every_broadcast_comes_to_all(sim: &mut Simulation) {
    let before: Vec<_> = (0..HOSTS).map(|host| heard(sim, host)).collect();
    let pings: Vec<_> = (0..HOSTS)
        .map(|host| sim.ping(host, (host + 511) % HOSTS, 56))
        .collect();
    sim.run_for(Duration::from_secs(1));
    assert!(pings.iter().all(|&ping| sim.answered(ping).is_some()));
    for (host, before) in before.into_iter().enumerate() {
        // 999 questions, the answer to its own, a ping and the answer to its own ping.
        assert_eq!(heard(sim, host) - before, 1002, "packets at host {host}");
    }
}

/// Packets that came to a host.
fn heard(sim: &Simulation, host: usize) -> u64 {
    let counters = sim.subnet.counters(sim.interface(host));
    counters.unwrap().rx_packets
}

/// For every two hosts: one asks for the other's hardware address, the other learns the one's by
/// that, each asks the subnet administration for its path, and a ping goes there and back.
fn every_pair_resolves(sim: &mut Simulation) {
    for host in 0..HOSTS {
        let interface = sim.interface(host);
        sim.set_addresses(
            interface,
            &[Simulation::address(host, 0).into(), address(host).into()],
        );
    }
    sim.run_for(Duration::from_secs(3));
    for from in 0..HOSTS {
        let source = IpAddr::V6(address(from));
        let interface = sim.interface(from);
        let pings: Vec<_> = (from + 1..HOSTS)
            .map(|to| sim.ping_from(interface, source, address(to).into(), 56))
            .collect();
        sim.run_for(Duration::from_millis(10));
        let lost = pings.iter().filter(|&&ping| sim.answered(ping).is_none());
        assert_eq!(lost.count(), 0, "from host {from}");
    }
}
