//! A node: its device, the agents that answer for it, a host's interfaces, and the subnet manager
//! if it runs here.
//!
//! [`Node::drive`] carries everything that one part of the node has for another, until nobody has
//! anything left; what is for others comes out in an [`Outbox`].

pub(crate) mod device;
mod events;
mod host;
mod mads;

use softib_fabric::NodeEvent;
use softib_fabric::event::VlMask;
use softib_fabric::frame::{Frame, Pool};
use softib_fabric::hca::{QpCounters, QpId};
use softib_mgmt::agents::smi::SmiDrops;
use softib_mgmt::agents::{Pma, Sma};
use softib_mgmt::sa_client::SaClient;
use softib_mgmt::sm::SubnetManager;
use softib_wire::time::Instant;
use softib_wire::units::NodeType;

use crate::drop::{NodeDropReason, NodeDrops};
use crate::event::NodeChange;
use crate::spec::{NodeKind, NodeSpec};
use device::Device;
pub(crate) use host::HostInterface;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) device: Device,
    pub(crate) sma: Sma,
    pub(crate) pma: Pma,
    pub(crate) smi_drops: SmiDrops,
    pub(crate) drops: NodeDrops,
    pub(crate) manager: Option<Seat>,
    /// Of a host: a client of subnet administration for each port, that of port 1 first.
    pub(crate) sa_clients: Vec<SaClient>,
    /// Of a host.
    pub(crate) interfaces: Vec<HostInterface>,
    pool: Pool,
}

/// The subnet manager and the port that it sits at: 0 of a switch.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) manager: SubnetManager,
    pub(crate) port: u8,
}

/// What a node has for others.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Frames, and the ports that they leave by.
    pub(crate) frames: Vec<(u8, Frame)>,
    /// What the links of these ports want to know.
    pub(crate) link_events: Vec<(u8, NodeEvent)>,
    /// IP packets for the host, and the interfaces that they came by.
    pub(crate) ip: Vec<(u16, Frame)>,
    /// What happened.
    pub(crate) changes: Vec<NodeChange>,
}

impl Node {
    /// A node with all links down, and no manager.
    pub(crate) fn new(spec: &NodeSpec, prefix: u64, pool: &Pool, rng: &mut fastrand::Rng) -> Self {
        // Ports can do 4,096 octets; what the subnet's links carry, its manager says.
        let mtu = softib_wire::units::Mtu::B4096;
        let mut device = match &spec.kind {
            NodeKind::Host { ports, .. } => Device::adapter(spec.guid, *ports, mtu, &spec.name),
            NodeKind::Switch { ports } => Device::switch(spec.guid, *ports, mtu, &spec.name),
        };
        let (mut sa_clients, mut interfaces) = (Vec::new(), Vec::new());
        if let NodeKind::Host {
            ports,
            interfaces: specs,
        } = &spec.kind
            && let Device::Adapter(adapter) = &mut device
        {
            for port in 1..=*ports {
                sa_clients.push(host::sa_client(adapter, port, rng));
            }
            for interface in specs {
                interfaces.push(HostInterface::new(adapter, interface, prefix, pool, rng));
            }
        }
        Self {
            sma: Sma::new(device.node_type(), device.port_count(), rng.u32(..)),
            pma: Pma::new(),
            smi_drops: SmiDrops::default(),
            drops: NodeDrops::default(),
            manager: None,
            sa_clients,
            interfaces,
            pool: pool.clone(),
            device,
        }
    }

    /// Lets the subnet manager sit here.
    pub(crate) fn seat(&mut self, now: Instant, manager: SubnetManager, port: u8) {
        let mut seat = Seat { manager, port };
        let trained = self
            .device
            .port(port)
            .is_some_and(|port| port.state().passes_smps());
        seat.manager.handle_port(now, trained);
        seat.manager.handle_timeout(now);
        self.manager = Some(seat);
        self.set_is_sm(port, true);
    }

    /// Takes the subnet manager away, as if its program had died.
    pub(crate) fn unseat(&mut self) -> Option<SubnetManager> {
        let seat = self.manager.take()?;
        self.set_is_sm(seat.port, false);
        Some(seat.manager)
    }

    fn set_is_sm(&mut self, port: u8, is_sm: bool) {
        if let Some(port) = self.device.port_mut(port) {
            port.set_capability(softib_wire::mad::port_info::PortCapabilities::IS_SM, is_sm);
        }
    }

    #[inline]
    pub(crate) fn handle_frame(&mut self, now: Instant, port: u8, frame: Frame) {
        self.device.handle_frame(now, port, frame);
    }

    pub(crate) fn handle_link(&mut self, now: Instant, port: u8, up: bool) {
        self.device.handle_link(now, port, up);
    }

    pub(crate) fn handle_ready(&mut self, now: Instant, port: u8, ready: VlMask) {
        self.device.handle_ready(now, port, ready);
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        if due(self.device.poll_timeout()) {
            self.device.handle_timeout(now);
        }
        if due(self.sma.poll_timeout()) {
            self.sma.handle_timeout(now);
        }
        for client in &mut self.sa_clients {
            if due(client.poll_timeout()) {
                client.handle_timeout(now);
            }
        }
        for interface in &mut self.interfaces {
            if due(interface.ip.poll_timeout()) {
                interface.ip.handle_timeout(now);
            }
        }
        if let Some(seat) = &mut self.manager
            && due(seat.manager.poll_timeout())
        {
            seat.manager.handle_timeout(now);
        }
    }

    /// When [`Self::handle_timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let clients = self.sa_clients.iter().filter_map(SaClient::poll_timeout);
        let interfaces = self
            .interfaces
            .iter()
            .filter_map(|interface| interface.ip.poll_timeout());
        let manager = self
            .manager
            .as_ref()
            .and_then(|seat| seat.manager.poll_timeout());
        [self.device.poll_timeout(), self.sma.poll_timeout(), manager]
            .into_iter()
            .flatten()
            .chain(clients)
            .chain(interfaces)
            .min()
    }

    /// Carries everything between the parts of the node until nobody has anything left.
    pub(crate) fn drive(&mut self, now: Instant, out: &mut Outbox) {
        loop {
            let mut busy = false;
            while let Some(event) = self.device.poll_event() {
                busy = true;
                self.handle_event(now, event, out);
            }
            while let Some(incoming) = self.device.poll_mad() {
                busy = true;
                self.handle_mad(now, incoming);
            }
            busy |= self.drive_interfaces(now, out);
            busy |= self.drive_management(now, out);
            while let Some(transmit) = self.device.poll_transmit() {
                // Not a reason for another round: whoever waits for room in a queue asks again.
                out.frames.push(transmit);
            }
            while let Some(event) = self.device.poll_event() {
                // Links hear of the room that this made.
                busy = true;
                self.handle_event(now, event, out);
            }
            if !busy {
                return;
            }
        }
    }

    /// What the agents, the clients of subnet administration and the manager have to send.
    fn drive_management(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let mut busy = false;
        while let Some(trap) = self.sma.poll_transmit(now, &self.device) {
            busy = true;
            let to = softib_mgmt::mad::Endpoint::smi(trap.lid, trap.sl);
            self.send_by_lid(now, trap.port, &to, &trap.mad);
        }
        while self.sma.poll_event().is_some() {
            // The port tells the same (`NodeEvent`), also when somebody else changed it.
        }
        for index in 0..self.sa_clients.len() {
            let port = u8::try_from(index + 1).unwrap_or(u8::MAX);
            while let Some((to, mad)) = self.sa_clients[index].poll_transmit(now) {
                busy = true;
                self.send_by_lid(now, port, &to, &mad);
            }
            while let Some((id, reply)) = self.sa_clients[index].poll_reply() {
                busy = true;
                self.handle_sa_reply(now, id, reply, port);
            }
        }
        busy |= self.drive_manager(now, out);
        busy
    }

    /// Counts something that the node itself dropped.
    fn drop_one(&mut self, reason: NodeDropReason) {
        self.drops.add(reason);
    }

    fn is_switch(&self) -> bool {
        self.device.node_type() == NodeType::Switch
    }

    /// What a queue pair of the host counted.
    pub(crate) fn qp_counters(&self, qp: QpId) -> Option<&QpCounters> {
        match &self.device {
            Device::Adapter(adapter) => adapter.hca.qp_counters(qp),
            Device::Switch(_) => None,
        }
    }

    /// Whether a queue pair of the host has room for one more send.
    pub(crate) fn has_room(&self, interface: u16) -> bool {
        let Device::Adapter(adapter) = &self.device else {
            return false;
        };
        self.interfaces
            .get(usize::from(interface))
            .is_some_and(|interface| adapter.hca.send_room(interface.qp) > 0)
    }
}
