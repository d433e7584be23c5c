//! What happens during bring-up, each thing told once, as views show it.

use std::collections::BTreeSet;
use std::time::Instant;

use softib_subnet::view::SubnetView;

use crate::text::say;

/// Tells lines with the time since the start.
pub(super) struct Story {
    start: Instant,
    told: BTreeSet<String>,
}

impl Story {
    pub(super) fn new(start: Instant) -> Self {
        Self {
            start,
            told: BTreeSet::new(),
        }
    }

    /// Tells a line, unless it has been told.
    pub(super) fn tell(&mut self, line: &str) {
        if self.told.insert(line.to_owned()) {
            // Whether somebody still reads shows at the next step.
            let _ = say(format_args!(
                "    {:7.3} s  {line}",
                self.start.elapsed().as_secs_f64()
            ));
        }
    }

    /// Tells what is new in a view, in the order in which it happens.
    pub(super) fn follow(&mut self, view: &SubnetView) {
        for line in lines(view) {
            self.tell(&line);
        }
    }
}

fn lines(view: &SubnetView) -> Vec<String> {
    let mut lines = Vec::new();
    let manager = &view.manager;
    if let Some(node) = &manager.node
        && manager.heavy_sweeps > 0
    {
        lines.push(format!(
            "subnet manager on {node}: {}, {} nodes found, {} of them switches",
            manager.state, manager.nodes, manager.switches
        ));
    }
    for node in &view.nodes {
        for port in node.ports.iter().filter(|port| port.lid != 0) {
            let place = format!("{}[{}]", node.name, port.port);
            // External ports of a switch share the LID of port 0.
            if node.kind == "host" || port.port == 0 {
                lines.push(format!("{place} has LID {}", port.lid));
            }
        }
    }
    lines.extend(cables(view));
    for group in view
        .groups
        .iter()
        .filter(|group| group.ip.as_deref() == Some("broadcast"))
    {
        for member in &group.members {
            lines.push(format!(
                "{} joined the broadcast group ({}), MLID {}",
                member.port, member.state, group.mlid
            ));
        }
    }
    for row in view.interfaces.iter().filter(|row| row.carrier) {
        lines.push(format!(
            "{}:{} has carrier, MTU {}, checks for duplicate addresses",
            row.host, row.interface, row.mtu
        ));
    }
    // Nobody may have answered to them: that takes a moment.
    for row in view.interfaces.iter().filter(|row| row.ready) {
        let addresses = row.addresses.join(" ");
        lines.push(format!("{}:{} runs, {addresses}", row.host, row.interface));
    }
    lines
}

/// A line for each cable whose ends are both active.
fn cables(view: &SubnetView) -> Vec<String> {
    let mut active = BTreeSet::new();
    let mut lines = Vec::new();
    for node in &view.nodes {
        for port in node
            .ports
            .iter()
            .filter(|port| port.port != 0 && port.state == "Active")
        {
            let place = format!("{}[{}]", node.name, port.port);
            if let Some(peer) = port.peer.as_ref().filter(|peer| active.contains(*peer)) {
                lines.push(format!("{peer} to {place}: Active, {}", port.speed));
            }
            active.insert(place);
        }
    }
    lines
}
