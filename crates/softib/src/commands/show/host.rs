//! `softib show host H`: all that a view says of one host.

use serde::Serialize;
use softib_subnet::view::{DropRow, InterfaceRow, NeighbourRow, NodeRow, PathRow, SubnetView};

use super::{print_line, tables};
use crate::failure::Outcome;

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

    pub(super) fn print(&self) -> Outcome {
        print_line(&format!("{}, node GUID {}", self.node.name, self.node.guid))?;
        print_line("")?;
        tables::fabric(std::slice::from_ref(self.node))?;
        for interface in &self.interfaces {
            print_line("")?;
            let state = tables::interface_state(interface);
            print_line(&format!(
                "{}: {state}, MTU {}, {}",
                interface.name, interface.mtu, interface.mode
            ))?;
            print_line(&format!(
                "  hardware address         {}",
                interface.hardware_address
            ))?;
            print_line(&format!(
                "  addresses                {}",
                interface.addresses.join(" ")
            ))?;
            tables::named(&interface.counters)?;
        }
        if !self.neighbours.is_empty() {
            print_line("")?;
            tables::neighbours(&self.neighbours)?;
        }
        if !self.paths.is_empty() {
            print_line("")?;
            tables::paths(&self.paths)?;
        }
        if self.drops.iter().any(|row| row.count > 0) {
            print_line("")?;
            tables::drops(&self.drops)?;
        }
        Ok(())
    }
}
