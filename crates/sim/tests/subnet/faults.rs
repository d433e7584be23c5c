//! Bad links and links that come and go: when it stops, everything recovers.

use softib_subnet::spec::{Impairment, NodeId, NodeKind, PortRef};
use softib_subnet::topology::FatTree;
use softib_wire::time::Duration;
use softib_wire::units::Mtu;

use crate::common::{impair_all, up};

/// 64 hosts, four spines: two cables of a leaf may be out and all is still reachable.
const TREE: FatTree = FatTree::TwoLevels {
    leaves: 8,
    spines: 4,
    hosts_per_leaf: 8,
    parallel: 1,
};

const LOSS: Impairment = Impairment {
    loss: 0.01,
    corrupt: 0.0,
    duplicate: 0.0,
    reorder: 0.0,
    delay: Duration::ZERO,
    jitter: Duration::ZERO,
    rate: None,
};

#[test]
fn one_percent_loss_and_flapping_links_for_a_minute_then_everything_recovers() {
    let spec = TREE.build(Mtu::B2048).unwrap();
    let mut sim = up(&spec, 64);
    impair_all(&mut sim, LOSS);
    let is_switch = |end: PortRef| {
        let kind = &spec.nodes[end.node.index()].kind;
        matches!(kind, NodeKind::Switch { .. })
    };
    let trunks: Vec<_> = spec.links.iter().filter(|link| is_switch(link.a)).collect();
    let access: Vec<_> = spec
        .links
        .iter()
        .filter(|link| !is_switch(link.a))
        .collect();
    let mut rng = fastrand::Rng::with_seed(64);
    let mut out = Vec::new();
    let mut pings = Vec::new();
    for tenth in 0..600 {
        let now = sim.now();
        // Each cable is out for half a second, trunks and hosts' cables in turn.
        out.retain(|&(end, until)| {
            let ends = until <= now;
            if ends {
                sim.subnet.set_link_up(now, end, true).unwrap();
            }
            !ends
        });
        if tenth % 5 == 0 {
            let kind = if tenth % 2 == 0 { &trunks } else { &access };
            let end = kind[rng.usize(..kind.len())].a;
            if !out.iter().any(|&(other, _)| other == end) {
                sim.subnet.set_link_up(now, end, false).unwrap();
                out.push((end, now + Duration::from_millis(500)));
            }
        }
        let from = rng.usize(..sim.hosts());
        let to = (from + 1 + rng.usize(..sim.hosts() - 1)) % sim.hosts();
        pings.push(sim.ping(from, to, 56));
        sim.run_for(Duration::from_millis(100));
    }
    let answered = pings.iter().filter(|&&ping| sim.answered(ping).is_some());
    let answered = answered.count();
    assert!(
        answered > 400,
        "{answered} of 600 pings got through meanwhile"
    );
    let now = sim.now();
    for (end, _) in out {
        sim.subnet.set_link_up(now, end, true).unwrap();
    }
    impair_all(&mut sim, Impairment::default());
    sim.run_for(Duration::from_secs(20));
    assert!(sim.all_have_carrier());
    assert_eq!(sim.unreachable_pairs(3), []);
    let view = sim.subnet.view(sim.now());
    assert_eq!((view.manager.nodes, view.manager.switches), (76, 12));
    assert_eq!(
        view.groups[0].members.len(),
        64,
        "all are in the broadcast group"
    );
}

#[test]
fn a_subnet_comes_up_over_links_that_lose_a_tenth() {
    let mut spec = TREE.build(Mtu::B2048).unwrap();
    for link in &mut spec.links {
        link.impairment.loss = 0.1;
    }
    let mut sim = softib_sim::Simulation::new(&spec, 10).unwrap();
    let came_up = sim.run_until(
        Duration::from_secs(120),
        softib_sim::Simulation::all_have_carrier,
    );
    assert!(came_up, "{:#?}", sim.subnet.view(sim.now()).manager);
    assert!(sim.reaches(0, 63, 20));
}

#[test]
fn links_that_delay_reorder_duplicate_and_corrupt_stop_nobody() {
    let mut spec = TREE.build(Mtu::B2048).unwrap();
    for link in &mut spec.links {
        link.impairment = Impairment {
            loss: 0.01,
            corrupt: 0.01,
            duplicate: 0.05,
            reorder: 0.05,
            delay: Duration::from_micros(50),
            jitter: Duration::from_micros(50),
            rate: Some(10_000_000_000),
        };
    }
    let mut sim = up(&spec, 11);
    for to in 1..sim.hosts() {
        assert!(sim.reaches(0, to, 10), "host {to}");
    }
}

#[test]
fn the_managers_own_cable_comes_and_goes() {
    let spec = TREE.build(Mtu::B2048).unwrap();
    let mut sim = up(&spec, 12);
    assert!(sim.reaches(1, 60, 1));
    let own = PortRef {
        node: NodeId(0),
        port: 1,
    };
    for _ in 0..5 {
        let now = sim.now();
        sim.subnet.set_link_up(now, own, false).unwrap();
        sim.run_for(Duration::from_millis(700));
        let ping = sim.ping(1, 60, 56);
        sim.run_for(Duration::from_millis(700));
        assert!(
            sim.answered(ping).is_some(),
            "those who know each other talk on"
        );
        let now = sim.now();
        sim.subnet.set_link_up(now, own, true).unwrap();
        sim.run_for(Duration::from_secs(3));
    }
    sim.run_for(Duration::from_secs(20));
    assert!(sim.all_have_carrier());
    assert_eq!(sim.unreachable_pairs(3), []);
}
