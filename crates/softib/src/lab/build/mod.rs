//! From a TOML lab file to a subnet: names to nodes, free ports to cables, defaults to what is left
//! out; every mistake with its place.

mod nodes;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use softib_subnet::spec::{ManagerSpec, NodeId, PartitionSpec, SubnetSpec};
use softib_wire::addr::Gid;
use softib_wire::time::Duration;
use softib_wire::units::Mtu;
use toml::Spanned;

use super::error::Source;
use super::file::{LabFile, Manager, Partition};
use super::{Lab, LabError, quantity};
use nodes::Builder;

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
    let mut builder = Builder::new(source);
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
