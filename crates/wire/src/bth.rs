//! Base transport header (IBA 9.2).
//!
//! ```text
//!  0               8   9   10  12      16                          32
//! | OpCode        |SE | M |Pad | TVer  | P_Key                     |
//! | F | B | –     | DestQP, 24                                     |
//! | A | –         | PSN, 24                                        |
//! ```

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ParseError;

    /// Of an RC acknowledge between real adapters.
    const BYTES: [u8; 12] = [
        0x11, 0x40, 0xff, 0xff, 0x00, 0x87, 0x04, 0x08, 0x00, 0xd4, 0x0a, 0x55,
    ];

    fn bth() -> Bth {
        Bth {
            opcode: Opcode::RcAcknowledge,
            solicited: false,
            migration: true,
            pad_count: 0,
            transport_version: 0,
            pkey: PKey::DEFAULT_FULL,
            fecn: false,
            becn: false,
            dest_qpn: Qpn::from_bits_truncate(0x87_0408),
            ack_request: false,
            psn: Psn::from_bits_truncate(0xd4_0a55),
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(Bth::parse(&BYTES), Ok(bth()));
        let mut reserved = BYTES;
        reserved[4] = 0x3f;
        reserved[8] = 0x7f;
        assert_eq!(Bth::parse(&reserved), Ok(bth()));
        assert!(matches!(
            Bth::parse(&BYTES[..11]),
            Err(ParseError::TooShort { .. })
        ));
        reserved[0] = 0x15;
        let error = Bth::parse(&reserved).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Bth.opcode is 0x15, expected a transport opcode"
        );
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 12];
        bth().emit(&mut bytes);
        assert_eq!(bytes, BYTES);
    }

    /// Every flag is where it should be.
    #[test]
    fn flags() {
        let octets = |bth: Bth| {
            let bytes = bth.to_bytes();
            [bytes[1], bytes[4], bytes[8]]
        };
        assert_eq!(
            octets(Bth {
                solicited: true,
                ..bth()
            }),
            [0xc0, 0, 0]
        );
        assert_eq!(
            octets(Bth {
                pad_count: 3,
                ..bth()
            }),
            [0x70, 0, 0]
        );
        assert_eq!(
            octets(Bth {
                transport_version: 15,
                ..bth()
            }),
            [0x4f, 0, 0]
        );
        assert_eq!(
            octets(Bth {
                fecn: true,
                ..bth()
            }),
            [0x40, 0x80, 0]
        );
        assert_eq!(
            octets(Bth {
                becn: true,
                ..bth()
            }),
            [0x40, 0x40, 0]
        );
        assert_eq!(
            octets(Bth {
                ack_request: true,
                ..bth()
            }),
            [0x40, 0, 0x80]
        );
    }

    proptest! {
        #[test]
        fn round_trip(mut bytes: [u8; 12], opcode in prop::sample::select(Opcode::ALL)) {
            bytes[0] = opcode.code();
            let bth = Bth::parse(&bytes).unwrap();
            prop_assert_eq!(bth.opcode, opcode);
            prop_assert_eq!(Bth::parse(&bth.to_bytes()), Ok(bth));
        }
    }
}
