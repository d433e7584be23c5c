//! The data plane: frames, links, ports, switches and channel adapters, as plain values.
//!
//! This crate is sans-io: no clock, socket, thread or file. Time, frames and seeds are handed in,
//! packets, events and the next deadline are asked for. The calling order is the same everywhere:
//!
//! 1. `handle_*` (a frame, a link change, a deadline that passed) or a verb (`post_ud_send` …);
//! 2. `poll_*` until each of them has no more;
//! 3. `poll_timeout` says when `handle_timeout` is due.
//!
//! A node and a link meet in four ways, which the owner of both carries between them:
//!
//! | from | to | what |
//! | --- | --- | --- |
//! | `node.poll_transmit()` | [`Link::send`](link::Link::send) | frames out |
//! | [`Link::poll_deliver`](link::Link::poll_deliver) | `node.handle_frame` | frames in |
//! | [`Link::poll_event`](link::Link::poll_event) | `node.handle_link`, `node.handle_ready` | trained or not; lanes that have credit |
//! | `node.poll_event` | [`Link::handle_event`](link::Link::handle_event) | port switched off, retrained; lanes that a full node does not take |
//!
//! Read first: [`frame`] (what travels), [`mod@drop`] (why something does not), [`port`].
#![forbid(unsafe_code)]

pub mod drop;
pub mod event;
pub mod frame;
pub mod hca;
pub mod link;
pub mod management;
pub mod port;
pub mod switch;

pub use drop::{DropCounts, DropReason};
pub use event::NodeEvent;
pub use frame::{Frame, Pool};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
