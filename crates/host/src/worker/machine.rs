//! What the event loop drives: the subnet, and in tests less.

use std::net::IpAddr;

use softib_fabric::frame::{Frame, Pool};
use softib_ipoib::Route;
use softib_subnet::spec::{IfaceRef, PortRef};
use softib_subnet::{Captured, Event, Subnet};
use softib_wire::time::Instant;

/// A sans-io core that takes IP packets and gives them out elsewhere.
pub(crate) trait Machine: Send + 'static {
    /// Where packets come from.
    fn pool(&self) -> Pool;
    /// A packet from the stack behind `interface`.
    fn handle_ip(&mut self, now: Instant, interface: IfaceRef, packet: Frame);
    /// Whether `interface` has room for one more.
    fn can_accept_ip(&self, interface: IfaceRef) -> bool;
    /// A packet for the stack behind an interface.
    fn poll_ip(&mut self) -> Option<(IfaceRef, Frame)>;
    /// Something that happened.
    fn poll_event(&mut self) -> Option<Event>;
    /// A packet that passed a captured port.
    fn poll_captured(&mut self) -> Option<Captured>;
    /// When to call again.
    fn poll_timeout(&self) -> Option<Instant>;
    /// It is that time.
    fn handle_timeout(&mut self, now: Instant);
    /// Captures a port, or no longer does.
    fn capture(&mut self, port: PortRef, on: bool);
    /// A person set the interface up or down.
    fn set_admin_up(&mut self, now: Instant, interface: IfaceRef, up: bool);
    /// A person asked for an MTU. Returns the one in force, or why the one asked for cannot be.
    fn set_mtu(&mut self, now: Instant, interface: IfaceRef, mtu: u32) -> (u32, Option<String>);
    /// The interface's addresses, with prefix lengths.
    fn set_addresses(&mut self, now: Instant, interface: IfaceRef, addresses: &[(IpAddr, u8)]);
    /// The routes that leave by the interface.
    fn set_routes(&mut self, now: Instant, interface: IfaceRef, routes: &[Route]);
    /// The multicast groups joined on the interface.
    fn set_memberships(&mut self, now: Instant, interface: IfaceRef, groups: &[IpAddr]);
}

impl Machine for Subnet {
    fn pool(&self) -> Pool {
        Self::pool(self).clone()
    }

    fn handle_ip(&mut self, now: Instant, interface: IfaceRef, packet: Frame) {
        Self::handle_ip(self, now, interface, packet);
    }

    fn can_accept_ip(&self, interface: IfaceRef) -> bool {
        Self::can_accept_ip(self, interface)
    }

    fn poll_ip(&mut self) -> Option<(IfaceRef, Frame)> {
        Self::poll_ip(self)
    }

    fn poll_event(&mut self) -> Option<Event> {
        Self::poll_event(self)
    }

    fn poll_captured(&mut self) -> Option<Captured> {
        Self::poll_captured(self)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Self::poll_timeout(self)
    }

    fn handle_timeout(&mut self, now: Instant) {
        Self::handle_timeout(self, now);
    }

    fn capture(&mut self, port: PortRef, on: bool) {
        Self::capture(self, port, on);
    }

    fn set_admin_up(&mut self, now: Instant, interface: IfaceRef, up: bool) {
        Self::set_admin_up(self, now, interface, up);
    }

    fn set_mtu(&mut self, now: Instant, interface: IfaceRef, mtu: u32) -> (u32, Option<String>) {
        let refusal = Self::set_mtu(self, now, interface, Some(mtu))
            .err()
            .map(|error| error.to_string());
        (self.mtu(interface).unwrap_or(mtu), refusal)
    }

    fn set_addresses(&mut self, now: Instant, interface: IfaceRef, addresses: &[(IpAddr, u8)]) {
        Self::set_addresses(self, now, interface, addresses);
    }

    fn set_routes(&mut self, now: Instant, interface: IfaceRef, routes: &[Route]) {
        Self::set_routes(self, now, interface, routes);
    }

    fn set_memberships(&mut self, now: Instant, interface: IfaceRef, groups: &[IpAddr]) {
        Self::set_memberships(self, now, interface, groups);
    }
}
