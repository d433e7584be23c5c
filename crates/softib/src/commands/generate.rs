//! `softib gen`: lab files by rule.

use std::io::Write;

use softib_subnet::topology::FatTree;

use crate::args::{FatTreeArgs, Format, Gen, Topology};
use crate::failure::{Failure, Outcome};
use crate::lab::write;

pub(crate) fn generate(args: &Gen) -> Outcome {
    let Topology::FatTree(tree) = &args.topology;
    let spec = fat_tree(tree).build(tree.mtu).map_err(|error| {
        Failure::Usage(format!(
            "{error}; `softib gen fat-tree --help` explains the numbers"
        ))
    })?;
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = match tree.format {
        Format::Toml => write::toml(&spec, &mut text),
        Format::Ibnetdiscover => write::ibnetdiscover(&spec, &mut text),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn fat_tree(args: &FatTreeArgs) -> FatTree {
    match (args.radix, args.pods) {
        (Some(radix), pods) => FatTree::ThreeLevels {
            radix,
            pods: pods.unwrap_or(radix),
        },
        (None, _) => FatTree::TwoLevels {
            leaves: args.leaves,
            spines: args.spines,
            hosts_per_leaf: args.hosts_per_leaf,
            parallel: args.links,
        },
    }
}
