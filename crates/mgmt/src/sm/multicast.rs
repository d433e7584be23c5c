//! Multicast routing: a spanning tree for each multicast LID.
//!
//! A tree spans the switches that have a member behind them, and no more than it needs to join them.
//! A new member is grafted onto the tree and a gone one pruned off, so that nobody else loses a
//! packet; a tree is made anew only when a link of it is gone. Members that only send are joined to the
//! tree, but do not receive: nothing is sent along links that lead to no other members than those.

use std::collections::{BTreeMap, BTreeSet};

use super::database::{Database, NodeId, PortId};
use super::graph::{Distances, Edge, SwitchGraph, UNREACHABLE};

/// Ports of a switch, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PortMask([u64; 4]);

impl PortMask {
    pub(super) const EMPTY: Self = Self([0; 4]);

    pub(super) const fn insert(&mut self, port: u8) {
        self.0[port as usize / 64] |= 1 << (port % 64);
    }

    const fn remove(&mut self, port: u8) {
        self.0[port as usize / 64] &= !(1 << (port % 64));
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// The 16 ports of a position of a multicast forwarding table.
    pub(crate) fn position(self, position: u8) -> u16 {
        let word = self.0[usize::from(position / 4) & 3];
        u16::try_from(word >> (position % 4 * 16) & 0xFFFF).unwrap_or(0)
    }

    pub(super) fn set_position(&mut self, position: u8, ports: u16) {
        let shift = position % 4 * 16;
        let word = &mut self.0[usize::from(position / 4) & 3];
        *word = *word & !(0xFFFF << shift) | u64::from(ports) << shift;
    }

    /// The ports, in order.
    pub(super) fn ports(self) -> impl Iterator<Item = u8> {
        [0u8, 64, 128, 192]
            .into_iter()
            .zip(self.0)
            .flat_map(|(first, word)| {
                let rest =
                    std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
                rest.take_while(|&word| word != 0)
                    .map(move |word| first + u8::try_from(word.trailing_zeros()).unwrap_or(0))
            })
    }
}

/// A port that is in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) port: PortId,
    pub(super) receives: bool,
}

/// The tree of one multicast LID.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Tree {
    /// Ports of each switch that lead along the tree.
    links: BTreeMap<NodeId, PortMask>,
    /// Those of them that lead to a member that receives, and the ports of such members: rows of the
    /// forwarding tables.
    rows: BTreeMap<NodeId, PortMask>,
}

/// The trees of all multicast LIDs, and which blocks of forwarding tables do not follow them yet.
#[derive(Debug, Default)]
pub(super) struct Trees {
    /// By MLID less 0xC000.
    trees: BTreeMap<u16, Tree>,
    /// Switch, block and position.
    dirty: BTreeSet<(NodeId, u16, u8)>,
    /// Trees that were made anew: their old links are taken away first, for old and new ones together
    /// could form a loop, in which packets would multiply.
    remade: BTreeSet<u16>,
    /// Blocks that hold a row of any tree, or held one.
    used_blocks: BTreeSet<u16>,
}

/// The surroundings of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) database: &'a Database,
    pub(super) graph: &'a SwitchGraph,
    pub(super) distances: &'a Distances,
}

impl crate::sa::MulticastRows for Trees {
    fn ports(&self, index: u16, switch: NodeId) -> PortMask {
        self.row(index, switch)
    }

    fn last_index(&self) -> Option<u16> {
        self.trees.last_key_value().map(|(&index, _)| index)
    }
}

impl Trees {
    /// Multicast LIDs that have a tree.
    pub(super) fn indices(&self) -> impl Iterator<Item = u16> + '_ {
        self.trees.keys().copied()
    }

    /// The row of a switch as it is to be.
    pub(super) fn row(&self, index: u16, switch: NodeId) -> PortMask {
        self.trees
            .get(&index)
            .and_then(|tree| tree.rows.get(&switch))
            .copied()
            .unwrap_or_default()
    }

    /// Makes the tree of a multicast LID fit its members.
    pub(super) fn update(&mut self, index: u16, members: &[Member], ground: Ground<'_>) {
        let wanted: Vec<(usize, Option<PortId>)> = members
            .iter()
            .filter_map(|member| place(member, ground))
            .collect();
        let needed: BTreeSet<usize> = wanted.iter().map(|&(switch, _)| switch).collect();
        let old = self.trees.remove(&index).unwrap_or_default();
        let mut tree = Tree {
            links: old.links.clone(),
            rows: BTreeMap::new(),
        };
        let fresh = old.links.is_empty();
        let sound = !fresh && tree.is_sound(ground) && tree.adapt(index, &needed, ground);
        if !sound {
            tree.links = spanning_tree(index, &needed, ground);
        }
        for (switch, port) in wanted {
            if let Some(end) = port {
                let row = tree.rows.entry(ground.graph.switches[switch]);
                row.or_default().insert(end.port);
            }
        }
        tree.lead_to_receivers(ground.database);
        if !sound && !fresh {
            self.remade.insert(index);
        }
        self.note_changes(index, &old.rows, &tree.rows, ground.database);
        if !tree.links.is_empty() || !tree.rows.is_empty() {
            self.trees.insert(index, tree);
        }
    }

    /// A switch is gone.
    pub(super) fn forget_switch(&mut self, switch: NodeId) {
        self.dirty.retain(|&(of, ..)| of != switch);
        for tree in self.trees.values_mut() {
            // Left without this end the link is not sound, and the tree is made anew.
            tree.rows.remove(&switch);
        }
    }

    /// Everything is written to a switch again.
    pub(super) fn rewrite_switch(&mut self, switch: NodeId, positions: u8, stale: bool) {
        for &block in &self.used_blocks {
            for position in 0..positions {
                let rows = || self.trees.range(block * 32..block * 32 + 32);
                let has_row = |(_, tree): (&u16, &Tree)| {
                    tree.rows
                        .get(&switch)
                        .is_some_and(|row| row.position(position) != 0)
                };
                if stale || rows().any(has_row) {
                    self.dirty.insert((switch, block, position));
                }
            }
        }
    }

    /// Whether all forwarding tables follow their trees.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty.is_empty()
    }

    /// Blocks to write, and of which ports are to be taken away before others are added.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (NodeId, u16, u8)> + '_ {
        self.dirty.iter().copied()
    }

    /// Whether any tree of this block was made anew.
    pub(super) fn is_remade(&self, block: u16) -> bool {
        self.remade
            .range(block * 32..block * 32 + 32)
            .next()
            .is_some()
    }

    /// A block is written.
    pub(super) fn written(&mut self, switch: NodeId, block: u16, position: u8) {
        self.dirty.remove(&(switch, block, position));
    }

    /// All blocks are written: no old link is left anywhere.
    pub(super) fn settle(&mut self) {
        if self.dirty.is_empty() {
            self.remade.clear();
        }
    }

    fn note_changes(
        &mut self,
        index: u16,
        old: &BTreeMap<NodeId, PortMask>,
        new: &BTreeMap<NodeId, PortMask>,
        database: &Database,
    ) {
        let block = index / 32;
        for &switch in old.keys().chain(new.keys()) {
            let was = old.get(&switch).copied().unwrap_or_default();
            let is = new.get(&switch).copied().unwrap_or_default();
            if was == is {
                continue;
            }
            for position in 0..16 {
                if was.position(position) != is.position(position) {
                    self.dirty.insert((switch, block, position));
                }
            }
        }
        if !new.is_empty() && self.used_blocks.insert(block) {
            for (id, node, switch) in database.switches() {
                if switch.mft_stale {
                    let positions = positions(node.info.port_count);
                    self.dirty
                        .extend((0..positions).map(|position| (id, block, position)));
                }
            }
        }
    }
}

/// Positions that a switch of this many ports has.
pub(super) const fn positions(port_count: u8) -> u8 {
    port_count / 16 + 1
}

/// The switch that a member is behind, and its port there if the member receives. A member that no
/// switch is next to needs none.
fn place(member: &Member, ground: Ground<'_>) -> Option<(usize, Option<PortId>)> {
    let end = member.port;
    let node = ground.database.node(end.node)?;
    let at = if node.is_switch() {
        PortId {
            node: end.node,
            port: 0,
        }
    } else {
        let port = node.ports.get(usize::from(end.port))?;
        port.peer.filter(|_| ground.database.link_is_up(end))?
    };
    let switch = ground.graph.index(at.node)?;
    Some((switch, member.receives.then_some(at)))
}

impl Tree {
    /// Whether every link of the tree is still there.
    fn is_sound(&self, ground: Ground<'_>) -> bool {
        self.links.iter().all(|(&node, ports)| {
            ground.graph.index(node).is_some()
                && ports.ports().all(|port| {
                    let end = PortId { node, port };
                    let peer = ground.database.port(end).and_then(|port| port.peer);
                    ground.database.link_is_up(end)
                        && peer.is_some_and(|peer| {
                            // The other end is on the tree too: the node may be another one by now.
                            self.links
                                .get(&peer.node)
                                .is_some_and(|ports| ports.ports().any(|port| port == peer.port))
                        })
                })
        })
    }

    /// Adds to the rows, which hold the ports of members that receive, the links that lead there.
    fn lead_to_receivers(&mut self, database: &Database) {
        /// From a switch to the one before it: where that is in the walk, the port there, and the
        /// own port back.
        type Way = (usize, u8, u8);

        let receives: BTreeSet<NodeId> = self.rows.keys().copied().collect();
        let mut seen = BTreeSet::new();
        for &root in self.links.keys() {
            if !seen.insert(root) {
                continue;
            }
            let mut walk: Vec<(NodeId, Option<Way>)> = vec![(root, None)];
            let mut next = 0;
            while let Some(&(node, _)) = walk.get(next) {
                let ports = self.links.get(&node).copied().unwrap_or_default();
                for port in ports.ports() {
                    let end = database.port(PortId { node, port });
                    if let Some(peer) = end.and_then(|end| end.peer)
                        && seen.insert(peer.node)
                    {
                        walk.push((peer.node, Some((next, port, peer.port))));
                    }
                }
                next += 1;
            }
            // Switches with receivers among each and those behind it.
            let mut behind: Vec<usize> = walk
                .iter()
                .map(|(node, _)| usize::from(receives.contains(node)))
                .collect();
            for at in (1..walk.len()).rev() {
                if let Some((before, ..)) = walk[at].1 {
                    behind[before] += behind[at];
                }
            }
            for (at, &(node, way)) in walk.iter().enumerate() {
                let Some((before, port, back)) = way else {
                    continue;
                };
                if behind[at] > 0 {
                    self.rows.entry(walk[before].0).or_default().insert(port);
                }
                if behind[0] > behind[at] {
                    self.rows.entry(node).or_default().insert(back);
                }
            }
        }
    }

    /// Grafts the switches that are missing and prunes those that nobody needs. False: a switch
    /// cannot be reached from the tree.
    fn adapt(&mut self, index: u16, needed: &BTreeSet<usize>, ground: Ground<'_>) -> bool {
        let graph = ground.graph;
        if !needed
            .iter()
            .any(|&switch| self.links.contains_key(&graph.switches[switch]))
        {
            // Nothing of the old tree is of use.
            let had_links = self.links.values().any(|ports| !ports.is_empty());
            if had_links && !needed.is_empty() {
                return false;
            }
            self.links.clear();
        }
        for &switch in needed {
            if !self.graft(index, switch, graph) {
                return false;
            }
        }
        self.prune(needed, ground);
        true
    }

    /// Joins a switch to the tree by a shortest way.
    fn graft(&mut self, index: u16, switch: usize, graph: &SwitchGraph) -> bool {
        let node = graph.switches[switch];
        if self.links.is_empty() {
            self.links.insert(node, PortMask::EMPTY);
            return true;
        }
        if self.links.contains_key(&node) {
            return true;
        }
        let mut came_by: Vec<Option<(u32, Edge)>> = vec![None; graph.len()];
        let mut seen = vec![false; graph.len()];
        seen[switch] = true;
        let mut queue = vec![switch];
        let mut next = 0;
        while let Some(&at) = queue.get(next) {
            next += 1;
            if self.links.contains_key(&graph.switches[at]) {
                let mut at = at;
                while let Some((from, edge)) = came_by[at] {
                    self.add_link(graph, from as usize, edge);
                    at = from as usize;
                }
                return true;
            }
            for edge in turned(graph.edges(at), index) {
                let to = edge.to as usize;
                if !seen[to] {
                    seen[to] = true;
                    came_by[to] = u32::try_from(at).ok().map(|at| (at, *edge));
                    queue.push(to);
                }
            }
        }
        false
    }

    fn add_link(&mut self, graph: &SwitchGraph, from: usize, edge: Edge) {
        let (a, b) = (graph.switches[from], graph.switches[edge.to as usize]);
        self.links.entry(a).or_default().insert(edge.port);
        self.links.entry(b).or_default().insert(edge.peer_port);
    }

    /// Takes away ends of the tree that are not needed, until every end is.
    fn prune(&mut self, needed: &BTreeSet<usize>, ground: Ground<'_>) {
        let is_needed = |node: NodeId| {
            let index = ground.graph.index(node);
            index.is_some_and(|index| needed.contains(&index))
        };
        let mut ends: Vec<NodeId> = self.links.keys().copied().collect();
        while let Some(node) = ends.pop() {
            let Some(&ports) = self.links.get(&node) else {
                continue;
            };
            let mut ports_left = ports.ports();
            let only = ports_left.next();
            if is_needed(node) || ports_left.next().is_some() {
                continue;
            }
            self.links.remove(&node);
            let Some(port) = only else { continue };
            let peer = ground
                .database
                .port(PortId { node, port })
                .and_then(|port| port.peer);
            if let Some(peer) = peer
                && let Some(ports) = self.links.get_mut(&peer.node)
            {
                ports.remove(peer.port);
                ends.push(peer.node);
            }
        }
    }
}

/// A tree that spans the needed switches, and others only on the way between them. Its root is a
/// switch whose farthest needed switch is nearest; several multicast LIDs share the burden among
/// roots and links that are as good.
fn spanning_tree(
    index: u16,
    needed: &BTreeSet<usize>,
    ground: Ground<'_>,
) -> BTreeMap<NodeId, PortMask> {
    let graph = ground.graph;
    let mut tree = Tree::default();
    let Some(root) = root(index, needed, ground) else {
        return tree.links;
    };
    tree.links.insert(graph.switches[root], PortMask::EMPTY);
    let mut came_by: Vec<Option<(u32, Edge)>> = vec![None; graph.len()];
    let mut seen = vec![false; graph.len()];
    seen[root] = true;
    let mut queue = vec![root];
    let mut next = 0;
    while let Some(&at) = queue.get(next) {
        next += 1;
        for edge in turned(graph.edges(at), index) {
            let to = edge.to as usize;
            if !seen[to] {
                seen[to] = true;
                came_by[to] = u32::try_from(at).ok().map(|at| (at, *edge));
                queue.push(to);
            }
        }
    }
    let mut on_tree = vec![false; graph.len()];
    on_tree[root] = true;
    for &switch in needed {
        let mut at = switch;
        while !on_tree[at] {
            let Some((from, edge)) = came_by[at] else {
                break;
            };
            on_tree[at] = true;
            tree.add_link(graph, from as usize, edge);
            at = from as usize;
        }
    }
    tree.links
}

fn root(index: u16, needed: &BTreeSet<usize>, ground: Ground<'_>) -> Option<usize> {
    if needed.len() <= 1 {
        return needed.first().copied();
    }
    let farthest = |switch: usize| {
        let hops = ground.distances.from(switch);
        needed.iter().map(|&to| hops[to]).max().unwrap_or(0)
    };
    let worst: Vec<u8> = (0..ground.graph.len()).map(farthest).collect();
    let best = *worst.iter().min()?;
    if best == UNREACHABLE {
        return needed.first().copied();
    }
    let roots: Vec<usize> = (0..worst.len()).filter(|&at| worst[at] == best).collect();
    roots.get(usize::from(index) % roots.len()).copied()
}

/// The edges of a switch, beginning at another one for each multicast LID.
fn turned(edges: &[Edge], index: u16) -> impl Iterator<Item = &Edge> {
    let start = usize::from(index).checked_rem(edges.len()).unwrap_or(0);
    edges[start..].iter().chain(&edges[..start])
}
