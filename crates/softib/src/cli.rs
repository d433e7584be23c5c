//! From the words on the command line to an exit status.

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::commands;
use crate::failure::{Failure, Outcome};

/// Does what the command line says.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn dispatch(cli: Cli) -> Outcome {
    start_log(cli.log.as_deref())?;
    match cli.command {
        Command::Decode(args) => commands::decode::decode(&args),
        Command::Gen(args) => commands::generate::generate(&args),
        Command::Man(args) => commands::manual::man(&args),
        Command::Completions(args) => commands::manual::completions(&args),
        _ => Err(Failure::Usage(
            "this command needs a running lab".to_owned(),
        )),
    }
}

/// Logs go to standard error, which in the daemon is a file of the lab's directory.
fn start_log(filter: Option<&str>) -> Outcome {
    let Some(filter) = filter else { return Ok(()) };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::Usage(format!(
            "the log filter {filter:?} is not understood ({error}); try `debug`"
        ))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
