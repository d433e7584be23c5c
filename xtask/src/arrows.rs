//! Which crate of the workspace may depend on which, and that ARCHITECTURE.md names them all.

use std::collections::BTreeSet;

use anyhow::{Context, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};

use crate::run::root;

/// Each crate with the crates of the workspace that it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("softib-wire", &[]),
    ("softib-fabric", &["softib-wire"]),
    ("softib-mgmt", &["softib-wire"]),
    (
        "softib-ipoib",
        &["softib-fabric", "softib-mgmt", "softib-wire"],
    ),
    (
        "softib-subnet",
        &[
            "softib-fabric",
            "softib-ipoib",
            "softib-mgmt",
            "softib-wire",
        ],
    ),
    (
        "softib-host",
        &[
            "softib-fabric",
            "softib-ipoib",
            "softib-mgmt",
            "softib-subnet",
            "softib-wire",
        ],
    ),
    (
        "softib",
        &[
            "softib-fabric",
            "softib-host",
            "softib-ipoib",
            "softib-mgmt",
            "softib-subnet",
            "softib-wire",
        ],
    ),
    (
        "softib-sim",
        &[
            "softib-fabric",
            "softib-ipoib",
            "softib-mgmt",
            "softib-subnet",
            "softib-wire",
        ],
    ),
    ("softib-tests", &[]),
    ("xtask", &[]),
];

/// Crates that others may use in their tests only.
const ONLY_FOR_TESTS: &[&str] = &["softib-sim"];

pub(crate) fn check() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .current_dir(root())
        .exec()?;
    let members: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            bail!("crate {name} is not in xtask/src/arrows.rs: say there what it may depend on");
        };
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            if !members.contains(to) || dependency.kind == DependencyKind::Development {
                continue;
            }
            if ONLY_FOR_TESTS.contains(&to) {
                bail!("{name} depends on {to}, which is for tests: make it a dev-dependency");
            }
            if !allowed.contains(&to) {
                bail!("{name} must not depend on {to}: see the arrows in ARCHITECTURE.md");
            }
        }
    }
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md"))
        .context("ARCHITECTURE.md, the map of the crates, can't be read")?;
    for package in metadata.workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .and_then(|path| path.file_name())
            .unwrap_or("");
        if !map.contains(&format!("{folder}/")) {
            bail!("ARCHITECTURE.md does not name `{folder}/`: every crate has a line there");
        }
    }
    Ok(())
}
