//! Netlink: what softib sets on the hosts' interfaces, and what people set there with `ip`.
//!
//! A notice is only a doorbell: when one comes, what it is about is read anew from the kernel. So a
//! lost notice (`ENOBUFS`), a burst of them, or a change between two of them cannot leave a wrong
//! picture behind.

pub(crate) mod device;
mod memberships;
mod message;
mod monitor;
mod socket;

pub(crate) use monitor::{Changes, Monitor};
