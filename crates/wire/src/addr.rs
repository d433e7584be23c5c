//! Addresses and keys: LID, GID, GUID, QPN, PSN, P_Key, Q_Key, M_Key, SL and VL.

use core::fmt;
use core::net::Ipv6Addr;

use crate::error::BadField;
use crate::layout::Field;

/// Declares a newtype of the low `$width` bits of `$repr`, shown as `$format`.
macro_rules! number {
    ($(#[$meta:meta])* $name:ident($repr:ty), $width:literal, $format:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($repr);

        impl $name {
            /// Keeps the bits that the field has on the wire and drops others.
            #[must_use]
            pub const fn from_bits_truncate(bits: $repr) -> Self {
                Self(bits & (<$repr>::MAX >> (<$repr>::BITS - $width)))
            }

            /// The value as the wire carries it.
            #[must_use]
            pub const fn bits(self) -> $repr {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        newtype_field!($name($repr));
    };
}

number! {
    /// Local identifier: a port's (or a multicast group's) address within its subnet (IBA 4.1.3).
    Lid(u16), 16, "{}"
}

impl Lid {
    /// "Not assigned yet".
    pub const NONE: Self = Self(0);
    /// The first multicast LID.
    pub const MULTICAST_FIRST: Self = Self(0xC000);
    /// The permissive LID: the port at the other end of this link, whatever its LID.
    pub const PERMISSIVE: Self = Self(0xFFFF);

    /// A LID from its number.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// Whether one port can have it: 0x0001 to 0xBFFF.
    #[must_use]
    pub const fn is_unicast(self) -> bool {
        0 < self.0 && self.0 < 0xC000
    }

    /// Whether a multicast group can have it: 0xC000 to 0xFFFE.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        0xC000 <= self.0 && self.0 < 0xFFFF
    }
}

number! {
    /// Global unique identifier (EUI-64) of a node, port or system.
    Guid(u64), 64, "0x{:016x}"
}

impl Guid {
    /// A GUID from its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

number! {
    /// Queue pair number, 24 bits.
    Qpn(u32), 24, "0x{:06x}"
}

impl Qpn {
    /// QP0, the subnet management interface.
    pub const SMI: Self = Self(0);
    /// QP1, the general services interface.
    pub const GSI: Self = Self(1);
    /// The destination QP of every multicast packet.
    pub const MULTICAST: Self = Self(0xFF_FFFF);
}

number! {
    /// Packet sequence number, 24 bits, wrapping.
    Psn(u32), 24, "0x{:06x}"
}

number! {
    /// Partition key: bit 15 says full member, the low 15 bits name the partition (IBA 10.9).
    PKey(u16), 16, "0x{:04x}"
}

impl PKey {
    /// Full member of the default partition.
    pub const DEFAULT_FULL: Self = Self(0xFFFF);
    /// Limited member of the default partition.
    pub const DEFAULT_LIMITED: Self = Self(0x7FFF);

    /// A P_Key from its 16 bits, membership bit included.
    #[must_use]
    pub const fn new(bits: u16) -> Self {
        Self(bits)
    }

    /// The partition, without the membership bit.
    #[must_use]
    pub const fn partition(self) -> u16 {
        self.0 & 0x7FFF
    }

    /// Whether it names a partition at all: 0x0000 and 0x8000 do not.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.partition() != 0
    }

    /// Whether the membership bit is set.
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.0 & 0x8000 != 0
    }

    /// The same partition with full membership.
    #[must_use]
    pub const fn full(self) -> Self {
        Self(self.0 | 0x8000)
    }

    /// Whether a packet with this P_Key may reach a port with `other` (IBA 10.9.3): same
    /// partition, and not both limited.
    #[must_use]
    pub const fn matches(self, other: Self) -> bool {
        self.is_valid()
            && self.partition() == other.partition()
            && (self.is_full() || other.is_full())
    }
}

number! {
    /// Queue key, which a datagram must carry to be taken by a queue pair.
    QKey(u32), 32, "0x{:08x}"
}

impl QKey {
    /// The Q_Key of QP1 everywhere.
    pub const GSI: Self = Self(0x8001_0000);

    /// A Q_Key from its number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Whether a sender may use it only as its own queue pair's Q_Key (IBA 10.2.5).
    #[must_use]
    pub const fn is_controlled(self) -> bool {
        self.0 & 0x8000_0000 != 0
    }
}

number! {
    /// Management key, which a subnet manager must know to change a port. Zero: none.
    MKey(u64), 64, "0x{:016x}"
}

impl MKey {
    /// "No key is checked".
    pub const NONE: Self = Self(0);

    /// An M_Key from its number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }
}

number! {
    /// Service level, 0 to 15.
    Sl(u8), 4, "{}"
}

number! {
    /// Virtual lane, 0 to 15.
    Vl(u8), 4, "{}"
}

impl Vl {
    /// The lane of subnet management packets: no flow control, before all others.
    pub const MANAGEMENT: Self = Self(15);
}

/// Global identifier: a subnet prefix and a port GUID, or a multicast group (IBA 4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gid([u8; 16]);

impl Gid {
    /// All zero: "none".
    pub const NONE: Self = Self([0; 16]);
    /// The subnet prefix that every port has before a subnet manager sets another: fe80::/64.
    pub const DEFAULT_PREFIX: u64 = 0xFE80_0000_0000_0000;

    /// A GID from its 16 octets, most significant first.
    #[must_use]
    pub const fn new(octets: [u8; 16]) -> Self {
        Self(octets)
    }

    /// The unicast GID of a port.
    #[must_use]
    pub const fn from_prefix_guid(prefix: u64, guid: Guid) -> Self {
        Self(((prefix as u128) << 64 | guid.0 as u128).to_be_bytes())
    }

    /// Its 16 octets.
    #[must_use]
    pub const fn octets(self) -> [u8; 16] {
        self.0
    }

    /// The upper 64 bits.
    #[must_use]
    pub const fn prefix(self) -> u64 {
        (u128::from_be_bytes(self.0) >> 64) as u64
    }

    /// The lower 64 bits.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the lower half is what is asked for"
    )]
    pub const fn guid(self) -> Guid {
        Guid(u128::from_be_bytes(self.0) as u64)
    }

    /// Whether it names a multicast group.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] == 0xFF
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Gid {
    /// As an IPv6 address, the way all InfiniBand tools write it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

impl Field for Gid {
    #[inline]
    fn read(bytes: &[u8], offset: usize, width: usize) -> Result<Self, BadField> {
        <[u8; 16]>::read(bytes, offset, width).map(Self)
    }

    #[inline]
    fn write(&self, bytes: &mut [u8], offset: usize, width: usize) {
        self.0.write(bytes, offset, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IBA 4.1.3.
    #[test]
    fn lid_ranges() {
        let kind = |number| {
            (
                Lid::new(number).is_unicast(),
                Lid::new(number).is_multicast(),
            )
        };
        assert_eq!([0, 0xFFFF].map(kind), [(false, false); 2]);
        assert_eq!([1, 0xBFFF].map(kind), [(true, false); 2]);
        assert_eq!([0xC000, 0xFFFE].map(kind), [(false, true); 2]);
    }

    /// IBA 10.9.3.
    #[test]
    fn pkeys_match() {
        let matches = |a, b| {
            let forward = PKey::new(a).matches(PKey::new(b));
            assert_eq!(forward, PKey::new(b).matches(PKey::new(a)));
            forward
        };
        assert!(matches(0xFFFF, 0xFFFF));
        assert!(matches(0xFFFF, 0x7FFF));
        assert!(!matches(0x7FFF, 0x7FFF), "both limited");
        assert!(!matches(0x8001, 0x8002));
        assert!(!matches(0x8000, 0x8000), "names no partition");
        assert!(!matches(0x8000, 0x0000));
    }

    #[test]
    fn bits_beyond_the_field_are_dropped() {
        assert_eq!(
            Qpn::from_bits_truncate(0x8000_0404),
            Qpn::from_bits_truncate(0x404)
        );
        assert_eq!(Psn::from_bits_truncate(0x0100_0000).bits(), 0);
        assert_eq!(Sl::from_bits_truncate(0x1f).bits(), 15);
        assert_eq!(Guid::from_bits_truncate(u64::MAX).bits(), u64::MAX);
    }

    #[test]
    fn text() {
        let guid = Guid::new(0x0002_c902_0024_f636);
        assert_eq!(guid.to_string(), "0x0002c9020024f636");
        let gid = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, guid);
        assert_eq!(gid.to_string(), "fe80::2:c902:24:f636");
        assert_eq!((gid.prefix(), gid.guid()), (Gid::DEFAULT_PREFIX, guid));
        assert_eq!(
            format!("{} {} {:?}", Lid::new(7), PKey::DEFAULT_FULL, Qpn::GSI),
            "7 0xffff 0x000001"
        );
    }

    #[test]
    fn keys() {
        assert!(QKey::GSI.is_controlled() && !QKey::new(0x0b1b).is_controlled());
        assert_eq!(PKey::new(0x0001).full(), PKey::new(0x8001));
        assert_eq!(
            PKey::DEFAULT_LIMITED.partition(),
            PKey::DEFAULT_FULL.partition()
        );
    }
}
