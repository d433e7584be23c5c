//! The interface: what goes in, what comes out, and what it keeps.

use core::net::{IpAddr, Ipv6Addr};
use std::collections::{BTreeMap, VecDeque};

use softib_fabric::frame::{Frame, Pool};
use softib_fabric::hca::UdSend;
use softib_mgmt::sa_client::{SaError, SaReply, SaRequest};
use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Qpn};
use softib_wire::ipoib::{self, AddressFlags, HardwareAddress};
use softib_wire::time::{Duration, Instant};
use softib_wire::units::Mtu;

use crate::counters::{Counters, DropReason};
use crate::group::{Groups, Membership};
use crate::mtu::{MtuError, MtuState};
use crate::neighbour::{Neighbours, Slot};
use crate::partition::{Partition, PartitionIndex};
use crate::path::Paths;
use crate::route::{Addressing, Route};
use crate::timer::Timers;

/// How often idle neighbours, paths and send-only groups are looked for.
const COLLECT: Duration = Duration::from_secs(30);

/// What an interface is made with.
#[derive(Debug, Clone)]
pub struct InterfaceConfig {
    /// Name, for people.
    pub name: String,
    /// GUID of the port that it is on.
    pub port_guid: Guid,
    /// Subnet prefix of the port's first GID.
    pub gid_prefix: u64,
    /// Its queue pair for datagrams.
    pub qpn: Qpn,
    /// The partition that it belongs to.
    pub partition: Partition,
    /// The port's P_Key table.
    pub pkeys: Vec<PKey>,
    /// The largest MTU that the port can do (PortInfo.MTUCap).
    pub max_mtu: Mtu,
    /// The MTU that the administrator wants. `None`: the broadcast group's.
    pub mtu: Option<u32>,
    /// Flags of the hardware address: the connections that peers may make.
    pub flags: AddressFlags,
    /// Where its random numbers begin.
    pub seed: u64,
}

/// Names a request to the subnet administration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SaToken(u64);

/// What happens to the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortEvent<'a> {
    /// The port carries traffic. Also when the port's identity has changed meanwhile.
    Active {
        /// Base LID.
        lid: Lid,
        /// Low LID bits that do not count.
        lmc: u8,
    },
    /// The port no longer carries traffic.
    Down,
    /// The subnet manager gave the port another LID.
    LidChanged {
        /// Base LID.
        lid: Lid,
        /// Low LID bits that do not count.
        lmc: u8,
    },
    /// The P_Key table has changed.
    PKeysChanged {
        /// As it is now.
        table: &'a [PKey],
    },
    /// The subnet prefix, and so the port's GID, has changed.
    GidChanged {
        /// The new prefix.
        prefix: u64,
    },
    /// The subnet manager has lost track: everything has to be registered again.
    ClientReregister,
}

/// What the interface wants done. Actions are to be carried out in their order.
#[derive(Debug, Clone)]
pub enum Action {
    /// Send on the interface's queue pair.
    Send(UdSend),
    /// Attach the queue pair to a group.
    Attach {
        /// Group.
        mgid: Gid,
        /// Its LID.
        mlid: Lid,
    },
    /// Detach it.
    Detach {
        /// Group.
        mgid: Gid,
        /// Its LID.
        mlid: Lid,
    },
    /// Give the queue pair this Q_Key.
    SetQKey(QKey),
    /// Let the queue pair use this entry of the P_Key table.
    SetPKeyIndex(u16),
    /// Ask the subnet administration; answer by [`Interface::handle_sa_reply`].
    SaRequest(SaToken, Box<SaRequest>),
    /// The answer is no longer wanted.
    SaCancel(SaToken),
    /// Give an IP packet to the host's stack.
    Deliver(Frame),
    /// Switch the host's view of the carrier.
    Carrier(bool),
    /// Set the MTU of the host's interface.
    Mtu(u32),
    /// The hardware address has changed.
    HardwareAddress(HardwareAddress),
    /// Somebody else has an address of ours.
    DuplicateAddress {
        /// The address.
        ip: IpAddr,
        /// Who has it, if it said so.
        owner: Option<HardwareAddress>,
    },
}

/// How far the interface has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Switched off.
    AdminDown,
    /// The port carries no traffic.
    PortDown,
    /// The port has no P_Key of the partition.
    NoPKey,
    /// On its way into the broadcast group.
    Joining {
        /// Joins that failed so far.
        failures: u32,
        /// Why the last one did.
        last_error: Option<SaError>,
    },
    /// Carries traffic.
    Running,
}

/// An IPoIB interface.
///
/// It takes packets of the host's IP stack, packets and completions of its queue pair, answers of
/// the subnet administration, events of the port, and time, by `handle_*`; and settings by `set_*`.
/// After any of these, take [`Self::poll_action`] until it is empty and carry out what it says;
/// then call [`Self::handle_timeout`] no later than at [`Self::poll_timeout`].
#[derive(Debug)]
pub struct Interface {
    pub(crate) name: String,
    pub(crate) qpn: Qpn,
    pub(crate) flags: AddressFlags,
    pub(crate) port: Port,
    pub(crate) partition: PartitionIndex,
    pub(crate) admin_up: bool,
    /// Up, on an active port and in its partition: joining or joined.
    pub(crate) running: bool,
    pub(crate) carrier: bool,
    pub(crate) qkey: QKey,
    pub(crate) mtu: MtuState,
    pub(crate) addressing: Addressing,
    pub(crate) memberships: Vec<IpAddr>,
    pub(crate) neighbours: Neighbours,
    pub(crate) paths: Paths,
    pub(crate) groups: Groups,
    pub(crate) requests: BTreeMap<SaToken, Asked>,
    pub(crate) timers: Timers<Timer>,
    pub(crate) counters: Counters,
    pub(crate) rng: fastrand::Rng,
    pub(crate) now: Instant,
    pub(crate) pool: Pool,
    actions: VecDeque<Action>,
    next_token: u64,
    next_wr_id: u64,
}

/// The port that the interface is on.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) guid: Guid,
    pub(crate) prefix: u64,
    pub(crate) active: bool,
    pub(crate) lid: Lid,
    pub(crate) lmc: u8,
}

/// What a request to the subnet administration was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Path(Gid),
    Join(Gid, Membership),
}

/// What a deadline is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    Neighbour(Slot),
    Group(Gid),
    Detection(IpAddr),
    Collect,
}

impl Interface {
    /// An interface, switched off, on a port that is down.
    ///
    /// # Errors
    /// The MTU is one that the port cannot do.
    pub fn new(config: InterfaceConfig, pool: Pool) -> Result<Self, MtuError> {
        Ok(Self {
            name: config.name,
            qpn: config.qpn,
            flags: config.flags,
            port: Port {
                guid: config.port_guid,
                prefix: config.gid_prefix,
                active: false,
                lid: Lid::NONE,
                lmc: 0,
            },
            partition: PartitionIndex::new(config.partition, &config.pkeys),
            admin_up: false,
            running: false,
            carrier: false,
            qkey: QKey::new(0),
            mtu: MtuState::new(config.max_mtu, config.mtu)?,
            addressing: Addressing::default(),
            memberships: Vec::new(),
            neighbours: Neighbours::new(),
            paths: Paths::default(),
            groups: Groups::default(),
            requests: BTreeMap::new(),
            timers: Timers::new(),
            counters: Counters::new(),
            rng: fastrand::Rng::with_seed(config.seed),
            now: Instant::ZERO,
            pool,
            actions: VecDeque::new(),
            next_token: 0,
            next_wr_id: 0,
        })
    }

    /// What to do next.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Self::handle_timeout`] has something to do.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Does what is due by now.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Neighbour(slot) => self.neighbour_due(now, slot),
                Timer::Group(mgid) => self.group_due(now, mgid),
                Timer::Detection(ip) => self.detection_due(now, ip),
                Timer::Collect => self.collect(now),
            }
        }
    }

    /// The subnet administration answered, or did not.
    pub fn handle_sa_reply(
        &mut self,
        now: Instant,
        token: SaToken,
        result: Result<SaReply, SaError>,
    ) {
        self.now = now;
        // Answers to requests that were given up meanwhile: nobody waits for them.
        match self.requests.remove(&token) {
            Some(Asked::Path(gid)) => self.path_answered(now, gid, token, result),
            Some(Asked::Join(mgid, membership)) => {
                self.join_answered(now, mgid, membership, token, result);
            }
            None => {}
        }
    }

    /// A send was completed. Sends are unsignalled: only those that fail have to be reported.
    pub fn handle_send_done(&mut self, now: Instant, _wr_id: u64, ok: bool) {
        self.now = now;
        if !ok {
            self.counters.drop(DropReason::SendFailed);
        }
    }

    /// Switches the interface on or off.
    pub fn set_admin_up(&mut self, now: Instant, up: bool) {
        self.now = now;
        self.admin_up = up;
        self.evaluate(now);
    }

    /// Sets the MTU that the administrator wants. `None`: the broadcast group's.
    ///
    /// # Errors
    /// The port cannot do it.
    pub fn set_mtu(&mut self, now: Instant, mtu: Option<u32>) -> Result<(), MtuError> {
        self.now = now;
        self.mtu.set_admin(mtu)?;
        self.announce_mtu();
        Ok(())
    }

    /// Sets the routes of the host that lead over this interface.
    pub fn set_routes(&mut self, now: Instant, routes: &[Route]) {
        self.now = now;
        self.addressing.set_routes(routes);
        self.neighbours.forget_recent();
    }

    /// Sets the multicast groups that programs on the host listen to.
    pub fn set_memberships(&mut self, now: Instant, groups: &[IpAddr]) {
        self.now = now;
        self.memberships = groups.to_vec();
        self.sync_groups(now);
    }

    /// Tells everybody which hardware address goes with our addresses: by gratuitous ARP and
    /// unsolicited neighbour advertisement. For who takes over addresses from another interface.
    pub fn announce(&mut self, now: Instant) {
        self.now = now;
        if self.carrier {
            self.announce_ipv4(now);
            self.announce_ipv6(now);
        }
    }

    /// The hardware address as it is now.
    #[must_use]
    pub const fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress {
            flags: self.flags,
            qpn: self.qpn,
            gid: self.own_gid(),
        }
    }

    /// The IPv6 link-local address that the port GUID makes (RFC 4391 §8).
    #[must_use]
    pub const fn link_local(&self) -> Ipv6Addr {
        ipoib::link_local(self.port.guid)
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// MTU in force.
    #[must_use]
    pub fn mtu(&self) -> u32 {
        self.mtu.effective()
    }

    /// The partition, with the membership bit set.
    #[must_use]
    pub const fn pkey(&self) -> PKey {
        self.partition.pkey()
    }

    /// What it has counted.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether it has carrier.
    #[must_use]
    pub const fn has_carrier(&self) -> bool {
        self.carrier
    }

    /// How far it has come, and what is in the way.
    #[must_use]
    pub fn status(&self) -> Status {
        if !self.admin_up {
            Status::AdminDown
        } else if !self.port.active {
            Status::PortDown
        } else if !self.partition.is_present() {
            Status::NoPKey
        } else if self.carrier {
            Status::Running
        } else {
            let group = self.groups.get(self.broadcast_mgid());
            Status::Joining {
                failures: group.map_or(0, |group| group.failures),
                last_error: group.and_then(|group| group.last_error),
            }
        }
    }

    pub(crate) const fn own_gid(&self) -> Gid {
        Gid::from_prefix_guid(self.port.prefix, self.port.guid)
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(crate) const fn next_wr_id(&mut self) -> u64 {
        self.next_wr_id += 1;
        self.next_wr_id
    }

    pub(crate) fn ask(&mut self, asked: Asked, request: SaRequest) -> SaToken {
        let token = self.new_token();
        self.requests.insert(token, asked);
        self.act(Action::SaRequest(token, Box::new(request)));
        token
    }

    /// Asks for something whose answer changes nothing.
    pub(crate) fn tell(&mut self, request: SaRequest) {
        let token = self.new_token();
        self.act(Action::SaRequest(token, Box::new(request)));
    }

    pub(crate) fn cancel(&mut self, token: SaToken) {
        if self.requests.remove(&token).is_some() {
            self.act(Action::SaCancel(token));
        }
    }

    pub(crate) fn announce_mtu(&mut self) {
        // The MTU is applied when the carrier comes on, not to a link that is not there.
        if self.carrier
            && let Some(mtu) = self.mtu.take_news()
        {
            self.act(Action::Mtu(mtu));
        }
    }

    /// Starts looking for idle entries every now and then.
    pub(crate) fn start_collecting(&mut self, now: Instant) {
        self.timers.set(Timer::Collect, now + COLLECT);
    }

    fn collect(&mut self, now: Instant) {
        self.collect_neighbours(now);
        self.collect_paths(now);
        self.collect_groups(now);
        self.start_collecting(now);
    }

    const fn new_token(&mut self) -> SaToken {
        self.next_token += 1;
        SaToken(self.next_token)
    }
}
