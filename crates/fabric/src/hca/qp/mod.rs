//! Queue pairs (IBA 10.2.4, 10.3): kinds, states, queues.
//!
//! A queue pair here is its numbers: work that was posted and not done, receives that were posted
//! and not used. Packets wait at the port. What each transport service does with a packet is a
//! file of its own beside this one.

pub(super) mod ud;

use softib_wire::addr::{Lid, PKey, Psn, QKey, Qpn};
use thiserror::Error;

use super::CqId;
use super::memory::{Access, LKey, RKey};
use crate::drop::DropCounts;

/// Names a queue pair of an adapter. QP0 and QP1 are there once a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QpId {
    pub(super) port: u8,
    pub(super) qpn: Qpn,
}

impl QpId {
    /// The queue pair number.
    #[must_use]
    pub const fn qpn(self) -> Qpn {
        self.qpn
    }

    /// The port.
    #[must_use]
    pub const fn port(self) -> u8 {
        self.port
    }
}

/// What a queue pair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QpKind {
    /// QP0, the subnet management interface.
    Smi,
    /// QP1, the general services interface.
    Gsi,
    /// Unreliable datagram.
    Ud,
}

/// What a queue pair is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QpCaps {
    /// Sends that may be under way.
    pub send: u32,
    /// Receives that may be posted.
    pub recv: u32,
    /// Does not get the multicast packets that it sends itself. Others on the port do.
    pub block_multicast_loopback: bool,
}

impl Default for QpCaps {
    fn default() -> Self {
        Self {
            send: 128,
            recv: 256,
            block_multicast_loopback: false,
        }
    }
}

/// State of a queue pair (IBA 10.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QpState {
    /// Fresh: nothing can be posted.
    Reset,
    /// Receives can be posted.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send and receive.
    Rts,
    /// Send queue drained: receives only, until sent back to Rts.
    Sqd,
    /// Send queue error: receives only, until sent back to Rts.
    Sqe,
    /// Nothing is done any more.
    Error,
}

impl QpState {
    /// Every state.
    pub const ALL: &'static [Self] = &[
        Self::Reset,
        Self::Init,
        Self::Rtr,
        Self::Rts,
        Self::Sqd,
        Self::Sqe,
        Self::Error,
    ];

    /// Whether a consumer may take it from this state to `to` (IBA 10.3.1, figure 125).
    #[must_use]
    pub const fn may_become(self, to: Self) -> bool {
        matches!(
            (self, to),
            (_, Self::Reset | Self::Error)
                | (Self::Reset | Self::Init, Self::Init)
                | (Self::Init, Self::Rtr)
                | (Self::Rtr | Self::Rts | Self::Sqd | Self::Sqe, Self::Rts)
                | (Self::Rts | Self::Sqd, Self::Sqd)
        )
    }

    /// Whether packets are taken.
    #[inline]
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::Rtr | Self::Rts | Self::Sqd | Self::Sqe)
    }

    /// Whether sends are done.
    #[inline]
    #[must_use]
    pub const fn sends(self) -> bool {
        matches!(self, Self::Rts)
    }
}

/// What to change of a datagram queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdAttributes {
    /// Its state.
    pub state: Option<QpState>,
    /// Its Q_Key.
    pub qkey: Option<QKey>,
    /// Its P_Key, by its index in the port's table.
    pub pkey_index: Option<u16>,
}

/// What a queue pair counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QpCounters {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets that were for it and that it did not take.
    pub drops: DropCounts,
}

/// Why a verb was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum VerbError {
    /// No such port.
    #[error("the adapter has no port {port}, only 1 to {ports}")]
    NoSuchPort {
        /// The port asked for.
        port: u8,
        /// Ports that it has.
        ports: u8,
    },
    /// No such queue pair.
    #[error("queue pair {qpn} does not exist")]
    NoSuchQp {
        /// The number asked for.
        qpn: Qpn,
    },
    /// No such completion queue.
    #[error("the completion queue does not exist")]
    NoSuchCq,
    /// Queue pairs still complete there.
    #[error("{users} queues still complete to the completion queue")]
    CqInUse {
        /// How many.
        users: u32,
    },
    /// A port has one QP0 and one QP1.
    #[error("port {port} already has its queue pair {qpn}")]
    QpExists {
        /// The port.
        port: u8,
        /// The number.
        qpn: Qpn,
    },
    /// All queue pair numbers are in use.
    #[error("all queue pair numbers are in use")]
    NoQpnLeft,
    /// The state cannot follow.
    #[error("a queue pair in {from:?} cannot become {to:?}")]
    StateChange {
        /// The state that it is in.
        from: QpState,
        /// The state asked for.
        to: QpState,
    },
    /// QP0 and QP1 keep their keys.
    #[error("queue pair {qpn} keeps its keys")]
    FixedKeys {
        /// The number.
        qpn: Qpn,
    },
    /// Not a multicast group.
    #[error("{mlid} is no multicast LID, expected 49152 to 65534, or the GID is not multicast")]
    NotMulticast {
        /// The LID.
        mlid: Lid,
    },
    /// Only datagram queue pairs can be attached.
    #[error("queue pair {qpn} is of a kind that cannot be attached to a group")]
    NotAttachable {
        /// The number.
        qpn: Qpn,
    },
    /// It was not attached.
    #[error("queue pair {qpn} is not attached to the group")]
    NotAttached {
        /// The number.
        qpn: Qpn,
    },
    /// No such protection domain.
    #[error("the protection domain does not exist")]
    NoSuchPd,
    /// Queues, regions or windows are still in it.
    #[error("{users} queues, memory regions and windows are still in the protection domain")]
    PdInUse {
        /// How many.
        users: u32,
    },
    /// Remote writes and atomics need the local write.
    #[error("memory with {access:?} needs LOCAL_WRITE as well")]
    AccessRights {
        /// The rights asked for.
        access: Access,
    },
    /// Memory beyond the end of the address space.
    #[error("{length} octets from {base:#x} on go beyond the last 64-bit address")]
    AddressRange {
        /// Address of the first octet.
        base: u64,
        /// Octets.
        length: u64,
    },
    /// All keys are in use.
    #[error("all 16777216 memory keys are in use")]
    NoKeyLeft,
    /// No such memory region.
    #[error("L_Key {lkey} is that of no memory region")]
    NoSuchRegion {
        /// The key asked for.
        lkey: LKey,
    },
    /// Windows are still bound to the region.
    #[error("{windows} windows are still bound to the memory region with L_Key {lkey}")]
    RegionInUse {
        /// Its key.
        lkey: LKey,
        /// How many.
        windows: u32,
    },
    /// No such memory window.
    #[error("R_Key {rkey} is that of no memory window")]
    NoSuchWindow {
        /// The key asked for.
        rkey: RKey,
    },
}

/// Why a work request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PostError {
    /// No such queue pair.
    #[error("queue pair {qpn} does not exist")]
    NoSuchQp {
        /// The number asked for.
        qpn: Qpn,
    },
    /// Not in this state.
    #[error("a queue pair in {state:?} does not take it")]
    State {
        /// The state that it is in.
        state: QpState,
    },
    /// As many are under way as it can have.
    #[error("the queue of {depth} is full")]
    QueueFull {
        /// How many it can have.
        depth: u32,
    },
    /// Longer than a packet.
    #[error("{octets} octets do not fit the MTU of {mtu}")]
    TooLong {
        /// Octets of the largest packet.
        octets: usize,
        /// Octets that fit.
        mtu: usize,
    },
    /// No P_Key at the index.
    #[error("the port has no P_Key at index {index}")]
    NoPKey {
        /// The index.
        index: u16,
    },
    /// No GID at the index.
    #[error("the port has no GID at index {index}")]
    NoGid {
        /// The index.
        index: u8,
    },
    /// No LID that a datagram can go to.
    #[error("LID {dlid} is no destination, expected 1 to 65534")]
    Destination {
        /// The LID.
        dlid: Lid,
    },
    /// Multicast, but not in all that must be.
    #[error("LID {dlid}, GID and queue pair {dest_qpn} must all be multicast, or none")]
    Multicast {
        /// The LID.
        dlid: Lid,
        /// The queue pair.
        dest_qpn: Qpn,
    },
}

/// A queue pair.
#[derive(Debug)]
pub(super) struct Qp {
    pub(super) id: QpId,
    pub(super) kind: QpKind,
    pub(super) state: QpState,
    pub(super) caps: QpCaps,
    pub(super) send_cq: CqId,
    pub(super) recv_cq: CqId,
    /// Sends under way.
    pub(super) sends: u32,
    /// Receives posted and not used.
    pub(super) receives: u32,
    /// Receives used.
    pub(super) used: u64,
    pub(super) qkey: QKey,
    pub(super) pkey_index: u16,
    pub(super) psn: Psn,
    pub(super) counters: QpCounters,
}

impl Qp {
    pub(super) fn new(id: QpId, kind: QpKind, send_cq: CqId, recv_cq: CqId, caps: QpCaps) -> Self {
        Self {
            id,
            kind,
            // QP0 and QP1 work from the start: no one else is there to bring them up.
            state: if kind == QpKind::Ud {
                QpState::Reset
            } else {
                QpState::Rts
            },
            caps,
            send_cq,
            recv_cq,
            sends: 0,
            receives: 0,
            used: 0,
            qkey: match kind {
                QpKind::Gsi => QKey::GSI,
                QpKind::Smi | QpKind::Ud => QKey::default(),
            },
            pkey_index: 0,
            psn: Psn::default(),
            counters: QpCounters::default(),
        }
    }

    /// The sequence number of the next packet; a frame of several takes as many.
    pub(super) fn take_psn(&mut self, packets: u64) -> Psn {
        let psn = self.psn;
        let next = u64::from(psn.bits()).wrapping_add(packets) & 0xFF_FFFF;
        self.psn = Psn::from_bits_truncate(u32::try_from(next).unwrap_or_default());
        psn
    }
}

/// The P_Key that a packet must have, as far as the queue pair's kind says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PKeyRule {
    /// QP0: none is checked.
    Any,
    /// QP1: any of the port's.
    Table,
    /// Others: their own.
    Own(Option<PKey>),
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// Row: from; column: to.
    const TABLE: &str = "
        Reset   Init    Rtr     Rts     Sqd     Sqe     Error
Reset   yes     yes     .       .       .       .       yes
Init    yes     yes     yes     .       .       .       yes
Rtr     yes     .       .       yes     .       .       yes
Rts     yes     .       .       yes     yes     .       yes
Sqd     yes     .       .       yes     yes     .       yes
Sqe     yes     .       .       yes     .       .       yes
Error   yes     .       .       .       .       .       yes
";

    #[test]
    fn every_pair_of_states() {
        let mut table = format!("\n{:8}", "");
        for state in QpState::ALL {
            write!(table, "{:8}", format!("{state:?}")).unwrap();
        }
        for from in QpState::ALL {
            write!(table, "\n{:8}", format!("{from:?}")).unwrap();
            for &to in QpState::ALL {
                write!(table, "{:8}", if from.may_become(to) { "yes" } else { "." }).unwrap();
            }
        }
        let trimmed: Vec<_> = table.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n") + "\n", TABLE);
    }
}
