//! IP over InfiniBand (RFC 4391, 4392): the network interface, as plain values.
//!
//! An [`Interface`] stands between a host's IP stack, one unreliable datagram queue pair and the
//! subnet administration. It joins the broadcast group and those of the host's multicast
//! memberships, resolves next hops by ARP and neighbour discovery of its own, asks for paths, and
//! puts IP packets into datagrams and takes them out again. It is sans-io: everything is handed in
//! and asked for, see [`Interface`] for the order.
//!
//! Read first: [`interface`] (the whole surface), then `transmit` and `receive` (a packet's way),
//! `neighbour` and `resolve`, `group` and `multicast`, `flush` (what events do).
//!
//! Where Linux's driver is followed and where not is said at each place; the larger differences:
//! a path or group in doubt serves on until a better one is known; fragments of one datagram count
//! as one waiting packet; a peer's change of LID is noticed from its ARP and neighbour discovery.
#![forbid(unsafe_code)]

mod arp;
pub mod counters;
mod flush;
mod group;
mod icmp;
pub mod interface;
mod mtu;
mod multicast;
mod nd;
mod neighbour;
mod partition;
mod path;
mod pending;
mod receive;
mod resolve;
mod route;
#[cfg(test)]
mod tests;
mod timer;
mod transmit;
pub mod view;

pub use counters::{Counters, DropReason};
pub use group::Membership;
pub use interface::{Action, Interface, InterfaceConfig, PortEvent, SaToken, Status};
pub use mtu::{MIN_MTU, MtuError};
pub use neighbour::Reachability;
pub use partition::Partition;
pub use route::{AddressState, Route};
