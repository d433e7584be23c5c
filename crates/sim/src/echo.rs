//! ICMP echo, as a host's IP stack would send and answer it.

use std::net::Ipv4Addr;

use softib_fabric::frame::{Frame, Pool};
use softib_wire::ipoib::checksum::checksum;
use softib_wire::ipoib::ip::{Ipv4Header, protocol};

const REQUEST: u8 = 8;
const REPLY: u8 = 0;
const IPV4: usize = Ipv4Header::LEN;
const ICMP: usize = 8;

/// An echo request or reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// Who sends it.
    pub source: Ipv4Addr,
    /// Who gets it.
    pub destination: Ipv4Addr,
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
    /// The data does not fit an IP packet.
    #[must_use]
    pub fn packet(&self, pool: &Pool) -> Frame {
        let len = IPV4 + ICMP + self.data_len;
        let mut bytes = vec![0; len];
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
            protocol: protocol::ICMP,
            checksum: 0,
            source: self.source,
            destination: self.destination,
        }
        .with_checksum()
        .emit(&mut bytes);
        let icmp = &mut bytes[IPV4..];
        icmp[0] = if self.reply { REPLY } else { REQUEST };
        icmp[4..8].copy_from_slice(&self.id.to_be_bytes());
        let sum = checksum(icmp);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        pool.frame_from(&bytes)
    }

    /// The echo that an IP packet carries, if it carries a whole and right one.
    #[must_use]
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let header = Ipv4Header::parse(packet).ok()?;
        let icmp = packet.get(IPV4..usize::from(header.total_length))?;
        if header.protocol != protocol::ICMP || icmp.len() < ICMP || checksum(icmp) != 0 {
            return None;
        }
        let reply = match icmp[0] {
            REQUEST => false,
            REPLY => true,
            _ => return None,
        };
        Some(Self {
            source: header.source,
            destination: header.destination,
            reply,
            id: u32::from_be_bytes(icmp[4..8].try_into().ok()?),
            data_len: icmp.len() - ICMP,
        })
    }
}
