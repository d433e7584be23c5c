//! Subnet administration: the SA header and its records (IBA 15.2).

pub mod inform;
pub mod mask;
pub mod mcmember;
pub mod path;
pub mod records;
pub mod service;
pub mod tables;

use crate::ParseError;
use crate::mad::attribute::Attribute;
use crate::mad::class;
use crate::mad::header::MadHeader;
use crate::mad::rmpp::RmppHeader;
use crate::mad::status::MadStatus;

pub use inform::{InformInfo, InformInfoRecord};
pub use mask::{
    InformInfoMask, LinkMask, McMemberMask, NodeMask, PathMask, PortInfoMask, ServiceMask,
    SmInfoMask,
};
pub use mcmember::{JoinState, McMemberRecord};
pub use path::PathRecord;
pub use records::{LinkRecord, NodeRecord, PortInfoRecord, SmInfoRecord, SwitchInfoRecord};
pub use service::ServiceRecord;
pub use tables::{
    GuidInfoRecord, LinearFdbRecord, MulticastFdbRecord, PKeyTableRecord, SlToVlRecord, VlArbRecord,
};

/// Octets of records in one MAD.
pub const SA_DATA_LEN: usize = 200;

layout! {
    /// A subnet administration MAD: MAD header, RMPP header, SA header and data.
    pub struct SaMad [256] {
        /// MAD header.
        header: MadHeader = 0, 192;
        /// RMPP header.
        rmpp: RmppHeader = 192, 96;
        /// SM_Key: 0 untrusted.
        sm_key: u64 = 288, 64;
        /// Size of a record in a table, in 8 octets: see [`attribute_offset`].
        attribute_offset: u16 = 352, 16;
        /// Which components of the record a query means.
        component_mask: u64 = 384, 64;
        /// Records.
        data: [u8; 200] = 448, 1600;
    }
}

/// The size of a record in a table, in 8 octets: what the SA header says of it.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "no record is longer than 1,600 octets"
)]
pub const fn attribute_offset<A: Attribute>() -> u16 {
    (A::RECORD_LEN / 8) as u16
}

impl SaMad {
    /// A request about the records that match the named components.
    #[must_use]
    pub fn request<A: Attribute>(
        method: u8,
        transaction_id: u64,
        component_mask: u64,
        record: &A,
    ) -> Self {
        let mut mad = Self {
            header: MadHeader::request(class::SUBN_ADM, method, A::ID, 0, transaction_id),
            rmpp: RmppHeader::NONE,
            sm_key: 0,
            attribute_offset: 0,
            component_mask,
            data: [0; SA_DATA_LEN],
        };
        record.emit(&mut mad.data);
        mad
    }

    /// The answer that carries one record.
    #[must_use]
    pub fn response<A: Attribute>(&self, record: &A) -> Self {
        let mut mad = self.refusal(MadStatus::OK);
        mad.attribute_offset = attribute_offset::<A>();
        record.emit(&mut mad.data);
        mad
    }

    /// The answer that carries no record, and why.
    #[must_use]
    pub const fn refusal(&self, status: MadStatus) -> Self {
        Self {
            header: self.header.response_to(status),
            rmpp: RmppHeader::NONE,
            sm_key: 0,
            attribute_offset: 0,
            component_mask: self.component_mask,
            data: [0; SA_DATA_LEN],
        }
    }

    /// The record that the MAD carries.
    ///
    /// # Errors
    /// A field holds an undefined value.
    pub fn record<A: Attribute>(&self) -> Result<A, ParseError> {
        A::parse(&self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Gid, Guid, Lid, PKey};
    use crate::mad::attribute::{MC_MEMBER_RECORD, NODE_RECORD, PATH_RECORD};
    use crate::mad::method;
    use crate::mad::tests::{SA_PATH_GET, SA_PATH_RESP};
    use crate::units::{Mtu, Rate, Selector};

    fn asked() -> PathRecord {
        PathRecord {
            dgid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c903_0000_1895)),
            sgid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c902_0024_f636)),
            path_count: 1,
            pkey: PKey::DEFAULT_FULL,
            ..PathRecord::default()
        }
    }

    #[test]
    fn a_captured_query() {
        let mad = SaMad::parse(&SA_PATH_GET).unwrap();
        assert_eq!(mad.record(), Ok(asked()));
        let mask = PathMask::IPOIB.bits();
        let built = SaMad::request(method::GET, 0x0000_000b_b964_7f9e, mask, &asked());
        assert_eq!(built, mad);
        assert_eq!(built.to_bytes(), SA_PATH_GET);
    }

    #[test]
    fn its_captured_answer() {
        let found = PathRecord {
            dlid: Lid::new(2),
            slid: Lid::new(4),
            reversible: true,
            path_count: 0,
            mtu_selector: Selector::Exactly,
            mtu: Some(Mtu::B2048),
            rate_selector: Selector::Exactly,
            rate: Some(Rate::Gbps10),
            life_time_selector: Selector::Exactly,
            life_time: 18,
            ..asked()
        };
        let answer = SaMad::parse(&SA_PATH_RESP).unwrap();
        assert_eq!(answer.record(), Ok(found));
        let built = SaMad::parse(&SA_PATH_GET).unwrap().response(&found);
        assert_eq!(built.to_bytes(), SA_PATH_RESP);
    }

    #[test]
    fn a_refusal_carries_no_record() {
        let request = SaMad::request(method::DELETE, 1, 0x1_0003, &McMemberRecord::default());
        let refusal = request.refusal(MadStatus::SA_REQUEST_INVALID);
        assert_eq!(refusal.header.method, method::DELETE_RESP);
        assert_eq!(refusal.header.status.bits(), 0x0200);
        assert_eq!((refusal.attribute_offset, refusal.data), (0, [0; 200]));
    }

    #[test]
    fn records_in_tables_begin_every_8_octets() {
        assert_eq!(attribute_offset::<PathRecord>(), 8);
        assert_eq!(attribute_offset::<McMemberRecord>(), 7);
        assert_eq!(attribute_offset::<NodeRecord>(), 14);
        assert_eq!(attribute_offset::<PortInfoRecord>(), 9);
        assert_eq!(attribute_offset::<LinkRecord>(), 1);
        assert_eq!(attribute_offset::<SmInfoRecord>(), 4);
        assert_eq!(attribute_offset::<ServiceRecord>(), 22);
        assert_eq!(attribute_offset::<InformInfoRecord>(), 8);
        assert_eq!(attribute_offset::<GuidInfoRecord>(), 9);
        assert_eq!((PathRecord::ID, NodeRecord::ID), (PATH_RECORD, NODE_RECORD));
        assert_eq!(McMemberRecord::ID, MC_MEMBER_RECORD);
    }
}
