//! `cargo xtask test`: unit, property, simulation and end-to-end tests.

use crate::packages;
use crate::run::{cargo, on_path, root, run};

pub(crate) fn test(filter: Option<&str>) -> anyhow::Result<()> {
    packages::install_missing()?;
    // The end-to-end tests run the binary that people run.
    run(&mut cargo(&[
        "build",
        "--locked",
        "--release",
        "--package",
        "softib",
    ]))?;
    let binary = target_folder()?.join("release/softib");
    let mut tests = if on_path("cargo-nextest") {
        cargo(&[
            "nextest",
            "run",
            "--locked",
            "--workspace",
            "--no-fail-fast",
        ])
    } else {
        cargo(&["test", "--locked", "--workspace", "--no-fail-fast"])
    };
    run(tests.args(filter).env("SOFTIB_BIN", binary))?;
    run(&mut cargo(&["test", "--locked", "--workspace", "--doc"]))
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> anyhow::Result<std::path::PathBuf> {
    let metadata = cargo_metadata::MetadataCommand::new()
        .no_deps()
        .current_dir(root())
        .exec()?;
    Ok(metadata.target_directory.into())
}
