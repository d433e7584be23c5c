//! Traps: what the agent tells the subnet manager unasked, until it hears that it was heard
//! (IBA 13.4.9, 14.2.5.1, 14.3).

use std::collections::BTreeMap;

use softib_wire::addr::{Lid, MKey, Sl};
use softib_wire::mad::attribute::NOTICE;
use softib_wire::mad::method;
use softib_wire::mad::notice::{Details, Notice, NoticeType, TrapNumber};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::smp::LidSmp;
use softib_wire::time::{Duration, Instant};
use softib_wire::units::{self, NodeType, PortState};

use super::{SmaDrop, SmaDrops};
use crate::agents::ManagedNode;
use crate::mad::Mad;

/// A trap to send, from QP0 to QP0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trap {
    /// The port that it leaves by: 0 of a switch.
    pub port: u8,
    /// LID of the subnet manager.
    pub lid: Lid,
    /// Service level to it.
    pub sl: Sl,
    /// The MAD.
    pub mad: Mad,
}

/// Notices that the manager has not acknowledged. One of each trap a port: a newer one takes the
/// place of an older, so that peers who provoke them cannot fill memory.
#[derive(Debug)]
pub(super) struct Traps {
    node_type: NodeType,
    /// The high half of the transaction IDs.
    owner: u32,
    next: u32,
    pending: BTreeMap<(u8, TrapNumber), Pending>,
    /// When a trap of this number was last sent by this port.
    last_sent: BTreeMap<(u8, TrapNumber), Instant>,
}

#[derive(Debug)]
struct Pending {
    details: Details,
    /// Of the last attempt.
    transaction_id: u64,
    /// Attempts, of these details.
    sent: u32,
    due: Instant,
}

impl Traps {
    pub(super) const fn new(node_type: NodeType, owner: u32) -> Self {
        Self {
            node_type,
            owner,
            next: 0,
            pending: BTreeMap::new(),
            last_sent: BTreeMap::new(),
        }
    }

    /// Something happened.
    pub(super) fn notify(
        &mut self,
        now: Instant,
        node: &dyn ManagedNode,
        drops: &mut SmaDrops,
        port: u8,
        details: Details,
    ) {
        let Some(info) = self.listening(node, port) else {
            // When it comes, it looks at everything anyway.
            return drops.add(SmaDrop::NobodyToTell);
        };
        let trap = details.trap_number();
        let key = (port, trap);
        if self.pending.get(&key).is_some_and(|old| old.sent == 0) {
            drops.add(SmaDrop::Superseded);
        }
        // o14-2: no more than one in the time that the subnet takes for a packet. What was heard may
        // be told anew at once if it is about the subnet, which the manager has to repair; what
        // peers can provoke as often as they like may not.
        let provoked = trap.notice_type() == NoticeType::SECURITY;
        let earliest = match self.last_sent.get(&key) {
            Some(&last) if provoked || self.pending.contains_key(&key) => last + interval(&info),
            _ => now,
        };
        let transaction_id = self.pending.get(&key).map_or(0, |old| old.transaction_id);
        self.pending.insert(
            key,
            Pending {
                details,
                transaction_id,
                sent: 0,
                due: earliest.max(now),
            },
        );
    }

    /// The manager has heard.
    pub(super) fn repress(&mut self, now: Instant, transaction_id: u64) -> bool {
        let heard = self
            .pending
            .iter_mut()
            .find(|(_, pending)| pending.transaction_id == transaction_id);
        let Some((&key, pending)) = heard else {
            return false;
        };
        if pending.sent > 0 {
            self.pending.remove(&key);
        } else if key.1.notice_type() != NoticeType::SECURITY {
            // It heard what came before this one: nothing is under way any more.
            pending.due = pending.due.min(now);
        }
        true
    }

    /// The next trap to send.
    pub(super) fn poll_transmit(
        &mut self,
        now: Instant,
        node: &dyn ManagedNode,
        drops: &mut SmaDrops,
    ) -> Option<Trap> {
        loop {
            let due = |pending: &Pending| pending.due <= now;
            let (&key, _) = self.pending.iter().find(|(_, pending)| due(pending))?;
            let (port, trap) = key;
            let Some(info) = self.listening(node, port) else {
                self.pending.remove(&key);
                drops.add(SmaDrop::NobodyToTell);
                continue;
            };
            let provoked = trap.notice_type() == NoticeType::SECURITY;
            let pending = self.pending.get_mut(&key)?;
            if provoked && pending.sent == PROVOKED_ATTEMPTS {
                self.pending.remove(&key);
                drops.add(SmaDrop::NeverRepressed);
                continue;
            }
            self.next = self.next.wrapping_add(1);
            pending.transaction_id = u64::from(self.owner) << 32 | u64::from(self.next);
            // Slower and slower: a manager that is not there is not there for long.
            pending.due = now + interval(&info) * (1 << pending.sent.min(4));
            pending.sent = pending.sent.saturating_add(1);
            self.last_sent.insert(key, now);

            let details = with_own_address(pending.details, &info);
            let notice = Notice::new(&details, self.node_type.into(), info.lid);
            // o14-1: M_Key 0.
            let id = pending.transaction_id;
            let smp = LidSmp::request(method::TRAP, NOTICE, 0, id, MKey::NONE).with(&notice);
            return Some(Trap {
                port,
                lid: info.master_sm_lid,
                sl: info.master_sm_sl,
                mad: smp.to_bytes(),
            });
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.pending.values().map(|pending| pending.due).min()
    }

    /// PortInfo of the port, if there is a manager that it can send traps to.
    fn listening(&self, node: &dyn ManagedNode, port: u8) -> Option<PortInfo> {
        let info = node.port_info(port)?;
        // o14-3: only an active port sends traps. Port 0 of a switch has no link that could be down.
        let active = self.node_type == NodeType::Switch || info.port_state == PortState::Active;
        (active && info.master_sm_lid.is_unicast()).then_some(info)
    }
}

/// How often a trap is sent that peers can provoke.
const PROVOKED_ATTEMPTS: u32 = 5;

/// The least time between two traps.
fn interval(info: &PortInfo) -> Duration {
    units::timeout(info.subnet_timeout)
}

/// Fills in the address of the port that sends the notice, as it is now.
const fn with_own_address(mut details: Details, info: &PortInfo) -> Details {
    match &mut details {
        Details::LinkStateChange(details) => details.lid = info.lid,
        Details::LocalChanges(details) => {
            details.lid = info.lid;
            details.capability_mask = info.capability_mask;
            details.capability_mask2 = info.capability_mask2;
        }
        Details::SystemImageGuidChange(details) => details.lid = info.lid,
        Details::SwitchBadPKey(details) => details.switch_lid = info.lid,
        _ => {}
    }
    details
}
