//! `softib show host H`: all that a view says of one host.

use serde::Serialize;
use softib_subnet::view::{DropRow, InterfaceRow, NeighbourRow, NodeRow, PathRow, SubnetView};

use super::tables;

#[derive(Serialize)]
pub(super) struct HostView<'a> {
    node: &'a NodeRow,
    interfaces: Vec<InterfaceRow>,
    paths: Vec<PathRow>,
    neighbours: Vec<NeighbourRow>,
    drops: Vec<DropRow>,
}

impl<'a> HostView<'a> {
    pub(super) fn new(view: &'a SubnetView, name: &str) -> Option<Self> {
        let node = view
            .nodes
            .iter()
            .find(|node| node.name == name && node.kind == "host")?;
        let of_host = |place: &str| {
            place
                .strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '/', ':']))
        };
        Some(Self {
            node,
            interfaces: view
                .interfaces
                .iter()
                .filter(|row| row.host == name)
                .cloned()
                .collect(),
            paths: view
                .paths
                .iter()
                .filter(|row| row.host == name)
                .cloned()
                .collect(),
            neighbours: view
                .neighbours
                .iter()
                .filter(|row| row.host == name)
                .cloned()
                .collect(),
            drops: view
                .drops
                .iter()
                .filter(|row| of_host(&row.place))
                .cloned()
                .collect(),
        })
    }

    pub(super) fn text(&self) -> String {
        let mut parts = vec![
            format!("{}, node GUID {}\n", self.node.name, self.node.guid),
            tables::fabric(std::slice::from_ref(self.node)),
        ];
        for interface in &self.interfaces {
            parts.push(format!(
                "{}: {}, MTU {}, {}\n  {:<24} {}\n  {:<24} {}\n{}",
                interface.interface,
                tables::interface_state(interface),
                interface.mtu,
                interface.mode,
                "hardware address",
                interface.hardware_address,
                "addresses",
                interface.addresses.join(" "),
                tables::named(&interface.counters)
            ));
        }
        if !self.neighbours.is_empty() {
            parts.push(tables::neighbours(&self.neighbours));
        }
        if !self.paths.is_empty() {
            parts.push(tables::paths(&self.paths));
        }
        if self.drops.iter().any(|row| row.count > 0) {
            parts.push(tables::drops(&self.drops));
        }
        parts.join("\n")
    }
}
