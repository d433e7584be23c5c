//! SMPs under way: a queue of jobs, a bound on how many are asked at once, time-outs and retries.
//!
//! Jobs are small values; their MAD is made when it is sent, and made anew when it is sent again. So
//! a sweep of a large subnet does not hold a MAD for each of its steps, and a retry takes the route
//! that is the best one by then.

use std::collections::{BTreeMap, VecDeque};

use softib_wire::mad::method;
use softib_wire::mad::smp::{DirectedSmp, HopPath};
use softib_wire::time::Instant;

use super::database::{NodeId, PortId};
use crate::mad::Retry;

/// What to ask or to set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    /// Get(NodeInfo) of whatever is at the other end of a port's link; `None`: of the manager's node.
    Probe(Option<PortId>),
    /// Get(NodeDescription).
    Describe(PortId),
    /// Get(SwitchInfo).
    SwitchInfo(NodeId),
    /// Set(SwitchInfo): clears PortStateChange.
    ClearChange(NodeId),
    /// Get(PortInfo).
    PortInfo(PortId),
    /// Get(P_KeyTable).
    PKeys(PortId, u16),
    /// Get(SMInfo).
    SmInfo(PortId),
    /// Set(SwitchInfo): top of the forwarding table, life time.
    SetSwitchInfo(NodeId),
    /// Set(PortInfo).
    SetPort(PortId, Step),
    /// Set(P_KeyTable).
    SetPKeys(PortId, u16),
    /// Set(SLtoVLMappingTable): input port, output port.
    SetSlToVl(NodeId, u8, u8),
    /// Set(LinearForwardingTable).
    SetLinear(NodeId, u16),
    /// Set(MulticastForwardingTable): block and position; whether only ports are to be taken away.
    SetMulticast(NodeId, u16, u8, bool),
    /// Set(SMInfo), with this attribute modifier.
    SetSmInfo(PortId, u32),
}

/// What a Set(PortInfo) does besides bringing the parameters up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Parameters,
    /// Init to Armed.
    Arm,
    /// Armed to Active.
    Activate,
}

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct Outstanding {
    job: Job,
    /// `None`: to be sent, for the first time or again.
    due: Option<Instant>,
    attempts: u32,
    attribute_id: u16,
    attribute_modifier: u32,
    /// The route that it was sent by.
    path: HopPath,
}

/// Requests waiting and under way.
#[derive(Debug)]
pub(super) struct Smps {
    retry: Retry,
    window: usize,
    owner: u32,
    next: u32,
    queue: VecDeque<Job>,
    outstanding: BTreeMap<u32, Outstanding>,
    again: VecDeque<u32>,
    pub(super) sent: u64,
    pub(super) retried: u64,
    pub(super) failed: u64,
}

impl Smps {
    pub(super) const fn new(retry: Retry, window: usize, owner: u32) -> Self {
        Self {
            retry,
            window,
            owner,
            next: 1,
            queue: VecDeque::new(),
            outstanding: BTreeMap::new(),
            again: VecDeque::new(),
            sent: 0,
            retried: 0,
            failed: 0,
        }
    }

    pub(super) fn push(&mut self, job: Job) {
        self.queue.push_back(job);
    }

    /// Nothing waits, nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.outstanding.is_empty()
    }

    /// Forgets everything. Answers that still come are not known any more.
    pub(super) fn abort(&mut self) {
        self.queue.clear();
        self.outstanding.clear();
        self.again.clear();
    }

    /// The next job to make a MAD of, with its transaction ID. Say [`Self::sent`] or [`Self::cancel`]
    /// after it.
    pub(super) fn next(&mut self) -> Option<(u64, Job)> {
        while let Some(id) = self.again.pop_front() {
            if let Some(entry) = self.outstanding.get(&id) {
                return Some((self.transaction_id(id), entry.job));
            }
        }
        if self.outstanding.len() >= self.window {
            return None;
        }
        let job = self.queue.pop_front()?;
        let id = self.next;
        self.next = self.next.wrapping_add(1).max(1);
        self.outstanding.insert(
            id,
            Outstanding {
                job,
                due: None,
                attempts: 0,
                attribute_id: 0,
                attribute_modifier: 0,
                path: HopPath::LOCAL,
            },
        );
        Some((self.transaction_id(id), job))
    }

    /// The job was sent as this MAD.
    pub(super) fn sent(&mut self, now: Instant, smp: &DirectedSmp, path: HopPath) {
        let Some(id) = self.id_of(smp.transaction_id) else {
            return;
        };
        let Some(entry) = self.outstanding.get_mut(&id) else {
            return;
        };
        let timeout = self.retry.timeout * (1 << entry.attempts.min(3));
        entry.due = Some(now + timeout);
        self.sent += 1;
        self.retried += u64::from(entry.attempts > 0);
        entry.attempts += 1;
        entry.attribute_id = smp.attribute_id;
        entry.attribute_modifier = smp.attribute_modifier;
        entry.path = path;
    }

    /// The job has become pointless.
    pub(super) fn cancel(&mut self, transaction_id: u64) {
        if let Some(id) = self.id_of(transaction_id) {
            self.outstanding.remove(&id);
        }
    }

    /// The job that this MAD answers.
    pub(super) fn answered(&mut self, smp: &DirectedSmp) -> Option<Job> {
        let id = self.id_of(smp.transaction_id)?;
        let entry = self.outstanding.get(&id)?;
        let fits = smp.method == method::GET_RESP
            && entry.attribute_id == smp.attribute_id
            && entry.attribute_modifier == smp.attribute_modifier;
        if !fits {
            return None;
        }
        self.outstanding.remove(&id).map(|entry| entry.job)
    }

    /// Requests for which this holds are sent again at once: there is another way to their node now.
    /// That does not count as an attempt.
    pub(super) fn resend_if(&mut self, mut affected: impl FnMut(&Job, &HopPath) -> bool) {
        for (&id, entry) in &mut self.outstanding {
            if entry.due.is_some() && affected(&entry.job, &entry.path) {
                entry.due = None;
                entry.attempts = entry.attempts.saturating_sub(1);
                self.again.push_back(id);
            }
        }
    }

    /// When a request runs out of time.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.outstanding
            .values()
            .filter_map(|entry| entry.due)
            .min()
    }

    /// Sends again what was not answered, and gives back what was asked often enough.
    pub(super) fn handle_timeout(&mut self, now: Instant) -> Vec<Job> {
        let mut failed = Vec::new();
        self.outstanding.retain(|&id, entry| {
            if entry.due.is_none_or(|due| due > now) {
                return true;
            }
            if entry.attempts >= self.retry.attempts {
                failed.push(entry.job);
                return false;
            }
            entry.due = None;
            self.again.push_back(id);
            true
        });
        self.failed += failed.len() as u64;
        failed
    }

    const fn transaction_id(&self, id: u32) -> u64 {
        (self.owner as u64) << 32 | id as u64
    }

    fn id_of(&self, transaction_id: u64) -> Option<u32> {
        let id = u32::try_from(transaction_id & 0xFFFF_FFFF).ok()?;
        (self.transaction_id(id) == transaction_id).then_some(id)
    }
}
