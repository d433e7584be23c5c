//! The two checksums at the end of every packet (IBA 7.8).
//!
//! ```text
//! | LRH … payload, pad | ICRC, 4 octets | VCRC, 2 octets |
//! ```
//!
//! The invariant CRC is kept from end to end, so what switches and routers may change counts as
//! ones in it. The variant CRC covers a packet as it is on one link, ICRC included, and is made
//! anew at every hop. Both stand least significant octet first.

use std::sync::LazyLock;

use crate::bth::Bth;
use crate::grh::Grh;
use crate::lrh::{Lrh, NextHeader};

/// Octets of the ICRC.
pub const ICRC_LEN: usize = 4;
/// Octets of the VCRC.
pub const VCRC_LEN: usize = 2;
/// Octets of both.
pub const TRAILER_LEN: usize = ICRC_LEN + VCRC_LEN;

/// ICRC of a packet, which is given from its LRH to its padding inclusive.
///
/// Any octets have an ICRC: those where a packet ends before its headers do are taken as they are.
/// Raw packets (LNH 0 and 1) carry none.
#[must_use]
pub fn icrc(packet: &[u8]) -> u32 {
    // LRH, GRH and the BTH's first five octets hold all that is masked.
    const MASKED: usize = Lrh::LEN + Grh::LEN + Bth::LEN;
    let mut head = [0; MASKED];
    let split = packet.len().min(MASKED);
    let (front, rest) = packet.split_at(split);
    head[..split].copy_from_slice(front);
    mask(&mut head);

    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&head[..split]);
    hasher.update(rest);
    hasher.finalize()
}

/// Sets to ones what the ICRC does not cover (IBA 7.8.1).
fn mask(head: &mut [u8; Lrh::LEN + Grh::LEN + Bth::LEN]) {
    let bth = if head[1] & 3 == NextHeader::Grh.code() {
        head[..Lrh::LEN].fill(0xFF);
        let grh = &mut head[Lrh::LEN..Lrh::LEN + Grh::LEN];
        // Traffic class and flow label: all of the first word but the IP version.
        grh[0] |= 0x0F;
        grh[1..4].fill(0xFF);
        // Hop limit.
        grh[7] = 0xFF;
        Lrh::LEN + Grh::LEN
    } else {
        // The virtual lane.
        head[0] |= 0xF0;
        Lrh::LEN
    };
    // FECN, BECN and the reserved bits beside them.
    head[bth + 4] = 0xFF;
}

/// VCRC of a packet, which is given from its LRH to its ICRC inclusive.
#[must_use]
pub fn vcrc(packet: &[u8]) -> u16 {
    if packet.len() < LONG {
        SHORT_VCRC.checksum(packet)
    } else {
        truncate(crc_fast::checksum_with_params(*LONG_VCRC, packet))
    }
}

/// VCRC of a packet that is given from its LRH to its padding inclusive, and its ICRC.
#[must_use]
pub fn vcrc_with_icrc(packet: &[u8], icrc: u32) -> u16 {
    // The table goes on from where the packet's own CRC ends: less work than to feed the vector
    // instructions twice.
    let state = (vcrc(packet) ^ XOR_OUT).reverse_bits();
    let mut digest = SHORT_VCRC.digest_with_initial(state);
    digest.update(&icrc.to_le_bytes());
    digest.finalize()
}

/// ICRC and VCRC, as they stand behind a packet that is given from its LRH to its padding inclusive.
#[must_use]
pub fn trailer(packet: &[u8]) -> [u8; TRAILER_LEN] {
    let icrc = icrc(packet);
    let vcrc = vcrc_with_icrc(packet, icrc);
    let [i0, i1, i2, i3] = icrc.to_le_bytes();
    let [v0, v1] = vcrc.to_le_bytes();
    [i0, i1, i2, i3, v0, v1]
}

/// From this many octets on the vector instructions of `crc_fast` win over a table.
const LONG: usize = 256;

const POLYNOMIAL: u16 = 0x100B;
const XOR_OUT: u16 = 0xFFFF;

static SHORT_VCRC: crc::Crc<u16, crc::Table<16>> =
    crc::Crc::<u16, crc::Table<16>>::new(&crc::Algorithm {
        width: 16,
        poly: POLYNOMIAL,
        init: 0xFFFF,
        refin: true,
        refout: true,
        xorout: XOR_OUT,
        // Not looked at by the crate.
        check: 0,
        residue: 0,
    });

static LONG_VCRC: LazyLock<crc_fast::CrcParams> = LazyLock::new(|| {
    crc_fast::CrcParams::new(
        "VCRC",
        16,
        POLYNOMIAL.into(),
        0xFFFF,
        true,
        XOR_OUT.into(),
        0,
    )
});

#[expect(
    clippy::cast_possible_truncation,
    reason = "a 16-bit CRC in a 64-bit result"
)]
fn truncate(crc: u64) -> u16 {
    crc as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An RC acknowledge without GRH, and an ARP request with one, from a capture of real adapters.
    const ACK: [u8; 30] = [
        0x00, 0x02, 0x00, 0x04, 0x00, 0x07, 0x00, 0x01, 0x11, 0x40, 0xff, 0xff, 0x00, 0x87, 0x04,
        0x08, 0x00, 0xd4, 0x0a, 0x55, 0x1f, 0x00, 0x00, 0x01, 0xa8, 0x03, 0x55, 0x50, 0x30, 0x81,
    ];
    const ARP: [u8; 134] = [
        0x00, 0x03, 0xc0, 0x00, 0x00, 0x21, 0x00, 0x04, 0x60, 0x00, 0x00, 0x00, 0x00, 0x54, 0x1b,
        0x00, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24,
        0xf6, 0x36, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff,
        0xff, 0xff, 0xff, 0x64, 0x40, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff, 0x00, 0x00, 0x20, 0xaf,
        0x00, 0x00, 0x0b, 0x1b, 0x00, 0x00, 0x04, 0x05, 0x08, 0x06, 0x00, 0x00, 0x00, 0x20, 0x08,
        0x00, 0x14, 0x04, 0x00, 0x01, 0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0x0a, 0x00, 0x01, 0x22, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x3a, 0xbd, 0x6b, 0xd6, 0xa8, 0x88, 0x83,
    ];

    #[test]
    fn real_packets() {
        for packet in [&ACK[..], &ARP[..]] {
            let (covered, crcs) = packet.split_at(packet.len() - TRAILER_LEN);
            assert_eq!(icrc(covered).to_le_bytes(), crcs[..4]);
            assert_eq!(
                vcrc(&packet[..packet.len() - VCRC_LEN]).to_le_bytes(),
                crcs[4..]
            );
            assert_eq!(trailer(covered), crcs);
        }
    }

    /// IBA 7.8.1: what may change on the way does not change the ICRC.
    #[test]
    fn icrc_leaves_out_what_changes() {
        let ack = &ACK[..24];
        // (octet, bits that may change)
        for (octet, bits) in [(0, 0xf0), (12, 0xff)] {
            let mut changed = ack.to_vec();
            changed[octet] ^= bits;
            assert_eq!(icrc(&changed), icrc(ack), "octet {octet}");
        }
        let arp = &ARP[..128];
        for (octet, bits) in [
            (0, 0xff),
            (2, 0xff),
            (5, 0xff),
            (8, 0x0f),
            (9, 0xff),
            (11, 0xff),
            (15, 0xff),
            (52, 0xff),
        ] {
            let mut changed = arp.to_vec();
            changed[octet] ^= bits;
            assert_eq!(icrc(&changed), icrc(arp), "octet {octet}");
        }
    }

    #[test]
    fn icrc_covers_the_rest() {
        for (packet, octets) in [
            (&ACK[..24], &[1, 2, 4, 8, 11, 13, 20][..]),
            (&ARP[..128], &[12, 14, 16, 47, 48, 53, 127]),
        ] {
            for &octet in octets {
                let mut changed = packet.to_vec();
                changed[octet] ^= 0x04;
                assert_ne!(icrc(&changed), icrc(packet), "octet {octet}");
            }
        }
    }

    proptest! {
        /// The table and the vector instructions are one function, whatever the length.
        #[test]
        fn ways_agree(packet in prop::collection::vec(any::<u8>(), 0..5000)) {
            prop_assert_eq!(
                u64::from(SHORT_VCRC.checksum(&packet)),
                crc_fast::checksum_with_params(*LONG_VCRC, &packet)
            );
            let [i0, i1, i2, i3, v0, v1] = trailer(&packet);
            prop_assert_eq!([i0, i1, i2, i3], icrc(&packet).to_le_bytes());
            let mut with_icrc = packet;
            with_icrc.extend([i0, i1, i2, i3]);
            prop_assert_eq!([v0, v1], vcrc(&with_icrc).to_le_bytes());
        }
    }
}
