//! Extended transport headers: what the opcode says follows the BTH (IBA 9.3).

use crate::addr::{QKey, Qpn};

layout! {
    /// Datagram extended transport header.
    pub struct Deth [8] {
        /// The destination QP takes the packet only with its own Q_Key.
        qkey: QKey = 0, 32;
        /// Source queue pair.
        src_qpn: Qpn = 40, 24;
    }
}

layout! {
    /// RDMA extended transport header.
    pub struct Reth [16] {
        /// Where in the remote memory.
        virtual_address: u64 = 0, 64;
        /// R_Key of the memory region.
        remote_key: u32 = 64, 32;
        /// Octets of the whole message.
        dma_length: u32 = 96, 32;
    }
}

layout! {
    /// ACK extended transport header.
    pub struct Aeth [4] {
        /// ACK, RNR NAK or NAK, with credits, timer or reason.
        syndrome: u8 = 0, 8;
        /// Message sequence number.
        msn: u32 = 8, 24;
    }
}

layout! {
    /// Atomic extended transport header.
    pub struct AtomicEth [28] {
        /// Where in the remote memory.
        virtual_address: u64 = 0, 64;
        /// R_Key of the memory region.
        remote_key: u32 = 64, 32;
        /// What to put there, or to add.
        swap_or_add: u64 = 96, 64;
        /// What must be there for the swap.
        compare: u64 = 160, 64;
    }
}

layout! {
    /// Atomic acknowledge extended transport header.
    pub struct AtomicAckEth [8] {
        /// What was in the remote memory before.
        original: u64 = 0, 64;
    }
}

layout! {
    /// Immediate data.
    pub struct ImmDt [4] {
        /// The four octets, as a number.
        data: u32 = 0, 32;
    }
}

layout! {
    /// Invalidate extended transport header.
    pub struct Ieth [4] {
        /// The R_Key to invalidate.
        remote_key: u32 = 0, 32;
    }
}

layout! {
    /// Reliable datagram extended transport header.
    pub struct Rdeth [4] {
        /// End-to-end context.
        ee_context: u32 = 8, 24;
    }
}

layout! {
    /// XRC extended transport header (IBA annex A14).
    pub struct XrcEth [4] {
        /// Shared receive queue that the message is for.
        srq: u32 = 8, 24;
    }
}
