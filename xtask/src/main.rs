//! The one door for developers: `cargo xtask check`, `test`, `bench`, `setup`.
//!
//! `check` needs nothing but the toolchain; `test` also needs the stock programs that softib is
//! tried with, and installs them where it may. `docs/ci.md` says what each step is for.

mod arrows;
mod bench;
mod check;
mod licences;
mod packages;
mod run;
mod test;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer tasks of softib")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Formatting, lints, documentation, dependency arrows, licences
    Check,
    /// Install what the tests need, then run all of them
    Test {
        /// Only tests whose names contain this
        filter: Option<String>,
    },
    /// Throughput of softib as a ratio to a veth pair, measured in turn
    Bench(bench::Options),
    /// Install the Debian packages that the tests need
    Setup,
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().task {
        Task::Check => check::check(),
        Task::Test { filter } => test::test(filter.as_deref()),
        Task::Bench(options) => bench::bench(&options),
        Task::Setup => packages::install_missing(),
    }
}
