//! The stock programs that the tests judge softib by, as Debian packages.

use std::process::Command;

use anyhow::bail;
use rustix::process::geteuid;

use crate::run::{on_path, run};

/// A program that tests run, and the package that brings it.
const PROGRAMS: &[(&str, &str)] = &[
    ("curl", "curl"),
    ("ethtool", "ethtool"),
    ("ifconfig", "net-tools"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("jq", "jq"),
    ("nginx", "nginx-light"),
    ("ping", "iputils-ping"),
    ("python3", "python3"),
    ("redis-benchmark", "redis-tools"),
    ("redis-server", "redis-server"),
    ("rsync", "rsync"),
    ("setpriv", "util-linux"),
    ("socat", "socat"),
    ("sshd", "openssh-server"),
    ("tcpdump", "tcpdump"),
    ("tshark", "tshark"),
    ("unshare", "util-linux"),
];

/// Installs what is missing when this is root; otherwise prints the line to type.
///
/// # Errors
/// Something is missing and could not be installed.
pub(crate) fn install_missing() -> anyhow::Result<()> {
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| !on_path(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let install = ["install", "--yes", "--no-install-recommends"];
    if !geteuid().is_root() || !on_path("apt-get") {
        bail!(
            "programs that the tests need are missing; as root, type:\n    apt-get update && apt-get {} {}",
            install.join(" "),
            missing.join(" ")
        );
    }
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        // Packages such as nginx must not start a service of their own.
        command
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1");
        command
    };
    run(&mut apt(&["update", "--quiet"]))?;
    run(apt(&install).args(&missing))
}
