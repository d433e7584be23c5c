//! What a link does to packets on purpose.

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

#[cfg(test)]
mod tests {
    use super::*;

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
