//! A channel adapter: ports, queue pairs, completion queues (IBA 10, 17).
//!
//! The verbs are plain methods: [`create_cq`](Hca::create_cq), [`create_qp`](Hca::create_qp),
//! [`post_ud_send`](Hca::post_ud_send), [`post_recv`](Hca::post_recv), [`poll_cq`](Hca::poll_cq) and
//! so on. A payload is handed in and out as a [`Frame`]: headers are pushed in front of it where it is,
//! and a completion's payload is the packet without its headers.
//!
//! In: [`handle_frame`](Hca::handle_frame), [`handle_link`](Hca::handle_link),
//! [`handle_ready`](Hca::handle_ready). Out: [`poll_transmit`](Hca::poll_transmit),
//! [`poll_cq`](Hca::poll_cq), [`poll_event`](Hca::poll_event).

mod ah;
mod cq;
mod memory;
mod qp;
mod receive;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use softib_wire::addr::{Gid, Guid, Lid, QKey, Vl};
use softib_wire::error::InvalidField;
use softib_wire::mad::tables::VlArbBlock;
use softib_wire::time::Instant;

pub use ah::{AddressVector, GlobalRoute};
pub use cq::{Completion, CompletionKind, CqId, Received, Status};
pub use memory::{Access, Bind, Keys, LKey, Memory, MemoryFault, PdId, RKey, Sge};
pub use qp::ud::UdSend;
pub use qp::{PostError, QpCaps, QpCounters, QpId, QpKind, QpState, UdAttributes, VerbError};

use crate::drop::DropReason;
use crate::event::{NodeEvent, VlMask};
use crate::frame::Frame;
use crate::port::output::Output;
use crate::port::{Port, PortConfig, Role};
use cq::Cq;
use memory::Memories;
use qp::Qp;
use table::{Groups, QpTable};

/// What an adapter is made with.
#[derive(Debug, Clone)]
pub struct HcaConfig {
    /// GUID of the node.
    pub node_guid: Guid,
    /// GUID of the system that it is part of.
    pub system_image_guid: Guid,
    /// Its ports, from port 1 on.
    pub ports: Vec<PortConfig>,
    /// NodeDescription.
    pub description: String,
}

/// A channel adapter.
#[derive(Debug)]
pub struct Hca {
    node_guid: Guid,
    system_image_guid: Guid,
    description: String,
    /// By number. There is no port 0: in its place stands one that nothing reaches.
    ports: Vec<Port>,
    outputs: Vec<Output<Work>>,
    qps: QpTable,
    cqs: BTreeMap<CqId, Cq>,
    next_cq: u32,
    memories: Memories,
    /// By port.
    groups: Vec<Groups>,
    events: VecDeque<NodeEvent>,
    /// A port may have events.
    stirred: bool,
    now: Instant,
}

/// A send under way.
#[derive(Debug, Clone, Copy)]
struct Work {
    qp: QpId,
    wr_id: u64,
    signaled: bool,
}

impl Hca {
    /// An adapter with all links down.
    #[must_use]
    pub fn new(config: HcaConfig) -> Self {
        let none = PortConfig::new(Guid::default());
        let ports: Vec<_> = (0..=254)
            .zip(std::iter::once(&none).chain(&config.ports))
            .map(|(number, port)| Port::new(number, Role::Adapter, port))
            .collect();
        let all = ports.len();
        Self {
            node_guid: config.node_guid,
            system_image_guid: config.system_image_guid,
            description: config.description,
            outputs: (0..all).map(|_| Output::new()).collect(),
            qps: QpTable::new(all),
            cqs: BTreeMap::new(),
            next_cq: 0,
            memories: Memories::default(),
            groups: (0..all).map(|_| Groups::default()).collect(),
            events: VecDeque::new(),
            stirred: false,
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

    /// Ports.
    #[must_use]
    pub fn port_count(&self) -> u8 {
        u8::try_from(self.ports.len() - 1).unwrap_or(u8::MAX)
    }

    /// A port, counted from 1.
    #[must_use]
    pub fn port(&self, port: u8) -> Option<&Port> {
        self.ports.get(self.index(port)?)
    }

    /// A port, to change it.
    pub fn port_mut(&mut self, port: u8) -> Option<&mut Port> {
        self.stirred = true;
        let index = self.index(port)?;
        self.ports.get_mut(index)
    }

    /// Block 1 to 4 of a port's VL arbitration tables.
    #[must_use]
    pub fn vl_arb(&self, port: u8, block: u8) -> Option<VlArbBlock> {
        self.outputs[self.index(port)?].arbiter.block(block)
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
        match self.index(port) {
            Some(index) => self.outputs[index].arbiter.set_block(block, values),
            None => Err(InvalidField::new(
                "VLArbitrationTable port",
                port.into(),
                "a port of the adapter",
            )),
        }
    }

    /// Makes a completion queue for `depth` completions.
    pub fn create_cq(&mut self, depth: u32) -> CqId {
        let id = CqId(self.next_cq);
        self.next_cq += 1;
        self.cqs.insert(id, Cq::new(depth));
        id
    }

    /// Takes a completion queue away.
    ///
    /// # Errors
    /// It does not exist, or queue pairs use it.
    pub fn destroy_cq(&mut self, cq: CqId) -> Result<(), VerbError> {
        match self.cqs.get(&cq).ok_or(VerbError::NoSuchCq)?.users {
            0 => {
                self.cqs.remove(&cq);
                Ok(())
            }
            users => Err(VerbError::CqInUse { users }),
        }
    }

    /// Makes a queue pair. QP0 and QP1 work at once, others are in Reset.
    ///
    /// # Errors
    /// There is no such port or completion queue, or the port has its QP0 or QP1.
    pub fn create_qp(
        &mut self,
        port: u8,
        kind: QpKind,
        send_cq: CqId,
        recv_cq: CqId,
        caps: QpCaps,
    ) -> Result<QpId, VerbError> {
        if self.index(port).is_none() {
            return Err(VerbError::NoSuchPort {
                port,
                ports: self.port_count(),
            });
        }
        if !self.cqs.contains_key(&send_cq) || !self.cqs.contains_key(&recv_cq) {
            return Err(VerbError::NoSuchCq);
        }
        let id = self.qps.allocate(port, kind)?;
        for cq in [send_cq, recv_cq] {
            if let Some(cq) = self.cqs.get_mut(&cq) {
                cq.users += 1;
            }
        }
        self.qps.insert(Qp::new(id, kind, send_cq, recv_cq, caps));
        Ok(id)
    }

    /// Takes a queue pair away. What it sent and has not left yet still leaves.
    ///
    /// # Errors
    /// It does not exist.
    pub fn destroy_qp(&mut self, id: QpId) -> Result<(), VerbError> {
        let qp = self
            .qps
            .remove(id)
            .ok_or(VerbError::NoSuchQp { qpn: id.qpn })?;
        self.groups[usize::from(id.port)].detach_all(id);
        for cq in [qp.send_cq, qp.recv_cq] {
            if let Some(cq) = self.cqs.get_mut(&cq) {
                cq.users -= 1;
            }
        }
        Ok(())
    }

    /// Changes a datagram queue pair: all that is asked for, or nothing.
    ///
    /// # Errors
    /// It does not exist, or cannot be so.
    pub fn modify_ud_qp(&mut self, id: QpId, wanted: UdAttributes) -> Result<(), VerbError> {
        let qp = self
            .qps
            .get_mut(id)
            .ok_or(VerbError::NoSuchQp { qpn: id.qpn })?;
        let keys = wanted.qkey.is_some() || wanted.pkey_index.is_some();
        if keys && qp.kind != QpKind::Ud {
            return Err(VerbError::FixedKeys { qpn: id.qpn });
        }
        if let Some(to) = wanted.state
            && !qp.state.may_become(to)
        {
            return Err(VerbError::StateChange { from: qp.state, to });
        }
        qp.qkey = wanted.qkey.unwrap_or(qp.qkey);
        qp.pkey_index = wanted.pkey_index.unwrap_or(qp.pkey_index);
        let Some(to) = wanted.state else {
            return Ok(());
        };
        qp.state = to;
        if matches!(to, QpState::Reset | QpState::Error) {
            qp.receives = 0;
            let flushed = self.outputs[usize::from(id.port)].drain_where(|work| work.qp == id);
            for queued in flushed {
                self.complete_send(queued.tag, Status::Flushed);
            }
        }
        Ok(())
    }

    /// Takes a fresh datagram queue pair all the way to Rts.
    ///
    /// # Errors
    /// As [`modify_ud_qp`](Self::modify_ud_qp).
    pub fn activate_ud_qp(
        &mut self,
        id: QpId,
        qkey: QKey,
        pkey_index: u16,
    ) -> Result<(), VerbError> {
        let init = UdAttributes {
            state: Some(QpState::Init),
            qkey: Some(qkey),
            pkey_index: Some(pkey_index),
        };
        self.modify_ud_qp(id, init)?;
        for state in [QpState::Rtr, QpState::Rts] {
            self.modify_ud_qp(
                id,
                UdAttributes {
                    state: Some(state),
                    ..UdAttributes::default()
                },
            )?;
        }
        Ok(())
    }

    /// State of a queue pair.
    #[must_use]
    pub fn qp_state(&self, id: QpId) -> Option<QpState> {
        self.qps.get(id).map(|qp| qp.state)
    }

    /// Sends that a queue pair still has room for.
    #[must_use]
    pub fn send_room(&self, id: QpId) -> u32 {
        self.qps
            .get(id)
            .map_or(0, |qp| qp.caps.send.saturating_sub(qp.sends))
    }

    /// What a queue pair counted.
    #[must_use]
    pub fn qp_counters(&self, id: QpId) -> Option<&QpCounters> {
        self.qps.get(id).map(|qp| &qp.counters)
    }

    /// All queue pairs.
    pub fn qps(&self) -> impl Iterator<Item = (QpId, QpKind)> + '_ {
        self.qps.iter().map(|qp| (qp.id, qp.kind))
    }

    /// Posts `count` receives. Their memory is that of the packets that come.
    ///
    /// # Errors
    /// The queue pair does not exist, is in Reset or Error, or has no room for so many.
    pub fn post_recv(&mut self, id: QpId, count: u32) -> Result<(), PostError> {
        let qp = self
            .qps
            .get_mut(id)
            .ok_or(PostError::NoSuchQp { qpn: id.qpn })?;
        if matches!(qp.state, QpState::Reset | QpState::Error) {
            return Err(PostError::State { state: qp.state });
        }
        match qp
            .receives
            .checked_add(count)
            .filter(|&receives| receives <= qp.caps.recv)
        {
            Some(receives) => {
                qp.receives = receives;
                Ok(())
            }
            None => Err(PostError::QueueFull {
                depth: qp.caps.recv,
            }),
        }
    }

    /// Receives packets of a multicast group. Being a member of it is another matter, between
    /// the port and the subnet administrator.
    ///
    /// # Errors
    /// The queue pair does not exist or is no datagram one, or this is no multicast group.
    pub fn attach_multicast(&mut self, id: QpId, mgid: Gid, mlid: Lid) -> Result<(), VerbError> {
        let qp = self
            .qps
            .get(id)
            .ok_or(VerbError::NoSuchQp { qpn: id.qpn })?;
        if qp.kind == QpKind::Smi {
            return Err(VerbError::NotAttachable { qpn: id.qpn });
        }
        if !mgid.is_multicast() || !mlid.is_multicast() {
            return Err(VerbError::NotMulticast { mlid });
        }
        self.groups[usize::from(id.port)].attach(id, mgid, mlid);
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// The queue pair was not attached.
    pub fn detach_multicast(&mut self, id: QpId, mgid: Gid, mlid: Lid) -> Result<(), VerbError> {
        let attached = self
            .groups
            .get_mut(usize::from(id.port))
            .is_some_and(|groups| groups.detach(id, mgid, mlid));
        if attached {
            Ok(())
        } else {
            Err(VerbError::NotAttached { qpn: id.qpn })
        }
    }

    /// The next completion of a queue.
    pub fn poll_cq(&mut self, cq: CqId) -> Option<Completion> {
        self.cqs.get_mut(&cq)?.pop()
    }

    /// A frame came in by a port.
    pub fn handle_frame(&mut self, now: Instant, port: u8, frame: Frame) {
        self.now = now;
        if self.index(port).is_some() {
            self.receive(port, frame);
        }
    }

    /// The link of a port trained or went away.
    pub fn handle_link(&mut self, now: Instant, port: u8, up: bool) {
        self.now = now;
        // Between down and up again lies the end of all that waits.
        self.settle();
        if let Some(index) = self.index(port) {
            self.ports[index].handle_link(up);
        }
        self.stirred = true;
        self.settle();
    }

    /// The lanes on which the link of a port has credit changed.
    pub fn handle_ready(&mut self, now: Instant, port: u8, ready: VlMask) {
        self.now = now;
        if let Some(index) = self.index(port) {
            let waited = self.outputs[index].set_ready(now, ready);
            self.ports[index].counters.waited(waited);
        }
    }

    /// Drops what waited too long.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        for index in 1..self.ports.len() {
            let limits = self.ports[index].limits(NO_LIFE_TIME);
            while let Some((queued, reason)) = self.outputs[index].pop_expired(now, &limits) {
                self.ports[index].drop_frame(&queued.frame, reason);
                self.complete_send(queued.tag, Status::Success);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.outputs
            .iter()
            .zip(&self.ports)
            .filter(|(output, _)| !output.is_empty())
            .filter_map(|(output, port)| output.deadline(&port.limits(NO_LIFE_TIME)))
            .min()
    }

    /// The next frame to leave, and the port that it leaves by.
    pub fn poll_transmit(&mut self) -> Option<(u8, Frame)> {
        self.settle();
        for index in 1..self.outputs.len() {
            if let Some(queued) = self.outputs[index].pop(self.now) {
                let port = &mut self.ports[index];
                port.counters
                    .transmitted(&queued.frame, is_multicast(&queued.frame));
                let number = port.number();
                self.complete_send(queued.tag, Status::Success);
                return Some((number, queued.frame));
            }
        }
        None
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        self.settle();
        self.events.pop_front()
    }

    /// Queues a packet to leave, on the lane that its SL maps to; or drops it, when the port does
    /// not send. A datagram is done either way.
    fn transmit(&mut self, number: u8, mut frame: Frame, work: Work) {
        let index = usize::from(number);
        let port = &self.ports[index];
        let sl = frame.bytes().get(1).map_or(0, |octet| octet >> 4);
        let lane = if frame.vl() == Vl::MANAGEMENT {
            if port.state().passes_smps() {
                Ok(Vl::MANAGEMENT)
            } else {
                Err(DropReason::OutInactive)
            }
        } else if port.state().sends_data() {
            port.lane(
                port.sl_to_vl(),
                softib_wire::addr::Sl::from_bits_truncate(sl),
            )
        } else {
            Err(DropReason::OutInactive)
        };
        let dropped = match lane {
            Err(reason) => Some((frame, reason)),
            Ok(vl) => {
                frame.set_vl(vl);
                self.outputs[index]
                    .push(self.now, frame, work)
                    .err()
                    .map(|queued| (queued.frame, DropReason::VlStalled))
            }
        };
        if let Some((frame, reason)) = dropped {
            self.ports[index].drop_frame(&frame, reason);
            self.complete_send(work, Status::Success);
        }
    }

    /// A send is done: its place in the queue is free again.
    #[inline]
    fn complete_send(&mut self, work: Work, status: Status) {
        let Some(qp) = self.qps.get_mut(work.qp) else {
            return;
        };
        qp.sends = qp.sends.saturating_sub(1);
        // What fails is told of in any case (IBA 10.8.3.3).
        if !work.signaled && status == Status::Success {
            return;
        }
        let cq = qp.send_cq;
        let completion = Completion {
            wr_id: work.wr_id,
            qp: work.qp,
            status,
            kind: CompletionKind::Send,
        };
        if !self.cqs.get_mut(&cq).is_some_and(|cq| cq.push(completion)) {
            self.events.push_back(NodeEvent::CqOverrun { cq });
        }
    }

    /// Collects what ports have to say, and empties the queues of those that went down.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.stirred) {
            return;
        }
        for index in 1..self.ports.len() {
            self.outputs[index].arbiter.high_limit = self.ports[index].vl_high_limit();
            while let Some(event) = self.ports[index].poll_event() {
                self.events.push_back(event);
                if matches!(event, NodeEvent::PortDown { .. }) {
                    let lost: Vec<_> = self.outputs[index].drain().collect();
                    for queued in lost {
                        self.ports[index].drop_frame(&queued.frame, DropReason::OutInactive);
                        self.complete_send(queued.tag, Status::Success);
                    }
                }
            }
        }
    }

    fn index(&self, port: u8) -> Option<usize> {
        let index = usize::from(port);
        (port != 0 && index < self.ports.len()).then_some(index)
    }
}

/// Only switches have a LifeTimeValue.
const NO_LIFE_TIME: u8 = 31;

/// Whether a frame goes to a multicast LID.
#[inline]
fn is_multicast(frame: &Frame) -> bool {
    match frame.bytes() {
        [_, _, high, low, ..] => Lid::new(u16::from_be_bytes([*high, *low])).is_multicast(),
        _ => false,
    }
}
