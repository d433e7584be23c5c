//! Cuts a large send into the packets that it is on the wire (the adapter's large-send offload).

use softib_wire::bth::Bth;
use softib_wire::crc::ICRC_LEN;
use softib_wire::ext::Deth;
use softib_wire::grh::Grh;
use softib_wire::ipoib::checksum::{Checksum, checksum};
use softib_wire::lrh::{Lrh, NextHeader};
use softib_wire::packet::patch_lengths;

use super::{Frame, GsoKind, Pool};

/// The packets of a frame: itself, if it is one; else as many as there are segments, each complete
/// up to its transport checksum.
pub fn cut<'a>(frame: &'a Frame, pool: &'a Pool) -> impl Iterator<Item = Frame> + use<'a> {
    let plan = Plan::of(frame);
    let packets = plan.as_ref().map_or(1, Plan::packets);
    (0..packets).map(move |index| match &plan {
        None => frame.clone(),
        Some(plan) => {
            let mut packet = pool.alloc(plan.largest() + 3);
            let [headers, payload, padding] = plan.parts(frame.bytes(), index);
            packet.push_back(headers);
            packet.push_back(payload);
            packet.push_back(padding);
            plan.complete(packet.bytes_mut(), index);
            packet.set_vl(frame.vl());
            packet
        }
    })
}

/// How a frame is cut. There is none for a frame that is one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    kind: GsoKind,
    /// Octets in front of the IP packet.
    prefix: usize,
    /// Octets of the IP header.
    network: usize,
    /// Octets of IP and transport headers.
    header: usize,
    /// Transport payload of each segment but the last.
    size: usize,
    /// Transport payload of all segments.
    payload: usize,
}

impl Plan {
    /// The plan of a large send. An offload that contradicts its packet is none: the frame then
    /// counts as the one oversized packet that it is.
    #[inline]
    pub(super) fn of(frame: &Frame) -> Option<Self> {
        let offload = frame.offload?;
        let gso = offload.gso?;
        let prefix = frame.ip_offset()?;
        let bytes = frame.bytes();
        let padding = if prefix >= INFINIBAND {
            padding(bytes)
        } else {
            0
        };
        let plan = Self {
            kind: gso.kind,
            prefix,
            network: usize::from(offload.checksum_start),
            header: usize::from(gso.header_len),
            size: usize::from(gso.size),
            payload: bytes
                .len()
                .checked_sub(prefix + usize::from(gso.header_len) + padding)?,
        };
        let network_fits = if gso.kind.is_ipv6() {
            plan.network >= IPV6
        } else {
            plan.network == usize::from(bytes.get(prefix)? & 15) * 4 && plan.network >= IPV4
        };
        let transport_fits = plan.header >= plan.network + gso.kind.transport_len();
        (network_fits && transport_fits && plan.size > 0).then_some(plan)
    }

    /// Segments.
    pub(super) fn packets(&self) -> u64 {
        self.payload.div_ceil(self.size).max(1) as u64
    }

    /// Octets of all segments, each from LRH to ICRC.
    pub(super) fn octets(&self) -> u64 {
        let packets = self.packets();
        let last = self.payload - self.size * (count(packets) - 1);
        let octets = |payload: usize| self.octets_with(payload).next_multiple_of(4) + ICRC_LEN;
        (packets - 1) * octets(self.size) as u64 + octets(last) as u64
    }

    /// Octets of the largest segment, without padding and CRCs.
    pub(super) fn largest(&self) -> usize {
        self.octets_with(self.size.min(self.payload))
    }

    /// What segment `index` is made of: headers as the large send has them, payload, padding.
    pub(super) fn parts<'a>(&self, bytes: &'a [u8], index: u64) -> [&'a [u8]; 3] {
        let (headers, rest) = bytes.split_at(self.prefix + self.header);
        let payload = &rest[..self.payload];
        let start = self.size * count(index);
        let segment = &payload[start..(start + self.size).min(self.payload)];
        let padding = if self.prefix >= INFINIBAND {
            self.octets_with(segment.len()).next_multiple_of(4) - self.octets_with(segment.len())
        } else {
            0
        };
        [headers, segment, &[0; 3][..padding]]
    }

    /// Makes the headers of segment `index`, which `packet` holds from LRH to padding, its own.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "lengths of one packet, and numbers that wrap"
    )]
    pub(super) fn complete(&self, packet: &mut [u8], index: u64) {
        let last = index + 1 == self.packets();
        let segment = if last {
            self.payload - self.size * count(index)
        } else {
            self.size
        };
        if self.prefix >= INFINIBAND {
            number_bth(packet, self.octets_with(segment), index);
        }

        let ip = &mut packet[self.prefix..self.prefix + self.header + segment];
        let ip_len = ip.len();
        let (network, transport) = ip.split_at_mut(self.network);
        let addresses = if self.kind.is_ipv6() {
            network[4..6].copy_from_slice(&((ip_len - IPV6) as u16).to_be_bytes());
            8..40
        } else {
            network[2..4].copy_from_slice(&(ip_len as u16).to_be_bytes());
            let id = u16::from_be_bytes([network[4], network[5]]).wrapping_add(index as u16);
            network[4..6].copy_from_slice(&id.to_be_bytes());
            network[10..12].fill(0);
            let sum = checksum(network);
            network[10..12].copy_from_slice(&sum.to_be_bytes());
            12..20
        };
        if self.kind.is_tcp() {
            let sequence =
                u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            let sequence = sequence.wrapping_add((self.size as u64 * index) as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            if !last {
                transport[13] &= !(TCP_FIN | TCP_PSH);
            }
            if index > 0 {
                transport[13] &= !TCP_CWR;
            }
        } else {
            let length = (transport.len() as u16).to_be_bytes();
            transport[4..6].copy_from_slice(&length);
        }
        let at = self.kind.checksum_offset();
        transport[at..at + 2].fill(0);
        let sum = Checksum::new()
            .with(&network[addresses])
            .with_number(self.kind.protocol().into())
            .with_number(transport.len())
            .with(transport)
            .finish_transport();
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    const fn octets_with(&self, payload: usize) -> usize {
        self.prefix + self.header + payload
    }
}

/// From this many octets in front of the IP packet on, they are InfiniBand headers.
const INFINIBAND: usize = Lrh::LEN + Bth::LEN + Deth::LEN;
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP_FIN: u8 = 0x01;
const TCP_PSH: u8 = 0x08;
const TCP_CWR: u8 = 0x80;

/// Where the BTH is, in a packet that has one.
pub(super) fn bth_offset(packet: &[u8]) -> Option<usize> {
    match NextHeader::from_code(packet.get(1)? & 3)? {
        NextHeader::Bth => Some(Lrh::LEN),
        NextHeader::Grh => Some(Lrh::LEN + Grh::LEN),
        NextHeader::RawEthertype | NextHeader::RawIpv6 => None,
    }
}

/// BTH.PadCnt.
fn padding(packet: &[u8]) -> usize {
    bth_offset(packet)
        .and_then(|bth| packet.get(bth + 1))
        .map_or(0, |octet| usize::from(octet >> 4 & 3))
}

/// Gives a segment its own padding count, sequence number and lengths. `octets`: from LRH to payload.
#[expect(clippy::cast_possible_truncation, reason = "numbers that wrap")]
fn number_bth(packet: &mut [u8], octets: usize, index: u64) {
    let Some(bth) = bth_offset(packet).and_then(|bth| packet.get_mut(bth..bth + Bth::LEN)) else {
        return;
    };
    let padding = octets.next_multiple_of(4) - octets;
    bth[1] = bth[1] & 0xCF | (padding as u8) << 4;
    let psn = u32::from_be_bytes([0, bth[9], bth[10], bth[11]]).wrapping_add(index as u32);
    bth[9..].copy_from_slice(&psn.to_be_bytes()[1..]);
    patch_lengths(packet);
}

/// A number of packets within one buffer.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no more packets than octets in a buffer"
)]
const fn count(packets: u64) -> usize {
    packets as usize
}
