//! Labs: what to build, read from a file.
//!
//! A lab file is TOML (`build` turns it into a subnet) or a listing as `ibnetdiscover` prints it
//! (`listing`); which of them it is, its content says. Both become a [`Lab`].

mod build;
mod error;
mod file;
mod listing;
pub mod place;
pub mod quantity;
#[cfg(test)]
mod tests;
pub mod write;

use std::io::Read;
use std::path::Path;

use softib_host::runtime::{HostSpec, LabSpec};
use softib_subnet::spec::SubnetSpec;

pub use error::LabError;
use error::Source;

/// Lab file of `softib demo`, and the first example.
pub const TWO_HOSTS: &str = include_str!("../../../../examples/two-hosts.toml");

/// A lab: a subnet, and the IP addresses of its hosts.
#[derive(Debug, Clone)]
pub struct Lab {
    /// The name that the file gives, if it gives one.
    pub name: Option<String>,
    /// The subnet.
    pub subnet: SubnetSpec,
    /// IP addresses of each host's interfaces.
    pub hosts: Vec<HostSpec>,
}

impl Lab {
    /// Reads `text`; `source` is what errors call it.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(source: &str, text: &str) -> Result<Self, LabError> {
        let source = Source { name: source, text };
        if listing::looks_like_one(text) {
            listing::parse(&source)
        } else {
            build::parse(&source)
        }
    }

    /// What the runtime builds it from.
    #[must_use]
    pub fn into_spec(self, name: String, seed: u64) -> LabSpec {
        LabSpec {
            name,
            subnet: self.subnet,
            hosts: self.hosts,
            seed,
        }
    }
}

/// The text of a lab file; `-` is standard input.
///
/// # Errors
/// It can't be read.
pub fn read(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        Ok(text)
    } else {
        std::fs::read_to_string(path)
    }
}

/// Most ports of an adapter: GUIDs of hosts are 16 apart.
const MOST_HOST_PORTS: u8 = 15;
/// Most external ports of a switch (IBA 4.1.3).
const MOST_SWITCH_PORTS: u8 = 254;
