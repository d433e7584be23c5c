//! Captures: packets of a port on their way into a pcap file, and out of one again.

pub mod read;
mod stream;
pub mod write;

pub use stream::{Capture, CapturedPacket, Tap};
