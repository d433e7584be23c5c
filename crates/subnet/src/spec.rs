//! What a subnet is made of: nodes, links, partitions and where the subnet manager runs.
//!
//! A [`SubnetSpec`] is plain data; [`SubnetSpec::check`] says what is wrong with it before
//! anything is built.

use core::fmt;

pub use softib_fabric::link::Impairment;
use softib_wire::addr::{Guid, PKey};
use softib_wire::time::Duration;
use softib_wire::units::Mtu;
use thiserror::Error;

/// Index of a node in [`SubnetSpec::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A port of a node. Ports count from 1; port 0 is a switch's own management port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRef {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: u8,
}

/// An IPoIB interface of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IfaceRef {
    /// The host.
    pub node: NodeId,
    /// Index in the host's [`NodeKind::Host`] list.
    pub index: u16,
}

/// A whole subnet.
#[derive(Debug, Clone)]
pub struct SubnetSpec {
    /// Subnet prefix of every GID.
    pub prefix: u64,
    /// MTU of every link and of the IPoIB broadcast groups.
    pub mtu: Mtu,
    /// Hosts and switches.
    pub nodes: Vec<NodeSpec>,
    /// Cables.
    pub links: Vec<LinkSpec>,
    /// Who manages the subnet.
    pub manager: ManagerSpec,
    /// Partitions. Empty: everybody is a full member of the default partition 0xffff.
    pub partitions: Vec<PartitionSpec>,
}

/// A host or a switch.
#[derive(Debug, Clone)]
pub struct NodeSpec {
    /// Name, unique in the subnet; NodeDescription.
    pub name: String,
    /// GUID of the node. Ports of a host have this GUID plus the port number.
    pub guid: Guid,
    /// What it is.
    pub kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A host: one channel adapter and its IPoIB interfaces.
    Host {
        /// Ports of the adapter.
        ports: u8,
        /// IPoIB interfaces.
        interfaces: Vec<InterfaceSpec>,
    },
    /// A switch.
    Switch {
        /// External ports.
        ports: u8,
    },
}

/// An IPoIB interface.
#[derive(Debug, Clone)]
pub struct InterfaceSpec {
    /// Name, such as `ib0`.
    pub name: String,
    /// Port of the adapter.
    pub port: u8,
    /// Partition; `None`: the P_Key at index 0 of the port, whatever it is.
    pub pkey: Option<PKey>,
    /// MTU set by the administrator; `None`: follows the broadcast group.
    pub mtu: Option<u32>,
}

/// A cable.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    /// One end.
    pub a: PortRef,
    /// The other end.
    pub b: PortRef,
    /// What goes wrong on it.
    pub impairment: Impairment,
    /// Whether it is plugged in from the start.
    pub up: bool,
}

/// Who manages the subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ManagerSpec {
    /// Nobody: interfaces stay without carrier.
    None,
    /// softib's own subnet manager.
    Own {
        /// Where it runs: a host, on its first port that is cabled, or a switch, on port 0.
        node: NodeId,
        /// Priority, 0 to 15.
        priority: u8,
        /// Time between light sweeps.
        sweep_interval: Duration,
    },
}

/// A partition.
#[derive(Debug, Clone)]
pub struct PartitionSpec {
    /// The P_Key, its membership bit ignored.
    pub pkey: PKey,
    /// Members and whether they are full ones. Empty: every host, full.
    pub members: Vec<(NodeId, bool)>,
    /// Whether it has an IPoIB broadcast group.
    pub ipoib: bool,
}

/// What is wrong with a [`SubnetSpec`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    /// Two nodes have one name.
    #[error("two nodes are named {0:?}; names must be unique")]
    DuplicateName(String),
    /// Two nodes have one GUID.
    #[error("nodes {0:?} and {1:?} have the same GUID {2}")]
    DuplicateGuid(String, String, Guid),
    /// A port that the node does not have.
    #[error("{node:?} has ports 1 to {ports}, not {port}")]
    NoSuchPort {
        /// The node.
        node: String,
        /// The port asked for.
        port: u8,
        /// How many it has.
        ports: u8,
    },
    /// Two cables in one port.
    #[error("port {1} of {0:?} has two links; a port takes one cable")]
    PortTwice(String, u8),
    /// A P_Key that names no partition.
    #[error("P_Key {0} names no partition; use 0x0001 to 0x7fff, or 0x8001 to 0xffff")]
    BadPKey(PKey),
    /// The manager's node is not there or cannot run one.
    #[error("the subnet manager needs a node of the subnet; there is none with index {}", .0.0)]
    NoManagerNode(NodeId),
}

impl SubnetSpec {
    /// Whether the parts fit together.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), SpecError> {
        use std::collections::{BTreeMap, BTreeSet};

        let mut names = BTreeSet::new();
        let mut guids = BTreeMap::new();
        for node in &self.nodes {
            if !names.insert(&node.name) {
                return Err(SpecError::DuplicateName(node.name.clone()));
            }
            if let Some(other) = guids.insert(node.guid, &node.name) {
                return Err(SpecError::DuplicateGuid(
                    other.clone(),
                    node.name.clone(),
                    node.guid,
                ));
            }
        }
        let mut cabled = BTreeSet::new();
        for end in self.links.iter().flat_map(|link| [link.a, link.b]) {
            let Some(node) = self.nodes.get(end.node.index()) else {
                return Err(SpecError::NoManagerNode(end.node));
            };
            let ports = node.ports();
            if end.port == 0 || end.port > ports {
                return Err(SpecError::NoSuchPort {
                    node: node.name.clone(),
                    port: end.port,
                    ports,
                });
            }
            if !cabled.insert(end) {
                return Err(SpecError::PortTwice(node.name.clone(), end.port));
            }
        }
        for node in &self.nodes {
            let NodeKind::Host { ports, interfaces } = &node.kind else {
                continue;
            };
            for interface in interfaces {
                if interface.port == 0 || interface.port > *ports {
                    return Err(SpecError::NoSuchPort {
                        node: node.name.clone(),
                        port: interface.port,
                        ports: *ports,
                    });
                }
                if let Some(pkey) = interface.pkey.filter(|pkey| !pkey.is_valid()) {
                    return Err(SpecError::BadPKey(pkey));
                }
            }
        }
        if let Some(bad) = self
            .partitions
            .iter()
            .find(|partition| !partition.pkey.is_valid())
        {
            return Err(SpecError::BadPKey(bad.pkey));
        }
        if let ManagerSpec::Own { node, .. } = self.manager
            && node.index() >= self.nodes.len()
        {
            return Err(SpecError::NoManagerNode(node));
        }
        Ok(())
    }

    /// The node with this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeId> {
        let index = self.nodes.iter().position(|node| node.name == name)?;
        u32::try_from(index).ok().map(NodeId)
    }
}

impl NodeSpec {
    /// External ports of the node.
    #[must_use]
    pub const fn ports(&self) -> u8 {
        match self.kind {
            NodeKind::Host { ports, .. } | NodeKind::Switch { ports } => ports,
        }
    }
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {} port {}", self.node.0, self.port)
    }
}
