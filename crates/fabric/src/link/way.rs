//! One direction of a link: what waits to be sent, what is under way, what has arrived.

use std::collections::{BTreeMap, VecDeque};

use softib_wire::addr::Vl;
use softib_wire::time::{Duration, Instant};

use super::credit::{Receiver, Sender};
use super::impairment::Impairment;
use crate::drop::{DropCounts, DropReason};
use crate::event::VlMask;
use crate::frame::{self, Frame, Pool};

/// What one direction of a link counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkCounters {
    /// Packets that were delivered.
    pub packets: u64,
    /// Their octets.
    pub octets: u64,
    /// Packets of which a bit was turned.
    pub corrupted: u64,
    /// Packets that were delivered twice.
    pub duplicated: u64,
    /// Packets that were overtaken.
    pub reordered: u64,
    /// Packets that were not delivered.
    pub drops: DropCounts,
}

/// One direction.
#[derive(Debug)]
pub(super) struct Way {
    /// By lane.
    lanes: [Lane; 16],
    /// Lanes of which something waits to be sent, or has arrived.
    waiting: u16,
    arrived: u16,
    /// Lanes that the receiver takes packets on.
    pub(super) open: VlMask,
    /// Lanes that the sender was told to send on.
    ready: VlMask,
    /// Until when the link is being sent on.
    busy_until: Instant,
    /// By arrival, then in order of sending.
    under_way: BTreeMap<(Instant, u64), UnderWay>,
    sent: u64,
    /// Flow control packets on their way back: arrival, lane, limit.
    limits: VecDeque<(Instant, u8, u16)>,
    pub(super) counters: LinkCounters,
}

#[derive(Debug)]
struct Lane {
    queue: VecDeque<(Instant, Frame)>,
    queued: u64,
    buffer: VecDeque<(Frame, u16)>,
    buffered: u64,
    sender: Sender,
    receiver: Receiver,
    last_arrival: Instant,
}

#[derive(Debug)]
struct UnderWay {
    vl: u8,
    blocks: u16,
    /// None: it was lost, and only its credit arrives.
    frame: Option<Frame>,
}

impl Way {
    pub(super) fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane {
                queue: VecDeque::new(),
                queued: 0,
                buffer: VecDeque::new(),
                buffered: 0,
                sender: Sender::new(),
                receiver: Receiver::new(),
                last_arrival: Instant::ZERO,
            }),
            waiting: 0,
            arrived: 0,
            open: VlMask::ALL,
            ready: VlMask::ALL,
            busy_until: Instant::ZERO,
            under_way: BTreeMap::new(),
            sent: 0,
            limits: VecDeque::new(),
            counters: LinkCounters::default(),
        }
    }

    /// Straight into the receiver's buffer.
    #[inline]
    pub(super) fn pass(&mut self, frame: Frame) {
        let vl = frame.vl().bits() & 15;
        self.buffer(vl, frame, 0);
    }

    /// Waits to be sent, packet by packet.
    pub(super) fn queue(&mut self, now: Instant, frame: &Frame, pool: &Pool) {
        let vl = frame.vl().bits() & 15;
        for packet in frame::cut(frame, pool) {
            let lane = &mut self.lanes[usize::from(vl)];
            lane.queued += packet.wire_octets();
            lane.queue.push_back((now, packet));
        }
        self.waiting |= 1 << vl;
    }

    /// Does all that is due: limits that arrive, packets that can be sent, packets that arrive.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        impairment: &Impairment,
        rng: &mut fastrand::Rng,
        pool: &Pool,
    ) {
        loop {
            while let Some(&(at, vl, limit)) = self.limits.front()
                && at <= now
            {
                self.limits.pop_front();
                self.lanes[usize::from(vl)].sender.set_limit(limit);
            }
            while let Some((start, vl)) = self.next_start(impairment)
                && start <= now
            {
                self.send_one(start, vl, impairment, rng, pool);
            }
            let mut any = false;
            while let Some(entry) = self.under_way.first_entry()
                && entry.key().0 <= now
            {
                let (at, _) = *entry.key();
                let arriving = entry.remove();
                self.arrive(at, arriving, impairment);
                any = true;
            }
            // What arrived may have freed credit that is back at once.
            if !any {
                return;
            }
        }
    }

    /// When [`advance`](Self::advance) has something to do next.
    pub(super) fn deadline(&self, impairment: &Impairment) -> Option<Instant> {
        let arrival = self.under_way.first_key_value().map(|(&(at, _), _)| at);
        let limit = self.limits.front().map(|&(at, _, _)| at);
        let start = self.next_start(impairment).map(|(at, _)| at);
        [arrival, limit, start].into_iter().flatten().min()
    }

    /// The next packet for a receiver that takes its lane.
    #[inline]
    pub(super) fn deliver(&mut self, now: Instant, impairment: &Impairment) -> Option<Frame> {
        let candidates = self.arrived & (self.open.0 | 1 << 15);
        if candidates == 0 {
            return None;
        }
        // VL15 first, as everywhere.
        let vl = if candidates >> 15 != 0 {
            15
        } else {
            candidates.trailing_zeros() as usize
        };
        let lane = &mut self.lanes[vl];
        let (frame, blocks) = lane.buffer.pop_front()?;
        if lane.buffer.is_empty() {
            self.arrived &= !(1 << vl);
        }
        let octets = frame.wire_octets();
        lane.buffered = lane.buffered.saturating_sub(octets);
        if blocks > 0 {
            lane.receiver.freed(blocks);
            self.announce(now, vl, impairment);
        }
        self.counters.packets += frame.wire_packets();
        self.counters.octets += octets;
        Some(frame)
    }

    /// The lanes that the sender may send on, when that changed.
    #[inline]
    pub(super) fn changed_ready(&mut self, impairment: &Impairment) -> Option<VlMask> {
        let ideal = impairment.is_ideal();
        let idle = self.waiting == 0 && (!ideal || self.open == VlMask::ALL);
        if idle && self.ready == VlMask::ALL {
            return None;
        }
        let backlog = impairment.backlog();
        let mut ready = VlMask::ALL;
        // VL15 has no flow control.
        for vl in 0..15 {
            let lane = &self.lanes[usize::from(vl)];
            // Without delay and rate packets wait here only for a receiver that takes none.
            let waits = match (ideal, self.open.contains(vl)) {
                (false, _) => lane.queued,
                (true, false) => lane.buffered,
                (true, true) => 0,
            };
            // Once full, it must be half empty before it is filled again.
            let most = if self.ready.contains(vl) {
                backlog
            } else {
                backlog / 2
            };
            ready.set(vl, waits <= most);
        }
        (std::mem::replace(&mut self.ready, ready) != ready).then_some(ready)
    }

    /// Everything is lost: the link went down.
    pub(super) fn clear(&mut self) {
        let under_way = std::mem::take(&mut self.under_way)
            .into_values()
            .filter_map(|item| item.frame);
        let mut lost: Vec<Frame> = under_way.collect();
        for lane in &mut self.lanes {
            lost.extend(lane.queue.drain(..).map(|(_, frame)| frame));
            lost.extend(lane.buffer.drain(..).map(|(frame, _)| frame));
        }
        for frame in lost {
            self.counters
                .drops
                .add_many(DropReason::LinkDown, frame.wire_packets());
        }
        let counters = std::mem::take(&mut self.counters);
        *self = Self {
            counters,
            open: self.open,
            sent: self.sent,
            ..Self::new()
        };
    }

    /// Everything arrives at once: the link becomes another one. What was to be lost is lost.
    pub(super) fn flush(&mut self) {
        let under_way = std::mem::take(&mut self.under_way);
        for item in under_way.into_values() {
            if let Some(frame) = item.frame {
                self.buffer(item.vl, frame, 0);
            }
        }
        for vl in 0..16_u8 {
            let lane = &mut self.lanes[usize::from(vl)];
            lane.queued = 0;
            lane.sender = Sender::new();
            lane.receiver = Receiver::new();
            lane.last_arrival = Instant::ZERO;
            for buffered in &mut lane.buffer {
                buffered.1 = 0;
            }
            for (_, frame) in std::mem::take(&mut lane.queue) {
                self.buffer(vl, frame, 0);
            }
        }
        self.waiting = 0;
        self.limits.clear();
        self.busy_until = Instant::ZERO;
    }

    fn buffer(&mut self, vl: u8, frame: Frame, blocks: u16) {
        let lane = &mut self.lanes[usize::from(vl)];
        lane.buffered += frame.wire_octets();
        lane.buffer.push_back((frame, blocks));
        self.arrived |= 1 << vl;
    }

    /// When the next packet can be sent, and of which lane: VL15 first, then the lane that waits longest.
    fn next_start(&self, impairment: &Impairment) -> Option<(Instant, u8)> {
        (0..16)
            .filter(|vl| self.waiting >> vl & 1 != 0)
            .filter_map(|vl: u8| {
                let lane = &self.lanes[usize::from(vl)];
                let (since, frame) = lane.queue.front()?;
                let credit = vl == 15 || lane.sender.may_send(blocks(frame, impairment));
                credit.then_some((vl != 15, (*since).max(self.busy_until), vl))
            })
            .min()
            .map(|(_, start, vl)| (start, vl))
    }

    /// Puts the first packet of a lane on the link, and on the way decides its fate.
    fn send_one(
        &mut self,
        start: Instant,
        vl: u8,
        impairment: &Impairment,
        rng: &mut fastrand::Rng,
        pool: &Pool,
    ) {
        let lane = &mut self.lanes[usize::from(vl)];
        let Some((_, frame)) = lane.queue.pop_front() else {
            return;
        };
        let octets = frame.wire_octets();
        lane.queued = lane.queued.saturating_sub(octets);
        if lane.queue.is_empty() {
            self.waiting &= !(1 << vl);
        }
        let blocks = if vl == 15 {
            0
        } else {
            blocks(&frame, impairment)
        };
        lane.sender.sent(blocks);
        self.busy_until = start + impairment.transmission(octets + VCRC);

        let mut chance = |probability: f64| probability > 0.0 && rng.f64() < probability;
        let (lost, corrupt) = (chance(impairment.loss), chance(impairment.corrupt));
        let (duplicate, reorder) = (chance(impairment.duplicate), chance(impairment.reorder));
        let mut at = self.busy_until + impairment.delay;
        if !impairment.jitter.is_zero() {
            at += impairment.jitter.mul_f64(rng.f64());
        }
        if reorder {
            at += impairment.delay.max(HELD_BACK);
            self.counters.reordered += 1;
        } else {
            at = at.max(lane.last_arrival);
            lane.last_arrival = at;
        }
        if lost {
            self.counters.drops.add(DropReason::LinkLoss);
        }
        let frame = if lost {
            None
        } else if corrupt {
            self.counters.corrupted += 1;
            Some(corrupted(&frame, rng, pool))
        } else {
            Some(frame)
        };
        if duplicate && let Some(frame) = &frame {
            self.counters.duplicated += 1;
            // The copy has no credit of its own: flow control does not know of it.
            let copy = UnderWay {
                vl,
                blocks: 0,
                frame: Some(frame.clone()),
            };
            self.under_way.insert((at, self.sent), copy);
            self.sent += 1;
        }
        self.under_way
            .insert((at, self.sent), UnderWay { vl, blocks, frame });
        self.sent += 1;
    }

    fn arrive(&mut self, at: Instant, item: UnderWay, impairment: &Impairment) {
        let lane = &mut self.lanes[usize::from(item.vl)];
        match item.frame {
            Some(frame) => {
                lane.receiver.arrived(item.blocks);
                self.buffer(item.vl, frame, item.blocks);
            }
            None if item.blocks > 0 => {
                lane.receiver.lost(item.blocks);
                self.announce(at, item.vl.into(), impairment);
            }
            None => {}
        }
    }

    /// Sends a flow control packet back.
    fn announce(&mut self, now: Instant, vl: usize, impairment: &Impairment) {
        let limit = self.lanes[vl].receiver.limit();
        if let Ok(vl) = u8::try_from(vl) {
            self.limits.push_back((now + impairment.delay, vl, limit));
        }
    }
}

/// Octets of the VCRC, which other counts leave out.
const VCRC: u64 = 2;
/// How long a packet is held back for others to overtake it, at least.
const HELD_BACK: Duration = Duration::from_micros(100);

fn blocks(frame: &Frame, impairment: &Impairment) -> u16 {
    u16::try_from((frame.wire_octets() + VCRC).div_ceil(impairment.block())).unwrap_or(u16::MAX)
}

/// The packet as it is on the wire, with one bit turned.
fn corrupted(frame: &Frame, rng: &mut fastrand::Rng, pool: &Pool) -> Frame {
    let vl: Vl = frame.vl();
    let mut bytes = frame::finish(frame);
    if !bytes.is_empty() {
        let bit = rng.usize(..bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let mut corrupted = pool.frame_from(&bytes);
    corrupted.mark_present();
    // It is the lane that it was sent on whose buffer it takes.
    corrupted.set_vl(vl);
    corrupted
}
