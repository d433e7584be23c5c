//! Asking which datagram queue pair a service has: SIDR_REQ and SIDR_REP (IBA 12.11).

use crate::addr::{PKey, QKey, Qpn};

layout! {
    /// SIDR_REQ: which queue pair?
    pub struct SidrReq [232] {
        /// Names the request.
        request_id: u32 = 0, 32;
        /// Partition.
        pkey: PKey = 32, 16;
        /// Of what.
        service_id: u64 = 64, 64;
        /// For the consumer.
        private_data: [u8; 216] = 128, 1728;
    }
}

layout! {
    /// SIDR_REP: this one.
    pub struct SidrRep [232] {
        /// The request.
        request_id: u32 = 0, 32;
        /// Whether there is one.
        status: SidrStatus = 32, 8;
        /// Octets of additional information.
        info_length: u8 = 40, 8;
        /// The queue pair.
        qpn: Qpn = 64, 24;
        /// Of what.
        service_id: u64 = 96, 64;
        /// The queue pair's Q_Key.
        qkey: QKey = 160, 32;
        /// Additional information: where to ask instead.
        info: [u8; 72] = 192, 576;
        /// For the consumer.
        private_data: [u8; 136] = 768, 1088;
    }
}

open_codes! {
    /// Whether a service has a queue pair.
    pub struct SidrStatus(u8) {
        /// It has.
        OK = 0, "QPN and Q_Key valid";
        /// Nobody listens there.
        UNSUPPORTED_SERVICE_ID = 1, "service ID not supported";
        /// The consumer refuses.
        REJECTED = 2, "rejected by the service provider";
        /// No queue pair is free.
        NO_QP = 3, "no QP available";
        /// Ask the port in the additional information.
        REDIRECT = 4, "redirect";
        /// The version is not supported.
        UNSUPPORTED_VERSION = 5, "version not supported";
    }
}
