//! One file for each command.

pub(crate) mod capture;
pub(crate) mod decode;
pub(crate) mod demo;
pub(crate) mod down;
pub(crate) mod exec;
pub(crate) mod generate;
pub(crate) mod link;
pub(crate) mod manual;
pub(crate) mod probe;
pub(crate) mod ps;
pub(crate) mod run;
pub(crate) mod set;
pub(crate) mod show;
pub(crate) mod up;
