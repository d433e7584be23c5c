//! What happens to a subnet that is up: links cut and put back, nodes gone, SMPs lost.

use softib_wire::addr::Lid;
use softib_wire::mad::attribute;
use softib_wire::time::Duration;
use softib_wire::units::PortState;

use super::fake::{Fabric, Lab, three_levels, two_levels};
use crate::sm::{SmEvent, SweepKind};

/// A cable between two switches.
fn trunk(fabric: &Fabric) -> (usize, u8) {
    *fabric
        .cables
        .iter()
        .find(|(a, b)| {
            let is_switch = |node: usize| fabric.nodes[node].name.starts_with('s');
            is_switch(a.0) && is_switch(b.0)
        })
        .expect("a trunk")
        .0
}

#[test]
fn a_cut_link_is_routed_around_at_once() {
    for fabric in [two_levels(4, 4, 2), three_levels(4, 4)] {
        let trunks: Vec<(usize, u8)> = fabric
            .cables
            .iter()
            .filter(|(a, b)| a < b && a.0 >= 16 && b.0 >= 16)
            .map(|(&a, _)| a)
            .collect();
        for cut in trunks {
            let fabric = if fabric.nodes.len() == 22 {
                two_levels(4, 4, 2)
            } else {
                three_levels(4, 4)
            };
            let mut lab = Lab::up(fabric, 0);
            let before = lab.now;
            lab.set_link(cut, false);
            lab.settle();
            lab.assert_connected();
            let took = lab.now - before;
            // No SMP waited for a time-out, whichever link it was.
            assert!(took < Duration::from_millis(20), "{took:?} for {cut:?}");
            assert_eq!(lab.manager.manager_view().heavy_sweeps, 1);
        }
    }
}

#[test]
fn a_link_put_back_takes_nothing_with_it() {
    let mut lab = Lab::up(two_levels(4, 4, 2), 0);
    let cut = trunk(&lab.fabric);
    lab.set_link(cut, false);
    lab.settle();
    lab.set_link(cut, true);
    // At every moment all hosts reach all others.
    while !lab.manager.is_settled() {
        lab.assert_connected();
        lab.step();
    }
    lab.assert_connected();
    let port = &lab.fabric.nodes[cut.0].ports[usize::from(cut.1)];
    assert_eq!(port.port_state, PortState::Active);
    // And the link is used again.
    let used = lab.fabric.nodes[cut.0]
        .lft
        .iter()
        .filter(|&&port| port == cut.1)
        .count();
    assert!(used > 0);
}

#[test]
fn only_changed_blocks_are_written() {
    let mut lab = Lab::up(two_levels(4, 4, 2), 0);
    let before = lab.fabric.sets.clone();
    lab.manager.sweep(lab.now);
    lab.settle();
    assert_eq!(
        lab.fabric.sets, before,
        "a sweep of an unchanged subnet writes nothing"
    );
    let cut = trunk(&lab.fabric);
    lab.set_link(cut, false);
    lab.settle();
    let written = lab.fabric.sets[&attribute::LINEAR_FDB] - before[&attribute::LINEAR_FDB];
    // Of the two spines only the one that lost its link has another table.
    assert_eq!(written, 4 + 1);
}

#[test]
fn a_light_sweep_finds_what_no_trap_told() {
    let mut lab = Lab::up(two_levels(4, 4, 2), 0);
    let cut = trunk(&lab.fabric);
    lab.fabric.set_link(cut, false);
    lab.run(Duration::from_secs(11));
    lab.settle();
    lab.assert_connected();
    let view = lab.manager.manager_view();
    assert!(view.light_sweeps >= 1 && view.partial_sweeps >= 1);
    assert_eq!(view.heavy_sweeps, 1);
    assert!(
        !lab.fabric.nodes[cut.0].switch.port_state_change,
        "the flag is cleared"
    );
}

#[test]
fn a_host_leaves_and_comes_back_with_its_lid() {
    let mut lab = Lab::up(two_levels(2, 3, 2), 0);
    let lid = lab.fabric.lid(4);
    let cable = lab.fabric.cables[&(4, 1)];
    lab.set_link(cable, false);
    lab.settle();
    assert_eq!(lab.manager.manager_view().nodes, 9);
    assert!(
        lab.events
            .iter()
            .any(|event| matches!(event, SmEvent::NodeGone { .. }))
    );
    // A new host does not get the LID of the one that is gone.
    lab.set_link(cable, true);
    lab.settle();
    assert_eq!(lab.fabric.lid(4), lid);
    assert_eq!(lab.fabric.nodes[4].reregistered, [1, 1]);
    lab.assert_connected();
}

#[test]
fn a_switch_that_dies_is_routed_around() {
    let mut lab = Lab::up(two_levels(4, 2, 3), 0);
    let spine = lab.fabric.nodes.len() - 1;
    lab.fabric.nodes[spine].dead = true;
    let before = lab.now;
    for port in 1..=4 {
        lab.set_link((spine, port), false);
    }
    lab.settle();
    lab.assert_connected();
    assert_eq!(lab.manager.manager_view().nodes, 8 + 4 + 2);
    assert!(
        lab.now - before < Duration::from_millis(50),
        "{:?}",
        lab.now - before
    );
}

#[test]
fn a_switch_that_loses_its_memory_is_written_again() {
    let mut lab = Lab::up(two_levels(2, 2, 2), 0);
    let leaf = 5;
    let node = &mut lab.fabric.nodes[leaf];
    node.lft.fill(0xFF);
    node.switch.linear_fdb_top = Lid::NONE;
    node.ports[0].lid = Lid::NONE;
    lab.run(Duration::from_secs(11));
    lab.settle();
    lab.assert_connected();
}

#[test]
fn lost_smps_are_sent_again() {
    for seed in 0..5 {
        let mut lab = Lab::new(three_levels(4, 4), 0);
        lab.rng = fastrand::Rng::with_seed(seed);
        lab.loss = 100;
        lab.settle();
        lab.assert_connected();
        assert!(lab.manager.manager_view().smps_retried > 0);
    }
}

#[test]
fn a_node_that_vanishes_in_mid_sweep() {
    for at in [50, 100, 200, 300, 400, 500] {
        let mut lab = Lab::new(three_levels(4, 4), 0);
        while lab.smps < at {
            lab.step();
        }
        // An aggregation switch and a host stop to answer, and their neighbours see it.
        let dead = [20 + 2, 9];
        for node in dead {
            lab.fabric.nodes[node].dead = true;
            let ports = lab.fabric.nodes[node].info.port_count;
            for port in (1..=ports)
                .filter(|&port| lab.fabric.cables.contains_key(&(node, port)))
                .collect::<Vec<_>>()
            {
                lab.set_link((node, port), false);
            }
        }
        lab.settle();
        lab.assert_connected();
    }
}

#[test]
fn a_link_that_flaps() {
    let mut lab = Lab::up(three_levels(4, 4), 0);
    let flapping = trunk(&lab.fabric);
    for round in 0..30 {
        lab.set_link(flapping, round % 2 == 1);
        lab.run(Duration::from_millis(3) * (round % 4));
    }
    lab.settle();
    lab.assert_connected();
}

#[test]
fn random_flaps_and_losses() {
    for seed in 0..8 {
        let mut lab = Lab::new(three_levels(4, 3), 0);
        lab.rng = fastrand::Rng::with_seed(seed);
        lab.loss = 10;
        let mut rng = fastrand::Rng::with_seed(seed);
        let cables: Vec<(usize, u8)> = lab.fabric.cables.keys().copied().collect();
        for _ in 0..40 {
            lab.run(Duration::from_micros(rng.u64(..20_000)));
            let cable = cables[rng.usize(..cables.len())];
            let is_up = !lab.fabric.down.contains(&cable);
            if cable == lab.at || lab.fabric.cables[&cable] == lab.at {
                continue;
            }
            if rng.bool() {
                lab.set_link(cable, !is_up);
            } else {
                // The trap is lost.
                lab.fabric.set_link(cable, !is_up);
            }
        }
        for cable in cables {
            if lab.fabric.down.contains(&cable) {
                lab.set_link(cable, true);
            }
        }
        lab.run(Duration::from_secs(25));
        lab.settle();
        lab.assert_connected();
    }
}

#[test]
fn the_managers_own_link_is_cut_and_put_back() {
    let mut lab = Lab::up(two_levels(2, 2, 2), 0);
    lab.fabric.set_link((0, 1), false);
    lab.manager.handle_port(lab.now, false);
    lab.run(Duration::from_secs(1));
    lab.fabric.set_link((0, 1), true);
    lab.manager.handle_port(lab.now, true);
    lab.settle();
    lab.assert_connected();
    assert_eq!(lab.manager.manager_view().nodes, 8);
}

#[test]
fn two_nodes_with_one_guid() {
    let mut fabric = two_levels(2, 2, 1);
    fabric.nodes[3].info.node_guid = fabric.nodes[1].info.node_guid;
    let mut lab = Lab::new(fabric, 0);
    lab.run(Duration::from_secs(5));
    let met = |event: &SmEvent| matches!(event, SmEvent::DuplicateGuid { .. });
    assert!(lab.events.iter().any(met));
    lab.fabric
        .follow((0, 1), lab.fabric.lid(2))
        .expect("the others are not disturbed");
    assert_eq!(lab.manager.manager_view().nodes, 6);
}

#[test]
fn traps_are_repressed() {
    let mut lab = Lab::up(two_levels(2, 2, 1), 0);
    lab.trap(4);
    let (to, mad) = lab.sent.last().expect("an answer");
    assert_eq!(to.lid, lab.fabric.lid(4));
    assert_eq!(mad[3], softib_wire::mad::method::TRAP_REPRESS);
    lab.settle();
    let partial = |event: &SmEvent| {
        matches!(
            event,
            SmEvent::SweepDone {
                kind: SweepKind::Partial,
                ..
            }
        )
    };
    assert!(lab.events.iter().any(partial));
}
