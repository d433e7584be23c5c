//! A switch: relays packets between its ports by its tables (IBA 18.2).
//!
//! In: [`Switch::handle_frame`], [`handle_link`](Switch::handle_link),
//! [`handle_ready`](Switch::handle_ready), [`send_management`](Switch::send_management). Out:
//! [`poll_transmit`](Switch::poll_transmit), [`poll_management`](Switch::poll_management),
//! [`poll_event`](Switch::poll_event). A frame that is relayed is a handle moved from one queue to
//! another; a multicast packet's copies share their octets.

mod relay;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use softib_wire::addr::{Guid, Lid, Psn, Vl};
use softib_wire::error::InvalidField;
use softib_wire::mad::node::SwitchInfo;
use softib_wire::mad::tables::{SlToVl, VlArbBlock};
use softib_wire::time::Instant;

pub use tables::{LinearTable, MulticastTable, PortSet};

use crate::drop::DropReason;
use crate::event::{NodeEvent, VlMask};
use crate::frame::Frame;
use crate::management::ManagementFrame;
use crate::port::output::Output;
use crate::port::{Port, PortConfig, Role};

/// What a switch is made with.
#[derive(Debug, Clone)]
pub struct SwitchConfig {
    /// GUID of the node, and of its port 0.
    pub node_guid: Guid,
    /// GUID of the system that it is part of.
    pub system_image_guid: Guid,
    /// External ports, 1 to 254.
    pub ports: u8,
    /// NodeDescription.
    pub description: String,
    /// What every port can do. The GUID in it is not used.
    pub port: PortConfig,
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    node_guid: Guid,
    system_image_guid: Guid,
    description: String,
    /// By number; port 0 is the switch itself.
    ports: Vec<Port>,
    /// By port number; that of port 0 is not used.
    outputs: Vec<Output<Origin>>,
    /// Ports that may have something to send.
    pending: Pending,
    /// By port: octets that came in by it and wait to leave, by lane.
    held: Vec<[usize; 16]>,
    /// All of them together.
    held_total: usize,
    /// By port: lanes that are full, and those that the link was told of.
    closed: Vec<VlMask>,
    told: Vec<VlMask>,
    /// Ports of which the two may differ.
    flow: Pending,
    info: SwitchInfo,
    linear: LinearTable,
    multicast: MulticastTable,
    /// By input port, then output port.
    sl_to_vl: Vec<SlToVl>,
    management: VecDeque<ManagementFrame>,
    events: VecDeque<NodeEvent>,
    /// A port may have events.
    stirred: bool,
    psn: Psn,
    now: Instant,
}

/// Where a frame in an output queue came from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    port: u8,
    vl: Vl,
}

/// Octets that may wait of each port and lane before the link is told to hold back: two large sends.
const HELD_HIGH: usize = 128 * 1024;
/// Below this it may go on.
const HELD_LOW: usize = HELD_HIGH / 2;
/// Management packets that may wait for the agents.
const MANAGEMENT_DEPTH: usize = 1024;

impl Switch {
    /// A switch with all links down and all tables empty.
    #[must_use]
    pub fn new(config: SwitchConfig) -> Self {
        let count = config.ports.clamp(1, 254);
        let with_guid = PortConfig {
            guid: config.node_guid,
            ..config.port.clone()
        };
        let without = PortConfig {
            guid: Guid::default(),
            ..config.port
        };
        let ports: Vec<_> = (0..=count)
            .map(|number| match number {
                0 => Port::new(0, Role::SwitchManagement, &with_guid),
                _ => Port::new(number, Role::SwitchExternal, &without),
            })
            .collect();
        let all = ports.len();
        Self {
            node_guid: config.node_guid,
            system_image_guid: config.system_image_guid,
            description: config.description,
            outputs: (0..all).map(|_| Output::new()).collect(),
            pending: Pending::default(),
            held: vec![[0; 16]; all],
            held_total: 0,
            closed: vec![VlMask::NONE; all],
            told: vec![VlMask::NONE; all],
            flow: Pending::default(),
            info: SwitchInfo {
                linear_fdb_cap: LinearTable::CAPACITY,
                random_fdb_cap: 0,
                multicast_fdb_cap: MulticastTable::CAPACITY,
                linear_fdb_top: Lid::NONE,
                default_port: 0,
                default_multicast_primary_port: 0xFF,
                default_multicast_not_primary_port: 0xFF,
                life_time: 31,
                port_state_change: false,
                optimized_sl_to_vl: 0,
                lids_per_port: 0,
                partition_enforcement_cap: without.pkeys,
                inbound_enforcement_cap: true,
                outbound_enforcement_cap: true,
                filter_raw_inbound_cap: true,
                filter_raw_outbound_cap: true,
                enhanced_port_0: false,
                multicast_fdb_top: Lid::NONE,
            },
            linear: LinearTable::default(),
            multicast: MulticastTable::default(),
            sl_to_vl: vec![[Vl::default(); 16]; all * all],
            management: VecDeque::new(),
            events: VecDeque::new(),
            stirred: false,
            psn: Psn::default(),
            now: Instant::ZERO,
            ports,
        }
    }

    /// GUID of the node.
    #[must_use]
    pub const fn node_guid(&self) -> Guid {
        self.node_guid
    }

    /// GUID of the system that it is part of.
    #[must_use]
    pub const fn system_image_guid(&self) -> Guid {
        self.system_image_guid
    }

    /// NodeDescription.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// External ports.
    #[must_use]
    pub fn port_count(&self) -> u8 {
        u8::try_from(self.ports.len() - 1).unwrap_or(u8::MAX)
    }

    /// A port; 0 is the switch itself.
    #[must_use]
    pub fn port(&self, port: u8) -> Option<&Port> {
        self.ports.get(usize::from(port))
    }

    /// A port, to change it.
    pub fn port_mut(&mut self, port: u8) -> Option<&mut Port> {
        self.stirred = true;
        self.ports.get_mut(usize::from(port))
    }

    /// SwitchInfo.
    #[must_use]
    pub fn switch_info(&self) -> SwitchInfo {
        SwitchInfo {
            port_state_change: self.ports[1..].iter().any(|port| port.state_changed),
            ..self.info
        }
    }

    /// Does what a Set of SwitchInfo asks for: all of it or nothing.
    ///
    /// # Errors
    /// The field that cannot be so.
    pub fn set_switch_info(&mut self, wanted: &SwitchInfo) -> Result<(), InvalidField> {
        let top = wanted.linear_fdb_top;
        if top.bits() >= LinearTable::CAPACITY {
            return Err(InvalidField::new(
                "SwitchInfo.LinearFDBTop",
                top.bits().into(),
                "less than LinearFDBCap",
            ));
        }
        let info = &mut self.info;
        info.linear_fdb_top = top;
        info.default_port = wanted.default_port;
        info.default_multicast_primary_port = wanted.default_multicast_primary_port;
        info.default_multicast_not_primary_port = wanted.default_multicast_not_primary_port;
        info.life_time = wanted.life_time;
        info.multicast_fdb_top = wanted.multicast_fdb_top;
        if wanted.port_state_change {
            // Writing 1 clears it (IBA 14.2.5.4).
            for port in &mut self.ports {
                port.state_changed = false;
            }
        }
        Ok(())
    }

    /// The linear forwarding table.
    #[must_use]
    pub const fn linear_fdb(&self) -> &LinearTable {
        &self.linear
    }

    /// The linear forwarding table, to write it.
    pub const fn linear_fdb_mut(&mut self) -> &mut LinearTable {
        &mut self.linear
    }

    /// The multicast forwarding table.
    #[must_use]
    pub const fn multicast_fdb(&self) -> &MulticastTable {
        &self.multicast
    }

    /// The multicast forwarding table, to write it.
    pub const fn multicast_fdb_mut(&mut self) -> &mut MulticastTable {
        &mut self.multicast
    }

    /// The lane of each SL, for packets that come in by `input` and leave by `output`.
    #[must_use]
    pub fn sl_to_vl(&self, input: u8, output: u8) -> Option<&SlToVl> {
        self.sl_to_vl.get(self.sl_to_vl_index(input, output)?)
    }

    /// Sets the lane of each SL.
    ///
    /// # Errors
    /// There is no such port.
    pub fn set_sl_to_vl(
        &mut self,
        input: u8,
        output: u8,
        table: SlToVl,
    ) -> Result<(), InvalidField> {
        match self.sl_to_vl_index(input, output) {
            Some(index) => {
                self.sl_to_vl[index] = table;
                Ok(())
            }
            None => Err(InvalidField::new(
                "SLtoVLMappingTable ports",
                u64::from(input) << 8 | u64::from(output),
                "two ports of the switch",
            )),
        }
    }

    /// Block 1 to 4 of a port's VL arbitration tables.
    #[must_use]
    pub fn vl_arb(&self, port: u8, block: u8) -> Option<VlArbBlock> {
        self.outputs.get(usize::from(port))?.arbiter.block(block)
    }

    /// Writes block 1 to 4 of a port's VL arbitration tables.
    ///
    /// # Errors
    /// There is no such port or block.
    pub fn set_vl_arb(
        &mut self,
        port: u8,
        block: u8,
        values: &VlArbBlock,
    ) -> Result<(), InvalidField> {
        match self.outputs.get_mut(usize::from(port)) {
            Some(output) => output.arbiter.set_block(block, values),
            None => Err(InvalidField::new(
                "VLArbitrationTable port",
                port.into(),
                "a port of the switch",
            )),
        }
    }

    /// A frame came in by an external port.
    pub fn handle_frame(&mut self, now: Instant, port: u8, frame: Frame) {
        self.now = now;
        if port != 0 && usize::from(port) < self.ports.len() {
            self.receive(port, frame);
        }
    }

    /// The link of a port trained or went away.
    pub fn handle_link(&mut self, now: Instant, port: u8, up: bool) {
        self.now = now;
        // Between down and up again lies the end of all that waits.
        self.settle();
        if port != 0
            && let Some(port) = self.ports.get_mut(usize::from(port))
        {
            port.handle_link(up);
        }
        self.stirred = true;
        self.settle();
    }

    /// The lanes on which the link of a port has credit changed.
    pub fn handle_ready(&mut self, now: Instant, port: u8, ready: VlMask) {
        self.now = now;
        let index = usize::from(port);
        if let (Some(output), Some(state)) =
            (self.outputs.get_mut(index), self.ports.get_mut(index))
        {
            let waited = output.set_ready(now, ready);
            state.counters.waited(waited);
            self.pending.insert(port);
        }
    }

    /// Drops what waited too long.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        for number in 1..=self.port_count() {
            let index = usize::from(number);
            let limits = self.ports[index].limits(self.info.life_time);
            while let Some((queued, reason)) = self.outputs[index].pop_expired(now, &limits) {
                self.ports[index].drop_frame(&queued.frame, reason);
                self.released(queued.tag, queued.frame.len());
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.held_total == 0 {
            return None;
        }
        self.outputs
            .iter()
            .zip(&self.ports)
            .filter_map(|(output, port)| output.deadline(&port.limits(self.info.life_time)))
            .min()
    }

    /// The next frame to leave, and the port that it leaves by.
    pub fn poll_transmit(&mut self) -> Option<(u8, Frame)> {
        self.settle();
        while let Some(port) = self.pending.first() {
            let index = usize::from(port);
            let Some(queued) = self.outputs[index].pop(self.now) else {
                self.pending.remove(port);
                continue;
            };
            let multicast = relay::is_multicast(&queued.frame);
            self.ports[index]
                .counters
                .transmitted(&queued.frame, multicast);
            self.released(queued.tag, queued.frame.len());
            return Some((port, queued.frame));
        }
        None
    }

    /// The next management packet for the switch's agents.
    pub fn poll_management(&mut self) -> Option<ManagementFrame> {
        self.management.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        self.settle();
        self.tell_flow();
        self.events.pop_front()
    }

    /// Collects what ports have to say, and empties the queues of those that went down.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.stirred) {
            return;
        }
        for index in 0..self.ports.len() {
            let port = &mut self.ports[index];
            self.outputs[index].arbiter.high_limit = port.vl_high_limit();
            while let Some(event) = self.ports[index].poll_event() {
                self.events.push_back(event);
                if matches!(event, NodeEvent::PortDown { .. }) {
                    let lost: Vec<_> = self.outputs[index].drain().collect();
                    for queued in lost {
                        self.ports[index].drop_frame(&queued.frame, DropReason::OutInactive);
                        self.released(queued.tag, queued.frame.len());
                    }
                }
            }
        }
    }

    /// A frame that came in by `origin` waits to leave.
    #[inline]
    fn hold(&mut self, origin: Origin, octets: usize) {
        self.held_total += octets;
        let held = &mut self.held[usize::from(origin.port)][usize::from(origin.vl.bits())];
        *held += octets;
        let full = *held > HELD_HIGH;
        if full {
            self.set_closed(origin, true);
        }
    }

    /// It left.
    #[inline]
    fn released(&mut self, origin: Origin, octets: usize) {
        self.held_total = self.held_total.saturating_sub(octets);
        let held = &mut self.held[usize::from(origin.port)][usize::from(origin.vl.bits())];
        *held = held.saturating_sub(octets);
        let low = *held <= HELD_LOW;
        if low {
            self.set_closed(origin, false);
        }
    }

    /// Has the link hold back, or go on. VL15 has no flow control, port 0 no link.
    #[inline]
    fn set_closed(&mut self, Origin { port, vl }: Origin, closed: bool) {
        let lanes = &mut self.closed[usize::from(port)];
        if port == 0 || vl == Vl::MANAGEMENT || lanes.contains(vl.bits()) == closed {
            return;
        }
        lanes.set(vl.bits(), closed);
        self.flow.insert(port);
    }

    /// Tells the links what changed since they were told last: what filled and emptied since is
    /// no news.
    fn tell_flow(&mut self) {
        while let Some(port) = self.flow.first() {
            self.flow.remove(port);
            let index = usize::from(port);
            let closed = self.closed[index];
            if std::mem::replace(&mut self.told[index], closed) != closed {
                self.events.push_back(NodeEvent::Flow {
                    port,
                    open: VlMask(!closed.0),
                });
            }
        }
    }

    fn sl_to_vl_index(&self, input: u8, output: u8) -> Option<usize> {
        let ports = self.ports.len();
        let (input, output) = (usize::from(input), usize::from(output));
        (input < ports && output < ports).then_some(input * ports + output)
    }
}

/// A set of ports, the lowest taken first.
#[derive(Debug, Default)]
struct Pending([u64; 4]);

impl Pending {
    #[inline]
    fn insert(&mut self, port: u8) {
        self.0[usize::from(port >> 6)] |= 1 << (port & 63);
    }

    #[inline]
    fn remove(&mut self, port: u8) {
        self.0[usize::from(port >> 6)] &= !(1 << (port & 63));
    }

    #[inline]
    fn first(&self) -> Option<u8> {
        (0..)
            .zip(self.0)
            .find(|&(_, word)| word != 0)
            .and_then(|(index, word): (u8, u64)| {
                u8::try_from(word.trailing_zeros())
                    .ok()
                    .map(|bit| index * 64 + bit)
            })
    }
}
