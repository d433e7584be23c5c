//! From the words on the command line to an exit status.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::args::{Cli, Command};
use crate::commands;
use crate::daemon;
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
    start_log(
        cli.log.as_deref(),
        matches!(cli.command, Command::Daemon(_)),
    )?;
    let name = cli.name.as_deref();
    match cli.command {
        Command::Demo(args) => commands::demo::demo(name, cli.log.as_deref(), &args),
        Command::Run(args) => commands::run::run(name, cli.log.as_deref(), &args),
        Command::Up(args) => commands::up::up(name, cli.log.as_deref(), &args),
        Command::Down(args) => commands::down::down(name, &args),
        Command::Ps(args) => commands::ps::ps(&args),
        Command::Exec(args) => commands::exec::exec(name, args),
        Command::Show(args) => commands::show::show(name, &args),
        Command::Set(args) => commands::set::set(name, &args),
        Command::Link(args) => commands::link::link(name, &args),
        Command::Capture(args) => commands::capture::capture(name, &args),
        Command::Decode(args) => commands::decode::decode(&args),
        Command::Gen(args) => commands::generate::generate(&args),
        Command::Daemon(args) => daemon::main(name, &args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Man(args) => commands::manual::man(&args),
        Command::Completions(args) => commands::manual::completions(&args),
    }
}

/// Logs go to standard error, which in the daemon becomes a file of the lab's directory.
fn start_log(filter: Option<&str>, to_file: bool) -> Outcome {
    let Some(filter) = filter else { return Ok(()) };
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::Usage(format!(
            "the log filter {filter:?} is not understood ({error}); try `debug`"
        ))
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(!to_file && std::io::stderr().is_terminal())
        .init();
    Ok(())
}
