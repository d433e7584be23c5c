//! A link between two ports: trains, carries frames both ways, and does to them what it is told to.
//!
//! An ideal link (the default) hands a frame over as it is, a large send whole. One with a rate,
//! delay, loss or the like carries packet by packet, with the credits of IBA 7.9: a packet is sent
//! only when the other side has room for it, so that nothing is lost for lack of a buffer.
//!
//! In: [`Link::send`], [`set_up`](Link::set_up), [`set_impairment`](Link::set_impairment),
//! [`handle_event`](Link::handle_event) with all that the nodes at its ends say, and
//! [`handle_timeout`](Link::handle_timeout). Out: [`poll_deliver`](Link::poll_deliver),
//! [`poll_event`](Link::poll_event).

mod credit;
mod impairment;
#[cfg(test)]
mod tests;
mod way;

use std::collections::VecDeque;

use softib_wire::time::Instant;

pub use impairment::Impairment;
pub use way::LinkCounters;

use crate::drop::DropReason;
use crate::event::{NodeEvent, PhysicalCommand, VlMask};
use crate::frame::{Frame, Pool};
use way::Way;

/// An end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// One.
    A,
    /// The other.
    B,
}

impl End {
    /// Both.
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    /// The other end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// What the node at an end must be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkNotice {
    /// The link trained, or went away: `handle_link`.
    Trained(bool),
    /// The lanes with credit changed: `handle_ready`.
    Ready(VlMask),
}

/// What a link is made with.
#[derive(Debug, Clone)]
pub struct LinkConfig {
    /// Whether it is plugged in.
    pub up: bool,
    /// What it does to packets.
    pub impairment: Impairment,
    /// What its randomness comes from.
    pub seed: u64,
    /// Where packets that it makes come from.
    pub pool: Pool,
}

/// A link.
#[derive(Debug)]
pub struct Link {
    pool: Pool,
    rng: fastrand::Rng,
    impairment: Impairment,
    ideal: bool,
    plugged: bool,
    /// By end: the port there is not switched off.
    enabled: [bool; 2],
    trained: bool,
    /// By the end that sends.
    ways: [Way; 2],
    /// The way to be looked at first.
    turn: End,
    notices: VecDeque<(End, LinkNotice)>,
}

impl Link {
    /// A link whose two ports are switched on.
    #[must_use]
    pub fn new(config: LinkConfig) -> Self {
        let mut link = Self {
            pool: config.pool,
            rng: fastrand::Rng::with_seed(config.seed),
            ideal: config.impairment.is_ideal(),
            impairment: config.impairment,
            plugged: config.up,
            enabled: [true; 2],
            trained: false,
            ways: [Way::new(), Way::new()],
            turn: End::A,
            notices: VecDeque::new(),
        };
        link.train();
        link
    }

    /// Whether the ports see each other.
    #[must_use]
    pub const fn is_trained(&self) -> bool {
        self.trained
    }

    /// Whether it is plugged in.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.plugged
    }

    /// Plugs it in, or pulls it out. What is under way then is lost.
    pub fn set_up(&mut self, up: bool) {
        self.plugged = up;
        self.train();
    }

    /// What it does to packets.
    #[must_use]
    pub const fn impairment(&self) -> &Impairment {
        &self.impairment
    }

    /// Makes it do something else. What is under way arrives at once.
    pub fn set_impairment(&mut self, impairment: Impairment) {
        if impairment == self.impairment {
            return;
        }
        self.ideal = impairment.is_ideal();
        self.impairment = impairment;
        for way in &mut self.ways {
            way.flush();
        }
        self.note_ready();
    }

    /// What it counted of the packets that `from` sent.
    #[must_use]
    pub const fn counters(&self, from: End) -> &LinkCounters {
        &self.ways[from.index()].counters
    }

    /// The node at `end` says something. What is not for the link is not looked at.
    pub fn handle_event(&mut self, now: Instant, end: End, event: &NodeEvent) {
        match *event {
            NodeEvent::Physical { command, .. } => {
                match command {
                    PhysicalCommand::Disable => self.enabled[end.index()] = false,
                    PhysicalCommand::Enable => self.enabled[end.index()] = true,
                    PhysicalCommand::Retrain => self.untrain(),
                }
                self.train();
            }
            NodeEvent::Flow { open, .. } => {
                self.ways[end.other().index()].open = open;
                self.handle_timeout(now);
            }
            _ => {}
        }
    }

    /// The port at `from` sends a frame.
    #[inline]
    pub fn send(&mut self, now: Instant, from: End, frame: Frame) {
        let way = &mut self.ways[from.index()];
        if !self.trained {
            way.counters
                .drops
                .add_many(DropReason::LinkDown, frame.wire_packets());
            return;
        }
        if self.ideal {
            way.pass(frame);
        } else {
            way.queue(now, &frame, &self.pool);
            way.advance(now, &self.impairment, &mut self.rng, &self.pool);
        }
        if let Some(ready) = way.changed_ready(&self.impairment) {
            self.notices.push_back((from, LinkNotice::Ready(ready)));
        }
    }

    /// The next frame that arrives, and the end that it arrives at.
    #[inline]
    pub fn poll_deliver(&mut self, now: Instant) -> Option<(End, Frame)> {
        for from in [self.turn, self.turn.other()] {
            let way = &mut self.ways[from.index()];
            if !self.ideal {
                way.advance(now, &self.impairment, &mut self.rng, &self.pool);
            }
            if let Some(frame) = way.deliver(now, &self.impairment) {
                if let Some(ready) = way.changed_ready(&self.impairment) {
                    self.notices.push_back((from, LinkNotice::Ready(ready)));
                }
                self.turn = from.other();
                return Some((from.other(), frame));
            }
        }
        None
    }

    /// The next thing that the node at an end must be told.
    pub fn poll_event(&mut self) -> Option<(End, LinkNotice)> {
        self.notices.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.ideal {
            return None;
        }
        self.ways
            .iter()
            .filter_map(|way| way.deadline(&self.impairment))
            .min()
    }

    /// Lets time pass. Then [`poll_deliver`](Self::poll_deliver) again.
    pub fn handle_timeout(&mut self, now: Instant) {
        if !self.ideal {
            for way in &mut self.ways {
                way.advance(now, &self.impairment, &mut self.rng, &self.pool);
            }
        }
        self.note_ready();
    }

    fn note_ready(&mut self) {
        for end in End::ALL {
            if let Some(ready) = self.ways[end.index()].changed_ready(&self.impairment) {
                self.notices.push_back((end, LinkNotice::Ready(ready)));
            }
        }
    }

    /// Brings the link into the state that it should be in.
    fn train(&mut self) {
        let trained = self.plugged && self.enabled == [true; 2];
        if trained && !self.trained {
            self.trained = true;
            for end in End::ALL {
                self.notices.push_back((end, LinkNotice::Trained(true)));
            }
        } else if !trained {
            self.untrain();
        }
    }

    fn untrain(&mut self) {
        if !std::mem::take(&mut self.trained) {
            return;
        }
        for end in End::ALL {
            self.ways[end.index()].clear();
            self.notices.push_back((end, LinkNotice::Trained(false)));
            self.notices
                .push_back((end, LinkNotice::Ready(VlMask::ALL)));
        }
    }
}
