//! One file for each command.

pub(crate) mod decode;
pub(crate) mod generate;
pub(crate) mod manual;
