//! An interface in the event loop: it follows what people do to it, and counts what is lost at it.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use softib_fabric::frame::Frame;
use softib_ipoib::Route;
use softib_subnet::spec::IfaceRef;
use softib_subnet::view::DropRow;
use softib_wire::time::Instant;

use super::machine::Machine;
use crate::interface::{IPV6_LEAST_MTU, Interface};
use crate::netlink::Changes;
use crate::tun::Refusal;

/// Least time between two looks at the same interface: a script that adds a thousand routes should
/// not have each of them read a thousand times.
const PAUSE: Duration = Duration::from_millis(5);
/// Time until the next try when the kernel did not answer.
const RETRY: Duration = Duration::from_secs(1);
/// How often multicast groups are looked for on a kernel that does not tell.
const LOOK: Duration = Duration::from_secs(1);

/// An interface in the event loop.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Which it is in the subnet.
    pub(super) id: IfaceRef,
    /// Where it is, for people: `h1/ib0`.
    place: String,
    pub(super) interface: Interface,
    /// Whether its device may have packets to be read.
    pub(super) ready: bool,
    /// It was deleted by a person.
    pub(super) gone: bool,
    /// `None`: the machine has not been told yet.
    up: Option<bool>,
    mtu: u32,
    addresses: Vec<(IpAddr, u8)>,
    changes: Changes,
    not_before: Instant,
    next_look: Option<Instant>,
    lost: Losses,
}

softib_wire::reasons! {
    /// Why a packet is lost between the subnet and a host's stack.
    enum Loss, Losses {
        /// The host's interface is set down.
        Down = "host-down";
        /// The host's kernel had no memory for the packet.
        NoMemory = "host-no-memory";
        /// The host's kernel found the packet malformed.
        Malformed = "host-malformed";
        /// The host's interface was deleted.
        Gone = "host-gone";
        /// The host's packet contradicts what its kernel says of it.
        Header = "host-header";
    }
}

impl Attached {
    /// An interface that has just been made, with MTU `mtu`.
    pub(crate) fn new(id: IfaceRef, place: String, interface: Interface, mtu: u32) -> Self {
        let next_look = (!interface.monitor.tells_memberships()).then_some(Instant::ZERO);
        Self {
            id,
            place,
            interface,
            ready: true,
            gone: false,
            up: None,
            mtu,
            addresses: Vec::new(),
            changes: Changes::ALL,
            not_before: Instant::ZERO,
            next_look,
            lost: Losses::new(),
        }
    }

    /// When [`Attached::follow`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let changes = (self.changes != Changes::default()).then_some(self.not_before);
        if self.gone {
            None
        } else {
            [changes, self.next_look].into_iter().flatten().min()
        }
    }

    /// The netlink socket has something to say.
    pub(super) fn listen(&mut self) {
        match self.interface.monitor.drain() {
            Ok(changes) => self.changes |= changes,
            Err(error) => {
                tracing::warn!("{}: netlink: {error}", self.place);
                self.changes = Changes::ALL;
            }
        }
    }

    /// A packet of the host's stack: IGMP and MLD reports say that memberships have changed.
    pub(super) fn overhear(&mut self, now: Instant, packet: &[u8]) {
        if self.next_look.is_some() && reports_memberships(packet) {
            self.next_look = Some(now);
        }
    }

    /// Reads what has changed and tells the machine.
    pub(super) fn follow<M: Machine>(&mut self, now: Instant, machine: &mut M) {
        if self.gone {
            return;
        }
        if self.next_look.is_some_and(|look| look <= now) {
            self.next_look = Some(now + LOOK);
            self.changes.memberships = true;
        }
        if self.changes == Changes::default() || now < self.not_before {
            return;
        }
        self.not_before = now + PAUSE;
        match self.read(now, machine) {
            Ok(()) => self.changes = Changes::default(),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => self.lose(now, machine),
            Err(error) => {
                tracing::warn!("{}: cannot read the interface's state: {error}", self.place);
                self.not_before = now + RETRY;
            }
        }
    }

    fn read<M: Machine>(&mut self, now: Instant, machine: &mut M) -> io::Result<()> {
        if self.changes.link {
            self.read_link(now, machine)?;
        }
        if self.changes.addresses {
            let addresses = self.interface.monitor.addresses()?;
            if addresses != self.addresses {
                machine.set_addresses(now, self.id, &addresses);
                self.addresses = addresses;
            }
        }
        if self.changes.routes {
            let routes: Vec<_> = self
                .interface
                .monitor
                .routes()?
                .into_iter()
                .map(|route| Route {
                    destination: route.destination,
                    prefix_len: route.prefix,
                    gateway: route.gateway,
                })
                .collect();
            machine.set_routes(now, self.id, &routes);
        }
        if self.changes.memberships {
            let groups = self.interface.monitor.memberships()?;
            machine.set_memberships(now, self.id, &groups);
        }
        Ok(())
    }

    fn read_link<M: Machine>(&mut self, now: Instant, machine: &mut M) -> io::Result<()> {
        let link = self.interface.monitor.link()?;
        let (was_up, old_mtu) = (self.up, self.mtu);
        if self.up != Some(link.up) {
            if self.up.is_some() {
                tracing::info!(
                    "{}: set {} by a person",
                    self.place,
                    if link.up { "up" } else { "down" }
                );
            }
            self.up = Some(link.up);
            machine.set_admin_up(now, self.id, link.up);
        }
        if link.mtu != self.mtu {
            let (in_force, refusal) = machine.set_mtu(now, self.id, link.mtu);
            self.mtu = link.mtu;
            match refusal {
                Some(why) => tracing::warn!("{}: {why}; it stays {in_force}", self.place),
                None => tracing::info!(
                    "{}: MTU {} asked for by a person, {in_force} in force",
                    self.place,
                    link.mtu
                ),
            }
            self.apply_mtu(in_force);
        }
        let runs_ipv6 = |up, mtu| up == Some(true) && mtu >= IPV6_LEAST_MTU;
        if runs_ipv6(self.up, self.mtu) && !runs_ipv6(was_up, old_mtu) {
            self.interface.restore_link_local().or_else(without_ipv6)?;
            self.changes.addresses = true;
        }
        Ok(())
    }

    /// The subnet's MTU changed, or differs from what a person asked for.
    pub(super) fn apply_mtu(&mut self, mtu: u32) {
        if self.gone || self.mtu == mtu {
            return;
        }
        let raised = self.mtu < IPV6_LEAST_MTU;
        match self.interface.monitor.set_mtu(mtu) {
            Ok(()) => self.mtu = mtu,
            Err(error) => tracing::warn!("{}: the kernel refuses MTU {mtu}: {error}", self.place),
        }
        if raised && let Err(error) = self.interface.restore_link_local().or_else(without_ipv6) {
            tracing::warn!("{}: no link-local address: {error}", self.place);
        }
    }

    /// The subnet gave or took carrier.
    pub(super) fn apply_carrier(&self, up: bool) {
        if !self.gone
            && let Err(error) = self.interface.tun.set_carrier(up)
        {
            tracing::warn!("{}: the kernel refuses carrier {up}: {error}", self.place);
        }
    }

    /// Somebody else has this address: the host must not use it.
    pub(super) fn remove_duplicate(&mut self, address: IpAddr) {
        let Some((_, prefix)) = self
            .addresses
            .iter()
            .find(|(own, _)| *own == address)
            .copied()
        else {
            return;
        };
        tracing::warn!(
            "{}: {address} is in use by another host and is removed here",
            self.place
        );
        if let Err(error) = self.interface.monitor.remove_address(address, prefix) {
            tracing::warn!("{}: cannot remove {address}: {error}", self.place);
        }
    }

    /// Gives a packet to the host's stack, or counts why not.
    pub(super) fn deliver(&mut self, packet: &Frame) {
        let Err(refusal) = self.interface.tun.write(packet) else {
            return;
        };
        self.lost.add(match refusal {
            Refusal::Down => Loss::Down,
            Refusal::NoMemory => Loss::NoMemory,
            Refusal::Malformed => Loss::Malformed,
            Refusal::Gone => Loss::Gone,
        });
    }

    /// The stack's packet contradicted its header.
    pub(super) const fn count_bad_header(&mut self) {
        self.lost.add(Loss::Header);
    }

    /// A person deleted the interface.
    pub(super) fn lose<M: Machine>(&mut self, now: Instant, machine: &mut M) {
        if !self.gone {
            tracing::warn!(
                "{}: deleted by a person; it comes back with the lab's next start",
                self.place
            );
            self.gone = true;
            self.ready = false;
            machine.set_admin_up(now, self.id, false);
        }
    }

    /// What was lost here.
    pub(super) fn drops(&self) -> impl Iterator<Item = DropRow> + '_ {
        self.lost.iter().map(|(reason, count)| DropRow {
            place: self.place.clone(),
            reason: reason.name().to_owned(),
            meaning: reason.meaning().to_owned(),
            count,
        })
    }
}

/// A kernel without IPv6 has no link-local addresses, and that is no fault.
fn without_ipv6(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::EOPNOTSUPP | libc::EACCES) => Ok(()),
        _ => Err(error),
    }
}

/// Whether a packet is IGMP, or ICMPv6 behind a hop-by-hop header, as MLD is.
fn reports_memberships(packet: &[u8]) -> bool {
    match packet.first().map(|octet| octet >> 4) {
        Some(4) => packet.get(9) == Some(&2),
        Some(6) => packet.get(6) == Some(&0) && packet.get(40) == Some(&58),
        _ => false,
    }
}
