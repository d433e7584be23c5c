//! "Packet too big", for packets that IP hands over and the link cannot carry (RFC 792, RFC 4443).

use core::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::ipoib::checksum::{Checksum, checksum};
use crate::ipoib::ip::{IpError, IpHeader, Ipv4Header, Ipv6Header, protocol};

/// Octets of the longest message that [`fragmentation_needed`] writes (RFC 1812 §4.3.2.3).
pub const FRAGMENTATION_NEEDED_MAX: usize = 576;
/// Octets of the longest message that [`packet_too_big`] writes (RFC 4443 §2.4 c).
pub const PACKET_TOO_BIG_MAX: usize = 1280;

layout! {
    /// ICMPv4 "destination unreachable: fragmentation needed" (RFC 1191 §4), without the packet.
    pub struct FragmentationNeeded [8] {
        /// 3.
        kind: u8 = 0, 8;
        /// 4.
        code: u8 = 8, 8;
        /// Checksum of the message.
        checksum: u16 = 16, 16;
        /// Octets that would have been right.
        mtu: u16 = 48, 16;
    }
}

layout! {
    /// ICMPv6 "packet too big" (RFC 4443 §3.2), without the packet.
    pub struct PacketTooBig [8] {
        /// 2.
        kind: u8 = 0, 8;
        /// 0.
        code: u8 = 8, 8;
        /// Checksum of the message and a pseudo header.
        checksum: u16 = 16, 16;
        /// Octets that would have been right.
        mtu: u32 = 32, 32;
    }
}

/// Why a packet is not answered by an ICMP message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoAnswer {
    /// It is no IP packet.
    #[error(transparent)]
    NotIp(#[from] IpError),
    /// It is of the other version of IP.
    #[error("the packet is not of the version of IP that the message is for")]
    OtherVersion,
    /// It is an ICMP error itself, or may be one.
    #[error("errors are not answered by errors")]
    Error,
    /// It went to several receivers.
    #[error("errors are not sent for broadcast and multicast")]
    Multicast,
    /// The source is no single receiver.
    #[error("the source of the packet is no unicast address")]
    Source,
    /// It is a later fragment.
    #[error("only a packet's first fragment is answered")]
    LaterFragment,
}

/// Writes an IPv4 packet from `from` to the source of `packet`, saying that only `mtu` octets
/// would have fit, and returns its length.
///
/// # Errors
/// RFC 1122 §3.2.2 forbids an answer.
///
/// # Panics
/// `out` is shorter than [`FRAGMENTATION_NEEDED_MAX`].
pub fn fragmentation_needed(
    packet: &[u8],
    mtu: u16,
    from: Ipv4Addr,
    out: &mut [u8],
) -> Result<usize, NoAnswer> {
    let IpHeader::V4(header) = IpHeader::parse(packet)? else {
        return Err(NoAnswer::OtherVersion);
    };
    if header.destination.is_multicast() || header.destination.is_broadcast() {
        return Err(NoAnswer::Multicast);
    }
    if header.source.is_unspecified()
        || header.source.is_multicast()
        || header.source.is_broadcast()
    {
        return Err(NoAnswer::Source);
    }
    if header.fragment_offset != 0 {
        return Err(NoAnswer::LaterFragment);
    }
    if header.protocol == protocol::ICMP
        && !packet
            .get(header.header_len())
            .is_some_and(|kind| is_icmp_query(*kind))
    {
        return Err(NoAnswer::Error);
    }

    const HEADERS: usize = Ipv4Header::LEN + FragmentationNeeded::LEN;
    let quoted = usize::from(header.total_length).min(FRAGMENTATION_NEEDED_MAX - HEADERS);
    let len = HEADERS + quoted;
    let out = &mut out[..len];
    Ipv4Header {
        version: 4,
        header_words: 5,
        // Internetwork control, as RFC 1812 §4.3.2.5 asks.
        traffic_class: 0xC0,
        total_length: u16::try_from(len).unwrap_or(u16::MAX),
        identification: 0,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::ICMP,
        checksum: 0,
        source: from,
        destination: header.source,
    }
    .with_checksum()
    .emit(out);
    let body = &mut out[Ipv4Header::LEN..];
    FragmentationNeeded {
        kind: 3,
        code: 4,
        checksum: 0,
        mtu,
    }
    .emit(body);
    body[FragmentationNeeded::LEN..].copy_from_slice(&packet[..quoted]);
    let sum = checksum(body);
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    Ok(len)
}

/// Writes an IPv6 packet from `from` to the source of `packet`, saying that only `mtu` octets
/// would have fit, and returns its length.
///
/// # Errors
/// RFC 4443 §2.4 forbids an answer. It allows this one for multicast.
///
/// # Panics
/// `out` is shorter than [`PACKET_TOO_BIG_MAX`].
pub fn packet_too_big(
    packet: &[u8],
    mtu: u32,
    from: Ipv6Addr,
    out: &mut [u8],
) -> Result<usize, NoAnswer> {
    let IpHeader::V6(header) = IpHeader::parse(packet)? else {
        return Err(NoAnswer::OtherVersion);
    };
    if header.source.is_unspecified() || header.source.is_multicast() {
        return Err(NoAnswer::Source);
    }
    if header.next_header == protocol::ICMPV6
        && packet.get(Ipv6Header::LEN).is_none_or(|kind| *kind < 128)
    {
        return Err(NoAnswer::Error);
    }

    const HEADERS: usize = Ipv6Header::LEN + PacketTooBig::LEN;
    let whole = Ipv6Header::LEN + usize::from(header.payload_length);
    let quoted = whole.min(PACKET_TOO_BIG_MAX - HEADERS);
    let len = HEADERS + quoted;
    let out = &mut out[..len];
    Ipv6Header {
        version: 6,
        traffic_class: 0,
        flow_label: 0,
        payload_length: u16::try_from(len - Ipv6Header::LEN).unwrap_or(u16::MAX),
        next_header: protocol::ICMPV6,
        hop_limit: 64,
        source: from,
        destination: header.source,
    }
    .emit(out);
    let body = &mut out[Ipv6Header::LEN..];
    PacketTooBig {
        kind: 2,
        code: 0,
        checksum: 0,
        mtu,
    }
    .emit(body);
    body[PacketTooBig::LEN..].copy_from_slice(&packet[..quoted]);
    let sum = Checksum::ipv6(from, header.source, protocol::ICMPV6, body.len())
        .with(body)
        .finish();
    body[2..4].copy_from_slice(&sum.to_be_bytes());
    Ok(len)
}

/// Echo, timestamp, information and address mask messages and router discovery: all that is no error.
const fn is_icmp_query(kind: u8) -> bool {
    matches!(kind, 0 | 8 | 9 | 10 | 13..=18)
}

#[cfg(test)]
mod tests {
    use etherparse::{
        Icmpv4Slice, Icmpv4Type, Icmpv6Slice, Icmpv6Type, IpHeaders, PacketBuilder, icmpv4,
    };
    use proptest::prelude::*;

    use super::*;

    const HOST: [u8; 4] = [10, 0, 0, 1];
    const PEER: [u8; 4] = [10, 0, 0, 2];

    fn v4(len: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        PacketBuilder::ipv4(HOST, PEER, 64)
            .udp(1, 2)
            .write(&mut packet, &vec![7; len])
            .unwrap();
        packet
    }

    fn v6(len: usize) -> Vec<u8> {
        let mut packet = Vec::new();
        let (host, peer) = (
            [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xfd; 16],
        );
        PacketBuilder::ipv6(host, peer, 64)
            .udp(1, 2)
            .write(&mut packet, &vec![7; len])
            .unwrap();
        packet
    }

    #[test]
    fn ipv4_message() {
        for len in [0, 10, 3000] {
            let packet = v4(len);
            let mut out = [0xa5; FRAGMENTATION_NEEDED_MAX];
            let n = fragmentation_needed(&packet, 2044, HOST.into(), &mut out).unwrap();
            let (headers, rest) = IpHeaders::from_slice(&out[..n]).unwrap();
            let ip = headers.ipv4().unwrap().0;
            assert_eq!((ip.source, ip.destination), (HOST, HOST));
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            let icmp = Icmpv4Slice::from_slice(rest.payload).unwrap();
            let needed = icmpv4::DestUnreachableHeader::FragmentationNeeded { next_hop_mtu: 2044 };
            assert_eq!(icmp.icmp_type(), Icmpv4Type::DestinationUnreachable(needed));
            assert_eq!(
                icmp.header().icmp_type.calc_checksum(icmp.payload()),
                icmp.checksum()
            );
            assert!(packet.starts_with(icmp.payload()));
            assert_eq!(icmp.payload().len(), packet.len().min(576 - 28));
        }
    }

    #[test]
    fn ipv6_message() {
        for len in [0, 10, 3000] {
            let packet = v6(len);
            let from: [u8; 16] = [0xfd; 16];
            let mut out = [0xa5; PACKET_TOO_BIG_MAX];
            let n = packet_too_big(&packet, 2044, from.into(), &mut out).unwrap();
            let (headers, rest) = IpHeaders::from_slice(&out[..n]).unwrap();
            let ip = headers.ipv6().unwrap().0;
            assert_eq!((ip.source, &ip.destination[..]), (from, &packet[8..24]));
            let icmp = Icmpv6Slice::from_slice(rest.payload).unwrap();
            assert_eq!(icmp.icmp_type(), Icmpv6Type::PacketTooBig { mtu: 2044 });
            assert!(icmp.is_checksum_valid(ip.source, ip.destination));
            assert!(packet.starts_with(icmp.payload()));
            assert_eq!(icmp.payload().len(), packet.len().min(1280 - 48));
        }
    }

    /// RFC 1122 §3.2.2, RFC 4443 §2.4 e: what is never answered.
    #[test]
    fn silence() {
        let mut out = [0; PACKET_TOO_BIG_MAX];
        let mut answer = |packet: &[u8]| match packet[0] >> 4 {
            4 => fragmentation_needed(packet, 2044, HOST.into(), &mut out).err(),
            _ => packet_too_big(packet, 2044, Ipv6Addr::LOCALHOST, &mut out).err(),
        };
        let changed = |mut packet: Vec<u8>, at: usize, octets: &[u8]| {
            packet[at..at + octets.len()].copy_from_slice(octets);
            packet
        };
        let packet = v4(100);
        assert_eq!(answer(&packet), None);
        assert_eq!(
            answer(&changed(packet.clone(), 16, &[224])),
            Some(NoAnswer::Multicast)
        );
        assert_eq!(
            answer(&changed(packet.clone(), 16, &[255; 4])),
            Some(NoAnswer::Multicast)
        );
        assert_eq!(
            answer(&changed(packet.clone(), 12, &[0; 4])),
            Some(NoAnswer::Source)
        );
        assert_eq!(
            answer(&changed(packet.clone(), 7, &[1])),
            Some(NoAnswer::LaterFragment)
        );
        let icmp = changed(packet.clone(), 9, &[protocol::ICMP]);
        assert_eq!(
            answer(&changed(icmp.clone(), 20, &[3])),
            Some(NoAnswer::Error)
        );
        assert_eq!(answer(&changed(icmp, 20, &[8])), None);

        let packet = v6(100);
        assert_eq!(answer(&packet), None);
        // Path MTU discovery of multicast depends on it.
        assert_eq!(answer(&changed(packet.clone(), 24, &[0xff, 0x0e])), None);
        assert_eq!(
            answer(&changed(packet.clone(), 8, &[0; 16])),
            Some(NoAnswer::Source)
        );
        let icmp = changed(packet, 6, &[protocol::ICMPV6]);
        assert_eq!(
            answer(&changed(icmp.clone(), 40, &[1])),
            Some(NoAnswer::Error)
        );
        assert_eq!(answer(&changed(icmp, 40, &[128])), None);
    }

    proptest! {
        #[test]
        fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..2000), version in 0..16u8) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            let mut out = [0; PACKET_TOO_BIG_MAX];
            let _ = fragmentation_needed(&bytes, 2044, HOST.into(), &mut out);
            let _ = packet_too_big(&bytes, 2044, Ipv6Addr::LOCALHOST, &mut out);
        }
    }
}
