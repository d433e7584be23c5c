//! Attributes of nodes: NodeInfo and SwitchInfo (IBA 14.2.5.3, 14.2.5.4).

use crate::addr::{Guid, Lid};
use crate::units::NodeType;

layout! {
    /// NodeInfo.
    pub struct NodeInfo [40] {
        /// 1.
        base_version: u8 = 0, 8;
        /// 1.
        class_version: u8 = 8, 8;
        /// What the node is.
        node_type: NodeType = 16, 8;
        /// Its ports, port 0 of a switch not counted.
        port_count: u8 = 24, 8;
        /// GUID of the system that the node is part of.
        system_image_guid: Guid = 32, 64;
        /// GUID of the node.
        node_guid: Guid = 96, 64;
        /// GUID of the port that answered; of a switch that of port 0.
        port_guid: Guid = 160, 64;
        /// P_Keys that a port can hold.
        partition_cap: u16 = 224, 16;
        /// Maker's device number.
        device_id: u16 = 240, 16;
        /// Maker's revision.
        revision: u32 = 256, 32;
        /// The port that this MAD came in by.
        local_port: u8 = 288, 8;
        /// Maker's OUI.
        vendor_id: u32 = 296, 24;
    }
}

layout! {
    /// SwitchInfo.
    #[derive(Default)]
    pub struct SwitchInfo [20] {
        /// LIDs that the linear forwarding table holds.
        linear_fdb_cap: u16 = 0, 16;
        /// 0: no random forwarding table.
        random_fdb_cap: u16 = 16, 16;
        /// Multicast LIDs that the multicast forwarding table holds.
        multicast_fdb_cap: u16 = 32, 16;
        /// The largest LID in the linear table.
        linear_fdb_top: Lid = 48, 16;
        /// For the random table.
        default_port: u8 = 64, 8;
        /// Where packets of unknown multicast LIDs go.
        default_multicast_primary_port: u8 = 72, 8;
        /// Where those go that came in by the primary port.
        default_multicast_not_primary_port: u8 = 80, 8;
        /// LifeTimeValue: how long a packet may wait, 4.096 µs × 2^n, above 19 for ever.
        life_time: u8 = 88, 5;
        /// A port changed its state. A Set with 1 clears it.
        port_state_change: bool = 93, 1;
        /// Optimized SLtoVL programming.
        optimized_sl_to_vl: u8 = 94, 2;
        /// 0.
        lids_per_port: u16 = 96, 16;
        /// P_Keys that an external port can enforce.
        partition_enforcement_cap: u16 = 112, 16;
        /// Can enforce P_Keys of packets coming in.
        inbound_enforcement_cap: bool = 128, 1;
        /// Can enforce P_Keys of packets going out.
        outbound_enforcement_cap: bool = 129, 1;
        /// Can filter raw packets coming in.
        filter_raw_inbound_cap: bool = 130, 1;
        /// Can filter raw packets going out.
        filter_raw_outbound_cap: bool = 131, 1;
        /// Port 0 is a full end port.
        enhanced_port_0: bool = 132, 1;
        /// The largest multicast LID in the multicast table.
        multicast_fdb_top: Lid = 144, 16;
    }
}

attributes! {
    NodeInfo = super::attribute::NODE_INFO;
    SwitchInfo = super::attribute::SWITCH_INFO;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_an_adapter_a_switch_or_a_router() {
        let mut bytes = [0; NodeInfo::LEN];
        bytes[2] = 2;
        assert_eq!(NodeInfo::parse(&bytes).unwrap().node_type, NodeType::Switch);
        bytes[2] = 4;
        assert!(NodeInfo::parse(&bytes).is_err());
    }

    /// What stock tools do not show, and so cannot vouch for.
    #[test]
    fn the_multicast_top_is_behind_a_reserved_octet() {
        let mut bytes = [0; SwitchInfo::LEN];
        bytes[16..].copy_from_slice(&[0x08, 0x00, 0xC1, 0x23]);
        let info = SwitchInfo::parse(&bytes).unwrap();
        assert_eq!(info.multicast_fdb_top, Lid::new(0xC123));
        assert!(info.enhanced_port_0 && !info.inbound_enforcement_cap);
        assert_eq!(info.to_bytes(), bytes);
    }
}
