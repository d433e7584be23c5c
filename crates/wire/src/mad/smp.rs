//! Subnet management packets, LID-routed and directed-route (IBA 14.2.1).

use crate::addr::{Lid, MKey};
use crate::mad::status::MadStatus;

layout! {
    /// What a LID-routed SMP carries behind the MAD header.
    pub struct LidSmp [256] {
        /// The MAD header.
        header: super::header::MadHeader = 0, 192;
        /// Management key.
        m_key: MKey = 192, 64;
        /// The attribute.
        data: [u8; 64] = 512, 512;
    }
}

layout! {
    /// A directed-route SMP.
    pub struct DirectedSmp [256] {
        /// 1.
        base_version: u8 = 0, 8;
        /// 0x81.
        class: u8 = 8, 8;
        /// 1.
        class_version: u8 = 16, 8;
        /// Method.
        method: u8 = 24, 8;
        /// Direction: false on the way out, true on the way back.
        returning: bool = 32, 1;
        /// Status.
        status: MadStatus = 33, 15;
        /// Where in the path the packet is.
        hop_pointer: u8 = 48, 8;
        /// Hops of the path.
        hop_count: u8 = 56, 8;
        /// Names the transaction.
        transaction_id: u64 = 64, 64;
        /// Attribute.
        attribute_id: u16 = 128, 16;
        /// Attribute modifier.
        attribute_modifier: u32 = 160, 32;
        /// Management key.
        m_key: MKey = 192, 64;
        /// LID-routed part before the directed one; permissive: none.
        dr_slid: Lid = 256, 16;
        /// LID-routed part behind the directed one; permissive: none.
        dr_dlid: Lid = 272, 16;
        /// The attribute.
        data: [u8; 64] = 512, 512;
        /// Ports to leave by; entry 0 is not used.
        initial_path: [u8; 64] = 1024, 512;
        /// Ports come in by.
        return_path: [u8; 64] = 1536, 512;
    }
}
