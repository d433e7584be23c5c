//! Base transport header (IBA 9.2).

use crate::addr::{PKey, Psn, Qpn};
use crate::opcode::Opcode;

layout! {
    /// Base transport header.
    pub struct Bth [12] {
        /// What the packet does, and which headers follow.
        opcode: Opcode = 0, 8;
        /// The receiver asked to be woken by this one.
        solicited: bool = 8, 1;
        /// MigReq: the connection is on its migrated path.
        migration: bool = 9, 1;
        /// Octets of padding behind the payload.
        pad_count: u8 = 10, 2;
        /// 0.
        transport_version: u8 = 12, 4;
        /// Partition.
        pkey: PKey = 16, 16;
        /// Forward congestion notification.
        fecn: bool = 32, 1;
        /// Backward congestion notification.
        becn: bool = 33, 1;
        /// Destination queue pair.
        dest_qpn: Qpn = 40, 24;
        /// The receiver must acknowledge.
        ack_request: bool = 64, 1;
        /// Packet sequence number.
        psn: Psn = 72, 24;
    }
}
