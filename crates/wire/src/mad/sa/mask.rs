//! Component masks: which components of a record a request means, bit by bit in the order in which
//! the specification lists them (IBA 15.2.5, 15.4.4). Names are those of the records' fields.

bitflags::bitflags! {
    /// Components of a PathRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct PathMask: u64 {
        /// The high 8 bits of service_id.
        const SERVICE_ID_HIGH = 1 << 0;
        /// The low 56 bits of service_id.
        const SERVICE_ID_LOW = 1 << 1;
        /// dgid.
        const DGID = 1 << 2;
        /// sgid.
        const SGID = 1 << 3;
        /// dlid.
        const DLID = 1 << 4;
        /// slid.
        const SLID = 1 << 5;
        /// raw_traffic.
        const RAW_TRAFFIC = 1 << 6;
        /// flow_label.
        const FLOW_LABEL = 1 << 8;
        /// hop_limit.
        const HOP_LIMIT = 1 << 9;
        /// traffic_class.
        const TRAFFIC_CLASS = 1 << 10;
        /// reversible.
        const REVERSIBLE = 1 << 11;
        /// path_count.
        const PATH_COUNT = 1 << 12;
        /// pkey.
        const P_KEY = 1 << 13;
        /// qos_class.
        const QOS_CLASS = 1 << 14;
        /// sl.
        const SL = 1 << 15;
        /// mtu_selector.
        const MTU_SELECTOR = 1 << 16;
        /// mtu.
        const MTU = 1 << 17;
        /// rate_selector.
        const RATE_SELECTOR = 1 << 18;
        /// rate.
        const RATE = 1 << 19;
        /// life_time_selector.
        const LIFE_TIME_SELECTOR = 1 << 20;
        /// life_time.
        const LIFE_TIME = 1 << 21;
        /// preference.
        const PREFERENCE = 1 << 22;

        /// What an IPoIB interface asks: a path between two GIDs, of its traffic class and P_Key.
        const IPOIB = Self::DGID.bits() | Self::SGID.bits() | Self::TRAFFIC_CLASS.bits()
            | Self::PATH_COUNT.bits() | Self::P_KEY.bits();

        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of an MCMemberRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct McMemberMask: u64 {
        /// mgid.
        const MGID = 1 << 0;
        /// port_gid.
        const PORT_GID = 1 << 1;
        /// qkey.
        const Q_KEY = 1 << 2;
        /// mlid.
        const MLID = 1 << 3;
        /// mtu_selector.
        const MTU_SELECTOR = 1 << 4;
        /// mtu.
        const MTU = 1 << 5;
        /// traffic_class.
        const TRAFFIC_CLASS = 1 << 6;
        /// pkey.
        const P_KEY = 1 << 7;
        /// rate_selector.
        const RATE_SELECTOR = 1 << 8;
        /// rate.
        const RATE = 1 << 9;
        /// life_time_selector.
        const LIFE_TIME_SELECTOR = 1 << 10;
        /// life_time.
        const LIFE_TIME = 1 << 11;
        /// sl.
        const SL = 1 << 12;
        /// flow_label.
        const FLOW_LABEL = 1 << 13;
        /// hop_limit.
        const HOP_LIMIT = 1 << 14;
        /// scope.
        const SCOPE = 1 << 15;
        /// join_state.
        const JOIN_STATE = 1 << 16;
        /// proxy_join.
        const PROXY_JOIN = 1 << 17;

        /// What an IPoIB interface gives to join its broadcast group, which must be there already.
        const IPOIB_BROADCAST = Self::MGID.bits() | Self::PORT_GID.bits() | Self::P_KEY.bits()
            | Self::JOIN_STATE.bits();
        /// What it gives to join another group, with the parameters to create it: those of the
        /// broadcast group.
        const IPOIB_GROUP = Self::IPOIB_BROADCAST.bits() | Self::Q_KEY.bits()
            | Self::MTU_SELECTOR.bits() | Self::MTU.bits() | Self::TRAFFIC_CLASS.bits()
            | Self::RATE_SELECTOR.bits() | Self::RATE.bits() | Self::SL.bits()
            | Self::FLOW_LABEL.bits() | Self::HOP_LIMIT.bits();
        /// What it gives to leave a group.
        const LEAVE = Self::MGID.bits() | Self::PORT_GID.bits() | Self::JOIN_STATE.bits();
        /// What an administrator needs to create a group (IBA 15.2.5.17.2).
        const CREATE = Self::MGID.bits() | Self::PORT_GID.bits() | Self::JOIN_STATE.bits()
            | Self::Q_KEY.bits() | Self::TRAFFIC_CLASS.bits() | Self::P_KEY.bits()
            | Self::SL.bits() | Self::FLOW_LABEL.bits();

        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of a ServiceRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct ServiceMask: u64 {
        /// service_id.
        const SERVICE_ID = 1 << 0;
        /// service_gid.
        const SERVICE_GID = 1 << 1;
        /// service_pkey.
        const SERVICE_P_KEY = 1 << 2;
        /// lease.
        const LEASE = 1 << 4;
        /// key.
        const KEY = 1 << 5;
        /// name.
        const NAME = 1 << 6;
        /// The first octet of data8; those behind it are bits 8 to 22.
        const DATA8_FIRST = 1 << 7;
        /// The first word of data16; those behind it are bits 24 to 30.
        const DATA16_FIRST = 1 << 23;
        /// The first word of data32; those behind it are bits 32 to 34.
        const DATA32_FIRST = 1 << 31;
        /// The first word of data64; bit 36 is the second.
        const DATA64_FIRST = 1 << 35;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of a NodeRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct NodeMask: u64 {
        /// lid.
        const LID = 1 << 0;
        /// base_version.
        const BASE_VERSION = 1 << 2;
        /// class_version.
        const CLASS_VERSION = 1 << 3;
        /// node_type.
        const NODE_TYPE = 1 << 4;
        /// port_count.
        const PORT_COUNT = 1 << 5;
        /// system_image_guid.
        const SYSTEM_IMAGE_GUID = 1 << 6;
        /// node_guid.
        const NODE_GUID = 1 << 7;
        /// port_guid.
        const PORT_GUID = 1 << 8;
        /// partition_cap.
        const PARTITION_CAP = 1 << 9;
        /// device_id.
        const DEVICE_ID = 1 << 10;
        /// revision.
        const REVISION = 1 << 11;
        /// local_port.
        const LOCAL_PORT = 1 << 12;
        /// vendor_id.
        const VENDOR_ID = 1 << 13;
        /// description.
        const DESCRIPTION = 1 << 14;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of a PortInfoRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct PortInfoMask: u64 {
        /// lid.
        const LID = 1 << 0;
        /// port.
        const PORT = 1 << 1;
        /// options.
        const OPTIONS = 1 << 2;
        /// m_key.
        const M_KEY = 1 << 3;
        /// gid_prefix.
        const GID_PREFIX = 1 << 4;
        /// PortInfo.lid.
        const BASE_LID = 1 << 5;
        /// master_sm_lid.
        const MASTER_SM_LID = 1 << 6;
        /// capability_mask.
        const CAPABILITY_MASK = 1 << 7;
        /// diag_code.
        const DIAG_CODE = 1 << 8;
        /// m_key_lease_period.
        const M_KEY_LEASE_PERIOD = 1 << 9;
        /// local_port.
        const LOCAL_PORT = 1 << 10;
        /// link_width_enabled.
        const LINK_WIDTH_ENABLED = 1 << 11;
        /// link_width_supported.
        const LINK_WIDTH_SUPPORTED = 1 << 12;
        /// link_width_active.
        const LINK_WIDTH_ACTIVE = 1 << 13;
        /// link_speed_supported.
        const LINK_SPEED_SUPPORTED = 1 << 14;
        /// port_state.
        const PORT_STATE = 1 << 15;
        /// phys_state.
        const PHYS_STATE = 1 << 16;
        /// link_down_default.
        const LINK_DOWN_DEFAULT = 1 << 17;
        /// m_key_protect.
        const M_KEY_PROTECT = 1 << 18;
        /// lmc.
        const LMC = 1 << 20;
        /// link_speed_active.
        const LINK_SPEED_ACTIVE = 1 << 21;
        /// link_speed_enabled.
        const LINK_SPEED_ENABLED = 1 << 22;
        /// neighbor_mtu.
        const NEIGHBOR_MTU = 1 << 23;
        /// master_sm_sl.
        const MASTER_SM_SL = 1 << 24;
        /// vl_cap.
        const VL_CAP = 1 << 25;
        /// init_type.
        const INIT_TYPE = 1 << 26;
        /// vl_high_limit.
        const VL_HIGH_LIMIT = 1 << 27;
        /// vl_arb_high_cap.
        const VL_ARB_HIGH_CAP = 1 << 28;
        /// vl_arb_low_cap.
        const VL_ARB_LOW_CAP = 1 << 29;
        /// init_type_reply.
        const INIT_TYPE_REPLY = 1 << 30;
        /// mtu_cap.
        const MTU_CAP = 1 << 31;
        /// vl_stall_count.
        const VL_STALL_COUNT = 1 << 32;
        /// hoq_life.
        const HOQ_LIFE = 1 << 33;
        /// operational_vls.
        const OPERATIONAL_VLS = 1 << 34;
        /// partition_enforcement_inbound.
        const PARTITION_ENFORCEMENT_INBOUND = 1 << 35;
        /// partition_enforcement_outbound.
        const PARTITION_ENFORCEMENT_OUTBOUND = 1 << 36;
        /// filter_raw_inbound.
        const FILTER_RAW_INBOUND = 1 << 37;
        /// filter_raw_outbound.
        const FILTER_RAW_OUTBOUND = 1 << 38;
        /// m_key_violations.
        const M_KEY_VIOLATIONS = 1 << 39;
        /// p_key_violations.
        const P_KEY_VIOLATIONS = 1 << 40;
        /// q_key_violations.
        const Q_KEY_VIOLATIONS = 1 << 41;
        /// guid_cap.
        const GUID_CAP = 1 << 42;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of a LinkRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct LinkMask: u64 {
        /// from_lid.
        const FROM_LID = 1 << 0;
        /// from_port.
        const FROM_PORT = 1 << 1;
        /// to_port.
        const TO_PORT = 1 << 2;
        /// to_lid.
        const TO_LID = 1 << 3;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of an SMInfoRecord that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct SmInfoMask: u64 {
        /// lid.
        const LID = 1 << 0;
        /// guid.
        const GUID = 1 << 2;
        /// sm_key.
        const SM_KEY = 1 << 3;
        /// activity_count.
        const ACTIVITY_COUNT = 1 << 4;
        /// priority.
        const PRIORITY = 1 << 5;
        /// state.
        const STATE = 1 << 6;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

bitflags::bitflags! {
    /// Components of an InformInfo that a request means.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct InformInfoMask: u64 {
        /// gid.
        const GID = 1 << 0;
        /// lid_range_begin.
        const LID_RANGE_BEGIN = 1 << 1;
        /// lid_range_end.
        const LID_RANGE_END = 1 << 2;
        /// generic.
        const GENERIC = 1 << 4;
        /// subscribe.
        const SUBSCRIBE = 1 << 5;
        /// notice_type.
        const NOTICE_TYPE = 1 << 6;
        /// trap_number.
        const TRAP_NUMBER = 1 << 7;
        /// qpn.
        const QPN = 1 << 8;
        /// resp_time_value.
        const RESP_TIME = 1 << 10;
        /// producer_type.
        const PRODUCER_TYPE = 1 << 12;
        // Reserved components and those without a name here are kept.
        const _ = !0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Linux sends, as seen in captures.
    #[test]
    fn masks_of_ipoib() {
        assert_eq!(PathMask::IPOIB.bits(), 0x340C);
        assert_eq!(McMemberMask::IPOIB_BROADCAST.bits(), 0x1_0083);
        assert_eq!(McMemberMask::IPOIB_GROUP.bits(), 0x1_73F7);
    }

    #[test]
    fn last_components() {
        assert_eq!(PathMask::PREFERENCE.bits(), 1 << 22);
        assert_eq!(McMemberMask::PROXY_JOIN.bits(), 1 << 17);
        assert_eq!(NodeMask::DESCRIPTION.bits(), 1 << 14);
        assert_eq!(PortInfoMask::GUID_CAP.bits(), 1 << 42);
        assert_eq!(InformInfoMask::PRODUCER_TYPE.bits(), 1 << 12);
        assert_eq!(ServiceMask::NAME.bits(), 1 << 6);
    }

    #[test]
    fn reserved_components_are_kept() {
        assert_eq!(PathMask::from_bits_truncate(1 << 60).bits(), 1 << 60);
    }
}
