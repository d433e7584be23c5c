//! Neighbours: who has which IP address, whether that still holds, and how packets get there.
//!
//! One entry joins what Linux keeps in two tables: the state of address resolution (RFC 4861 §7.3,
//! used for IPv4 as well) and the way to the hardware address. The second may be known for an
//! address whose first is in doubt: packets go on while we ask.
//!
//! This file knows states and times. What is sent when they change is in `resolve.rs`.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use softib_fabric::hca::AddressVector;
use softib_wire::addr::Qpn;
use softib_wire::ipoib::HardwareAddress;
use softib_wire::time::{Duration, Instant};

use crate::pending::Pending;

/// Entries, as Linux's gc_thresh3.
pub(crate) const MAX_NEIGHBOURS: usize = 1024;
/// Solicitations sent to everybody before giving up.
pub(crate) const MULTICAST_SOLICITATIONS: u8 = 3;
/// Solicitations sent to the address known so far before asking everybody.
pub(crate) const UNICAST_SOLICITATIONS: u8 = 3;
/// Between two solicitations.
pub(crate) const RETRANSMIT: Duration = Duration::from_secs(1);
/// From the first use of a stale entry to the first solicitation.
pub(crate) const DELAY: Duration = Duration::from_secs(5);
/// How long a confirmation holds, before it is spread over half to one and a half of it.
const REACHABLE: Duration = Duration::from_secs(30);
/// An entry that was not used for so long is removed.
pub(crate) const IDLE: Duration = Duration::from_secs(60);

/// How sure we are that a neighbour has its hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// Not known yet: asked this many times.
    Incomplete {
        /// Solicitations sent.
        asked: u8,
    },
    /// Confirmed until then.
    Reachable {
        /// When it becomes stale.
        until: Instant,
    },
    /// Known, but not confirmed lately.
    Stale,
    /// Stale and used: a solicitation follows soon.
    Delay,
    /// Asked this many times whether it still holds.
    Probe {
        /// Solicitations sent.
        asked: u8,
    },
    /// Nobody answered.
    Failed,
}

impl Reachability {
    /// Its name, as Linux's `ip neigh` has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Incomplete { .. } => "incomplete",
            Self::Reachable { .. } => "reachable",
            Self::Stale => "stale",
            Self::Delay => "delay",
            Self::Probe { .. } => "probe",
            Self::Failed => "failed",
        }
    }
}

/// How packets get to a neighbour's hardware address.
#[derive(Debug, Clone)]
pub(crate) enum Transport {
    /// The path has to be asked for.
    Unresolved,
    /// As unreliable datagrams.
    Datagram {
        vector: AddressVector,
        qpn: Qpn,
        /// The path may be out of date: ask again at the next packet, but send it.
        refresh: bool,
    },
}

/// An entry.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) ip: IpAddr,
    pub(crate) hardware: Option<HardwareAddress>,
    pub(crate) state: Reachability,
    pub(crate) transport: Transport,
    pub(crate) pending: Pending,
    /// When a packet of the host's last went to it. `None`: it only ever spoke to us.
    pub(crate) used: Option<Instant>,
    /// When anything was last learnt about it.
    pub(crate) updated: Instant,
    pub(crate) is_router: bool,
    /// The address of ours that the first waiting packet came from.
    pub(crate) asked_from: Option<IpAddr>,
}

/// What to do when an entry's deadline has been reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Ask everybody. `fell_back`: the known address did not answer before.
    AskAll { fell_back: bool },
    /// Ask the address known so far.
    AskOne,
    /// Nobody answered.
    GiveUp,
    /// Nothing.
    Nothing,
}

/// A place in the table. Valid until the entry is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(u32);

/// The table.
#[derive(Debug)]
pub(crate) struct Neighbours {
    slots: Vec<Option<Neighbour>>,
    free: Vec<Slot>,
    by_ip: BTreeMap<IpAddr, Slot>,
    recent: Recent,
}

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_ip: BTreeMap::new(),
            recent: Recent::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_ip.len()
    }

    pub(crate) fn find(&self, ip: IpAddr) -> Option<Slot> {
        self.by_ip.get(&ip).copied()
    }

    pub(crate) fn get(&self, slot: Slot) -> Option<&Neighbour> {
        self.slots.get(slot.0 as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: Slot) -> Option<&mut Neighbour> {
        self.slots.get_mut(slot.0 as usize)?.as_mut()
    }

    /// All entries, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &Neighbour)> {
        self.by_ip
            .values()
            .filter_map(|&slot| Some((slot, self.get(slot)?)))
    }

    /// The slots of all entries, by address.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.by_ip.values().copied().collect()
    }

    /// Adds an entry. The caller has looked that there is none and made room.
    pub(crate) fn insert(&mut self, now: Instant, ip: IpAddr) -> Slot {
        let neighbour = Neighbour {
            ip,
            hardware: None,
            state: Reachability::Failed,
            transport: Transport::Unresolved,
            pending: Pending::default(),
            used: None,
            updated: now,
            is_router: false,
            asked_from: None,
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            // The table has at most MAX_NEIGHBOURS entries.
            Slot(u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX))
        });
        self.slots[slot.0 as usize] = Some(neighbour);
        self.by_ip.insert(ip, slot);
        slot
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, slot: Slot) -> Option<Neighbour> {
        let neighbour = self.slots.get_mut(slot.0 as usize)?.take()?;
        self.by_ip.remove(&neighbour.ip);
        self.free.push(slot);
        self.recent.clear();
        Some(neighbour)
    }

    /// The entry to give up for a new one when the table is full: one that the host never sent to,
    /// else a failed one, else the stale one that was not used for the longest time. Whoever floods
    /// us with addresses thus pushes out only its own, as long as the host does not answer them.
    pub(crate) fn eviction_candidate(&self) -> Option<Slot> {
        let rank = |neighbour: &Neighbour| match (neighbour.state, neighbour.used) {
            (_, None) if neighbour.pending.is_empty() => Some((0, neighbour.updated)),
            (Reachability::Failed, Some(used)) => Some((1, used)),
            (Reachability::Stale | Reachability::Reachable { .. }, Some(used)) => Some((2, used)),
            _ => None,
        };
        self.iter()
            .filter_map(|(slot, neighbour)| Some((rank(neighbour)?, slot)))
            .min()
            .map(|(_, slot)| slot)
    }

    /// The neighbour that packets to `destination` went to lately.
    #[inline]
    pub(crate) fn recent(&self, destination: IpAddr) -> Option<Slot> {
        self.recent.get(destination)
    }

    pub(crate) fn remember(&mut self, destination: IpAddr, slot: Slot) {
        self.recent.set(destination, slot);
    }

    /// Forgets which neighbours packets went to: routes or addresses have changed.
    pub(crate) fn forget_recent(&mut self) {
        self.recent.clear();
    }
}

impl Neighbour {
    /// Takes note of a use by the host. Answers whether the entry became doubtful by it, so that a
    /// deadline [`DELAY`] from now has to be set.
    #[inline]
    pub(crate) fn used(&mut self, now: Instant) -> bool {
        self.used = Some(now);
        match self.state {
            Reachability::Reachable { until } if now < until => false,
            Reachability::Reachable { .. } | Reachability::Stale => {
                self.state = Reachability::Delay;
                true
            }
            _ => false,
        }
    }

    /// The state as of now: a confirmation that has run out is stale, though nobody noticed.
    pub(crate) fn state_at(&self, now: Instant) -> Reachability {
        match self.state {
            Reachability::Reachable { until } if until <= now => Reachability::Stale,
            state => state,
        }
    }

    /// Its deadline has been reached.
    pub(crate) fn due(&mut self) -> Due {
        match self.state {
            Reachability::Incomplete { asked } if asked < MULTICAST_SOLICITATIONS => {
                self.state = Reachability::Incomplete { asked: asked + 1 };
                Due::AskAll { fell_back: false }
            }
            Reachability::Delay => {
                self.state = Reachability::Probe { asked: 1 };
                Due::AskOne
            }
            Reachability::Probe { asked } if asked < UNICAST_SOLICITATIONS => {
                self.state = Reachability::Probe { asked: asked + 1 };
                Due::AskOne
            }
            Reachability::Probe { asked }
                if asked < UNICAST_SOLICITATIONS + MULTICAST_SOLICITATIONS =>
            {
                self.state = Reachability::Probe { asked: asked + 1 };
                Due::AskAll {
                    fell_back: asked == UNICAST_SOLICITATIONS,
                }
            }
            Reachability::Incomplete { .. } | Reachability::Probe { .. } => {
                self.state = Reachability::Failed;
                Due::GiveUp
            }
            Reachability::Reachable { .. } | Reachability::Stale | Reachability::Failed => {
                Due::Nothing
            }
        }
    }
}

/// A confirmation's end: spread, so that neighbours that met at once do not ask at once.
pub(crate) fn reachable_until(now: Instant, rng: &mut fastrand::Rng) -> Instant {
    let base = u64::try_from(REACHABLE.as_nanos()).unwrap_or(u64::MAX);
    now + Duration::from_nanos(base / 2 + rng.u64(0..base))
}

/// Destinations sent to lately, each in the one place that its address selects: one comparison
/// finds the neighbour, and nothing is allocated.
#[derive(Debug)]
struct Recent {
    places: Box<[Option<(IpAddr, Slot)>; Self::PLACES]>,
    used: BTreeSet<usize>,
}

impl Recent {
    const PLACES: usize = 256;

    fn new() -> Self {
        Self {
            places: Box::new([None; Self::PLACES]),
            used: BTreeSet::new(),
        }
    }

    #[inline]
    fn place(ip: IpAddr) -> usize {
        let bits = match ip {
            IpAddr::V4(ip) => u64::from(u32::from(ip)),
            IpAddr::V6(ip) => {
                let octets = ip.octets();
                let half = |at: usize| {
                    octets[at..at + 8]
                        .iter()
                        .fold(0, |bits, &octet| bits << 8 | u64::from(octet))
                };
                half(0) ^ half(8)
            }
        };
        // Fibonacci hashing: the product's upper bits depend on all bits of the address.
        usize::try_from(bits.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56).unwrap_or(0)
    }

    #[inline]
    fn get(&self, ip: IpAddr) -> Option<Slot> {
        match self.places[Self::place(ip)] {
            Some((destination, slot)) if destination == ip => Some(slot),
            _ => None,
        }
    }

    fn set(&mut self, ip: IpAddr, slot: Slot) {
        let place = Self::place(ip);
        self.places[place] = Some((ip, slot));
        self.used.insert(place);
    }

    fn clear(&mut self) {
        for place in std::mem::take(&mut self.used) {
            self.places[place] = None;
        }
    }
}
