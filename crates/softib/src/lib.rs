//! What a person types: lab files, the command line, and the daemon that keeps a lab up.
//!
//! Read first: [`args`] (every command), [`lab`] (what a lab file becomes) and [`daemon`] (what
//! runs behind `softib up`, and its API).
#![forbid(unsafe_code)]

pub mod args;
pub mod cli;
mod client;
mod commands;
pub mod daemon;
pub mod decode;
mod failure;
pub mod lab;
mod launch;
mod text;
