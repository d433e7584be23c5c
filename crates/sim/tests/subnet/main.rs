//! A whole subnet on virtual time: that it comes up, carries IP, survives faults, and that nothing
//! a peer sends harms others.

mod attacker;
mod bring_up;
mod chaos;
mod common;
mod determinism;
mod duplicates;
mod faults;
mod hostile;
mod hostile_mads;
mod impairments;
mod manager;
mod multicast;
mod partitions;
mod redundancy;
mod thousand;
