//! Attributes: what a MAD is about. Their IDs, by class, and what all of them can do.

use crate::ParseError;

/// A value that MADs of one class carry under one attribute ID.
pub trait Attribute: Sized {
    /// The attribute ID.
    const ID: u16;
    /// Octets on the wire.
    const LEN: usize;
    /// Octets of one record in a table of subnet administration: a multiple of 8 (IBA 15.2.1.1).
    const RECORD_LEN: usize = Self::LEN.next_multiple_of(8);

    /// Reads the attribute from the front of `bytes`.
    ///
    /// # Errors
    /// There are fewer than [`Self::LEN`] octets, or a field holds an undefined value.
    fn parse(bytes: &[u8]) -> Result<Self, ParseError>;

    /// Writes the attribute to the front of `bytes`.
    ///
    /// # Panics
    /// `bytes` is shorter than [`Self::LEN`].
    fn emit(&self, bytes: &mut [u8]);
}

/// Says under which IDs formats travel.
macro_rules! attributes {
    ($( $name:ident = $id:expr; )*) => { $(
        impl $crate::mad::attribute::Attribute for $name {
            const ID: u16 = $id;
            const LEN: usize = Self::LEN;

            fn parse(bytes: &[u8]) -> Result<Self, $crate::ParseError> {
                Self::parse(bytes)
            }

            fn emit(&self, bytes: &mut [u8]) {
                self.emit(bytes);
            }
        }
    )* };
}

/// ClassPortInfo, in every class.
pub const CLASS_PORT_INFO: u16 = 0x0001;
/// Notice.
pub const NOTICE: u16 = 0x0002;
/// InformInfo.
pub const INFORM_INFO: u16 = 0x0003;

/// NodeDescription.
pub const NODE_DESCRIPTION: u16 = 0x0010;
/// NodeInfo.
pub const NODE_INFO: u16 = 0x0011;
/// SwitchInfo.
pub const SWITCH_INFO: u16 = 0x0012;
/// GUIDInfo.
pub const GUID_INFO: u16 = 0x0014;
/// PortInfo.
pub const PORT_INFO: u16 = 0x0015;
/// P_KeyTable.
pub const PKEY_TABLE: u16 = 0x0016;
/// SLtoVLMappingTable.
pub const SL_TO_VL: u16 = 0x0017;
/// VLArbitrationTable.
pub const VL_ARBITRATION: u16 = 0x0018;
/// LinearForwardingTable.
pub const LINEAR_FDB: u16 = 0x0019;
/// RandomForwardingTable.
pub const RANDOM_FDB: u16 = 0x001A;
/// MulticastForwardingTable.
pub const MULTICAST_FDB: u16 = 0x001B;
/// SMInfo.
pub const SM_INFO: u16 = 0x0020;

/// SA NodeRecord.
pub const NODE_RECORD: u16 = 0x0011;
/// SA PortInfoRecord.
pub const PORT_INFO_RECORD: u16 = 0x0012;
/// SA SLtoVLMappingTableRecord.
pub const SL_TO_VL_RECORD: u16 = 0x0013;
/// SA SwitchInfoRecord.
pub const SWITCH_INFO_RECORD: u16 = 0x0014;
/// SA LinearForwardingTableRecord.
pub const LINEAR_FDB_RECORD: u16 = 0x0015;
/// SA MulticastForwardingTableRecord.
pub const MULTICAST_FDB_RECORD: u16 = 0x0017;
/// SA SMInfoRecord.
pub const SM_INFO_RECORD: u16 = 0x0018;
/// SA LinkRecord.
pub const LINK_RECORD: u16 = 0x0020;
/// SA GuidInfoRecord.
pub const GUID_INFO_RECORD: u16 = 0x0030;
/// SA ServiceRecord.
pub const SERVICE_RECORD: u16 = 0x0031;
/// SA P_KeyTableRecord.
pub const PKEY_TABLE_RECORD: u16 = 0x0033;
/// SA PathRecord.
pub const PATH_RECORD: u16 = 0x0035;
/// SA VLArbitrationTableRecord.
pub const VL_ARBITRATION_RECORD: u16 = 0x0036;
/// SA MCMemberRecord.
pub const MC_MEMBER_RECORD: u16 = 0x0038;
/// SA TraceRecord.
pub const TRACE_RECORD: u16 = 0x0039;
/// SA MultiPathRecord.
pub const MULTI_PATH_RECORD: u16 = 0x003A;
/// SA InformInfoRecord.
pub const INFORM_INFO_RECORD: u16 = 0x00F3;

/// PMA PortCounters.
pub const PORT_COUNTERS: u16 = 0x0012;
/// PMA PortCountersExtended.
pub const PORT_COUNTERS_EXTENDED: u16 = 0x001D;
