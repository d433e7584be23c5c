//! Refusing: REJ and its reasons (IBA 12.6.7).

use crate::mad::cm::Answered;

layout! {
    /// REJ: a message is refused.
    pub struct Rej [232] {
        /// Names the connection at the sender; zero: it has none.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// Which message.
        rejected: Answered = 64, 2;
        /// Octets of additional information.
        info_length: u8 = 72, 7;
        /// Why.
        reason: RejectReason = 80, 16;
        /// Additional information: by reason, what would be right.
        info: [u8; 72] = 96, 576;
        /// For the consumer.
        private_data: [u8; 148] = 672, 1184;
    }
}

open_codes! {
    /// Why a message is refused.
    pub struct RejectReason(u16) {
        /// No queue pair is free.
        NO_QP = 1, "no QP available";
        /// No end-to-end context is free.
        NO_EEC = 2, "no EEC available";
        /// Out of resources.
        NO_RESOURCES = 3, "no resources available";
        /// No answer in time.
        TIMEOUT = 4, "timeout";
        /// The message is not supported.
        UNSUPPORTED_REQUEST = 5, "unsupported request";
        /// A communication ID names nothing.
        INVALID_COMM_ID = 6, "invalid communication ID";
        /// Communication IDs do not belong together.
        INVALID_COMM_INSTANCE = 7, "invalid communication instance";
        /// Nobody listens there.
        INVALID_SERVICE_ID = 8, "invalid service ID";
        /// The transport is not supported.
        INVALID_TRANSPORT_SERVICE = 9, "invalid transport service type";
        /// The queue pair is in use by a connection that the sender no longer knows.
        STALE_CONNECTION = 10, "stale connection";
        /// The reliable datagram channel is not there.
        RDC_DOES_NOT_EXIST = 11, "RDC does not exist";
        /// The primary path's remote GID is not accepted.
        PRIMARY_GID = 12, "primary remote port GID rejected";
        /// The primary path's remote LID is not accepted.
        PRIMARY_LID = 13, "primary remote port LID rejected";
        /// The primary path's SL is invalid.
        PRIMARY_SL = 14, "invalid primary SL";
        /// The primary path's traffic class is invalid.
        PRIMARY_TRAFFIC_CLASS = 15, "invalid primary traffic class";
        /// The primary path's hop limit is invalid.
        PRIMARY_HOP_LIMIT = 16, "invalid primary hop limit";
        /// The primary path's rate is invalid.
        PRIMARY_RATE = 17, "invalid primary packet rate";
        /// The alternate path's remote GID is not accepted.
        ALTERNATE_GID = 18, "alternate remote port GID rejected";
        /// The alternate path's remote LID is not accepted.
        ALTERNATE_LID = 19, "alternate remote port LID rejected";
        /// The alternate path's SL is invalid.
        ALTERNATE_SL = 20, "invalid alternate SL";
        /// The alternate path's traffic class is invalid.
        ALTERNATE_TRAFFIC_CLASS = 21, "invalid alternate traffic class";
        /// The alternate path's hop limit is invalid.
        ALTERNATE_HOP_LIMIT = 22, "invalid alternate hop limit";
        /// The alternate path's rate is invalid.
        ALTERNATE_RATE = 23, "invalid alternate packet rate";
        /// Ask the manager and the port in the additional information.
        PORT_AND_CM_REDIRECTION = 24, "port and CM redirection";
        /// Ask the port in the additional information.
        PORT_REDIRECTION = 25, "port redirection";
        /// The MTU is not supported.
        INVALID_PATH_MTU = 26, "invalid path MTU";
        /// Too few responder resources.
        INSUFFICIENT_RESPONDER_RESOURCES = 27, "insufficient responder resources";
        /// The consumer refuses.
        CONSUMER = 28, "consumer reject";
        /// The RNR retry count is not accepted.
        RNR_RETRY_COUNT = 29, "RNR retry count reject";
        /// The communication ID is in use.
        DUPLICATE_LOCAL_COMM_ID = 30, "duplicate local communication ID";
        /// The class version is not supported.
        INVALID_CLASS_VERSION = 31, "invalid class version";
        /// The primary path's flow label is invalid.
        PRIMARY_FLOW_LABEL = 32, "invalid primary flow label";
        /// The alternate path's flow label is invalid.
        ALTERNATE_FLOW_LABEL = 33, "invalid alternate flow label";
    }
}
