//! What the manager knows of the subnet: nodes, their ports, the links between them.

use std::collections::{BTreeMap, BTreeSet};

use softib_wire::addr::{Gid, Guid, Lid, PKey};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::smp::HopPath;
use softib_wire::units::{NodeType, PortState};

use super::multicast::PortMask;

/// Names a node as long as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PortId {
    pub(crate) node: NodeId,
    pub(crate) port: u8,
}

/// Nodes, ports and links.
#[derive(Debug, Default)]
pub(crate) struct Database {
    nodes: Vec<Option<Node>>,
    vacant: BTreeSet<u32>,
    by_guid: BTreeMap<Guid, NodeId>,
    /// End ports.
    by_port_guid: BTreeMap<Guid, PortId>,
    /// Owners of LIDs.
    by_lid: Vec<Option<PortId>>,
    /// The port that the manager runs at.
    pub(crate) own: Option<PortId>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) info: NodeInfo,
    pub(crate) description: NodeDescription,
    /// By port number. Port 0 exists only of a switch.
    pub(crate) ports: Vec<Port>,
    pub(crate) switch: Option<Box<Switch>>,
    /// Directed routes. A switch has one; every port of a channel adapter has an agent and so a
    /// route of its own.
    paths: Vec<(u8, HopPath)>,
    /// The sweep that last began to read the node.
    pub(crate) visited: u64,
    /// It stopped to answer in mid-sweep.
    pub(crate) broken: bool,
}

/// A port.
#[derive(Debug, Default)]
pub(crate) struct Port {
    /// Of an end port its GUID.
    pub(crate) guid: Option<Guid>,
    pub(crate) info: Option<PortInfo>,
    pub(crate) peer: Option<PortId>,
    /// The sweep that last saw the link.
    pub(crate) confirmed: u64,
    /// The LID that it has or is to have. Of end ports.
    pub(crate) lid: Lid,
    /// The P_Key table as it is in the port, if known.
    pub(crate) pkeys: Option<Vec<PKey>>,
    /// Clients at this port must hear that they have to register again.
    pub(crate) reregister: bool,
    /// It was told that the port is in service.
    pub(crate) in_service: bool,
}

/// What only a switch has.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) info: SwitchInfo,
    /// The linear forwarding table as it is to be, LID 0 up to the top.
    pub(crate) lft: Vec<u8>,
    /// Blocks of it that are not known to be written.
    pub(crate) lft_dirty: BTreeSet<u16>,
    /// Rows of the multicast forwarding table as they are known to be, by MLID less 0xC000.
    pub(crate) mft: BTreeMap<u16, PortMask>,
    /// The switch served under another manager: its multicast table may hold anything.
    pub(crate) mft_stale: bool,
    /// SLtoVL tables are written.
    pub(crate) sl_to_vl_written: bool,
}

impl Database {
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())?.as_ref()
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.index())?.as_mut()
    }

    pub(crate) fn port(&self, id: PortId) -> Option<&Port> {
        self.node(id.node)?.ports.get(usize::from(id.port))
    }

    pub(crate) fn port_mut(&mut self, id: PortId) -> Option<&mut Port> {
        self.node_mut(id.node)?.ports.get_mut(usize::from(id.port))
    }

    pub(crate) fn switch_mut(&mut self, id: NodeId) -> Option<&mut Switch> {
        self.node_mut(id)?.switch.as_deref_mut()
    }

    /// All nodes, in the order of their names.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0u32..)
            .zip(&self.nodes)
            .filter_map(|(id, node)| Some((NodeId(id), node.as_ref()?)))
    }

    pub(crate) fn switches(&self) -> impl Iterator<Item = (NodeId, &Node, &Switch)> {
        self.nodes()
            .filter_map(|(id, node)| Some((id, node, node.switch.as_deref()?)))
    }

    /// All ports that can have a LID: port 0 of switches, known ports of channel adapters.
    pub(crate) fn end_ports(&self) -> impl Iterator<Item = (PortId, &Port)> {
        self.nodes().flat_map(|(node, data)| {
            data.ports
                .iter()
                .zip(0u8..=255)
                .filter(|(port, _)| port.guid.is_some())
                .map(move |(data, port)| (PortId { node, port }, data))
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.by_guid.len()
    }

    /// One more than the largest index of a node.
    pub(crate) const fn slots(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn by_guid(&self, guid: Guid) -> Option<NodeId> {
        self.by_guid.get(&guid).copied()
    }

    pub(crate) fn by_port_guid(&self, guid: Guid) -> Option<PortId> {
        self.by_port_guid.get(&guid).copied()
    }

    pub(crate) fn by_lid(&self, lid: Lid) -> Option<PortId> {
        *self.by_lid.get(usize::from(lid.bits()))?
    }

    /// The port that a GID of this subnet names. The default prefix is valid on every subnet
    /// (IBA 4.1.1).
    pub(crate) fn by_gid(&self, gid: Gid, subnet_prefix: u64) -> Option<PortId> {
        let local = gid.prefix() == subnet_prefix || gid.prefix() == Gid::DEFAULT_PREFIX;
        local.then(|| self.by_port_guid(gid.guid())).flatten()
    }

    /// The LID to reach a port by: of a switch's external port that of the switch.
    pub(crate) fn lid_of(&self, id: PortId) -> Lid {
        let Some(node) = self.node(id.node) else {
            return Lid::NONE;
        };
        let port = if node.switch.is_some() { 0 } else { id.port };
        node.ports
            .get(usize::from(port))
            .map_or(Lid::NONE, |port| port.lid)
    }

    /// Whether both ends are there and trained.
    pub(crate) fn link_is_up(&self, end: PortId) -> bool {
        let Some(port) = self.port(end) else {
            return false;
        };
        let peer = port.peer.and_then(|peer| self.port(peer));
        port.is_up() && peer.is_some_and(Port::is_up)
    }

    /// Adds a node that was not known.
    pub(crate) fn add(&mut self, info: NodeInfo) -> NodeId {
        let id = self.vacant.pop_first().unwrap_or_else(|| {
            self.nodes.push(None);
            u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
        });
        let id = NodeId(id);
        let is_switch = info.node_type == NodeType::Switch;
        let mut ports = Vec::new();
        ports.resize_with(usize::from(info.port_count) + 1, Port::default);
        self.nodes[id.index()] = Some(Node {
            info,
            description: NodeDescription::default(),
            ports,
            switch: is_switch.then(|| {
                Box::new(Switch {
                    info: SwitchInfo::default(),
                    lft: Vec::new(),
                    lft_dirty: BTreeSet::new(),
                    mft: BTreeMap::new(),
                    mft_stale: false,
                    sl_to_vl_written: false,
                })
            }),
            paths: Vec::new(),
            visited: 0,
            broken: false,
        });
        self.by_guid.insert(info.node_guid, id);
        id
    }

    /// Says that a port is an end port with this GUID. False: another port has it.
    pub(crate) fn set_port_guid(&mut self, id: PortId, guid: Guid) -> bool {
        if *self.by_port_guid.entry(guid).or_insert(id) != id {
            return false;
        }
        if let Some(port) = self.port_mut(id) {
            port.guid = Some(guid);
        }
        true
    }

    /// Forgets a node and its links.
    pub(crate) fn remove(&mut self, id: NodeId) -> Option<Node> {
        let ports = self.node(id)?.ports.len();
        for port in (0u8..=255).take(ports) {
            self.disconnect(PortId { node: id, port });
        }
        let node = self.nodes[id.index()].take()?;
        self.vacant.insert(id.0);
        self.by_guid.remove(&node.info.node_guid);
        for port in &node.ports {
            if let Some(guid) = port.guid {
                self.by_port_guid.remove(&guid);
            }
        }
        for owner in &mut self.by_lid {
            if owner.is_some_and(|owner| owner.node == id) {
                *owner = None;
            }
        }
        if self.own.is_some_and(|own| own.node == id) {
            self.own = None;
        }
        Some(node)
    }

    /// Links two ports. True: they were not linked.
    pub(crate) fn connect(&mut self, a: PortId, b: PortId, sweep: u64) -> bool {
        let known = self.port(a).is_some_and(|port| port.peer == Some(b));
        if !known {
            self.disconnect(a);
            self.disconnect(b);
        }
        for (end, peer) in [(a, b), (b, a)] {
            if let Some(port) = self.port_mut(end) {
                port.peer = Some(peer);
                port.confirmed = sweep;
            }
        }
        !known
    }

    /// Takes a port's link away, and gives the other end of it.
    pub(crate) fn disconnect(&mut self, end: PortId) -> Option<PortId> {
        let peer = self.port_mut(end)?.peer.take()?;
        if let Some(port) = self.port_mut(peer) {
            port.peer = None;
        }
        Some(peer)
    }

    /// Replaces the owners of all LIDs.
    pub(crate) fn set_lid_owners(&mut self, owners: Vec<Option<PortId>>) {
        self.by_lid = owners;
    }

    /// The largest LID that is in use.
    pub(crate) fn top_lid(&self) -> u16 {
        let last = self.by_lid.iter().rposition(Option::is_some).unwrap_or(0);
        u16::try_from(last).unwrap_or(u16::MAX)
    }

    /// The directed route to the agent of a port.
    pub(crate) fn path_to(&self, id: PortId) -> Option<&HopPath> {
        let node = self.node(id.node)?;
        let exact = node.paths.iter().find(|(port, _)| *port == id.port);
        let any = if node.switch.is_some() {
            node.paths.first()
        } else {
            exact
        };
        any.map(|(_, path)| path)
    }

    /// Notes the directed route to a port: the one that it was met by.
    pub(crate) fn set_path(&mut self, id: PortId, path: HopPath) {
        let Some(node) = self.node_mut(id.node) else {
            return;
        };
        let port = if node.switch.is_some() { 0 } else { id.port };
        match node.paths.iter_mut().find(|(of, _)| *of == port) {
            Some((_, old)) => *old = path,
            None => node.paths.push((port, path)),
        }
    }

    /// Whether SMPs may pass a link. A port that was not read yet gets the benefit of the doubt.
    fn passes_smps(&self, end: PortId) -> bool {
        let up = |id| {
            self.port(id)
                .is_some_and(|port| port.info.is_none() || port.is_up())
        };
        let peer = self.port(end).and_then(|port| port.peer);
        up(end) && peer.is_some_and(up)
    }

    /// Finds the shortest directed route to every port anew, and gives the nodes that there is no way
    /// to. Ports of channel adapters that cannot be reached lose theirs.
    pub(crate) fn find_paths(&mut self) -> Vec<NodeId> {
        let mut reached = vec![false; self.nodes.len()];
        let mut paths: Vec<(PortId, HopPath)> = Vec::with_capacity(self.len());
        if let Some(own) = self.own {
            reached[own.node.index()] = true;
            paths.push((own, HopPath::LOCAL));
        }
        let mut next = 0;
        while let Some(&(at, path)) = paths.get(next) {
            next += 1;
            let Some(node) = self.node(at.node) else {
                continue;
            };
            // Directed routes pass only switches; the manager's own adapter is left by its port.
            let ports = if node.switch.is_some() {
                1..node.ports.len()
            } else if self.own == Some(at) {
                usize::from(at.port)..usize::from(at.port) + 1
            } else {
                continue;
            };
            for port in (0u8..=255).take(ports.end).skip(ports.start) {
                let end = PortId {
                    node: at.node,
                    port,
                };
                let Some(peer) = self.port(end).and_then(|port| port.peer) else {
                    continue;
                };
                let Some(beyond) = self.node(peer.node) else {
                    continue;
                };
                let first_time = !reached[peer.node.index()];
                if !self.passes_smps(end) || beyond.switch.is_some() && !first_time {
                    continue;
                }
                if let Some(path) = path.then(port) {
                    reached[peer.node.index()] = true;
                    if Some(peer) != self.own {
                        paths.push((peer, path));
                    }
                }
            }
        }
        for node in self.nodes.iter_mut().flatten() {
            node.paths.clear();
        }
        for (id, path) in paths {
            self.set_path(id, path);
        }
        self.nodes()
            .map(|(id, _)| id)
            .filter(|id| !reached[id.index()])
            .collect()
    }
}

impl Node {
    pub(crate) const fn is_switch(&self) -> bool {
        self.switch.is_some()
    }

    /// Port numbers that exist: of a switch from 0, of others from 1.
    pub(crate) fn port_numbers(&self) -> impl Iterator<Item = u8> + use<> {
        let first = u8::from(!self.is_switch());
        first..=self.info.port_count
    }

    /// It lost what was written to it, or may have: everything is written again.
    pub(crate) fn forget_tables(&mut self) {
        for port in &mut self.ports {
            port.pkeys = None;
        }
        if let Some(switch) = &mut self.switch {
            switch.lft.clear();
            switch.lft_dirty.clear();
            switch.mft.clear();
            switch.sl_to_vl_written = false;
        }
    }
}

impl Port {
    /// Whether the link is trained.
    pub(crate) fn is_up(&self) -> bool {
        self.info.as_ref().is_some_and(|info| {
            matches!(
                info.port_state,
                PortState::Init | PortState::Armed | PortState::Active | PortState::ActiveDefer
            )
        })
    }

    /// The logical state, Down when it was never read.
    pub(crate) fn state(&self) -> PortState {
        self.info
            .as_ref()
            .map_or(PortState::Down, |info| info.port_state)
    }
}
