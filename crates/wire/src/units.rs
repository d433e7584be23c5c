//! Coded quantities: MTU, rate, time-outs, link width and speed, port states.

use core::time::Duration;

codes! {
    /// MTU codes: payload octets of the largest packet.
    pub enum Mtu: u8, "an MTU code from 1 to 5" {
        /// 256 octets.
        B256 = 1,
        /// 512 octets.
        B512 = 2,
        /// 1,024 octets.
        B1024 = 3,
        /// 2,048 octets.
        B2048 = 4,
        /// 4,096 octets.
        B4096 = 5,
    }
}

impl Mtu {
    /// Payload octets.
    #[must_use]
    pub const fn octets(self) -> usize {
        128 << self.code()
    }

    /// The MTU of exactly this many octets.
    #[must_use]
    pub const fn from_octets(octets: usize) -> Option<Self> {
        match octets {
            256 => Some(Self::B256),
            512 => Some(Self::B512),
            1024 => Some(Self::B1024),
            2048 => Some(Self::B2048),
            4096 => Some(Self::B4096),
            _ => None,
        }
    }
}

codes! {
    /// Static rate codes. Their numeric order is not the order of speed: compare [`Rate::gbps_x10`].
    pub enum Rate: u8, "a rate code from 2 to 24" {
        /// 2.5 Gb/s (1x SDR).
        Gbps2_5 = 2,
        /// 10 Gb/s (4x SDR).
        Gbps10 = 3,
        /// 30 Gb/s.
        Gbps30 = 4,
        /// 5 Gb/s.
        Gbps5 = 5,
        /// 20 Gb/s.
        Gbps20 = 6,
        /// 40 Gb/s (4x QDR).
        Gbps40 = 7,
        /// 60 Gb/s.
        Gbps60 = 8,
        /// 80 Gb/s.
        Gbps80 = 9,
        /// 120 Gb/s.
        Gbps120 = 10,
        /// 14 Gb/s.
        Gbps14 = 11,
        /// 56 Gb/s (4x FDR).
        Gbps56 = 12,
        /// 112 Gb/s.
        Gbps112 = 13,
        /// 168 Gb/s.
        Gbps168 = 14,
        /// 25 Gb/s.
        Gbps25 = 15,
        /// 100 Gb/s (4x EDR).
        Gbps100 = 16,
        /// 200 Gb/s (4x HDR).
        Gbps200 = 17,
        /// 300 Gb/s.
        Gbps300 = 18,
        /// 28 Gb/s.
        Gbps28 = 19,
        /// 50 Gb/s.
        Gbps50 = 20,
        /// 400 Gb/s (4x NDR).
        Gbps400 = 21,
        /// 600 Gb/s.
        Gbps600 = 22,
        /// 800 Gb/s.
        Gbps800 = 23,
        /// 1,200 Gb/s.
        Gbps1200 = 24,
    }
}

impl Rate {
    /// Tenths of a gigabit a second: what to compare rates by.
    #[must_use]
    pub const fn gbps_x10(self) -> u32 {
        match self {
            Self::Gbps2_5 => 25,
            Self::Gbps5 => 50,
            Self::Gbps10 => 100,
            Self::Gbps14 => 140,
            Self::Gbps20 => 200,
            Self::Gbps25 => 250,
            Self::Gbps28 => 280,
            Self::Gbps30 => 300,
            Self::Gbps40 => 400,
            Self::Gbps50 => 500,
            Self::Gbps56 => 560,
            Self::Gbps60 => 600,
            Self::Gbps80 => 800,
            Self::Gbps100 => 1000,
            Self::Gbps112 => 1120,
            Self::Gbps120 => 1200,
            Self::Gbps168 => 1680,
            Self::Gbps200 => 2000,
            Self::Gbps300 => 3000,
            Self::Gbps400 => 4000,
            Self::Gbps600 => 6000,
            Self::Gbps800 => 8000,
            Self::Gbps1200 => 12000,
        }
    }
}

codes! {
    /// How a query's MTU, rate or life time is meant (IBA 15.2.5.16).
    pub enum Selector: u8, "a selector from 0 to 3" {
        /// Greater than the value.
        Greater = 0,
        /// Less than the value.
        Less = 1,
        /// The value itself.
        Exactly = 2,
        /// The largest (for a life time: the smallest) there is.
        Largest = 3,
    }
}

codes! {
    /// Logical state of a port (IBA 7.2.7). `NoChange` exists only in a Set.
    pub enum PortState: u8, "a port state from 0 to 5" {
        /// In a Set: leave it as it is.
        NoChange = 0,
        /// The link is not there.
        Down = 1,
        /// The link is trained; only subnet management packets pass.
        Init = 2,
        /// Data packets are received, only subnet management packets are sent.
        Armed = 3,
        /// Everything passes.
        Active = 4,
        /// Active, link error recovery under way.
        ActiveDefer = 5,
    }
}

codes! {
    /// Physical state of a port (IBA 14.2.5.6). `NoChange` exists only in a Set.
    pub enum PhysState: u8, "a physical port state from 0 to 7" {
        /// In a Set: leave it as it is.
        NoChange = 0,
        /// Sleeping.
        Sleep = 1,
        /// Looking for a peer.
        Polling = 2,
        /// Switched off by management.
        Disabled = 3,
        /// Training with the peer.
        Training = 4,
        /// Trained.
        LinkUp = 5,
        /// Recovering from errors.
        ErrorRecovery = 6,
        /// Under test.
        PhyTest = 7,
    }
}

codes! {
    /// What a node is (NodeInfo.NodeType).
    pub enum NodeType: u8, "1 (channel adapter), 2 (switch) or 3 (router)" {
        /// Channel adapter.
        ChannelAdapter = 1,
        /// Switch.
        Switch = 2,
        /// Router.
        Router = 3,
    }
}

/// The time that a 5-bit time-out code stands for: 4.096 µs × 2^code. Used by SubnetTimeout,
/// RespTimeValue, PacketLifeTime, LifeTimeValue and the transport's time-outs.
#[must_use]
pub const fn timeout(code: u8) -> Duration {
    Duration::from_nanos(4096 << (code & 31))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtus() {
        for &mtu in Mtu::ALL {
            assert_eq!(Mtu::from_octets(mtu.octets()), Some(mtu));
            assert_eq!(Mtu::from_code(mtu.code()), Some(mtu));
        }
        assert_eq!(Mtu::B4096.octets(), 4096);
        assert_eq!(
            (Mtu::from_octets(2044), Mtu::from_code(0), Mtu::from_code(6)),
            (None, None, None)
        );
    }

    /// Each speed once, and not in the order of the codes.
    #[test]
    fn rates() {
        assert_eq!(Rate::ALL.len(), 23);
        let mut speeds: Vec<u32> = Rate::ALL.iter().map(|rate| rate.gbps_x10()).collect();
        speeds.sort_unstable();
        speeds.dedup();
        assert_eq!(speeds.len(), 23);
        assert_eq!(Rate::from_code(5), Some(Rate::Gbps5));
        assert!(
            Rate::Gbps5.gbps_x10() < Rate::Gbps10.gbps_x10()
                && Rate::Gbps5.code() > Rate::Gbps10.code()
        );
    }

    #[test]
    fn timeouts() {
        assert_eq!(timeout(0), Duration::from_nanos(4096));
        // About a second, and about four.
        assert_eq!(timeout(18), Duration::from_nanos(1_073_741_824));
        assert_eq!(timeout(20), Duration::from_nanos(4_294_967_296));
        assert_eq!(timeout(31), Duration::from_nanos(4096 << 31));
    }
}
