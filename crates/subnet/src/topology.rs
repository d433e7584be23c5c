//! Topologies by rule: fat trees of two and three levels.
//!
//! Hosts come first, then switches, as the recipes of fabric benchmarks have it, so that host `n`
//! is node `n`.

use softib_wire::addr::{Gid, Guid};
use softib_wire::time::Duration;
use softib_wire::units::Mtu;
use thiserror::Error;

use crate::spec::{
    Impairment, InterfaceSpec, LinkSpec, ManagerSpec, NodeId, NodeKind, NodeSpec, PortRef,
    SubnetSpec,
};

/// GUID of the host with this index, if it is given none; the next one is 16 on, so that each adapter
/// has room for the GUIDs of its ports.
#[must_use]
pub const fn host_guid(index: usize) -> Guid {
    Guid::new(0x0002_c901_0000_0000 + 16 * index as u64)
}

/// GUID of the switch with this index, if it is given none.
#[must_use]
pub const fn switch_guid(index: usize) -> Guid {
    Guid::new(0x0002_c900_0000_0001 + index as u64)
}

/// A fat tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FatTree {
    /// Leaves with hosts, and spines over them.
    TwoLevels {
        /// Leaf switches.
        leaves: usize,
        /// Spine switches.
        spines: usize,
        /// Hosts of each leaf.
        hosts_per_leaf: usize,
        /// Parallel cables between each leaf and each spine.
        parallel: usize,
    },
    /// A folded Clos network: pods of leaves and aggregation switches, and cores over them.
    ThreeLevels {
        /// Ports of every switch, even.
        radix: usize,
        /// Pods, at most `radix`.
        pods: usize,
    },
}

/// A tree that can't be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// A number is zero.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
    /// A switch would have more ports than a switch can have.
    #[error("a {kind} would have {ports} ports; a switch has at most 254")]
    TooManyPorts {
        /// Which switch.
        kind: &'static str,
        /// Ports that it would need.
        ports: usize,
    },
    /// An odd or too small radix.
    #[error("the radix of a three-level tree is {0}; it must be even, from 2 to 254")]
    BadRadix(usize),
    /// More pods than the cores have ports.
    #[error("{pods} pods need cores with {pods} ports; the radix is {radix}")]
    TooManyPods {
        /// Pods asked for.
        pods: usize,
        /// Ports of a core.
        radix: usize,
    },
    /// More hosts than unicast LIDs.
    #[error("{0} nodes need more LIDs than the 49,151 of a subnet")]
    TooManyNodes(usize),
}

impl FatTree {
    /// Hosts of the tree.
    #[must_use]
    pub const fn hosts(&self) -> usize {
        match *self {
            Self::TwoLevels {
                leaves,
                hosts_per_leaf,
                ..
            } => leaves * hosts_per_leaf,
            Self::ThreeLevels { radix, pods } => pods * (radix / 2) * (radix / 2),
        }
    }

    /// The whole subnet: hosts `h1` … with one interface `ib0` each, switches, cables, and the
    /// manager on `h1`.
    ///
    /// # Errors
    /// The numbers make no tree.
    pub fn build(&self, mtu: Mtu) -> Result<SubnetSpec, TopologyError> {
        self.check()?;
        let mut builder = Builder::default();
        for _ in 0..self.hosts() {
            builder.host();
        }
        match *self {
            Self::TwoLevels {
                leaves,
                spines,
                hosts_per_leaf,
                parallel,
            } => {
                let leaf: Vec<_> = (0..leaves)
                    .map(|i| {
                        builder.switch(
                            &format!("leaf{}", i + 1),
                            hosts_per_leaf + spines * parallel,
                        )
                    })
                    .collect();
                let spine: Vec<_> = (0..spines)
                    .map(|i| builder.switch(&format!("spine{}", i + 1), leaves * parallel))
                    .collect();
                for (l, &leaf) in leaf.iter().enumerate() {
                    for host in 0..hosts_per_leaf {
                        builder.cable(l * hosts_per_leaf + host, leaf);
                    }
                    for &spine in &spine {
                        for _ in 0..parallel {
                            builder.cable(leaf, spine);
                        }
                    }
                }
            }
            Self::ThreeLevels { radix, pods } => {
                let half = radix / 2;
                let mut edges = Vec::new();
                for pod in 1..=pods {
                    let leaf: Vec<_> = (1..=half)
                        .map(|i| builder.switch(&format!("leaf{pod}-{i}"), radix))
                        .collect();
                    let aggregation: Vec<_> = (1..=half)
                        .map(|i| builder.switch(&format!("agg{pod}-{i}"), radix))
                        .collect();
                    edges.push((leaf, aggregation));
                }
                let core: Vec<_> = (1..=half * half)
                    .map(|i| builder.switch(&format!("core{i}"), pods))
                    .collect();
                for (pod, (leaf, aggregation)) in edges.iter().enumerate() {
                    for (x, &leaf) in leaf.iter().enumerate() {
                        for host in 0..half {
                            builder.cable((pod * half + x) * half + host, leaf);
                        }
                        for &aggregation in aggregation {
                            builder.cable(leaf, aggregation);
                        }
                    }
                    for (y, &aggregation) in aggregation.iter().enumerate() {
                        for &core in &core[y * half..(y + 1) * half] {
                            builder.cable(aggregation, core);
                        }
                    }
                }
            }
        }
        Ok(builder.finish(mtu))
    }

    fn check(&self) -> Result<(), TopologyError> {
        let nonzero = |what, n| {
            if n == 0 {
                Err(TopologyError::Zero(what))
            } else {
                Ok(())
            }
        };
        let fits = |kind, ports| {
            if ports > 254 {
                Err(TopologyError::TooManyPorts { kind, ports })
            } else {
                Ok(())
            }
        };
        let nodes = match *self {
            Self::TwoLevels {
                leaves,
                spines,
                hosts_per_leaf,
                parallel,
            } => {
                nonzero("the number of leaves", leaves)?;
                nonzero("the number of spines", spines)?;
                nonzero("the number of hosts a leaf", hosts_per_leaf)?;
                nonzero("the number of parallel links", parallel)?;
                fits(
                    "leaf",
                    hosts_per_leaf.saturating_add(spines.saturating_mul(parallel)),
                )?;
                fits("spine", leaves.saturating_mul(parallel))?;
                self.hosts() + leaves + spines
            }
            Self::ThreeLevels { radix, pods } => {
                nonzero("the number of pods", pods)?;
                if !(2..=254).contains(&radix) || !radix.is_multiple_of(2) {
                    return Err(TopologyError::BadRadix(radix));
                }
                if pods > radix {
                    return Err(TopologyError::TooManyPods { pods, radix });
                }
                self.hosts() + pods * radix + (radix / 2) * (radix / 2)
            }
        };
        if nodes > 0xBFFF {
            Err(TopologyError::TooManyNodes(nodes))
        } else {
            Ok(())
        }
    }
}

/// Nodes and cables so far; each node's next free port is the next cable's.
#[derive(Default)]
struct Builder {
    nodes: Vec<NodeSpec>,
    next_port: Vec<u8>,
    links: Vec<LinkSpec>,
    switches: usize,
}

impl Builder {
    fn host(&mut self) {
        let index = self.nodes.len();
        self.add(NodeSpec {
            name: format!("h{}", index + 1),
            guid: host_guid(index),
            kind: NodeKind::Host {
                ports: 1,
                interfaces: vec![InterfaceSpec {
                    name: "ib0".to_owned(),
                    port: 1,
                    pkey: None,
                    mtu: None,
                }],
            },
        });
    }

    fn switch(&mut self, name: &str, ports: usize) -> usize {
        let index = self.switches;
        self.switches += 1;
        self.add(NodeSpec {
            name: name.to_owned(),
            guid: switch_guid(index),
            kind: NodeKind::Switch {
                ports: u8::try_from(ports).expect("checked before"),
            },
        })
    }

    fn add(&mut self, node: NodeSpec) -> usize {
        self.nodes.push(node);
        self.next_port.push(1);
        self.nodes.len() - 1
    }

    fn cable(&mut self, a: usize, b: usize) {
        let a = self.end(a);
        let b = self.end(b);
        self.links.push(LinkSpec {
            a,
            b,
            impairment: Impairment::default(),
            up: true,
        });
    }

    fn end(&mut self, node: usize) -> PortRef {
        let port = self.next_port[node];
        self.next_port[node] += 1;
        PortRef {
            node: NodeId(u32::try_from(node).expect("checked before")),
            port,
        }
    }

    fn finish(self, mtu: Mtu) -> SubnetSpec {
        SubnetSpec {
            prefix: Gid::DEFAULT_PREFIX,
            mtu,
            nodes: self.nodes,
            links: self.links,
            manager: ManagerSpec::Own {
                node: NodeId(0),
                priority: 0,
                sweep_interval: Duration::from_secs(10),
            },
            partitions: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_whole() {
        // Sizes of the recipes: nodes and cables.
        let trees = [
            (
                FatTree::TwoLevels {
                    leaves: 4,
                    spines: 4,
                    hosts_per_leaf: 16,
                    parallel: 4,
                },
                72,
                128,
            ),
            (
                FatTree::TwoLevels {
                    leaves: 32,
                    spines: 16,
                    hosts_per_leaf: 16,
                    parallel: 1,
                },
                560,
                1024,
            ),
            (FatTree::ThreeLevels { radix: 8, pods: 4 }, 112, 192),
            (FatTree::ThreeLevels { radix: 16, pods: 8 }, 704, 1536),
        ];
        for (tree, nodes, links) in trees {
            let spec = tree.build(Mtu::B2048).unwrap();
            assert_eq!(
                (spec.nodes.len(), spec.links.len()),
                (nodes, links),
                "{tree:?}"
            );
            assert_eq!(spec.check(), Ok(()), "{tree:?}");
        }
    }

    #[test]
    fn impossible_trees_are_refused() {
        for tree in [
            FatTree::TwoLevels {
                leaves: 0,
                spines: 1,
                hosts_per_leaf: 1,
                parallel: 1,
            },
            FatTree::TwoLevels {
                leaves: 2,
                spines: 2,
                hosts_per_leaf: 254,
                parallel: 1,
            },
            FatTree::ThreeLevels { radix: 5, pods: 2 },
            FatTree::ThreeLevels { radix: 4, pods: 5 },
        ] {
            assert!(tree.build(Mtu::B2048).is_err(), "{tree:?}");
        }
    }
}
