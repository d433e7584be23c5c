//! Man pages and shell completions, made from the same definitions as `--help`.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::args::{Cli, Completions, Man};
use crate::failure::Outcome;

pub(crate) fn man(args: &Man) -> Outcome {
    let folder = args.folder.display();
    std::fs::create_dir_all(&args.folder).with_context(|| format!("{folder} can't be made"))?;
    clap_mangen::generate_to(Cli::command(), &args.folder)
        .with_context(|| format!("the man pages can't be written to {folder}"))?;
    Ok(())
}

pub(crate) fn completions(args: &Completions) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "softib", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}
