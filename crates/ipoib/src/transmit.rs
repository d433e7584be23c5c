//! From the host's IP stack to the queue pair.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use softib_fabric::frame::Frame;
use softib_fabric::hca::{AddressVector, UdSend};
use softib_wire::addr::Qpn;
use softib_wire::ipoib::{Encapsulation, EtherType};
use softib_wire::time::Instant;

use crate::counters::DropReason;
use crate::icmp;
use crate::interface::{Action, Interface, Timer};
use crate::neighbour::{DELAY, Reachability, Slot, Transport};
use crate::route::Target;

impl Interface {
    /// Sends an IP packet of the host's stack.
    #[inline]
    pub fn handle_ip(&mut self, now: Instant, frame: Frame) {
        self.now = now;
        if !self.carrier {
            return self.counters.drop(DropReason::NoCarrier);
        }
        let destination = match destination_of(frame.bytes()) {
            Ok(destination) => destination,
            Err(reason) => return self.counters.drop(reason),
        };
        if let Err(reason) = self.mtu.check(&frame) {
            return self.refuse(reason, &frame);
        }
        match self.neighbours.recent(destination) {
            Some(slot) => self.send_to_neighbour(now, slot, frame),
            None => self.send_to_target(now, destination, frame),
        }
    }

    /// Sends to a neighbour, or lets the packet wait until it is known how.
    #[inline]
    pub(crate) fn send_to_neighbour(&mut self, now: Instant, slot: Slot, frame: Frame) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return self.counters.drop(DropReason::NeighbourUnreachable);
        };
        if neighbour.used(now) {
            self.timers.set(Timer::Neighbour(slot), now + DELAY);
        }
        match &neighbour.transport {
            Transport::Datagram {
                vector,
                qpn,
                refresh: false,
            } => {
                let (vector, qpn) = (*vector, *qpn);
                self.post_ip(vector, qpn, frame);
            }
            _ => self.send_to_unsettled(now, slot, frame),
        }
    }

    /// Pushes the encapsulation header and sends.
    #[inline]
    pub(crate) fn post(
        &mut self,
        vector: AddressVector,
        qpn: Qpn,
        ether_type: EtherType,
        mut frame: Frame,
    ) {
        let (packets, octets) = wire_size(&frame);
        self.counters.tx_packets += packets;
        self.counters.tx_bytes += octets + packets * Encapsulation::LEN as u64;
        Encapsulation { ether_type }.emit(frame.push_front(Encapsulation::LEN));
        let wr_id = self.next_wr_id();
        self.act(Action::Send(UdSend {
            wr_id,
            address: vector,
            dest_qpn: qpn,
            qkey: self.qkey,
            pkey_index: None,
            payload: frame,
            // The frame is reference-counted and the address copied: nothing has to be kept until
            // a send is complete, so that nothing waits for completions either.
            signaled: false,
        }));
    }

    /// Sends an IP packet, whose first octet has been looked at.
    #[inline]
    pub(crate) fn post_ip(&mut self, vector: AddressVector, qpn: Qpn, frame: Frame) {
        let ether_type = ether_type_of(frame.bytes());
        self.post(vector, qpn, ether_type, frame);
    }

    /// Drops a packet of the host's and, where the reason is one that its stack can learn from,
    /// says so.
    pub(crate) fn refuse(&mut self, reason: DropReason, frame: &Frame) {
        self.counters.drop(reason);
        let error = match reason {
            DropReason::TooLong => icmp::Error::TooBig {
                mtu: self.mtu.group(),
            },
            DropReason::NeighbourUnreachable => icmp::Error::Unreachable,
            _ => return,
        };
        let own = self
            .addressing
            .source_for(IpAddr::V6(Ipv6Addr::UNSPECIFIED), None);
        if let Some(error) = icmp::answer(&self.pool, error, frame.bytes(), own) {
            self.act(Action::Deliver(error));
        }
    }

    /// Sends to wherever a destination is reached.
    pub(crate) fn send_to_target(&mut self, now: Instant, destination: IpAddr, frame: Frame) {
        match self.addressing.target(destination) {
            Target::Neighbour(next_hop) => {
                let slot = match self.neighbours.find(next_hop) {
                    Some(slot) => slot,
                    None if self.make_room() => self.neighbours.insert(now, next_hop),
                    None => return self.counters.drop(DropReason::NeighbourTableFull),
                };
                self.neighbours.remember(destination, slot);
                self.send_to_neighbour(now, slot, frame);
            }
            Target::Broadcast => self.send_to_group(now, self.broadcast_mgid(), frame),
            Target::Multicast(group) => self.send_to_group(now, self.mgid_of(group), frame),
            Target::Own => self.counters.drop(DropReason::OwnDestination),
            Target::Nowhere => self.counters.drop(DropReason::NoSuchDestination),
        }
    }

    /// Sends to a neighbour that is not ready to be sent to just so.
    #[cold]
    fn send_to_unsettled(&mut self, now: Instant, slot: Slot, frame: Frame) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        match (&neighbour.transport, neighbour.hardware) {
            (Transport::Datagram { vector, qpn, .. }, Some(hardware)) => {
                // The path is in doubt, and no worse than none: it is used until a better one is
                // known, so that a change of the subnet manager costs no packet.
                let (vector, qpn) = (*vector, *qpn);
                self.refresh_path(now, hardware.gid);
                self.post_ip(vector, qpn, frame);
            }
            (_, hardware) => {
                let source = source_of(frame.bytes());
                if let Err(frame) = neighbour.pending.push(frame) {
                    return self.refuse(DropReason::NeighbourQueueFull, &frame);
                }
                match hardware {
                    Some(hardware) if neighbour.state != Reachability::Failed => {
                        self.query_path(now, hardware.gid);
                    }
                    _ if neighbour.state == Reachability::Failed => {
                        neighbour.asked_from = source;
                        self.start_resolution(now, slot);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Packets and octets that a wire sees of an IP packet.
#[inline]
pub(crate) fn wire_size(frame: &Frame) -> (u64, u64) {
    let (packets, octets) = (frame.wire_packets(), frame.len() as u64);
    let header = frame
        .offload()
        .and_then(|offload| offload.gso)
        .map_or(0, |gso| u64::from(gso.header_len));
    (packets, octets + (packets - 1) * header)
}

#[inline]
fn destination_of(packet: &[u8]) -> Result<IpAddr, DropReason> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => match packet.first_chunk::<20>() {
            Some(h) => Ok(IpAddr::V4(Ipv4Addr::new(h[16], h[17], h[18], h[19]))),
            None => Err(DropReason::IpHeaderCut),
        },
        Some(6) => match packet
            .first_chunk::<40>()
            .and_then(|h| h.last_chunk::<16>())
        {
            Some(octets) => Ok(IpAddr::V6(Ipv6Addr::from(*octets))),
            None => Err(DropReason::IpHeaderCut),
        },
        Some(_) => Err(DropReason::NotIp),
        None => Err(DropReason::IpHeaderCut),
    }
}

fn source_of(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => Some(IpAddr::V4(Ipv4Addr::from(
            *packet.get(12..16)?.first_chunk()?,
        ))),
        6 => Some(IpAddr::V6(Ipv6Addr::from(
            *packet.get(8..24)?.first_chunk()?,
        ))),
        _ => None,
    }
}

#[inline]
fn ether_type_of(packet: &[u8]) -> EtherType {
    if packet.first().is_some_and(|first| first >> 4 == 6) {
        EtherType::Ipv6
    } else {
        EtherType::Ipv4
    }
}
