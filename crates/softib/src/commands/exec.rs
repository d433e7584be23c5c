//! `softib exec`: this process moves into the host and becomes the program.

use std::ffi::OsString;
use std::io;

use softib_host::HostError;
use softib_host::enter::Ticket;

use crate::args::Exec;
use crate::client::find;
use crate::failure::{Failure, Outcome};
use crate::text::note;

pub(crate) fn exec(name: Option<&str>, args: Exec) -> Outcome {
    let lab = find(name)?;
    let ticket = Ticket::request(&lab.exec_socket(), &args.host)?;
    let (program, arguments) = match args.command.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (
            std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh")),
            &[][..],
        ),
    };
    let error = ticket.exec(&program, arguments);
    // As shells have it: 127 if there is no such program, 126 if it can't be run.
    let status = match &error {
        HostError::Program { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
        HostError::Program { .. } => 126,
        _ => return Err(error.into()),
    };
    note(format_args!("error: {error}"));
    Err(Failure::Status(status))
}
