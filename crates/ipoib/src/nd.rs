//! Neighbour discovery for IPv6 (RFC 4861) and the detection of duplicate addresses (RFC 4862).
//!
//! Solicitations and advertisements end here: the host's stack sees a link without hardware
//! addresses. Router messages go on to it, after what they say of hardware addresses was noted.
//!
//! While others are being asked whether they have it, an address of ours is used all the same, as
//! the host's stack does not wait: the rules for optimistic addresses apply (RFC 4429 §3.3).

use core::net::{IpAddr, Ipv6Addr};

use softib_fabric::hca::Received;
use softib_wire::ipoib::ip::{IpHeader, Ipv6Header, protocol, solicited_node};
use softib_wire::ipoib::nd::{
    self, Message, NEIGHBOUR_ADVERTISEMENT, NEIGHBOUR_SOLICITATION, NdError, NeighbourPacket,
    ROUTER_ADVERTISEMENT, ROUTER_SOLICITATION,
};
use softib_wire::ipoib::{AddressFlags, EtherType, HardwareAddress};
use softib_wire::time::{Duration, Instant};

use crate::arp::is_station;
use crate::counters::DropReason;
use crate::interface::{Interface, Timer};
use crate::neighbour::{Reachability, reachable_until};
use crate::resolve::Learnt;
use crate::route::{Address, AddressState};

/// How long an address's owner has for an objection (RFC 4861 RetransTimer).
const DETECTION: Duration = Duration::from_secs(1);
/// The longest wait before asking, so that hosts that start together do not ask together.
const DETECTION_DELAY_MAX: Duration = Duration::from_secs(1);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const REDIRECT: u8 = 137;
/// Octets of a router solicitation and advertisement before their options.
const ROUTER_SOLICITATION_LEN: usize = 8;
const ROUTER_ADVERTISEMENT_LEN: usize = 16;
const SOURCE_OPTION: u8 = 1;

impl Interface {
    /// Sets the addresses that the host has on this interface, each with its prefix length.
    pub fn set_addresses(&mut self, now: Instant, addresses: &[(IpAddr, u8)]) {
        self.now = now;
        let old = std::mem::take(&mut self.addressing.addresses);
        for &(ip, prefix_len) in addresses {
            let state = match (ip, old.get(&ip)) {
                (_, Some(known)) => known.state,
                (IpAddr::V4(_), None) => AddressState::Valid,
                (IpAddr::V6(_), None) => AddressState::Tentative,
            };
            self.addressing
                .addresses
                .insert(ip, Address { prefix_len, state });
        }
        for ip in old.keys() {
            if !self.addressing.is_own(*ip) {
                self.timers.cancel(Timer::Detection(*ip));
            }
        }
        // What is an address of ours is no neighbour's.
        for (ip, _) in addresses {
            self.forget_neighbour(*ip);
        }
        self.neighbours.forget_recent();
        self.sync_groups(now);
        if self.carrier {
            self.start_detection(now);
        }
    }

    /// Takes a neighbour discovery message. Answers whether `received`, an IPv6 packet, was one
    /// that ends here.
    #[inline]
    pub(crate) fn handle_discovery(
        &mut self,
        now: Instant,
        received: &Received,
    ) -> Result<bool, DropReason> {
        let packet = received.payload.bytes();
        match (packet.get(6), packet.get(Ipv6Header::LEN)) {
            (Some(&protocol::ICMPV6), Some(&kind)) => match kind {
                NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT => {
                    self.handle_neighbour(now, received).map(|()| true)
                }
                ROUTER_SOLICITATION | ROUTER_ADVERTISEMENT => {
                    self.handle_router(now, received, kind).map(|()| false)
                }
                REDIRECT => Err(DropReason::NdRedirect),
                _ => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// Asks who has `target`: `to` or, without it, everybody who may have it.
    pub(crate) fn send_solicitation(
        &mut self,
        now: Instant,
        target: Ipv6Addr,
        source: Option<IpAddr>,
        to: Option<HardwareAddress>,
    ) {
        let Some(IpAddr::V6(source)) = source else {
            // Without an address of ours nobody could answer us.
            return;
        };
        // RFC 4429 §3.3: an address that may be somebody else's must not be taken for ours yet.
        let own = self.hardware_address();
        let sure = self.is_valid(source.into());
        let solicitation = NeighbourPacket {
            source,
            destination: if to.is_some() {
                target
            } else {
                solicited_node(target)
            },
            message: Message::Solicitation {
                target,
                source: sure.then_some(own),
            },
        };
        self.send_discovery(now, &solicitation, to);
    }

    /// Starts asking whether others have our addresses, for those that nobody was asked about.
    pub(crate) fn start_detection(&mut self, now: Instant) {
        let longest = u64::try_from(DETECTION_DELAY_MAX.as_nanos()).unwrap_or(u64::MAX);
        for (ip, address) in &mut self.addressing.addresses {
            if address.state == AddressState::Tentative {
                address.state = AddressState::Detecting { asked: false };
                let delay = Duration::from_nanos(self.rng.u64(0..=longest));
                self.timers.set(Timer::Detection(*ip), now + delay);
            }
        }
    }

    /// Forgets what others said about our addresses: we may be on another link next time.
    pub(crate) fn reset_detection(&mut self) {
        self.timers
            .cancel_all(|timer| matches!(timer, Timer::Detection(_)));
        for (ip, address) in &mut self.addressing.addresses {
            if ip.is_ipv6() {
                address.state = AddressState::Tentative;
            }
        }
    }

    /// The next step of asking whether others have an address of ours.
    pub(crate) fn detection_due(&mut self, now: Instant, ip: IpAddr) {
        let (Some(address), IpAddr::V6(target)) = (self.addressing.addresses.get_mut(&ip), ip)
        else {
            return;
        };
        match address.state {
            AddressState::Detecting { asked: false } => {
                address.state = AddressState::Detecting { asked: true };
                self.timers.set(Timer::Detection(ip), now + DETECTION);
                // RFC 4862 §5.4.2.
                let probe = NeighbourPacket {
                    source: Ipv6Addr::UNSPECIFIED,
                    destination: solicited_node(target),
                    message: Message::Solicitation {
                        target,
                        source: None,
                    },
                };
                self.send_discovery(now, &probe, None);
            }
            AddressState::Detecting { asked: true } => address.state = AddressState::Valid,
            AddressState::Tentative | AddressState::Valid | AddressState::Duplicate => {}
        }
    }

    /// Tells everybody which hardware address goes with our IPv6 addresses (RFC 4861 §7.2.6).
    pub(crate) fn announce_ipv6(&mut self, now: Instant) {
        let addresses: Vec<IpAddr> = self.addressing.addresses.keys().copied().collect();
        for ip in addresses {
            if let IpAddr::V6(own) = ip
                && self.is_valid(ip)
            {
                self.advertise(now, own, ALL_NODES, None);
            }
        }
    }

    fn handle_neighbour(&mut self, now: Instant, received: &Received) -> Result<(), DropReason> {
        let bytes = received.payload.bytes();
        let unsummed = received
            .payload
            .offload()
            .is_some_and(|offload| offload.needs_checksum);
        let parsed = if unsummed {
            NeighbourPacket::parse_unsummed(bytes)
        } else {
            NeighbourPacket::parse(bytes)
        };
        let packet = parsed.map_err(|error| reason_of(&error))?;
        let hardware = match packet.message {
            Message::Solicitation { source, .. } => source,
            Message::Advertisement { address, .. } => address,
        };
        if hardware.is_some_and(|hardware| !is_station(&hardware)) {
            return Err(DropReason::BadHardwareAddress);
        }
        match packet.message {
            Message::Solicitation { target, source } => {
                self.handle_solicitation(now, received, &packet, target, source)
            }
            Message::Advertisement {
                target,
                address,
                router,
                solicited,
                overrides,
            } => {
                let flags = Flags {
                    router,
                    solicited,
                    overrides,
                };
                self.handle_advertisement(now, target, address, flags)?;
                if let Some(hardware) = address {
                    self.note_source_lid(now, hardware.gid, received.slid);
                }
                Ok(())
            }
        }
    }

    fn handle_solicitation(
        &mut self,
        now: Instant,
        received: &Received,
        packet: &NeighbourPacket,
        target: Ipv6Addr,
        hardware: Option<HardwareAddress>,
    ) -> Result<(), DropReason> {
        let asker = packet.source;
        let Some(address) = self.addressing.addresses.get_mut(&target.into()) else {
            return Err(DropReason::NdNotOurs);
        };
        if asker.is_unspecified() {
            match address.state {
                // RFC 4862 §5.4.3: two ask for the same address at once, neither may have it.
                AddressState::Tentative | AddressState::Detecting { .. } => {
                    address.state = AddressState::Duplicate;
                    self.timers.cancel(Timer::Detection(target.into()));
                    self.report_duplicate(target.into(), None);
                }
                AddressState::Valid => self.advertise(now, target, ALL_NODES, None),
                AddressState::Duplicate => {}
            }
            return Ok(());
        }
        if asker.is_multicast() || self.addressing.is_own(asker.into()) {
            return Err(DropReason::NdBadAddress);
        }
        if address_is_lost(&self.addressing.addresses, target) {
            return Err(DropReason::NdNotOurs);
        }
        if let Some(hardware) = hardware {
            let learnt = Learnt {
                hardware,
                confirmed: false,
                create: true,
            };
            self.learn(now, asker.into(), learnt);
            self.note_source_lid(now, hardware.gid, received.slid);
            self.advertise(now, target, asker, Some(hardware));
            return Ok(());
        }
        // An asker whose own address is still optimistic does not say its hardware address (RFC
        // 4429 §3.3). The packet's headers do: without them two hosts that start together would
        // ask each other for a second before either answers.
        let hardware = sender_of(received);
        let known = self
            .neighbours
            .find(asker.into())
            .and_then(|slot| self.neighbours.get(slot))
            .is_some_and(|neighbour| neighbour.hardware.is_some());
        if let Some(hardware) = hardware.filter(|_| !known) {
            let learnt = Learnt {
                hardware,
                confirmed: false,
                create: true,
            };
            self.learn(now, asker.into(), learnt);
        }
        self.advertise(now, target, asker, hardware);
        Ok(())
    }

    /// RFC 4861 §7.2.5.
    fn handle_advertisement(
        &mut self,
        now: Instant,
        target: Ipv6Addr,
        hardware: Option<HardwareAddress>,
        flags: Flags,
    ) -> Result<(), DropReason> {
        if let Some(address) = self.addressing.addresses.get_mut(&target.into()) {
            if !matches!(address.state, AddressState::Valid) {
                address.state = AddressState::Duplicate;
                self.timers.cancel(Timer::Detection(target.into()));
            }
            self.report_duplicate(target.into(), hardware);
            return Ok(());
        }
        let Some(slot) = self.neighbours.find(target.into()) else {
            return Err(DropReason::NdUnsolicited);
        };
        let until = reachable_until(now, &mut self.rng);
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return Ok(());
        };
        neighbour.is_router = flags.router;
        let differs = hardware.is_some() && hardware != neighbour.hardware;
        match (neighbour.hardware, hardware) {
            // Nothing known and nothing said, or not even asked for.
            (None, None) => Ok(()),
            (None, Some(_)) if neighbour.state == Reachability::Failed => Ok(()),
            (Some(_), Some(_)) if differs && !flags.overrides => {
                if matches!(neighbour.state, Reachability::Reachable { .. }) {
                    neighbour.state = Reachability::Stale;
                }
                Ok(())
            }
            (known, said) => {
                let Some(hardware) = said.or(known) else {
                    return Ok(());
                };
                if flags.solicited && said.is_none() {
                    neighbour.state = Reachability::Reachable { until };
                    neighbour.updated = now;
                    self.timers.cancel(Timer::Neighbour(slot));
                    return Ok(());
                }
                let learnt = Learnt {
                    hardware,
                    confirmed: flags.solicited,
                    create: false,
                };
                self.learn(now, target.into(), learnt);
                Ok(())
            }
        }
    }

    /// Notes who a router, or a host that looks for one, is. The message goes on to the host.
    fn handle_router(
        &mut self,
        now: Instant,
        received: &Received,
        kind: u8,
    ) -> Result<(), DropReason> {
        let packet = received.payload.bytes();
        let Ok(IpHeader::V6(header)) = IpHeader::parse(packet) else {
            return Err(DropReason::NdMalformed);
        };
        if header.hop_limit != 255 {
            return Err(DropReason::NdHopLimit);
        }
        let end = Ipv6Header::LEN + usize::from(header.payload_length);
        let fixed = match kind {
            ROUTER_ADVERTISEMENT => ROUTER_ADVERTISEMENT_LEN,
            _ => ROUTER_SOLICITATION_LEN,
        };
        let Some(options) = packet.get(Ipv6Header::LEN + fixed..end) else {
            return Err(DropReason::NdMalformed);
        };
        let hardware = nd::find_address(options, SOURCE_OPTION).map_err(|e| reason_of(&e))?;
        if let Some(hardware) = hardware
            && !header.source.is_unspecified()
            && !header.source.is_multicast()
            && !self.addressing.is_own(header.source.into())
        {
            if !is_station(&hardware) {
                return Err(DropReason::BadHardwareAddress);
            }
            let learnt = Learnt {
                hardware,
                confirmed: false,
                create: true,
            };
            let slot = self.learn(now, header.source.into(), learnt);
            if let Some(neighbour) = slot.and_then(|slot| self.neighbours.get_mut(slot)) {
                neighbour.is_router = kind == ROUTER_ADVERTISEMENT;
            }
            self.note_source_lid(now, hardware.gid, received.slid);
        }
        Ok(())
    }

    /// Says that `own` is ours: to who asked, or to everybody.
    fn advertise(
        &mut self,
        now: Instant,
        own: Ipv6Addr,
        destination: Ipv6Addr,
        hardware: Option<HardwareAddress>,
    ) {
        let advertisement = NeighbourPacket {
            source: own,
            destination,
            message: Message::Advertisement {
                target: own,
                address: Some(self.hardware_address()),
                router: false,
                solicited: !destination.is_multicast(),
                // RFC 4429 §3.3: who else may have the address keeps its place in the caches.
                overrides: self.is_valid(own.into()),
            },
        };
        self.send_discovery(now, &advertisement, hardware);
    }

    /// Sends a message to a hardware address, to a group or, when neither is known, to whoever has
    /// the destination.
    fn send_discovery(
        &mut self,
        now: Instant,
        packet: &NeighbourPacket,
        to: Option<HardwareAddress>,
    ) {
        let mut bytes = [0; NeighbourPacket::LEN_MAX];
        let len = packet.emit(&mut bytes);
        let frame = self.pool.frame_from(&bytes[..len]);
        if let Some(to) = to {
            self.send_unicast(now, to, EtherType::Ipv6, frame);
        } else if packet.destination.is_multicast() {
            let mgid = self.mgid_of(packet.destination.into());
            self.send_to_mgid(now, mgid, EtherType::Ipv6, frame);
        } else {
            self.send_to_target(now, packet.destination.into(), frame);
        }
    }

    fn is_valid(&self, ip: IpAddr) -> bool {
        let address = self.addressing.addresses.get(&ip);
        address.is_some_and(|address| address.state == AddressState::Valid)
    }
}

#[derive(Debug, Clone, Copy)]
struct Flags {
    router: bool,
    solicited: bool,
    overrides: bool,
}

fn address_is_lost(
    addresses: &std::collections::BTreeMap<IpAddr, Address>,
    target: Ipv6Addr,
) -> bool {
    addresses
        .get(&target.into())
        .is_none_or(|address| address.state == AddressState::Duplicate)
}

/// The hardware address of a packet's sender, as its headers tell it: all but the flags.
fn sender_of(received: &Received) -> Option<HardwareAddress> {
    let gid = received.grh?.sgid;
    let sender = HardwareAddress {
        flags: AddressFlags::empty(),
        qpn: received.src_qpn,
        gid,
    };
    is_station(&sender).then_some(sender)
}

const fn reason_of(error: &NdError) -> DropReason {
    match error {
        NdError::NotIp(_) | NdError::Other | NdError::Short { .. } | NdError::Code { .. } => {
            DropReason::NdMalformed
        }
        NdError::HopLimit { .. } => DropReason::NdHopLimit,
        NdError::Checksum => DropReason::NdChecksum,
        NdError::OptionLength { .. } | NdError::AddressLength { .. } => DropReason::NdBadOption,
        NdError::MulticastTarget { .. }
        | NdError::UnspecifiedSource
        | NdError::SolicitedMulticast => DropReason::NdBadAddress,
    }
}
