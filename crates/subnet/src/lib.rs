//! A subnet in one worker: channel adapters, switches, links, agents, IPoIB interfaces and the
//! subnet manager, composed without any I/O.
//!
//! This crate is the only one that knows both the data plane (`fabric`) and management (`mgmt`). It
//! carries packets between neighbours, MADs between a node's QP0/QP1 and its agents, and verbs
//! between an interface and its adapter. `host` drives it with real time and TUN devices, `sim`
//! with virtual time and a seed; both see the same code.
//!
//! Read first: [`spec::SubnetSpec`] (what to build), [`Subnet`] (the machine itself) and [`view`]
//! (what it shows of itself).
#![forbid(unsafe_code)]

mod deadlines;
mod drop;
mod event;
mod node;
mod routes;
pub mod spec;
mod subnet;
mod told;
pub mod topology;
pub mod view;
mod views;

pub use event::Event;
pub use subnet::{Captured, NoCable, Subnet};
