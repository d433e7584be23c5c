//! `cargo xtask bench`: softib beside a veth pair with the same MTU, in turn, in one run.
//!
//! Machines differ and are shared; only the ratio within one round means anything. Every figure is
//! the median over the rounds, with its spread.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::run::{cargo, on_path, root, run};
use crate::test::target_folder;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rounds; the median of their ratios is given
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A measurement: its name and what it adds to iperf3's arguments.
const CASES: &[(&str, &[&str])] = &[
    ("TCP, 1 stream", &[]),
    ("TCP, 1 stream, reverse", &["--reverse"]),
    ("TCP, 4 streams", &["--parallel", "4"]),
];

/// Datagram mode on a 2,048-octet MTU.
const MTU: &str = "2044";

pub(crate) fn bench(options: &Options) -> anyhow::Result<()> {
    if !on_path("iperf3") || !on_path("ip") {
        bail!("iperf3 and ip are needed: type `cargo xtask setup` first");
    }
    if !geteuid().is_root() {
        bail!("the veth pair that softib is compared with needs root; run this as root");
    }
    run(&mut cargo(&[
        "build",
        "--locked",
        "--release",
        "--package",
        "softib",
    ]))?;
    let softib = Softib::up()?;
    let veth = Veth::up()?;

    let mut rows = Vec::new();
    for (case, arguments) in CASES {
        let mut pairs = Vec::new();
        for _ in 0..options.rounds.max(1) {
            let reference = veth.measure(options.seconds, arguments)?;
            let ours = softib.measure(options.seconds, arguments)?;
            eprintln!("{case}: veth {reference:.2} Gb/s, softib {ours:.2} Gb/s");
            pairs.push((reference, ours));
        }
        rows.push(Row::new(case, &pairs));
    }
    if options.json {
        println!(
            "{:#}",
            json!({ "mtu": MTU, "rows": rows.iter().map(Row::json).collect::<Vec<_>>() })
        );
    } else {
        println!(
            "{:<24} {:>10} {:>10} {:>7}   spread",
            "MTU 2044", "veth Gb/s", "softib", "ratio"
        );
        for row in &rows {
            println!(
                "{:<24} {:>10.2} {:>10.2} {:>7.2}   {:.2} to {:.2}",
                row.case, row.veth, row.softib, row.ratio, row.lowest, row.highest
            );
        }
    }
    Ok(())
}

struct Row {
    case: &'static str,
    veth: f64,
    softib: f64,
    ratio: f64,
    lowest: f64,
    highest: f64,
}

impl Row {
    fn new(case: &'static str, pairs: &[(f64, f64)]) -> Self {
        let ratios = sorted(pairs.iter().map(|(veth, softib)| softib / veth));
        Self {
            case,
            veth: median(&sorted(pairs.iter().map(|pair| pair.0))),
            softib: median(&sorted(pairs.iter().map(|pair| pair.1))),
            ratio: median(&ratios),
            lowest: ratios[0],
            highest: ratios[ratios.len() - 1],
        }
    }

    fn json(&self) -> Value {
        json!({
            "case": self.case, "veth_gbps": self.veth, "softib_gbps": self.softib,
            "ratio": self.ratio, "lowest": self.lowest, "highest": self.highest,
        })
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// A lab of two hosts, taken down when dropped.
struct Softib {
    binary: String,
}

impl Softib {
    const NAME: &str = "bench";

    fn up() -> anyhow::Result<Self> {
        let binary = target_folder()?
            .join("release/softib")
            .display()
            .to_string();
        let lab = root().join("examples/two-hosts.toml").display().to_string();
        run(Command::new(&binary).args(["up", "--name", Self::NAME, &lab]))?;
        Ok(Self { binary })
    }

    fn on(&self, host: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(["exec", "--name", Self::NAME, host, "--"]);
        command
    }

    fn measure(&self, seconds: u32, arguments: &[&str]) -> anyhow::Result<f64> {
        iperf3(self.on("h2"), self.on("h1"), "10.0.0.2", seconds, arguments)
    }
}

impl Drop for Softib {
    fn drop(&mut self) {
        let _ = run(Command::new(&self.binary).args(["down", "--name", Self::NAME]));
    }
}

/// Two network namespaces joined by a veth pair, removed when dropped.
struct Veth;

impl Veth {
    const NAMES: [&str; 2] = ["softib-bench-a", "softib-bench-b"];

    fn up() -> anyhow::Result<Self> {
        let this = Self;
        for name in Self::NAMES {
            run(Command::new("ip").args(["netns", "add", name]))?;
        }
        let [a, b] = Self::NAMES;
        run(Command::new("ip").args([
            "link", "add", "ve0", "netns", a, "mtu", MTU, "type", "veth", "peer", "name", "ve0",
            "netns", b, "mtu", MTU,
        ]))?;
        for (name, address) in [(a, "10.99.0.1/24"), (b, "10.99.0.2/24")] {
            run(Command::new("ip").args(["-n", name, "address", "add", address, "dev", "ve0"]))?;
            run(Command::new("ip").args(["-n", name, "link", "set", "ve0", "up"]))?;
        }
        Ok(this)
    }

    fn on(name: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name]);
        command
    }

    fn measure(&self, seconds: u32, arguments: &[&str]) -> anyhow::Result<f64> {
        let [a, b] = Self::NAMES;
        iperf3(Self::on(b), Self::on(a), "10.99.0.2", seconds, arguments)
    }
}

impl Drop for Veth {
    fn drop(&mut self) {
        for name in Self::NAMES {
            let _ = run(Command::new("ip").args(["netns", "delete", name]));
        }
    }
}

/// Gb/s that arrived.
fn iperf3(
    mut server: Command,
    mut client: Command,
    address: &str,
    seconds: u32,
    arguments: &[&str],
) -> anyhow::Result<f64> {
    let server = server
        .args(["iperf3", "--server", "--one-off"])
        .stdout(Stdio::null())
        .spawn()?;
    let mut server = Killed(server);
    std::thread::sleep(Duration::from_millis(300));
    let seconds = seconds.to_string();
    let output = client
        .args([
            "iperf3", "--json", "--omit", "1", "--time", &seconds, "--client", address,
        ])
        .args(arguments)
        .output()?;
    let report: Value = serde_json::from_slice(&output.stdout).context("iperf3 printed no JSON")?;
    let bits = report["end"]["sum_received"]["bits_per_second"]
        .as_f64()
        .with_context(|| format!("iperf3 measured nothing: {}", report["error"]))?;
    server.0.wait()?;
    Ok(bits / 1e9)
}

/// A program that does not outlive its measurement.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
