//! What waits to leave by a port: a queue a lane, VL arbitration, and time limits
//! (IBA 7.6.9, 18.2.5.4).
//!
//! On an ideal link nothing ever waits here: a frame that comes in is the next to go out.

use std::collections::VecDeque;

use softib_wire::error::InvalidField;
use softib_wire::mad::tables::{VlArbBlock, VlWeight};
use softib_wire::time::{Duration, Instant};

use crate::drop::DropReason;
use crate::event::VlMask;
use crate::frame::Frame;

/// A frame in a queue, with what its owner wants to know when it leaves.
#[derive(Debug)]
pub(crate) struct Queued<T> {
    pub(crate) frame: Frame,
    pub(crate) tag: T,
    since: Instant,
}

/// Time limits of an output, none where there is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Limits {
    /// SwitchInfo.LifeTimeValue.
    pub(crate) life: Option<Duration>,
    /// PortInfo.HOQLife.
    pub(crate) head: Option<Duration>,
    /// PortInfo.VLStallCount; 0: never stalls.
    pub(crate) stall_count: u8,
}

/// The output side of a port.
#[derive(Debug)]
pub(crate) struct Output<T> {
    lanes: [Lane<T>; 16],
    /// Lanes with something in them.
    waiting: u16,
    /// Lanes on which the link has credit.
    ready: VlMask,
    pub(crate) arbiter: Arbiter,
}

#[derive(Debug)]
struct Lane<T> {
    queue: VecDeque<Queued<T>>,
    /// When the first of the queue became the first.
    head_since: Instant,
    /// Head-of-queue drops in a row.
    expired: u8,
    stalled_until: Option<Instant>,
}

impl<T> Output<T> {
    pub(crate) fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane {
                queue: VecDeque::new(),
                head_since: Instant::ZERO,
                expired: 0,
                stalled_until: None,
            }),
            waiting: 0,
            ready: VlMask::ALL,
            arbiter: Arbiter::default(),
        }
    }

    /// Queues a frame on the lane that it carries.
    ///
    /// # Errors
    /// The lane is stalled; the frame is dropped.
    #[inline]
    pub(crate) fn push(&mut self, now: Instant, frame: Frame, tag: T) -> Result<(), Queued<T>> {
        let vl = frame.vl().bits();
        let lane = &mut self.lanes[usize::from(vl & 15)];
        let queued = Queued {
            frame,
            tag,
            since: now,
        };
        if lane.stalled_until.is_some_and(|until| now < until) {
            return Err(queued);
        }
        if lane.queue.is_empty() {
            lane.head_since = now;
        }
        lane.queue.push_back(queued);
        self.waiting |= 1 << (vl & 15);
        Ok(())
    }

    /// The next frame that may leave.
    #[inline]
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Queued<T>> {
        let candidates = self.waiting & self.ready.0;
        if candidates == 0 {
            return None;
        }
        let lanes = &self.lanes;
        let vl = self.arbiter.choose(candidates, |vl| {
            lanes[usize::from(vl)]
                .queue
                .front()
                .map_or(0, |queued| queued.frame.wire_octets())
        });
        self.take(now, vl)
    }

    /// Frames that waited too long, with the reason. To be called until there are no more.
    pub(crate) fn pop_expired(
        &mut self,
        now: Instant,
        limits: &Limits,
    ) -> Option<(Queued<T>, DropReason)> {
        let mut lanes = self.waiting;
        while lanes != 0 {
            let vl = lowest(lanes);
            lanes &= lanes - 1;
            let lane = &mut self.lanes[usize::from(vl)];
            let Some(first) = lane.queue.front() else {
                continue;
            };
            let reason = if limits.life.is_some_and(|life| first.since + life <= now) {
                DropReason::LifeTime
            } else if vl != 15
                && limits
                    .head
                    .is_some_and(|head| lane.head_since + head <= now)
            {
                lane.expired = lane.expired.saturating_add(1);
                if limits.stall_count > 0 && lane.expired >= limits.stall_count {
                    // IBA 18.2.5.4: the lane drops everything for eight times HOQLife.
                    lane.expired = 0;
                    lane.stalled_until = limits.head.map(|head| now + head * 8);
                }
                DropReason::HeadOfQueue
            } else if lane.stalled_until.is_some_and(|until| now < until) {
                DropReason::VlStalled
            } else {
                continue;
            };
            return self.remove_first(now, vl).map(|queued| (queued, reason));
        }
        None
    }

    /// When [`pop_expired`](Self::pop_expired) has something next.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        if self.waiting == 0 || (limits.life.is_none() && limits.head.is_none()) {
            return None;
        }
        (0..16)
            .filter(|vl| self.waiting >> vl & 1 != 0)
            .flat_map(|vl: u8| {
                let lane = &self.lanes[usize::from(vl)];
                let life = limits
                    .life
                    .and_then(|life| lane.queue.front().map(|first| first.since + life));
                let head = limits
                    .head
                    .filter(|_| vl != 15)
                    .map(|head| lane.head_since + head);
                [life, head]
            })
            .flatten()
            .min()
    }

    /// Sets the lanes on which the link has credit; says how long some lane had to wait for it.
    pub(crate) fn set_ready(&mut self, now: Instant, ready: VlMask) -> Duration {
        let opened = self.waiting & !self.ready.0 & ready.0;
        self.ready = ready;
        (0..16)
            .filter(|vl| opened >> vl & 1 != 0)
            .map(|vl: u8| now.saturating_since(self.lanes[usize::from(vl)].head_since))
            .max()
            .unwrap_or_default()
    }

    /// Everything that waits, lane by lane.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Queued<T>> + '_ {
        self.waiting = 0;
        self.lanes.iter_mut().flat_map(|lane| lane.queue.drain(..))
    }

    /// What waits and is meant, by its tag.
    pub(crate) fn drain_where(&mut self, meant: impl Fn(&T) -> bool) -> Vec<Queued<T>> {
        let mut out = Vec::new();
        for (vl, lane) in self.lanes.iter_mut().enumerate() {
            let (taken, kept) = lane
                .queue
                .drain(..)
                .partition::<Vec<_>, _>(|queued| meant(&queued.tag));
            out.extend(taken);
            lane.queue.extend(kept);
            if lane.queue.is_empty() {
                self.waiting &= !(1 << vl);
            }
        }
        out
    }

    /// Whether nothing waits.
    pub(crate) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    #[inline]
    fn take(&mut self, now: Instant, vl: u8) -> Option<Queued<T>> {
        self.lanes[usize::from(vl)].expired = 0;
        self.remove_first(now, vl)
    }

    fn remove_first(&mut self, now: Instant, vl: u8) -> Option<Queued<T>> {
        let lane = &mut self.lanes[usize::from(vl)];
        let first = lane.queue.pop_front();
        lane.head_since = now;
        if lane.queue.is_empty() {
            self.waiting &= !(1 << vl);
        }
        first
    }
}

/// VL arbitration (IBA 7.6.9): VL15, then the high-priority table until its limit, then one packet
/// of the low-priority table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Arbiter {
    low: Table,
    high: Table,
    /// PortInfo.VLHighLimit.
    pub(crate) high_limit: u8,
    /// Octets of high priority since the last packet of low priority.
    high_octets: u64,
}

impl Default for Arbiter {
    /// Every lane has the same share, none a priority.
    fn default() -> Self {
        Self {
            low: Table::even(),
            high: Table::empty(),
            high_limit: 0,
            high_octets: 0,
        }
    }
}

impl Arbiter {
    /// Block 1 to 4 of the two tables, as VLArbitrationTable numbers them.
    pub(crate) fn block(&self, block: u8) -> Option<VlArbBlock> {
        match block {
            1 | 2 => Some(self.low.block(block - 1)),
            3 | 4 => Some(self.high.block(block - 3)),
            _ => None,
        }
    }

    /// Writes block 1 to 4.
    pub(crate) fn set_block(&mut self, block: u8, values: &VlArbBlock) -> Result<(), InvalidField> {
        match block {
            1 | 2 => self.low.set_block(block - 1, values),
            3 | 4 => self.high.set_block(block - 3, values),
            _ => {
                return Err(InvalidField::new(
                    "VLArbitrationTable block",
                    block.into(),
                    "1 to 4",
                ));
            }
        }
        Ok(())
    }

    /// One of the lanes `candidates`, of which there is at least one. `octets` says how long the
    /// first packet of a lane is.
    fn choose(&mut self, candidates: u16, octets: impl Fn(u8) -> u64) -> u8 {
        // IBA 7.6.9: VL15 goes before everything.
        if candidates >> 15 != 0 {
            return 15;
        }
        if candidates.is_power_of_two() {
            return lowest(candidates);
        }
        // 0: one packet; 255: no limit; else units of 4,096 octets.
        let exhausted = match self.high_limit {
            255 => false,
            0 => self.high_octets > 0,
            limit => self.high_octets >= u64::from(limit) * 4096,
        };
        let low_waits = self.low.names_any(candidates);
        if !(exhausted && low_waits)
            && let Some(vl) = self.high.next(candidates, &octets)
        {
            self.high_octets = self.high_octets.saturating_add(octets(vl));
            return vl;
        }
        self.high_octets = 0;
        self.low
            .next(candidates, &octets)
            // A lane that no table names is still not kept for ever.
            .unwrap_or_else(|| lowest(candidates))
    }
}

/// One of the two tables: at most 64 entries, served in turn, each until its weight is used up.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Table {
    entries: [VlWeight; 64],
    current: usize,
    /// What the current entry may still send, in octets.
    remaining: u64,
}

impl Table {
    const fn empty() -> Self {
        const NONE: VlWeight = VlWeight {
            vl: softib_wire::addr::Vl::from_bits_truncate(0),
            weight: 0,
        };
        Self {
            entries: [NONE; 64],
            current: 0,
            remaining: 0,
        }
    }

    fn even() -> Self {
        let mut table = Self::empty();
        for (entry, vl) in table.entries.iter_mut().zip(0..15) {
            *entry = VlWeight {
                vl: softib_wire::addr::Vl::from_bits_truncate(vl),
                weight: 64,
            };
        }
        table
    }

    /// Block 0 or 1 of 32 entries.
    fn block(&self, block: u8) -> VlArbBlock {
        let start = usize::from(block) * 32;
        let mut out = [VlWeight::default(); 32];
        out.copy_from_slice(&self.entries[start..start + 32]);
        out
    }

    /// Writes block 0 or 1.
    fn set_block(&mut self, block: u8, values: &VlArbBlock) {
        let start = usize::from(block) * 32;
        self.entries[start..start + 32].copy_from_slice(values);
        self.remaining = 0;
    }

    fn names_any(&self, candidates: u16) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.weight > 0 && candidates >> entry.vl.bits() & 1 != 0)
    }

    /// The lane whose turn it is. Its weight is reduced by its packet, and may become less than
    /// nothing: a packet once begun is sent whole.
    fn next(&mut self, candidates: u16, octets: impl Fn(u8) -> u64) -> Option<u8> {
        let serves = |entry: &VlWeight| entry.weight > 0 && candidates >> entry.vl.bits() & 1 != 0;
        if self.remaining == 0 || !serves(&self.entries[self.current]) {
            let next = (1..=self.entries.len())
                .map(|step| (self.current + step) % self.entries.len())
                .find(|&index| serves(&self.entries[index]))?;
            self.current = next;
            self.remaining = u64::from(self.entries[next].weight) * 64;
        }
        let vl = self.entries[self.current].vl.bits();
        self.remaining = self.remaining.saturating_sub(octets(vl));
        Some(vl)
    }
}

fn lowest(lanes: u16) -> u8 {
    u8::try_from(lanes.trailing_zeros()).unwrap_or(15)
}

#[cfg(test)]
mod tests {
    use softib_wire::addr::Vl;

    use super::*;
    use crate::frame::Pool;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn frame(vl: u8) -> Frame {
        // With a BTH, so with an ICRC: 64 octets on the wire.
        let mut bytes = [0; 60];
        bytes[1] = 2;
        let mut frame = Pool::new().frame_from(&bytes);
        frame.set_vl(Vl::from_bits_truncate(vl));
        frame
    }

    fn filled(lanes: &[(u8, usize)]) -> Output<()> {
        let mut output = Output::new();
        for &(vl, count) in lanes {
            for _ in 0..count {
                output.push(at(0), frame(vl), ()).unwrap();
            }
        }
        output
    }

    fn order(output: &mut Output<()>) -> Vec<u8> {
        std::iter::from_fn(|| output.pop(at(0)).map(|queued| queued.frame.vl().bits())).collect()
    }

    #[test]
    fn vl15_before_all() {
        let mut output = filled(&[(0, 2), (15, 2)]);
        assert_eq!(order(&mut output), [15, 15, 0, 0]);
    }

    #[test]
    fn weights_share_low_priority() {
        let mut output = filled(&[(0, 4), (1, 8)]);
        let mut block = [VlWeight::default(); 32];
        // Frames are 64 octets on the wire: one unit of weight.
        block[0] = VlWeight {
            vl: Vl::from_bits_truncate(0),
            weight: 1,
        };
        block[1] = VlWeight {
            vl: Vl::from_bits_truncate(1),
            weight: 2,
        };
        output.arbiter.low = Table::empty();
        output.arbiter.low.set_block(0, &block);
        assert_eq!(order(&mut output), [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn high_priority_until_its_limit() {
        for (limit, expected) in [
            // One packet of each in turn.
            (0, vec![1, 0, 1, 0, 1, 0]),
            // No limit.
            (255, vec![1, 1, 1, 0, 0, 0]),
        ] {
            let mut output = filled(&[(0, 3), (1, 3)]);
            let mut block = [VlWeight::default(); 32];
            block[0] = VlWeight {
                vl: Vl::from_bits_truncate(1),
                weight: 10,
            };
            output.arbiter.high.set_block(0, &block);
            block[0].vl = Vl::default();
            output.arbiter.low = Table::empty();
            output.arbiter.low.set_block(0, &block);
            output.arbiter.high_limit = limit;
            assert_eq!(order(&mut output), expected, "limit {limit}");
        }
    }

    #[test]
    fn a_lane_that_no_table_names_still_drains() {
        let mut output = filled(&[(2, 1), (3, 1)]);
        output.arbiter.low = Table::empty();
        assert_eq!(order(&mut output), [2, 3]);
    }

    #[test]
    fn lanes_without_credit_wait() {
        let mut output = filled(&[(0, 1), (1, 1)]);
        output.set_ready(at(0), VlMask(1 << 1));
        assert_eq!(order(&mut output), [1]);
        assert_eq!(
            output.set_ready(at(7), VlMask::ALL),
            Duration::from_micros(7)
        );
        assert_eq!(order(&mut output), [0]);
        assert!(output.is_empty());
    }

    #[test]
    fn head_of_queue_life_and_stall() {
        let limits = Limits {
            life: None,
            head: Some(Duration::from_micros(10)),
            stall_count: 2,
        };
        let mut output = filled(&[(0, 4)]);
        output.set_ready(at(0), VlMask::NONE);
        assert_eq!(output.deadline(&limits), Some(at(10)));
        assert!(output.pop_expired(at(9), &limits).is_none());
        let mut reasons = Vec::new();
        for now in [10, 20, 20, 20] {
            if let Some((_, reason)) = output.pop_expired(at(now), &limits) {
                reasons.push(reason);
            }
        }
        use DropReason::{HeadOfQueue, VlStalled};
        assert_eq!(reasons, [HeadOfQueue, HeadOfQueue, VlStalled, VlStalled]);
        assert!(
            output.push(at(99), frame(0), ()).is_err(),
            "stalled until 100"
        );
        assert!(output.push(at(100), frame(0), ()).is_ok());
    }

    #[test]
    fn life_time_counts_from_arrival() {
        let limits = Limits {
            life: Some(Duration::from_micros(5)),
            head: None,
            stall_count: 0,
        };
        let mut output = filled(&[(0, 2), (15, 1)]);
        output.set_ready(at(0), VlMask::NONE);
        assert!(output.pop_expired(at(4), &limits).is_none());
        for _ in 0..3 {
            let (_, reason) = output.pop_expired(at(5), &limits).unwrap();
            assert_eq!(reason, DropReason::LifeTime);
        }
        assert_eq!(output.deadline(&limits), None);
    }
}
