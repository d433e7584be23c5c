//! Everything that can happen happens at random for a minute. Then it stops, and all is well.

use std::net::IpAddr;

use softib_sim::{Simulation, packets};
use softib_subnet::spec::{Impairment, NodeId, PartitionSpec, PortRef};
use softib_subnet::topology::FatTree;
use softib_wire::addr::PKey;
use softib_wire::time::Duration;
use softib_wire::units::Mtu;

use crate::common::{impair_all, up};

/// 16 hosts.
const TREE: FatTree = FatTree::TwoLevels {
    leaves: 4,
    spines: 2,
    hosts_per_leaf: 4,
    parallel: 2,
};

const DEFAULT: PartitionSpec = PartitionSpec {
    pkey: PKey::DEFAULT_FULL,
    members: Vec::new(),
    ipoib: true,
};

fn group(n: u8) -> IpAddr {
    [239, 0, 0, n].into()
}

/// One thing that happens.
fn shake(sim: &mut Simulation, rng: &mut fastrand::Rng) {
    let links = sim.subnet.spec().links.len();
    let end = sim.subnet.spec().links[rng.usize(..links)].a;
    let host = rng.usize(..sim.hosts());
    let interface = sim.interface(host);
    let now = sim.now();
    match rng.u8(..10) {
        0..3 => sim.subnet.set_link_up(now, end, rng.bool()).unwrap(),
        3 => {
            let impairment = Impairment {
                loss: rng.f64() / 5.0,
                corrupt: rng.f64() / 20.0,
                duplicate: rng.f64() / 20.0,
                reorder: rng.f64() / 20.0,
                delay: Duration::from_micros(rng.u64(..5_000)),
                jitter: Duration::from_micros(rng.u64(..500)),
                rate: rng.bool().then(|| rng.u64(10_000_000..10_000_000_000)),
            };
            sim.subnet.set_impairment(now, end, impairment).unwrap();
        }
        4 => sim.subnet.set_admin_up(now, interface, rng.bool()),
        5 => {
            let wanted: Vec<_> = (0..4).filter(|_| rng.bool()).map(group).collect();
            sim.subnet.set_memberships(now, interface, &wanted);
        }
        6 => sim.subnet.stop_manager(now),
        7 => sim.subnet.start_manager(now),
        8 => {
            let members = (0..16).map(|n| (NodeId(n), rng.bool())).collect();
            let some = PartitionSpec { members, ..DEFAULT };
            sim.subnet.set_partitions(now, vec![some]).unwrap();
        }
        _ => {
            for to in 0..4 {
                let own = Simulation::address(host, 0).into();
                let packet = packets::udp(sim.subnet.pool(), own, group(to), &[to]);
                sim.send(interface, packet);
            }
        }
    }
    sim.collect();
    for _ in 0..4 {
        let from = rng.usize(..sim.hosts());
        let to = (from + 1 + rng.usize(..sim.hosts() - 1)) % sim.hosts();
        sim.ping(from, to, 56);
    }
}

/// It stops.
fn calm(sim: &mut Simulation) {
    let ends: Vec<PortRef> = sim.subnet.spec().links.iter().map(|link| link.a).collect();
    let now = sim.now();
    for end in ends {
        sim.subnet.set_link_up(now, end, true).unwrap();
    }
    impair_all(sim, Impairment::default());
    sim.subnet.set_partitions(now, vec![DEFAULT]).unwrap();
    sim.subnet.start_manager(now);
    for host in 0..sim.hosts() {
        let interface = sim.interface(host);
        sim.subnet.set_admin_up(now, interface, true);
        let wanted: &[IpAddr] = if host % 2 == 0 { &[group(9)] } else { &[] };
        sim.subnet.set_memberships(now, interface, wanted);
    }
    sim.run_for(Duration::from_secs(60));
}

fn everything_recovers(seed: u64) {
    let mut sim = up(&TREE.build(Mtu::B2048).unwrap(), seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    for _ in 0..300 {
        shake(&mut sim, &mut rng);
        sim.run_for(Duration::from_millis(rng.u64(..400)));
    }
    calm(&mut sim);
    let view = sim.subnet.view(sim.now());
    assert!(
        sim.all_have_carrier(),
        "seed {seed}: {:#?}",
        view.interfaces
    );
    assert_eq!(
        (view.manager.nodes, view.manager.switches),
        (22, 6),
        "seed {seed}"
    );
    assert_eq!(sim.unreachable_pairs(4), [], "seed {seed}");
    sim.log.clear();
    sim.log.keep_packets = true;
    let own = Simulation::address(1, 0).into();
    let packet = packets::udp(sim.subnet.pool(), own, group(9), b"all of you");
    let interface = sim.interface(1);
    sim.send(interface, packet);
    sim.run_for(Duration::from_secs(2));
    for host in 0..sim.hosts() {
        let heard = sim.log.packets(sim.interface(host)).count();
        assert_eq!(
            heard,
            usize::from(host % 2 == 0),
            "seed {seed}, host {host}"
        );
    }
}

#[test]
fn everything_recovers_from_everything() {
    for seed in 0..5 {
        everything_recovers(seed);
    }
}
