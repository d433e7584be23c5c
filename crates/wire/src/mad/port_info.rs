//! PortInfo: all that management knows of a port (IBA 14.2.5.6).

use crate::addr::{Lid, MKey, Sl};
use crate::units::{Mtu, PhysState, PortState};

layout! {
    /// PortInfo.
    pub struct PortInfo [64] {
        /// Management key of the port.
        m_key: MKey = 0, 64;
        /// Subnet prefix.
        gid_prefix: u64 = 64, 64;
        /// Base LID.
        lid: Lid = 128, 16;
        /// LID of the master subnet manager.
        master_sm_lid: Lid = 144, 16;
        /// Capabilities.
        capability_mask: PortCapabilities = 160, 32;
        /// Diagnostic code.
        diag_code: u16 = 192, 16;
        /// Seconds until M_Key protection ends when the manager is silent; 0: never.
        m_key_lease_period: u16 = 208, 16;
        /// The port that this MAD came in by.
        local_port: u8 = 224, 8;
        /// Widths allowed: 1 (1x), 2 (4x), 4 (8x), 8 (12x), 16 (2x).
        link_width_enabled: u8 = 232, 8;
        /// Widths that the port can do.
        link_width_supported: u8 = 240, 8;
        /// Width in use.
        link_width_active: u8 = 248, 8;
        /// Speeds that the port can do: 1 (2.5), 2 (5), 4 (10 Gb/s a lane).
        link_speed_supported: u8 = 256, 4;
        /// Logical state.
        port_state: PortState = 260, 4;
        /// Physical state.
        phys_state: PhysState = 264, 4;
        /// Physical state to go to when the link goes down: 1 sleep, 2 polling.
        link_down_default: u8 = 268, 4;
        /// How the M_Key protects.
        m_key_protect: u8 = 272, 2;
        /// LID mask control: the port owns 2^lmc LIDs.
        lmc: u8 = 277, 3;
        /// Speed in use.
        link_speed_active: u8 = 280, 4;
        /// Speeds allowed.
        link_speed_enabled: u8 = 284, 4;
        /// Largest payload that may be sent on this link.
        neighbor_mtu: Option<Mtu> = 288, 4;
        /// SL to reach the master subnet manager by.
        master_sm_sl: Sl = 292, 4;
        /// Data VLs that the port has: 1 (VL0), 2 (VL0-1), 3 (VL0-3), 4 (VL0-7), 5 (VL0-14).
        vl_cap: u8 = 296, 4;
        /// Initialisation asked for.
        init_type: u8 = 300, 4;
        /// Limit of high priority.
        vl_high_limit: u8 = 304, 8;
        /// Entries of the high-priority arbitration table.
        vl_arb_high_cap: u8 = 312, 8;
        /// Entries of the low-priority arbitration table.
        vl_arb_low_cap: u8 = 320, 8;
        /// Initialisation done.
        init_type_reply: u8 = 328, 4;
        /// Largest MTU that the port can do.
        mtu_cap: Option<Mtu> = 332, 4;
        /// Packets dropped in a row until the VL stalls.
        vl_stall_count: u8 = 336, 3;
        /// How long a packet may be at the head of a queue.
        hoq_life: u8 = 339, 5;
        /// Data VLs in use, coded as vl_cap.
        operational_vls: u8 = 344, 4;
        /// Check the P_Key of packets coming in.
        partition_enforcement_inbound: bool = 348, 1;
        /// Check the P_Key of packets going out.
        partition_enforcement_outbound: bool = 349, 1;
        /// Drop raw packets coming in.
        filter_raw_inbound: bool = 350, 1;
        /// Drop raw packets going out.
        filter_raw_outbound: bool = 351, 1;
        /// SMPs with a wrong M_Key.
        m_key_violations: u16 = 352, 16;
        /// Packets with a wrong P_Key.
        p_key_violations: u16 = 368, 16;
        /// Packets with a wrong Q_Key.
        q_key_violations: u16 = 384, 16;
        /// GUIDs that the port can hold.
        guid_cap: u8 = 400, 8;
        /// Clients must register with the subnet administrator again.
        client_reregister: bool = 408, 1;
        /// Traps for multicast packets with a wrong P_Key.
        multicast_pkey_trap_suppression: u8 = 409, 2;
        /// The longest that the subnet takes for a packet, 4.096 µs × 2^n.
        subnet_timeout: u8 = 411, 5;
        /// The longest that this port takes for an answer.
        resp_time_value: u8 = 419, 5;
        /// Threshold of local physical errors.
        local_phy_errors: u8 = 424, 4;
        /// Threshold of buffer overruns.
        overrun_errors: u8 = 428, 4;
        /// Credits of the peer.
        max_credit_hint: u16 = 432, 16;
        /// Round trip on the link, in 4 ns.
        link_round_trip_latency: u32 = 456, 24;
        /// More capabilities.
        capability_mask2: PortCapabilities2 = 480, 16;
        /// Extended speed in use: 1 FDR, 2 EDR, 4 HDR, 8 NDR.
        link_speed_ext_active: u8 = 496, 4;
        /// Extended speeds that the port can do.
        link_speed_ext_supported: u8 = 500, 4;
        /// Extended speeds allowed.
        link_speed_ext_enabled: u8 = 507, 5;
    }
}

attributes! { PortInfo = super::attribute::PORT_INFO; }

/// In the attribute modifier of PortInfo, above the port: the manager knows extended speeds
/// (IBA 14.2.5.6), so the port may report them.
pub const MODIFIER_EXTENDED_SPEEDS: u32 = 1 << 31;

bitflags::bitflags! {
    /// PortInfo.CapabilityMask.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct PortCapabilities: u32 {
        /// A subnet manager runs at this port.
        const IS_SM = 1 << 1;
        /// Can send notices.
        const NOTICE = 1 << 2;
        /// Can send traps.
        const TRAP = 1 << 3;
        /// Has optional inter-packet delays.
        const OPTIONAL_IPD = 1 << 4;
        /// Has automatic path migration.
        const AUTOMATIC_MIGRATION = 1 << 5;
        /// Has an SLtoVL table.
        const SL_MAPPING = 1 << 6;
        /// Keeps its M_Key without power.
        const M_KEY_NVRAM = 1 << 7;
        /// Keeps its P_Keys without power.
        const P_KEY_NVRAM = 1 << 8;
        /// Has LEDInfo.
        const LED_INFO = 1 << 9;
        /// A subnet manager is there and told to stay quiet.
        const SM_DISABLED = 1 << 10;
        /// Has a system image GUID.
        const SYSTEM_IMAGE_GUID = 1 << 11;
        /// A switch that sends trap 259 for its external ports.
        const P_KEY_SWITCH_EXTERNAL_PORT_TRAP = 1 << 12;
        /// Has CableInfo.
        const CABLE_INFO = 1 << 13;
        /// Has extended speeds.
        const EXTENDED_SPEEDS = 1 << 14;
        /// Has a second capability mask.
        const CAPABILITY_MASK2 = 1 << 15;
        /// Has a communication manager.
        const COMMUNICATION_MANAGEMENT = 1 << 16;
        /// Has SNMP tunnelling.
        const SNMP_TUNNELING = 1 << 17;
        /// Can re-initialize without losing state.
        const REINIT = 1 << 18;
        /// Has device management.
        const DEVICE_MANAGEMENT = 1 << 19;
        /// Has a maker's class.
        const VENDOR_CLASS = 1 << 20;
        /// Can send directed-route notices.
        const DR_NOTICE = 1 << 21;
        /// Sends a notice when the capability mask changes.
        const CAPABILITY_MASK_NOTICE = 1 << 22;
        /// Has boot management.
        const BOOT_MANAGEMENT = 1 << 23;
        /// Measures the link's round trip.
        const LINK_ROUND_TRIP_LATENCY = 1 << 24;
        /// Knows the client-reregister bit.
        const CLIENT_REREGISTRATION = 1 << 25;
        /// Sends a notice when its description or link changes.
        const OTHER_LOCAL_CHANGES_NOTICE = 1 << 26;
        /// Has a table of speed and width pairs.
        const LINK_SPEED_WIDTH_PAIRS = 1 << 27;
        /// Has a maker's attributes.
        const VENDOR_MADS = 1 << 28;
        /// Can suppress traps for multicast packets with a wrong P_Key.
        const MULTICAST_P_KEY_TRAP_SUPPRESSION = 1 << 29;
        /// Has SwitchInfo.MulticastFDBTop.
        const MULTICAST_FDB_TOP = 1 << 30;
        /// Has HierarchyInfo.
        const HIERARCHY_INFO = 1 << 31;
        // Bits that have no name here are kept.
        const _ = !0;
    }
}
newtype_field!(PortCapabilities(u32));

bitflags::bitflags! {
    /// PortInfo.CapabilityMask2.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct PortCapabilities2: u16 {
        /// Its description can be set.
        const SET_NODE_DESCRIPTION = 1 << 0;
        /// Has PortInfoExtended.
        const PORT_INFO_EXTENDED = 1 << 1;
        /// Has virtual ports.
        const VIRTUALIZATION = 1 << 2;
        /// Has a table of port states.
        const SWITCH_PORT_STATE_TABLE = 1 << 3;
        /// Can do width 2x.
        const LINK_WIDTH_2X = 1 << 4;
        /// Can do HDR.
        const LINK_SPEED_HDR = 1 << 5;
        /// Can do NDR.
        const LINK_SPEED_NDR = 1 << 10;
        // Bits that have no name here are kept.
        const _ = !0;
    }
}
newtype_field!(PortCapabilities2(u16));

#[cfg(test)]
mod tests {
    use super::*;

    /// What stock tools do not show, and so cannot vouch for.
    #[test]
    fn the_last_octets() {
        let mut bytes = [0; PortInfo::LEN];
        bytes[51] = 0x60;
        bytes[60..64].copy_from_slice(&[0x04, 0x10, 0x42, 0x1F]);
        let info = PortInfo::parse(&bytes).unwrap();
        assert_eq!(info.multicast_pkey_trap_suppression, 3);
        assert!(!info.client_reregister);
        assert_eq!(
            info.capability_mask2,
            PortCapabilities2::LINK_SPEED_NDR | PortCapabilities2::LINK_WIDTH_2X
        );
        assert_eq!(
            (info.link_speed_ext_active, info.link_speed_ext_supported),
            (4, 2)
        );
        assert_eq!(info.link_speed_ext_enabled, 0x1F);
        assert_eq!(info.to_bytes(), bytes);
    }

    #[test]
    fn before_a_manager_came_there_is_no_mtu() {
        let info = PortInfo::parse(&[0; 64]).unwrap();
        assert_eq!(
            (info.neighbor_mtu, info.port_state),
            (None, PortState::NoChange)
        );
    }

    #[test]
    fn an_undefined_state_is_refused() {
        let mut bytes = [0; 64];
        bytes[32] = 0x06;
        let error = PortInfo::parse(&bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "PortInfo.port_state is 0x6, expected a port state from 0 to 5"
        );
    }
}
