//! Carrier, and what events of the port do to it.
//!
//! | event | what is kept |
//! | --- | --- |
//! | client reregister, GID change | all: memberships and paths are asked for again while they serve (light) |
//! | port down or up, LID change | addresses and settings: carrier goes off and comes again (normal) |
//! | P_Key change | the same, in the other partition (heavy) |
//!
//! A change of the subnet manager alone is no event of the interface.

use softib_wire::addr::{Gid, Lid};
use softib_wire::time::Instant;

use crate::group::{Group, Membership};
use crate::interface::{Action, Interface, PortEvent};
use crate::partition::PartitionChange;

/// Whom to tell when groups are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    /// The subnet administration hears of all.
    All,
    /// Of those that are not joined again at once.
    SendOnly,
    /// Of none: the port is down.
    Silent,
}

impl Interface {
    /// Something has happened to the port.
    pub fn handle_port(&mut self, now: Instant, event: PortEvent<'_>) {
        self.now = now;
        match event {
            PortEvent::Active { lid, lmc } | PortEvent::LidChanged { lid, lmc } => {
                let moved = (self.port.lid, self.port.lmc) != (lid, lmc);
                if moved && self.running {
                    self.stop(Leaving::SendOnly);
                }
                self.port.lid = lid;
                self.port.lmc = lmc;
                if matches!(event, PortEvent::Active { .. }) {
                    self.port.active = true;
                }
                self.evaluate(now);
            }
            PortEvent::Down => {
                self.port.active = false;
                self.port.lid = Lid::NONE;
                self.evaluate(now);
            }
            PortEvent::PKeysChanged { table } => {
                let changed = self.partition.set_table(table) == PartitionChange::Changed;
                if changed && self.running {
                    self.stop(Leaving::All);
                }
                self.evaluate(now);
            }
            PortEvent::GidChanged { prefix } => {
                if self.port.prefix == prefix {
                    return;
                }
                self.port.prefix = prefix;
                let hardware = self.hardware_address();
                self.act(Action::HardwareAddress(hardware));
                if self.running {
                    self.flush_lightly(now);
                    self.announce(now);
                }
            }
            PortEvent::ClientReregister => {
                if self.running {
                    self.flush_lightly(now);
                }
            }
        }
    }

    /// Starts or stops, if what that depends on has changed.
    pub(crate) fn evaluate(&mut self, now: Instant) {
        let may_run = self.admin_up && self.port.active && self.partition.is_present();
        if may_run && !self.running {
            self.start(now);
        } else if !may_run && self.running {
            self.stop(if self.port.active {
                Leaving::All
            } else {
                Leaving::Silent
            });
        }
    }

    fn start(&mut self, now: Instant) {
        let Some(index) = self.partition.index() else {
            return;
        };
        self.running = true;
        self.act(Action::SetPKeyIndex(index));
        let broadcast = self.broadcast_mgid();
        self.groups
            .by_mgid
            .insert(broadcast, Group::new(now, Membership::Full));
        self.join(now, broadcast);
        self.sync_groups(now);
        self.start_collecting(now);
    }

    fn stop(&mut self, leaving: Leaving) {
        self.running = false;
        if self.carrier {
            self.carrier = false;
            self.act(Action::Carrier(false));
        }
        self.flush_neighbours_and_paths();
        let groups: Vec<(Gid, Membership)> = self
            .groups
            .by_mgid
            .iter()
            .map(|(mgid, group)| (*mgid, group.wanted))
            .collect();
        for (mgid, membership) in groups {
            let tell = match leaving {
                Leaving::All => true,
                Leaving::SendOnly => membership == Membership::SendOnly,
                Leaving::Silent => false,
            };
            self.leave(mgid, tell);
        }
        self.reset_detection();
        self.timers.cancel_all(|_| true);
    }

    fn flush_lightly(&mut self, now: Instant) {
        self.doubt_all_paths();
        self.rejoin_all(now);
    }
}
