//! The test bench: a whole subnet on virtual time, with simulated hosts that answer pings.
//!
//! For tests only. Nothing here waits: time jumps from one deadline to the next, so that a minute
//! of a thousand nodes takes as long as its packets take to be handled. Everything that happens is
//! in one log, and one seed gives one log.
//!
//! Read first: [`Simulation`].
#![forbid(unsafe_code)]

pub mod echo;
mod simulation;

pub use simulation::Simulation;
