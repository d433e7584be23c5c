//! Everything that touches the operating system: TUN devices, namespaces, netlink, the event loop,
//! capture files, and the directory in which a running lab is found again.
//!
//! The protocol crates below never see a file descriptor; this crate never looks inside a packet
//! further than the operating system asks it to (the `virtio_net_hdr` of a TUN device). It is the
//! only crate with `unsafe` code, each use with its JUSTIFICATION and SAFETY.
//!
//! Read first: [`runtime::Runtime`] (a running lab), [`enter`] (how a program gets into a host) and
//! [`run_dir::RunDir`] (where a lab is found by its name).

pub mod capture;
pub mod enter;
pub mod error;
mod interface;
pub mod namespace;
mod netlink;
pub mod run_dir;
pub mod runtime;
#[cfg(test)]
mod testing;
mod tun;
mod worker;

pub use error::HostError;
