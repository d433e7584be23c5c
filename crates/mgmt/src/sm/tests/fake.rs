//! A subnet of agents and tables, without packets: SMPs go where their route says, by links that are
//! up, and are answered. Forwarding tables can be followed as packets would.

use std::collections::{BTreeMap, BTreeSet};

use softib_wire::addr::{Gid, Guid, Lid, PKey, Qpn, Sl};
use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::notice::details::LinkStateDetails;
use softib_wire::mad::notice::{Details, Notice, ProducerType};
use softib_wire::mad::port_info::{PortCapabilities, PortInfo};
use softib_wire::mad::sa::SaMad;
use softib_wire::mad::sm_info::SmInfo;
use softib_wire::mad::smp::{DirectedSmp, LidSmp};
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::tables::{
    LinearBlock, MulticastBlock, NO_PORT, PKeyBlock, split_multicast_modifier, split_pkey_modifier,
};
use softib_wire::mad::{class, method};
use softib_wire::time::{Duration, Instant};
use softib_wire::units::{Mtu, NodeType, PhysState, PortState};

use crate::mad::{Endpoint, Mad};
use crate::sm::{Route, SmConfig, SmEvent, SmIncoming, SmOutgoing, SubnetManager};

/// A node and what was written to it.
#[derive(Debug, Clone)]
pub(crate) struct FakeNode {
    pub(crate) info: NodeInfo,
    pub(crate) name: String,
    pub(crate) switch: SwitchInfo,
    pub(crate) ports: Vec<PortInfo>,
    pub(crate) pkeys: BTreeMap<u8, Vec<PKey>>,
    pub(crate) lft: Vec<u8>,
    /// By MLID less 0xC000 and position.
    pub(crate) mft: BTreeMap<(u16, u8), u16>,
    /// Ports whose clients were told to register again, in order.
    pub(crate) reregistered: Vec<u8>,
    pub(crate) sm_info: Option<SmInfo>,
    /// It stopped to answer.
    pub(crate) dead: bool,
}

/// Nodes and cables.
#[derive(Debug, Default)]
pub(crate) struct Fabric {
    pub(crate) nodes: Vec<FakeNode>,
    pub(crate) cables: BTreeMap<(usize, u8), (usize, u8)>,
    pub(crate) down: BTreeSet<(usize, u8)>,
    /// Sets by attribute.
    pub(crate) sets: BTreeMap<u16, u64>,
}

impl Fabric {
    pub(crate) fn host(&mut self, ports: u8) -> usize {
        let guid = 0x100_0000 + 16 * self.nodes.len() as u64;
        self.node(NodeType::ChannelAdapter, guid, ports)
    }

    pub(crate) fn switch(&mut self, ports: u8) -> usize {
        let guid = 0x200_0000 + 16 * self.nodes.len() as u64;
        self.node(NodeType::Switch, guid, ports)
    }

    fn node(&mut self, node_type: NodeType, guid: u64, ports: u8) -> usize {
        let is_switch = node_type == NodeType::Switch;
        let index = self.nodes.len();
        self.nodes.push(FakeNode {
            info: NodeInfo {
                base_version: 1,
                class_version: 1,
                node_type,
                port_count: ports,
                system_image_guid: Guid::new(guid),
                node_guid: Guid::new(guid),
                port_guid: Guid::new(guid),
                partition_cap: 64,
                device_id: 1,
                revision: 0,
                local_port: 0,
                vendor_id: 2,
            },
            name: format!("{}{index}", if is_switch { "s" } else { "h" }),
            switch: SwitchInfo {
                linear_fdb_cap: 0xBFFF,
                multicast_fdb_cap: 1024,
                partition_enforcement_cap: 32,
                inbound_enforcement_cap: true,
                outbound_enforcement_cap: true,
                ..SwitchInfo::default()
            },
            ports: (0..=ports)
                .map(|port| port_info(is_switch && port == 0))
                .collect(),
            pkeys: (0..=ports)
                .map(|port| (port, vec![PKey::DEFAULT_FULL]))
                .collect(),
            lft: vec![NO_PORT; 0xC000],
            mft: BTreeMap::new(),
            reregistered: Vec::new(),
            sm_info: None,
            dead: false,
        });
        index
    }

    pub(crate) fn guid(&self, node: usize, port: u8) -> Guid {
        let node = &self.nodes[node];
        if node.info.node_type == NodeType::Switch {
            node.info.node_guid
        } else {
            Guid::new(node.info.node_guid.bits() + u64::from(port))
        }
    }

    pub(crate) fn gid(&self, node: usize, port: u8) -> Gid {
        Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, self.guid(node, port))
    }

    pub(crate) fn lid(&self, node: usize) -> Lid {
        let node = &self.nodes[node];
        let port = usize::from(node.info.node_type != NodeType::Switch);
        node.ports[port].lid
    }

    pub(crate) fn cable(&mut self, a: (usize, u8), b: (usize, u8)) {
        self.cables.insert(a, b);
        self.cables.insert(b, a);
        self.set_link(a, true);
    }

    /// Next free port of a node.
    pub(crate) fn free_port(&self, node: usize) -> u8 {
        (1..=self.nodes[node].info.port_count)
            .find(|&port| !self.cables.contains_key(&(node, port)))
            .expect("a free port")
    }

    pub(crate) fn connect(&mut self, a: usize, b: usize) -> (usize, u8) {
        let a = (a, self.free_port(a));
        self.cables.insert(a, a);
        let b = (b, self.free_port(b));
        self.cable(a, b);
        a
    }

    /// The switches whose ports change, that would send a trap.
    pub(crate) fn set_link(&mut self, end: (usize, u8), up: bool) -> Vec<usize> {
        let peer = self.cables[&end];
        let mut changed = Vec::new();
        for end in [end, peer] {
            let node = &mut self.nodes[end.0];
            let port = &mut node.ports[usize::from(end.1)];
            (port.port_state, port.phys_state) = if up {
                self.down.remove(&end);
                (PortState::Init, PhysState::LinkUp)
            } else {
                self.down.insert(end);
                (PortState::Down, PhysState::Polling)
            };
            if node.info.node_type == NodeType::Switch {
                node.switch.port_state_change = true;
                if node.dead {
                    continue;
                }
                changed.push(end.0);
            }
        }
        changed
    }

    pub(crate) fn peer(&self, end: (usize, u8)) -> Option<(usize, u8)> {
        let up = !self.down.contains(&end);
        self.cables.get(&end).copied().filter(|_| up)
    }

    /// Where a directed route ends, and the port come in by.
    fn walk(&self, from: (usize, u8), smp: &DirectedSmp) -> Option<(usize, u8)> {
        let mut at = from;
        let hops = smp.initial_path.get(1..=usize::from(smp.hop_count))?;
        for (hop, &port) in hops.iter().enumerate() {
            let is_switch = self.nodes[at.0].info.node_type == NodeType::Switch;
            if !is_switch && (hop > 0 || port != from.1) {
                return None;
            }
            at = self.peer((at.0, port))?;
            if self.nodes[at.0].dead {
                return None;
            }
        }
        Some(at)
    }

    /// The answer to an SMP from this port.
    pub(crate) fn answer(&mut self, from: (usize, u8), smp: &DirectedSmp) -> Option<DirectedSmp> {
        let at = self.walk(from, smp)?;
        if smp.method == method::SET {
            *self.sets.entry(smp.attribute_id).or_default() += 1;
        }
        let port_guid = self.guid(at.0, at.1);
        let node = &mut self.nodes[at.0];
        if node.dead {
            return None;
        }
        Some(
            node.serve(at.1, port_guid, smp)
                .unwrap_or_else(|status| smp.response_to(status)),
        )
    }

    /// Follows the linear tables from a host's port. The nodes passed, or what is wrong.
    pub(crate) fn follow(&self, from: (usize, u8), dlid: Lid) -> Result<Vec<usize>, String> {
        let is_switch = |node: usize| self.nodes[node].info.node_type == NodeType::Switch;
        let mut passed = vec![from.0];
        let mut at = from;
        if !is_switch(from.0) {
            if self.nodes[from.0].ports[usize::from(from.1)].lid == dlid {
                return Ok(passed);
            }
            at = self.peer(from).ok_or("no link")?;
            passed.push(at.0);
        }
        for _ in 0..64 {
            let node = &self.nodes[at.0];
            if !is_switch(at.0) {
                let port = &node.ports[usize::from(at.1)];
                return if port.lid == dlid && port.port_state == PortState::Active {
                    Ok(passed)
                } else {
                    Err(format!("{} is not {dlid}", node.name))
                };
            }
            let out = node.lft[usize::from(dlid.bits())];
            if dlid.bits() > node.switch.linear_fdb_top.bits() || out == NO_PORT {
                return Err(format!("{} has no way to {dlid}", node.name));
            }
            if out == 0 {
                return Ok(passed);
            }
            if node.ports[usize::from(out)].port_state != PortState::Active {
                return Err(format!("{} port {out} is not active", node.name));
            }
            at = self
                .peer((at.0, out))
                .ok_or_else(|| format!("{} port {out} leads nowhere", node.name))?;
            passed.push(at.0);
        }
        Err(format!("{dlid}: loop by way of {passed:?}"))
    }

    /// Sends a multicast packet from a host's port: how many copies each host gets.
    pub(crate) fn flood(&self, from: usize, mlid: Lid) -> BTreeMap<usize, u32> {
        let index = mlid.bits() - 0xC000;
        let mut copies = BTreeMap::new();
        let mut flying = vec![self.peer((from, 1)).expect("a link")];
        let mut budget = 100_000;
        while let Some(at) = flying.pop() {
            budget -= 1;
            assert!(budget > 0, "the packets multiply: a loop");
            let node = &self.nodes[at.0];
            if node.info.node_type != NodeType::Switch {
                *copies.entry(at.0).or_default() += 1;
                continue;
            }
            for position in 0..16 {
                let mask = node.mft.get(&(index, position)).copied().unwrap_or(0);
                for bit in (0..16).filter(|bit| mask >> bit & 1 != 0) {
                    let port = position * 16 + bit;
                    if port != at.1 && port != 0 {
                        flying.extend(self.peer((at.0, port)));
                    }
                }
            }
        }
        copies
    }
}

impl FakeNode {
    fn serve(
        &mut self,
        arrival: u8,
        port_guid: Guid,
        smp: &DirectedSmp,
    ) -> Result<DirectedSmp, MadStatus> {
        let ok = smp.response_to(MadStatus::OK);
        let is_set = smp.method == method::SET;
        let is_switch = self.info.node_type == NodeType::Switch;
        let modifier = smp.attribute_modifier;
        fn read<A: Attribute>(smp: &DirectedSmp) -> Result<A, MadStatus> {
            smp.attribute().map_err(|_| MadStatus::BAD_FIELD)
        }
        Ok(match smp.attribute_id {
            attribute::NODE_INFO => ok.with(&NodeInfo {
                local_port: arrival,
                port_guid,
                ..self.info
            }),
            attribute::NODE_DESCRIPTION => ok.with(&NodeDescription::from(self.name.as_str())),
            attribute::SWITCH_INFO if is_switch => {
                if is_set {
                    let wanted: SwitchInfo = read(smp)?;
                    self.switch = SwitchInfo {
                        linear_fdb_top: wanted.linear_fdb_top,
                        life_time: wanted.life_time,
                        default_multicast_primary_port: wanted.default_multicast_primary_port,
                        default_multicast_not_primary_port: wanted
                            .default_multicast_not_primary_port,
                        multicast_fdb_top: wanted.multicast_fdb_top,
                        ..self.switch
                    };
                    if wanted.port_state_change {
                        self.switch.port_state_change = false;
                    }
                }
                ok.with(&self.switch)
            }
            attribute::PORT_INFO => {
                let number = u8::try_from(modifier & 0xFF).unwrap();
                let number = if is_switch || number != 0 {
                    number
                } else {
                    arrival
                };
                if number > self.info.port_count || !is_switch && number != arrival {
                    return Err(MadStatus::BAD_FIELD);
                }
                if is_set {
                    self.set_port(number, &read(smp)?)?;
                }
                let mut info = self.ports[usize::from(number)];
                info.local_port = arrival;
                ok.with(&info)
            }
            attribute::PKEY_TABLE => {
                let (port, block) = split_pkey_modifier(modifier);
                let port = if is_switch { port } else { arrival };
                let table = self.pkeys.entry(port).or_default();
                let start = usize::from(block) * 32;
                table.resize(table.len().max(start + 32), PKey::default());
                if is_set {
                    table[start..start + 32].copy_from_slice(&read::<PKeyBlock>(smp)?);
                }
                let mut keys = [PKey::default(); 32];
                keys.copy_from_slice(&table[start..start + 32]);
                ok.with(&keys)
            }
            attribute::LINEAR_FDB if is_switch && is_set => {
                let start = usize::try_from(modifier).unwrap() * 64;
                self.lft[start..start + 64].copy_from_slice(&read::<LinearBlock>(smp)?);
                ok
            }
            attribute::MULTICAST_FDB if is_switch && is_set => {
                let (position, block) = split_multicast_modifier(modifier);
                for (index, mask) in (block * 32..).zip(read::<MulticastBlock>(smp)?) {
                    self.mft.insert((index, position), mask);
                }
                ok
            }
            attribute::SM_INFO if self.sm_info.is_some() => ok.with(&self.sm_info.unwrap()),
            _ => return Err(MadStatus::BAD_METHOD_ATTRIBUTE),
        })
    }

    fn set_port(&mut self, number: u8, wanted: &PortInfo) -> Result<(), MadStatus> {
        let is_end = self.info.node_type != NodeType::Switch || number == 0;
        let has = &mut self.ports[usize::from(number)];
        has.port_state = match (has.port_state, wanted.port_state) {
            (state, PortState::NoChange) => state,
            (PortState::Init, PortState::Armed) => PortState::Armed,
            (PortState::Armed, PortState::Active) => PortState::Active,
            _ => return Err(MadStatus::BAD_FIELD),
        };
        assert!(wanted.neighbor_mtu <= has.mtu_cap && wanted.neighbor_mtu.is_some());
        has.neighbor_mtu = wanted.neighbor_mtu;
        has.operational_vls = wanted.operational_vls;
        has.hoq_life = wanted.hoq_life;
        has.vl_stall_count = wanted.vl_stall_count;
        has.local_phy_errors = wanted.local_phy_errors;
        has.overrun_errors = wanted.overrun_errors;
        has.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
        has.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
        if is_end {
            has.lid = wanted.lid;
            has.lmc = wanted.lmc;
            has.master_sm_lid = wanted.master_sm_lid;
            has.gid_prefix = wanted.gid_prefix;
            has.subnet_timeout = wanted.subnet_timeout;
            if wanted.client_reregister {
                self.reregistered.push(number);
            }
        }
        Ok(())
    }
}

fn port_info(is_port0: bool) -> PortInfo {
    let mut info = PortInfo::parse(&[0; 64]).unwrap();
    info.capability_mask = PortCapabilities::CLIENT_REREGISTRATION;
    info.gid_prefix = Gid::DEFAULT_PREFIX;
    info.port_state = if is_port0 {
        PortState::Active
    } else {
        PortState::Down
    };
    info.phys_state = if is_port0 {
        PhysState::LinkUp
    } else {
        PhysState::Polling
    };
    info.mtu_cap = Some(Mtu::B4096);
    info.neighbor_mtu = Some(Mtu::B2048);
    info.vl_cap = 4;
    info.link_width_active = 2;
    info.link_speed_active = 4;
    info.link_speed_ext_active = 2;
    info
}

/// A subnet and its manager, in virtual time.
#[derive(Debug)]
pub(crate) struct Lab {
    pub(crate) fabric: Fabric,
    pub(crate) manager: SubnetManager,
    /// The port that the manager runs at.
    pub(crate) at: (usize, u8),
    pub(crate) now: Instant,
    pub(crate) events: Vec<SmEvent>,
    /// MADs that the manager sent by LID.
    pub(crate) sent: Vec<(Endpoint, Mad)>,
    /// SMPs on their way: when their answer is there.
    flying: BTreeMap<(Instant, u64), DirectedSmp>,
    pub(crate) smps: u64,
    /// Of 1,000 SMPs so many are lost.
    pub(crate) loss: u32,
    pub(crate) rng: fastrand::Rng,
}

/// Time that an SMP and its answer take.
const ROUND_TRIP: Duration = Duration::from_micros(10);

impl Lab {
    pub(crate) fn new(fabric: Fabric, at: usize) -> Self {
        Self::with(fabric, at, |_| {})
    }

    pub(crate) fn with(fabric: Fabric, at: usize, change: impl FnOnce(&mut SmConfig)) -> Self {
        let port = u8::from(fabric.nodes[at].info.node_type != NodeType::Switch);
        let mut config = SmConfig::new(fabric.guid(at, port));
        change(&mut config);
        Self {
            manager: SubnetManager::new(config).unwrap(),
            fabric,
            at: (at, port),
            now: Instant::ZERO,
            events: Vec::new(),
            sent: Vec::new(),
            flying: BTreeMap::new(),
            smps: 0,
            loss: 0,
            rng: fastrand::Rng::with_seed(7),
        }
    }

    /// A lab whose first sweep is done.
    pub(crate) fn up(fabric: Fabric, at: usize) -> Self {
        let mut lab = Self::new(fabric, at);
        lab.settle();
        lab
    }

    /// Runs until the manager has nothing left to do.
    pub(crate) fn settle(&mut self) {
        let limit = self.now + Duration::from_secs(60);
        while !self.manager.is_settled() || !self.flying.is_empty() {
            assert!(
                self.now < limit,
                "the manager does not come to rest: {:?}",
                self.events
            );
            self.step();
        }
        self.pump();
    }

    /// Runs for a time.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        self.pump();
        while self.next().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = until;
    }

    fn next(&self) -> Option<Instant> {
        let flying = self.flying.first_key_value().map(|(&(at, _), _)| at);
        flying.into_iter().chain(self.manager.poll_timeout()).min()
    }

    /// Goes on to the next thing that happens.
    pub(crate) fn step(&mut self) {
        self.pump();
        let Some(next) = self.next() else { return };
        self.now = self.now.max(next);
        let first = self.flying.first_key_value().map(|(&key, _)| key);
        if let Some(key) = first.filter(|&(at, _)| at <= self.now) {
            let smp = self.flying.remove(&key).unwrap();
            if let Some(answer) = self.fabric.answer(self.at, &smp) {
                self.deliver(
                    Endpoint::smi(Lid::PERMISSIVE, Sl::default()),
                    &answer.to_bytes(),
                );
            }
        } else {
            self.manager.handle_timeout(self.now);
        }
        self.pump();
    }

    pub(crate) fn deliver(&mut self, from: Endpoint, mad: &Mad) {
        self.manager.handle_mad(self.now, SmIncoming { from, mad });
    }

    pub(crate) fn pump(&mut self) {
        while let Some(SmOutgoing { route, mad }) = self.manager.poll_transmit(self.now) {
            match route {
                Route::Lid(to) => self.sent.push((to, mad)),
                Route::Directed => {
                    let smp = DirectedSmp::parse(&mad).unwrap();
                    assert_eq!(smp.class, class::SUBN_DIRECTED);
                    if smp.returning {
                        self.sent
                            .push((Endpoint::smi(Lid::PERMISSIVE, Sl::default()), mad));
                        continue;
                    }
                    self.smps += 1;
                    if self.rng.u32(..1000) >= self.loss {
                        self.flying.insert((self.now + ROUND_TRIP, self.smps), smp);
                    }
                }
            }
        }
        while let Some(event) = self.manager.poll_event() {
            self.events.push(event);
        }
    }

    /// Trap 128 of a switch.
    pub(crate) fn trap(&mut self, switch: usize) {
        let lid = self.fabric.lid(switch);
        let details = Details::LinkStateChange(LinkStateDetails { lid });
        let notice = Notice::new(&details, ProducerType::SWITCH, lid);
        let trap = LidSmp::request(
            method::TRAP,
            attribute::NOTICE,
            0,
            77,
            softib_wire::addr::MKey::NONE,
        )
        .with(&notice);
        self.deliver(Endpoint::smi(lid, Sl::default()), &trap.to_bytes());
        self.pump();
    }

    /// Changes a link, and lets the switches at it send their traps.
    pub(crate) fn set_link(&mut self, end: (usize, u8), up: bool) {
        for switch in self.fabric.set_link(end, up) {
            self.trap(switch);
        }
    }

    /// Asks the administrator, from a host's first port, and gives the answer when it is there.
    pub(crate) fn ask(&mut self, host: usize, request: &SaMad) -> SaMad {
        let from = Endpoint {
            qpn: Qpn::GSI,
            ..Endpoint::gsi(self.fabric.lid(host), Sl::default())
        };
        self.sent.clear();
        self.deliver(from, &request.to_bytes());
        let limit = self.now + Duration::from_secs(1);
        loop {
            self.pump();
            let answer = self.sent.iter().find(|(to, mad)| {
                to.same_peer(&from) && mad[8..16] == request.header.transaction_id.to_be_bytes()
            });
            if let Some((_, mad)) = answer {
                return SaMad::parse(mad).unwrap();
            }
            assert!(self.now < limit, "no answer");
            self.step();
        }
    }

    /// All hosts reach all ports, by tables that are in the switches.
    pub(crate) fn assert_connected(&self) {
        let reachable = self.reachable();
        for &from in &reachable {
            if self.fabric.nodes[from].info.node_type == NodeType::Switch {
                continue;
            }
            for &to in &reachable {
                let lid = self.fabric.lid(to);
                assert_ne!(lid, Lid::NONE, "{} has no LID", self.fabric.nodes[to].name);
                if let Err(what) = self.fabric.follow((from, 1), lid) {
                    panic!("from {from} to {to}: {what}");
                }
            }
        }
    }

    /// Nodes with a physical way to the manager.
    pub(crate) fn reachable(&self) -> Vec<usize> {
        let mut seen = BTreeSet::from([self.at.0]);
        let mut queue = vec![self.at.0];
        while let Some(node) = queue.pop() {
            let is_switch = self.fabric.nodes[node].info.node_type == NodeType::Switch;
            if !is_switch && node != self.at.0 {
                continue;
            }
            for port in 1..=self.fabric.nodes[node].info.port_count {
                if let Some((peer, _)) = self.fabric.peer((node, port))
                    && !self.fabric.nodes[peer].dead
                    && seen.insert(peer)
                {
                    queue.push(peer);
                }
            }
        }
        seen.into_iter().collect()
    }
}

/// Hosts behind leaves, all leaves at all spines. Hosts come first.
pub(crate) fn two_levels(leaves: usize, hosts: usize, spines: usize) -> Fabric {
    let mut fabric = Fabric::default();
    let all: Vec<usize> = (0..leaves * hosts).map(|_| fabric.host(1)).collect();
    let ports = u8::try_from(hosts + spines).unwrap();
    let leaf: Vec<usize> = (0..leaves).map(|_| fabric.switch(ports)).collect();
    for (i, host) in all.iter().enumerate() {
        fabric.connect(leaf[i / hosts], *host);
    }
    let ports = u8::try_from(leaves).unwrap();
    let spine: Vec<usize> = (0..spines).map(|_| fabric.switch(ports)).collect();
    for &leaf in &leaf {
        for &spine in &spine {
            fabric.connect(leaf, spine);
        }
    }
    fabric
}

/// A folded Clos network of switches with `k` ports, of `pods` pods. Hosts come first.
pub(crate) fn three_levels(k: usize, pods: usize) -> Fabric {
    let h = k / 2;
    let ports = u8::try_from(k).unwrap();
    let mut fabric = Fabric::default();
    let hosts: Vec<usize> = (0..pods * h * h).map(|_| fabric.host(1)).collect();
    let cores: Vec<usize> = (0..h * h)
        .map(|_| fabric.switch(u8::try_from(pods).unwrap()))
        .collect();
    for pod in 0..pods {
        let leaves: Vec<usize> = (0..h).map(|_| fabric.switch(ports)).collect();
        let aggs: Vec<usize> = (0..h).map(|_| fabric.switch(ports)).collect();
        for (x, &leaf) in leaves.iter().enumerate() {
            for host in 0..h {
                fabric.connect(leaf, hosts[(pod * h + x) * h + host]);
            }
            for &agg in &aggs {
                fabric.connect(leaf, agg);
            }
        }
        for (y, &agg) in aggs.iter().enumerate() {
            for core in &cores[y * h..(y + 1) * h] {
                fabric.connect(agg, *core);
            }
        }
    }
    fabric
}
