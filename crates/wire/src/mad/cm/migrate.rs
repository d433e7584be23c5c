//! Another path for a connection: LAP and APR (IBA 12.8).

use crate::addr::{Gid, Lid, Qpn, Sl};
use crate::units::Rate;

layout! {
    /// LAP: a new alternate path.
    pub struct Lap [232] {
        /// Names the connection at the sender.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// Queue pair of the receiver.
        remote_qpn: Qpn = 96, 24;
        /// How long the receiver has for its APR, 4.096 µs × 2^n.
        remote_cm_timeout: u8 = 120, 5;
        /// Base LID of the sender's port.
        local_lid: Lid = 160, 16;
        /// LID of the receiver's port.
        remote_lid: Lid = 176, 16;
        /// GID of the sender's port.
        local_gid: Gid = 192, 128;
        /// GID of the receiver's port.
        remote_gid: Gid = 320, 128;
        /// Flow label.
        flow_label: u32 = 448, 20;
        /// Traffic class.
        traffic_class: u8 = 472, 8;
        /// Hop limit.
        hop_limit: u8 = 480, 8;
        /// Static rate.
        rate: Option<Rate> = 490, 6;
        /// Service level.
        sl: Sl = 496, 4;
        /// Both ports are in one subnet.
        subnet_local: bool = 500, 1;
        /// How long the transport waits for an ACK, 4.096 µs × 2^n.
        ack_timeout: u8 = 504, 5;
        /// For the consumer.
        private_data: [u8; 168] = 512, 1344;
    }
}

layout! {
    /// APR: what became of a new alternate path.
    pub struct Apr [232] {
        /// Names the connection at the sender.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// Octets of additional information.
        info_length: u8 = 64, 8;
        /// What became of it.
        status: AprStatus = 72, 8;
        /// Additional information: by status, what would be right.
        info: [u8; 72] = 96, 576;
        /// For the consumer.
        private_data: [u8; 148] = 672, 1184;
    }
}

open_codes! {
    /// What became of a new alternate path.
    pub struct AprStatus(u8) {
        /// It is loaded.
        LOADED = 0, "alternate path loaded";
        /// A communication ID names nothing.
        INVALID_COMM_INSTANCE = 1, "invalid communication instance";
        /// The receiver does not support other paths.
        NOT_SUPPORTED = 2, "alternate paths not supported";
        /// The receiver refuses.
        REJECTED = 3, "alternate path rejected";
        /// Ask the port in the additional information.
        REDIRECT = 4, "redirect";
        /// It is the path in use.
        IS_CURRENT = 5, "proposed path matches the current one";
        /// The queue pair is not the connection's.
        QPN_MISMATCH = 6, "QPN does not match";
        /// The remote LID is not accepted.
        LID_REJECTED = 7, "remote port LID rejected";
        /// The remote GID is not accepted.
        GID_REJECTED = 8, "remote port GID rejected";
        /// The flow label is not accepted.
        FLOW_LABEL_REJECTED = 9, "flow label rejected";
        /// The traffic class is not accepted.
        TRAFFIC_CLASS_REJECTED = 10, "traffic class rejected";
        /// The hop limit is not accepted.
        HOP_LIMIT_REJECTED = 11, "hop limit rejected";
        /// The rate is not accepted.
        RATE_REJECTED = 12, "packet rate rejected";
        /// The SL is not accepted.
        SL_REJECTED = 13, "SL rejected";
    }
}
