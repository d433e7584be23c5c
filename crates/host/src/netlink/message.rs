//! Netlink messages, built and read by hand.
//!
//! The few messages that softib needs have a dozen fields between them. Crates that model all of
//! rtnetlink refuse a whole message when a newer kernel adds or lengthens one attribute in it,
//! which is the wrong failure for a program that follows an interface; here an attribute that is
//! not asked for is never looked at.
//!
//! ```text
//!  nlmsghdr:  length u32 | type u16 | flags u16 | sequence u32 | port u32      native order, 4-aligned
//!  rtattr:    length u16 | type u16 | value …                                 native order, 4-aligned
//! ```

/// Length of `nlmsghdr`.
const HEADER: usize = 16;
/// Length of an attribute's head.
const ATTRIBUTE: usize = 4;
/// Bits of an attribute's type that are flags (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
const TYPE_MASK: u16 = 0x3fff;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;

/// A message on its way to the kernel.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A message of type `kind` (`RTM_…`) with its fixed part `body`. `NLM_F_REQUEST` is added to
    /// `flags`.
    pub(crate) fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        bytes.extend_from_slice(body);
        align(&mut bytes);
        Self { bytes }
    }

    /// Adds an attribute.
    #[must_use]
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        push_attribute(&mut self.bytes, kind, value);
        self
    }

    /// Adds an attribute made of attributes.
    #[must_use]
    pub(crate) fn nested(self, kind: u16, attributes: &Attributes) -> Self {
        self.attribute(kind | NESTED, &attributes.bytes)
    }

    /// The final octets.
    pub(crate) fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// Attributes on their way into another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    bytes: Vec<u8>,
}

impl Attributes {
    /// Adds an attribute.
    #[must_use]
    pub(crate) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        push_attribute(&mut self.bytes, kind, value);
        self
    }

    /// Adds an attribute made of attributes.
    #[must_use]
    pub(crate) fn nested(self, kind: u16, attributes: &Self) -> Self {
        self.attribute(kind | NESTED, &attributes.bytes)
    }
}

fn push_attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(ATTRIBUTE + value.len()).unwrap_or(u16::MAX);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(value);
    align(bytes);
}

fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A message from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    /// `RTM_…` or `NLMSG_…`.
    pub(crate) kind: u16,
    /// `NLM_F_…`.
    pub(crate) flags: u16,
    /// The request that it answers.
    pub(crate) sequence: u32,
    /// Fixed part and attributes.
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// The fixed part, if it is there whole.
    pub(crate) fn fixed<const N: usize>(&self) -> Option<&'a [u8; N]> {
        self.body.first_chunk()
    }

    /// The attributes behind a fixed part of `N` octets.
    pub(crate) fn attributes<const N: usize>(&self) -> AttributeIter<'a> {
        AttributeIter {
            rest: self.body.get(N.next_multiple_of(4)..).unwrap_or_default(),
        }
    }

    /// The error in an `NLMSG_ERROR` message; 0 is an acknowledgement.
    pub(crate) fn error(&self) -> i32 {
        self.body
            .first_chunk()
            .map_or(0, |bytes| i32::from_ne_bytes(*bytes))
    }
}

/// The messages in what was received at once. Ends at the first that is cut.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let header: &[u8; HEADER] = rest.first_chunk()?;
        let length = read_u32(header, 0) as usize;
        let whole = rest.get(..length)?;
        let message = Message {
            kind: read_u16(header, 4),
            flags: read_u16(header, 6),
            sequence: read_u32(header, 8),
            body: whole.get(HEADER..)?,
        };
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(message)
    })
}

/// Attributes: type and value.
#[derive(Debug, Clone)]
pub(crate) struct AttributeIter<'a> {
    rest: &'a [u8],
}

impl<'a> AttributeIter<'a> {
    /// The attributes inside a value.
    pub(crate) const fn of(value: &'a [u8]) -> Self {
        Self { rest: value }
    }
}

impl<'a> Iterator for AttributeIter<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header: &[u8; ATTRIBUTE] = self.rest.first_chunk()?;
        let length = usize::from(read_u16(header, 0));
        let value = self.rest.get(ATTRIBUTE..length)?;
        self.rest = self
            .rest
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((read_u16(header, 2) & TYPE_MASK, value))
    }
}

fn read_u16(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .and_then(|two| two.try_into().ok())
        .map_or(0, u16::from_ne_bytes)
}

fn read_u32(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..at + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

/// The value of an attribute that holds a u32.
pub(crate) fn value_u32(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

// linux/netlink.h
const NLM_F_REQUEST: u16 = 1;
/// Answer with an acknowledgement.
pub(crate) const NLM_F_ACK: u16 = 4;
/// All entries of a table.
pub(crate) const NLM_F_DUMP: u16 = 0x300;
/// The table changed while it was told: ask again.
pub(crate) const NLM_F_DUMP_INTR: u16 = 0x10;
/// Replace what is there.
pub(crate) const NLM_F_REPLACE: u16 = 0x100;
/// Make it if it is not there.
pub(crate) const NLM_F_CREATE: u16 = 0x400;
/// An error, or an acknowledgement.
pub(crate) const NLMSG_ERROR: u16 = 2;
/// The end of a table.
pub(crate) const NLMSG_DONE: u16 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_built() {
        let bytes = Request::new(16, NLM_F_ACK, &[1, 2, 3, 4, 5])
            .attribute(3, b"ib0\0\0")
            .nested(
                26,
                &Attributes::default().nested(10, &Attributes::default().attribute(8, &[1])),
            )
            .finish(7);
        let found: Vec<_> = messages(&bytes).collect();
        let [message] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (message.kind, message.flags, message.sequence),
            (16, NLM_F_ACK | NLM_F_REQUEST, 7)
        );
        assert_eq!(message.fixed::<5>(), Some(&[1, 2, 3, 4, 5]));
        let attributes: Vec<_> = message.attributes::<5>().collect();
        assert_eq!(attributes[0], (3, b"ib0\0\0".as_slice()));
        assert_eq!(attributes[1].0, 26);
        let (family, inner) = AttributeIter::of(attributes[1].1).next().unwrap();
        assert_eq!(
            (family, AttributeIter::of(inner).next()),
            (10, Some((8, [1].as_slice())))
        );
    }

    #[test]
    fn cut_messages_end_without_a_panic() {
        let bytes = Request::new(16, 0, &[0; 16])
            .attribute(3, b"ib0\0")
            .finish(7);
        for length in 0..bytes.len() {
            assert_eq!(messages(&bytes[..length]).count(), 0, "{length}");
        }
        for garbage in [[0_u8; 64], [0xff; 64], [4; 64]] {
            assert!(messages(&garbage).count() <= 4);
            assert!(AttributeIter::of(&garbage).count() <= 16);
        }
    }
}
