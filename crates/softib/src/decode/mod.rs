//! One line for a packet: when, from where to where, what it is, whether its CRCs are right.
//!
//! ```text
//! 9.180028 LID 4 > 49152 UD SEND Only QP 0x000405 > 0xffffff ARP who has 10.0.0.58? tell 10.0.1.34 | ICRC 0xbd6bd6a8 ok, VCRC 0x8883 ok
//! ```
//!
//! CRCs are written in the order of their octets on the wire, as Wireshark writes them.

mod ip;
mod mad;
#[cfg(test)]
mod tests;

use core::fmt::Write;

use softib_wire::addr::Qpn;
use softib_wire::ipoib::{Encapsulation, EtherType};
use softib_wire::opcode::Service;
use softib_wire::packet::{Form, LinkPacket, Packet, PacketError};
use softib_wire::time::Duration;

/// Decodes the packets of one file, in their order.
#[derive(Debug, Default)]
pub struct Decoder {
    first: Option<Duration>,
}

impl Decoder {
    /// The line for a packet, LRH to VCRC, that was seen at `timestamp`.
    pub fn line(&mut self, timestamp: Duration, bytes: &[u8]) -> String {
        let first = *self.first.get_or_insert(timestamp);
        let since = timestamp.saturating_sub(first);
        let mut line = format!("{}.{:06} ", since.as_secs(), since.subsec_micros());
        match LinkPacket::parse(bytes, Form::Wire) {
            Ok(link) => {
                line.push_str(&packet(&link));
                line.push_str(&crcs(&link));
            }
            Err(error) => {
                // Writing to a string can't fail.
                let _ = write!(line, "{} octets that are no packet: {error}", bytes.len());
            }
        }
        line
    }
}

/// Addresses and contents.
fn packet(link: &LinkPacket<'_>) -> String {
    let mut text = format!("LID {} > {} ", link.lrh.slid, link.lrh.dlid);
    match Packet::from_link(link, Form::Wire) {
        Ok(packet) => {
            let opcode = packet.bth.opcode.name();
            text.push_str(opcode);
            let dest = qpn(packet.bth.dest_qpn);
            let _ = match packet.ext.deth() {
                Some(deth) => write!(text, " QP {} > {dest}", qpn(deth.src_qpn)),
                None => write!(text, " QP > {dest}"),
            };
            text.push(' ');
            text.push_str(&contents(&packet));
        }
        Err(error @ PacketError::Raw { .. }) => text.push_str(&error.to_string()),
        Err(error) => {
            let _ = write!(text, "malformed: {error}");
        }
    }
    text
}

fn qpn(qpn: Qpn) -> String {
    match qpn {
        Qpn::SMI => "0".to_owned(),
        Qpn::GSI => "1".to_owned(),
        other => other.to_string(),
    }
}

/// What the payload is.
fn contents(packet: &Packet<'_>) -> String {
    let payload = packet.payload;
    if packet.bth.opcode.service() == Service::Ud
        && matches!(packet.bth.dest_qpn, Qpn::SMI | Qpn::GSI)
    {
        return mad::describe(payload);
    }
    if let Some(aeth) = packet.ext.aeth() {
        return format!("syndrome {:#04x} MSN {}", aeth.syndrome, aeth.msn);
    }
    if let Some(reth) = packet.ext.reth() {
        return format!("{} octets at {:#x}", reth.dma_length, reth.virtual_address);
    }
    encapsulated(packet)
        .unwrap_or_else(|| format!("{} octets PSN {}", payload.len(), packet.bth.psn))
}

/// A payload that begins with an IPoIB header; only a message's first packet does.
fn encapsulated(packet: &Packet<'_>) -> Option<String> {
    if !packet.bth.opcode.position().begins() {
        return None;
    }
    let header = Encapsulation::parse(packet.payload).ok()?;
    // RFC 4391 §6: the other half is reserved.
    let ([_, _, 0, 0], rest) = packet.payload.split_at_checked(Encapsulation::LEN)? else {
        return None;
    };
    Some(match header.ether_type {
        EtherType::Arp | EtherType::Rarp => ip::describe_arp(rest),
        EtherType::Ipv4 | EtherType::Ipv6 => ip::describe(rest),
        EtherType::Tipc => format!("TIPC {} octets", rest.len()),
    })
}

fn crcs(link: &LinkPacket<'_>) -> String {
    let Some(crcs) = link.crcs else {
        return String::new();
    };
    let verdict = |check: Result<(), PacketError>| if check.is_ok() { "ok" } else { "bad" };
    let mut text = " | ".to_owned();
    if let Some(icrc) = crcs.icrc {
        let shown = icrc.swap_bytes();
        let _ = write!(text, "ICRC {shown:#010x} {}, ", verdict(link.check_icrc()));
    }
    let shown = crcs.vcrc.swap_bytes();
    let _ = write!(text, "VCRC {shown:#06x} {}", verdict(link.check_vcrc()));
    text
}
