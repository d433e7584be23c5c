//! Nodes and cables of a lab file: names to nodes, free ports to cables, default GUIDs.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use softib_host::runtime::HostSpec;
use softib_subnet::spec::{Impairment, LinkSpec, NodeId, NodeKind, NodeSpec, PortRef};
use softib_subnet::topology;
use softib_wire::addr::Guid;
use softib_wire::time::Duration;
use softib_wire::units::Mtu;
use toml::Spanned;

use super::Result;
use crate::lab::error::Source;
use crate::lab::file::{LabFile, Link, Scalar};
use crate::lab::place::PortPlace;
use crate::lab::{MOST_HOST_PORTS, MOST_SWITCH_PORTS, quantity};
use crate::text;

/// What is known so far of the nodes.
pub(super) struct Builder<'a> {
    source: &'a Source<'a>,
    nodes: Vec<Node>,
    pub(super) names: BTreeMap<String, NodeId>,
}

/// A node while its ports are being given away.
struct Node {
    name: String,
    guid: Guid,
    host: bool,
    /// How many ports it has; none: as many as the cables need.
    ports: Option<u8>,
    taken: BTreeSet<u8>,
}

/// An end of a cable: a node, the port if the file says which, and where it says so.
struct End {
    node: NodeId,
    port: Option<u8>,
    span: Range<usize>,
    key: &'static str,
}

struct Cable {
    a: End,
    b: End,
    impairment: Impairment,
    up: bool,
}

impl<'a> Builder<'a> {
    /// No nodes yet.
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self {
            source,
            nodes: Vec::new(),
            names: BTreeMap::new(),
        }
    }

    /// Hosts, then switches, so that host n is node n.
    pub(super) fn add_nodes(&mut self, file: &LabFile) -> Result<()> {
        let mut guids = self.explicit_guids(file)?;
        let mut next = 0;
        for host in file.hosts.iter().map(Spanned::get_ref) {
            let ports = self.source.host_ports(host)?;
            self.add("host", &host.name, host.guid.as_ref(), Some(ports), || {
                free_guid(&mut guids, &mut next, topology::host_guid, MOST_HOST_PORTS)
            })?;
        }
        next = 0;
        for switch in file.switches.iter().map(Spanned::get_ref) {
            let ports = switch.ports.as_ref();
            let ports =
                ports.map(|ports| self.source.port(ports, "switch.ports", MOST_SWITCH_PORTS));
            self.add(
                "switch",
                &switch.name,
                switch.guid.as_ref(),
                ports.transpose()?,
                || free_guid(&mut guids, &mut next, topology::switch_guid, 0),
            )?;
        }
        Ok(())
    }

    /// The GUIDs that the file gives, with those of the ports behind a host's.
    fn explicit_guids(&self, file: &LabFile) -> Result<BTreeSet<u64>> {
        let mut given = Vec::new();
        for host in file.hosts.iter().map(Spanned::get_ref) {
            given.push((
                host.guid.as_ref(),
                "host.guid",
                self.source.host_ports(host)?,
            ));
        }
        for switch in file.switches.iter().map(Spanned::get_ref) {
            given.push((switch.guid.as_ref(), "switch.guid", 0));
        }
        let mut taken = BTreeSet::new();
        for (guid, key, ports) in given {
            let Some(spanned) = guid else { continue };
            let first = self.source.quantity(spanned, key, quantity::guid)?.bits();
            for guid in first..=first.saturating_add(u64::from(ports)) {
                if !taken.insert(guid) {
                    return Err(self.source.error(
                        spanned.span(),
                        key,
                        format!("GUID {} is taken", Guid::new(guid)),
                        "give each node its own; ports of a host have the host's plus their number",
                    ));
                }
            }
        }
        Ok(taken)
    }

    fn add(
        &mut self,
        kind: &str,
        name: &Spanned<String>,
        guid: Option<&Spanned<Scalar>>,
        ports: Option<u8>,
        default_guid: impl FnOnce() -> Guid,
    ) -> Result<()> {
        let text = self.source.name(name, &format!("{kind}.name"))?;
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if self.names.insert(text.clone(), id).is_some() {
            return Err(self.source.error(
                name.span(),
                format!("{kind}.name"),
                format!("another node is named {text:?}"),
                "give each host and each switch a name of its own",
            ));
        }
        let guid = self
            .source
            .optional(guid, &format!("{kind}.guid"), quantity::guid)?;
        self.nodes.push(Node {
            name: text,
            guid: guid.unwrap_or_else(default_guid),
            host: kind == "host",
            ports,
            taken: BTreeSet::new(),
        });
        Ok(())
    }

    /// All cables: first those of the hosts' `switch`, then the links. Ports that the file names
    /// are taken first, the others are the lowest that are left.
    pub(super) fn cable(&mut self, file: &LabFile) -> Result<Vec<LinkSpec>> {
        let mut cables = Vec::new();
        for (index, host) in file.hosts.iter().enumerate() {
            for switch in &host.get_ref().switch.0 {
                cables.push(Cable {
                    a: End {
                        node: NodeId(u32::try_from(index).unwrap_or(u32::MAX)),
                        port: None,
                        span: switch.span(),
                        key: "host.switch",
                    },
                    b: self.end(switch, "host.switch")?,
                    impairment: Impairment::default(),
                    up: true,
                });
            }
        }
        for link in &file.links {
            cables.push(self.link(link.get_ref())?);
        }
        for end in cables.iter().flat_map(|cable| [&cable.a, &cable.b]) {
            self.take_named(end)?;
        }
        cables
            .into_iter()
            .map(|cable| {
                Ok(LinkSpec {
                    a: self.take(&cable.a)?,
                    b: self.take(&cable.b)?,
                    impairment: cable.impairment,
                    up: cable.up,
                })
            })
            .collect()
    }

    fn link(&self, link: &Link) -> Result<Cable> {
        let [a, b] = &link.ends.get_ref()[..] else {
            return Err(self.source.error(
                link.ends.span(),
                "link.ends",
                format!("a link has two ends, not {}", link.ends.get_ref().len()),
                "write ends = [\"h1[1]\", \"s1[3]\"]; without [port] the next free one is taken",
            ));
        };
        Ok(Cable {
            a: self.end(a, "link.ends")?,
            b: self.end(b, "link.ends")?,
            impairment: self.impairment(link)?,
            up: link.up.unwrap_or(true),
        })
    }

    fn impairment(&self, link: &Link) -> Result<Impairment> {
        let part = |value: &Option<Spanned<Scalar>>, key| {
            let part = self.source.optional(value.as_ref(), key, quantity::loss)?;
            Ok(part.unwrap_or(0.0))
        };
        let time = |value: &Option<Spanned<Scalar>>, key| {
            let time = self.source.optional(value.as_ref(), key, quantity::time)?;
            Ok(time.unwrap_or(Duration::ZERO))
        };
        Ok(Impairment {
            loss: part(&link.loss, "link.loss")?,
            corrupt: part(&link.corrupt, "link.corrupt")?,
            duplicate: part(&link.duplicate, "link.duplicate")?,
            reorder: part(&link.reorder, "link.reorder")?,
            delay: time(&link.delay, "link.delay")?,
            jitter: time(&link.jitter, "link.jitter")?,
            rate: self
                .source
                .optional(link.rate.as_ref(), "link.rate", quantity::rate)?,
        })
    }

    fn end(&self, text: &Spanned<String>, key: &'static str) -> Result<End> {
        let place: PortPlace = text.get_ref().parse().map_err(|_| {
            self.source.error(
                text.span(),
                key,
                format!("{:?} names no port", text.get_ref()),
                "write a node and a port, such as \"s1[3]\", or a node alone",
            )
        })?;
        let node = self
            .source
            .node(&self.names, &place.node, text.span(), key)?;
        if key == "host.switch" && self.nodes[node.index()].host {
            return Err(self.source.error(
                text.span(),
                key,
                format!("{:?} is a host", place.node),
                "name a switch; to connect two hosts write a [[link]]",
            ));
        }
        Ok(End {
            node,
            port: place.port,
            span: text.span(),
            key,
        })
    }

    fn take_named(&mut self, end: &End) -> Result<()> {
        let Some(port) = end.port else { return Ok(()) };
        let node = &mut self.nodes[end.node.index()];
        let most = node.most_ports();
        if port == 0 || port > most {
            return Err(self.source.error(
                end.span.clone(),
                end.key,
                format!("{} has {}, not {port}", node.name, text::ports(most)),
                format!("name one of them, or set `ports` of {}", node.name),
            ));
        }
        if !node.taken.insert(port) {
            return Err(self.source.error(
                end.span.clone(),
                end.key,
                format!("port {port} of {} has a cable already", node.name),
                "name another port, or none to have the next free one",
            ));
        }
        Ok(())
    }

    fn take(&mut self, end: &End) -> Result<PortRef> {
        if let Some(port) = end.port {
            return Ok(PortRef {
                node: end.node,
                port,
            });
        }
        let node = &mut self.nodes[end.node.index()];
        let most = node.most_ports();
        let Some(port) = (1..=most).find(|port| !node.taken.contains(port)) else {
            return Err(self.source.error(
                end.span.clone(),
                end.key,
                format!("{} has {}, and no free one", node.name, text::ports(most)),
                format!("set `ports` of {} higher, or remove a cable", node.name),
            ));
        };
        node.taken.insert(port);
        Ok(PortRef {
            node: end.node,
            port,
        })
    }

    /// The nodes with their interfaces, now that it is known how many ports each has.
    pub(super) fn finish_hosts(
        &self,
        file: &LabFile,
        mtu: Mtu,
    ) -> Result<(Vec<NodeSpec>, Vec<HostSpec>)> {
        let mut nodes = Vec::new();
        let mut hosts = Vec::new();
        let mut owners = BTreeMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let ports = node
                .ports
                .or_else(|| node.taken.last().copied())
                .unwrap_or(1);
            let kind = if let Some(host) = file.hosts.get(index) {
                let host = host.get_ref();
                let (interfaces, addresses) = self.source.interfaces(host, ports, mtu)?;
                self.source
                    .claim(&mut owners, host, &interfaces, &addresses)?;
                let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
                let addresses = addresses
                    .into_iter()
                    .map(|list| list.into_iter().map(|(a, _)| a).collect());
                hosts.push(HostSpec {
                    node: id,
                    interfaces: addresses.collect(),
                });
                NodeKind::Host { ports, interfaces }
            } else {
                NodeKind::Switch { ports }
            };
            nodes.push(NodeSpec {
                name: node.name.clone(),
                guid: node.guid,
                kind,
            });
        }
        Ok((nodes, hosts))
    }
}

impl Node {
    fn most_ports(&self) -> u8 {
        self.ports.unwrap_or(MOST_SWITCH_PORTS)
    }
}

/// The next default GUID that has `ports` free ones behind it.
fn free_guid(
    taken: &mut BTreeSet<u64>,
    next: &mut usize,
    default: fn(usize) -> Guid,
    ports: u8,
) -> Guid {
    loop {
        let guid = default(*next);
        *next += 1;
        let range = guid.bits()..=guid.bits() + u64::from(ports);
        if taken.range(range).next().is_none() {
            return guid;
        }
    }
}
