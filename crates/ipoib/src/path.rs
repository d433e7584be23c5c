//! Paths: which LID, service level and rate lead to a GID, as the subnet administration says.
//!
//! A path has no life time of its own. Events make it doubtful ([`Path::refresh`]): then it is used
//! on while a query for a new one is under way, so that a change of the subnet manager costs no
//! packet. Only an answer that there is none, or a flush, ends it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use softib_fabric::frame::Frame;
use softib_fabric::hca::{AddressVector, GlobalRoute};
use softib_wire::addr::{Gid, Lid, Qpn};
use softib_wire::mad::sa::PathRecord;
use softib_wire::time::{Duration, Instant};

use crate::interface::SaToken;
use crate::neighbour::Slot;

/// Entries: as many as neighbours, and some for addresses that changed.
pub(crate) const MAX_PATHS: usize = 2048;
/// Packets that may wait for a path on their own (unicast ARP).
pub(crate) const MAX_WAITING: usize = 3;
/// After a refresh that failed, the old path serves this long before the next attempt.
pub(crate) const REFRESH_PAUSE: Duration = Duration::from_secs(1);

/// What is known about the way to a GID.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) record: Option<PathRecord>,
    pub(crate) vector: Option<AddressVector>,
    pub(crate) query: Option<SaToken>,
    /// The record may be out of date.
    pub(crate) refresh: bool,
    /// Not before then.
    pub(crate) refresh_after: Instant,
    /// A source LID of the peer's that differs from the record's destination: reason for a refresh.
    pub(crate) suspect_slid: Option<Lid>,
    /// One that still differed after a refresh: the way back is another one, and no sign of change.
    pub(crate) accepted_slid: Option<Lid>,
    /// ARP and neighbour discovery that waits for this path, with the queue pair to send it to.
    pub(crate) waiting: VecDeque<(Qpn, Frame)>,
    /// Neighbours that have this GID.
    pub(crate) users: BTreeSet<Slot>,
    pub(crate) last_used: Instant,
}

impl Path {
    const fn new(now: Instant) -> Self {
        Self {
            record: None,
            vector: None,
            query: None,
            refresh: false,
            refresh_after: Instant::ZERO,
            suspect_slid: None,
            accepted_slid: None,
            waiting: VecDeque::new(),
            users: BTreeSet::new(),
            last_used: now,
        }
    }

    /// Whether nothing would be lost with it but the time of a query.
    pub(crate) fn is_idle(&self) -> bool {
        self.users.is_empty() && self.waiting.is_empty() && self.query.is_none()
    }
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    by_gid: BTreeMap<Gid, Path>,
}

impl Paths {
    pub(crate) fn get(&self, gid: Gid) -> Option<&Path> {
        self.by_gid.get(&gid)
    }

    pub(crate) fn get_mut(&mut self, gid: Gid) -> Option<&mut Path> {
        self.by_gid.get_mut(&gid)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Gid, &Path)> {
        self.by_gid.iter().map(|(gid, path)| (*gid, path))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.by_gid.values_mut()
    }

    /// The entry of a GID, made when there is none. When the table is full the idle entry that was
    /// not used for the longest time makes room.
    /// `None`: there is no idle one either.
    pub(crate) fn entry(&mut self, now: Instant, gid: Gid) -> Option<&mut Path> {
        if self.by_gid.len() >= MAX_PATHS && !self.by_gid.contains_key(&gid) {
            let idle = self.by_gid.iter().filter(|(_, path)| path.is_idle());
            let (&oldest, _) = idle.min_by_key(|(_, path)| path.last_used)?;
            self.by_gid.remove(&oldest);
        }
        Some(self.by_gid.entry(gid).or_insert_with(|| Path::new(now)))
    }

    /// Removes all entries and gives them back.
    pub(crate) fn take_all(&mut self) -> Vec<Path> {
        std::mem::take(&mut self.by_gid).into_values().collect()
    }

    /// Removes entries that nobody uses and nobody used since `before`.
    pub(crate) fn collect(&mut self, before: Instant) {
        self.by_gid
            .retain(|_, path| !path.is_idle() || path.last_used > before);
    }
}

/// The address vector that a path record stands for. `own_prefix` and `lmc` are those of our port.
pub(crate) fn vector_of(record: &PathRecord, own_prefix: u64, lmc: u8) -> AddressVector {
    // A GRH is needed between subnets only (RFC 4391 §6). A hop limit above 1 says that there are
    // routers on the way.
    let foreign = record.dgid.prefix() != own_prefix && record.dgid.prefix() != Gid::DEFAULT_PREFIX;
    let global = (foreign || record.hop_limit > 1).then_some(GlobalRoute {
        dgid: record.dgid,
        sgid_index: 0,
        flow_label: record.flow_label,
        hop_limit: record.hop_limit,
        traffic_class: record.traffic_class,
    });
    let path_bits = record.slid.bits() & ((1 << lmc.min(7)) - 1);
    AddressVector {
        dlid: record.dlid,
        sl: record.sl,
        path_bits: u8::try_from(path_bits).unwrap_or(0),
        rate: record.rate,
        global,
    }
}
