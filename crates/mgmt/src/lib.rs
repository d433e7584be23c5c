//! Management of an InfiniBand subnet: agents, manager, administrator and their clients. Sans-io.
//!
//! - [`mad`]: addresses of MADs, and how requests find their answers.
//! - [`rmpp`]: messages longer than one MAD.
//! - [`agents`]: what answers for a node: SMI, SMA and PMA.
//! - [`sa_client`]: what a port asks the subnet administrator for.
//! - [`sm`]: the subnet manager, and [`sa`], the subnet administrator on its database.
//!
//! Nothing here looks at a clock or sends a packet: MADs and `now` are handed in (`handle_*`), MADs
//! and events are fetched (`poll_*`), and `poll_timeout` says when `handle_timeout` wants to be
//! called. What comes from other nodes is not trusted: it is checked, bounded, and counted by
//! reason where it is dropped.
#![forbid(unsafe_code)]

pub mod agents;
pub mod mad;
pub mod rmpp;
pub mod sa;
pub mod sa_client;
pub mod sm;
