//! Writing the subnet: what each phase sets, the MADs for it, and what their answers mean.

use softib_wire::addr::{Gid, Lid, MKey, PKey, Vl};
use softib_wire::mad::node::SwitchInfo;
use softib_wire::mad::port_info::{MODIFIER_EXTENDED_SPEEDS, PortCapabilities, PortInfo};
use softib_wire::mad::smp::{DirectedSmp, HopPath};
use softib_wire::mad::tables::{
    LinearBlock, MulticastBlock, NO_PORT, SlToVl, multicast_modifier, pkey_modifier,
    sl_to_vl_modifier,
};
use softib_wire::mad::{attribute, method};
use softib_wire::time::Instant;
use softib_wire::units::{PhysState, PortState};

use super::database::{NodeId, PortId};
use super::graph::{Distances, SwitchGraph};
use super::multicast::{Ground, Member, positions};
use super::partitions::{self, BLOCK};
use super::routing::{self, Destination};
use super::smps::{Job, Step};
use super::sweep::{Change, Phase};
use super::{SmEvent, SubnetManager, links};

/// Entries of a block of a linear forwarding table.
const LINEAR_BLOCK: usize = 64;

impl SubnetManager {
    /// Computes everything that is to be, from what was discovered.
    pub(super) fn plan(&mut self) {
        let assigned = self.lids.assign(&mut self.database, self.config.lmc);
        for (port_guid, lid) in assigned.new {
            self.change.any = true;
            self.tell(SmEvent::LidAssigned { port_guid, lid });
        }
        for port_guid in assigned.refused {
            self.tell(SmEvent::OutOfLids { port_guid });
        }
        let capacity = self
            .database
            .switches()
            .map(|(.., switch)| switch.info.multicast_fdb_cap)
            .min();
        self.planned = true;
        let changes = self.sa.configure(&self.config, capacity);
        self.after_groups(changes);
        let change = core::mem::take(&mut self.change);
        if change.any {
            self.graph = SwitchGraph::new(&self.database);
            self.distances = Distances::new(&self.graph);
            self.rewrite_multicast();
            self.route_unicast(change);
        }
        self.update_trees(change.any);
    }

    fn route_unicast(&mut self, change: Change) {
        let top = self.database.top_lid();
        let mut destinations = Vec::new();
        for (id, port) in self.database.end_ports() {
            let at = if id.port == 0 {
                Some(id)
            } else {
                port.peer.filter(|_| self.database.link_is_up(id))
            };
            let switch = at.and_then(|at| self.graph.index(at.node));
            let (Some(at), Some(switch)) = (at, switch) else {
                continue;
            };
            let Ok(switch) = u32::try_from(switch) else {
                continue;
            };
            let lids = if id.port == 0 {
                1
            } else {
                1 << self.config.lmc
            };
            for lid in port.lid.bits()..port.lid.bits().saturating_add(lids) {
                if port.lid != Lid::NONE {
                    destinations.push(Destination {
                        lid,
                        switch,
                        port: at.port,
                    });
                }
            }
        }
        // Equal subnets have equal tables, in whatever order their nodes were met.
        destinations.sort_unstable_by_key(|destination| destination.lid);
        let database = &self.database;
        let graph = &self.graph;
        let tables = routing::tables(graph, &self.distances, &destinations, top, |switch| {
            if change.fabric_grew {
                return &[];
            }
            let node = database.node(graph.switches[switch]);
            let switch = node.and_then(|node| node.switch.as_ref());
            switch.map_or(&[], |switch| &switch.lft)
        });
        for (&id, table) in graph.switches.iter().zip(tables) {
            let Some(switch) = self
                .database
                .node_mut(id)
                .and_then(|node| node.switch.as_mut())
            else {
                continue;
            };
            for at in 0..table.len().div_ceil(LINEAR_BLOCK) {
                if linear_block(&switch.lft, at) != linear_block(&table, at)
                    || at * LINEAR_BLOCK >= switch.lft.len()
                {
                    switch.lft_dirty.extend(u16::try_from(at));
                }
            }
            let blocks = table.len().div_ceil(LINEAR_BLOCK);
            switch
                .lft_dirty
                .retain(|&block| usize::from(block) < blocks);
            switch.lft = table;
        }
    }

    /// Switches that nothing was written to yet, or that lost it, get all of their multicast tables.
    fn rewrite_multicast(&mut self) {
        for (id, node, switch) in self.database.switches() {
            if switch.lft.is_empty() {
                let positions = positions(node.info.port_count);
                self.trees.rewrite_switch(id, positions, switch.mft_stale);
            }
        }
    }

    /// Makes the trees follow their groups; all of them after a change of the subnet.
    pub(super) fn update_trees(&mut self, all: bool) {
        let mut touched = core::mem::take(&mut self.multicast.touched);
        self.multicast.batch = self.multicast.next_batch;
        self.multicast.next_batch += 1;
        if all {
            touched.extend(self.trees.indices());
            touched.extend(self.sa.mlid_indices());
        }
        let ground = Ground {
            database: &self.database,
            graph: &self.graph,
            distances: &self.distances,
        };
        for index in touched {
            let members: Vec<Member> = self
                .sa
                .members(index)
                .filter_map(|(guid, receives)| {
                    let port = self.database.by_port_guid(guid)?;
                    Some(Member { port, receives })
                })
                .collect();
            self.trees.update(index, &members, ground);
        }
    }

    /// What a phase sets.
    pub(super) fn push_writes(&mut self, phase: Phase) {
        match phase {
            Phase::Idle | Phase::Poll | Phase::Discover => {}
            Phase::ArmSwitches => {
                self.push_pkeys();
                self.push_sl_to_vl();
                self.push_ports(false, |state| match state {
                    PortState::Init => Some(Step::Arm),
                    _ => None,
                });
            }
            Phase::ActivateSwitches => self.push_activation(false),
            Phase::Tables => self.push_linear(),
            Phase::MulticastShrink => self.push_multicast(true),
            Phase::MulticastGrow => self.push_multicast(false),
            Phase::ArmHosts => self.push_ports(true, |state| match state {
                PortState::Init => Some(Step::Arm),
                _ => None,
            }),
            Phase::ActivateHosts => self.push_activation(true),
        }
    }

    /// Ports of links between switches, or of links of others. Port 0 of switches goes with the former.
    fn ports_of(&self, hosts: bool) -> impl Iterator<Item = PortId> + '_ {
        self.database.nodes().flat_map(move |(id, node)| {
            node.port_numbers()
                .map(move |port| PortId { node: id, port })
                .filter(move |&end| {
                    if node.is_switch() && end.port == 0 {
                        return !hosts;
                    }
                    let Some(peer) = self.database.port(end).and_then(|port| port.peer) else {
                        return false;
                    };
                    let beyond = self.database.node(peer.node);
                    let both_switches =
                        node.is_switch() && beyond.is_some_and(|node| node.is_switch());
                    both_switches != hosts
                })
        })
    }

    /// Parameters, together with a first change of state where one is due.
    fn push_ports(&mut self, hosts: bool, step: impl Fn(PortState) -> Option<Step>) {
        let mut jobs = Vec::new();
        for id in self.ports_of(hosts) {
            let Some(port) = self.database.port(id) else {
                continue;
            };
            let Some(info) = port.info.as_ref() else {
                continue;
            };
            let linked = self.database.link_is_up(id);
            let is_end_port = port.guid.is_some();
            if is_end_port && port.lid == Lid::NONE {
                continue;
            }
            if let Some(step) = step(info.port_state).filter(|_| linked) {
                jobs.push(Job::SetPort(id, step));
            } else if linked || id.port == 0 {
                let wanted = links::wanted(&self.database, &self.config, id);
                if wanted.is_some_and(|wanted| links::differs(info, &wanted, is_end_port)) {
                    jobs.push(Job::SetPort(id, Step::Parameters));
                }
            }
        }
        jobs.into_iter().for_each(|job| self.smps.push(job));
    }

    fn push_activation(&mut self, hosts: bool) {
        let mut jobs = Vec::new();
        for id in self.ports_of(hosts) {
            let Some(port) = self.database.port(id) else {
                continue;
            };
            let peer = port.peer.and_then(|peer| self.database.port(peer));
            let ready = |state| state >= PortState::Armed;
            match port.state() {
                PortState::Armed if peer.is_some_and(|peer| ready(peer.state())) => {
                    jobs.push(Job::SetPort(id, Step::Activate));
                }
                PortState::Active if port.reregister && self.can_reregister(id) => {
                    jobs.push(Job::SetPort(id, Step::Parameters));
                }
                _ => {}
            }
        }
        jobs.into_iter().for_each(|job| self.smps.push(job));
    }

    fn can_reregister(&self, id: PortId) -> bool {
        let info = self.database.port(id).and_then(|port| port.info.as_ref());
        id.port > 0
            && info.is_some_and(|info| {
                info.capability_mask
                    .contains(PortCapabilities::CLIENT_REREGISTRATION)
            })
    }

    /// What a switch is to have instead of `info`: multicast packets go by the table, all of it.
    const fn wanted_switch_info(&self, info: &SwitchInfo, top: u16) -> SwitchInfo {
        /// No port (IBA 14.2.5.4).
        const NOWHERE: u8 = 0xFF;
        SwitchInfo {
            linear_fdb_top: Lid::new(top),
            life_time: self.config.packet_life_time,
            default_multicast_primary_port: NOWHERE,
            default_multicast_not_primary_port: NOWHERE,
            multicast_fdb_top: Lid::NONE,
            ..*info
        }
    }

    fn push_linear(&mut self) {
        let top = self.database.top_lid();
        for (id, _, switch) in self.database.switches() {
            let info = &switch.info;
            if self.wanted_switch_info(info, top) != *info || info.port_state_change {
                self.smps.push(Job::SetSwitchInfo(id));
            }
        }
        for (id, _, switch) in self.database.switches() {
            for &block in &switch.lft_dirty {
                self.smps.push(Job::SetLinear(id, block));
            }
        }
    }

    fn push_multicast(&mut self, shrink: bool) {
        for (id, block, position) in self.trees.dirty() {
            if shrink && !self.trees.is_remade(block) {
                continue;
            }
            let Some(switch) = self
                .database
                .node(id)
                .and_then(|node| node.switch.as_deref())
            else {
                continue;
            };
            let takes_away = || {
                (block * 32..block * 32 + 32).any(|index| {
                    let is = switch.mft.get(&index).copied().unwrap_or_default();
                    let wanted = self.trees.row(index, id);
                    is.position(position) & !wanted.position(position) != 0
                })
            };
            if !shrink || takes_away() {
                self.smps
                    .push(Job::SetMulticast(id, block, position, shrink));
            }
        }
    }

    fn multicast_block(
        &self,
        id: NodeId,
        block: u16,
        position: u8,
        shrink: bool,
    ) -> MulticastBlock {
        let switch = self
            .database
            .node(id)
            .and_then(|node| node.switch.as_deref());
        let mut ports = [0; 32];
        for (index, ports) in (block * 32..).zip(&mut ports) {
            *ports = self.trees.row(index, id).position(position);
            if shrink {
                let is = switch.and_then(|switch| switch.mft.get(&index));
                *ports &= is.copied().unwrap_or_default().position(position);
            }
        }
        ports
    }

    pub(super) fn on_multicast_set(&mut self, id: NodeId, block: u16, position: u8, shrink: bool) {
        let written = self.multicast_block(id, block, position, shrink);
        let Some(switch) = self.database.switch_mut(id) else {
            return;
        };
        for (index, ports) in (block * 32..).zip(written) {
            if ports == 0 && !switch.mft.contains_key(&index) {
                continue;
            }
            let row = switch.mft.entry(index).or_default();
            row.set_position(position, ports);
            if row.is_empty() {
                switch.mft.remove(&index);
            }
        }
        if !shrink {
            self.trees.written(id, block, position);
        }
    }

    fn push_sl_to_vl(&mut self) {
        if !self.config.program_sl_to_vl {
            return;
        }
        for (id, node, switch) in self.database.switches() {
            if switch.sl_to_vl_written {
                continue;
            }
            for output in node.port_numbers().skip(1) {
                if !self.database.link_is_up(PortId {
                    node: id,
                    port: output,
                }) {
                    continue;
                }
                for input in node.port_numbers().filter(|&input| input != output) {
                    self.smps.push(Job::SetSlToVl(id, input, output));
                }
            }
        }
        let adapters: Vec<PortId> = self
            .database
            .end_ports()
            .filter(|(id, port)| id.port > 0 && port.state() == PortState::Init)
            .map(|(id, _)| id)
            .collect();
        for id in adapters {
            self.smps.push(Job::SetSlToVl(id.node, 0, id.port));
        }
    }

    fn push_pkeys(&mut self) {
        let mut jobs = Vec::new();
        let enforce = partitions::need_enforcement(&self.config.partitions);
        for (id, port) in self.database.end_ports() {
            let wanted = self.wanted_pkeys(id);
            let known = port.pkeys.as_deref();
            for block in partitions::changed_blocks(known, &wanted) {
                jobs.push(Job::SetPKeys(id, block));
            }
            // IBA 10.9.3: the switch in front of an adapter checks for it what it may send and receive.
            let Some(leaf) = port.peer.filter(|_| enforce && id.port > 0) else {
                continue;
            };
            let is_switch = self
                .database
                .node(leaf.node)
                .is_some_and(|node| node.is_switch());
            if is_switch && self.pkey_capacity(leaf) > 0 {
                let known = self
                    .database
                    .port(leaf)
                    .and_then(|port| port.pkeys.as_deref());
                for block in partitions::changed_blocks(known, &self.wanted_pkeys(leaf)) {
                    jobs.push(Job::SetPKeys(leaf, block));
                }
            }
        }
        jobs.into_iter().for_each(|job| self.smps.push(job));
    }

    /// The P_Key table that a port is to have; of a switch's external port the one of the adapter
    /// behind it.
    fn wanted_pkeys(&self, id: PortId) -> Vec<PKey> {
        let capacity = self.pkey_capacity(id);
        let Some(port) = self.database.port(id) else {
            return Vec::new();
        };
        let known = port.pkeys.as_deref().unwrap_or(&[]);
        let end = if port.guid.is_some() {
            Some(id)
        } else {
            port.peer
        };
        let keys = end.map_or_else(Vec::new, |end| {
            let port_guid = self.database.port(end).and_then(|port| port.guid);
            partitions::wanted(
                &self.config.partitions,
                port_guid.unwrap_or_default(),
                self.name(end).0,
                self.database.own == Some(end),
            )
        });
        partitions::arrange(known, &keys, capacity)
    }

    pub(super) fn on_pkeys_set(&mut self, id: PortId, block: u16) {
        let wanted = self.wanted_pkeys(id);
        let start = usize::from(block) * BLOCK;
        let keys = partitions::block(&wanted, usize::from(block));
        let Some(port) = self.database.port_mut(id) else {
            return;
        };
        let table = port.pkeys.get_or_insert_default();
        table.resize(table.len().max(start + BLOCK), Default::default());
        table[start..start + BLOCK].copy_from_slice(&keys);
        while table.last().is_some_and(|key| !key.is_valid()) {
            table.pop();
        }
    }

    /// The answer to a Set(PortInfo).
    pub(super) fn on_port_set(&mut self, now: Instant, id: PortId, step: Step, mut info: PortInfo) {
        let clears = step != Step::Arm && self.can_reregister(id);
        let Some(port) = self.database.port_mut(id) else {
            return;
        };
        let Some(old) = port.info.as_ref() else {
            return;
        };
        // Some agents send back what they were asked for instead of what is.
        if info.port_state == PortState::NoChange {
            info.port_state = old.port_state;
        }
        if info.phys_state == PhysState::NoChange {
            info.phys_state = old.phys_state;
        }
        if info.link_width_enabled == 0 {
            info.link_width_enabled = old.link_width_enabled;
        }
        if info.link_speed_enabled == 0 {
            info.link_speed_enabled = old.link_speed_enabled;
        }
        info.client_reregister = false;
        if clears {
            port.reregister = false;
        }
        let guid = port
            .guid
            .filter(|_| id.port > 0 && info.port_state == PortState::Active && !port.in_service);
        port.in_service |= guid.is_some();
        self.on_port_info(now, id, info);
        if let Some(guid) = guid {
            let gid = Gid::from_prefix_guid(self.config.subnet_prefix, guid);
            self.tell_all(SmEvent::PortInService(gid));
        }
    }

    /// The MAD of a job, and its route. `None`: there is no point in it any more.
    pub(super) fn request(&self, job: Job, transaction_id: u64) -> Option<(DirectedSmp, HopPath)> {
        let path = self.path_of(job)?;
        let database = &self.database;
        let get = |modifier| {
            DirectedSmp::request(
                method::GET,
                Self::attribute_of(job),
                modifier,
                transaction_id,
                MKey::NONE,
                &path,
            )
        };
        let set = |modifier| DirectedSmp {
            method: method::SET,
            ..get(modifier)
        };
        let port_modifier = |port: u8| MODIFIER_EXTENDED_SPEEDS | u32::from(port);
        let smp = match job {
            Job::Probe(from) => {
                let known = from.and_then(|from| database.port(from));
                let pointless = known.is_some_and(|port| {
                    !port.is_up() || port.confirmed == self.sweep_number() && port.peer.is_some()
                });
                if pointless {
                    return None;
                }
                get(0)
            }
            Job::Describe(_) | Job::SwitchInfo(_) | Job::SmInfo(_) => get(0),
            Job::PortInfo(id) => get(port_modifier(id.port)),
            Job::PKeys(id, block) => get(pkey_modifier(self.table_port(id), block)),
            Job::ClearChange(id) => {
                let mut info = database.node(id)?.switch.as_ref()?.info;
                info.port_state_change = true;
                set(0).with(&info)
            }
            Job::SetSwitchInfo(id) => {
                let info = &database.node(id)?.switch.as_ref()?.info;
                // A flag that the first sweep found is cleared by the way: then this manager was not
                // master yet.
                set(0).with(&self.wanted_switch_info(info, database.top_lid()))
            }
            Job::SetPort(id, step) => {
                let mut info = links::wanted(database, &self.config, id)?;
                info.port_state = match step {
                    Step::Parameters => PortState::NoChange,
                    Step::Arm => PortState::Armed,
                    Step::Activate => PortState::Active,
                };
                info.client_reregister =
                    step != Step::Arm && database.port(id)?.reregister && self.can_reregister(id);
                set(port_modifier(id.port)).with(&info)
            }
            Job::SetPKeys(id, block) => {
                let keys = partitions::block(&self.wanted_pkeys(id), usize::from(block));
                set(pkey_modifier(self.table_port(id), block)).with(&keys)
            }
            Job::SetSlToVl(_, input, output) => {
                let is_switch = database.node(job_node(job)?)?.is_switch();
                let modifier = if is_switch {
                    sl_to_vl_modifier(input, output)
                } else {
                    0
                };
                let end = PortId {
                    node: job_node(job)?,
                    port: output,
                };
                let lanes = links::wanted(database, &self.config, end)?.operational_vls;
                set(modifier).with(&sl_to_vl(lanes))
            }
            Job::SetLinear(id, block) => {
                let switch = database.node(id)?.switch.as_ref()?;
                let entries: LinearBlock = linear_block(&switch.lft, usize::from(block));
                set(u32::from(block)).with(&entries)
            }
            Job::SetMulticast(id, block, position, shrink) => {
                let ports = self.multicast_block(id, block, position, shrink);
                set(multicast_modifier(position, block)).with(&ports)
            }
            Job::SetSmInfo(_, control) => set(control).with(&self.sm_info()),
        };
        Some((smp, path))
    }

    /// In table modifiers the port counts only of switches.
    fn table_port(&self, id: PortId) -> u8 {
        let is_switch = self
            .database
            .node(id.node)
            .is_some_and(|node| node.is_switch());
        if is_switch { id.port } else { 0 }
    }

    pub(super) fn probe_path(&self, from: Option<PortId>) -> Option<HopPath> {
        match from {
            None => Some(HopPath::LOCAL),
            Some(from) => self.database.path_to(from)?.then(from.port),
        }
    }

    pub(super) fn path_of(&self, job: Job) -> Option<HopPath> {
        match job {
            Job::Probe(from) => self.probe_path(from),
            Job::SetSlToVl(node, _, output) => self
                .database
                .path_to(PortId { node, port: output })
                .copied(),
            _ => {
                let id =
                    job_port(job).or_else(|| job_node(job).map(|node| PortId { node, port: 0 }))?;
                self.database.path_to(id).copied()
            }
        }
    }

    pub(super) fn node_of(&self, job: Job) -> Option<NodeId> {
        job_node(job).or_else(|| job_port(job).map(|port| port.node))
    }

    pub(super) const fn attribute_of(job: Job) -> u16 {
        match job {
            Job::Probe(_) => attribute::NODE_INFO,
            Job::Describe(_) => attribute::NODE_DESCRIPTION,
            Job::SwitchInfo(_) | Job::ClearChange(_) | Job::SetSwitchInfo(_) => {
                attribute::SWITCH_INFO
            }
            Job::PortInfo(_) | Job::SetPort(..) => attribute::PORT_INFO,
            Job::PKeys(..) | Job::SetPKeys(..) => attribute::PKEY_TABLE,
            Job::SmInfo(_) | Job::SetSmInfo(..) => attribute::SM_INFO,
            Job::SetSlToVl(..) => attribute::SL_TO_VL,
            Job::SetLinear(..) => attribute::LINEAR_FDB,
            Job::SetMulticast(..) => attribute::MULTICAST_FDB,
        }
    }
}

const fn job_port(job: Job) -> Option<PortId> {
    match job {
        Job::Probe(from) => from,
        Job::Describe(id)
        | Job::PortInfo(id)
        | Job::PKeys(id, _)
        | Job::SmInfo(id)
        | Job::SetPort(id, _)
        | Job::SetPKeys(id, _)
        | Job::SetSmInfo(id, _) => Some(id),
        _ => None,
    }
}

const fn job_node(job: Job) -> Option<NodeId> {
    match job {
        Job::SwitchInfo(id)
        | Job::ClearChange(id)
        | Job::SetSwitchInfo(id)
        | Job::SetSlToVl(id, ..)
        | Job::SetLinear(id, _)
        | Job::SetMulticast(id, ..) => Some(id),
        _ => None,
    }
}

fn linear_block(table: &[u8], at: usize) -> LinearBlock {
    core::array::from_fn(|i| table.get(at * LINEAR_BLOCK + i).copied().unwrap_or(NO_PORT))
}

/// Identity, folded onto the VLs that there are.
fn sl_to_vl(operational_vls: u8) -> SlToVl {
    let lanes: u8 = match operational_vls {
        2 => 2,
        3 => 4,
        4 => 8,
        5 => 15,
        _ => 1,
    };
    let mut sl = 0u8..16;
    core::array::from_fn(|_| Vl::from_bits_truncate(sl.next().unwrap_or(0) % lanes))
}
