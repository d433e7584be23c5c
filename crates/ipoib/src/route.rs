//! The host's addresses and routes, as far as they decide where a packet goes on this interface.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

/// A route of the host that leads over this interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// First address of the destination network.
    pub destination: IpAddr,
    /// Leading bits that count.
    pub prefix_len: u8,
    /// Router to go through. `None`: the destinations are neighbours themselves.
    pub gateway: Option<IpAddr>,
}

/// How an address of this host stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressState {
    /// Nobody has been asked yet whether somebody else has it, as there is no carrier.
    Tentative,
    /// Others are being asked, or will be in a moment.
    Detecting {
        /// They have been asked.
        asked: bool,
    },
    /// Ours.
    Valid,
    /// Somebody else has it too.
    Duplicate,
}

/// An address of this host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub(crate) prefix_len: u8,
    pub(crate) state: AddressState,
}

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// To one neighbour: the destination or a router.
    Neighbour(IpAddr),
    /// To everybody on the link.
    Broadcast,
    /// To a multicast group.
    Multicast(IpAddr),
    /// To ourselves.
    Own,
    /// Nowhere: no host has such an address.
    Nowhere,
}

/// Addresses and routes.
#[derive(Debug, Default)]
pub(crate) struct Addressing {
    pub(crate) addresses: BTreeMap<IpAddr, Address>,
    /// Longest prefix first.
    routes: Vec<Route>,
}

impl Addressing {
    pub(crate) fn set_routes(&mut self, routes: &[Route]) {
        self.routes = routes.to_vec();
        // A stable sort: among equals, what the host listed first comes first.
        self.routes
            .sort_by_key(|route| std::cmp::Reverse(route.prefix_len));
    }

    pub(crate) fn is_own(&self, ip: IpAddr) -> bool {
        self.addresses.contains_key(&ip)
    }

    /// Where a packet to `destination` goes.
    pub(crate) fn target(&self, destination: IpAddr) -> Target {
        match destination {
            IpAddr::V4(ip) if ip.is_multicast() => return Target::Multicast(destination),
            IpAddr::V6(ip) if ip.is_multicast() => return Target::Multicast(destination),
            IpAddr::V4(ip) if ip.is_broadcast() => return Target::Broadcast,
            IpAddr::V4(ip) if ip.is_loopback() || ip.octets()[0] == 0 || ip.octets()[0] >= 240 => {
                return Target::Nowhere;
            }
            IpAddr::V6(ip) if ip.is_unspecified() || ip.is_loopback() => return Target::Nowhere,
            _ => {}
        }
        if self.is_own(destination) {
            return Target::Own;
        }
        if let IpAddr::V4(ip) = destination
            && self.is_subnet_broadcast(ip)
        {
            return Target::Broadcast;
        }
        // Link-local addresses are neighbours by definition (RFC 4291 §2.5.6).
        if let IpAddr::V6(ip) = destination
            && ip.is_unicast_link_local()
        {
            return Target::Neighbour(destination);
        }
        let routed = self
            .routes
            .iter()
            .find(|route| within(destination, route.destination, route.prefix_len))
            .map(|route| route.gateway.unwrap_or(destination));
        // Without a route that says otherwise the destination is a neighbour: the host's stack
        // chose this interface for it.
        Target::Neighbour(routed.unwrap_or(destination))
    }

    /// The address of ours to ask `target` from: the one that the packet has, if it is ours; else
    /// one of the target's network; else one of its family and kind.
    pub(crate) fn source_for(
        &self,
        target: IpAddr,
        packet_source: Option<IpAddr>,
    ) -> Option<IpAddr> {
        if let Some(source) = packet_source
            && source.is_ipv4() == target.is_ipv4()
            && self.is_own(source)
        {
            return Some(source);
        }
        let family = || {
            self.addresses
                .iter()
                .filter(|(ip, _)| ip.is_ipv4() == target.is_ipv4())
        };
        let same_network = family()
            .filter(|(ip, address)| within(target, **ip, address.prefix_len))
            .max_by_key(|(_, address)| address.prefix_len);
        let link_local = || {
            family().find(|(ip, _)| match ip {
                IpAddr::V4(_) => false,
                IpAddr::V6(ip) => ip.is_unicast_link_local(),
            })
        };
        same_network
            .or_else(link_local)
            .or_else(|| family().next())
            .map(|(ip, _)| *ip)
    }

    /// Whether `ip` is the last address of a network that one of our addresses or routes names.
    fn is_subnet_broadcast(&self, ip: Ipv4Addr) -> bool {
        let of_addresses = self
            .addresses
            .iter()
            .map(|(ip, address)| (*ip, address.prefix_len));
        let of_routes = self
            .routes
            .iter()
            .filter(|route| route.gateway.is_none())
            .map(|route| (route.destination, route.prefix_len));
        of_addresses
            .chain(of_routes)
            .any(|(network, prefix_len)| match network {
                // Networks of two or one have no broadcast address (RFC 3021).
                IpAddr::V4(network) if (1..=30).contains(&prefix_len) => {
                    u32::from(ip) == u32::from(network) | (u32::MAX >> prefix_len)
                }
                _ => false,
            })
    }
}

/// Whether the first `prefix_len` bits of both addresses agree.
pub(crate) fn within(ip: IpAddr, network: IpAddr, prefix_len: u8) -> bool {
    match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) => {
            let differing = (u32::from(ip) ^ u32::from(network)).leading_zeros();
            differing >= u32::from(prefix_len.min(32))
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) => {
            let differing = (u128::from(ip) ^ u128::from(network)).leading_zeros();
            differing >= u32::from(prefix_len.min(128))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn addressing() -> Addressing {
        let mut addressing = Addressing::default();
        for (address, prefix_len) in [
            ("10.0.0.1", 24),
            ("172.16.0.1", 31),
            ("fd00::1", 64),
            ("fe80::1", 64),
        ] {
            let state = AddressState::Valid;
            addressing
                .addresses
                .insert(ip(address), Address { prefix_len, state });
        }
        let route = |destination, prefix_len, gateway: Option<&str>| Route {
            destination: ip(destination),
            prefix_len,
            gateway: gateway.map(ip),
        };
        addressing.set_routes(&[
            route("0.0.0.0", 0, Some("10.0.0.254")),
            route("10.0.0.0", 24, None),
            route("10.9.0.0", 16, Some("10.0.0.253")),
            route("10.9.9.0", 24, None),
            route("::", 0, Some("fe80::ff")),
            route("fd00::", 64, None),
        ]);
        addressing
    }

    #[test]
    fn longest_prefix_decides() {
        let addressing = addressing();
        for (destination, next_hop) in [
            ("10.0.0.2", "10.0.0.2"),
            ("8.8.8.8", "10.0.0.254"),
            ("10.9.1.1", "10.0.0.253"),
            ("10.9.9.1", "10.9.9.1"),
            ("fd00::2", "fd00::2"),
            ("2001:db8::1", "fe80::ff"),
            ("fe80::2", "fe80::2"),
        ] {
            assert_eq!(
                addressing.target(ip(destination)),
                Target::Neighbour(ip(next_hop))
            );
        }
    }

    #[test]
    fn special_destinations() {
        let addressing = addressing();
        for (destination, target) in [
            ("255.255.255.255", Target::Broadcast),
            ("10.0.0.255", Target::Broadcast),
            ("10.9.9.255", Target::Broadcast),
            ("172.16.0.0", Target::Neighbour(ip("172.16.0.0"))),
            ("10.0.0.1", Target::Own),
            ("224.0.0.1", Target::Multicast(ip("224.0.0.1"))),
            ("ff02::1", Target::Multicast(ip("ff02::1"))),
            ("0.0.0.0", Target::Nowhere),
            ("::", Target::Nowhere),
            ("127.0.0.1", Target::Nowhere),
        ] {
            match target {
                Target::Neighbour(_) if destination == "172.16.0.0" => {
                    // A point-to-point network has no broadcast address (RFC 3021).
                    assert_ne!(addressing.target(ip(destination)), Target::Broadcast);
                }
                _ => assert_eq!(addressing.target(ip(destination)), target, "{destination}"),
            }
        }
    }

    #[test]
    fn asks_from_the_address_nearest_to_the_target() {
        let addressing = addressing();
        let source =
            |target, packet: Option<&str>| addressing.source_for(ip(target), packet.map(ip));
        assert_eq!(source("10.0.0.9", None), Some(ip("10.0.0.1")));
        assert_eq!(
            source("10.0.0.9", Some("172.16.0.1")),
            Some(ip("172.16.0.1"))
        );
        assert_eq!(source("10.0.0.9", Some("192.0.2.1")), Some(ip("10.0.0.1")));
        assert_eq!(source("2001:db8::1", None), Some(ip("fe80::1")));
        assert_eq!(Addressing::default().source_for(ip("10.0.0.9"), None), None);
    }
}
