//! Tests of the whole interface, two or more on one link. Names of tests that begin with `case_`
//! give the number of the hard case that they are about.

mod bench;
mod bring_up;
mod discovery;
mod events;
mod framing;
mod groups;
mod hostile;
mod mtu;
mod paths;
mod resolution;
