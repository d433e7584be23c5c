//! Only permissive licences: every package of the dependency tree is looked at.

use anyhow::bail;
use cargo_metadata::MetadataCommand;
use spdx::{Expression, LicenseItem, ParseMode};

use crate::run::root;

const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(crate) fn check() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new()
        .current_dir(root())
        .other_options(vec![
            "--locked".into(),
            "--filter-platform".into(),
            "x86_64-unknown-linux-gnu".into(),
        ])
        .exec()?;
    for package in &metadata.packages {
        let Some(licence) = &package.license else {
            bail!("{} {} names no licence", package.name, package.version);
        };
        let expression = Expression::parse_mode(licence, ParseMode::LAX)?;
        let permissive = expression.evaluate(|requirement| match &requirement.license {
            LicenseItem::Spdx { id, .. } => PERMISSIVE.contains(&id.name),
            LicenseItem::Other { .. } => false,
        });
        if !permissive {
            bail!(
                "{} {} is under {licence}; allowed are {}",
                package.name,
                package.version,
                PERMISSIVE.join(", ")
            );
        }
    }
    Ok(())
}
