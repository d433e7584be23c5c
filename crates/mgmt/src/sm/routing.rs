//! Unicast routing by minimum hops, with the load spread over all shortest ways.
//!
//! Every switch sends the packets for a LID towards a neighbour that is one hop nearer to the switch
//! that the LID is behind. As each hop comes nearer, no route can loop. Among several such ports the
//! LIDs behind one switch are dealt out in turn, beginning at the port with the least load: the hosts
//! of a leaf of a fat tree use its uplinks evenly, and so do the levels above.

use softib_wire::mad::tables::NO_PORT;

use super::graph::{Distances, SwitchGraph, UNREACHABLE};

/// A LID and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) lid: u16,
    /// Index of the switch that has the port, or that the port is linked to.
    pub(super) switch: u32,
    /// The port of that switch to leave by. 0: the switch itself.
    pub(super) port: u8,
}

/// Computes the linear forwarding table of every switch, LID 0 up to `top`.
///
/// `previous` gives the table that a switch has. What it says is kept where it still is a shortest
/// way: after a loss only what used the lost link moves. An empty one makes all choices anew.
pub(super) fn tables<'a>(
    graph: &SwitchGraph,
    distances: &Distances,
    destinations: &[Destination],
    top: u16,
    mut previous: impl FnMut(usize) -> &'a [u8],
) -> Vec<Vec<u8>> {
    let by_switch = group(graph.len(), destinations);
    let mut candidates: Vec<u8> = Vec::new();
    (0..graph.len())
        .map(|switch| {
            let mut table = vec![NO_PORT; usize::from(top) + 1];
            let mut load = [0u32; 256];
            let old = previous(switch);
            for destination in destinations.iter().filter(|to| to.port != 0) {
                if let Some(&port) = old.get(usize::from(destination.lid)) {
                    load[usize::from(port)] += 1;
                }
            }
            let hops = distances.from(switch);
            // Links, with the distances as their other end sees them.
            let ways: Vec<(u8, &[u8])> = graph
                .edges(switch)
                .iter()
                .map(|edge| (edge.port, distances.from(edge.to as usize)))
                .collect();
            for (target, lids) in by_switch.iter().enumerate() {
                if target == switch {
                    for destination in lids {
                        table[usize::from(destination.lid)] = destination.port;
                    }
                    continue;
                }
                if lids.is_empty() || hops[target] == UNREACHABLE {
                    continue;
                }
                candidates.clear();
                candidates.extend(
                    ways.iter()
                        .filter(|(_, beyond)| beyond[target] < hops[target])
                        .map(|&(port, _)| port),
                );
                if !candidates.is_empty() {
                    deal(&candidates, lids, target, old, &mut load, &mut table);
                }
            }
            table
        })
        .collect()
}

/// Chooses a port for each of the LIDs behind one switch.
fn deal(
    candidates: &[u8],
    lids: &[Destination],
    target: usize,
    old: &[u8],
    load: &mut [u32; 256],
    table: &mut [u8],
) {
    let least = |load: &[u32; 256]| {
        (0..candidates.len()).min_by_key(|&at| load[usize::from(candidates[at])])
    };
    let kept = |lid: u16| {
        old.get(usize::from(lid))
            .copied()
            .filter(|port| candidates.contains(port))
    };
    let mut turn = None;
    for destination in lids {
        let entry = &mut table[usize::from(destination.lid)];
        if let Some(port) = kept(destination.lid) {
            *entry = port;
        } else if destination.port == 0 {
            // Management of a switch is no load to speak of.
            *entry = candidates[target % candidates.len()];
        } else if let Some(at) = turn.or_else(|| least(load)) {
            let port = candidates[at];
            *entry = port;
            load[usize::from(port)] += 1;
            // Into an old table what is missing goes where it is lightest, one by one.
            turn = old.is_empty().then_some((at + 1) % candidates.len());
        }
    }
}

/// Destinations by the switch that they are behind.
fn group(switches: usize, destinations: &[Destination]) -> Vec<Vec<Destination>> {
    let mut by_switch = vec![Vec::new(); switches];
    for &destination in destinations {
        by_switch[destination.switch as usize].push(destination);
    }
    by_switch
}
