//! ClassPortInfo: what a class manager can do (IBA 13.4.8.1).

use crate::addr::{Gid, Lid, PKey, QKey, Qpn, Sl};

layout! {
    /// ClassPortInfo.
    #[derive(Default)]
    pub struct ClassPortInfo [72] {
        /// 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// Capabilities of the class.
        capability_mask: u16 = 16, 16;
        /// More of them.
        capability_mask2: u32 = 32, 27;
        /// How long answers take, 4.096 µs × 2^n.
        resp_time_value: u8 = 59, 5;
        /// Ask there instead.
        redirect_gid: Gid = 64, 128;
        /// Traffic class.
        redirect_traffic_class: u8 = 192, 8;
        /// SL.
        redirect_sl: Sl = 200, 4;
        /// Flow label.
        redirect_flow_label: u32 = 204, 20;
        /// LID.
        redirect_lid: Lid = 224, 16;
        /// P_Key.
        redirect_pkey: PKey = 240, 16;
        /// QP.
        redirect_qpn: Qpn = 264, 24;
        /// Q_Key.
        redirect_qkey: QKey = 288, 32;
        /// Where traps go.
        trap_gid: Gid = 320, 128;
        /// Traffic class.
        trap_traffic_class: u8 = 448, 8;
        /// SL.
        trap_sl: Sl = 456, 4;
        /// Flow label.
        trap_flow_label: u32 = 460, 20;
        /// LID.
        trap_lid: Lid = 480, 16;
        /// P_Key.
        trap_pkey: PKey = 496, 16;
        /// Hop limit.
        trap_hop_limit: u8 = 512, 8;
        /// QP.
        trap_qpn: Qpn = 520, 24;
        /// Q_Key.
        trap_qkey: QKey = 544, 32;
    }
}

attributes! { ClassPortInfo = super::attribute::CLASS_PORT_INFO; }

bitflags::bitflags! {
    /// ClassPortInfo.CapabilityMask of subnet administration (IBA 15.2.5.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct SaCapabilities: u16 {
        /// Sends traps.
        const TRAP = 1 << 0;
        /// Has Get(Notice) and Set(Notice).
        const NOTICE = 1 << 1;
        /// capability_mask2 means something.
        const CAPABILITY_MASK2 = 1 << 2;
        /// Has all optional records.
        const OPTIONAL_RECORDS = 1 << 8;
        /// Manages multicast groups.
        const MULTICAST = 1 << 9;
        /// Answers multi-path queries.
        const MULTI_PATH = 1 << 10;
        /// Keeps state when ports re-initialize.
        const REINIT = 1 << 11;
        /// PortInfoRecord queries can ask for single capability bits.
        const PORT_INFO_CAPABILITY_MATCH = 1 << 13;
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// ClassPortInfo.CapabilityMask2 of subnet administration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct SaCapabilities2: u32 {
        /// Paths depend on QoS class and service.
        const QOS = 1 << 1;
        /// Path records name the P_Key of the way back.
        const REVERSE_PATH_P_KEY = 1 << 2;
        /// Writes SwitchInfo.MulticastFDBTop.
        const MULTICAST_FDB_TOP = 1 << 3;
        /// Has HierarchyInfo records.
        const HIERARCHY_INFO = 1 << 4;
        /// Knows more than one GUID of a port.
        const ALIAS_GUIDS = 1 << 5;
        /// PortInfo records are complete.
        const FULL_PORT_INFO_RECORD = 1 << 6;
        /// Knows extended speeds.
        const EXTENDED_SPEEDS = 1 << 7;
        /// Services can be offered by multicast groups.
        const MULTICAST_SERVICE_RECORDS = 1 << 8;
        /// PortInfoRecord queries can ask for single bits of the second capability mask.
        const PORT_INFO_CAPABILITY2_MATCH = 1 << 10;
        /// Knows width 2x.
        const LINK_WIDTH_2X = 1 << 11;
        /// Ports can join a group as send-only full members.
        const SEND_ONLY_FULL_MEMBER = 1 << 12;
        /// Knows HDR.
        const LINK_SPEED_HDR = 1 << 13;
        const _ = (1 << 27) - 1;
    }
}

bitflags::bitflags! {
    /// ClassPortInfo.CapabilityMask of performance management (IBA 16.1.3.1).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct PmaCapabilities: u16 {
        /// Port 255 means all ports together.
        const ALL_PORT_SELECT = 1 << 8;
        /// Has PortCountersExtended.
        const EXTENDED_WIDTH = 1 << 9;
        /// Has PortCountersExtended without the unicast and multicast counters.
        const EXTENDED_WIDTH_NO_IETF = 1 << 10;
        /// Has only the sampled counters.
        const SAMPLES_ONLY = 1 << 11;
        /// Counts PortXmitWait.
        const TRANSMIT_WAIT = 1 << 12;
        /// Counts QP1Dropped.
        const QP1_DROPPED = 1 << 15;
        const _ = !0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the stock subnet manager says of itself.
    #[test]
    fn capabilities_of_a_subnet_administrator() {
        let capabilities = SaCapabilities::NOTICE
            | SaCapabilities::MULTICAST
            | SaCapabilities::MULTI_PATH
            | SaCapabilities::PORT_INFO_CAPABILITY_MATCH;
        assert_eq!(capabilities.bits(), 0x2602);
        let capabilities2 = SaCapabilities2::from_bits_truncate(0xB5E8);
        assert!(capabilities2.contains(SaCapabilities2::SEND_ONLY_FULL_MEMBER));
        assert!(capabilities2.contains(SaCapabilities2::EXTENDED_SPEEDS));
        assert!(!capabilities2.contains(SaCapabilities2::QOS));
    }

    #[test]
    fn the_second_mask_ends_where_the_response_time_begins() {
        let info = ClassPortInfo {
            base_version: 1,
            class_version: 2,
            capability_mask2: 0x7FF_FFFF,
            resp_time_value: 0x10,
            ..ClassPortInfo::default()
        };
        let mut bytes = [0xa5; 72];
        info.emit(&mut bytes);
        assert_eq!(bytes[..8], [1, 2, 0, 0, 0xFF, 0xFF, 0xFF, 0xF0]);
        assert_eq!(bytes[8..], [0; 64]);
        assert_eq!(ClassPortInfo::parse(&bytes), Ok(info));
    }
}
