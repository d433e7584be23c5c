//! From the MADs of an answer to what was asked for.

use softib_wire::addr::Gid;
use softib_wire::mad::attribute::Attribute;
use softib_wire::mad::class_port_info::ClassPortInfo;
use softib_wire::mad::sa::{InformInfo, McMemberRecord, PathRecord, SaMad, ServiceRecord};

use super::request::{Records, SaError, SaReply};
use crate::rmpp::Message;

/// What the answer to a query holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Path,
    Service,
    ClassPortInfo,
    Subscription,
    Records,
}

/// An answer that says that all is well.
#[expect(clippy::large_enum_variant, reason = "lives for one call")]
pub(super) enum Answer {
    Single(SaMad),
    Table(Records),
}

impl Answer {
    pub(super) fn of_message(message: Message) -> Result<Self, SaError> {
        let head = SaMad::parse(&message.first).map_err(|_| SaError::Malformed)?;
        if !head.header.status.is_ok() {
            return Err(SaError::Refused(head.header.status));
        }
        let stride = usize::from(head.attribute_offset) * 8;
        if stride == 0 && !message.data.is_empty() {
            return Err(SaError::Malformed);
        }
        Ok(Self::Table(Records {
            stride: stride.max(8),
            bytes: message.data,
        }))
    }

    fn record<A: Attribute>(&self) -> Result<A, SaError> {
        let data = match self {
            Self::Single(mad) => &mad.data[..],
            Self::Table(records) => &records.bytes,
        };
        A::parse(data).map_err(|_| SaError::Malformed)
    }

    pub(super) fn reply(self, expected: Expected) -> Result<SaReply, SaError> {
        Ok(match expected {
            Expected::Path => SaReply::Path(self.record::<PathRecord>()?),
            Expected::Service => SaReply::Service(self.record::<ServiceRecord>()?),
            Expected::ClassPortInfo => SaReply::ClassPortInfo(self.record::<ClassPortInfo>()?),
            Expected::Subscription => SaReply::Subscribed(self.record::<InformInfo>()?),
            Expected::Records => match self {
                Self::Table(records) => SaReply::Records(records),
                Self::Single(_) => return Err(SaError::Malformed),
            },
        })
    }

    /// The group that a join was about.
    pub(super) fn member(&self, mgid: Gid) -> Result<McMemberRecord, SaError> {
        let record: McMemberRecord = self.record()?;
        let is_asked = record.mgid == mgid || mgid == Gid::NONE && record.mgid.is_multicast();
        if is_asked && record.mlid.is_multicast() {
            Ok(record)
        } else {
            Err(SaError::Malformed)
        }
    }
}
