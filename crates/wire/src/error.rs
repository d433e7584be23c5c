//! Why bytes could not be understood: which format, which field, what it held.

use thiserror::Error;

/// Bytes that are not what the format asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ParseError {
    /// There are fewer octets than the format has.
    #[error("{format} needs {need} octets, only {have} are there")]
    TooShort {
        /// The format being read, e.g. `"Lrh"`.
        format: &'static str,
        /// Octets that the format needs.
        need: usize,
        /// Octets that were there.
        have: usize,
    },
    /// A field holds a value that the specification does not define.
    #[error("{format}.{field} is {value:#x}, expected {expected}")]
    BadValue {
        /// The format being read.
        format: &'static str,
        /// The field in it.
        field: &'static str,
        /// What the field held.
        value: u64,
        /// What would be right.
        expected: &'static str,
    },
    /// A length field and the octets that are there disagree.
    #[error("{format}.{field} says {said} octets, {have} are there")]
    BadLength {
        /// The format being read.
        format: &'static str,
        /// The length field.
        field: &'static str,
        /// What the field says, in octets.
        said: usize,
        /// Octets that were there.
        have: usize,
    },
}

impl ParseError {
    /// What is wrong within a format that is itself a field of a larger one.
    pub(crate) const fn into_bad_field(self) -> BadField {
        match self {
            Self::BadValue {
                value, expected, ..
            } => BadField { value, expected },
            Self::TooShort { have, .. } | Self::BadLength { have, .. } => BadField {
                value: have as u64,
                expected: "more octets",
            },
        }
    }
}

/// A Set asks for what cannot be: status 7, "invalid field" (IBA 13.4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{field} is {value:#x}, expected {expected}")]
pub struct InvalidField {
    /// The field, with its attribute: `"PortInfo.LID"`.
    pub field: &'static str,
    /// What the Set holds.
    pub value: u64,
    /// What would be right.
    pub expected: &'static str,
}

impl InvalidField {
    /// `field` cannot be `value`.
    #[must_use]
    pub const fn new(field: &'static str, value: u64, expected: &'static str) -> Self {
        Self {
            field,
            value,
            expected,
        }
    }
}

/// A value that a field's type refuses, before it is known which field that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadField {
    /// What the field held.
    pub value: u64,
    /// What would be right.
    pub expected: &'static str,
}

impl BadField {
    /// Names the place where the value was found.
    #[must_use]
    pub fn at(self, format: &'static str, field: &'static str) -> ParseError {
        ParseError::BadValue {
            format,
            field,
            value: self.value,
            expected: self.expected,
        }
    }
}
