//! What an interface shows of itself.

use core::net::IpAddr;

use softib_mgmt::sa_client::SaError;
use softib_wire::addr::Gid;
use softib_wire::ipoib::HardwareAddress;
use softib_wire::ipoib::mgid::Group as GroupName;
use softib_wire::mad::sa::{McMemberRecord, PathRecord};
use softib_wire::time::Duration;

use crate::group::{Join, Membership};
use crate::interface::Interface;
use crate::neighbour::{Reachability, Transport};
use crate::route::AddressState;

/// A neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NeighbourView {
    /// Its address.
    pub ip: IpAddr,
    /// Its hardware address, once known.
    pub hardware: Option<HardwareAddress>,
    /// How sure we are of it.
    pub state: Reachability,
    /// How long ago anything was learnt about it.
    pub age: Duration,
    /// It said that it is a router.
    pub is_router: bool,
    /// Whether packets can go to it at once.
    pub has_path: bool,
    /// Packets that wait for it.
    pub waiting: usize,
}

/// Where a path stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathState {
    /// Usable.
    Valid,
    /// Asked for, nothing known yet.
    Querying,
    /// Usable, to be asked for again.
    Stale,
    /// There was none when it was last asked for.
    Failed,
}

impl PathState {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Querying => "querying",
            Self::Stale => "stale",
            Self::Failed => "failed",
        }
    }
}

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathView {
    /// Destination.
    pub dgid: Gid,
    /// Where it stands.
    pub state: PathState,
    /// What the subnet administration said.
    pub record: Option<PathRecord>,
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// Group.
    pub mgid: Gid,
    /// What it stands for in IP.
    pub name: Option<GroupName>,
    /// How we are, or want to be, in it.
    pub membership: Membership,
    /// What the subnet administration granted.
    pub record: Option<McMemberRecord>,
    /// Whether a join is under way.
    pub joining: bool,
    /// Joins that failed since the last that did not.
    pub failures: u32,
    /// Why the last one failed.
    pub last_error: Option<SaError>,
    /// Packets that wait for it.
    pub waiting: usize,
}

impl Interface {
    /// The neighbours, by address.
    pub fn neighbours(&self) -> impl Iterator<Item = NeighbourView> + '_ {
        self.neighbours.iter().map(|(_, neighbour)| NeighbourView {
            ip: neighbour.ip,
            hardware: neighbour.hardware,
            state: neighbour.state_at(self.now),
            age: self.now.saturating_since(neighbour.updated),
            is_router: neighbour.is_router,
            has_path: matches!(neighbour.transport, Transport::Datagram { .. }),
            waiting: neighbour.pending.len(),
        })
    }

    /// The paths, by GID.
    pub fn paths(&self) -> impl Iterator<Item = PathView> + '_ {
        self.paths.iter().map(|(dgid, path)| PathView {
            dgid,
            state: match (&path.vector, path.query) {
                (Some(_), _) if path.refresh => PathState::Stale,
                (Some(_), _) => PathState::Valid,
                (None, Some(_)) => PathState::Querying,
                (None, None) => PathState::Failed,
            },
            record: path.record,
        })
    }

    /// The groups, by MGID.
    pub fn groups(&self) -> impl Iterator<Item = GroupView> + '_ {
        self.groups.by_mgid.iter().map(|(&mgid, group)| GroupView {
            mgid,
            name: softib_wire::ipoib::mgid::parse(mgid).map(|(_, name)| name),
            membership: group.wanted,
            record: group.grant.map(|grant| grant.record),
            joining: group.join != Join::Idle,
            failures: group.failures,
            last_error: group.last_error,
            waiting: group.waiting.len(),
        })
    }

    /// The host's addresses with their prefix lengths, and how they stand.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, u8, AddressState)> + '_ {
        let addresses = self.addressing.addresses.iter();
        addresses.map(|(ip, address)| (*ip, address.prefix_len, address.state))
    }
}
