//! Local route header: carries a packet across one subnet (IBA 7.7).
//!
//! ```text
//!  0       4       8       12  14  16                              32
//! | VL    | LVer  | SL    | – | LNH | DLID                         |
//! | –                | PktLen, 11   | SLID                         |
//! ```

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
                // The raw header: 16 reserved bits and the EtherType.
                Self::RawEthertype => 4,
                Self::RawIpv6 => 40,
                Self::Bth => 12,
                Self::Grh => 40 + 12,
            }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Of a directed-route SMP between real adapters.
    const BYTES: [u8; 8] = [0xf0, 0x02, 0xff, 0xff, 0x00, 0x48, 0xff, 0xff];

    fn lrh() -> Lrh {
        Lrh {
            vl: Vl::MANAGEMENT,
            version: 0,
            sl: Sl::default(),
            next_header: NextHeader::Bth,
            dlid: Lid::PERMISSIVE,
            packet_length: 72,
            slid: Lid::PERMISSIVE,
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(Lrh::parse(&BYTES), Ok(lrh()));
        // Reserved bits are not looked at.
        assert_eq!(
            Lrh::parse(&[0xf0, 0x0e, 0xff, 0xff, 0xf8, 0x48, 0xff, 0xff]),
            Ok(lrh())
        );
        let error = Lrh::parse(&BYTES[..7]).unwrap_err();
        assert_eq!(error.to_string(), "Lrh needs 8 octets, only 7 are there");
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 8];
        lrh().emit(&mut bytes);
        assert_eq!(bytes, BYTES);
    }

    proptest! {
        #[test]
        fn round_trip(bytes: [u8; 8]) {
            let lrh = Lrh::parse(&bytes).unwrap();
            let emitted = lrh.to_bytes();
            prop_assert_eq!(Lrh::parse(&emitted), Ok(lrh));
            // All but the reserved bits.
            prop_assert_eq!(emitted[1] | bytes[1] & 0x0c, bytes[1]);
            prop_assert_eq!(emitted[4] | bytes[4] & 0xf8, bytes[4]);
        }
    }
}
