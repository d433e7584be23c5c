//! The Internet checksum (RFC 1071) and the pseudo headers that IP adds to it.

use core::net::{Ipv4Addr, Ipv6Addr};

/// A checksum under way. Pieces are added in order; only the last may have an odd length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Nothing added yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// The pseudo header of IPv4 (RFC 768, RFC 9293 §3.1). `length` is that of the upper layer.
    #[must_use]
    pub fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, length: usize) -> Self {
        Self::new()
            .with(&source.octets())
            .with(&destination.octets())
            .with_number(protocol.into())
            .with_number(length)
    }

    /// The pseudo header of IPv6 (RFC 8200 §8.1). `length` is that of the upper layer.
    #[must_use]
    pub fn ipv6(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, length: usize) -> Self {
        Self::new()
            .with(&source.octets())
            .with(&destination.octets())
            .with_number(next_header.into())
            .with_number(length)
    }

    /// Adds octets.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        let mut sum = self.0;
        let (words, rest) = bytes.as_chunks::<8>();
        // 32 bits at a time: 2^32 of them fit the 64 bits.
        for &word in words {
            let word = u64::from_be_bytes(word);
            sum += (word >> 32) + (word & 0xFFFF_FFFF);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let last = u64::from_be_bytes(last);
        Self(sum + (last >> 32) + (last & 0xFFFF_FFFF))
    }

    /// Adds a number of a pseudo header.
    #[must_use]
    pub const fn with_number(self, number: usize) -> Self {
        Self(self.0 + number as u64)
    }

    /// The sum of all that was added, not complemented: what stands in a checksum field that is yet
    /// to be completed.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "folded to 16 bits before")]
    pub const fn partial(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        sum as u16
    }

    /// The checksum. Over octets that contain their own checksum, it is 0 when that is right.
    #[must_use]
    pub const fn finish(self) -> u16 {
        !self.partial()
    }

    /// As [`finish`](Self::finish), for a transport header, where 0 says "none" (RFC 768); the
    /// other zero of ones' complement stands for it.
    #[must_use]
    pub const fn finish_transport(self) -> u16 {
        match self.finish() {
            0 => 0xFFFF,
            sum => sum,
        }
    }
}

/// The Internet checksum of `bytes`.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u16 {
    Checksum::new().with(bytes).finish()
}

#[cfg(test)]
mod tests {
    use etherparse::checksum::Sum16BitWords;
    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 1071 §3.
    #[test]
    fn rfc_1071() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Checksum::new().with(&bytes).partial(), 0xddf2);
        assert_eq!(checksum(&bytes), 0x220d);
    }

    proptest! {
        /// Against an independent implementation, odd lengths too.
        #[test]
        fn agrees_with_etherparse(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
            let oracle = Sum16BitWords::new().add_slice(&bytes).ones_complement().to_be();
            // Zero has two forms in ones' complement.
            prop_assert_eq!(checksum(&bytes) % 0xFFFF, oracle % 0xFFFF);
        }

        #[test]
        fn pieces_are_the_whole(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..150) {
            let cut = (cut * 2).min(bytes.len() / 2 * 2);
            let (front, back) = bytes.split_at(cut);
            prop_assert_eq!(Checksum::new().with(front).with(back).finish(), checksum(&bytes));
        }

        #[test]
        fn a_right_checksum_sums_to_zero(mut bytes in prop::collection::vec(any::<u8>(), 2..300)) {
            bytes[..2].fill(0);
            let right = checksum(&bytes);
            bytes[..2].copy_from_slice(&right.to_be_bytes());
            prop_assert_eq!(checksum(&bytes) , 0);
        }
    }
}
