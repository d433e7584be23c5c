//! ARP and IP packets in a few words.

use softib_wire::ipoib::arp::{Arp, Operation};
use softib_wire::ipoib::ip::{IpHeader, protocol};
use softib_wire::ipoib::nd;

pub(super) fn describe_arp(bytes: &[u8]) -> String {
    match Arp::parse(bytes) {
        Ok(Arp {
            operation,
            sender,
            target,
        }) => match operation {
            Operation::Request if sender.protocol == target.protocol => {
                format!("ARP announces {}", sender.protocol)
            }
            Operation::Request => {
                format!("ARP who has {}? tell {}", target.protocol, sender.protocol)
            }
            Operation::Reply => format!("ARP {} is at {}", sender.protocol, sender.hardware),
            Operation::ReverseRequest => format!("RARP who is {}?", target.hardware),
            Operation::ReverseReply => format!("RARP {} is {}", target.hardware, target.protocol),
        },
        Err(error) => format!("ARP, malformed: {error}"),
    }
}

pub(super) fn describe(bytes: &[u8]) -> String {
    let header = match IpHeader::parse(bytes) {
        Ok(header) => header,
        // A connected-mode message may be longer than its first packet.
        Err(error) => return format!("IP, not whole: {error}"),
    };
    let (source, destination) = (header.source(), header.destination());
    let payload = &bytes[header.header_len()..header.total_len()];
    if let IpHeader::V4(v4) = &header
        && v4.is_fragment()
    {
        return format!(
            "IP {source} > {destination} fragment {:#06x} at {} {} octets",
            v4.identification,
            usize::from(v4.fragment_offset) * 8,
            payload.len()
        );
    }
    transport(header.protocol(), payload).map_or_else(
        || {
            format!(
                "IP {source} > {destination} protocol {} {} octets",
                header.protocol(),
                payload.len()
            )
        },
        |(ports, what)| match ports {
            Some((from, to)) => format!("IP {source}.{from} > {destination}.{to} {what}"),
            None => format!("IP {source} > {destination} {what}"),
        },
    )
}

/// Ports, if the protocol has them, and a few words on the rest.
fn transport(number: u8, bytes: &[u8]) -> Option<(Option<(u16, u16)>, String)> {
    let half = |at: usize| {
        bytes
            .get(at..)?
            .first_chunk()
            .map(|octets| u16::from_be_bytes(*octets))
    };
    let word = |at: usize| {
        bytes
            .get(at..)?
            .first_chunk()
            .map(|octets| u32::from_be_bytes(*octets))
    };
    let ports = || Some((half(0)?, half(2)?));
    Some(match number {
        protocol::TCP => {
            let header = usize::from(bytes.get(12)? >> 4) * 4;
            let flags = tcp_flags(*bytes.get(13)?);
            let octets = bytes.len().saturating_sub(header);
            (
                Some(ports()?),
                format!("TCP {flags} seq {} {octets} octets", word(4)?),
            )
        }
        protocol::UDP => (
            Some(ports()?),
            format!("UDP {} octets", bytes.len().saturating_sub(8)),
        ),
        protocol::ICMP => (
            None,
            format!("ICMP {}", icmp(*bytes.first()?, half(4)?, half(6)?)),
        ),
        protocol::ICMPV6 => (
            None,
            format!("ICMPv6 {}", icmpv6(bytes, half(4)?, half(6)?)?),
        ),
        protocol::IPV6_FRAGMENT => {
            let offset = half(2)? & 0xFFF8;
            let octets = bytes.len().saturating_sub(8);
            (
                None,
                format!("fragment {:#x} at {offset} {octets} octets", word(4)?),
            )
        }
        // Hop-by-hop options: what is behind them is what matters.
        0 => {
            let length = 8 + usize::from(*bytes.get(1)?) * 8;
            return transport(
                *bytes.first().filter(|next| **next != 0)?,
                bytes.get(length..)?,
            );
        }
        2 => (None, "IGMP".to_owned()),
        _ => return None,
    })
}

fn tcp_flags(flags: u8) -> String {
    let names = [
        (2, "SYN"),
        (1, "FIN"),
        (4, "RST"),
        (8, "PSH"),
        (16, "ACK"),
        (32, "URG"),
    ];
    let set: Vec<_> = names
        .iter()
        .filter(|(bit, _)| flags & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    set.join("+")
}

fn icmp(kind: u8, id: u16, sequence: u16) -> String {
    match kind {
        0 => format!("echo reply id {id} seq {sequence}"),
        8 => format!("echo request id {id} seq {sequence}"),
        3 => format!("unreachable (next-hop MTU {sequence})"),
        11 => "time exceeded".to_owned(),
        other => format!("type {other}"),
    }
}

fn icmpv6(bytes: &[u8], id: u16, sequence: u16) -> Option<String> {
    let target = || {
        let octets: [u8; 16] = *bytes.get(8..)?.first_chunk()?;
        Some(core::net::Ipv6Addr::from(octets))
    };
    Some(match *bytes.first()? {
        128 => format!("echo request id {id} seq {sequence}"),
        129 => format!("echo reply id {id} seq {sequence}"),
        2 => format!(
            "packet too big (MTU {})",
            u32::from(id) << 16 | u32::from(sequence)
        ),
        130 | 131 | 132 | 143 => "multicast listener".to_owned(),
        nd::ROUTER_SOLICITATION => "router solicitation".to_owned(),
        nd::ROUTER_ADVERTISEMENT => "router advertisement".to_owned(),
        nd::NEIGHBOUR_SOLICITATION => format!("who has {}?", target()?),
        nd::NEIGHBOUR_ADVERTISEMENT => format!("{} is here", target()?),
        other => format!("type {other}"),
    })
}
