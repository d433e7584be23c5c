//! Connecting: REQ, MRA, REP, RTU (IBA 12.6.5, 12.6.6, 12.6.8, 12.6.9).

use crate::addr::{Gid, Guid, Lid, PKey, Psn, QKey, Qpn, Sl};
use crate::mad::cm::Answered;
use crate::units::{Mtu, Rate};

codes! {
    /// The transport that a connection is to have.
    pub enum TransportService: u8, "a transport service from 0 to 3" {
        /// Reliable connection.
        Rc = 0,
        /// Unreliable connection.
        Uc = 1,
        /// Reliable datagram.
        Rd = 2,
        /// The extended transport type says which.
        Extended = 3,
    }
}

layout! {
    /// A path of a connection, as its active side sees it.
    pub struct PathInfo [44] {
        /// Base LID of the active side's port.
        local_lid: Lid = 0, 16;
        /// LID of the passive side's port.
        remote_lid: Lid = 16, 16;
        /// GID of the active side's port.
        local_gid: Gid = 32, 128;
        /// GID of the passive side's port.
        remote_gid: Gid = 160, 128;
        /// Flow label.
        flow_label: u32 = 288, 20;
        /// Static rate.
        rate: Option<Rate> = 314, 6;
        /// Traffic class.
        traffic_class: u8 = 320, 8;
        /// Hop limit.
        hop_limit: u8 = 328, 8;
        /// Service level.
        sl: Sl = 336, 4;
        /// Both ports are in one subnet.
        subnet_local: bool = 340, 1;
        /// How long the transport waits for an ACK, 4.096 µs × 2^n.
        ack_timeout: u8 = 344, 5;
    }
}

/// No path: what a REQ without an alternate one has there.
impl Default for PathInfo {
    fn default() -> Self {
        Self {
            local_lid: Lid::NONE,
            remote_lid: Lid::NONE,
            local_gid: Gid::NONE,
            remote_gid: Gid::NONE,
            flow_label: 0,
            rate: None,
            traffic_class: 0,
            hop_limit: 0,
            sl: Sl::default(),
            subnet_local: false,
            ack_timeout: 0,
        }
    }
}

layout! {
    /// REQ: the active side asks for a connection.
    pub struct Req [232] {
        /// Names the connection at the active side.
        local_comm_id: u32 = 0, 32;
        /// What to connect to.
        service_id: u64 = 64, 64;
        /// GUID of the active side's adapter.
        local_ca_guid: Guid = 128, 64;
        /// Q_Key, of datagram services.
        local_qkey: QKey = 224, 32;
        /// Queue pair of the active side.
        local_qpn: Qpn = 256, 24;
        /// RDMA reads and atomics that the active side can have outstanding as their target.
        responder_resources: u8 = 280, 8;
        /// End-to-end context, of reliable datagrams.
        local_eecn: u32 = 288, 24;
        /// RDMA reads and atomics that it wants to have outstanding itself.
        initiator_depth: u8 = 312, 8;
        /// End-to-end context, of reliable datagrams.
        remote_eecn: u32 = 320, 24;
        /// How long the passive side has for its REP, 4.096 µs × 2^n.
        remote_cm_timeout: u8 = 344, 5;
        /// The transport.
        transport: TransportService = 349, 2;
        /// End-to-end flow control.
        flow_control: bool = 351, 1;
        /// The first PSN that the active side sends.
        starting_psn: Psn = 352, 24;
        /// How long the active side takes for its RTU, 4.096 µs × 2^n.
        local_cm_timeout: u8 = 376, 5;
        /// Retries of the transport.
        retry_count: u8 = 381, 3;
        /// Partition.
        pkey: PKey = 384, 16;
        /// Path MTU.
        path_mtu: Option<Mtu> = 400, 4;
        /// The reliable datagram channel is there already.
        rdc_exists: bool = 404, 1;
        /// Retries after receiver-not-ready; 7: for ever.
        rnr_retry_count: u8 = 405, 3;
        /// Retries of messages of the communication managers.
        max_cm_retries: u8 = 408, 4;
        /// The active side has a shared receive queue.
        srq: bool = 412, 1;
        /// With [`TransportService::Extended`]: 1 is XRC.
        extended_transport: u8 = 413, 3;
        /// The path.
        primary: PathInfo = 416, 352;
        /// The path for when the other fails; LIDs of zero: none.
        alternate: PathInfo = 768, 352;
        /// For the consumer.
        private_data: [u8; 92] = 1120, 736;
    }
}

layout! {
    /// MRA: a message has arrived, its answer takes longer.
    pub struct Mra [232] {
        /// Names the connection at the sender.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// Which message.
        answered: Answered = 64, 2;
        /// How long its answer takes, 4.096 µs × 2^n.
        service_timeout: u8 = 72, 5;
        /// For the consumer.
        private_data: [u8; 222] = 80, 1776;
    }
}

layout! {
    /// REP: the passive side agrees.
    pub struct Rep [232] {
        /// Names the connection at the passive side.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the active side.
        remote_comm_id: u32 = 32, 32;
        /// Q_Key, of datagram services.
        local_qkey: QKey = 64, 32;
        /// Queue pair of the passive side.
        local_qpn: Qpn = 96, 24;
        /// End-to-end context, of reliable datagrams.
        local_eecn: u32 = 128, 24;
        /// The first PSN that the passive side sends.
        starting_psn: Psn = 160, 24;
        /// RDMA reads and atomics that the passive side can have outstanding as their target.
        responder_resources: u8 = 192, 8;
        /// RDMA reads and atomics that it wants to have outstanding itself.
        initiator_depth: u8 = 200, 8;
        /// How long the passive side's adapter takes for an ACK, 4.096 µs × 2^n.
        target_ack_delay: u8 = 208, 5;
        /// 0: the alternate path is accepted; 1: not supported; 2: refused.
        failover_accepted: u8 = 213, 2;
        /// End-to-end flow control.
        flow_control: bool = 215, 1;
        /// Retries after receiver-not-ready; 7: for ever.
        rnr_retry_count: u8 = 216, 3;
        /// The passive side has a shared receive queue.
        srq: bool = 219, 1;
        /// GUID of the passive side's adapter.
        local_ca_guid: Guid = 224, 64;
        /// For the consumer.
        private_data: [u8; 196] = 288, 1568;
    }
}

layout! {
    /// RTU: the active side is ready.
    pub struct Rtu [232] {
        /// Names the connection at the active side.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the passive side.
        remote_comm_id: u32 = 32, 32;
        /// For the consumer.
        private_data: [u8; 224] = 64, 1792;
    }
}
