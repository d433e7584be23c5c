//! What all management classes have in common: where a MAD goes, and how a request finds its answer.

pub mod transactions;

use softib_wire::addr::{Gid, Lid, Qpn, Sl};
use softib_wire::mad::MAD_LEN;

pub use transactions::{Expired, Retry, TransactionId, Transactions};

/// The octets of a MAD.
pub type Mad = [u8; MAD_LEN];

/// Where a MAD goes to, or where it came from: the other end's address as this end sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// LID of the peer.
    pub lid: Lid,
    /// Its queue pair.
    pub qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// This end's LID less its base LID: a peer expects the answer from the LID that it asked.
    pub path_bits: u8,
    /// The P_Key, by its place in this end's table. Without meaning for QP0.
    pub pkey_index: u16,
    /// The global route, if the packet has a GRH.
    pub grh: Option<GlobalRoute>,
}

/// The part of an address that travels in a GRH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalRoute {
    /// GID of this end.
    pub local: Gid,
    /// GID of the peer.
    pub peer: Gid,
    /// Flow label.
    pub flow_label: u32,
    /// Traffic class.
    pub traffic_class: u8,
    /// Hop limit.
    pub hop_limit: u8,
}

impl Endpoint {
    /// The subnet management interface (QP0) at a LID.
    #[must_use]
    pub const fn smi(lid: Lid, sl: Sl) -> Self {
        Self {
            lid,
            qpn: Qpn::SMI,
            sl,
            path_bits: 0,
            pkey_index: 0,
            grh: None,
        }
    }

    /// The general services interface (QP1) at a LID, in the partition at index 0.
    #[must_use]
    pub const fn gsi(lid: Lid, sl: Sl) -> Self {
        Self {
            qpn: Qpn::GSI,
            ..Self::smi(lid, sl)
        }
    }

    /// Whether both are the same queue pair of the same port, whatever the way there.
    #[must_use]
    pub fn same_peer(&self, other: &Self) -> bool {
        let gid = |end: &Self| end.grh.map(|grh| grh.peer);
        self.lid == other.lid && self.qpn == other.qpn && gid(self) == gid(other)
    }
}
