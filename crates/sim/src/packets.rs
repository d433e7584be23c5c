//! Datagrams and large sends, as a host's IP stack hands them over, and what arrives of them.

use std::net::{IpAddr, Ipv4Addr};

use softib_fabric::frame::{Frame, Gso, GsoKind, Offload, Pool};
use softib_wire::ipoib::checksum::Checksum;
use softib_wire::ipoib::ip::{IpHeader, Ipv4Header, protocol};

use crate::echo::{ipv4, ipv6};

const UDP: usize = 8;
const TCP: usize = 20;
/// Offset of the checksum in a TCP header.
const TCP_CHECKSUM: usize = 16;

/// A UDP datagram from port 1000 to port 2000, its checksum right.
///
/// # Panics
/// It does not fit an IP packet, or the addresses are of two versions.
#[must_use]
pub fn udp(pool: &Pool, source: IpAddr, destination: IpAddr, data: &[u8]) -> Frame {
    let len = UDP + data.len();
    let mut udp = vec![0; UDP];
    udp[..2].copy_from_slice(&1000_u16.to_be_bytes());
    udp[2..4].copy_from_slice(&2000_u16.to_be_bytes());
    let length = u16::try_from(len).expect("a datagram fits an IP packet");
    udp[4..6].copy_from_slice(&length.to_be_bytes());
    udp.extend_from_slice(data);
    let bytes = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let sum = Checksum::ipv4(source, destination, protocol::UDP, len);
            let sum = sum.with(&udp).finish();
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
            ipv4(source, destination, protocol::UDP, &udp)
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let sum = Checksum::ipv6(source, destination, protocol::UDP, len);
            let sum = sum.with(&udp).finish();
            udp[6..8].copy_from_slice(&sum.to_be_bytes());
            ipv6(source, destination, protocol::UDP, &udp)
        }
        (source, destination) => panic!("no packet goes from {source} to {destination}"),
    };
    pool.frame_from(&bytes)
}

/// The data of a UDP datagram.
#[must_use]
pub fn udp_data(packet: &[u8]) -> Option<&[u8]> {
    let header = IpHeader::parse(packet).ok()?;
    if header.protocol() != protocol::UDP {
        return None;
    }
    packet.get(header.header_len() + UDP..header.total_len())
}

/// A large send: one TCP segment with all of `data`, to be cut into segments of `size`.
///
/// # Panics
/// It does not fit an IP packet.
#[must_use]
pub fn large_send(
    pool: &Pool,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    sequence: u32,
    data: &[u8],
    size: u16,
) -> Frame {
    let len = TCP + data.len();
    let mut tcp = vec![0; TCP];
    tcp[..2].copy_from_slice(&1000_u16.to_be_bytes());
    tcp[2..4].copy_from_slice(&2000_u16.to_be_bytes());
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    tcp[12] = 5 << 4;
    // ACK and PSH.
    tcp[13] = 0x18;
    let sum = Checksum::ipv4(source, destination, protocol::TCP, len).partial();
    tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    tcp.extend_from_slice(data);
    let mut frame = pool.frame_from(&ipv4(source, destination, protocol::TCP, &tcp));
    let ip = u16::try_from(Ipv4Header::LEN).expect("20");
    frame.set_offload(Some(Offload {
        needs_checksum: true,
        checksum_start: ip,
        checksum_offset: 16,
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            size,
            header_len: ip + 20,
            ecn: false,
        }),
    }));
    frame
}

/// A TCP segment that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of its first octet.
    pub sequence: u32,
    /// Its data.
    pub data: Vec<u8>,
}

impl Segment {
    /// The segment that an IPv4 packet carries. `offload` is what the packet said of itself: with
    /// a checksum yet to be completed, none is looked at. `None`: there is no right segment.
    #[must_use]
    pub fn parse(packet: &[u8], offload: Option<Offload>) -> Option<Self> {
        let IpHeader::V4(header) = IpHeader::parse(packet).ok()? else {
            return None;
        };
        let tcp = packet.get(header.header_len()..usize::from(header.total_length))?;
        if header.protocol != protocol::TCP || tcp.len() < TCP {
            return None;
        }
        let sum = Checksum::ipv4(header.source, header.destination, protocol::TCP, tcp.len());
        if !offload.is_some_and(|offload| offload.needs_checksum) && sum.with(tcp).finish() != 0 {
            return None;
        }
        Some(Self {
            sequence: u32::from_be_bytes(*tcp[4..8].first_chunk()?),
            data: tcp[TCP..].to_vec(),
        })
    }
}
