//! Multicast groups that the interface is in, or is on its way into.
//!
//! This file knows states and times. Joining, leaving and sending is in `multicast.rs`.

use std::collections::{BTreeMap, VecDeque};

use softib_fabric::frame::Frame;
use softib_fabric::hca::{AddressVector, GlobalRoute};
use softib_mgmt::sa_client::SaError;
use softib_wire::addr::{Gid, Lid};
use softib_wire::ipoib::EtherType;
use softib_wire::mad::sa::{JoinState, McMemberRecord};
use softib_wire::time::{Duration, Instant};

use crate::interface::SaToken;

/// Packets that may wait for a join, as in Linux.
pub(crate) const MAX_QUEUE: usize = 64;
/// Send-only groups at a time. (Full memberships are bounded by the host's own.)
pub(crate) const MAX_SEND_ONLY: usize = 1024;
/// A send-only group is left after so long without a packet.
pub(crate) const SEND_ONLY_IDLE: Duration = Duration::from_secs(60);
/// Joins of a send-only group before its packets are given up.
pub(crate) const SEND_ONLY_ATTEMPTS: u32 = 2;
const BACKOFF_FIRST: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(16);

/// How the interface is in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    /// Sends and receives.
    Full,
    /// Only sends.
    SendOnly,
}

impl Membership {
    pub(crate) const fn join_state(self) -> JoinState {
        match self {
            Self::Full => JoinState::FULL,
            Self::SendOnly => JoinState::SEND_ONLY_FULL,
        }
    }

    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::SendOnly => "send-only",
        }
    }
}

/// Where the current attempt to join stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// None is due.
    Idle,
    /// The next one is when the group's timer fires.
    BackingOff,
    /// Asked.
    Asked(SaToken),
}

/// What the subnet administration granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grant {
    pub(crate) membership: Membership,
    pub(crate) record: McMemberRecord,
    /// Where packets for the group go.
    pub(crate) vector: AddressVector,
}

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) wanted: Membership,
    pub(crate) grant: Option<Grant>,
    /// The grant is no older than the last event that put all memberships in doubt.
    pub(crate) confirmed: bool,
    /// The MLID that the queue pair is attached with.
    pub(crate) attached: Option<Lid>,
    pub(crate) join: Join,
    /// Joins that failed since the last that did not.
    pub(crate) failures: u32,
    pub(crate) last_error: Option<SaError>,
    pub(crate) waiting: VecDeque<(EtherType, Frame)>,
    pub(crate) last_used: Instant,
}

impl Group {
    pub(crate) const fn new(now: Instant, wanted: Membership) -> Self {
        Self {
            wanted,
            grant: None,
            confirmed: false,
            attached: None,
            join: Join::Idle,
            failures: 0,
            last_error: None,
            waiting: VecDeque::new(),
            last_used: now,
        }
    }

    /// Whether the subnet administration has granted what is wanted, lately.
    pub(crate) fn is_settled(&self) -> bool {
        self.confirmed
            && self
                .grant
                .is_some_and(|grant| grant.membership == self.wanted)
    }

    /// How long to wait after so many failures: 1, 2, 4, 8, 16, 16 … seconds.
    pub(crate) fn backoff(&self) -> Duration {
        let doublings = self.failures.saturating_sub(1).min(4);
        (BACKOFF_FIRST * (1 << doublings)).min(BACKOFF_MAX)
    }
}

/// The groups, by MGID.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) by_mgid: BTreeMap<Gid, Group>,
}

impl Groups {
    pub(crate) fn get(&self, mgid: Gid) -> Option<&Group> {
        self.by_mgid.get(&mgid)
    }

    pub(crate) fn get_mut(&mut self, mgid: Gid) -> Option<&mut Group> {
        self.by_mgid.get_mut(&mgid)
    }

    /// Whether one more send-only group has room; if not, the one to leave for it.
    pub(crate) fn room_for_send_only(&self) -> Result<(), Option<Gid>> {
        let send_only = || {
            self.by_mgid
                .iter()
                .filter(|(_, group)| group.wanted == Membership::SendOnly)
        };
        if send_only().count() < MAX_SEND_ONLY {
            return Ok(());
        }
        let idle = send_only().filter(|(_, group)| group.waiting.is_empty());
        Err(idle
            .min_by_key(|(_, group)| group.last_used)
            .map(|(mgid, _)| *mgid))
    }
}

/// The address vector of a group (RFC 4391 §6: multicast always has a GRH).
pub(crate) fn vector_of(record: &McMemberRecord) -> AddressVector {
    AddressVector {
        dlid: record.mlid,
        sl: record.sl,
        path_bits: 0,
        rate: record.rate,
        global: Some(GlobalRoute {
            dgid: record.mgid,
            sgid_index: 0,
            flow_label: record.flow_label,
            hop_limit: record.hop_limit,
            traffic_class: record.traffic_class,
        }),
    }
}
