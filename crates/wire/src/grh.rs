//! Global route header: carries a packet between subnets and to multicast groups (IBA 8.3).

use crate::addr::Gid;

layout! {
    /// Global route header.
    pub struct Grh [40] {
        /// 6, as in IPv6.
        ip_version: u8 = 0, 4;
        /// Traffic class.
        traffic_class: u8 = 4, 8;
        /// Flow label.
        flow_label: u32 = 12, 20;
        /// Octets from behind the GRH to the ICRC inclusive.
        payload_length: u16 = 32, 16;
        /// 0x1B: a BTH follows.
        next_header: u8 = 48, 8;
        /// Routers that it may still pass.
        hop_limit: u8 = 56, 8;
        /// Source.
        sgid: Gid = 64, 128;
        /// Destination.
        dgid: Gid = 192, 128;
    }
}

impl Grh {
    /// The only `ip_version`.
    pub const IP_VERSION: u8 = 6;
    /// `next_header` where a BTH follows.
    pub const NEXT_HEADER_BTH: u8 = 0x1B;
}
