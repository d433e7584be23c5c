//! As much of IPv4 and IPv6 as an IPoIB interface needs (RFC 791, RFC 8200).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::ipoib::checksum::checksum;

/// Protocol numbers, which IPv6 calls next headers.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 fragment header.
    pub const IPV6_FRAGMENT: u8 = 44;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
}

layout! {
    /// IPv4 header, without its options.
    pub struct Ipv4Header [20] {
        /// 4.
        version: u8 = 0, 4;
        /// Length of the header with its options, in 4-octet words: 5 or more.
        header_words: u8 = 4, 4;
        /// Differentiated services and congestion bits.
        traffic_class: u8 = 8, 8;
        /// Octets of header and payload.
        total_length: u16 = 16, 16;
        /// Fragments of one packet have one identification.
        identification: u16 = 32, 16;
        /// DF.
        dont_fragment: bool = 49, 1;
        /// MF.
        more_fragments: bool = 50, 1;
        /// Where a fragment belongs, in 8 octets.
        fragment_offset: u16 = 51, 13;
        /// Time to live.
        ttl: u8 = 64, 8;
        /// What follows: see [`protocol`].
        protocol: u8 = 72, 8;
        /// Checksum of the header.
        checksum: u16 = 80, 16;
        /// Source.
        source: Ipv4Addr = 96, 32;
        /// Destination.
        destination: Ipv4Addr = 128, 32;
    }
}

impl Ipv4Header {
    /// Octets of the header with its options.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        self.header_words as usize * 4
    }

    /// Whether it is a fragment of a packet, the first included.
    #[must_use]
    pub const fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// The same header with the right checksum, if it has no options.
    #[must_use]
    pub fn with_checksum(self) -> Self {
        let mut bytes = [0; Self::LEN];
        let header = Self {
            checksum: 0,
            ..self
        };
        header.emit(&mut bytes);
        Self {
            checksum: checksum(&bytes),
            ..header
        }
    }
}

layout! {
    /// IPv6 header.
    pub struct Ipv6Header [40] {
        /// 6.
        version: u8 = 0, 4;
        /// Differentiated services and congestion bits.
        traffic_class: u8 = 4, 8;
        /// Flow label.
        flow_label: u32 = 12, 20;
        /// Octets behind this header.
        payload_length: u16 = 32, 16;
        /// What follows: see [`protocol`].
        next_header: u8 = 48, 8;
        /// Routers that it may still pass.
        hop_limit: u8 = 56, 8;
        /// Source.
        source: Ipv6Addr = 64, 128;
        /// Destination.
        destination: Ipv6Addr = 192, 128;
    }
}

/// The header of an IP packet of either version, its lengths checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpHeader {
    /// IPv4.
    V4(Ipv4Header),
    /// IPv6.
    V6(Ipv6Header),
}

/// Why octets are no IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum IpError {
    /// Nothing there.
    #[error("an IP packet of no octets")]
    Empty,
    /// Neither 4 nor 6.
    #[error("IP version is {version}, expected 4 or 6")]
    Version {
        /// What it says.
        version: u8,
    },
    /// No whole header.
    #[error("the IP header needs {need} octets, only {have} are there")]
    Short {
        /// Octets of the header.
        need: usize,
        /// Octets that are there.
        have: usize,
    },
    /// IPv4's header length.
    #[error("IPv4 header length is {words} words, expected 5 or more")]
    HeaderLength {
        /// What it says.
        words: u8,
    },
    /// Total or payload length.
    #[error("the IP packet says it has {said} octets, between {least} and {have} are possible")]
    Length {
        /// What it says, header included.
        said: usize,
        /// Octets of the header.
        least: usize,
        /// Octets that are there.
        have: usize,
    },
}

impl IpHeader {
    /// Reads the header of the packet that `bytes` begins with. Octets behind the packet are
    /// allowed, as padding.
    ///
    /// # Errors
    /// It is no IP packet.
    pub fn parse(bytes: &[u8]) -> Result<Self, IpError> {
        let have = bytes.len();
        let first = bytes.first().ok_or(IpError::Empty)?;
        let header = match first >> 4 {
            4 => {
                let short = |_| IpError::Short {
                    need: Ipv4Header::LEN,
                    have,
                };
                let header = Ipv4Header::parse(bytes).map_err(short)?;
                if header.header_len() < Ipv4Header::LEN {
                    return Err(IpError::HeaderLength {
                        words: header.header_words,
                    });
                }
                Self::V4(header)
            }
            6 => {
                let short = |_| IpError::Short {
                    need: Ipv6Header::LEN,
                    have,
                };
                Self::V6(Ipv6Header::parse(bytes).map_err(short)?)
            }
            version => return Err(IpError::Version { version }),
        };
        let least = header.header_len();
        if have < least {
            return Err(IpError::Short { need: least, have });
        }
        let said = header.total_len();
        if said < least || have < said {
            return Err(IpError::Length { said, least, have });
        }
        Ok(header)
    }

    /// Octets of the header, with IPv4 options, without IPv6 extension headers.
    #[must_use]
    pub const fn header_len(&self) -> usize {
        match self {
            Self::V4(header) => header.header_len(),
            Self::V6(_) => Ipv6Header::LEN,
        }
    }

    /// Octets of the packet, header included.
    #[must_use]
    pub fn total_len(&self) -> usize {
        match self {
            Self::V4(header) => header.total_length.into(),
            Self::V6(header) => Ipv6Header::LEN + usize::from(header.payload_length),
        }
    }

    /// Source address.
    #[must_use]
    pub const fn source(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.source),
            Self::V6(header) => IpAddr::V6(header.source),
        }
    }

    /// Destination address.
    #[must_use]
    pub const fn destination(&self) -> IpAddr {
        match self {
            Self::V4(header) => IpAddr::V4(header.destination),
            Self::V6(header) => IpAddr::V6(header.destination),
        }
    }

    /// What follows the header: see [`protocol`].
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        match self {
            Self::V4(header) => header.protocol,
            Self::V6(header) => header.next_header,
        }
    }
}

/// The solicited-node multicast address of an address (RFC 4291 §2.7.1).
#[must_use]
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xFF02_0000_0000_0000_0000_0001_FF00_0000 | address.to_bits() & 0xFF_FFFF)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Header of an echo request from a capture of real adapters, and of a neighbour solicitation.
    const V4: [u8; 20] = [
        0x45, 0x00, 0x00, 0x54, 0x00, 0x00, 0x40, 0x00, 0x40, 0x01, 0x25, 0x4e, 0x0a, 0x00, 0x01,
        0x22, 0x0a, 0x00, 0x00, 0x3a,
    ];
    const V6: [u8; 40] = [
        0x60, 0x00, 0x00, 0x00, 0x00, 0x30, 0x3a, 0xff, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x02, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x18, 0x95,
    ];

    fn v4() -> Ipv4Header {
        Ipv4Header {
            version: 4,
            header_words: 5,
            traffic_class: 0,
            total_length: 84,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::ICMP,
            checksum: 0x254e,
            source: Ipv4Addr::new(10, 0, 1, 0x22),
            destination: Ipv4Addr::new(10, 0, 0, 0x3a),
        }
    }

    fn v6() -> Ipv6Header {
        Ipv6Header {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_length: 48,
            next_header: protocol::ICMPV6,
            hop_limit: 255,
            source: "fe80::202:c902:24:f636".parse().unwrap(),
            destination: "ff02::1:ff00:1895".parse().unwrap(),
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(Ipv4Header::parse(&V4), Ok(v4()));
        assert_eq!(Ipv6Header::parse(&V6), Ok(v6()));
        let mut packet = [0; 100];
        packet[..20].copy_from_slice(&V4);
        assert_eq!(IpHeader::parse(&packet), Ok(IpHeader::V4(v4())));
        packet[..40].copy_from_slice(&V6);
        assert_eq!(IpHeader::parse(&packet), Ok(IpHeader::V6(v6())));
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 20];
        v4().emit(&mut bytes);
        assert_eq!(bytes, V4);
        let mut bytes = [0xa5; 40];
        v6().emit(&mut bytes);
        assert_eq!(bytes, V6);
    }

    #[test]
    fn header_checksum() {
        assert_eq!(
            Ipv4Header {
                checksum: 0x1234,
                ..v4()
            }
            .with_checksum(),
            v4()
        );
        let (oracle, _) = etherparse::Ipv4Header::from_slice(&V4).unwrap();
        assert_eq!(oracle.calc_header_checksum(), 0x254e);
    }

    #[test]
    fn refusals() {
        assert_eq!(IpHeader::parse(&[]), Err(IpError::Empty));
        assert_eq!(
            IpHeader::parse(&[0x50]),
            Err(IpError::Version { version: 5 })
        );
        assert_eq!(
            IpHeader::parse(&V4[..19]),
            Err(IpError::Short { need: 20, have: 19 })
        );
        assert_eq!(
            IpHeader::parse(&V4),
            Err(IpError::Length {
                said: 84,
                least: 20,
                have: 20
            })
        );
        let mut bytes = [0; 84];
        bytes[..20].copy_from_slice(&V4);
        bytes[0] = 0x44;
        assert_eq!(
            IpHeader::parse(&bytes),
            Err(IpError::HeaderLength { words: 4 })
        );
        bytes[0] = 0x4f;
        assert_eq!(
            IpHeader::parse(&bytes[..59]),
            Err(IpError::Short { need: 60, have: 59 })
        );
        bytes[3] = 59;
        assert_eq!(
            IpHeader::parse(&bytes),
            Err(IpError::Length {
                said: 59,
                least: 60,
                have: 84
            })
        );
        assert_eq!(
            IpHeader::parse(&V6[..39]),
            Err(IpError::Short { need: 40, have: 39 })
        );
        assert_eq!(
            IpHeader::parse(&V6),
            Err(IpError::Length {
                said: 88,
                least: 40,
                have: 40
            })
        );
    }

    #[test]
    fn solicited_node_address() {
        let address = "fe80::202:c903:0:1895".parse().unwrap();
        assert_eq!(
            solicited_node(address),
            "ff02::1:ff00:1895".parse::<Ipv6Addr>().unwrap()
        );
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(header) = IpHeader::parse(&bytes) {
                prop_assert!(header.header_len() <= header.total_len() && header.total_len() <= bytes.len());
            }
        }

        #[test]
        fn round_trip(v4: [u8; 20], v6: [u8; 40]) {
            let header = Ipv4Header::parse(&v4).unwrap();
            let mut bytes = [0xa5; 20];
            header.emit(&mut bytes);
            prop_assert_eq!(Ipv4Header::parse(&bytes), Ok(header));
            let header = Ipv6Header::parse(&v6).unwrap();
            let mut bytes = [0xa5; 40];
            header.emit(&mut bytes);
            prop_assert_eq!(bytes, v6);
        }
    }
}
