//! What a port asks the subnet administrator for, and what comes of it.

use softib_wire::addr::{Gid, PKey};
use softib_wire::mad::class_port_info::ClassPortInfo;
use softib_wire::mad::sa::{InformInfo, McMemberRecord, PathRecord, ServiceRecord};
use softib_wire::mad::status::MadStatus;
use thiserror::Error;

use crate::rmpp::RmppError;

/// Names a request of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub(super) u64);

/// Names a user of a port's client, an IP interface for example. Memberships in multicast groups
/// are counted by user: the administrator hears only of the first who joins and the last who leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UserId(pub u32);

/// A question to the subnet administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaRequest {
    /// The path between two ports, as an IP interface asks for it. Answered by [`SaReply::Path`].
    Path {
        /// From.
        sgid: Gid,
        /// To.
        dgid: Gid,
        /// In this partition.
        pkey: PKey,
        /// With this traffic class.
        traffic_class: u8,
    },
    /// Join a multicast group. Answered by [`SaReply::Member`].
    Join {
        /// The group, the port and how it wants to be a member.
        record: McMemberRecord,
        /// The components that the administrator must heed.
        mask: u64,
    },
    /// Leave a multicast group: the join states that `record.join_state` names. Answered by
    /// [`SaReply::Left`], also when the user was no member.
    Leave {
        /// The group, the port and the join states.
        record: McMemberRecord,
    },
    /// Offer a service. Answered by [`SaReply::Service`].
    Register {
        /// The service.
        record: ServiceRecord,
        /// The components that the administrator must heed.
        mask: u64,
    },
    /// No longer offer a service. Answered by [`SaReply::Service`].
    Unregister {
        /// The service.
        record: ServiceRecord,
        /// The components that must match.
        mask: u64,
    },
    /// What the administrator can do. Answered by [`SaReply::ClassPortInfo`].
    ClassPortInfo,
    /// Begin or end a subscription to notices. Answered by [`SaReply::Subscribed`].
    Subscribe {
        /// The subscription.
        info: InformInfo,
    },
    /// All records that match. Answered by [`SaReply::Records`].
    Table {
        /// The attribute of the records.
        attribute_id: u16,
        /// A record to compare with, as many octets of it as matter.
        record: Vec<u8>,
        /// The components that must match.
        mask: u64,
    },
}

/// An answer of the subnet administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaReply {
    /// A path.
    Path(PathRecord),
    /// The port is a member: the group's parameters.
    Member(McMemberRecord),
    /// The port, or at least this user of it, is no longer a member.
    Left,
    /// The service as it was registered, or no longer is.
    Service(ServiceRecord),
    /// What the administrator can do.
    ClassPortInfo(ClassPortInfo),
    /// The subscription as it was granted.
    Subscribed(InformInfo),
    /// The records of a table.
    Records(Records),
}

/// Records of a table, one behind the other as they arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Records {
    /// Octets from one record to the next: a multiple of 8, never 0.
    pub(super) stride: usize,
    pub(super) bytes: Vec<u8>,
}

impl Records {
    /// The octets of each record, padding included. Octets at the end that make no whole record
    /// are left out.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.stride)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SaError {
    /// The port does not know a subnet manager.
    #[error("the port has not been told of a subnet manager")]
    NoSubnetManager,
    /// Nothing was heard, however often it was asked.
    #[error("the subnet administrator did not answer")]
    Timeout,
    /// The administrator said no.
    #[error("the subnet administrator refused: {0}")]
    Refused(MadStatus),
    /// The answer could not be understood.
    #[error("the subnet administrator's answer is malformed")]
    Malformed,
    /// The port is a member of the group already, and the group is not what this join asks for.
    #[error("the group's parameters are not those asked for")]
    Mismatch,
    /// The answer is longer than one MAD, and its transfer failed.
    #[error("the answer could not be received: {0}")]
    Transfer(#[from] RmppError),
    /// Too many requests wait already.
    #[error("too many requests are under way at this port")]
    Busy,
}

impl SaError {
    /// The status that the administrator gave, if it gave one.
    #[must_use]
    pub const fn status(self) -> Option<MadStatus> {
        match self {
            Self::Refused(status) => Some(status),
            _ => None,
        }
    }
}
