//! The test bench: a whole subnet on virtual time, with simulated hosts that answer pings.
//!
//! For tests only. Nothing here waits: time jumps from one deadline to the next, so that a minute
//! of a thousand nodes takes as long as its packets take to be handled. Everything that happens is
//! in one log, and one seed gives one log.
//!
//! Read first: [`Simulation`]. [`echo`] and [`packets`] make what hosts send. The tests of this
//! crate are those of the subnet as a whole.
#![forbid(unsafe_code)]

pub mod echo;
mod log;
pub mod packets;
mod simulation;

pub use log::{Happening, Log, Packet};
pub use simulation::{Pings, Simulation};
