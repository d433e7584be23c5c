//! What a link does to packets on purpose.

use std::fmt;

use softib_wire::time::Duration;

/// What a link does to each packet, in both directions. The default does nothing: an ideal link.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Impairment {
    /// Probability, 0 to 1, that a packet is lost.
    pub loss: f64,
    /// Probability that a bit of a packet is turned.
    pub corrupt: f64,
    /// Probability that a packet comes twice.
    pub duplicate: f64,
    /// Probability that a packet is overtaken by those behind it.
    pub reorder: f64,
    /// How long a packet is under way.
    pub delay: Duration,
    /// Up to this much longer, at random. Packets stay in order.
    pub jitter: Duration,
    /// Bits a second; none: no limit.
    pub rate: Option<u64>,
}

impl Impairment {
    /// Whether it does nothing.
    #[must_use]
    pub fn is_ideal(&self) -> bool {
        *self == Self::default()
    }

    /// What it does, by the names that lab files and the command line have for it, and as they write
    /// it: `("loss", "1%")`, `("delay", "2ms")`, `("rate", "10G")`.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let parts = [
            ("loss", self.loss),
            ("corrupt", self.corrupt),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ];
        let times = [("delay", self.delay), ("jitter", self.jitter)];
        let parts = parts.into_iter().filter(|(_, part)| *part > 0.0);
        let times = times.into_iter().filter(|(_, time)| !time.is_zero());
        parts
            .map(|(name, part)| (name, show_part(part)))
            .chain(times.map(|(name, time)| (name, show_time(time))))
            .chain(self.rate.map(|rate| ("rate", show_rate(rate))))
            .collect()
    }

    /// How long `octets` take to be put on the link.
    pub(super) fn transmission(&self, octets: u64) -> Duration {
        match self.rate {
            None | Some(0) => Duration::ZERO,
            Some(rate) => {
                let nanos = u128::from(octets) * 8 * 1_000_000_000 / u128::from(rate);
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }

    /// Octets of a flow-control block: as many as make a full buffer of blocks last for a round trip.
    pub(super) fn block(&self) -> u64 {
        /// Where no rate is set.
        const FAST: u64 = 25_000_000_000;
        let round_trip = 2 * (self.delay + self.jitter).as_nanos();
        let under_way = round_trip * u128::from(self.rate.unwrap_or(FAST)) / 8 / 1_000_000_000;
        let blocks = u128::from(super::credit::BUFFER);
        u64::try_from(under_way.div_ceil(blocks))
            .unwrap_or(u64::MAX)
            .clamp(64, 1 << 20)
            .next_power_of_two()
    }

    /// Octets of a lane that may wait to be put on the link: what it sends in a few milliseconds, so that it
    /// does not run dry between two calls.
    pub(super) fn backlog(&self) -> u64 {
        const LEAST: u64 = 16 * 1024;
        const MOST: u64 = 1 << 20;
        self.rate
            .map_or(MOST, |rate| (rate / 8 / 200).clamp(LEAST, MOST))
    }
}

/// As the command line writes it: `loss 1% delay 2ms rate 10G`.
impl fmt::Display for Impairment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings().into_iter();
        let words: Vec<_> = settings
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        f.write_str(&words.join(" "))
    }
}

fn show_part(part: f64) -> String {
    // 0.07 * 100 is a little more than 7.
    format!("{}%", (part * 1e12).round() / 1e10)
}

fn show_time(time: Duration) -> String {
    let nanos = time.as_nanos();
    let (unit, length) = [
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
        ("ns", 1),
    ]
    .into_iter()
    .find(|(_, length)| nanos.is_multiple_of(*length))
    .unwrap_or(("ns", 1));
    format!("{}{unit}", nanos / length)
}

fn show_rate(bits: u64) -> String {
    let units = [
        ("T", 1_000_000_000_000),
        ("G", 1_000_000_000),
        ("M", 1_000_000),
        ("k", 1_000),
    ];
    match units.iter().find(|(_, size)| bits.is_multiple_of(*size)) {
        Some((unit, size)) => format!("{}{unit}", bits / size),
        None => format!("{}k", bits as f64 / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown() {
        let impairment = Impairment {
            loss: 0.07,
            delay: Duration::from_micros(1500),
            rate: Some(2_500_000_000),
            ..Impairment::default()
        };
        assert_eq!(impairment.to_string(), "loss 7% delay 1500us rate 2500M");
        assert_eq!(Impairment::default().to_string(), "");
    }

    #[test]
    fn times() {
        let slow = Impairment {
            rate: Some(1_000_000),
            ..Impairment::default()
        };
        assert_eq!(slow.transmission(125), Duration::from_millis(1));
        assert_eq!(Impairment::default().transmission(125), Duration::ZERO);
        assert_eq!(slow.block(), 64);
        let long = Impairment {
            delay: Duration::from_millis(2),
            ..Impairment::default()
        };
        assert_eq!(long.block(), 8192, "4 ms at 25 Gb/s in 2,048 blocks");
        assert!(Impairment::default().is_ideal() && !slow.is_ideal());
    }
}
