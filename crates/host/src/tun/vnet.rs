//! The `virtio_net_hdr` in front of each packet, and the same facts as frames carry them.
//!
//! ```text
//!  0       1       2               4               6               8               10
//! | flags | gso   | header length | segment size  | checksum from | checksum at   | buffers       |
//! ```
//! Native byte order. The header length in it is a hint only (how much the kernel keeps in one
//! piece), so the true length of the headers is read from the packet.

use softib_fabric::frame::{Gso, GsoKind, Offload};
use thiserror::Error;

/// Length of the header, as the device was told it.
pub(super) const LENGTH: usize = 12;
/// The same for the ioctl.
pub(super) const SIZE: i32 = 12;

// linux/virtio_net.h
const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

const UDP_HEADER: usize = 8;

/// A header that contradicts its packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum BadHeader {
    /// The place of the checksum is not in the packet.
    #[error("the checksum's place is outside the packet")]
    Checksum,
    /// A kind of large send that was not agreed on.
    #[error("a large send of an unknown kind")]
    Kind,
    /// The headers of a large send are not whole, or their segment size is 0.
    #[error("a large send with broken headers or no segment size")]
    Segments,
}

/// What the stack left to do for `packet`, or `None` when nothing.
pub(super) fn offload(header: &[u8; LENGTH], packet: &[u8]) -> Result<Option<Offload>, BadHeader> {
    let field = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
    let needs_checksum = header[0] & NEEDS_CSUM != 0;
    let (size, checksum_start, checksum_offset) = (field(4), field(6), field(8));
    if !needs_checksum && header[1] == GSO_NONE {
        return Ok(None);
    }
    if needs_checksum
        && usize::from(checksum_start) + usize::from(checksum_offset) + 2 > packet.len()
    {
        return Err(BadHeader::Checksum);
    }
    let gso = match header[1] & !GSO_ECN {
        GSO_NONE => None,
        kind => Some(segments(
            kind,
            size,
            header[1] & GSO_ECN != 0,
            usize::from(checksum_start),
            packet,
        )?),
    };
    Ok(Some(Offload {
        needs_checksum,
        checksum_start,
        checksum_offset,
        gso,
    }))
}

fn segments(
    kind: u8,
    size: u16,
    ecn: bool,
    transport: usize,
    packet: &[u8],
) -> Result<Gso, BadHeader> {
    let version = packet.first().map_or(0, |octet| octet >> 4);
    let (kind, transport_len) = match (kind, version) {
        (GSO_TCPV4, 4) => (GsoKind::Tcp4, tcp_header(packet, transport)?),
        (GSO_TCPV6, 6) => (GsoKind::Tcp6, tcp_header(packet, transport)?),
        (GSO_UDP_L4, 4) => (GsoKind::Udp4, UDP_HEADER),
        (GSO_UDP_L4, 6) => (GsoKind::Udp6, UDP_HEADER),
        _ => return Err(BadHeader::Kind),
    };
    let header_len = transport + transport_len;
    match u16::try_from(header_len) {
        Ok(header_len)
            if usize::from(header_len) < packet.len() && size != 0 && transport >= 20 =>
        {
            Ok(Gso {
                kind,
                size,
                header_len,
                ecn,
            })
        }
        _ => Err(BadHeader::Segments),
    }
}

/// Length of the TCP header that begins at `transport`.
fn tcp_header(packet: &[u8], transport: usize) -> Result<usize, BadHeader> {
    let words = packet.get(transport + 12).ok_or(BadHeader::Segments)? >> 4;
    if words < 5 {
        Err(BadHeader::Segments)
    } else {
        Ok(usize::from(words) * 4)
    }
}

/// The header for a packet with `offload` left to do.
pub(super) fn header(offload: Option<Offload>) -> [u8; LENGTH] {
    let mut header = [0; LENGTH];
    let Some(offload) = offload else {
        return header;
    };
    let mut put = |at: usize, value: u16| header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
    if offload.needs_checksum {
        put(6, offload.checksum_start);
        put(8, offload.checksum_offset);
    }
    if let Some(gso) = offload.gso {
        put(2, gso.header_len);
        put(4, gso.size);
        header[1] = match gso.kind {
            GsoKind::Tcp4 => GSO_TCPV4,
            GsoKind::Tcp6 => GSO_TCPV6,
            GsoKind::Udp4 | GsoKind::Udp6 => GSO_UDP_L4,
        };
        if gso.ecn {
            header[1] |= GSO_ECN;
        }
    }
    header[0] = if offload.needs_checksum {
        NEEDS_CSUM
    } else {
        0
    };
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 and a TCP header of 32 octets, as the kernel hands it over: its header length is the
    /// linear part.
    fn tcp4() -> ([u8; LENGTH], Vec<u8>) {
        let mut packet = vec![0; 20 + 32 + 5000];
        packet[0] = 0x45;
        packet[20 + 12] = 0x80;
        let mut header = [0; LENGTH];
        header[0] = NEEDS_CSUM;
        header[1] = GSO_TCPV4;
        for (at, value) in [(2, 512_u16), (4, 1992), (6, 20), (8, 16)] {
            header[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        (header, packet)
    }

    #[test]
    fn a_large_send_keeps_its_facts_both_ways() {
        let (bytes, packet) = tcp4();
        let got = offload(&bytes, &packet).unwrap().unwrap();
        assert_eq!(
            got,
            Offload {
                needs_checksum: true,
                checksum_start: 20,
                checksum_offset: 16,
                gso: Some(Gso {
                    kind: GsoKind::Tcp4,
                    size: 1992,
                    header_len: 52,
                    ecn: false
                }),
            }
        );
        let back = header(Some(got));
        assert_eq!(offload(&back, &packet).unwrap(), Some(got));
        assert_eq!(u16::from_ne_bytes([back[2], back[3]]), 52);
    }

    #[test]
    fn congestion_marks_and_datagrams() {
        let (mut bytes, packet) = tcp4();
        bytes[1] |= GSO_ECN;
        assert!(offload(&bytes, &packet).unwrap().unwrap().gso.unwrap().ecn);
        bytes[1] = GSO_UDP_L4;
        let gso = offload(&bytes, &packet).unwrap().unwrap().gso.unwrap();
        assert_eq!((gso.kind, gso.header_len), (GsoKind::Udp4, 28));
    }

    #[test]
    fn a_plain_packet_has_nothing_left_to_do() {
        assert_eq!(offload(&[0; LENGTH], &[0x45; 20]), Ok(None));
        assert_eq!(header(None), [0; LENGTH]);
    }

    #[test]
    fn headers_that_contradict_the_packet_are_refused() {
        let (bytes, packet) = tcp4();
        assert_eq!(offload(&bytes, &packet[..37]), Err(BadHeader::Checksum));
        assert_eq!(offload(&bytes, &packet[..52]), Err(BadHeader::Segments));
        let mut other = bytes;
        other[1] = GSO_TCPV6;
        assert_eq!(offload(&other, &packet), Err(BadHeader::Kind));
        other[1] = 77;
        assert_eq!(offload(&other, &packet), Err(BadHeader::Kind));
        other = bytes;
        other[4..6].fill(0);
        assert_eq!(offload(&other, &packet), Err(BadHeader::Segments));
        let mut short = packet.clone();
        short[20 + 12] = 0x40;
        assert_eq!(offload(&bytes, &short), Err(BadHeader::Segments));
        for length in 0..60 {
            let _ = offload(&bytes, &packet[..length]);
        }
    }
}
