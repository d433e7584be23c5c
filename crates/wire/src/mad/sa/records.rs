//! Records about nodes, ports, links, switches and managers: what they tell of themselves, with
//! the LID to ask (IBA 15.2.5.2 to 15.2.5.13).

use crate::addr::Lid;
use crate::mad::attribute;
use crate::mad::description::NodeDescription;
use crate::mad::node::{NodeInfo, SwitchInfo};
use crate::mad::port_info::PortInfo;
use crate::mad::sm_info::SmInfo;

layout! {
    /// NodeRecord (IBA 15.2.5.2).
    pub struct NodeRecord [108] {
        /// LID of the port.
        lid: Lid = 0, 16;
        /// NodeInfo.
        node_info: NodeInfo = 32, 320;
        /// NodeDescription.
        description: NodeDescription = 352, 512;
    }
}

layout! {
    /// PortInfoRecord (IBA 15.2.5.3).
    pub struct PortInfoRecord [68] {
        /// LID of the node.
        lid: Lid = 0, 16;
        /// Port.
        port: u8 = 16, 8;
        /// Options.
        options: u8 = 24, 8;
        /// PortInfo.
        port_info: PortInfo = 32, 512;
    }
}

layout! {
    /// LinkRecord (IBA 15.2.5.13).
    pub struct LinkRecord [6] {
        /// One end.
        from_lid: Lid = 0, 16;
        /// Its port.
        from_port: u8 = 16, 8;
        /// Port of the other end.
        to_port: u8 = 24, 8;
        /// The other end.
        to_lid: Lid = 32, 16;
    }
}

layout! {
    /// SMInfoRecord.
    pub struct SmInfoRecord [25] {
        /// LID of the manager's port.
        lid: Lid = 0, 16;
        /// SMInfo.
        sm_info: SmInfo = 32, 168;
    }
}

layout! {
    /// SwitchInfoRecord.
    pub struct SwitchInfoRecord [24] {
        /// LID of the switch.
        lid: Lid = 0, 16;
        /// SwitchInfo.
        switch_info: SwitchInfo = 32, 160;
    }
}

attributes! {
    NodeRecord = attribute::NODE_RECORD;
    PortInfoRecord = attribute::PORT_INFO_RECORD;
    LinkRecord = attribute::LINK_RECORD;
    SmInfoRecord = attribute::SM_INFO_RECORD;
    SwitchInfoRecord = attribute::SWITCH_INFO_RECORD;
}
