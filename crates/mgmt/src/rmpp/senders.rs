//! Many messages being sent to many peers, as an administrator does.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use softib_wire::addr::{Gid, Lid, Qpn};
use softib_wire::mad::header::MadHeader;
use softib_wire::time::Instant;
use thiserror::Error;

use super::{Pace, RmppError, Sender, is_control};
use crate::mad::{Endpoint, Mad};

/// No transfer was begun: there are as many under way as may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{limit} transfers are under way already")]
pub struct TooManyTransfers {
    /// How many may be under way.
    pub limit: usize,
}

/// A transfer that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Where it went.
    pub to: Endpoint,
    /// Its transaction ID.
    pub transaction_id: u64,
    /// How it ended.
    pub outcome: Result<(), RmppError>,
}

/// Transfers under way. They take turns, a segment each.
#[derive(Debug)]
pub struct Senders {
    limit: usize,
    pace: Pace,
    transfers: BTreeMap<Key, (Endpoint, Sender)>,
    /// Whose turn it was.
    turn: Option<Key>,
    finished: VecDeque<Finished>,
}

/// IBA 13.6.2.1: what tells transfers apart.
type Key = (Lid, Qpn, Option<Gid>, u8, u64);

impl Senders {
    /// No transfers yet, and never more than `limit` at once.
    #[must_use]
    pub const fn new(limit: usize, pace: Pace) -> Self {
        Self {
            limit,
            pace,
            transfers: BTreeMap::new(),
            turn: None,
            finished: VecDeque::new(),
        }
    }

    /// Begins to send `data` with the headers of `head` in front, as [`Sender::new`] does. A transfer
    /// of the same transaction to the same peer goes on: the peer asked twice.
    ///
    /// # Errors
    /// As many transfers as may be are under way already.
    pub fn start(
        &mut self,
        now: Instant,
        to: Endpoint,
        head: &Mad,
        class_header: usize,
        data: Vec<u8>,
    ) -> Result<(), TooManyTransfers> {
        let key = key(&to, head);
        if self.transfers.contains_key(&key) {
            return Ok(());
        }
        if self.transfers.len() >= self.limit {
            return Err(TooManyTransfers { limit: self.limit });
        }
        let sender = Sender::new(now, head, class_header, data, self.pace);
        self.transfers.insert(key, (to, sender));
        Ok(())
    }

    /// Whether a transfer of this transaction to this peer is under way. Worth asking before an
    /// answer is computed a second time.
    #[must_use]
    pub fn is_under_way(&self, to: &Endpoint, mad: &Mad) -> bool {
        self.transfers.contains_key(&key(to, mad))
    }

    /// Takes in a MAD that is about a transfer, and says whether it was one.
    pub fn handle_mad(&mut self, now: Instant, from: &Endpoint, mad: &Mad) -> bool {
        if !is_control(mad) {
            return false;
        }
        if let Some((_, sender)) = self.transfers.get_mut(&key(from, mad)) {
            sender.handle_mad(now, mad);
        }
        true
    }

    /// The next MAD to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoint, Mad)> {
        let behind = self.turn.map_or(Bound::Unbounded, Bound::Excluded);
        let after = self.transfers.range((behind, Bound::Unbounded));
        let until = self.turn.map(|turn| self.transfers.range(..=turn));
        let order: Vec<Key> = after
            .chain(until.into_iter().flatten())
            .map(|(&key, _)| key)
            .collect();
        for key in order {
            let Some((to, sender)) = self.transfers.get_mut(&key) else {
                continue;
            };
            let mad = sender.poll_transmit(now);
            let to = *to;
            if let Some(mad) = mad {
                self.turn = Some(key);
                return Some((to, mad));
            }
            // Nothing left to say.
            if let Some(outcome) = sender.outcome() {
                self.transfers.remove(&key);
                if self.finished.len() == self.limit {
                    self.finished.pop_front(); // Nobody is interested.
                }
                self.finished.push_back(Finished {
                    to,
                    transaction_id: key.4,
                    outcome,
                });
            }
        }
        None
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.transfers
            .values()
            .filter_map(|(_, sender)| sender.poll_timeout())
            .min()
    }

    /// Sends again what was not acknowledged in time, or gives up.
    pub fn handle_timeout(&mut self, now: Instant) {
        for (_, sender) in self.transfers.values_mut() {
            sender.handle_timeout(now);
        }
    }

    /// The next transfer that is over.
    pub fn poll_finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    /// Transfers under way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.transfers.len()
    }

    /// Whether no transfer is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transfers.is_empty()
    }
}

fn key(peer: &Endpoint, mad: &Mad) -> Key {
    // A whole MAD has a whole header, whatever its bits.
    let (class, transaction_id) = MadHeader::parse(mad)
        .map(|header| (header.class, header.transaction_id))
        .unwrap_or_default();
    let gid = peer.grh.map(|grh| grh.peer);
    (peer.lid, peer.qpn, gid, class, transaction_id)
}
