//! An IPoIB interface as a host has it: a TUN device with its addresses, and the means to follow
//! it.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use crate::error::HostError;
use crate::namespace::NetNamespace;
use crate::netlink::Monitor;
use crate::tun::Tun;

/// Packets that may wait for softib. The TUN driver drops silently when its ring is full, and its
/// default of 500 is little for a sender of small datagrams.
const QUEUE: u32 = 2_000;
/// Length of the prefix of link-local addresses.
const LINK_LOCAL_PREFIX: u8 = 64;
/// IPv6 does not run over less (RFC 8200 §5).
pub(crate) const IPV6_LEAST_MTU: u32 = 1_280;

/// What an interface begins with.
#[derive(Debug, Clone)]
pub(crate) struct Setup<'a> {
    /// The host, for messages.
    pub(crate) host: &'a str,
    /// Name.
    pub(crate) name: &'a str,
    /// MTU.
    pub(crate) mtu: u32,
    /// IPv6 link-local address, made of the GUID of its port.
    pub(crate) link_local: Ipv6Addr,
    /// Addresses with prefix lengths.
    pub(crate) addresses: &'a [(IpAddr, u8)],
}

/// A TUN device and what follows it.
#[derive(Debug)]
pub(crate) struct Interface {
    /// Where packets come and go.
    pub(crate) tun: Tun,
    /// What people do to it.
    pub(crate) monitor: Monitor,
    link_local: Ipv6Addr,
}

impl Interface {
    /// Makes an interface in `namespace`, sets it up and gives it its addresses. It has no carrier
    /// yet.
    pub(crate) fn create(namespace: &NetNamespace, setup: &Setup<'_>) -> Result<Self, HostError> {
        let refused = |what: String| {
            let interface = format!("{} {}", setup.host, setup.name);
            move |source| HostError::Netlink {
                interface,
                what,
                source,
            }
        };
        namespace.run(|| {
            allow_ipv6();
            let tun = Tun::create(setup.name)?;
            let mut monitor =
                Monitor::open(setup.name).map_err(refused("to be followed".to_owned()))?;
            monitor
                .set_mtu(setup.mtu)
                .map_err(refused(format!("MTU {}", setup.mtu)))?;
            monitor
                .set_queue_length(QUEUE)
                .map_err(refused(format!("a queue of {QUEUE} packets")))?;
            let mut interface = Self {
                tun,
                monitor,
                link_local: setup.link_local,
            };
            if let Err(error) = interface.monitor.no_own_link_local() {
                tracing::debug!(
                    "{} {}: this kernel has no IPv6: {error}",
                    setup.host,
                    setup.name
                );
            }
            interface
                .monitor
                .set_up(true)
                .map_err(refused("to be set up".to_owned()))?;
            for (address, prefix) in setup.addresses {
                let what = format!("address {address}/{prefix}");
                interface
                    .monitor
                    .add_address(*address, *prefix)
                    .map_err(refused(what))?;
            }
            if let Err(error) = interface.restore_link_local() {
                tracing::debug!(
                    "{} {}: no link-local address: {error}",
                    setup.host,
                    setup.name
                );
            }
            Ok(interface)
        })
    }

    /// Gives the interface its link-local address if it has none. The kernel takes all IPv6
    /// addresses away when an interface goes down, and usually makes this one anew; here that is
    /// ours to do.
    pub(crate) fn restore_link_local(&mut self) -> io::Result<()> {
        let link = self.monitor.link()?;
        if !link.up || link.mtu < IPV6_LEAST_MTU {
            return Ok(());
        }
        let has_one =
            self.monitor.addresses()?.iter().any(
                |(address, _)| matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local()),
            );
        if has_one {
            Ok(())
        } else {
            self.monitor
                .add_address(self.link_local.into(), LINK_LOCAL_PREFIX)
        }
    }
}

/// Switches IPv6 on in the current network namespace: a machine may hand on that it is off.
fn allow_ipv6() {
    for scope in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6");
        // Read-only in some containers; then adding an IPv6 address says so.
        let _ = std::fs::write(path, "0");
    }
}

#[cfg(test)]
mod tests;
