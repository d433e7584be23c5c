//! Unicast tables against an oracle for shortest paths, on any topology; and how evenly they use links.

use std::collections::BTreeMap;

use petgraph::algo::dijkstra;
use petgraph::graph::UnGraph;
use proptest::prelude::*;

use super::fake::{Fabric, Lab, three_levels, two_levels};

/// Any connected network of switches with a few hosts.
fn any_fabric() -> impl Strategy<Value = Fabric> {
    let shape = (2usize..10).prop_flat_map(|switches| {
        let parents = proptest::collection::vec(any::<prop::sample::Index>(), switches - 1);
        let extra = proptest::collection::vec((0..switches, 0..switches), 0..12);
        let hosts = proptest::collection::vec(0..switches, 2..8);
        (Just(switches), parents, extra, hosts)
    });
    shape.prop_map(|(switches, parents, extra, hosts)| {
        let mut fabric = Fabric::default();
        let all: Vec<usize> = hosts.iter().map(|_| fabric.host(1)).collect();
        let switch: Vec<usize> = (0..switches).map(|_| fabric.switch(40)).collect();
        for (host, at) in all.iter().zip(hosts) {
            fabric.connect(*host, switch[at]);
        }
        for (child, parent) in (1..).zip(parents) {
            fabric.connect(switch[child], switch[parent.index(child)]);
        }
        for (a, b) in extra {
            if a != b {
                fabric.connect(switch[a], switch[b]);
            }
        }
        fabric
    })
}

/// Every way that the tables give is a shortest one.
fn assert_shortest(lab: &Lab) {
    let mut graph = UnGraph::<usize, ()>::new_undirected();
    let ids: Vec<_> = (0..lab.fabric.nodes.len())
        .map(|node| graph.add_node(node))
        .collect();
    for &a in lab.fabric.cables.keys() {
        if let Some(b) = lab.fabric.peer(a)
            && a < b
        {
            graph.add_edge(ids[a.0], ids[b.0], ());
        }
    }
    for from in lab.reachable() {
        let best = dijkstra(&graph, ids[from], None, |_| 1usize);
        for to in lab.reachable() {
            let start = (from, u8::from(lab.fabric.nodes[from].name.starts_with('h')));
            let passed = lab.fabric.follow(start, lab.fabric.lid(to)).expect("a way");
            assert_eq!(
                passed.len() - 1,
                best[&ids[to]],
                "{from} to {to}: {passed:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_lid_is_reached_from_everywhere_by_a_shortest_way(
        fabric in any_fabric(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut lab = Lab::up(fabric, 0);
        assert_shortest(&lab);
        let cables: Vec<(usize, u8)> = lab.fabric.cables.keys().copied().collect();
        for cut in cuts {
            let end = cables[cut.index(cables.len())];
            if [end, lab.fabric.cables[&end]].contains(&lab.at) {
                continue;
            }
            let up = lab.fabric.down.contains(&end);
            lab.set_link(end, up);
            lab.settle();
            assert_shortest(&lab);
        }
    }
}

/// Hosts by the port that a switch sends their packets out of.
fn load(lab: &Lab, switch: usize) -> BTreeMap<u8, usize> {
    let mut load = BTreeMap::new();
    for (host, node) in lab.fabric.nodes.iter().enumerate() {
        if node.name.starts_with('h') {
            let port = lab.fabric.nodes[switch].lft[usize::from(lab.fabric.lid(host).bits())];
            *load.entry(port).or_default() += 1;
        }
    }
    load
}

#[test]
fn uplinks_carry_the_same_load() {
    // 12 hosts elsewhere over 2 uplinks, 3 over ports of a leaf of a tree of 3 levels.
    let lab = Lab::up(two_levels(4, 4, 2), 0);
    for leaf in 16..20 {
        let load = load(&lab, leaf);
        assert_eq!((load[&5], load[&6]), (6, 6), "leaf {leaf}");
    }
    let lab = Lab::up(three_levels(8, 4), 0);
    for (switch, node) in lab.fabric.nodes.iter().enumerate() {
        if node.name.starts_with('h') {
            continue;
        }
        let load = load(&lab, switch);
        let is_up = |port: u8| {
            let peer = lab.fabric.cables[&(switch, port)].0;
            node.info.port_count == 8 && port > 4 && lab.fabric.nodes[peer].name.starts_with('s')
        };
        let up: Vec<usize> = load
            .iter()
            .filter(|(port, _)| is_up(**port))
            .map(|(_, n)| *n)
            .collect();
        if let (Some(most), Some(least)) = (up.iter().max(), up.iter().min()) {
            assert!(most - least <= 1, "switch {switch}: {load:?}");
        }
    }
}

#[test]
fn parallel_links_share_the_load() {
    let mut fabric = Fabric::default();
    let hosts: Vec<usize> = (0..12).map(|_| fabric.host(1)).collect();
    let (a, b) = (fabric.switch(16), fabric.switch(16));
    for (i, host) in hosts.iter().enumerate() {
        fabric.connect(*host, if i < 6 { a } else { b });
    }
    for _ in 0..3 {
        fabric.connect(a, b);
    }
    let lab = Lab::up(fabric, 0);
    for switch in [a, b] {
        let load = load(&lab, switch);
        assert_eq!([load[&7], load[&8], load[&9]], [2, 2, 2]);
    }
}

#[test]
fn a_cut_moves_only_what_used_the_link() {
    let mut lab = Lab::up(two_levels(4, 4, 4), 0);
    let leaf = 16;
    let before = lab.fabric.nodes[leaf].lft.clone();
    let cut = (leaf, 5);
    lab.set_link(cut, false);
    lab.settle();
    for (lid, (old, new)) in before.iter().zip(&lab.fabric.nodes[leaf].lft).enumerate() {
        if *old != 5 {
            assert_eq!(old, new, "LID {lid} moved without need");
        }
    }
    let load = load(&lab, leaf);
    assert_eq!([load[&6], load[&7], load[&8]], [4, 4, 4]);
    // Put back, the link gets its share again.
    lab.set_link(cut, true);
    lab.settle();
    assert_eq!(before, lab.fabric.nodes[leaf].lft);
}
