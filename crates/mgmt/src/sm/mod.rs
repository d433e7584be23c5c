//! The subnet manager: discovers the subnet, gives every port its LID, computes and writes
//! forwarding tables, multicast trees and partitions, brings links to Active, and follows changes.
//!
//! It knows nothing beforehand and speaks only in MADs, so that any other manager could take its
//! place. The subnet administrator ([`crate::sa`]) works on its database.

mod config;
mod event;
pub mod view;

use softib_wire::addr::{Gid, Lid};
use softib_wire::time::Instant;

pub use config::{ConfigError, IpoibGroup, Members, Membership, Partition, SmConfig};
pub use event::{SmEvent, SweepKind};
pub use softib_wire::mad::sm_info::SmState;

use crate::mad::{Endpoint, Mad};
use view::{RouteView, Snapshot};

/// A MAD for the manager: an SMP that answers it, a trap, a question about SMInfo, or any MAD of
/// the class of subnet administration.
#[derive(Debug, Clone, Copy)]
pub struct SmIncoming<'a> {
    /// Where it came from. Of a directed-route SMP only the queue pair counts.
    pub from: Endpoint,
    /// The MAD.
    pub mad: &'a Mad,
}

/// A MAD from the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SmOutgoing {
    /// How it goes.
    pub route: Route,
    /// The MAD.
    pub mad: Mad,
}

/// How a MAD goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A directed-route SMP: it holds its own route and goes to the SMI of the manager's port, which
    /// treats it as one that comes from the node itself (IBA 14.2.2). A hop count of 0 means the
    /// node's own agent; an answer goes back the way that the question came.
    Directed,
    /// By LID, from QP0 or QP1 as the queue pair of the destination says, with that queue pair's
    /// well-known Q_Key.
    Lid(Endpoint),
}

/// The subnet manager.
///
/// Call [`Self::handle_timeout`] once to start it. From then on hand in MADs and port changes
/// (`handle_*`), and after every call fetch what there is to send ([`Self::poll_transmit`]) and to
/// tell ([`Self::poll_event`]) until both are empty; then wait until [`Self::poll_timeout`].
#[derive(Debug)]
pub struct SubnetManager {
    config: SmConfig,
}

impl SubnetManager {
    /// A manager that has not begun.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(config: SmConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config })
    }

    /// Takes a MAD in.
    pub fn handle_mad(&mut self, _now: Instant, _incoming: SmIncoming<'_>) {}

    /// The link of the manager's own port came up or went down.
    pub fn handle_port(&mut self, _now: Instant, _up: bool) {}

    /// The next MAD to send.
    pub fn poll_transmit(&mut self, _now: Instant) -> Option<SmOutgoing> {
        None
    }

    /// The next thing to tell.
    pub fn poll_event(&mut self) -> Option<SmEvent> {
        None
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, _now: Instant) {}

    /// Replaces the partitions, and writes what follows from that.
    ///
    /// # Errors
    /// Two partitions have one P_Key, or a P_Key names none. Nothing is changed then.
    pub fn set_partitions(
        &mut self,
        _now: Instant,
        partitions: Vec<Partition>,
    ) -> Result<(), ConfigError> {
        config::check_partitions(&partitions)?;
        self.config.partitions = partitions;
        Ok(())
    }

    /// Discovers everything anew.
    pub fn sweep(&mut self, _now: Instant) {}

    /// State of the manager.
    #[must_use]
    pub const fn state(&self) -> SmState {
        SmState::Discovering
    }

    /// Whether the subnet is as the manager wants it: no sweep under way, nothing left to write.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        false
    }

    /// Everything that there is to show.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            manager: view::ManagerView {
                guid: self.config.port_guid,
                lid: Lid::NONE,
                state: self.state(),
                priority: self.config.priority,
                master_lid: Lid::NONE,
                sweeping: false,
                light_sweeps: 0,
                partial_sweeps: 0,
                heavy_sweeps: 0,
                last_sweep: None,
                bring_up: None,
                smps_sent: 0,
                smps_retried: 0,
                smps_failed: 0,
                traps: 0,
                sa_requests: 0,
                sa_refused: 0,
                nodes: 0,
                switches: 0,
            },
            nodes: Vec::new(),
            links: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// The way of a packet from the port with one LID to another LID, by the forwarding tables.
    /// `None`: one of them is not known, or there is no way.
    #[must_use]
    pub fn route(&self, _from: Lid, _to: Lid) -> Option<RouteView> {
        None
    }

    /// LID and GID of an end port, by its port GUID.
    #[must_use]
    pub fn port_address(&self, _guid: softib_wire::addr::Guid) -> Option<(Lid, Gid)> {
        None
    }
}
