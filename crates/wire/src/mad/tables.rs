//! Tables of ports and switches, a block a MAD: GUIDs, P_Keys, SLtoVL, VL arbitration, forwarding
//! (IBA 14.2.5.5, 14.2.5.7 to 14.2.5.12).
//!
//! A block is an array of its entries. [`Attribute`] reads and writes it.

use crate::ParseError;
use crate::addr::{Guid, PKey, Vl};
use crate::error::BadField;
use crate::layout::Field;
use crate::mad::attribute::{self, Attribute};

/// A block of 8 GUIDs of a port (GUIDInfo). The attribute modifier is the block.
pub type GuidBlock = [Guid; 8];
/// A block of 32 P_Keys of a port (P_KeyTable). Modifier: [`pkey_modifier`].
pub type PKeyBlock = [PKey; 32];
/// VL of each SL (SLtoVLMappingTable). Modifier: [`sl_to_vl_modifier`].
pub type SlToVl = [Vl; 16];
/// Output ports of 64 LIDs (LinearForwardingTable); [`NO_PORT`]: none. Modifier: block.
pub type LinearBlock = [u8; 64];
/// Output port masks, 16 ports wide, of 32 multicast LIDs (MulticastForwardingTable): bit 0 is the
/// first port of the position. Modifier: [`multicast_modifier`].
pub type MulticastBlock = [u16; 32];
/// A block of 32 entries of a VL arbitration table. Modifier: [`vl_arb_modifier`].
pub type VlArbBlock = [VlWeight; 32];

/// The entry of a linear forwarding table that drops a packet.
pub const NO_PORT: u8 = 0xFF;

layout! {
    /// An entry of a VL arbitration table.
    #[derive(Default)]
    pub struct VlWeight [2] {
        /// The virtual lane.
        vl: Vl = 4, 4;
        /// How much it may send in a turn, in 64 octets; 0: skip.
        weight: u8 = 8, 8;
    }
}

/// P_KeyTable: the block, and of a switch its port.
#[must_use]
pub const fn pkey_modifier(port: u8, block: u16) -> u32 {
    (port as u32) << 16 | block as u32
}

/// SLtoVLMappingTable: the ports that a packet comes in and leaves by.
#[must_use]
pub const fn sl_to_vl_modifier(input: u8, output: u8) -> u32 {
    (input as u32) << 8 | output as u32
}

/// VLArbitrationTable: the port and the block. Blocks 1 and 2 are the low-priority table, 3 and 4
/// the high-priority one.
#[must_use]
pub const fn vl_arb_modifier(port: u8, block: u8) -> u32 {
    (block as u32) << 16 | port as u32
}

/// MulticastForwardingTable: the block of 32 LIDs, of 512, and the position of 16 ports, of 16.
#[must_use]
pub const fn multicast_modifier(position: u8, block: u16) -> u32 {
    (position as u32) << 28 | block as u32 & 0x1FF
}

/// The port and block of a [`pkey_modifier`].
#[must_use]
pub const fn split_pkey_modifier(modifier: u32) -> (u8, u16) {
    let [_, port, high, low] = modifier.to_be_bytes();
    (port, u16::from_be_bytes([high, low]))
}

/// The input and output port of an [`sl_to_vl_modifier`].
#[must_use]
pub const fn split_sl_to_vl_modifier(modifier: u32) -> (u8, u8) {
    let [_, _, input, output] = modifier.to_be_bytes();
    (input, output)
}

/// The port and block of a [`vl_arb_modifier`].
#[must_use]
pub const fn split_vl_arb_modifier(modifier: u32) -> (u8, u8) {
    let [_, block, _, port] = modifier.to_be_bytes();
    (port, block)
}

/// The position and block of a [`multicast_modifier`].
#[must_use]
pub const fn split_multicast_modifier(modifier: u32) -> (u8, u16) {
    let [position, _, high, low] = modifier.to_be_bytes();
    (position >> 4, u16::from_be_bytes([high & 1, low]))
}

/// An array of entries of `$bits` each, as a field and as an attribute.
macro_rules! blocks {
    ($( $name:literal: [$entry:ty; $count:literal], $bits:literal = $id:expr; )*) => { $(
        impl Field for [$entry; $count] {
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
                debug_assert!(width == $count * $bits);
                let mut entries = [<$entry>::default(); $count];
                for (i, entry) in entries.iter_mut().enumerate() {
                    *entry = <$entry as Field>::read(bytes, offset + i * $bits, $bits)?;
                }
                Ok(entries)
            }

            fn write(&self, bytes: &mut [u8], offset: usize, _width: usize) {
                for (i, entry) in self.iter().enumerate() {
                    entry.write(bytes, offset + i * $bits, $bits);
                }
            }
        }

        block!($name: [$entry; $count], $bits = $id);
    )* };
}

macro_rules! block {
    ($name:literal: [$entry:ty; $count:literal], $bits:literal = $id:expr) => {
        impl Attribute for [$entry; $count] {
            const ID: u16 = $id;
            const LEN: usize = $count * $bits / 8;

            fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
                if bytes.len() < <Self as Attribute>::LEN {
                    return Err(ParseError::TooShort {
                        format: $name,
                        need: <Self as Attribute>::LEN,
                        have: bytes.len(),
                    });
                }
                <Self as Field>::read(bytes, 0, $count * $bits)
                    .map_err(|bad| bad.at($name, "entry"))
            }

            fn emit(&self, bytes: &mut [u8]) {
                self.write(&mut bytes[..<Self as Attribute>::LEN], 0, $count * $bits);
            }
        }
    };
}

blocks! {
    "GuidBlock": [Guid; 8], 64 = attribute::GUID_INFO;
    "PKeyBlock": [PKey; 32], 16 = attribute::PKEY_TABLE;
    "SlToVl": [Vl; 16], 4 = attribute::SL_TO_VL;
    "MulticastBlock": [u16; 32], 16 = attribute::MULTICAST_FDB;
    "VlArbBlock": [VlWeight; 32], 16 = attribute::VL_ARBITRATION;
}
block!("LinearBlock": [u8; 64], 8 = attribute::LINEAR_FDB);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_where_the_specification_puts_them() {
        let mut bytes = [0xa5; 64];
        let mut pkeys = [PKey::default(); 32];
        pkeys[0] = PKey::new(0xFFFF);
        pkeys[31] = PKey::new(0x8001);
        pkeys.emit(&mut bytes);
        assert_eq!(bytes[..4], [0xFF, 0xFF, 0, 0]);
        assert_eq!(bytes[62..], [0x80, 0x01]);
        assert_eq!(PKeyBlock::parse(&bytes), Ok(pkeys));

        let mut bytes = [0xa5; 9];
        let lanes = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
        let lanes: SlToVl = lanes.map(Vl::from_bits_truncate);
        lanes.emit(&mut bytes);
        assert_eq!(
            bytes,
            [0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10, 0xa5]
        );
        assert_eq!(SlToVl::parse(&bytes), Ok(lanes));

        let mut bytes = [0xa5; 64];
        let mut weights = [VlWeight::default(); 32];
        weights[1] = VlWeight {
            vl: Vl::from_bits_truncate(3),
            weight: 0x40,
        };
        weights.emit(&mut bytes);
        assert_eq!(bytes[..6], [0, 0, 0x03, 0x40, 0, 0]);
        assert_eq!(VlArbBlock::parse(&bytes), Ok(weights));

        let mut guids = [Guid::default(); 8];
        guids[7] = Guid::new(0x0002_c902_0024_f636);
        guids.emit(&mut bytes);
        assert_eq!(bytes[..56], [0; 56]);
        assert_eq!(
            bytes[56..],
            [0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36]
        );

        let mut masks = [0; 32];
        masks[7] = 0x8001;
        masks.emit(&mut bytes);
        assert_eq!(bytes[14..16], [0x80, 0x01]);
        assert_eq!(MulticastBlock::parse(&bytes), Ok(masks));
    }

    #[test]
    fn a_short_block_is_refused() {
        assert_eq!(
            LinearBlock::parse(&[0; 63]),
            Err(ParseError::TooShort {
                format: "LinearBlock",
                need: 64,
                have: 63
            })
        );
        assert!(SlToVl::parse(&[0; 7]).is_err());
    }

    #[test]
    fn modifiers_come_apart_again() {
        assert_eq!(pkey_modifier(3, 1), 0x0003_0001);
        assert_eq!(split_pkey_modifier(pkey_modifier(3, 1)), (3, 1));
        assert_eq!(sl_to_vl_modifier(2, 9), 0x0209);
        assert_eq!(split_sl_to_vl_modifier(0x0209), (2, 9));
        assert_eq!(vl_arb_modifier(5, 3), 0x0003_0005);
        assert_eq!(split_vl_arb_modifier(0x0003_0005), (5, 3));
        assert_eq!(multicast_modifier(15, 0x1FF), 0xF000_01FF);
        assert_eq!(split_multicast_modifier(0xF000_01FF), (15, 0x1FF));
    }
}
