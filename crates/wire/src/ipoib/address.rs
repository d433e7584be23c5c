//! The 20-octet hardware address of an IPoIB interface (RFC 4391 §9.1.1, RFC 4755 §3.1).
//!
//! ```text
//! | flags 1 | QPN 3 | GID 16 |
//! ```

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use crate::addr::{Gid, Qpn};

bitflags::bitflags! {
    /// Which connections an interface takes. Other bits are written as zero and ignored when read.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct AddressFlags: u8 {
        /// Reliable connections.
        const RC = 0x80;
        /// Unreliable connections.
        const UC = 0x40;
    }
}
newtype_field!(AddressFlags(u8));

layout! {
    /// Hardware address of an IPoIB interface or of a multicast group.
    #[derive(PartialOrd, Ord, Hash)]
    pub struct HardwareAddress [20] {
        /// Which connections the interface takes.
        flags: AddressFlags = 0, 8;
        /// Its unreliable datagram queue pair.
        qpn: Qpn = 8, 24;
        /// Its port, or the group.
        gid: Gid = 32, 128;
    }
}

impl HardwareAddress {
    /// All zero: "not known".
    pub const UNKNOWN: Self = Self {
        flags: AddressFlags::empty(),
        qpn: Qpn::SMI,
        gid: Gid::NONE,
    };

    /// The address of a multicast group.
    #[must_use]
    pub const fn multicast(mgid: Gid) -> Self {
        Self {
            flags: AddressFlags::empty(),
            qpn: Qpn::MULTICAST,
            gid: mgid,
        }
    }

    /// Whether it is a group's.
    #[must_use]
    pub const fn is_multicast(&self) -> bool {
        self.gid.is_multicast()
    }
}

impl From<[u8; Self::LEN]> for HardwareAddress {
    fn from(octets: [u8; Self::LEN]) -> Self {
        let [flags, q0, q1, q2, gid @ ..] = octets;
        Self {
            flags: AddressFlags::from_bits_truncate(flags),
            qpn: Qpn::from_bits_truncate(u32::from_be_bytes([0, q0, q1, q2])),
            gid: Gid::new(gid),
        }
    }
}

impl fmt::Display for HardwareAddress {
    /// Octets with colons, as `ip` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, octet) in self.to_bytes().into_iter().enumerate() {
            let colon = if i == 0 { "" } else { ":" };
            write!(f, "{colon}{octet:02x}")?;
        }
        Ok(())
    }
}

/// Text is not a hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("an IPoIB hardware address is 20 octets in hexadecimal with colons between them")]
pub struct AddressError;

impl FromStr for HardwareAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let mut octets = [0; Self::LEN];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts
                .next()
                .filter(|part| part.len() <= 2)
                .ok_or(AddressError)?;
            if !part.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(AddressError);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| AddressError)?;
        }
        if parts.next().is_some() {
            Err(AddressError)
        } else {
            Ok(octets.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: [u8; 20] = [
        0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24,
        0xf6, 0x36,
    ];

    fn address() -> HardwareAddress {
        HardwareAddress {
            flags: AddressFlags::RC,
            qpn: Qpn::from_bits_truncate(0x405),
            gid: "fe80::2:c902:24:f636"
                .parse()
                .map(|ip: core::net::Ipv6Addr| Gid::new(ip.octets()))
                .unwrap(),
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(HardwareAddress::parse(&BYTES), Ok(address()));
        assert_eq!(HardwareAddress::from(BYTES), address());
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 20];
        address().emit(&mut bytes);
        assert_eq!(bytes, BYTES);
    }

    /// RFC 4755 §3.1, and hard case 39: flags never reach the QPN, unknown flags are ignored.
    #[test]
    fn flags_stay_out_of_the_qpn() {
        let mut bytes = BYTES;
        bytes[0] = 0xff;
        let read = HardwareAddress::parse(&bytes).unwrap();
        assert_eq!(read.flags, AddressFlags::RC | AddressFlags::UC);
        assert_eq!(read.qpn.bits(), 0x405);
    }

    #[test]
    fn text() {
        let text = "80:00:04:05:fe:80:00:00:00:00:00:00:00:02:c9:02:00:24:f6:36";
        assert_eq!(address().to_string(), text);
        assert_eq!(text.parse(), Ok(address()));
        for wrong in [
            "",
            "80:00",
            &text[3..],
            &format!("{text}:00"),
            &text.replace("36", "3g"),
            &text.replace("36", "+3"),
        ] {
            assert_eq!(
                wrong.parse::<HardwareAddress>(),
                Err(AddressError),
                "{wrong}"
            );
        }
    }

    proptest! {
        #[test]
        fn round_trip(octets: [u8; 20]) {
            let address = HardwareAddress::from(octets);
            prop_assert_eq!(HardwareAddress::parse(&octets), Ok(address));
            prop_assert_eq!(HardwareAddress::parse(&address.to_bytes()), Ok(address));
            prop_assert_eq!(address.to_string().parse(), Ok(address));
        }
    }
}
