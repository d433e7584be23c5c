//! What goes over the API, as JSON. `docs/api.md` describes it for other clients.

use serde::{Deserialize, Serialize};
use softib_subnet::spec::Impairment;
use softib_wire::time::Duration;

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
    /// Whether it has carrier.
    pub carrier: bool,
    /// Whether it runs: it has carrier, and its addresses are known to be nobody else's.
    pub ready: bool,
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
    /// What it does to packets.
    #[serde(default)]
    pub change: ImpairmentChange,
}

/// A change of what a cable does to packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ImpairmentChange {
    /// Part of the packets lost, 0 to 1.
    pub loss: Option<f64>,
    /// Part of the packets of which a bit is turned.
    pub corrupt: Option<f64>,
    /// Part of the packets that come twice.
    pub duplicate: Option<f64>,
    /// Part of the packets that those behind them overtake.
    pub reorder: Option<f64>,
    /// Time that a packet takes, in nanoseconds.
    pub delay_ns: Option<u64>,
    /// Up to this much longer, at random.
    pub jitter_ns: Option<u64>,
    /// Most bits a second; 0: no limit.
    pub rate: Option<u64>,
}

impl ImpairmentChange {
    /// What the cable does afterwards.
    ///
    /// # Errors
    /// A part is not from 0 to 1; the sentence says which.
    pub fn apply(self, before: Impairment) -> Result<Impairment, String> {
        let part = |name: &str, new: Option<f64>, old: f64| match new {
            None => Ok(old),
            Some(part) if (0.0..=1.0).contains(&part) => Ok(part),
            Some(part) => Err(format!("{name} is {part}; it must be from 0 to 1")),
        };
        Ok(Impairment {
            loss: part("loss", self.loss, before.loss)?,
            corrupt: part("corrupt", self.corrupt, before.corrupt)?,
            duplicate: part("duplicate", self.duplicate, before.duplicate)?,
            reorder: part("reorder", self.reorder, before.reorder)?,
            delay: self.delay_ns.map_or(before.delay, Duration::from_nanos),
            jitter: self.jitter_ns.map_or(before.jitter, Duration::from_nanos),
            rate: self
                .rate
                .map_or(before.rate, |rate| (rate > 0).then_some(rate)),
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_stays() {
        let before = Impairment {
            loss: 0.5,
            rate: Some(1000),
            ..Impairment::default()
        };
        let change: ImpairmentChange =
            serde_json::from_str(r#"{"delay_ns": 5, "rate": 0}"#).unwrap();
        let after = change.apply(before).unwrap();
        assert_eq!(
            (after.loss, after.delay, after.rate),
            (0.5, Duration::from_nanos(5), None)
        );
        let wrong = ImpairmentChange {
            corrupt: Some(1.5),
            ..ImpairmentChange::default()
        };
        assert!(wrong.apply(before).unwrap_err().contains("corrupt is 1.5"));
    }
}
