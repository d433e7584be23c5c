//! Address resolution for IPv4 (RFC 826, RFC 903, RFC 4391 §9.2).
//!
//! ```text
//!  0               2               4       5       6               8
//! | hardware 32   | protocol 0x0800| 20    | 4     | operation     |
//! | sender hardware address 20 … | sender protocol address 4 |
//! | target hardware address 20 … | target protocol address 4 |
//! ```

use core::net::Ipv4Addr;

use crate::error::ParseError;
use crate::ipoib::HardwareAddress;

codes! {
    /// What an ARP message asks or says.
    pub enum Operation: u16, "an ARP operation from 1 to 4" {
        /// Who has the target protocol address?
        Request = 1,
        /// The sender has it.
        Reply = 2,
        /// Which protocol address has the target hardware address?
        ReverseRequest = 3,
        /// The answer.
        ReverseReply = 4,
    }
}

layout! {
    /// What an ARP message on any network begins with.
    pub struct Prologue [8] {
        /// Kind of hardware addresses.
        hardware_type: u16 = 0, 16;
        /// EtherType of the protocol.
        protocol_type: u16 = 16, 16;
        /// Octets of a hardware address.
        hardware_len: u8 = 32, 8;
        /// Octets of a protocol address.
        protocol_len: u8 = 40, 8;
        /// What the message asks or says.
        operation: Operation = 48, 16;
    }
}

layout! {
    /// A hardware and a protocol address.
    #[derive(PartialOrd, Ord, Hash)]
    pub struct Party [24] {
        /// Hardware address. A request's target has any value: zero, or the broadcast address.
        hardware: HardwareAddress = 0, 160;
        /// Protocol address.
        protocol: Ipv4Addr = 160, 32;
    }
}

/// An ARP message between IPoIB interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arp {
    /// What it asks or says.
    pub operation: Operation,
    /// Who sends it.
    pub sender: Party,
    /// Whom it is about.
    pub target: Party,
}

impl Arp {
    /// Octets of the message.
    pub const LEN: usize = Prologue::LEN + 2 * Party::LEN;
    /// Hardware type InfiniBand.
    pub const HARDWARE_TYPE: u16 = 32;
    const PROTOCOL_TYPE: u16 = 0x0800;

    /// Reads a message from the front of `bytes`.
    ///
    /// # Errors
    /// It is too short, or is not about InfiniBand and IPv4 addresses.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        if bytes.len() < Self::LEN {
            return Err(ParseError::TooShort {
                format: "Arp",
                need: Self::LEN,
                have: bytes.len(),
            });
        }
        let prologue = Prologue::parse(bytes)?;
        for (field, value, right, expected) in [
            (
                "hardware_type",
                prologue.hardware_type,
                Self::HARDWARE_TYPE,
                "32, InfiniBand",
            ),
            (
                "protocol_type",
                prologue.protocol_type,
                Self::PROTOCOL_TYPE,
                "0x0800, IPv4",
            ),
            ("hardware_len", prologue.hardware_len.into(), 20, "20"),
            ("protocol_len", prologue.protocol_len.into(), 4, "4"),
        ] {
            if value != right {
                return Err(ParseError::BadValue {
                    format: "Arp",
                    field,
                    value: value.into(),
                    expected,
                });
            }
        }
        Ok(Self {
            operation: prologue.operation,
            sender: Party::parse(&bytes[Prologue::LEN..])?,
            target: Party::parse(&bytes[Prologue::LEN + Party::LEN..])?,
        })
    }

    /// Writes the message to the front of `bytes`.
    ///
    /// # Panics
    /// `bytes` is shorter than [`Self::LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        let bytes = &mut bytes[..Self::LEN];
        Prologue {
            hardware_type: Self::HARDWARE_TYPE,
            protocol_type: Self::PROTOCOL_TYPE,
            hardware_len: 20,
            protocol_len: 4,
            operation: self.operation,
        }
        .emit(bytes);
        self.sender.emit(&mut bytes[Prologue::LEN..]);
        self.target.emit(&mut bytes[Prologue::LEN + Party::LEN..]);
    }

    /// A request for the hardware address of `target`.
    #[must_use]
    pub const fn request(sender: Party, target: Ipv4Addr) -> Self {
        Self {
            operation: Operation::Request,
            sender,
            target: Party {
                hardware: HardwareAddress::UNKNOWN,
                protocol: target,
            },
        }
    }

    /// The answer to this message by `sender`.
    #[must_use]
    pub const fn reply(&self, sender: Party) -> Self {
        Self {
            operation: Operation::Reply,
            sender,
            target: self.sender,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::addr::{Gid, Guid, Qpn};
    use crate::ipoib::AddressFlags;

    /// A request and its reply, from a capture of real adapters.
    const REQUEST: [u8; 56] = [
        0x00, 0x20, 0x08, 0x00, 0x14, 0x04, 0x00, 0x01, 0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0x0a, 0x00,
        0x01, 0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x3a,
    ];
    const REPLY: [u8; 56] = [
        0x00, 0x20, 0x08, 0x00, 0x14, 0x04, 0x00, 0x02, 0x80, 0x00, 0x04, 0x04, 0xfe, 0x80, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x20, 0xb4, 0xdd, 0x0a, 0x00,
        0x00, 0x3a, 0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0x0a, 0x00, 0x01, 0x22,
    ];

    fn party(qpn: u32, guid: u64, protocol: [u8; 4]) -> Party {
        Party {
            hardware: HardwareAddress {
                flags: AddressFlags::RC,
                qpn: Qpn::from_bits_truncate(qpn),
                gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(guid)),
            },
            protocol: protocol.into(),
        }
    }

    fn request() -> Arp {
        Arp::request(
            party(0x405, 0x0002_c902_0024_f636, [10, 0, 1, 0x22]),
            Ipv4Addr::new(10, 0, 0, 0x3a),
        )
    }

    fn reply() -> Arp {
        request().reply(party(0x404, 0x0002_c902_0020_b4dd, [10, 0, 0, 0x3a]))
    }

    #[test]
    fn test_parse() {
        assert_eq!(Arp::parse(&REQUEST), Ok(request()));
        assert_eq!(Arp::parse(&REPLY), Ok(reply()));
    }

    #[test]
    fn test_emit() {
        for (arp, expected) in [(request(), REQUEST), (reply(), REPLY)] {
            let mut bytes = [0xa5; 56];
            arp.emit(&mut bytes);
            assert_eq!(bytes, expected);
        }
    }

    #[test]
    fn refuses_other_networks() {
        for (octet, field) in [
            (1, "hardware_type"),
            (2, "protocol_type"),
            (4, "hardware_len"),
            (5, "protocol_len"),
        ] {
            let mut bytes = REQUEST;
            bytes[octet] ^= 1;
            let error = Arp::parse(&bytes).unwrap_err().to_string();
            assert!(error.starts_with(&format!("Arp.{field} is ")), "{error}");
        }
        assert!(matches!(
            Arp::parse(&REQUEST[..55]),
            Err(ParseError::TooShort {
                need: 56,
                have: 55,
                ..
            })
        ));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Arp::parse(&bytes);
        }

        #[test]
        fn round_trip(mut bytes: [u8; 56], operation in 1..=4u8) {
            bytes[..8].copy_from_slice(&REQUEST[..8]);
            bytes[7] = operation;
            let arp = Arp::parse(&bytes).unwrap();
            let mut emitted = [0xa5; 56];
            arp.emit(&mut emitted);
            prop_assert_eq!(Arp::parse(&emitted), Ok(arp));
        }
    }
}
