//! The subnet: nodes and links, and who is to be called next.

use core::net::IpAddr;
use std::collections::VecDeque;

use softib_fabric::frame::{Frame, Pool};
use softib_fabric::link::{End, Link, LinkConfig, LinkNotice};
use softib_fabric::port::Port;
use softib_ipoib::{MtuError, Route};
use softib_mgmt::sm::{self, SmConfig, SubnetManager};
use softib_wire::time::Instant;

use crate::deadlines::Deadlines;
use crate::event::Event;
use crate::node::{Node, Outbox};
use crate::spec::{
    IfaceRef, Impairment, ManagerSpec, NodeId, NodeKind, PartitionSpec, PortRef, SpecError,
    SubnetSpec,
};

/// A subnet.
///
/// Hand in IP packets of hosts ([`Self::handle_ip`]), changes (`set_*`) and time
/// ([`Self::handle_timeout`], no later than at [`Self::poll_timeout`]); after each call take what
/// there is: [`Self::poll_ip`], [`Self::poll_event`], [`Self::poll_captured`].
#[derive(Debug)]
pub struct Subnet {
    pub(crate) spec: SubnetSpec,
    pub(crate) nodes: Vec<Node>,
    pub(crate) links: Vec<Cable>,
    /// By node, then port: the link there.
    pub(crate) cabled: Vec<Vec<Option<(usize, End)>>>,
    /// Ports that are captured.
    captured_ports: Vec<PortRef>,
    captured: VecDeque<Captured>,
    ip: VecDeque<(IfaceRef, Frame)>,
    events: VecDeque<Event>,
    /// Nodes, then links, each once: those that may have something for others.
    work: VecDeque<usize>,
    waiting: Vec<bool>,
    deadlines: Deadlines,
    outbox: Outbox,
    /// The latest that the manager told, for people.
    pub(crate) manager_events: VecDeque<(Instant, Box<sm::SmEvent>)>,
    pool: Pool,
    rng: fastrand::Rng,
}

/// Events of the manager that are kept for people.
const MANAGER_EVENTS: usize = 64;

/// A link and where its ends are.
#[derive(Debug)]
pub(crate) struct Cable {
    pub(crate) link: Link,
    pub(crate) a: PortRef,
    pub(crate) b: PortRef,
}

impl Cable {
    pub(crate) const fn at(&self, end: End) -> PortRef {
        match end {
            End::A => self.a,
            End::B => self.b,
        }
    }
}

/// A packet, or a super-frame of several, that passed a captured port.
#[derive(Debug, Clone)]
pub struct Captured {
    /// When.
    pub at: Instant,
    /// Which port.
    pub port: PortRef,
    /// Whether it left by the port; otherwise it came in.
    pub outgoing: bool,
    /// LRH and what follows. CRCs may still be to be computed.
    pub frame: Frame,
}

/// Why something about a port cannot be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no cable at {0}")]
pub struct NoCable(pub PortRef);

impl Subnet {
    /// A subnet that has not started: call [`Self::start`] next.
    ///
    /// # Errors
    /// The parts of `spec` do not fit together.
    pub fn new(spec: SubnetSpec, seed: u64) -> Result<Self, SpecError> {
        spec.check()?;
        let mut rng = fastrand::Rng::with_seed(seed);
        let pool = Pool::new();
        let nodes: Vec<_> = spec
            .nodes
            .iter()
            .map(|node| Node::new(node, spec.prefix, &pool, &mut rng))
            .collect();
        let mut cabled: Vec<Vec<_>> = spec
            .nodes
            .iter()
            .map(|node| vec![None; usize::from(node.ports()) + 1])
            .collect();
        let mut links = Vec::new();
        for link in &spec.links {
            for (end, port) in [(End::A, link.a), (End::B, link.b)] {
                cabled[port.node.index()][usize::from(port.port)] = Some((links.len(), end));
            }
            let config = LinkConfig {
                // Plugged in by `start`, so that training is an event like any other.
                up: false,
                impairment: link.impairment,
                seed: rng.u64(..),
                pool: pool.clone(),
            };
            links.push(Cable {
                link: Link::new(config),
                a: link.a,
                b: link.b,
            });
        }
        let parties = nodes.len() + links.len();
        Ok(Self {
            spec,
            nodes,
            links,
            cabled,
            captured_ports: Vec::new(),
            captured: VecDeque::new(),
            ip: VecDeque::new(),
            events: VecDeque::new(),
            work: VecDeque::new(),
            waiting: vec![false; parties],
            deadlines: Deadlines::new(parties),
            outbox: Outbox::default(),
            manager_events: VecDeque::new(),
            pool,
            rng,
        })
    }

    /// Plugs the cables in and starts the subnet manager.
    pub fn start(&mut self, now: Instant) {
        for index in 0..self.links.len() {
            if self.spec.links[index].up {
                self.links[index].link.set_up(true);
            }
            self.wake_link(index);
        }
        self.run(now);
        self.start_manager(now);
    }

    /// Starts the subnet manager where the specification has it, knowing nothing. Nothing happens
    /// if it runs already, or if there is none.
    pub fn start_manager(&mut self, now: Instant) {
        let ManagerSpec::Own {
            node,
            priority,
            sweep_interval,
        } = self.spec.manager
        else {
            return;
        };
        if self.nodes[node.index()].manager.is_some() {
            return;
        }
        let port = self.manager_port(node);
        let device = &self.nodes[node.index()].device;
        let port_guid = device.port(port).map(Port::guid).unwrap_or_default();
        let config = SmConfig {
            priority,
            sweep_interval,
            subnet_prefix: self.spec.prefix,
            partitions: self.partitions(),
            seed: self.rng.u64(..),
            ..SmConfig::new(port_guid)
        };
        let manager =
            SubnetManager::new(config).expect("the specification was checked, settings with it");
        self.nodes[node.index()].seat(now, manager, port);
        self.wake_node(node.index());
        self.run(now);
    }

    /// Ends the subnet manager as if it had been killed.
    pub fn stop_manager(&mut self, now: Instant) {
        if let ManagerSpec::Own { node, .. } = self.spec.manager {
            self.nodes[node.index()].unseat();
            self.wake_node(node.index());
            self.run(now);
        }
    }

    /// Where packets come from and go back to.
    #[must_use]
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What the subnet is made of.
    #[must_use]
    pub const fn spec(&self) -> &SubnetSpec {
        &self.spec
    }

    /// An IP packet of a host's stack leaves by an interface.
    pub fn handle_ip(&mut self, now: Instant, interface: IfaceRef, packet: Frame) {
        let node = interface.node.index();
        let index = usize::from(interface.index);
        let Some(to) = self
            .nodes
            .get_mut(node)
            .and_then(|node| node.interfaces.get_mut(index))
        else {
            return;
        };
        to.ip.handle_ip(now, packet);
        self.wake_node(node);
        self.run(now);
    }

    /// Whether an interface has room for one more packet. If not, it is better left in the
    /// host's queue than dropped.
    #[must_use]
    pub fn can_accept_ip(&self, interface: IfaceRef) -> bool {
        self.nodes
            .get(interface.node.index())
            .is_some_and(|node| node.has_room(interface.index))
    }

    /// The next IP packet for a host, and the interface that it came by.
    #[inline]
    pub fn poll_ip(&mut self) -> Option<(IfaceRef, Frame)> {
        self.ip.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next captured packet.
    pub fn poll_captured(&mut self) -> Option<Captured> {
        self.captured.pop_front()
    }

    /// When [`Self::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(party) = self.deadlines.pop_due(now) {
            match party.checked_sub(self.nodes.len()) {
                None => self.nodes[party].handle_timeout(now),
                Some(link) => self.links[link].link.handle_timeout(now),
            }
            self.wake(party);
        }
        self.run(now);
    }

    /// Plugs in or pulls out the cable at a port.
    ///
    /// # Errors
    /// There is none.
    pub fn set_link_up(&mut self, now: Instant, at: PortRef, up: bool) -> Result<(), NoCable> {
        let link = self.cable(at)?;
        self.links[link].link.set_up(up);
        self.wake_link(link);
        self.run(now);
        Ok(())
    }

    /// Changes what the cable at a port does to packets.
    ///
    /// # Errors
    /// There is none.
    pub fn set_impairment(
        &mut self,
        now: Instant,
        at: PortRef,
        impairment: Impairment,
    ) -> Result<(), NoCable> {
        let link = self.cable(at)?;
        self.links[link].link.set_impairment(impairment);
        self.wake_link(link);
        self.run(now);
        Ok(())
    }

    /// What the cable at a port does to packets.
    ///
    /// # Errors
    /// There is none.
    pub fn impairment(&self, at: PortRef) -> Result<Impairment, NoCable> {
        Ok(*self.links[self.cable(at)?].link.impairment())
    }

    /// Sends a frame into the cable at a port, in the place of the device there: whatever a device
    /// that is not ours, or a broken one, may send. It may hold any octets.
    ///
    /// # Errors
    /// There is no cable.
    pub fn inject(&mut self, now: Instant, from: PortRef, frame: Frame) -> Result<(), NoCable> {
        let link = self.cable(from)?;
        let end = if self.links[link].a == from {
            End::A
        } else {
            End::B
        };
        self.observe(now, from, true, &frame);
        self.links[link].link.send(now, end, frame);
        self.wake_link(link);
        self.run(now);
        Ok(())
    }

    /// Replaces the partitions. Without a manager of ours that holds from the next one's start.
    ///
    /// # Errors
    /// They contradict each other, or a P_Key names none. Nothing is changed then.
    pub fn set_partitions(
        &mut self,
        now: Instant,
        partitions: Vec<PartitionSpec>,
    ) -> Result<(), sm::ConfigError> {
        let before = std::mem::replace(&mut self.spec.partitions, partitions);
        let wanted = self.partitions();
        let seat = self
            .nodes
            .iter_mut()
            .position(|node| node.manager.is_some());
        if let Some(index) = seat
            && let Some(seat) = &mut self.nodes[index].manager
        {
            if let Err(error) = seat.manager.set_partitions(now, wanted) {
                self.spec.partitions = before;
                return Err(error);
            }
            self.wake_node(index);
            self.run(now);
        }
        Ok(())
    }

    /// Switches an interface on or off.
    pub fn set_admin_up(&mut self, now: Instant, interface: IfaceRef, up: bool) {
        self.with_interface(now, interface, |it| {
            it.admin_up = up;
            it.ip.set_admin_up(now, up);
        });
    }

    /// Sets the MTU that an interface's administrator wants; `None`: its broadcast group's.
    ///
    /// # Errors
    /// It is out of range.
    pub fn set_mtu(
        &mut self,
        now: Instant,
        interface: IfaceRef,
        mtu: Option<u32>,
    ) -> Result<(), MtuError> {
        let set = self.with_interface(now, interface, |it| it.ip.set_mtu(now, mtu));
        set.unwrap_or(Ok(()))
    }

    /// Sets the IP addresses of an interface, with their prefix lengths.
    pub fn set_addresses(&mut self, now: Instant, interface: IfaceRef, ips: &[(IpAddr, u8)]) {
        self.with_interface(now, interface, |it| it.ip.set_addresses(now, ips));
    }

    /// Sets the routes of the host that lead over an interface.
    pub fn set_routes(&mut self, now: Instant, interface: IfaceRef, routes: &[Route]) {
        self.with_interface(now, interface, |it| it.ip.set_routes(now, routes));
    }

    /// Sets the IP multicast groups that programs on the host listen to by an interface.
    pub fn set_memberships(&mut self, now: Instant, interface: IfaceRef, groups: &[IpAddr]) {
        self.with_interface(now, interface, |it| it.ip.set_memberships(now, groups));
    }

    /// Whether an interface has carrier.
    #[must_use]
    pub fn has_carrier(&self, interface: IfaceRef) -> bool {
        self.interface(interface).is_some_and(|it| it.carrier)
    }

    /// What an interface counted.
    #[must_use]
    pub fn counters(&self, interface: IfaceRef) -> Option<&softib_ipoib::Counters> {
        self.interface(interface).map(|it| it.ip.counters())
    }

    /// The subnet manager in figures, if one of ours runs. [`Self::view`] shows more and takes
    /// longer.
    #[must_use]
    pub fn manager(&self) -> Option<sm::view::ManagerView> {
        let mut seats = self.nodes.iter().filter_map(|node| node.manager.as_ref());
        seats.next().map(|seat| seat.manager.manager_view())
    }

    /// MTU of an interface, in octets.
    #[must_use]
    pub fn mtu(&self, interface: IfaceRef) -> Option<u32> {
        self.interface(interface).map(|it| it.ip.mtu())
    }

    /// The IPv6 link-local address of an interface, made of its port's GUID.
    #[must_use]
    pub fn link_local(&self, interface: IfaceRef) -> Option<core::net::Ipv6Addr> {
        self.interface(interface).map(|it| it.ip.link_local())
    }

    /// Captures what passes a port, or no longer does.
    pub fn capture(&mut self, port: PortRef, on: bool) {
        self.captured_ports.retain(|&captured| captured != port);
        if on {
            self.captured_ports.push(port);
        }
    }

    fn interface(&self, interface: IfaceRef) -> Option<&crate::node::HostInterface> {
        self.nodes
            .get(interface.node.index())?
            .interfaces
            .get(usize::from(interface.index))
    }

    fn with_interface<T>(
        &mut self,
        now: Instant,
        interface: IfaceRef,
        change: impl FnOnce(&mut crate::node::HostInterface) -> T,
    ) -> Option<T> {
        let node = interface.node.index();
        let interfaces = &mut self.nodes.get_mut(node)?.interfaces;
        let result = change(interfaces.get_mut(usize::from(interface.index))?);
        self.wake_node(node);
        self.run(now);
        Some(result)
    }

    fn cable(&self, at: PortRef) -> Result<usize, NoCable> {
        let ports = self.cabled.get(at.node.index());
        let cable = ports.and_then(|ports| ports.get(usize::from(at.port)).copied().flatten());
        cable.map(|(link, _)| link).ok_or(NoCable(at))
    }

    /// Where the manager sits: port 0 of a switch, the first cabled port of a host.
    fn manager_port(&self, node: NodeId) -> u8 {
        if matches!(self.spec.nodes[node.index()].kind, NodeKind::Switch { .. }) {
            return 0;
        }
        let cabled = self.cabled[node.index()].iter().position(Option::is_some);
        cabled.and_then(|port| u8::try_from(port).ok()).unwrap_or(1)
    }

    /// The partitions as the manager takes them.
    fn partitions(&self) -> Vec<sm::Partition> {
        let group = sm::IpoibGroup {
            mtu: self.spec.mtu,
            ..sm::IpoibGroup::default()
        };
        let default = sm::Partition {
            ipoib: Some(group),
            ..sm::Partition::default()
        };
        if self.spec.partitions.is_empty() {
            return vec![default];
        }
        self.spec
            .partitions
            .iter()
            .map(|partition| sm::Partition {
                pkey: partition.pkey,
                members: if partition.members.is_empty() {
                    sm::Members::All(sm::Membership::Full)
                } else {
                    let member = |&(node, full): &(NodeId, bool)| {
                        let guid = self.spec.nodes[node.index()].guid;
                        let full = if full {
                            sm::Membership::Full
                        } else {
                            sm::Membership::Limited
                        };
                        (guid, full)
                    };
                    sm::Members::Ports(partition.members.iter().map(member).collect())
                },
                ipoib: partition.ipoib.then_some(group),
            })
            .collect()
    }

    fn wake_node(&mut self, node: usize) {
        self.wake(node);
    }

    fn wake_link(&mut self, link: usize) {
        self.wake(self.nodes.len() + link);
    }

    #[inline]
    fn wake(&mut self, party: usize) {
        if !std::mem::replace(&mut self.waiting[party], true) {
            self.work.push_back(party);
        }
    }

    /// Lets everybody who may have something for others hand it over, until nobody has.
    fn run(&mut self, now: Instant) {
        while let Some(party) = self.work.pop_front() {
            self.waiting[party] = false;
            match party.checked_sub(self.nodes.len()) {
                None => self.run_node(now, party),
                Some(link) => self.run_link(now, link),
            }
        }
    }

    fn run_node(&mut self, now: Instant, index: usize) {
        let id = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
        let mut out = std::mem::take(&mut self.outbox);
        self.nodes[index].drive(now, &mut out);
        for (port, event) in out.link_events.drain(..) {
            if let Some((link, end)) = self.cabled[index][usize::from(port)] {
                self.links[link].link.handle_event(now, end, &event);
                self.wake_link(link);
            }
        }
        for (port, frame) in out.frames.drain(..) {
            if let Some((link, end)) = self.cabled[index][usize::from(port)] {
                self.observe(now, PortRef { node: id, port }, true, &frame);
                self.links[link].link.send(now, end, frame);
                self.wake_link(link);
            }
        }
        self.ip.extend(
            out.ip
                .drain(..)
                .map(|(index, frame)| (IfaceRef { node: id, index }, frame)),
        );
        for change in out.changes.drain(..) {
            let event = change.at(id);
            if let Event::Manager(told) = &event {
                self.manager_events.push_back((now, told.clone()));
                if self.manager_events.len() > MANAGER_EVENTS {
                    self.manager_events.pop_front();
                }
            }
            self.events.push_back(event);
        }
        self.outbox = out;
        self.deadlines.set(index, self.nodes[index].poll_timeout());
    }

    fn run_link(&mut self, now: Instant, index: usize) {
        while let Some((end, notice)) = self.links[index].link.poll_event() {
            let PortRef { node, port } = self.links[index].at(end);
            let node = node.index();
            match notice {
                LinkNotice::Trained(up) => self.nodes[node].handle_link(now, port, up),
                LinkNotice::Ready(lanes) => self.nodes[node].handle_ready(now, port, lanes),
            }
            self.wake_node(node);
        }
        while let Some((end, frame)) = self.links[index].link.poll_deliver(now) {
            let at = self.links[index].at(end);
            self.observe(now, at, false, &frame);
            self.nodes[at.node.index()].handle_frame(now, at.port, frame);
            self.wake_node(at.node.index());
        }
        let deadline = self.links[index].link.poll_timeout();
        self.deadlines.set(self.nodes.len() + index, deadline);
    }

    #[inline]
    fn observe(&mut self, at: Instant, port: PortRef, outgoing: bool, frame: &Frame) {
        if self.captured_ports.contains(&port) {
            self.captured.push_back(Captured {
                at,
                port,
                outgoing,
                frame: frame.clone(),
            });
        }
    }
}
