//! Sweeps and their phases.
//!
//! ```text
//! light:    Poll ─▶ (a switch reports a change: partial)
//! partial,  Discover ─▶ ArmSwitches ─▶ ActivateSwitches ─▶ Tables ─▶ MulticastShrink ─▶ MulticastGrow
//! heavy:       ─▶ ArmHosts ─▶ ActivateHosts
//! groups:   MulticastShrink ─▶ MulticastGrow
//! ```
//!
//! Links between switches are Active before tables use them, so that a link that comes back takes no
//! packet with it; hosts are let in last, when all tables are there.

use std::collections::BTreeSet;

use softib_wire::mad::sm_info::SmState;
use softib_wire::time::{Duration, Instant};

use super::database::NodeId;
use super::smps::Job;
use super::{SmEvent, SubnetManager, SweepKind};

/// What the SMPs under way are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nothing.
    Idle,
    /// Every switch is asked whether something changed.
    Poll,
    /// Nodes, ports and links are read.
    Discover,
    /// P_Keys; LIDs of switches; links between switches to Armed.
    ArmSwitches,
    /// Links between switches to Active.
    ActivateSwitches,
    /// Linear forwarding tables.
    Tables,
    /// Old links of trees that were made anew are taken out of multicast forwarding tables.
    MulticastShrink,
    /// Multicast forwarding tables.
    MulticastGrow,
    /// LIDs of channel adapters, and their links to Armed.
    ArmHosts,
    /// Links of channel adapters to Active; clients told to register again.
    ActivateHosts,
}

/// A sweep under way.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) kind: SweepKind,
    pub(super) number: u64,
    pub(super) started: Instant,
    pub(super) smps_before: u64,
    pub(super) errors: u64,
}

/// What changed since tables were computed.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Change {
    /// Anything.
    pub(super) any: bool,
    /// A link between switches, or a switch: routes are balanced anew.
    pub(super) fabric_grew: bool,
}

/// Sweeps that are wanted.
#[derive(Debug, Default)]
pub(super) struct Pending {
    heavy: Option<Instant>,
    partial: Option<Instant>,
    /// Switches to read again.
    pub(super) switches: BTreeSet<NodeId>,
    /// Ports to read again, with the description of their node.
    pub(super) ports: BTreeSet<super::database::PortId>,
    /// Sweeps given up in a row because of something newer.
    pub(super) given_up: u32,
    /// Sweeps in a row that met errors.
    pub(super) failures: u32,
}

/// So many times in a row a sweep is given up for a newer one; then it is brought to its end, or a
/// link that flaps could keep the subnet from ever being finished.
const MAX_GIVEN_UP: u32 = 3;

impl Pending {
    pub(super) fn heavy_at(&mut self, at: Instant) {
        self.heavy = Some(self.heavy.map_or(at, |old| old.min(at)));
    }

    pub(super) fn partial_at(&mut self, at: Instant) {
        self.partial = Some(self.partial.map_or(at, |old| old.min(at)));
    }

    /// When the next sweep is wanted.
    pub(super) fn due(&self) -> Option<Instant> {
        [self.heavy, self.partial].into_iter().flatten().min()
    }

    fn take(&mut self, now: Instant) -> Option<SweepKind> {
        if self.heavy.is_some_and(|at| at <= now) {
            self.heavy = None;
            self.partial = None;
            return Some(SweepKind::Heavy);
        }
        if self.partial.is_some_and(|at| at <= now) {
            self.partial = None;
            return Some(SweepKind::Partial);
        }
        None
    }
}

impl SubnetManager {
    /// Goes on as far as it can without an answer.
    pub(super) fn advance(&mut self, now: Instant) {
        loop {
            if self.gives_up() && self.pending.due().is_some_and(|at| at <= now) {
                self.give_up(now);
            }
            if !self.smps.is_idle() {
                return;
            }
            if self.phase != Phase::Idle {
                self.next_phase(now);
            } else if !self.begin_work(now) {
                return;
            }
        }
    }

    /// Whether the work under way is worth less than what is pending: what it would write is out of
    /// date.
    fn gives_up(&self) -> bool {
        match self.phase {
            Phase::Idle | Phase::Discover => false,
            Phase::Poll => true,
            _ => {
                self.state == SmState::Master
                    && (self.sweep.is_none() || self.pending.given_up < MAX_GIVEN_UP)
            }
        }
    }

    fn give_up(&mut self, now: Instant) {
        self.smps.abort();
        if self.phase == Phase::Poll {
            // Those that were not asked yet are asked after this.
            self.next_light_sweep = Some(now + Duration::from_millis(100));
        } else {
            self.pending.given_up += 1;
        }
        self.phase = Phase::Idle;
        if let Some(sweep) = self.sweep.take()
            && sweep.errors > 0
            && sweep.kind != SweepKind::Light
        {
            self.look_again(now);
        }
    }

    /// Something did not answer: it may be on its way out, or it may have been bad luck.
    fn look_again(&mut self, now: Instant) {
        self.pending.failures = self.pending.failures.saturating_add(1);
        let wait = Duration::from_millis(500) * (1 << self.pending.failures.min(4));
        self.pending
            .heavy_at(now + wait.min(self.config.sweep_interval));
    }

    /// Begins what is wanted, if anything.
    fn begin_work(&mut self, now: Instant) -> bool {
        match self.state {
            SmState::Master | SmState::Discovering => {}
            SmState::Standby | SmState::NotActive => return false,
        }
        if let Some(kind) = self.pending.take(now) {
            self.start_sweep(now, kind);
            return true;
        }
        if self.state == SmState::Master && !self.multicast.touched.is_empty() {
            self.update_trees(false);
            self.enter(Phase::MulticastShrink);
            return true;
        }
        false
    }

    pub(super) fn start_sweep(&mut self, now: Instant, kind: SweepKind) {
        let kind = match self.database.own {
            None => SweepKind::Heavy,
            Some(_) => kind,
        };
        let statistics = &mut self.statistics;
        match kind {
            SweepKind::Light => statistics.light_sweeps += 1,
            SweepKind::Partial => statistics.partial_sweeps += 1,
            SweepKind::Heavy => statistics.heavy_sweeps += 1,
        }
        let number = statistics.light_sweeps + statistics.partial_sweeps + statistics.heavy_sweeps;
        self.smps.abort();
        self.sweep = Some(Sweep {
            kind,
            number,
            started: now,
            smps_before: self.smps.sent,
            errors: 0,
        });
        if kind != SweepKind::Light {
            self.tell(SmEvent::SweepStarted { kind, number });
        }
        match kind {
            SweepKind::Light => {
                self.phase = Phase::Poll;
                self.poll_switches();
            }
            SweepKind::Partial => {
                self.phase = Phase::Discover;
                self.read_pending();
            }
            SweepKind::Heavy => {
                self.phase = Phase::Discover;
                self.pending.switches.clear();
                self.pending.ports.clear();
                self.others.clear();
                self.smps.push(Job::Probe(None));
            }
        }
    }

    fn poll_switches(&mut self) {
        for (id, ..) in self.database.switches() {
            self.smps.push(Job::SwitchInfo(id));
        }
        if let Some(own) = self.database.own {
            self.smps.push(Job::PortInfo(own));
        }
    }

    /// Everything of this phase was answered.
    fn next_phase(&mut self, now: Instant) {
        let next = match self.phase {
            Phase::Idle => return,
            Phase::Poll => {
                let errors = self.sweep.as_ref().map_or(0, |sweep| sweep.errors);
                if errors > 0 {
                    self.pending.heavy_at(now);
                }
                return self.finish(now);
            }
            Phase::Discover => {
                self.end_discovery(now);
                if self.database.own.is_none() || !self.elect(now) {
                    return self.finish(now);
                }
                self.plan();
                Phase::ArmSwitches
            }
            Phase::ArmSwitches => Phase::ActivateSwitches,
            Phase::ActivateSwitches => Phase::Tables,
            Phase::Tables => Phase::MulticastShrink,
            Phase::MulticastShrink => Phase::MulticastGrow,
            Phase::MulticastGrow => {
                self.trees.settle();
                self.release_batch();
                if self.sweep.is_none() {
                    self.phase = Phase::Idle;
                    return;
                }
                Phase::ArmHosts
            }
            Phase::ArmHosts => Phase::ActivateHosts,
            Phase::ActivateHosts => return self.finish(now),
        };
        self.enter(next);
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.push_writes(phase);
    }

    fn finish(&mut self, now: Instant) {
        self.phase = Phase::Idle;
        let Some(sweep) = self.sweep.take() else {
            return;
        };
        if self.state == SmState::Master && self.next_light_sweep.is_none() {
            self.next_light_sweep = Some(now + self.config.sweep_interval);
        }
        if sweep.kind == SweepKind::Light {
            return;
        }
        let took = now - sweep.started;
        self.statistics.last_sweep = Some(took);
        self.pending.given_up = 0;
        let complete = sweep.errors == 0 && self.database.own.is_some();
        if complete {
            self.pending.failures = 0;
        } else {
            self.look_again(now);
        }
        self.tell(SmEvent::SweepDone {
            kind: sweep.kind,
            number: sweep.number,
            took,
            smps: self.smps.sent - sweep.smps_before,
            errors: sweep.errors,
        });
        if complete && self.state == SmState::Master {
            if self.statistics.bring_up.is_none() {
                self.statistics.bring_up = Some(took);
            }
            self.tell(SmEvent::SubnetUp);
        }
    }

    /// Something was not answered, or was refused.
    pub(super) fn note_error(&mut self) {
        if let Some(sweep) = &mut self.sweep {
            sweep.errors += 1;
        }
    }

    /// The number of the sweep under way.
    pub(super) fn sweep_number(&self) -> u64 {
        self.sweep.as_ref().map_or(0, |sweep| sweep.number)
    }

    pub(super) fn is_heavy(&self) -> bool {
        self.sweep
            .as_ref()
            .is_some_and(|sweep| sweep.kind == SweepKind::Heavy)
    }
}
