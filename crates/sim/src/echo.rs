//! ICMP echo over IPv4 and IPv6, as a host's IP stack would send and answer it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use softib_fabric::frame::{Frame, Pool};
use softib_wire::ipoib::checksum::{Checksum, checksum};
use softib_wire::ipoib::ip::{IpHeader, Ipv4Header, Ipv6Header, protocol};

const ICMP: usize = 8;

/// Message types of one version of ICMP.
struct Types {
    request: u8,
    reply: u8,
}

const V4: Types = Types {
    request: 8,
    reply: 0,
};
const V6: Types = Types {
    request: 128,
    reply: 129,
};

/// An echo request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Who sends it.
    pub source: IpAddr,
    /// Who gets it. Of the same version as `source`.
    pub destination: IpAddr,
    /// Whether it is the answer.
    pub reply: bool,
    /// Identifier and sequence number.
    pub id: u32,
    /// Octets of data.
    pub data_len: usize,
}

impl Echo {
    /// The IP packet.
    ///
    /// # Panics
    /// The data does not fit an IP packet, or the addresses are of two versions.
    #[must_use]
    pub fn packet(&self, pool: &Pool) -> Frame {
        let mut icmp = vec![0; ICMP + self.data_len];
        icmp[4..8].copy_from_slice(&self.id.to_be_bytes());
        let bytes = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                icmp[0] = if self.reply { V4.reply } else { V4.request };
                let sum = checksum(&icmp);
                icmp[2..4].copy_from_slice(&sum.to_be_bytes());
                ipv4(source, destination, protocol::ICMP, &icmp)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                icmp[0] = if self.reply { V6.reply } else { V6.request };
                let sum = Checksum::ipv6(source, destination, protocol::ICMPV6, icmp.len());
                let sum = sum.with(&icmp).finish();
                icmp[2..4].copy_from_slice(&sum.to_be_bytes());
                ipv6(source, destination, protocol::ICMPV6, &icmp)
            }
            (source, destination) => panic!("no packet goes from {source} to {destination}"),
        };
        pool.frame_from(&bytes)
    }

    /// The echo that an IP packet carries, if it carries a whole and right one.
    #[must_use]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let header = IpHeader::parse(packet).ok()?;
        let icmp = packet.get(header.header_len()..header.total_len())?;
        if icmp.len() < ICMP {
            return None;
        }
        let (types, right) = match header {
            IpHeader::V4(v4) => (
                V4,
                v4.protocol == protocol::ICMP && !v4.is_fragment() && checksum(icmp) == 0,
            ),
            IpHeader::V6(v6) => {
                let sum = Checksum::ipv6(v6.source, v6.destination, protocol::ICMPV6, icmp.len());
                (
                    V6,
                    v6.next_header == protocol::ICMPV6 && sum.with(icmp).finish() == 0,
                )
            }
        };
        if !right || (icmp[0] != types.request && icmp[0] != types.reply) {
            return None;
        }
        Some(Self {
            source: header.source(),
            destination: header.destination(),
            reply: icmp[0] == types.reply,
            id: u32::from_be_bytes(*icmp[4..8].first_chunk()?),
            data_len: icmp.len() - ICMP,
        })
    }
}

/// An IPv4 packet with Don't Fragment set.
///
/// # Panics
/// It would be longer than 65,535 octets.
#[must_use]
pub fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = Ipv4Header::LEN + payload.len();
    let mut bytes = vec![0; Ipv4Header::LEN];
    Ipv4Header {
        version: 4,
        header_words: 5,
        traffic_class: 0,
        total_length: u16::try_from(len).expect("an IP packet is no longer than 65,535 octets"),
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol,
        checksum: 0,
        source,
        destination,
    }
    .with_checksum()
    .emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// An IPv6 packet.
///
/// # Panics
/// Its payload would be longer than 65,535 octets.
#[must_use]
pub fn ipv6(source: Ipv6Addr, destination: Ipv6Addr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; Ipv6Header::LEN];
    Ipv6Header {
        version: 6,
        traffic_class: 0,
        flow_label: 0,
        payload_length: u16::try_from(payload.len()).expect("a payload fits an IPv6 packet"),
        next_header,
        hop_limit: 64,
        source,
        destination,
    }
    .emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes_are_read_back() {
        let pool = Pool::new();
        for (source, destination) in [("10.0.0.1", "10.0.0.2"), ("fd00:1b::1", "fd00:1b::2")] {
            let echo = Echo {
                source: source.parse().unwrap(),
                destination: destination.parse().unwrap(),
                reply: false,
                id: 0x1234_5678,
                data_len: 56,
            };
            let packet = echo.packet(&pool);
            assert_eq!(Echo::parse(packet.bytes()), Some(echo));
            let mut bad = packet.bytes().to_vec();
            *bad.last_mut().unwrap() ^= 1;
            assert_eq!(Echo::parse(&bad), None, "a wrong checksum");
        }
    }
}
