//! NodeDescription: what a person calls a node (IBA 14.2.5.2).

use core::fmt;

use crate::ParseError;
use crate::error::BadField;
use crate::layout::Field;

/// A node's name: up to 64 octets of UTF-8, padded with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeDescription([u8; 64]);

impl NodeDescription {
    /// Octets that it takes.
    pub const LEN: usize = 64;

    /// A description from its octets, as the wire carries them.
    #[must_use]
    pub const fn from_octets(octets: [u8; 64]) -> Self {
        Self(octets)
    }

    /// All 64 octets, padding included.
    #[must_use]
    pub const fn octets(self) -> [u8; 64] {
        self.0
    }

    /// The octets before the padding.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        let end = self
            .0
            .iter()
            .position(|&octet| octet == 0)
            .unwrap_or(Self::LEN);
        &self.0[..end]
    }

    /// Reads the description from the front of `bytes`.
    ///
    /// # Errors
    /// There are fewer than [`Self::LEN`] octets.
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        bytes
            .first_chunk()
            .copied()
            .map(Self)
            .ok_or(ParseError::TooShort {
                format: "NodeDescription",
                need: Self::LEN,
                have: bytes.len(),
            })
    }

    /// Writes the description to the front of `bytes`.
    ///
    /// # Panics
    /// `bytes` is shorter than [`Self::LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..Self::LEN].copy_from_slice(&self.0);
    }
}

/// What does not fit is cut off, between two characters.
impl From<&str> for NodeDescription {
    fn from(name: &str) -> Self {
        let name = &name.as_bytes()[..name.floor_char_boundary(Self::LEN)];
        let mut octets = [0; Self::LEN];
        octets[..name.len()].copy_from_slice(name);
        Self(octets)
    }
}

impl Default for NodeDescription {
    fn default() -> Self {
        Self([0; Self::LEN])
    }
}

/// Octets that are no UTF-8, and control characters, are shown as U+FFFD: the name comes from
/// other machines and goes to a terminal.
impl fmt::Display for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for chunk in self.text().utf8_chunks() {
            for character in chunk.valid().chars() {
                f.write_char(if character.is_control() {
                    char::REPLACEMENT_CHARACTER
                } else {
                    character
                })?;
            }
            if !chunk.invalid().is_empty() {
                f.write_char(char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

attributes! { NodeDescription = super::attribute::NODE_DESCRIPTION; }

impl Field for NodeDescription {
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        <[u8; 64]>::read(bytes, offset, width).map(Self)
    }

    fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
        self.0.write(bytes, offset, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_padded() {
        let description = NodeDescription::from("h1 ib0");
        let mut bytes = [0xa5; 64];
        description.emit(&mut bytes);
        assert_eq!(&bytes[..8], b"h1 ib0\0\0");
        assert_eq!(bytes[8..], [0; 56]);
        assert_eq!(NodeDescription::parse(&bytes), Ok(description));
        assert_eq!(description.to_string(), "h1 ib0");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        // 63 octets, then one character of two.
        let description = NodeDescription::from(format!("{}é and more", "x".repeat(63)).as_str());
        assert_eq!(description.text(), "x".repeat(63).as_bytes());
        let description = NodeDescription::from(format!("{}é and more", "x".repeat(62)).as_str());
        assert_eq!(
            description.text(),
            format!("{}é", "x".repeat(62)).as_bytes()
        );
    }

    #[test]
    fn foreign_octets_cannot_reach_a_terminal() {
        let mut octets = [0; 64];
        octets[..7].copy_from_slice(b"a\xffb\x1b[2J"[..7].try_into().unwrap());
        assert_eq!(
            NodeDescription::from_octets(octets).to_string(),
            "a\u{fffd}b\u{fffd}[2J"
        );
        assert!(NodeDescription::parse(&octets[1..]).is_err());
    }
}
