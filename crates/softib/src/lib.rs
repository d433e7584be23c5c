//! What a person types: lab files, the command line, and the daemon that keeps a lab up.
//!
//! Read first: [`args`] (every command), [`lab`] (what a lab file becomes) and [`daemon`] (what
//! runs behind `softib up`, and its API).

pub mod args;
pub mod cli;
mod commands;
pub mod decode;
mod failure;
pub mod lab;
mod text;
