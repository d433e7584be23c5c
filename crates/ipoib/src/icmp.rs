//! What the host's stack is told about packets that could not be sent.
//!
//! The messages come from the packet's destination, as a router's or the peer's own would: a stack
//! refuses packets from an address of its own.

use core::net::IpAddr;

use softib_fabric::frame::{Frame, Pool};
use softib_wire::ipoib::checksum::{Checksum, checksum};
use softib_wire::ipoib::icmp::{
    FRAGMENTATION_NEEDED_MAX, PACKET_TOO_BIG_MAX, fragmentation_needed, packet_too_big,
};
use softib_wire::ipoib::ip::{IpHeader, Ipv4Header, Ipv6Header, protocol};

/// What was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Error {
    /// Only packets up to `mtu` fit.
    TooBig { mtu: u32 },
    /// Nobody has the destination's address.
    Unreachable,
}

/// The message that answers `packet`, if one may. `own` is an IPv6 address of ours, for packets
/// whose destination cannot be a source.
pub(crate) fn answer(
    pool: &Pool,
    error: Error,
    packet: &[u8],
    own: Option<IpAddr>,
) -> Option<Frame> {
    // Nothing longer is written than the longest message.
    let mut message = [0; PACKET_TOO_BIG_MAX];
    const _: () = assert!(FRAGMENTATION_NEEDED_MAX <= PACKET_TOO_BIG_MAX);
    let mtu = match error {
        Error::TooBig { mtu } => mtu,
        Error::Unreachable => 0,
    };
    let len = match IpHeader::parse(packet).ok()? {
        IpHeader::V4(header) => {
            let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
            let len = fragmentation_needed(packet, mtu, header.destination, &mut message).ok()?;
            if error == Error::Unreachable {
                // RFC 792: host unreachable. Everything else is as in the other message.
                let body = &mut message[Ipv4Header::LEN..len];
                body[..4].copy_from_slice(&[3, 1, 0, 0]);
                let sum = checksum(body);
                body[2..4].copy_from_slice(&sum.to_be_bytes());
            }
            len
        }
        IpHeader::V6(header) => {
            let from = match own {
                _ if !header.destination.is_multicast() => header.destination,
                Some(IpAddr::V6(own)) if error != Error::Unreachable => own,
                _ => return None,
            };
            let len = packet_too_big(packet, mtu, from, &mut message).ok()?;
            if error == Error::Unreachable {
                // RFC 4443 §3.1: address unreachable.
                let body = &mut message[Ipv6Header::LEN..len];
                body[..4].copy_from_slice(&[1, 3, 0, 0]);
                let sum = Checksum::ipv6(from, header.source, protocol::ICMPV6, body.len())
                    .with(body)
                    .finish();
                body[2..4].copy_from_slice(&sum.to_be_bytes());
            }
            len
        }
    };
    Some(pool.frame_from(&message[..len]))
}
