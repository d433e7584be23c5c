//! Address resolution for IPv4 (RFC 826, RFC 4391 §9.2): requests go to everybody, answers to who
//! asked. Both always travel as datagrams, whatever else connects the two (RFC 4755 §7).

use core::net::{IpAddr, Ipv4Addr};

use softib_fabric::hca::Received;
use softib_wire::ParseError;
use softib_wire::addr::Qpn;
use softib_wire::ipoib::arp::{Arp, Operation, Party};
use softib_wire::ipoib::{EtherType, HardwareAddress};
use softib_wire::time::Instant;

use crate::counters::DropReason;
use crate::interface::{Action, Interface};
use crate::resolve::Learnt;

impl Interface {
    /// Takes an ARP message, which `received` holds without its encapsulation header.
    pub(crate) fn handle_arp(&mut self, now: Instant, received: &Received) {
        let arp = match Arp::parse(received.payload.bytes()) {
            Ok(arp) => arp,
            Err(ParseError::BadValue {
                field: "operation", ..
            }) => {
                return self.counters.drop(DropReason::UnknownArpOperation);
            }
            Err(_) => return self.counters.drop(DropReason::BadArp),
        };
        if matches!(
            arp.operation,
            Operation::ReverseRequest | Operation::ReverseReply
        ) {
            return self.counters.drop(DropReason::ReverseArp);
        }
        let Party {
            hardware,
            protocol: sender,
        } = arp.sender;
        let target = arp.target.protocol;
        if !is_station(&hardware) {
            return self.counters.drop(DropReason::BadHardwareAddress);
        }
        if !may_be_host(sender) && !sender.is_unspecified() || !may_be_host(target) {
            return self.counters.drop(DropReason::BadArpAddress);
        }
        if self.addressing.is_own(sender.into()) {
            return self.report_duplicate(sender.into(), Some(hardware));
        }
        let for_us = self.addressing.is_own(target.into());
        let asks = arp.operation == Operation::Request;
        if !sender.is_unspecified() {
            let learnt = Learnt {
                hardware,
                // Only an answer to us says that the peer hears us.
                confirmed: !asks && for_us && !is_to_all(received),
                // Who asks us will soon be sent something. All others, and who announces itself,
                // are of interest only when they are known already.
                create: asks && for_us,
            };
            let known = self.learn(now, sender.into(), learnt).is_some();
            if !known && !asks {
                return self.counters.drop(DropReason::UnsolicitedArp);
            }
            self.note_source_lid(now, hardware.gid, received.slid);
        }
        if asks && for_us {
            let us = Party {
                hardware: self.hardware_address(),
                protocol: target,
            };
            self.send_arp(now, &arp.reply(us), Some(hardware));
        }
    }

    /// Asks who has `target`: `to` or, without it, everybody.
    pub(crate) fn send_arp_request(
        &mut self,
        now: Instant,
        target: Ipv4Addr,
        source: Option<IpAddr>,
        to: Option<HardwareAddress>,
    ) {
        let source = match source {
            Some(IpAddr::V4(source)) => source,
            // Without an address of our own this is a probe (RFC 5227 §1.1): it is answered too.
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let us = Party {
            hardware: self.hardware_address(),
            protocol: source,
        };
        self.send_arp(now, &Arp::request(us, target), to);
    }

    /// Tells everybody which hardware address goes with our IPv4 addresses.
    pub(crate) fn announce_ipv4(&mut self, now: Instant) {
        let addresses: Vec<IpAddr> = self.addressing.addresses.keys().copied().collect();
        for ip in addresses {
            if let IpAddr::V4(own) = ip {
                self.send_arp_request(now, own, Some(ip), None);
            }
        }
    }

    /// Somebody else has an address of ours.
    pub(crate) fn report_duplicate(&mut self, ip: IpAddr, owner: Option<HardwareAddress>) {
        self.counters.drop(DropReason::DuplicateAddress);
        self.act(Action::DuplicateAddress { ip, owner });
    }

    fn send_arp(&mut self, now: Instant, arp: &Arp, to: Option<HardwareAddress>) {
        let mut frame = self.pool.alloc(Arp::LEN);
        frame.set_len(Arp::LEN);
        arp.emit(frame.bytes_mut());
        match to {
            Some(to) => self.send_unicast(now, to, EtherType::Arp, frame),
            None => self.send_to_mgid(now, self.broadcast_mgid(), EtherType::Arp, frame),
        }
    }
}

/// Whether one interface can have this hardware address.
pub(crate) fn is_station(hardware: &HardwareAddress) -> bool {
    !hardware.is_multicast()
        && hardware.gid.guid().bits() != 0
        && hardware.qpn != Qpn::MULTICAST
        && hardware.qpn != Qpn::SMI
        && hardware.qpn != Qpn::GSI
}

/// Whether the packet went to a group.
pub(crate) fn is_to_all(received: &Received) -> bool {
    received.grh.is_some_and(|grh| grh.dgid.is_multicast())
}

/// Whether one host can have this address.
fn may_be_host(ip: Ipv4Addr) -> bool {
    !ip.is_unspecified() && !ip.is_multicast() && !ip.is_broadcast() && !ip.is_loopback()
}
