//! From a TOML lab file to a subnet: names to nodes, free ports to cables, defaults to what is left
//! out; every mistake with its place.

use core::net::IpAddr;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use softib_host::runtime::HostSpec;
use softib_subnet::spec::{
    Impairment, InterfaceSpec, LinkSpec, ManagerSpec, NodeId, NodeKind, NodeSpec, PartitionSpec,
    PortRef, SubnetSpec,
};
use softib_wire::addr::{Gid, Guid, PKey};
use softib_wire::time::Duration;
use softib_wire::units::Mtu;
use toml::Spanned;

use super::error::Source;
use super::file::{Host, Interface, LabFile, Link, Manager, Partition, Scalar};
use super::place::{NAME_RULE, PortPlace, is_name};
use super::quantity::{self, BadQuantity};
use super::{Lab, LabError, MOST_HOST_PORTS, MOST_SWITCH_PORTS, default_guid};
use crate::text;

type Result<T> = core::result::Result<T, LabError>;

pub(super) fn parse(source: &Source<'_>) -> Result<Lab> {
    let file: LabFile = toml::from_str(source.text).map_err(|error| source.toml_error(&error))?;
    let name = file
        .name
        .as_ref()
        .map(|name| source.lab_name(name))
        .transpose()?;
    let mtu = source
        .optional(file.mtu.as_ref(), "mtu", quantity::mtu)?
        .unwrap_or(Mtu::B2048);
    let prefix = match &file.prefix {
        Some(prefix) => source.prefix(prefix)?,
        None => Gid::DEFAULT_PREFIX,
    };

    if file.hosts.is_empty() {
        let help = "add one: [[host]] with name = \"h1\" and switch = \"s1\"";
        return Err(source.error(0..0, "host", "the lab has no host", help));
    }
    let mut builder = Builder {
        source,
        nodes: Vec::new(),
        names: BTreeMap::new(),
    };
    builder.add_nodes(&file)?;
    let links = builder.cable(&file)?;
    let (nodes, hosts) = builder.finish_hosts(&file, mtu)?;
    let finder = Finder {
        source,
        names: builder.names,
    };
    let subnet = SubnetSpec {
        prefix,
        mtu,
        nodes,
        links,
        manager: finder.manager(file.sm.as_ref())?,
        partitions: finder.partitions(&file.partitions)?,
    };
    subnet.check().map_err(|error| {
        source.error(
            0..0,
            "",
            error,
            "docs/lab-file.md says what a lab is made of",
        )
    })?;
    Ok(Lab {
        name,
        subnet,
        hosts,
    })
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

struct Builder<'a> {
    source: &'a Source<'a>,
    nodes: Vec<Node>,
    names: BTreeMap<String, NodeId>,
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

impl Builder<'_> {
    /// Hosts, then switches, so that host n is node n.
    fn add_nodes(&mut self, file: &LabFile) -> Result<()> {
        let mut guids = self.explicit_guids(file)?;
        let mut next = 0;
        for host in file.hosts.iter().map(Spanned::get_ref) {
            let ports = self.source.host_ports(host)?;
            self.add("host", &host.name, host.guid.as_ref(), Some(ports), || {
                free_guid(&mut guids, &mut next, default_guid::host, MOST_HOST_PORTS)
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
                || free_guid(&mut guids, &mut next, default_guid::switch, 0),
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
    fn cable(&mut self, file: &LabFile) -> Result<Vec<LinkSpec>> {
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
    fn finish_hosts(&self, file: &LabFile, mtu: Mtu) -> Result<(Vec<NodeSpec>, Vec<HostSpec>)> {
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

/// Addresses of an interface, each with its place in the file.
type Addresses = Vec<((IpAddr, u8), Range<usize>)>;

/// What can be said of a value by itself.
impl Source<'_> {
    fn quantity<T>(
        &self,
        scalar: &Spanned<Scalar>,
        key: &str,
        read: fn(&str) -> core::result::Result<T, BadQuantity>,
    ) -> Result<T> {
        read(&scalar.get_ref().0).map_err(|bad| self.bad(scalar.span(), key, &bad))
    }

    fn optional<T>(
        &self,
        scalar: Option<&Spanned<Scalar>>,
        key: &str,
        read: fn(&str) -> core::result::Result<T, BadQuantity>,
    ) -> Result<Option<T>> {
        scalar
            .map(|scalar| self.quantity(scalar, key, read))
            .transpose()
    }

    fn bad(&self, span: Range<usize>, key: &str, bad: &BadQuantity) -> LabError {
        self.error(
            span,
            key,
            format!("{:?} is not {}", bad.value, bad.what),
            bad.help,
        )
    }

    /// A number from `least` to `most`.
    fn within(
        &self,
        scalar: &Spanned<Scalar>,
        key: &str,
        what: &str,
        range: core::ops::RangeInclusive<u64>,
    ) -> Result<u64> {
        quantity::number(&scalar.get_ref().0)
            .filter(|n| range.contains(n))
            .ok_or_else(|| {
                self.error(
                    scalar.span(),
                    key,
                    format!("{:?} is not {what}", scalar.get_ref().0),
                    format!("write a number from {} to {}", range.start(), range.end()),
                )
            })
    }

    fn port(&self, scalar: &Spanned<Scalar>, key: &str, most: u8) -> Result<u8> {
        let number = self.within(scalar, key, "a number of ports", 1..=u64::from(most))?;
        Ok(u8::try_from(number).unwrap_or(most))
    }

    fn name(&self, name: &Spanned<String>, key: &str) -> Result<String> {
        if is_name(name.get_ref()) {
            Ok(name.get_ref().clone())
        } else {
            let problem = format!("{:?} can't be a name", name.get_ref());
            Err(self.error(name.span(), key, problem, NAME_RULE))
        }
    }

    fn lab_name(&self, name: &Spanned<String>) -> Result<String> {
        // It becomes part of the path of a Unix socket, which must be short.
        const LONGEST: usize = 48;
        let text = self.name(name, "name")?;
        if text.len() > LONGEST {
            let problem = format!("{text:?} is too long for the name of a lab");
            let help = format!("use up to {LONGEST} characters");
            return Err(self.error(name.span(), "name", problem, help));
        }
        Ok(text)
    }

    fn prefix(&self, text: &Spanned<String>) -> Result<u64> {
        let address = text
            .get_ref()
            .trim_end_matches("/64")
            .parse::<core::net::Ipv6Addr>()
            .ok();
        address
            .map(|address| Gid::new(address.octets()))
            .filter(|gid| gid.guid().bits() == 0 && gid.prefix() != 0 && !gid.is_multicast())
            .map(Gid::prefix)
            .ok_or_else(|| {
                self.error(
                    text.span(),
                    "prefix",
                    format!("{:?} is not a subnet prefix", text.get_ref()),
                    "write 64 bits as an IPv6 prefix, such as \"fe80::\" or \"fec0:0:0:1::\"",
                )
            })
    }

    fn node(
        &self,
        names: &BTreeMap<String, NodeId>,
        name: &str,
        span: Range<usize>,
        key: &str,
    ) -> Result<NodeId> {
        names.get(name).copied().ok_or_else(|| {
            self.error(
                span,
                key,
                format!("the lab has no node {name:?}"),
                format!("it has {}", text::some_of(names.keys())),
            )
        })
    }

    /// Ports of a host: as many as it says, else as its own cables and interfaces need.
    fn host_ports(&self, host: &Host) -> Result<u8> {
        if let Some(ports) = &host.ports {
            return self.port(ports, "host.ports", MOST_HOST_PORTS);
        }
        let cables = host.switch.0.len().min(usize::from(MOST_HOST_PORTS));
        let mut ports = u8::try_from(cables).unwrap_or(MOST_HOST_PORTS).max(1);
        for interface in host.interfaces.iter().flatten() {
            if let Some(port) = &interface.get_ref().port {
                ports = ports.max(self.port(port, "host.interface.port", MOST_HOST_PORTS)?);
            }
        }
        Ok(ports)
    }

    fn interfaces(
        &self,
        host: &Host,
        ports: u8,
        mtu: Mtu,
    ) -> Result<(Vec<InterfaceSpec>, Vec<Addresses>)> {
        let Some(listed) = &host.interfaces else {
            let first = InterfaceSpec {
                name: "ib0".to_owned(),
                port: 1,
                pkey: None,
                mtu: None,
            };
            let list = host
                .addresses
                .as_ref()
                .map_or(&[][..], |list| list.get_ref());
            return Ok((vec![first], vec![self.addresses(list, "host.addresses")?]));
        };
        if let Some(addresses) = &host.addresses {
            return Err(self.error(
                addresses.span(),
                "host.addresses",
                "the host lists its interfaces, so it is not clear whose addresses these are",
                "move them into one of the [[host.interface]] tables",
            ));
        }
        let mut interfaces: Vec<InterfaceSpec> = Vec::new();
        let mut addresses = Vec::new();
        for (index, spanned) in listed.iter().enumerate() {
            let interface = self.interface(spanned.get_ref(), index, ports, mtu)?;
            if interfaces.iter().any(|other| other.name == interface.name) {
                return Err(self.error(
                    spanned
                        .get_ref()
                        .name
                        .as_ref()
                        .map_or_else(|| spanned.span(), Spanned::span),
                    "host.interface.name",
                    format!(
                        "another interface of the host is named {:?}",
                        interface.name
                    ),
                    "give each interface of a host a name of its own",
                ));
            }
            interfaces.push(interface);
            addresses
                .push(self.addresses(&spanned.get_ref().addresses, "host.interface.addresses")?);
        }
        Ok((interfaces, addresses))
    }

    fn interface(
        &self,
        interface: &Interface,
        index: usize,
        ports: u8,
        mtu: Mtu,
    ) -> Result<InterfaceSpec> {
        let name = match &interface.name {
            Some(name) => {
                let text = self.name(name, "host.interface.name")?;
                if text.len() > 15 {
                    return Err(self.error(
                        name.span(),
                        "host.interface.name",
                        format!("{text:?} is too long"),
                        "use up to 15 characters, as on Linux",
                    ));
                }
                text
            }
            None => format!("ib{index}"),
        };
        let port = match &interface.port {
            Some(port) => {
                let number = self.port(port, "host.interface.port", MOST_HOST_PORTS)?;
                if number > ports {
                    return Err(self.error(
                        port.span(),
                        "host.interface.port",
                        format!("the host has {}, not {number}", text::ports(ports)),
                        "name one of them, or set `ports` of the host",
                    ));
                }
                number
            }
            None => 1,
        };
        // RFC 4391 §4: the 4-octet IPoIB header counts towards the link's MTU.
        let most = mtu.octets() as u64 - 4;
        let mtu = interface.mtu.as_ref().map(|scalar| {
            self.within(
                scalar,
                "host.interface.mtu",
                "an MTU of an interface here",
                68..=most,
            )
        });
        Ok(InterfaceSpec {
            name,
            port,
            pkey: self.optional(
                interface.pkey.as_ref(),
                "host.interface.pkey",
                quantity::pkey,
            )?,
            mtu: mtu.transpose()?.and_then(|mtu| u32::try_from(mtu).ok()),
        })
    }

    fn addresses(&self, list: &[Spanned<String>], key: &str) -> Result<Addresses> {
        list.iter()
            .map(|text| {
                quantity::address(text.get_ref())
                    .map(|address| (address, text.span()))
                    .map_err(|bad| self.bad(text.span(), key, &bad))
            })
            .collect()
    }

    /// Notes whose the addresses are; in one partition an address belongs to one interface.
    fn claim(
        &self,
        owners: &mut BTreeMap<(IpAddr, Option<PKey>), String>,
        host: &Host,
        interfaces: &[InterfaceSpec],
        addresses: &[Addresses],
    ) -> Result<()> {
        for (interface, addresses) in interfaces.iter().zip(addresses) {
            for ((address, _), span) in addresses {
                let owner = format!("{}:{}", host.name.get_ref(), interface.name);
                let key = (*address, interface.pkey.map(PKey::full));
                if let Some(other) = owners.insert(key, owner) {
                    return Err(self.error(
                        span.clone(),
                        if host.interfaces.is_some() {
                            "host.interface.addresses"
                        } else {
                            "host.addresses"
                        },
                        format!("{address} is the address of {other} already"),
                        "give each interface addresses of its own",
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Finds nodes by name, for what refers to them.
struct Finder<'a> {
    source: &'a Source<'a>,
    names: BTreeMap<String, NodeId>,
}

impl Finder<'_> {
    fn manager(&self, manager: Option<&Spanned<Manager>>) -> Result<ManagerSpec> {
        const PRIORITY: u8 = 0;
        const SWEEP: Duration = Duration::from_secs(10);
        let own = |node| ManagerSpec::Own {
            node,
            priority: PRIORITY,
            sweep_interval: SWEEP,
        };
        let Some(spanned) = manager else {
            return Ok(own(NodeId(0)));
        };
        match spanned.get_ref() {
            Manager::Node(name) if name == "none" => Ok(ManagerSpec::None),
            Manager::Node(name) => self
                .source
                .node(&self.names, name, spanned.span(), "sm")
                .map(own),
            Manager::Table(table) => {
                let node = &table.node;
                let node = self
                    .source
                    .node(&self.names, node.get_ref(), node.span(), "sm.node")?;
                let priority = table.priority.as_ref().map(|scalar| {
                    self.source
                        .within(scalar, "sm.priority", "a priority of a manager", 0..=15)
                });
                let priority = priority.transpose()?.and_then(|n| u8::try_from(n).ok());
                let sweep =
                    self.source
                        .optional(table.sweep.as_ref(), "sm.sweep", quantity::time)?;
                Ok(ManagerSpec::Own {
                    node,
                    priority: priority.unwrap_or(PRIORITY),
                    sweep_interval: sweep.unwrap_or(SWEEP),
                })
            }
        }
    }

    fn partitions(&self, partitions: &[Spanned<Partition>]) -> Result<Vec<PartitionSpec>> {
        let mut seen = BTreeSet::new();
        partitions
            .iter()
            .map(|partition| {
                let partition = partition.get_ref();
                let key = "partition.pkey";
                let pkey = self.source.quantity(&partition.pkey, key, quantity::pkey)?;
                if !seen.insert(pkey.partition()) {
                    return Err(self.source.error(
                        partition.pkey.span(),
                        key,
                        format!("partition {pkey} is there already"),
                        "list all members of a partition in one table; the top bit of a P_Key \
                         says who is a full member, not which partition it is",
                    ));
                }
                let full = partition
                    .members
                    .iter()
                    .map(|name| (name, "partition.members", true));
                let limited = partition
                    .limited
                    .iter()
                    .map(|name| (name, "partition.limited", false));
                let mut members = BTreeMap::new();
                for (name, key, is_full) in full.chain(limited) {
                    let node = self
                        .source
                        .node(&self.names, name.get_ref(), name.span(), key)?;
                    if members.insert(node, is_full).is_some() {
                        return Err(self.source.error(
                            name.span(),
                            key,
                            format!("{:?} is a member already", name.get_ref()),
                            "name each member once, in `members` or in `limited`",
                        ));
                    }
                }
                Ok(PartitionSpec {
                    pkey,
                    members: members.into_iter().collect(),
                    ipoib: partition.ipoib.unwrap_or(true),
                })
            })
            .collect()
    }
}
