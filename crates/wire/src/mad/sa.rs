//! Subnet administration: the SA header and its records (IBA 15.2).

use crate::addr::{Gid, Lid, PKey, QKey, Qpn, Sl};
use crate::mad::description::NodeDescription;
use crate::mad::header::MadHeader;
use crate::mad::node::NodeInfo;
use crate::mad::port_info::PortInfo;
use crate::units::{Mtu, Rate, Selector};

layout! {
    /// A subnet administration MAD: MAD header, RMPP header, SA header and data.
    pub struct SaMad [256] {
        /// MAD header.
        header: MadHeader = 0, 192;
        /// RMPP header.
        rmpp: super::rmpp::RmppHeader = 192, 96;
        /// SM_Key: 0 untrusted.
        sm_key: u64 = 288, 64;
        /// Size of a record in a table, in 8 octets.
        attribute_offset: u16 = 352, 16;
        /// Which components of the record a query means.
        component_mask: u64 = 384, 64;
        /// Records.
        data: [u8; 200] = 448, 1600;
    }
}

layout! {
    /// PathRecord (IBA 15.2.5.16).
    pub struct PathRecord [64] {
        /// Service that the path is for.
        service_id: u64 = 0, 64;
        /// Destination.
        dgid: Gid = 64, 128;
        /// Source.
        sgid: Gid = 192, 128;
        /// Destination LID.
        dlid: Lid = 320, 16;
        /// Source LID.
        slid: Lid = 336, 16;
        /// For raw packets.
        raw_traffic: bool = 352, 1;
        /// Flow label.
        flow_label: u32 = 356, 20;
        /// Hop limit.
        hop_limit: u8 = 376, 8;
        /// Traffic class.
        traffic_class: u8 = 384, 8;
        /// The way back is the same.
        reversible: bool = 392, 1;
        /// NumbPath: how many paths a query wants.
        path_count: u8 = 393, 7;
        /// Partition.
        pkey: PKey = 400, 16;
        /// Quality-of-service class.
        qos_class: u16 = 416, 12;
        /// Service level.
        sl: Sl = 428, 4;
        /// How mtu is meant.
        mtu_selector: Selector = 432, 2;
        /// Path MTU.
        mtu: Option<Mtu> = 434, 6;
        /// How rate is meant.
        rate_selector: Selector = 440, 2;
        /// Path rate.
        rate: Option<Rate> = 442, 6;
        /// How life_time is meant.
        life_time_selector: Selector = 448, 2;
        /// Packet life time, 4.096 µs × 2^n.
        life_time: u8 = 450, 6;
        /// Order among several paths.
        preference: u8 = 456, 8;
    }
}

layout! {
    /// MCMemberRecord (IBA 15.2.5.17).
    pub struct McMemberRecord [52] {
        /// Group.
        mgid: Gid = 0, 128;
        /// Member.
        port_gid: Gid = 128, 128;
        /// Q_Key of the group.
        qkey: QKey = 256, 32;
        /// Multicast LID.
        mlid: Lid = 288, 16;
        /// How mtu is meant.
        mtu_selector: Selector = 304, 2;
        /// MTU of the group.
        mtu: Option<Mtu> = 306, 6;
        /// Traffic class.
        traffic_class: u8 = 312, 8;
        /// Partition.
        pkey: PKey = 320, 16;
        /// How rate is meant.
        rate_selector: Selector = 336, 2;
        /// Rate of the group.
        rate: Option<Rate> = 338, 6;
        /// How life_time is meant.
        life_time_selector: Selector = 344, 2;
        /// Packet life time.
        life_time: u8 = 346, 6;
        /// Service level.
        sl: Sl = 352, 4;
        /// Flow label.
        flow_label: u32 = 356, 20;
        /// Hop limit.
        hop_limit: u8 = 376, 8;
        /// Scope of the MGID.
        scope: u8 = 384, 4;
        /// How the port is a member.
        join_state: JoinState = 388, 4;
        /// Joined for another port.
        proxy_join: bool = 392, 1;
    }
}

bitflags::bitflags! {
    /// MCMemberRecord.JoinState.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct JoinState: u8 {
        /// Sends and receives; keeps the group alive.
        const FULL = 1;
        /// Sends and receives; does not keep the group alive.
        const NON = 2;
        /// Only sends; does not keep the group alive.
        const SEND_ONLY_NON = 4;
        /// Only sends; keeps the group alive, can create it.
        const SEND_ONLY_FULL = 8;
    }
}
newtype_field!(JoinState(u8));

layout! {
    /// ServiceRecord (IBA 15.2.5.14).
    pub struct ServiceRecord [176] {
        /// Service.
        service_id: u64 = 0, 64;
        /// Port that offers it.
        service_gid: Gid = 64, 128;
        /// Partition that it is offered in.
        service_pkey: PKey = 192, 16;
        /// Seconds that the record lasts; all ones: for ever.
        lease: u32 = 224, 32;
        /// Who registered it.
        key: [u8; 16] = 256, 128;
        /// Name, UTF-8, ended by a zero.
        name: [u8; 64] = 384, 512;
        /// Service data, 8-bit.
        data8: [u8; 16] = 896, 128;
        /// Service data, 16-bit, in wire order.
        data16: [u8; 16] = 1024, 128;
        /// Service data, 32-bit, in wire order.
        data32: [u8; 16] = 1152, 128;
        /// Service data, 64-bit, in wire order.
        data64: [u8; 16] = 1280, 128;
    }
}

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
    /// InformInfo: a subscription to notices (IBA 13.4.8.3).
    pub struct InformInfo [36] {
        /// Only notices about this port; zero: see lid_range_begin.
        gid: Gid = 0, 128;
        /// First LID; permissive: all.
        lid_range_begin: Lid = 128, 16;
        /// Last LID.
        lid_range_end: Lid = 144, 16;
        /// Generic notices.
        generic: bool = 176, 8;
        /// Subscribe, or end the subscription.
        subscribe: bool = 184, 8;
        /// Type; all ones: all.
        notice_type: u16 = 192, 16;
        /// Trap; all ones: all.
        trap_number: u16 = 208, 16;
        /// Where reports go.
        qpn: Qpn = 224, 24;
        /// How long the subscriber takes to answer.
        resp_time_value: u8 = 251, 5;
        /// Kind of node; all ones: all.
        producer_type: u32 = 264, 24;
    }
}
