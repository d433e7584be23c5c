//! Disconnecting: DREQ and DREP (IBA 12.6.10, 12.6.11).

use crate::addr::Qpn;

layout! {
    /// DREQ: the connection is to end.
    pub struct Dreq [232] {
        /// Names the connection at the sender.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// Queue pair of the receiver.
        remote_qpn: Qpn = 64, 24;
        /// For the consumer.
        private_data: [u8; 220] = 96, 1760;
    }
}

layout! {
    /// DREP: the connection has ended.
    pub struct Drep [232] {
        /// Names the connection at the sender.
        local_comm_id: u32 = 0, 32;
        /// Names the connection at the receiver.
        remote_comm_id: u32 = 32, 32;
        /// For the consumer.
        private_data: [u8; 224] = 64, 1792;
    }
}
