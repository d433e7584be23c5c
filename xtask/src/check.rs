//! `cargo xtask check`: everything that can be said of the code without running it.

use crate::run::{cargo, run};
use crate::{arrows, licences};

pub(crate) fn check() -> anyhow::Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    arrows::check()?;
    licences::check()?;
    run(&mut cargo(&[
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    run(cargo(&[
        "doc",
        "--locked",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ])
    .env("RUSTDOCFLAGS", "--deny warnings"))?;
    eprintln!("check: all good");
    Ok(())
}
