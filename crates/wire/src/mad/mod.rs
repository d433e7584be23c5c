//! Management datagrams: 256 octets, a header and an attribute (IBA 13 to 16).

pub mod class_port_info;
pub mod description;
pub mod header;
pub mod node;
pub mod notice;
pub mod perf;
pub mod port_info;
pub mod rmpp;
pub mod sa;
pub mod sm_info;
pub mod smp;
pub mod status;
pub mod tables;

/// Octets of every MAD.
pub const MAD_LEN: usize = 256;

/// Management classes.
pub mod class {
    /// Subnet management, LID-routed.
    pub const SUBN_LID: u8 = 0x01;
    /// Subnet administration.
    pub const SUBN_ADM: u8 = 0x03;
    /// Performance management.
    pub const PERF_MGT: u8 = 0x04;
    /// Communication management.
    pub const COM_MGT: u8 = 0x07;
    /// Subnet management, directed-route.
    pub const SUBN_DIRECTED: u8 = 0x81;

    /// The class version that goes with a class.
    #[must_use]
    pub const fn version(class: u8) -> u8 {
        match class {
            SUBN_ADM | COM_MGT => 2,
            _ => 1,
        }
    }
}

/// Methods (IBA 13.4.5).
pub mod method {
    /// Get.
    pub const GET: u8 = 0x01;
    /// Set.
    pub const SET: u8 = 0x02;
    /// Send.
    pub const SEND: u8 = 0x03;
    /// Trap.
    pub const TRAP: u8 = 0x05;
    /// Report (subnet administration).
    pub const REPORT: u8 = 0x06;
    /// TrapRepress.
    pub const TRAP_REPRESS: u8 = 0x07;
    /// GetTable (subnet administration).
    pub const GET_TABLE: u8 = 0x12;
    /// Delete (subnet administration).
    pub const DELETE: u8 = 0x15;
    /// Set in every answer.
    pub const RESPONSE: u8 = 0x80;
    /// GetResp.
    pub const GET_RESP: u8 = 0x81;
    /// ReportResp.
    pub const REPORT_RESP: u8 = 0x86;
    /// GetTableResp.
    pub const GET_TABLE_RESP: u8 = 0x92;
    /// DeleteResp.
    pub const DELETE_RESP: u8 = 0x95;

    /// The method that answers a method: a Set is answered by GetResp, a Trap by TrapRepress.
    #[must_use]
    pub const fn response(method: u8) -> u8 {
        match method {
            GET | SET => GET_RESP,
            TRAP => TRAP_REPRESS,
            other => other | RESPONSE,
        }
    }
}

/// Attribute IDs.
pub mod attribute {
    /// ClassPortInfo.
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
    /// MulticastForwardingTable.
    pub const MULTICAST_FDB: u16 = 0x001B;
    /// SMInfo.
    pub const SM_INFO: u16 = 0x0020;

    /// SA NodeRecord.
    pub const NODE_RECORD: u16 = 0x0011;
    /// SA PortInfoRecord.
    pub const PORT_INFO_RECORD: u16 = 0x0012;
    /// SA LinkRecord.
    pub const LINK_RECORD: u16 = 0x0020;
    /// SA ServiceRecord.
    pub const SERVICE_RECORD: u16 = 0x0031;
    /// SA PathRecord.
    pub const PATH_RECORD: u16 = 0x0035;
    /// SA MCMemberRecord.
    pub const MC_MEMBER_RECORD: u16 = 0x0038;

    /// PMA PortCounters.
    pub const PORT_COUNTERS: u16 = 0x0012;
    /// PMA PortCountersExtended.
    pub const PORT_COUNTERS_EXTENDED: u16 = 0x001D;
}
