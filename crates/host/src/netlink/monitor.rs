//! Follows one interface: hears that something changed, and reads what it is now.

use std::io;
use std::net::IpAddr;
use std::ops::BitOrAssign;
use std::os::fd::{AsFd, BorrowedFd};

use super::device::{self, DeviceRoute, Link};
use super::memberships::Memberships;
use super::socket::{Heard, Notices, Requests};

// linux/rtnetlink.h: groups of notices …
const RTNLGRP_LINK: u32 = 1;
const RTNLGRP_IPV4_IFADDR: u32 = 5;
const RTNLGRP_IPV4_ROUTE: u32 = 7;
const RTNLGRP_IPV6_IFADDR: u32 = 9;
const RTNLGRP_IPV6_ROUTE: u32 = 11;
const RTNLGRP_IPV4_MCADDR: u32 = 37;
const RTNLGRP_IPV6_MCADDR: u32 = 38;
// … and the messages in them.
const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_NEWMULTICAST: u16 = 56;
const RTM_DELMULTICAST: u16 = 57;

/// What must be read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Changes {
    /// Up, down, MTU, name, gone.
    pub(crate) link: bool,
    /// Addresses.
    pub(crate) addresses: bool,
    /// Routes.
    pub(crate) routes: bool,
    /// Multicast groups.
    pub(crate) memberships: bool,
}

impl Changes {
    /// Everything.
    pub(crate) const ALL: Self = Self {
        link: true,
        addresses: true,
        routes: true,
        memberships: true,
    };

    fn note(&mut self, kind: u16) {
        match kind {
            RTM_NEWLINK | RTM_DELLINK => {
                // The kernel tells nothing of the IPv4 routes that go with a link.
                self.link = true;
                self.routes = true;
            }
            RTM_NEWADDR | RTM_DELADDR => {
                // Nor, before 6.14, of the groups that come and go with addresses.
                self.addresses = true;
                self.routes = true;
                self.memberships = true;
            }
            RTM_NEWROUTE | RTM_DELROUTE => self.routes = true,
            RTM_NEWMULTICAST | RTM_DELMULTICAST => self.memberships = true,
            _ => {}
        }
    }
}

impl BitOrAssign for Changes {
    fn bitor_assign(&mut self, other: Self) {
        self.link |= other.link;
        self.addresses |= other.addresses;
        self.routes |= other.routes;
        self.memberships |= other.memberships;
    }
}

/// The sockets and tables by which one interface is followed and changed.
#[derive(Debug)]
pub(crate) struct Monitor {
    index: u32,
    notices: Notices,
    requests: Requests,
    memberships: Memberships,
    tells_memberships: bool,
}

impl Monitor {
    /// Follows interface `name` of the current network namespace, from whatever thread it is used
    /// later.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let notices = Notices::open(&[
            RTNLGRP_LINK,
            RTNLGRP_IPV4_IFADDR,
            RTNLGRP_IPV4_ROUTE,
            RTNLGRP_IPV6_IFADDR,
            RTNLGRP_IPV6_ROUTE,
        ])?;
        let tells_memberships =
            notices.join(RTNLGRP_IPV4_MCADDR).is_ok() && notices.join(RTNLGRP_IPV6_MCADDR).is_ok();
        let mut requests = Requests::open()?;
        let index = device::link_by_name(&mut requests, name)?.index;
        Ok(Self {
            index,
            notices,
            requests,
            memberships: Memberships::open()?,
            tells_memberships,
        })
    }

    /// Whether the kernel tells of multicast joins. Else they must be looked for.
    pub(crate) const fn tells_memberships(&self) -> bool {
        self.tells_memberships
    }

    /// What has changed since the last call.
    pub(crate) fn drain(&mut self) -> io::Result<Changes> {
        let mut changes = Changes::default();
        let heard = self.notices.drain(|message| changes.note(message.kind))?;
        Ok(if heard == Heard::Overrun {
            Changes::ALL
        } else {
            changes
        })
    }

    /// The interface as it is now. `ENODEV`: it is gone.
    pub(crate) fn link(&mut self) -> io::Result<Link> {
        device::link(&mut self.requests, self.index)
    }

    /// Its addresses.
    pub(crate) fn addresses(&mut self) -> io::Result<Vec<(IpAddr, u8)>> {
        device::addresses(&mut self.requests, self.index)
    }

    /// The routes that leave by it.
    pub(crate) fn routes(&mut self) -> io::Result<Vec<DeviceRoute>> {
        device::routes(&mut self.requests, self.index)
    }

    /// The multicast groups joined on it.
    pub(crate) fn memberships(&mut self) -> io::Result<Vec<IpAddr>> {
        self.memberships.read(self.index)
    }

    /// Sets it up or down.
    pub(crate) fn set_up(&mut self, up: bool) -> io::Result<()> {
        device::set_up(&mut self.requests, self.index, up)
    }

    /// Sets its MTU.
    pub(crate) fn set_mtu(&mut self, mtu: u32) -> io::Result<()> {
        device::set_mtu(&mut self.requests, self.index, mtu)
    }

    /// Sets the length of its queue towards softib.
    pub(crate) fn set_queue_length(&mut self, packets: u32) -> io::Result<()> {
        device::set_queue_length(&mut self.requests, self.index, packets)
    }

    /// Keeps the kernel from making link-local addresses.
    pub(crate) fn no_own_link_local(&mut self) -> io::Result<()> {
        device::no_own_link_local(&mut self.requests, self.index)
    }

    /// Adds an address.
    pub(crate) fn add_address(&mut self, address: IpAddr, prefix: u8) -> io::Result<()> {
        device::add_address(&mut self.requests, self.index, address, prefix)
    }

    /// Removes an address.
    pub(crate) fn remove_address(&mut self, address: IpAddr, prefix: u8) -> io::Result<()> {
        device::remove_address(&mut self.requests, self.index, address, prefix)
    }
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.notices.as_fd()
    }
}
