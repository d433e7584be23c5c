//! Every command with its arguments: the one source of help, man pages and shell completions.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use softib_wire::time::Duration;

use crate::lab::place::{InterfacePlace, PortPlace};
use crate::lab::quantity;

/// InfiniBand and IP over InfiniBand in user space.
#[derive(Debug, Parser)]
#[command(
    name = "softib",
    version,
    about = "InfiniBand and IP over InfiniBand in user space",
    long_about = "InfiniBand and IP over InfiniBand in user space: a complete subnet of hosts, \
        switches, links and subnet manager on one Linux machine, without InfiniBand hardware, \
        kernel modules or root. Unmodified programs use it through the hosts' ib0 interfaces.",
    after_help = "Begin with `softib demo`.",
    infer_subcommands = false
)]
pub struct Cli {
    /// What the lab is called [default: the name in its file, or the one lab that runs]
    #[arg(
        long,
        global = true,
        env = "SOFTIB_LAB",
        value_name = "NAME",
        hide_env = true,
        help_heading = "Options of all commands"
    )]
    pub name: Option<String>,

    /// Log what happens inside, e.g. `info`, `debug` or `softib_mgmt=trace` [default: off]
    #[arg(
        long,
        global = true,
        env = "SOFTIB_LOG",
        value_name = "FILTER",
        hide_env = true,
        help_heading = "Options of all commands"
    )]
    pub log: Option<String>,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What softib can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show a lab of two hosts and a switch at work: bring-up, ping, throughput
    Demo(Demo),
    /// Bring a lab up, run a program, take the lab down
    ///
    /// The program may call `softib exec`. softib ends with the program's exit status.
    Run(Run),
    /// Bring a lab up and keep it in the background
    Up(Up),
    /// Take a lab down, with the programs that still run on its hosts
    Down(Down),
    /// List the labs that are up
    Ps(Ps),
    /// Run a program on a host of the lab
    Exec(Exec),
    /// Show the state of the lab
    Show(Show),
    /// Change a setting of a host's interface
    Set(Set),
    /// Pull out a cable, plug it in, or change what it does to packets
    Link(Link),
    /// Capture the packets of a port as a pcap file
    Capture(Capture),
    /// Print a line for each packet of a capture file
    ///
    /// Each line begins with the packet's number and ends with both CRCs. Reads pcap and pcapng with
    /// link type INFINIBAND or ERF.
    Decode(Decode),
    /// Generate the file of a larger lab
    Gen(Gen),
    /// The process behind `up`
    #[command(hide = true)]
    Daemon(Daemon),
    /// What `demo` runs on the hosts
    #[command(hide = true)]
    Probe(Probe),
    /// Write the man pages into a folder
    Man(Man),
    /// Print the completions for a shell
    Completions(Completions),
}

/// `softib demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Seconds of the throughput test
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub seconds: u64,
}

/// `softib run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The lab file: TOML, or a listing of ibnetdiscover
    pub lab: PathBuf,
    /// Program and arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// How long to wait for the interfaces, at most
    #[arg(long, default_value = "60s", value_parser = quantity::time, value_name = "TIME")]
    pub timeout: Duration,
}

/// `softib up`.
#[derive(Debug, Args)]
pub struct Up {
    /// The lab file: TOML, or a listing of ibnetdiscover
    pub lab: PathBuf,
    /// Do not wait until the interfaces run
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait for the interfaces, at most
    #[arg(long, default_value = "60s", value_parser = quantity::time, value_name = "TIME")]
    pub timeout: Duration,
}

/// `softib down`.
#[derive(Debug, Args)]
pub struct Down {
    /// All labs that are up
    #[arg(long)]
    pub all: bool,
}

/// `softib ps`.
#[derive(Debug, Args)]
pub struct Ps {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `softib exec`.
#[derive(Debug, Args)]
pub struct Exec {
    /// The host
    pub host: String,
    /// Program and arguments [default: a shell]
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `softib show`.
#[derive(Debug, Args)]
pub struct Show {
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
    /// What to show [default: hosts]
    #[command(subcommand)]
    pub what: Option<Shown>,
}

/// What `softib show` can show.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Shown {
    /// Nodes, ports, cables
    Fabric,
    /// Interfaces of all hosts
    Hosts,
    /// Everything about one host
    Host {
        /// The host
        host: String,
    },
    /// The subnet manager
    Sm,
    /// Multicast groups and their members
    Groups,
    /// Paths that the interfaces know
    Paths,
    /// Forwarding tables of a switch
    Routes {
        /// The switch
        switch: String,
    },
    /// Neighbours that the interfaces know
    #[command(visible_alias = "neighbors")]
    Neighbours,
    /// Counters of all ports
    Counters,
    /// Packets dropped, by place and reason
    Drops,
}

/// `softib set`.
#[derive(Debug, Args)]
pub struct Set {
    /// The interface: a host, or HOST:INTERFACE
    #[arg(value_name = "HOST[:INTERFACE]")]
    pub interface: InterfacePlace,
    /// What to set
    #[command(subcommand)]
    pub setting: Setting,
}

/// What `softib set` can set.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Setting {
    /// The MTU, in octets; `auto`: as large as the subnet allows
    Mtu {
        /// Octets, or `auto`
        #[arg(value_parser = mtu)]
        mtu: MtuSetting,
    },
}

/// An interface's MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MtuSetting {
    /// As large as the broadcast group allows.
    Auto,
    /// Octets.
    Octets(u32),
}

/// `softib link`.
#[derive(Debug, Args)]
pub struct Link {
    /// What to do with the cable
    #[command(subcommand)]
    pub action: LinkAction,
}

/// What `softib link` can do.
#[derive(Debug, Subcommand)]
pub enum LinkAction {
    /// Pull the cable out
    Down(Cable),
    /// Plug the cable in
    Up(Cable),
    /// Change what the cable does to packets; what is not named stays
    #[command(override_usage = "softib link set [OPTIONS] <NODE[PORT]> [OTHER END]")]
    Set(LinkSet),
}

/// A cable, named by an end or by both.
#[derive(Debug, Args)]
pub struct Cable {
    /// One end.
    #[arg(
        value_name = "NODE[PORT]",
        help = "The port that the cable is in, such as s1[3]; a node alone if it has one cable"
    )]
    pub end: PortPlace,
    /// The other end, if the first leaves open which cable is meant
    #[arg(value_name = "OTHER END")]
    pub other: Option<PortPlace>,
}

/// `softib link set`.
#[derive(Debug, Args)]
pub struct LinkSet {
    /// The cable.
    #[command(flatten)]
    pub cable: Cable,
    /// The change.
    #[command(flatten)]
    pub change: LinkChange,
}

/// What to change about a cable.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct LinkChange {
    /// Part of the packets lost, each way, such as 1%
    #[arg(long, value_parser = quantity::loss, value_name = "PERCENT")]
    pub loss: Option<f64>,
    /// Part of the packets of which a bit is turned
    #[arg(long, value_parser = quantity::loss, value_name = "PERCENT")]
    pub corrupt: Option<f64>,
    /// Part of the packets that come twice
    #[arg(long, value_parser = quantity::loss, value_name = "PERCENT")]
    pub duplicate: Option<f64>,
    /// Part of the packets that those behind them overtake
    #[arg(long, value_parser = quantity::loss, value_name = "PERCENT")]
    pub reorder: Option<f64>,
    /// Time that a packet takes, such as 2ms
    #[arg(long, value_parser = quantity::time, value_name = "TIME")]
    pub delay: Option<Duration>,
    /// Up to this much longer, at random
    #[arg(long, value_parser = quantity::time, value_name = "TIME")]
    pub jitter: Option<Duration>,
    /// Most bits a second each way, such as 10G; `none`: no limit
    #[arg(long, value_parser = rate)]
    pub rate: Option<RateSetting>,
}

/// A cable's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateSetting {
    /// No limit.
    None,
    /// Bits a second.
    Bits(u64),
}

/// `softib capture`.
#[derive(Debug, Args)]
pub struct Capture {
    /// The port.
    #[arg(
        value_name = "NODE[PORT]",
        help = "The port, such as s1[3]; a host alone: its first port"
    )]
    pub place: PortPlace,
    /// The pcap file; `-`: standard output, for `wireshark -k -i -`
    #[arg(short, long, value_name = "FILE")]
    pub write: PathBuf,
    /// End after so many packets
    #[arg(short, long, value_name = "NUMBER")]
    pub count: Option<u64>,
}

/// `softib decode`.
#[derive(Debug, Args)]
pub struct Decode {
    /// The capture file; `-`: standard input
    pub file: PathBuf,
}

/// `softib gen`.
#[derive(Debug, Args)]
pub struct Gen {
    /// Which topology
    #[command(subcommand)]
    pub topology: Topology,
}

/// What `softib gen` can generate.
#[derive(Debug, Subcommand)]
pub enum Topology {
    /// A fat tree of two levels (--leaves, --spines, --hosts-per-leaf) or three (--radix, --pods)
    FatTree(FatTreeArgs),
}

/// `softib gen fat-tree`.
#[derive(Debug, Args)]
pub struct FatTreeArgs {
    /// Leaf switches
    #[arg(long, default_value_t = 2, value_name = "NUMBER", conflicts_with_all = ["radix", "pods"])]
    pub leaves: usize,
    /// Spine switches
    #[arg(long, default_value_t = 2, value_name = "NUMBER", conflicts_with_all = ["radix", "pods"])]
    pub spines: usize,
    /// Hosts of each leaf
    #[arg(long, default_value_t = 4, value_name = "NUMBER", conflicts_with_all = ["radix", "pods"])]
    pub hosts_per_leaf: usize,
    /// Parallel cables between each leaf and each spine
    #[arg(long, default_value_t = 1, value_name = "NUMBER", conflicts_with_all = ["radix", "pods"])]
    pub links: usize,
    /// Three levels: ports of each switch, even
    #[arg(long, value_name = "NUMBER")]
    pub radix: Option<usize>,
    /// Three levels: pods, up to the radix [default: the radix]
    #[arg(long, value_name = "NUMBER", requires = "radix")]
    pub pods: Option<usize>,
    /// MTU of the subnet: 2048 or 4096
    #[arg(long, default_value = "2048", value_parser = quantity::mtu)]
    pub mtu: softib_wire::units::Mtu,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Toml)]
    pub format: Format,
}

/// How a generated lab is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A lab file
    Toml,
    /// A listing as ibnetdiscover prints it
    Ibnetdiscover,
}

/// `softib daemon`: the lab file comes by standard input.
#[derive(Debug, Args)]
pub struct Daemon {
    /// What errors call the lab file
    #[arg(long)]
    pub source: String,
    /// Ends when the process that started it does
    #[arg(long)]
    pub tied: bool,
}

/// `softib probe`.
#[derive(Debug, Args)]
pub struct Probe {
    /// Which.
    #[command(subcommand)]
    pub kind: ProbeKind,
}

/// What `demo` runs on the hosts.
#[derive(Debug, Subcommand)]
pub enum ProbeKind {
    /// Answers are counted and timed
    Ping {
        /// Whom to ask
        address: std::net::Ipv4Addr,
        /// How many times
        #[arg(long, default_value_t = 5)]
        count: u16,
    },
    /// Takes one TCP connection and counts its octets
    Sink {
        /// Where to listen
        address: std::net::SocketAddr,
    },
    /// Sends over TCP for some seconds
    Source {
        /// Where to send
        address: std::net::SocketAddr,
        /// How long
        #[arg(long, default_value_t = 2)]
        seconds: u64,
    },
}

/// `softib man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The folder
    pub folder: PathBuf,
}

/// `softib completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

fn mtu(text: &str) -> Result<MtuSetting, String> {
    if text == "auto" {
        return Ok(MtuSetting::Auto);
    }
    text.parse().map(MtuSetting::Octets).map_err(|_| {
        "write octets, such as 2044, or `auto` for as much as the subnet allows".to_owned()
    })
}

fn rate(text: &str) -> Result<RateSetting, quantity::BadQuantity> {
    if text == "none" {
        return Ok(RateSetting::None);
    }
    quantity::rate(text).map(RateSetting::Bits)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn words_as_people_type_them() {
        for words in [
            "softib demo",
            "softib run lab.toml -- ping -c 1 h2",
            "softib up --name a lab.toml",
            "softib exec --name a h1 -- ls -l",
            "softib exec h1 ls -l --name",
            "softib exec h1",
            "softib show",
            "softib show --name a hosts --json",
            "softib show host h1",
            "softib show routes s1",
            "softib set h1:ib0 mtu 1500",
            "softib set --name a h1 mtu auto",
            "softib link down s1[3]",
            "softib link up leaf1 spine2",
            "softib link --name a set h1 --loss 1% --delay 2ms --rate 10G",
            "softib capture s1[3] -w -",
            "softib decode x.pcap",
            "softib gen fat-tree --leaves 4 --spines 2 --hosts-per-leaf 8",
            "softib gen fat-tree --radix 8",
            "softib gen fat-tree --radix 8 --pods 4 --format ibnetdiscover",
        ] {
            if let Err(error) = Cli::try_parse_from(words.split(' ')) {
                panic!("{words}: {error}");
            }
        }
        for words in [
            "softib",
            "softib run lab.toml",
            "softib link set h1",
            "softib link set h1 --loss 200%",
            "softib set h1 mtu big",
            "softib show colours",
            "softib gen fat-tree --pods 4",
            "softib gen fat-tree --radix 8 --pods 2 --leaves 3",
            "softib capture s1[x] -w -",
        ] {
            assert!(Cli::try_parse_from(words.split(' ')).is_err(), "{words}");
        }
    }
}
