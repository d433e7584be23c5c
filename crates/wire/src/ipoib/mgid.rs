//! How multicast addresses of IP become multicast GIDs (RFC 4391 §4).
//!
//! ```text
//!  0    1    2         4         6                                      16
//! | ff | 1S | signature | P_Key   | group, 80 bits                       |
//! ```
//!
//! S is the scope; the signature is 0x401B for IPv4, where the group is the low 28 bits of the
//! address, and 0x601B for IPv6, where it is the low 80 bits.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::addr::{Gid, PKey};

const SIGNATURE_IPV4: u16 = 0x401B;
const SIGNATURE_IPV6: u16 = 0x601B;

/// All groups of one IPoIB link: they share scope and P_Key with its broadcast group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupSpace {
    scope: u8,
    pkey: PKey,
}

/// What a multicast GID stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// The broadcast group, which is IPv4's 255.255.255.255 too.
    Broadcast,
    /// An IPv4 multicast group.
    Ipv4(Ipv4Addr),
    /// An IPv6 multicast group, by the 80 bits of its address that the GID carries.
    Ipv6([u8; 10]),
}

impl GroupSpace {
    /// The scope where nobody asked for another: link-local.
    pub const DEFAULT_SCOPE: u8 = 2;

    /// The groups with this scope (4 bits) in this partition. RFC 4391 §4.1: the P_Key in a GID
    /// has its membership bit set, whatever the port's own has.
    #[must_use]
    pub const fn new(scope: u8, pkey: PKey) -> Self {
        Self {
            scope: scope & 0xF,
            pkey: pkey.full(),
        }
    }

    /// Scope.
    #[must_use]
    pub const fn scope(&self) -> u8 {
        self.scope
    }

    /// P_Key, as the GIDs carry it.
    #[must_use]
    pub const fn pkey(&self) -> PKey {
        self.pkey
    }

    /// The broadcast GID.
    #[must_use]
    pub fn broadcast(&self) -> Gid {
        self.gid(SIGNATURE_IPV4, 0xFFFF_FFFF)
    }

    /// The GID of an IPv4 multicast group. Only the low 28 bits of the address go into it; the
    /// limited broadcast address has the broadcast GID.
    #[must_use]
    pub fn ipv4(&self, group: Ipv4Addr) -> Gid {
        if group.is_broadcast() {
            return self.broadcast();
        }
        self.gid(SIGNATURE_IPV4, u128::from(group.to_bits() & 0x0FFF_FFFF))
    }

    /// The GID of an IPv6 multicast group.
    #[must_use]
    pub fn ipv6(&self, group: Ipv6Addr) -> Gid {
        self.gid(SIGNATURE_IPV6, group.to_bits())
    }

    /// The GID of a multicast group.
    #[must_use]
    pub fn group(&self, group: IpAddr) -> Gid {
        match group {
            IpAddr::V4(group) => self.ipv4(group),
            IpAddr::V6(group) => self.ipv6(group),
        }
    }

    /// What a GID stands for; none when it is not of these groups.
    #[must_use]
    pub fn parse(&self, mgid: Gid) -> Option<Group> {
        let (space, group) = parse(mgid)?;
        (space == *self).then_some(group)
    }

    fn gid(&self, signature: u16, group: u128) -> Gid {
        const GROUP_MASK: u128 = (1 << 80) - 1;
        let front = 0xFF10 | u128::from(self.scope);
        let bits = front << 112
            | u128::from(signature) << 96
            | u128::from(self.pkey.bits()) << 80
            | group & GROUP_MASK;
        Gid::new(bits.to_be_bytes())
    }
}

/// Takes a multicast GID of IPoIB apart; none when it is not IPoIB's.
#[must_use]
pub fn parse(mgid: Gid) -> Option<(GroupSpace, Group)> {
    let [0xFF, flags_scope, s0, s1, p0, p1, group @ ..] = mgid.octets() else {
        return None;
    };
    let pkey = PKey::new(u16::from_be_bytes([p0, p1]));
    if flags_scope >> 4 != 1 || !pkey.is_full() {
        return None;
    }
    let group = match u16::from_be_bytes([s0, s1]) {
        SIGNATURE_IPV4 => {
            let [0, 0, 0, 0, 0, 0, a, b, c, d] = group else {
                return None;
            };
            match u32::from_be_bytes([a, b, c, d]) {
                u32::MAX => Group::Broadcast,
                // Some peers leave the upper four bits in: hard case 48.
                bits if bits >> 28 == 0 => Group::Ipv4(Ipv4Addr::from_bits(0xE000_0000 | bits)),
                _ => return None,
            }
        }
        SIGNATURE_IPV6 => Group::Ipv6(group),
        _ => return None,
    };
    Some((GroupSpace::new(flags_scope & 0xF, pkey), group))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space(pkey: u16) -> GroupSpace {
        GroupSpace::new(GroupSpace::DEFAULT_SCOPE, PKey::new(pkey))
    }

    /// RFC 4391 §4: the all-routers groups.
    #[test]
    fn rfc_4391_examples() {
        let space = space(0x8000);
        assert_eq!(
            space.ipv4(Ipv4Addr::new(224, 0, 0, 2)).to_string(),
            "ff12:401b:8000::2"
        );
        assert_eq!(
            space.ipv6("ff02::2".parse().unwrap()).to_string(),
            "ff12:601b:8000::2"
        );
    }

    #[test]
    fn captured_groups() {
        let space = space(0xffff);
        assert_eq!(space.broadcast().to_string(), "ff12:401b:ffff::ffff:ffff");
        assert_eq!(space.ipv4(Ipv4Addr::BROADCAST), space.broadcast());
        assert_eq!(
            space.ipv6("ff02::1:ff00:1895".parse().unwrap()).to_string(),
            "ff12:601b:ffff::1:ff00:1895"
        );
    }

    /// Hard case 48: 28 bits of an IPv4 group, not 32.
    #[test]
    fn ipv4_takes_28_bits() {
        let mgid = space(0xffff).ipv4(Ipv4Addr::new(239, 1, 2, 3));
        assert_eq!(mgid.to_string(), "ff12:401b:ffff::f01:203");
        let other: Ipv6Addr = "ff12:401b:ffff::ef01:203".parse().unwrap();
        assert_eq!(parse(Gid::new(other.octets())), None);
    }

    /// Hard case 40: a limited member's groups have the full member's GIDs.
    #[test]
    fn membership_bit_is_set() {
        assert_eq!(space(0x7fff).broadcast(), space(0xffff).broadcast());
        assert_eq!(space(0x0001).pkey(), PKey::new(0x8001));
    }

    #[test]
    fn others_are_not_ipoibs() {
        for gid in [
            "fe80::1",
            "ff02::1",
            "ff12:a01b:ffff::1",
            "ff12:401b:7fff::1",
            "ff12:401b:ffff::1:0:1",
            "ff02:401b:ffff::1",
        ] {
            let gid: Ipv6Addr = gid.parse().unwrap();
            assert_eq!(parse(Gid::new(gid.octets())), None, "{gid}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(scope in 0..16u8, pkey: u16, group: u128, v4 in 0xE000_0000..=0xEFFF_FFFF_u32) {
            let space = GroupSpace::new(scope, PKey::new(pkey));
            prop_assert_eq!(space.parse(space.broadcast()), Some(Group::Broadcast));
            let v4 = Ipv4Addr::from_bits(v4);
            prop_assert_eq!(space.parse(space.ipv4(v4)), Some(Group::Ipv4(v4)));
            let v6 = Ipv6Addr::from_bits(group | 0xFF << 120);
            let [_, _, _, _, _, _, low @ ..] = v6.octets();
            prop_assert_eq!(space.parse(space.ipv6(v6)), Some(Group::Ipv6(low)));
        }

        #[test]
        fn never_panics(gid: [u8; 16]) {
            let _ = parse(Gid::new(gid));
        }
    }
}
