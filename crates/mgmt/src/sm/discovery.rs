//! Reading the subnet: answers of the phase of discovery, and what follows from them.

use softib_wire::addr::{Gid, Guid, PKey};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::{PortCapabilities, PortInfo};
use softib_wire::mad::sm_info::SmState;
use softib_wire::mad::smp::HopPath;
use softib_wire::time::{Duration, Instant};
use softib_wire::units::{NodeType, PortState};

use super::database::{NodeId, PortId};
use super::partitions::BLOCK;
use super::smps::Job;
use super::sweep::Phase;
use super::{SmEvent, SubnetManager};

/// A port that fell back to Init is looked at again after this time.
const AGAIN: Duration = Duration::from_millis(50);

impl SubnetManager {
    /// Partial sweep: reads what was reported to have changed.
    pub(super) fn read_pending(&mut self) {
        for switch in core::mem::take(&mut self.pending.switches) {
            self.read_switch(switch);
        }
        for port in core::mem::take(&mut self.pending.ports) {
            if self.database.port(port).is_some() {
                self.smps.push(Job::Describe(port));
                self.smps.push(Job::PortInfo(port));
            }
        }
    }

    /// A switch says that something changed at it.
    pub(super) fn switch_changed(&mut self, now: Instant, switch: NodeId) {
        if self.phase == Phase::Discover {
            // A heavy sweep that has not come there yet will see it.
            let number = self.sweep_number();
            let visited = self.database.node(switch).map_or(0, |node| node.visited);
            if !self.is_heavy() || visited == number {
                self.read_switch(switch);
            }
        } else {
            self.pending.switches.insert(switch);
            self.pending.partial_at(now);
        }
    }

    fn read_switch(&mut self, id: NodeId) {
        let number = self.sweep_number();
        if let Some(node) = self.database.node_mut(id)
            && node.is_switch()
        {
            node.visited = number;
            self.smps.push(Job::SwitchInfo(id));
        }
    }

    /// The answer to a probe: who is there.
    pub(super) fn on_node_info(&mut self, from: Option<PortId>, info: NodeInfo) {
        let Some(path) = self.probe_path(from) else {
            return;
        };
        let is_switch = info.node_type == NodeType::Switch;
        let number = self.sweep_number();
        let port_is_possible = info.local_port <= info.port_count
            && (is_switch && from.is_none() || info.local_port > 0);
        if !port_is_possible {
            self.not_there(from);
            return;
        }
        let known = self.database.by_guid(info.node_guid);
        let known = known.filter(|&id| match self.database.node(id) {
            Some(node) => {
                node.info.node_type == info.node_type && node.info.port_count == info.port_count
            }
            None => false,
        });
        let id = match known {
            Some(id) => id,
            None => {
                if let Some(other) = self.database.by_guid(info.node_guid) {
                    let visited = self.database.node(other).map_or(0, |node| node.visited);
                    if visited == number {
                        return self.duplicate(info.node_guid, from);
                    }
                    self.remove_node(other);
                }
                self.change.any = true;
                self.change.fabric_grew |= is_switch;
                self.database.add(info)
            }
        };
        let local = PortId {
            node: id,
            port: info.local_port,
        };
        if let Some(from) = from {
            let met = self.database.port(local);
            let elsewhere = met.is_some_and(|port| {
                port.confirmed == number && port.peer.is_some_and(|peer| peer != from)
            });
            if elsewhere || Some(local) == self.database.own && from.node == id {
                return self.duplicate(info.node_guid, Some(from));
            }
            let gone = [from, local].map(|end| self.database.port(end).and_then(|port| port.peer));
            if self.database.connect(from, local, number) {
                for (end, peer) in [from, local].into_iter().zip(gone) {
                    if let Some(peer) = peer {
                        self.tell_link(SmEvent::LinkGone, end, peer);
                    }
                }
                self.tell_link(SmEvent::LinkFound, from, local);
                self.change.any = true;
                let both_switches = is_switch
                    && self
                        .database
                        .node(from.node)
                        .is_some_and(|node| node.is_switch());
                self.change.fabric_grew |= both_switches;
            }
        } else {
            self.database.own = Some(local);
        }
        self.visit(local, info, path, known.is_none());
    }

    /// Reads a node, or a port of it, that was met.
    fn visit(&mut self, local: PortId, info: NodeInfo, path: HopPath, is_new: bool) {
        let number = self.sweep_number();
        let is_heavy = self.is_heavy();
        let Some(node) = self.database.node_mut(local.node) else {
            return;
        };
        node.info.system_image_guid = info.system_image_guid;
        let first_visit = node.visited != number;
        if node.is_switch() {
            if is_new || is_heavy && first_visit {
                node.visited = number;
                node.broken = false;
                let port0 = PortId {
                    node: local.node,
                    port: 0,
                };
                self.database.set_path(local, path);
                if !self.claim_port_guid(port0, info.port_guid) {
                    return;
                }
                self.smps.push(Job::SwitchInfo(local.node));
                self.smps.push(Job::Describe(port0));
            } else if !is_heavy {
                // The other ports of a known switch are as they were.
                self.smps.push(Job::PortInfo(local));
            }
            return;
        }
        if first_visit {
            node.visited = number;
            node.broken = false;
        }
        self.database.set_path(local, path);
        if !self.claim_port_guid(local, info.port_guid) {
            return;
        }
        self.smps.push(Job::PortInfo(local));
        if is_new || is_heavy && first_visit {
            self.smps.push(Job::Describe(local));
        }
    }

    /// Notes an end port's GUID. False: another port has it, and this one is left out.
    fn claim_port_guid(&mut self, id: PortId, guid: Guid) -> bool {
        let old = self.database.port(id).and_then(|port| port.guid);
        if old == Some(guid) {
            return true;
        }
        if !self.database.set_port_guid(id, guid) {
            let peer = self.database.disconnect(id);
            self.duplicate(guid, peer);
            return false;
        }
        if let Some(port) = self.database.port_mut(id) {
            port.reregister = true;
        }
        true
    }

    /// The answer about a switch.
    pub(super) fn on_switch_info(&mut self, now: Instant, id: NodeId, info: SwitchInfo) {
        let phase = self.phase;
        let Some(switch) = self.database.switch_mut(id) else {
            return;
        };
        let forgot = !switch.lft.is_empty() && info.linear_fdb_top != switch.info.linear_fdb_top;
        switch.info = info;
        if phase == Phase::Poll {
            if forgot || info.port_state_change {
                self.pending.switches.insert(id);
                self.pending.partial_at(now);
            }
        } else if phase == Phase::Discover {
            if info.port_state_change && self.state == SmState::Master {
                // Before the ports are read: what changes after it is reported again.
                self.smps.push(Job::ClearChange(id));
            } else {
                self.read_ports(id);
            }
        }
        if forgot {
            self.forget_tables(id);
        }
    }

    pub(super) fn on_change_cleared(&mut self, id: NodeId, info: SwitchInfo) {
        if let Some(switch) = self.database.switch_mut(id) {
            switch.info = info;
            switch.info.port_state_change = false;
            self.read_ports(id);
        }
    }

    fn read_ports(&mut self, id: NodeId) {
        let Some(node) = self.database.node(id) else {
            return;
        };
        for port in node.port_numbers() {
            self.smps.push(Job::PortInfo(PortId { node: id, port }));
        }
    }

    /// The answer about a port.
    pub(super) fn on_port_info(&mut self, now: Instant, id: PortId, info: PortInfo) {
        let number = self.sweep_number();
        let is_heavy = self.is_heavy();
        let Some(node) = self.database.node_mut(id.node) else {
            return;
        };
        let is_switch = node.is_switch();
        let Some(port) = node.ports.get_mut(usize::from(id.port)) else {
            return;
        };
        let was_up = port.is_up();
        let first_time = port.info.is_none();
        port.info = Some(info);
        let is_up = port.is_up();
        let is_end_port = port.guid.is_some();
        let has_link = !is_switch || id.port > 0;
        if is_end_port && port.lid.bits() != 0 && info.lid != port.lid {
            // It lost what it was told, perhaps all of it.
            port.pkeys = None;
            if is_switch {
                self.forget_tables(id.node);
            }
        } else if is_switch && id.port > 0 && first_time && info.port_state >= PortState::Armed {
            // It served before under another manager.
            if let Some(switch) = self.database.switch_mut(id.node) {
                switch.mft_stale = true;
            }
        }
        if was_up != is_up && has_link {
            self.change.any = true;
        }
        if self.phase != Phase::Discover {
            if has_link && (!is_up || info.port_state == PortState::Init) {
                self.port_fell_back(now, id);
            }
            return;
        }
        if has_link {
            let may_lead_on = is_switch || self.database.own == Some(id);
            if !is_up {
                self.link_gone(id);
            } else if may_lead_on {
                let port = self.database.port_mut(id);
                let Some(port) = port.filter(|port| port.confirmed != number) else {
                    return self.on_end_port(id, &info, is_end_port);
                };
                if is_heavy || info.port_state == PortState::Init || port.peer.is_none() {
                    self.smps.push(Job::Probe(Some(id)));
                } else {
                    // It has not been down since it was made Active: the peer is the same.
                    port.confirmed = number;
                }
            }
        }
        self.on_end_port(id, &info, is_end_port);
    }

    fn on_end_port(&mut self, id: PortId, info: &PortInfo, is_end_port: bool) {
        if !is_end_port {
            return;
        }
        let own = self.database.own;
        let Some(port) = self.database.port_mut(id) else {
            return;
        };
        if info.port_state == PortState::Init {
            // It was down: its table may have been reset.
            port.pkeys = None;
            port.reregister = true;
        }
        if port.pkeys.is_none() {
            self.smps.push(Job::PKeys(id, 0));
        }
        if info.capability_mask.contains(PortCapabilities::IS_SM) && own != Some(id) {
            self.smps.push(Job::SmInfo(id));
        }
    }

    /// While tables are written a port is found to be down, or trained anew.
    fn port_fell_back(&mut self, now: Instant, id: PortId) {
        let is_up = self.database.port(id).is_some_and(|port| port.is_up());
        // A port that stays in Init whatever it is told must not keep the manager busy.
        let delay = if is_up {
            AGAIN * (1 << self.pending.failures.min(6))
        } else {
            Duration::ZERO
        };
        let now = now + delay;
        if is_up {
            self.note_error();
        }
        if self.database.own == Some(id) {
            self.pending.heavy_at(now);
            return;
        }
        let near = self.database.port(id).and_then(|port| port.peer);
        for end in [Some(id), near].into_iter().flatten() {
            if self
                .database
                .node(end.node)
                .is_some_and(|node| node.is_switch())
            {
                self.pending.switches.insert(end.node);
                self.pending.partial_at(now);
            }
        }
    }

    /// A block of a P_Key table.
    pub(super) fn on_pkeys(&mut self, id: PortId, block: u16, keys: &[PKey; BLOCK]) {
        let capacity = self.pkey_capacity(id);
        let Some(port) = self.database.port_mut(id) else {
            return;
        };
        let table = port.pkeys.get_or_insert_default();
        let start = usize::from(block) * BLOCK;
        table.resize(start, PKey::default());
        table.extend_from_slice(keys);
        table.truncate(capacity.max(1));
        while table.last().is_some_and(|key| !key.is_valid()) {
            table.pop();
        }
        let is_full = keys.iter().all(|key| key.is_valid());
        if is_full && start + BLOCK < capacity {
            self.smps.push(Job::PKeys(id, block + 1));
        }
    }

    /// P_Keys that fit into a port.
    pub(super) fn pkey_capacity(&self, id: PortId) -> usize {
        let Some(node) = self.database.node(id.node) else {
            return 0;
        };
        usize::from(match &node.switch {
            Some(switch) if id.port > 0 => switch.info.partition_enforcement_cap,
            _ => node.info.partition_cap,
        })
    }

    pub(super) fn on_description(&mut self, id: PortId, description: NodeDescription) {
        let Some(node) = self.database.node_mut(id.node) else {
            return;
        };
        let is_first = node.description == NodeDescription::default();
        node.description = description;
        let guid = node.info.node_guid;
        if is_first {
            self.tell(SmEvent::NodeFound { guid, description });
        }
    }

    /// A question of discovery was never answered.
    pub(super) fn not_read(&mut self, job: Job) {
        match job {
            Job::Probe(from) => self.not_there(from),
            Job::Describe(port) | Job::PortInfo(port) | Job::PKeys(port, _) => {
                self.set_broken(port.node);
            }
            Job::SwitchInfo(node) | Job::ClearChange(node) => self.set_broken(node),
            _ => {}
        }
    }

    fn set_broken(&mut self, id: NodeId) {
        if let Some(node) = self.database.node_mut(id) {
            node.broken = true;
        }
    }

    /// Nobody that can be talked to is at the other end.
    fn not_there(&mut self, from: Option<PortId>) {
        self.note_error();
        match from {
            Some(from) => self.link_gone(from),
            None => self.database.own = None,
        }
    }

    fn duplicate(&mut self, guid: Guid, from: Option<PortId>) {
        let behind = from.map(|from| self.name(from)).unwrap_or_default();
        self.tell(SmEvent::DuplicateGuid { guid, behind });
        if let Some(from) = from {
            self.link_gone(from);
        }
    }

    fn link_gone(&mut self, end: PortId) {
        let Some(peer) = self.database.disconnect(end) else {
            return;
        };
        self.tell_link(SmEvent::LinkGone, end, peer);
        self.change.any = true;
        if !self.is_heavy() && self.phase == Phase::Discover {
            self.take_other_ways();
        }
    }

    /// SMPs under way over a link that is gone would wait for their time-outs: they are sent again at
    /// once by routes that avoid it.
    fn take_other_ways(&mut self) {
        self.database.find_paths();
        let mut smps = core::mem::replace(
            &mut self.smps,
            super::Smps::new(self.config.retry, self.config.max_outstanding, 0),
        );
        // What there is no way to any more is given up when it is to be sent.
        smps.resend_if(|job, path| self.path_of(*job) != Some(*path));
        self.smps = smps;
    }

    /// Everything was read: forgets what is not there any more.
    pub(super) fn end_discovery(&mut self, now: Instant) {
        let own = self.database.own.map(|own| own.node);
        let broken: Vec<NodeId> = self
            .database
            .nodes()
            .filter(|(id, node)| node.broken && Some(*id) != own)
            .map(|(id, _)| id)
            .collect();
        for id in broken {
            self.note_error();
            self.remove_node(id);
        }
        for id in self.database.find_paths() {
            self.remove_node(id);
        }
        if !self.is_heavy() && self.sweep.as_ref().is_some_and(|sweep| sweep.errors > 0) {
            self.pending.heavy_at(now);
        }
    }

    /// Forgets a node: its ports leave their groups, its services and subscriptions end.
    fn remove_node(&mut self, id: NodeId) {
        let Some(node) = self.database.remove(id) else {
            return;
        };
        self.change.any = true;
        self.trees.forget_switch(id);
        for port in &node.ports {
            let Some(guid) = port.guid else { continue };
            let gone = self.sa.port_gone(guid);
            self.after_groups(gone);
            if port.in_service {
                let gid = Gid::from_prefix_guid(self.config.subnet_prefix, guid);
                self.tell_all(SmEvent::PortOutOfService(gid));
            }
        }
        self.tell(SmEvent::NodeGone {
            guid: node.info.node_guid,
            description: node.description,
        });
    }

    pub(super) fn forget_tables(&mut self, id: NodeId) {
        if let Some(node) = self.database.node_mut(id) {
            node.forget_tables();
            self.change.any = true;
        }
    }

    /// Node GUID and port, for people.
    pub(super) fn name(&self, id: PortId) -> (Guid, u8) {
        let guid = self.database.node(id.node).map(|node| node.info.node_guid);
        (guid.unwrap_or_default(), id.port)
    }

    fn tell_link(&mut self, event: fn((Guid, u8), (Guid, u8)) -> SmEvent, a: PortId, b: PortId) {
        let event = event(self.name(a), self.name(b));
        self.tell(event);
    }
}
