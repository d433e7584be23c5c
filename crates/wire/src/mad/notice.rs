//! Notices and their traps (IBA 13.4.8, 14.2.5.1).

use crate::addr::{Gid, Lid};

layout! {
    /// Notice: what a trap carries.
    pub struct Notice [64] {
        /// A generic notice, not a maker's.
        generic: bool = 0, 1;
        /// 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 informational.
        notice_type: u8 = 1, 7;
        /// What kind of node sent it (1 CA, 2 switch, 3 router, 4 class manager).
        producer_type: u32 = 8, 24;
        /// The trap.
        trap_number: u16 = 32, 16;
        /// Who sent it.
        issuer_lid: Lid = 48, 16;
        /// For notices that are kept.
        toggle: bool = 64, 1;
        /// For notices that are kept.
        count: u16 = 65, 15;
        /// What it is about, by trap number.
        details: [u8; 54] = 80, 432;
    }
}

layout! {
    /// A notice as the subnet administrator reports it to subscribers.
    pub struct ReportedNotice [80] {
        /// The notice.
        notice: Notice = 0, 512;
        /// GID of the port that sent it.
        issuer_gid: Gid = 512, 128;
    }
}
