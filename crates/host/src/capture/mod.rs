//! Captures: packets of a port on their way into a pcap file, and out of one again.

pub mod read;
mod stream;
pub mod write;

pub(crate) use stream::channel;
pub use stream::{Capture, CapturedPacket, Tap};
