//! What a subnet manager is told beforehand: itself, times, and partitions.

use std::collections::BTreeMap;

use softib_wire::addr::{Gid, Guid, PKey, QKey, Sl};
use softib_wire::time::Duration;
use softib_wire::units::{Mtu, Rate};
use thiserror::Error;

use crate::mad::Retry;

/// Settings of a subnet manager. [`SmConfig::new`] has the usual ones.
#[derive(Debug, Clone)]
pub struct SmConfig {
    /// GUID of the port that the manager runs at.
    pub port_guid: Guid,
    /// 0 to 15; the highest of several managers is master.
    pub priority: u8,
    /// SM_Key: a manager with another one is not trusted.
    pub sm_key: u64,
    /// Subnet prefix of all GIDs.
    pub subnet_prefix: u64,
    /// Time between light sweeps.
    pub sweep_interval: Duration,
    /// How often a standby manager asks whether the master is alive.
    pub standby_poll: Duration,
    /// Questions without an answer after which the master is taken for dead.
    pub standby_misses: u32,
    /// Time-out and attempts of an SMP. Each further attempt waits twice as long, up to 8 times.
    pub retry: Retry,
    /// SMPs under way at once.
    pub max_outstanding: usize,
    /// Every end port owns 2^lmc LIDs.
    pub lmc: u8,
    /// PortInfo.SubnetTimeOut, 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// SwitchInfo.LifeTimeValue and the life time of paths, 4.096 µs × 2^n.
    pub packet_life_time: u8,
    /// PortInfo.HOQLife between switches.
    pub hoq_life: u8,
    /// PortInfo.HOQLife of switch ports towards channel adapters.
    pub leaf_hoq_life: u8,
    /// Most data VLs to use, coded as PortInfo.OperationalVLs.
    pub operational_vls: u8,
    /// Whether SLtoVL tables are written (identity, folded onto the VLs that a port has). Needed
    /// only when service levels other than 0 are used.
    pub program_sl_to_vl: bool,
    /// Partitions. Every port is a member of the default one, at least a limited one.
    pub partitions: Vec<Partition>,
    /// Makes transaction IDs. Results do not depend on it.
    pub seed: u64,
}

impl SmConfig {
    /// The usual settings: everybody a full member of the default partition, with its IPoIB
    /// broadcast group.
    #[must_use]
    pub fn new(port_guid: Guid) -> Self {
        Self {
            port_guid,
            priority: 0,
            sm_key: 1,
            subnet_prefix: Gid::DEFAULT_PREFIX,
            sweep_interval: Duration::from_secs(10),
            standby_poll: Duration::from_millis(500),
            standby_misses: 4,
            retry: Retry {
                timeout: Duration::from_millis(50),
                attempts: 6,
            },
            max_outstanding: 64,
            lmc: 0,
            subnet_timeout: 18,
            packet_life_time: 18,
            hoq_life: 18,
            leaf_hoq_life: 16,
            operational_vls: 5,
            program_sl_to_vl: false,
            partitions: vec![Partition::default()],
            seed: 0,
        }
    }

    /// Whether the settings make sense.
    ///
    /// # Errors
    /// The first that does not.
    pub fn check(&self) -> Result<(), ConfigError> {
        let in_range = |field, value: u8, most| {
            if value <= most {
                Ok(())
            } else {
                Err(ConfigError::TooLarge { field, value, most })
            }
        };
        in_range("priority", self.priority, 15)?;
        in_range("lmc", self.lmc, 7)?;
        in_range("subnet_timeout", self.subnet_timeout, 31)?;
        in_range("packet_life_time", self.packet_life_time, 31)?;
        in_range("hoq_life", self.hoq_life, 31)?;
        in_range("leaf_hoq_life", self.leaf_hoq_life, 31)?;
        in_range("operational_vls", self.operational_vls, 5)?;
        if self.operational_vls == 0 {
            return Err(ConfigError::Zero("operational_vls"));
        }
        if self.max_outstanding == 0 {
            return Err(ConfigError::Zero("max_outstanding"));
        }
        if self.retry.attempts == 0 {
            return Err(ConfigError::Zero("retry.attempts"));
        }
        check_partitions(&self.partitions)
    }
}

/// What is wrong with an [`SmConfig`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Out of range.
    #[error("{field} is {value}; it must be at most {most}")]
    TooLarge {
        /// The setting.
        field: &'static str,
        /// Its value.
        value: u8,
        /// The largest that is allowed.
        most: u8,
    },
    /// Zero where something is needed.
    #[error("{0} is 0; it must be at least 1")]
    Zero(&'static str),
    /// A P_Key that names no partition.
    #[error("P_Key {0} names no partition; use 0x0001 to 0x7fff, or 0x8001 to 0xffff")]
    BadPKey(PKey),
    /// Two partitions with one P_Key.
    #[error("two partitions have P_Key {0}; the membership bit does not tell them apart")]
    PartitionTwice(PKey),
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// The P_Key. The membership bit is not looked at.
    pub pkey: PKey,
    /// Who is a member.
    pub members: Members,
    /// The IPoIB broadcast group, if it has one.
    pub ipoib: Option<IpoibGroup>,
}

/// The default partition: everybody, full, with IPoIB.
impl Default for Partition {
    fn default() -> Self {
        Self {
            pkey: PKey::DEFAULT_FULL,
            members: Members::All(Membership::Full),
            ipoib: Some(IpoibGroup::default()),
        }
    }
}

/// Who is a member of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// Every end port.
    All(Membership),
    /// These ports, by port GUID or by node GUID.
    Ports(BTreeMap<Guid, Membership>),
}

/// How a port is a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Membership {
    /// Talks to full members only.
    Limited,
    /// Talks to all.
    Full,
}

impl Membership {
    /// The P_Key of such a member.
    #[must_use]
    pub const fn pkey(self, pkey: PKey) -> PKey {
        match self {
            Self::Limited => PKey::new(pkey.partition()),
            Self::Full => pkey.full(),
        }
    }
}

/// Parameters of an IPoIB broadcast group (RFC 4391 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpoibGroup {
    /// MTU; the interfaces' is 4 less.
    pub mtu: Mtu,
    /// Static rate.
    pub rate: Rate,
    /// Q_Key.
    pub qkey: QKey,
    /// Service level.
    pub sl: Sl,
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Scope of the MGID: 2 is link-local.
    pub scope: u8,
}

impl Default for IpoibGroup {
    fn default() -> Self {
        Self {
            mtu: Mtu::B2048,
            rate: Rate::Gbps10,
            qkey: QKey::new(0x0b1b),
            sl: Sl::default(),
            traffic_class: 0,
            flow_label: 0,
            scope: 2,
        }
    }
}

impl IpoibGroup {
    /// The MGID of the broadcast group: `ff1S:401b:PPPP::ffff:ffff` with the full P_Key.
    #[must_use]
    pub fn mgid(&self, pkey: PKey) -> Gid {
        let [high, low] = pkey.full().bits().to_be_bytes();
        let mut octets = [0; 16];
        octets[..6].copy_from_slice(&[0xFF, 0x10 | self.scope & 15, 0x40, 0x1B, high, low]);
        octets[12..].fill(0xFF);
        Gid::new(octets)
    }

    /// Hop limit of the group: link-local packets pass no router.
    #[must_use]
    pub const fn hop_limit(&self) -> u8 {
        if self.scope <= 2 { 0 } else { 0xFF }
    }
}

pub(super) fn check_partitions(partitions: &[Partition]) -> Result<(), ConfigError> {
    let mut seen = std::collections::BTreeSet::new();
    for partition in partitions {
        if !partition.pkey.is_valid() {
            return Err(ConfigError::BadPKey(partition.pkey));
        }
        if !seen.insert(partition.pkey.partition()) {
            return Err(ConfigError::PartitionTwice(partition.pkey));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcast_gid_of_a_partition() {
        let group = IpoibGroup::default();
        assert_eq!(
            group.mgid(PKey::DEFAULT_LIMITED).to_string(),
            "ff12:401b:ffff::ffff:ffff"
        );
        assert_eq!(
            group.mgid(PKey::new(1)).to_string(),
            "ff12:401b:8001::ffff:ffff"
        );
        assert_eq!(group.hop_limit(), 0);
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let good = SmConfig::new(Guid::new(1));
        assert_eq!(good.check(), Ok(()));
        let bad = SmConfig {
            lmc: 8,
            ..good.clone()
        };
        assert_eq!(
            bad.check().unwrap_err().to_string(),
            "lmc is 8; it must be at most 7"
        );
        let mut bad = good.clone();
        bad.partitions.push(Partition {
            pkey: PKey::new(0x8000),
            ..Partition::default()
        });
        assert_eq!(bad.check(), Err(ConfigError::BadPKey(PKey::new(0x8000))));
        let mut bad = good;
        bad.partitions.push(Partition {
            pkey: PKey::DEFAULT_LIMITED,
            ..Partition::default()
        });
        assert_eq!(
            bad.check(),
            Err(ConfigError::PartitionTwice(PKey::DEFAULT_LIMITED))
        );
    }
}
