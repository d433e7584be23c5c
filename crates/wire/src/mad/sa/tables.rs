//! Records that hold a block of a table of a port or a switch (IBA 15.2.5.4 to 15.2.5.11,
//! 15.2.5.18).

use crate::addr::Lid;
use crate::mad::attribute;
use crate::mad::tables::{GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock};

layout! {
    /// GuidInfoRecord.
    pub struct GuidInfoRecord [72] {
        /// LID of the port.
        lid: Lid = 0, 16;
        /// Which block.
        block: u8 = 16, 8;
        /// The block.
        guids: GuidBlock = 64, 512;
    }
}

layout! {
    /// P_KeyTableRecord.
    pub struct PKeyTableRecord [72] {
        /// LID of the port; of a switch that of port 0.
        lid: Lid = 0, 16;
        /// Which block.
        block: u16 = 16, 16;
        /// Port of a switch.
        port: u8 = 32, 8;
        /// The block.
        pkeys: PKeyBlock = 64, 512;
    }
}

layout! {
    /// SLtoVLMappingTableRecord.
    pub struct SlToVlRecord [16] {
        /// LID of the port; of a switch that of port 0.
        lid: Lid = 0, 16;
        /// Port of a switch that packets come in by.
        input_port: u8 = 16, 8;
        /// Port of a switch that packets leave by.
        output_port: u8 = 24, 8;
        /// The table.
        sl_to_vl: SlToVl = 64, 64;
    }
}

layout! {
    /// VLArbitrationTableRecord.
    pub struct VlArbRecord [72] {
        /// LID of the port; of a switch that of port 0.
        lid: Lid = 0, 16;
        /// Port of a switch.
        output_port: u8 = 16, 8;
        /// Which block.
        block: u8 = 24, 8;
        /// The block.
        weights: VlArbBlock = 64, 512;
    }
}

layout! {
    /// LinearForwardingTableRecord.
    pub struct LinearFdbRecord [72] {
        /// LID of the switch.
        lid: Lid = 0, 16;
        /// Which block.
        block: u16 = 16, 16;
        /// The block.
        ports: LinearBlock = 64, 512;
    }
}

layout! {
    /// MulticastForwardingTableRecord.
    pub struct MulticastFdbRecord [72] {
        /// LID of the switch.
        lid: Lid = 0, 16;
        /// Which 16 ports.
        position: u8 = 16, 4;
        /// Which block.
        block: u16 = 23, 9;
        /// The block.
        port_masks: MulticastBlock = 64, 512;
    }
}

attributes! {
    GuidInfoRecord = attribute::GUID_INFO_RECORD;
    PKeyTableRecord = attribute::PKEY_TABLE_RECORD;
    SlToVlRecord = attribute::SL_TO_VL_RECORD;
    VlArbRecord = attribute::VL_ARBITRATION_RECORD;
    LinearFdbRecord = attribute::LINEAR_FDB_RECORD;
    MulticastFdbRecord = attribute::MULTICAST_FDB_RECORD;
}
