//! What goes over the API, as JSON. `docs/api.md` describes it for other clients.

use serde::{Deserialize, Serialize};

use crate::lab::place::PortPlace;

/// `GET /status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The lab's name.
    pub lab: String,
    /// What its file is called.
    pub source: String,
    /// The daemon's process.
    pub pid: u32,
    /// Milliseconds since it runs.
    pub uptime_ms: u64,
    /// Hosts.
    pub hosts: usize,
    /// Switches.
    pub switches: usize,
    /// Whether every interface that can run does.
    pub ready: bool,
    /// All interfaces.
    pub interfaces: Vec<InterfaceStatus>,
}

/// How far an interface is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterfaceStatus {
    /// Host.
    pub host: String,
    /// Interface.
    pub interface: String,
    /// Whether it runs.
    pub carrier: bool,
    /// Why it does not.
    pub reason: Option<String>,
    /// Whether it can: there is a manager, a cable leads to it, it is in the interface's partition.
    pub expected: bool,
}

/// `POST /link`: what is left out stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// An end of the cable.
    pub end: PortPlace,
    /// The other end, if the first leaves open which cable is meant.
    #[serde(default)]
    pub other: Option<PortPlace>,
    /// Plugged in or not.
    #[serde(default)]
    pub up: Option<bool>,
    /// Part of the packets lost, 0 to 1.
    #[serde(default)]
    pub loss: Option<f64>,
    /// Time that a packet takes, in nanoseconds.
    #[serde(default)]
    pub delay_ns: Option<u64>,
    /// Most bits a second; 0: no limit.
    #[serde(default)]
    pub rate: Option<u64>,
}

/// The answer to [`LinkRequest`]: the cable as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkState {
    /// One end, `h1[1]`.
    pub a: String,
    /// The other end.
    pub b: String,
    /// Plugged in or not.
    pub up: bool,
    /// What it does to packets: `loss 1% delay 2ms`; empty: nothing.
    pub impairment: String,
}

/// `POST /mtu`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MtuRequest {
    /// Host.
    pub host: String,
    /// Interface; without it the host's first.
    #[serde(default)]
    pub interface: Option<String>,
    /// Octets; `null`: as large as the broadcast group allows.
    pub mtu: Option<u32>,
}

/// The answer to [`MtuRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MtuState {
    /// `h1:ib0`.
    pub interface: String,
}

/// The answer to everything that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A sentence.
    pub error: String,
}

/// A line that the daemon writes to who started it, before the API is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Started {
    /// A step is done.
    Step(String),
    /// The API is there.
    Ready,
    /// It can't start, and the request was at fault.
    Usage(String),
    /// It can't start.
    Failed(String),
}
