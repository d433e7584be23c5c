//! The subnet manager: discovers the subnet, gives every port its LID, computes and writes
//! forwarding tables, multicast trees and partitions, brings links to Active, and follows changes.
//!
//! It knows nothing beforehand and speaks only in MADs, so that any other manager could take its
//! place. The subnet administrator ([`crate::sa`]) works on its database.
//!
//! A sweep goes through phases (`sweep`); in each the manager asks or sets many things at once (`smps`)
//! and waits until all are answered. What is written is always the difference between what is to be
//! (computed from the database) and what is known to be there, so a sweep can be given up at any
//! point, and the next one does what is left.
//!
//! A change in the subnet is met in steps of growing cost: a trap or a light sweep names the switches
//! that changed; only those are read again (a partial sweep), new routes are found, and changed
//! blocks are written. Only what that cannot explain leads to a heavy sweep.

mod config;
pub(crate) mod database;
mod discovery;
mod election;
mod event;
mod graph;
mod incoming;
mod lids;
pub(crate) mod links;
mod multicast;
mod partitions;
mod program;
mod routing;
mod smps;
mod state;
mod sweep;
pub(crate) mod trace;
pub mod view;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use softib_wire::addr::Guid;
use softib_wire::mad::sm_info::SmInfo;
use softib_wire::time::{Duration, Instant};

pub use config::{ConfigError, IpoibGroup, Members, Membership, Partition, SmConfig};
pub use event::{SmEvent, SweepKind};
pub use incoming::{SmDrop, SmDrops};
pub use softib_wire::mad::sm_info::SmState;

use crate::mad::{Endpoint, Mad};
use crate::sa;
use database::Database;
use election::{Other, Watch};
use graph::{Distances, SwitchGraph};
use lids::Lids;
use multicast::Trees;
use smps::Smps;
use sweep::{Change, Pending, Phase, Sweep};

pub(crate) use multicast::PortMask;

/// A MAD for the manager: an SMP that answers it, a trap, a question about SMInfo, or any MAD of
/// the class of subnet administration.
#[derive(Debug, Clone, Copy)]
pub struct SmIncoming<'a> {
    /// Where it came from. Of a directed-route SMP only the queue pair counts.
    pub from: Endpoint,
    /// The MAD.
    pub mad: &'a Mad,
}

/// A MAD from the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmOutgoing {
    /// How it goes.
    pub route: Route,
    /// The MAD.
    pub mad: Mad,
}

/// How a MAD goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A directed-route SMP: it holds its own route and goes to the SMI of the manager's port, which
    /// treats it as one that comes from the node itself (IBA 14.2.2). A hop count of 0 means the
    /// node's own agent; an answer goes back the way that the question came.
    Directed,
    /// By LID, from QP0 or QP1 as the queue pair of the destination says, with that queue pair's
    /// well-known Q_Key.
    Lid(Endpoint),
}

/// Events that nobody fetched are forgotten beyond this many, the oldest first.
const MAX_EVENTS: usize = 65_536;

/// The subnet manager.
///
/// Call [`Self::handle_timeout`] once to start it. From then on hand in MADs and port changes
/// (`handle_*`), and after every call fetch what there is to send ([`Self::poll_transmit`]) and to
/// tell ([`Self::poll_event`]) until both are empty; then wait until [`Self::poll_timeout`].
#[derive(Debug)]
pub struct SubnetManager {
    config: SmConfig,
    state: SmState,
    started: bool,

    database: Database,
    lids: Lids,
    graph: SwitchGraph,
    distances: Distances,
    trees: Trees,
    sa: sa::Server,

    smps: Smps,
    phase: Phase,
    sweep: Option<Sweep>,
    pending: Pending,
    change: Change,
    multicast: MulticastWork,
    /// Everything was computed at least once since this manager is master: the administrator knows what
    /// it speaks of.
    planned: bool,

    others: BTreeMap<Guid, Other>,
    watch: Option<Watch>,
    activity_count: u32,
    next_light_sweep: Option<Instant>,

    outgoing: VecDeque<SmOutgoing>,
    events: VecDeque<SmEvent>,
    statistics: Statistics,
    drops: SmDrops,
}

/// Changes of groups that forwarding tables have to follow.
#[derive(Debug, Default)]
struct MulticastWork {
    /// Multicast LIDs, less 0xC000, whose members changed.
    touched: BTreeSet<u16>,
    /// The number of the batch that they will be part of.
    next_batch: u64,
    /// The batch that is being written.
    batch: u64,
    /// Answers to joins wait until the tree reaches the new member, or the first packets that it sends
    /// or waits for would be lost.
    held: VecDeque<Held>,
}

#[derive(Debug)]
struct Held {
    batch: u64,
    until: Instant,
    answer: SmOutgoing,
}

/// Answers to joins wait no longer than this.
const HOLD: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct Statistics {
    light_sweeps: u64,
    partial_sweeps: u64,
    heavy_sweeps: u64,
    last_sweep: Option<Duration>,
    bring_up: Option<Duration>,
    traps: u64,
}

impl SubnetManager {
    /// A manager that has not begun.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(config: SmConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let mut rng = fastrand::Rng::with_seed(config.seed);
        Ok(Self {
            state: SmState::Discovering,
            started: false,
            database: Database::default(),
            lids: Lids::default(),
            graph: SwitchGraph::default(),
            distances: Distances::default(),
            trees: Trees::default(),
            sa: sa::Server::new(rng.u32(..)),
            smps: Smps::new(config.retry, config.max_outstanding, rng.u32(1..)),
            phase: Phase::Idle,
            sweep: None,
            pending: Pending::default(),
            change: Change::default(),
            multicast: MulticastWork::default(),
            planned: false,
            others: BTreeMap::new(),
            watch: None,
            activity_count: 0,
            next_light_sweep: None,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            statistics: Statistics::default(),
            drops: SmDrops::default(),
            config,
        })
    }

    /// Takes a MAD in.
    pub fn handle_mad(&mut self, now: Instant, incoming: SmIncoming<'_>) {
        if let Err(reason) = self.take_mad(now, incoming) {
            self.drops.add(reason);
        }
        self.advance(now);
    }

    /// The link of the manager's own port came up or went down.
    pub fn handle_port(&mut self, now: Instant, _up: bool) {
        if self.started {
            self.pending.heavy_at(now);
            self.advance(now);
        }
    }

    /// The next MAD to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<SmOutgoing> {
        // Tables first: an answer is not to overtake what it promises.
        while let Some((transaction_id, job)) = self.smps.next() {
            if let Some((smp, path)) = self.request(job, transaction_id) {
                self.smps.sent(now, &smp, path);
                return Some(SmOutgoing {
                    route: Route::Directed,
                    mad: smp.to_bytes(),
                });
            }
            self.smps.cancel(transaction_id);
            self.advance(now);
        }
        if let Some(outgoing) = self.outgoing.pop_front() {
            return Some(outgoing);
        }
        let (to, mad) = self.sa.poll_transmit(now)?;
        Some(SmOutgoing {
            route: Route::Lid(to),
            mad,
        })
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<SmEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if !self.started {
            return Some(Instant::ZERO);
        }
        let held = self.multicast.held.front().map(|held| held.until);
        // A sweep begins only when nothing is under way: until then its time is no deadline.
        let pending = self.pending.due().filter(|_| {
            self.phase == Phase::Idle
                && self.smps.is_idle()
                && matches!(self.state, SmState::Discovering | SmState::Master)
        });
        [
            self.smps.poll_timeout(),
            self.next_light_sweep,
            self.watch.as_ref().map(|watch| watch.next_poll),
            self.sa.poll_timeout(),
            held,
            pending,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if !self.started {
            self.started = true;
            self.start_sweep(now, SweepKind::Heavy);
        }
        for job in self.smps.handle_timeout(now) {
            self.unanswered(now, job);
        }
        if self.next_light_sweep.is_some_and(|at| at <= now) {
            self.next_light_sweep = Some(now + self.config.sweep_interval);
            self.activity_count = self.activity_count.wrapping_add(1);
            if self.phase == Phase::Idle && self.state == SmState::Master {
                self.start_sweep(now, SweepKind::Light);
            }
        }
        self.watch_master(now);
        self.sa.handle_timeout(now);
        self.release_held(now);
        self.advance(now);
    }

    /// Replaces the partitions, and writes what follows from that.
    ///
    /// # Errors
    /// Two partitions have one P_Key, or a P_Key names none. Nothing is changed then.
    pub fn set_partitions(
        &mut self,
        now: Instant,
        partitions: Vec<Partition>,
    ) -> Result<(), ConfigError> {
        config::check_partitions(&partitions)?;
        self.config.partitions = partitions;
        if self.started {
            self.pending.partial_at(now);
            self.advance(now);
        }
        Ok(())
    }

    /// Discovers everything anew.
    pub fn sweep(&mut self, now: Instant) {
        if self.started {
            self.pending.heavy_at(now);
            self.advance(now);
        }
    }

    /// State of the manager.
    #[must_use]
    pub const fn state(&self) -> SmState {
        self.state
    }

    /// Whether the subnet is as the manager wants it: no sweep under way, nothing left to write.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.started
            && self.phase == Phase::Idle
            && self.pending.due().is_none()
            && self.multicast.touched.is_empty()
            && self.trees.is_clean()
    }

    /// MADs dropped, by reason.
    #[must_use]
    pub const fn drops(&self) -> &SmDrops {
        &self.drops
    }

    fn tell(&mut self, event: SmEvent) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// SMInfo of this manager.
    const fn sm_info(&self) -> SmInfo {
        SmInfo {
            guid: self.config.port_guid,
            sm_key: self.config.sm_key,
            activity_count: self.activity_count,
            priority: self.config.priority,
            state: self.state,
        }
    }
}
