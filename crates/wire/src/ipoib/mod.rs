//! What IP over InfiniBand puts into packets (RFC 4391, 4392, 4755).
//!
//! ```text
//! | … DETH | Encapsulation 4 | IPv4 packet, IPv6 packet or ARP message |
//! ```

pub mod address;
pub mod arp;
pub mod checksum;
pub mod connected;
pub mod icmp;
pub mod ip;
pub mod mgid;
pub mod nd;

pub use address::{AddressFlags, HardwareAddress};
pub use mgid::GroupSpace;

use core::net::Ipv6Addr;

use crate::addr::Guid;

codes! {
    /// What an encapsulation header is followed by.
    pub enum EtherType: u16, "0x0800, 0x0806, 0x8035, 0x86dd or 0x88ca" {
        /// IPv4.
        Ipv4 = 0x0800,
        /// Address resolution.
        Arp = 0x0806,
        /// Reverse address resolution.
        Rarp = 0x8035,
        /// IPv6.
        Ipv6 = 0x86DD,
        /// TIPC. Not in RFC 4391, but Linux sends it.
        Tipc = 0x88CA,
    }
}

layout! {
    /// The header between transport headers and IP (RFC 4391 §6). Its last two octets are reserved.
    pub struct Encapsulation [4] {
        /// What follows.
        ether_type: EtherType = 0, 16;
    }
}

/// The lower half of the IPv6 addresses that a port makes from its GUID (RFC 4391 §8): bit 0x02 of
/// the first octet set, whatever it was, as Linux does.
#[must_use]
pub const fn interface_id(guid: Guid) -> u64 {
    guid.bits() | 0x0200_0000_0000_0000
}

/// The IPv6 link-local address of a port.
#[must_use]
pub const fn link_local(guid: Guid) -> Ipv6Addr {
    Ipv6Addr::from_bits(0xFE80 << 112 | interface_id(guid) as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encapsulation() {
        let header = Encapsulation {
            ether_type: EtherType::Ipv6,
        };
        let mut bytes = [0xa5; 4];
        header.emit(&mut bytes);
        assert_eq!(bytes, [0x86, 0xdd, 0, 0]);
        // RFC 4391 §6: reserved octets are ignored on receive.
        assert_eq!(Encapsulation::parse(&[0x86, 0xdd, 0xff, 0xff]), Ok(header));
        let refused = Encapsulation::parse(&[0x08, 0x07, 0, 0]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Encapsulation.ether_type is 0x807, expected 0x0800, 0x0806, 0x8035, 0x86dd or 0x88ca"
        );
    }

    #[test]
    fn link_local_from_guid() {
        let guid = Guid::new(0x0002_c902_0024_f636);
        assert_eq!(link_local(guid).to_string(), "fe80::202:c902:24:f636");
        // The bit is set, not toggled.
        assert_eq!(
            interface_id(Guid::new(interface_id(guid))),
            interface_id(guid)
        );
    }
}
