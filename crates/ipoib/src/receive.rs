//! From the queue pair to the host's IP stack.

use softib_fabric::hca::Received;
use softib_wire::ipoib::ip::{Ipv4Header, Ipv6Header};
use softib_wire::ipoib::{Encapsulation, EtherType};
use softib_wire::time::Instant;

use crate::arp::is_to_all;
use crate::counters::DropReason;
use crate::interface::{Action, Interface};
use crate::transmit::wire_size;

impl Interface {
    /// Takes what the queue pair received.
    #[inline]
    pub fn handle_received(&mut self, now: Instant, mut received: Received) {
        self.now = now;
        match self.take(now, &mut received) {
            Ok(Taken::ForHost) => self.act(Action::Deliver(received.payload)),
            Ok(Taken::Here) => {}
            Err(reason) => self.counters.drop(reason),
        }
    }

    #[inline]
    fn take(&mut self, now: Instant, received: &mut Received) -> Result<Taken, DropReason> {
        if !self.running {
            return Err(DropReason::InterfaceDown);
        }
        if self.is_own(received) {
            return Err(DropReason::OwnMulticast);
        }
        let Some(header) = received
            .payload
            .bytes()
            .first_chunk::<{ Encapsulation::LEN }>()
        else {
            return Err(DropReason::EncapsulationCut);
        };
        // RFC 4391 §6: the second half is reserved and not looked at.
        let ether_type = EtherType::from_code(u16::from_be_bytes([header[0], header[1]]));
        received.payload.pop_front(Encapsulation::LEN);
        let (packets, octets) = wire_size(&received.payload);
        self.counters.rx_packets += packets;
        self.counters.rx_bytes += octets;
        // As in Linux, broadcast is no multicast.
        if is_to_all(received)
            && received
                .grh
                .is_some_and(|grh| grh.dgid != self.broadcast_mgid())
        {
            self.counters.multicast += packets;
        }
        match ether_type {
            Some(EtherType::Ipv4) => {
                check(received.payload.bytes(), 4, Ipv4Header::LEN)?;
                Ok(Taken::ForHost)
            }
            Some(EtherType::Ipv6) => {
                check(received.payload.bytes(), 6, Ipv6Header::LEN)?;
                let ends_here = self.handle_discovery(now, received)?;
                Ok(if ends_here {
                    Taken::Here
                } else {
                    Taken::ForHost
                })
            }
            Some(EtherType::Arp) => {
                self.handle_arp(now, received);
                Ok(Taken::Here)
            }
            Some(EtherType::Rarp) => Err(DropReason::ReverseArp),
            Some(EtherType::Tipc) | None => Err(DropReason::UnknownEtherType),
        }
    }

    /// Whether we sent it ourselves. A neighbour on the same port has the same LID and GID, but
    /// another queue pair.
    #[inline]
    fn is_own(&self, received: &Received) -> bool {
        received.src_qpn == self.qpn
            && received.slid.bits() >> self.port.lmc == self.port.lid.bits() >> self.port.lmc
            && received
                .grh
                .is_none_or(|grh| grh.sgid.guid() == self.port.guid)
    }
}

/// Whose a received packet is.
enum Taken {
    /// The host's.
    ForHost,
    /// The interface's own.
    Here,
}

#[inline]
fn check(packet: &[u8], version: u8, header_len: usize) -> Result<(), DropReason> {
    if packet.len() < header_len {
        return Err(DropReason::RxIpHeaderCut);
    }
    if packet[0] >> 4 != version {
        return Err(DropReason::VersionMismatch);
    }
    Ok(())
}
