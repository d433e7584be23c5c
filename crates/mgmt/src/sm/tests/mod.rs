//! The manager against subnets of agents (`fake`), and its algorithms against oracles.

pub(crate) mod fake;

mod bring_up;
mod changes;
mod hostile;
mod managers;
mod routing;
mod trees;
