//! What the subnet manager tells, in the words of the lab: nodes and ports by the names that people
//! gave them, where the manager itself knows GUIDs and LIDs only.

use std::collections::BTreeMap;

use softib_mgmt::sm::SmEvent;
use softib_wire::addr::{Gid, Guid, Lid};

use crate::spec::{NodeKind, PortRef};
use crate::subnet::Subnet;
use crate::views::ip_name;

/// Names by what the manager calls nodes and ports.
pub(crate) struct Names {
    nodes: BTreeMap<Guid, String>,
    ports: BTreeMap<Guid, String>,
    lids: BTreeMap<Lid, String>,
}

impl Names {
    pub(crate) fn new(subnet: &Subnet) -> Self {
        let mut names = Self {
            nodes: BTreeMap::new(),
            ports: BTreeMap::new(),
            lids: BTreeMap::new(),
        };
        for (id, node) in subnet.each_node() {
            let spec = &subnet.spec.nodes[id.index()];
            names.nodes.insert(spec.guid, spec.name.clone());
            // A switch is reached by its port 0 alone.
            let end_ports = match spec.kind {
                NodeKind::Host { ports, .. } => 1..=ports,
                NodeKind::Switch { .. } => 0..=0,
            };
            for port in end_ports {
                let Some(found) = node.device.port(port) else {
                    continue;
                };
                let name = subnet.end_name(PortRef { node: id, port });
                names.lids.insert(found.lid(), name.clone());
                names.ports.insert(found.guid(), name);
            }
        }
        names
    }

    /// An event in words.
    pub(crate) fn tell(&self, event: &SmEvent) -> String {
        match event {
            SmEvent::NodeFound { guid, .. } if self.nodes.contains_key(guid) => {
                format!("node {} found", self.node(*guid))
            }
            SmEvent::NodeGone { guid, .. } if self.nodes.contains_key(guid) => {
                format!("node {} gone", self.node(*guid))
            }
            SmEvent::LinkFound(a, b) => format!("cable {} - {} found", self.end(*a), self.end(*b)),
            SmEvent::LinkGone(a, b) => format!("cable {} - {} gone", self.end(*a), self.end(*b)),
            SmEvent::LidAssigned { port_guid, lid } => {
                format!("{} has LID {lid}", self.port(*port_guid))
            }
            SmEvent::OutOfLids { port_guid } => {
                format!("no LID left for {}", self.port(*port_guid))
            }
            SmEvent::PortInService(gid) => {
                format!("{} in service, {gid}", self.port(gid.guid()))
            }
            SmEvent::PortOutOfService(gid) => {
                format!("{} out of service, {gid}", self.port(gid.guid()))
            }
            SmEvent::Trap { number, issuer } => {
                let issuer = self.lids.get(issuer).map_or_else(
                    || format!("LID {issuer}"),
                    |name| format!("{name}, LID {issuer}"),
                );
                format!("trap {} ({number}) from {issuer}", number.bits())
            }
            // On cables without delay nothing takes time.
            SmEvent::SweepDone {
                kind,
                number,
                took,
                smps,
                errors,
            } if took.is_zero() => {
                format!("{kind} sweep {number} done, {smps} SMPs, {errors} errors")
            }
            SmEvent::NoAnswer { node, attribute } => format!(
                "{} does not answer about attribute {attribute:#06x}",
                self.node(*node)
            ),
            SmEvent::Refused {
                node,
                attribute,
                status,
            } => format!(
                "{} refuses attribute {attribute:#06x} with status {status:#06x}",
                self.node(*node)
            ),
            SmEvent::GroupCreated(mgid) => format!("multicast group {} created", group(*mgid)),
            SmEvent::GroupDeleted(mgid) => format!("multicast group {} deleted", group(*mgid)),
            other => other.to_string(),
        }
    }

    /// Who has a LID.
    pub(crate) fn at(&self, lid: Lid) -> Option<&str> {
        self.lids.get(&lid).map(String::as_str)
    }

    fn node(&self, guid: Guid) -> String {
        let name = self.nodes.get(&guid).cloned();
        name.unwrap_or_else(|| guid.to_string())
    }

    fn port(&self, guid: Guid) -> String {
        let name = self.ports.get(&guid).cloned();
        name.unwrap_or_else(|| guid.to_string())
    }

    fn end(&self, (guid, port): (Guid, u8)) -> String {
        format!("{}[{port}]", self.node(guid))
    }
}

/// A group with what it stands for in IP.
fn group(mgid: Gid) -> String {
    ip_name(mgid).map_or_else(|| mgid.to_string(), |ip| format!("{mgid} ({ip})"))
}
