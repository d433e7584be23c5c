//! Several managers: who is master, and what the others do (IBA 14.4).

use softib_wire::addr::Lid;
use softib_wire::mad::sm_info::{SmInfo, SmState, control};
use softib_wire::mad::status::MadStatus;
use softib_wire::time::Instant;

use super::database::PortId;
use super::smps::Job;
use super::state::{Transition, next, outranks};
use super::sweep::Phase;
use super::{SmEvent, SubnetManager};

/// Another manager.
#[derive(Debug, Clone, Copy)]
pub(super) struct Other {
    pub(super) port: PortId,
    pub(super) info: SmInfo,
}

/// The manager that a standby one watches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    pub(super) port: PortId,
    pub(super) info: SmInfo,
    pub(super) next_poll: Instant,
    misses: u32,
}

impl SubnetManager {
    pub(super) fn on_sm_info(&mut self, now: Instant, port: PortId, info: SmInfo) {
        // IBA 14.4.1.2: a manager that does not know the key is none to reckon with.
        if info.sm_key != self.config.sm_key && info.sm_key != 0 {
            return;
        }
        if let Some(watch) = &mut self.watch {
            if watch.port == port {
                let progress = watch.info.activity_count != info.activity_count
                    || watch.info.state != info.state;
                watch.info = info;
                if progress || info.state == SmState::Master {
                    watch.misses = 0;
                }
                if info.state == SmState::NotActive {
                    self.change_state(now, Transition::MasterLost);
                }
            }
            return;
        }
        let known = self.others.insert(info.guid, Other { port, info });
        if known.is_none_or(|known| known.info.state != info.state) {
            self.tell(SmEvent::OtherManager {
                guid: info.guid,
                state: info.state,
                priority: info.priority,
            });
        }
    }

    /// Discovery ended: whether this manager is to go on and be master.
    pub(super) fn elect(&mut self, now: Instant) -> bool {
        let database = &self.database;
        self.others
            .retain(|_, other| database.port(other.port).is_some());
        let me = self.sm_info();
        let active = |other: &&Other| other.info.state != SmState::NotActive;
        let master = self
            .others
            .values()
            .find(|other| other.info.state == SmState::Master)
            .copied();
        let better = self
            .others
            .values()
            .filter(active)
            .filter(|other| outranks(&other.info, &me))
            .copied()
            .reduce(|a, b| if outranks(&b.info, &a.info) { b } else { a });
        match self.state {
            SmState::Discovering => match master.or(better) {
                Some(other) => {
                    self.stand_by(now, other, Transition::OtherFound);
                    false
                }
                None => {
                    self.change_state(now, Transition::Alone);
                    true
                }
            },
            SmState::Master => {
                if let Some(other) = better {
                    // IBA 14.4.1.3: the better one is asked to take over. Until it answers all goes on.
                    self.smps
                        .push(Job::SetSmInfo(other.port, control::HANDOVER));
                }
                true
            }
            SmState::Standby | SmState::NotActive => false,
        }
    }

    /// Another manager accepted a Set(SMInfo).
    pub(super) fn on_sm_info_set(&mut self, now: Instant, port: PortId, control: u32) {
        if control == control::HANDOVER
            && self.state == SmState::Master
            && let Some(other) = self
                .others
                .values()
                .find(|other| other.port == port)
                .copied()
        {
            self.stand_by(now, other, Transition::Yield);
        }
    }

    fn stand_by(&mut self, now: Instant, other: Other, transition: Transition) {
        self.change_state(now, transition);
        self.watch = Some(Watch {
            port: other.port,
            info: other.info,
            next_poll: now + self.config.standby_poll,
            misses: 0,
        });
    }

    /// Asks the master whether it is alive.
    pub(super) fn watch_master(&mut self, now: Instant) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        if watch.next_poll > now {
            return;
        }
        watch.next_poll = now + self.config.standby_poll;
        watch.misses += 1;
        let (port, misses, guid) = (watch.port, watch.misses, watch.info.guid);
        if misses > self.config.standby_misses {
            // What it said of itself is no longer so. If it lives after all, discovery asks it again.
            self.others.remove(&guid);
            self.change_state(now, Transition::MasterLost);
            return;
        }
        // One question at a time: the next one is the retry.
        self.smps.abort();
        self.smps.push(Job::SmInfo(port));
    }

    /// What follows from a change of state. False: it cannot happen now.
    pub(super) fn change_state(&mut self, now: Instant, transition: Transition) -> bool {
        let from = self.state;
        let Some(to) = next(from, transition) else {
            return false;
        };
        self.state = to;
        if from != to {
            self.tell(SmEvent::StateChanged { from, to });
        }
        match to {
            SmState::Master => {
                self.watch = None;
                if from != SmState::Master {
                    self.take_charge();
                }
                if transition == Transition::Handover {
                    self.pending.heavy_at(now);
                }
            }
            SmState::Discovering => {
                self.watch = None;
                self.pending.heavy_at(now);
            }
            SmState::Standby | SmState::NotActive => {
                if to == SmState::NotActive {
                    self.watch = None;
                }
                self.next_light_sweep = None;
                self.smps.abort();
                self.sweep = None;
                self.phase = Phase::Idle;
            }
        }
        true
    }

    /// A new master knows nothing of what tables hold, and clients do not know it.
    fn take_charge(&mut self) {
        self.planned = false;
        self.lids = super::Lids::default();
        let nodes: Vec<_> = self.database.nodes().map(|(id, _)| id).collect();
        for id in nodes {
            if let Some(node) = self.database.node_mut(id) {
                let pkeys: Vec<_> = node
                    .ports
                    .iter_mut()
                    .map(|port| port.pkeys.take())
                    .collect();
                node.forget_tables();
                // P_Key tables of end ports were read just now.
                for (port, pkeys) in node.ports.iter_mut().zip(pkeys) {
                    if port.guid.is_some() {
                        port.pkeys = pkeys;
                        port.lid = Lid::NONE;
                        port.reregister = true;
                    }
                }
            }
        }
        self.change.any = true;
        self.change.fabric_grew = true;
    }

    /// Set(SMInfo) by another manager: whether it is obeyed, and what is answered.
    pub(super) fn obey(&mut self, now: Instant, theirs: &SmInfo, control: u32) -> MadStatus {
        if theirs.sm_key != self.config.sm_key {
            return MadStatus::BAD_FIELD;
        }
        let transition = match control {
            control::HANDOVER => Transition::Handover,
            control::DISABLE => Transition::Disable,
            control::STANDBY => Transition::Standby,
            control::DISCOVER => Transition::Discover,
            control::ACKNOWLEDGE => return MadStatus::OK,
            _ => return MadStatus::BAD_FIELD,
        };
        if !self.change_state(now, transition) {
            return MadStatus::BAD_FIELD;
        }
        if control == control::STANDBY && self.watch.is_none() {
            // Whom to watch is to be found out first.
            self.change_state(now, Transition::Discover);
        }
        MadStatus::OK
    }
}
