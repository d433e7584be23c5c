//! Local route header: carries a packet across one subnet (IBA 7.7).

use crate::addr::{Lid, Sl, Vl};

codes! {
    /// What follows the LRH (LNH).
    pub enum NextHeader: u8, "a link next header from 0 to 3" {
        /// A raw packet with an EtherType.
        RawEthertype = 0,
        /// A raw IPv6 packet.
        RawIpv6 = 1,
        /// A BTH: a packet that stays in the subnet.
        Bth = 2,
        /// A GRH, then a BTH.
        Grh = 3,
    }
}

layout! {
    /// Local route header.
    pub struct Lrh [8] {
        /// Virtual lane of the link that the packet is on.
        vl: Vl = 0, 4;
        /// Link version: 0.
        version: u8 = 4, 4;
        /// Service level, end to end.
        sl: Sl = 8, 4;
        /// What follows.
        next_header: NextHeader = 14, 2;
        /// Destination.
        dlid: Lid = 16, 16;
        /// Length in 4-octet words, from the LRH to the ICRC inclusive.
        packet_length: u16 = 37, 11;
        /// Source.
        slid: Lid = 48, 16;
    }
}

impl NextHeader {
    /// Whether the packet is raw: without BTH and ICRC.
    #[must_use]
    pub const fn is_raw(self) -> bool {
        matches!(self, Self::RawEthertype | Self::RawIpv6)
    }

    /// Octets of the shortest packet of its kind, from the LRH to before the ICRC.
    #[must_use]
    pub const fn shortest(self) -> usize {
        Lrh::LEN
            + match self {
                // The raw header: EtherType and 16 reserved bits (IBA 5.3).
                Self::RawEthertype => 4,
                Self::RawIpv6 => 40,
                Self::Bth => 12,
                Self::Grh => 40 + 12,
            }
    }
}
