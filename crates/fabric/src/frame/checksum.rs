//! The Internet checksum (RFC 1071).

/// A one's-complement sum under way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum(u64);

impl Sum {
    /// Adds octets; an odd last one counts as the upper half of a word.
    #[must_use]
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        for &word in words {
            let word = u64::from_be_bytes(word);
            self.0 += (word >> 32) + (word & 0xFFFF_FFFF);
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        for &pair in pairs {
            self.0 += u64::from(u16::from_be_bytes(pair));
        }
        if let [last] = odd {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// Adds a number, at most 32 bits wide.
    #[must_use]
    pub(super) const fn add_number(mut self, number: u32) -> Self {
        self.0 += number as u64;
        self
    }

    /// The complement of the sum.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "folded to 16 bits")]
    pub(super) const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// As [`finish`](Self::finish), for a transport header, where 0 says "none" (RFC 768); the
    /// other zero of one's complement stands for it.
    #[must_use]
    pub(super) const fn finish_transport(self) -> u16 {
        match self.finish() {
            0 => 0xFFFF,
            sum => sum,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rfc_1071_example() {
        let sum = Sum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), !0xddf2);
    }

    proptest! {
        #[test]
        fn as_word_by_word(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut plain = 0_u32;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
                plain = (plain & 0xFFFF) + (plain >> 16);
            }
            prop_assert_eq!(u32::from(Sum::default().add(&bytes).finish()), !plain & 0xFFFF);
        }
    }
}
