//! Global route header: carries a packet between subnets and to multicast groups (IBA 8.3).
//!
//! ```text
//!  0       4               12              16                      32
//! | 6     | TClass        | flow label, 20                         |
//! | PayLen                          | NxtHdr 0x1B  | HopLmt        |
//! | SGID, 128 …                                                    |
//! | DGID, 128 …                                                    |
//! ```

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

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use proptest::prelude::*;

    use super::*;

    /// Of an ARP request between real adapters.
    const BYTES: [u8; 40] = [
        0x60, 0x00, 0x00, 0x00, 0x00, 0x54, 0x1b, 0x00, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    ];

    fn gid(text: &str) -> Gid {
        Gid::new(text.parse::<Ipv6Addr>().unwrap().octets())
    }

    fn grh() -> Grh {
        Grh {
            ip_version: Grh::IP_VERSION,
            traffic_class: 0,
            flow_label: 0,
            payload_length: 84,
            next_header: Grh::NEXT_HEADER_BTH,
            hop_limit: 0,
            sgid: gid("fe80::2:c902:24:f636"),
            dgid: gid("ff12:401b:ffff::ffff:ffff"),
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(Grh::parse(&BYTES), Ok(grh()));
        assert!(Grh::parse(&BYTES[..39]).is_err());
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 40];
        grh().emit(&mut bytes);
        assert_eq!(bytes, BYTES);
    }

    /// It has the form of an IPv6 header.
    #[test]
    fn agrees_with_ipv6() {
        let ours = Grh {
            traffic_class: 0xab,
            flow_label: 0x1_2345,
            hop_limit: 7,
            ..grh()
        };
        let (oracle, _) = etherparse::Ipv6Header::from_slice(&ours.to_bytes()).unwrap();
        assert_eq!(
            (oracle.traffic_class, oracle.flow_label.value()),
            (0xab, 0x1_2345)
        );
        assert_eq!(
            (
                oracle.payload_length,
                oracle.next_header.0,
                oracle.hop_limit
            ),
            (84, 0x1b, 7)
        );
        assert_eq!(
            (oracle.source, oracle.destination),
            (ours.sgid.octets(), ours.dgid.octets())
        );
    }

    proptest! {
        /// There are no reserved bits.
        #[test]
        fn round_trip(bytes: [u8; 40]) {
            prop_assert_eq!(Grh::parse(&bytes).unwrap().to_bytes(), bytes);
        }
    }
}
