//! How a format is declared: a table of fields with bit offset and width, as in the specification.
//!
//! ```text
//! layout! {
//!     /// Local route header (IBA 7.7).
//!     pub struct Lrh [8] {
//!         /// Virtual lane.
//!         vl: Vl = 0, 4;
//!         …
//!     }
//! }
//! ```
//!
//! makes the struct, `Lrh::LEN`, `Lrh::parse` and `lrh.emit`. Bit 0 is the most significant bit of
//! the first octet, as the specification counts. Bits that no field names are reserved: written as
//! zero, not looked at when read. That fields lie within the format and do not overlap is checked
//! when the crate is compiled.

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::error::BadField;

/// A type that a format's field can have.
pub trait Field: Sized {
    /// Reads the field of `width` bits at bit `offset`.
    ///
    /// # Errors
    /// The bits are no value of this type.
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField>;

    /// Writes the field.
    fn write(&self, bytes: &mut [u8], offset: usize, width: usize);
}

/// Reads `width` (1 to 64) bits at bit `offset`, most significant first.
#[inline(always)]
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "masked to no more than 64 bits"
)]
pub fn read_bits(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let first = offset / 8;
    let last = (offset + width - 1) / 8;
    let mut value: u128 = 0;
    for &byte in &bytes[first..=last] {
        value = value << 8 | u128::from(byte);
    }
    let spare = (last + 1) * 8 - (offset + width);
    let mask = if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    (value >> spare) as u64 & mask
}

/// Writes the low `width` (1 to 64) bits of `value` at bit `offset`, leaving the bits around them.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low octet is what is wanted"
)]
pub fn write_bits(bytes: &mut [u8], offset: usize, width: usize, value: u64) {
    let first = offset / 8;
    let last = (offset + width - 1) / 8;
    let spare = (last + 1) * 8 - (offset + width);
    let mask = (if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    }) as u128;
    let mut value = (u128::from(value) & mask) << spare;
    let mut mask = mask << spare;
    for byte in bytes[first..=last].iter_mut().rev() {
        *byte = *byte & !(mask as u8) | value as u8;
        value >>= 8;
        mask >>= 8;
    }
}

/// Whether the fields `(offset, width)` lie within `octets` and are disjoint.
#[must_use]
pub const fn well_formed(octets: usize, fields: &[(usize, usize)]) -> bool {
    let mut i = 0;
    while i < fields.len() {
        let (offset, width) = fields[i];
        if width == 0 || offset + width > octets * 8 {
            return false;
        }
        let mut j = 0;
        while j < i {
            let (other, other_width) = fields[j];
            if offset < other + other_width && other < offset + width {
                return false;
            }
            j += 1;
        }
        i += 1;
    }
    true
}

macro_rules! layout {
    (
        $(#[$meta:meta])*
        pub struct $name:ident [$len:literal] {
            $( $(#[$field_meta:meta])* $field:ident : $ty:ty = $offset:expr, $width:expr; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $ty, )*
        }

        const _: () = assert!($crate::layout::well_formed($len, &[$( ($offset, $width), )*]));

        impl $name {
            /// Octets that this format takes.
            pub const LEN: usize = $len;

            /// Reads the format from the front of `bytes`.
            ///
            /// # Errors
            /// There are fewer than [`Self::LEN`] octets, or a field holds an undefined value.
            #[inline]
            pub fn parse(bytes: &[u8]) -> Result<Self, $crate::ParseError> {
                let Some(bytes) = bytes.first_chunk::<$len>() else {
                    return Err($crate::ParseError::TooShort {
                        format: stringify!($name),
                        need: $len,
                        have: bytes.len(),
                    });
                };
                Ok(Self {
                    $( $field: <$ty as $crate::layout::Field>::read(bytes, $offset, $width)
                        .map_err(|bad| bad.at(stringify!($name), stringify!($field)))?, )*
                })
            }

            /// Writes the format to the front of `bytes`, reserved bits as zero.
            ///
            /// # Panics
            /// `bytes` is shorter than [`Self::LEN`].
            #[inline]
            pub fn emit(&self, bytes: &mut [u8]) {
                let bytes = &mut bytes[..$len];
                bytes.fill(0);
                $( $crate::layout::Field::write(&self.$field, bytes, $offset, $width); )*
            }

            /// The format as its octets.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; $len] {
                let mut bytes = [0; $len];
                self.emit(&mut bytes);
                bytes
            }
        }

        /// As a field of a larger format, at an octet boundary.
        impl $crate::layout::Field for $name {
            #[inline]
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, $crate::error::BadField> {
                debug_assert!(offset.is_multiple_of(8) && width == $len * 8);
                Self::parse(&bytes[offset / 8..]).map_err($crate::ParseError::into_bad_field)
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], offset: usize, _width: usize) {
                self.emit(&mut bytes[offset / 8..]);
            }
        }
    };
}

/// Declares an enum whose values are the specification's codes; other codes are refused by `parse`.
macro_rules! codes {
    (
        $(#[$meta:meta])*
        pub enum $name:ident : $repr:ty, $expected:literal {
            $( $(#[$variant_meta:meta])* $variant:ident = $code:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($repr)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant = $code, )*
        }

        impl $name {
            /// Every value, in the order of their codes' declaration.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The code on the wire.
            #[must_use]
            pub const fn code(self) -> $repr {
                self as $repr
            }

            /// The value with this code, if the specification defines one.
            #[must_use]
            pub const fn from_code(code: $repr) -> Option<Self> {
                match code {
                    $( $code => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }

        impl $crate::layout::Field for $name {
            #[inline]
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, $crate::error::BadField> {
                let value = $crate::layout::read_bits(bytes, offset, width);
                <$repr>::try_from(value).ok().and_then(Self::from_code)
                    .ok_or($crate::error::BadField { value, expected: $expected })
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
                $crate::layout::write_bits(bytes, offset, width, u64::from(self.code()));
            }
        }

        /// Where zero means "not given".
        impl $crate::layout::Field for Option<$name> {
            #[inline]
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, $crate::error::BadField> {
                if $crate::layout::read_bits(bytes, offset, width) == 0 {
                    return Ok(None);
                }
                <$name as $crate::layout::Field>::read(bytes, offset, width).map(Some)
            }

            #[inline]
            fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
                let code = self.map_or(0, $name::code);
                $crate::layout::write_bits(bytes, offset, width, u64::from(code));
            }
        }
    };
}

macro_rules! unsigned_field {
    ($($ty:ty),*) => { $(
        impl Field for $ty {
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "a field is no wider than its type")]
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
                debug_assert!(width <= <$ty>::BITS as usize);
                Ok(read_bits(bytes, offset, width) as $ty)
            }

            #[inline(always)]
            fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
                write_bits(bytes, offset, width, u64::from(*self));
            }
        }
    )* };
}

unsigned_field!(u8, u16, u32, u64);

impl Field for bool {
    #[inline(always)]
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        Ok(read_bits(bytes, offset, width) != 0)
    }

    #[inline(always)]
    fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
        write_bits(bytes, offset, width, u64::from(*self));
    }
}

impl<const N: usize> Field for [u8; N] {
    #[inline]
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        debug_assert!(offset.is_multiple_of(8) && width == N * 8);
        let mut octets = [0; N];
        octets.copy_from_slice(&bytes[offset / 8..offset / 8 + N]);
        Ok(octets)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], offset: usize, _width: usize) {
        bytes[offset / 8..offset / 8 + N].copy_from_slice(self);
    }
}

impl Field for Ipv4Addr {
    #[inline]
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        u32::read(bytes, offset, width).map(Self::from_bits)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
        self.to_bits().write(bytes, offset, width);
    }
}

impl Field for Ipv6Addr {
    #[inline]
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        <[u8; 16]>::read(bytes, offset, width).map(Self::from)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
        self.octets().write(bytes, offset, width);
    }
}

/// A newtype over an unsigned integer as a field: any bits are a value of it.
macro_rules! newtype_field {
    ($($ty:ident($repr:ty)),* $(,)?) => { $(
        impl $crate::layout::Field for $ty {
            #[inline(always)]
            fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, $crate::error::BadField> {
                <$repr as $crate::layout::Field>::read(bytes, offset, width).map(Self::from_bits_truncate)
            }

            #[inline(always)]
            fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
                $crate::layout::write_bits(bytes, offset, width, u64::from(self.bits()));
            }
        }
    )* };
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bits_are_counted_from_the_most_significant() {
        let bytes = [0b1010_0101, 0xff, 0x00, 0x12];
        assert_eq!(read_bits(&bytes, 0, 1), 1);
        assert_eq!(read_bits(&bytes, 1, 3), 0b010);
        assert_eq!(read_bits(&bytes, 4, 8), 0b0101_1111);
        assert_eq!(read_bits(&bytes, 24, 8), 0x12);
        assert_eq!(read_bits(&bytes, 0, 32), 0xa5ff_0012);
    }

    #[test]
    fn fields_stay_within_and_apart() {
        assert!(well_formed(2, &[(0, 4), (8, 8), (4, 4)]));
        assert!(!well_formed(2, &[(0, 4), (3, 1)]));
        assert!(!well_formed(2, &[(9, 8)]));
        assert!(!well_formed(2, &[(0, 0)]));
    }

    proptest! {
        /// One bit at a time says the same.
        #[test]
        fn reads_what_it_wrote(mut bytes: [u8; 17], offset in 0..72usize, width in 1..=64usize, value: u64) {
            let before = bytes;
            write_bits(&mut bytes, offset, width, value);
            let bit = |bytes: &[u8], at: usize| u64::from(bytes[at / 8] >> (7 - at % 8) & 1);
            for at in 0..17 * 8 {
                let expected = if (offset..offset + width).contains(&at) {
                    value >> (offset + width - 1 - at) & 1
                } else {
                    bit(&before, at)
                };
                prop_assert_eq!(bit(&bytes, at), expected, "bit {}", at);
            }
            let mask = u64::MAX >> (64 - width);
            prop_assert_eq!(read_bits(&bytes, offset, width), value & mask);
        }
    }
}
