//! The status of an answer: common codes in the low octet, codes of the class in the high one
//! (IBA 13.4.7, 15.2.4).

use core::fmt;

/// MAD status.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MadStatus(u16);

newtype_field!(MadStatus(u16));

impl MadStatus {
    /// Done.
    pub const OK: Self = Self(0);
    /// Busy, the request was discarded: ask again.
    pub const BUSY: Self = Self(0x0001);
    /// Ask at the address in ClassPortInfo.
    pub const REDIRECT: Self = Self(0x0002);
    /// Base or class version not known.
    pub const BAD_VERSION: Self = Self(0x0004);
    /// Method not known.
    pub const BAD_METHOD: Self = Self(0x0008);
    /// Method not defined for this attribute.
    pub const BAD_METHOD_ATTRIBUTE: Self = Self(0x000C);
    /// A field of the attribute or its modifier holds an invalid value.
    pub const BAD_FIELD: Self = Self(0x001C);

    /// Subnet administration: not enough resources.
    pub const SA_NO_RESOURCES: Self = Self(0x0100);
    /// Subnet administration: the request is invalid.
    pub const SA_REQUEST_INVALID: Self = Self(0x0200);
    /// Subnet administration: nothing matches.
    pub const SA_NO_RECORDS: Self = Self(0x0300);
    /// Subnet administration: more matches than the method can return.
    pub const SA_TOO_MANY_RECORDS: Self = Self(0x0400);
    /// Subnet administration: a GID is invalid.
    pub const SA_INVALID_GID: Self = Self(0x0500);
    /// Subnet administration: components that the request needs are missing.
    pub const SA_INSUFFICIENT_COMPONENTS: Self = Self(0x0600);
    /// Subnet administration: the request is denied.
    pub const SA_REQUEST_DENIED: Self = Self(0x0700);
    /// Subnet administration: done, with a suggestion of another priority.
    pub const SA_PRIORITY_SUGGESTED: Self = Self(0x0800);

    /// In a directed-route SMP the top bit is no status: it is set on the way back.
    pub const DIRECTION: u16 = 0x8000;

    /// A status from its 16 bits.
    #[must_use]
    pub const fn from_bits_truncate(bits: u16) -> Self {
        Self(bits)
    }

    /// The 16 bits.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Without the direction bit of directed-route SMPs.
    #[must_use]
    pub const fn without_direction(self) -> Self {
        Self(self.0 & !Self::DIRECTION)
    }

    /// Whether nothing is wrong; the direction bit is not looked at.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.without_direction().0 == 0
    }

    /// Whether the same request may succeed a little later.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        self.0 & Self::BUSY.0 != 0
    }

    /// Whether to ask elsewhere.
    #[must_use]
    pub const fn is_redirect(self) -> bool {
        self.0 & Self::REDIRECT.0 != 0
    }
}

impl fmt::Display for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.without_direction();
        let common = match status.0 & 0x00FF {
            0x00 => "",
            0x01 => "busy",
            0x02 => "redirected",
            0x04 => "version not supported",
            0x08 => "method not supported",
            0x0C => "method not supported for this attribute",
            0x1C => "a field or the attribute modifier is invalid",
            _ => "code not known",
        };
        let of_class = match status.0 >> 8 {
            0 => "",
            1 => "no resources",
            2 => "request invalid",
            3 => "no records",
            4 => "too many records",
            5 => "GID invalid",
            6 => "components missing",
            7 => "request denied",
            8 => "priority suggested",
            _ => "code of the class not known",
        };
        match (common, of_class) {
            ("", "") => f.write_str("ok"),
            (what, "") | ("", what) => write!(f, "{what} (status {:#06x})", status.0),
            (common, of_class) => write!(f, "{common}, {of_class} (status {:#06x})", status.0),
        }
    }
}

impl fmt::Debug for MadStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direction_is_no_error() {
        let status = MadStatus::from_bits_truncate(0x8000);
        assert!(status.is_ok());
        assert_eq!(status.without_direction(), MadStatus::OK);
        assert!(!MadStatus::from_bits_truncate(0x801C).is_ok());
    }

    #[test]
    fn a_person_can_read_it() {
        assert_eq!(MadStatus::OK.to_string(), "ok");
        assert_eq!(
            MadStatus::SA_NO_RECORDS.to_string(),
            "no records (status 0x0300)"
        );
        assert_eq!(
            MadStatus::from_bits_truncate(0x0201).to_string(),
            "busy, request invalid (status 0x0201)"
        );
        assert!(MadStatus::from_bits_truncate(0x0001).is_busy());
        assert!(MadStatus::REDIRECT.is_redirect());
    }
}
