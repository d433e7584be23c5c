//! The switches and the links between them, packed for graph algorithms.

use super::database::{Database, NodeId, PortId};

/// Switches by dense index, and for each the links to others.
#[derive(Debug, Default)]
pub(super) struct SwitchGraph {
    /// Node of each index.
    pub(super) switches: Vec<NodeId>,
    /// Index of each node; `u32::MAX`: not a switch.
    index_of: Vec<u32>,
    /// Where the edges of each switch begin; one more at the end.
    offsets: Vec<u32>,
    edges: Vec<Edge>,
}

/// A link that leads from a switch to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    /// Index of the other switch.
    pub(super) to: u32,
    /// The port to leave by.
    pub(super) port: u8,
    /// The port that the other switch receives by.
    pub(super) peer_port: u8,
}

/// The distance of what cannot be reached.
pub(super) const UNREACHABLE: u8 = u8::MAX;

impl SwitchGraph {
    /// The graph of all links between switches that are up.
    pub(super) fn new(database: &Database) -> Self {
        let switches: Vec<NodeId> = database.switches().map(|(id, ..)| id).collect();
        let mut index_of = vec![u32::MAX; database.slots()];
        for (index, id) in (0u32..).zip(&switches) {
            index_of[id.index()] = index;
        }
        let mut offsets = Vec::with_capacity(switches.len() + 1);
        let mut edges = Vec::new();
        for (id, node, _) in database.switches() {
            offsets.push(u32::try_from(edges.len()).unwrap_or(u32::MAX));
            for port in node.port_numbers().skip(1) {
                let end = PortId { node: id, port };
                let Some(peer) = database.port(end).and_then(|port| port.peer) else {
                    continue;
                };
                let to = index_of[peer.node.index()];
                // A cable from a switch to itself leads nowhere.
                if to != u32::MAX && peer.node != id && database.link_is_up(end) {
                    edges.push(Edge {
                        to,
                        port,
                        peer_port: peer.port,
                    });
                }
            }
        }
        offsets.push(u32::try_from(edges.len()).unwrap_or(u32::MAX));
        Self {
            switches,
            index_of,
            offsets,
            edges,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.switches.len()
    }

    /// The index of a switch.
    pub(super) fn index(&self, node: NodeId) -> Option<usize> {
        self.index_of
            .get(node.index())
            .filter(|&&index| index != u32::MAX)
            .map(|&index| index as usize)
    }

    /// Links of a switch.
    pub(super) fn edges(&self, switch: usize) -> &[Edge] {
        &self.edges[self.offsets[switch] as usize..self.offsets[switch + 1] as usize]
    }
}

/// Hops between all pairs of switches.
#[derive(Debug, Default)]
pub(super) struct Distances {
    count: usize,
    hops: Vec<u8>,
}

impl Distances {
    /// By breadth-first search from every switch.
    pub(super) fn new(graph: &SwitchGraph) -> Self {
        let count = graph.len();
        let mut hops = vec![UNREACHABLE; count * count];
        let mut queue: Vec<u32> = Vec::with_capacity(count);
        if count > 0 {
            for (from, row) in (0u32..).zip(hops.chunks_exact_mut(count)) {
                row[from as usize] = 0;
                queue.clear();
                queue.push(from);
                let mut next = 0;
                while let Some(&at) = queue.get(next) {
                    next += 1;
                    let beyond = row[at as usize].saturating_add(1);
                    for edge in graph.edges(at as usize) {
                        let hop = &mut row[edge.to as usize];
                        if *hop == UNREACHABLE && beyond < UNREACHABLE {
                            *hop = beyond;
                            queue.push(edge.to);
                        }
                    }
                }
            }
        }
        Self { count, hops }
    }

    /// Hops from one switch to every other, by index.
    pub(super) fn from(&self, switch: usize) -> &[u8] {
        &self.hops[switch * self.count..(switch + 1) * self.count]
    }
}
