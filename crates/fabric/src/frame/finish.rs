//! Makes the octets that leave: everything that could wait until now.

use softib_wire::crc;
use softib_wire::ipoib::checksum::Checksum;
use softib_wire::lrh::Lrh;

use super::cut::{Plan, bth_offset, cut};
use super::{Crc, Frame, Pool};

/// The octets of one packet as they are on the wire, from LRH to VCRC. Of a large send, those of
/// its first packet: [`cut`] it before, or use [`wire_images`].
#[must_use]
pub fn finish(frame: &Frame) -> Vec<u8> {
    let mut out = Vec::with_capacity(frame.len() + crc::TRAILER_LEN);
    finish_into(frame, &mut out);
    out
}

/// As [`finish`], at the end of `out`.
pub fn finish_into(frame: &Frame, out: &mut Vec<u8>) {
    let base = out.len();
    if let Some(plan) = Plan::of(frame) {
        for part in plan.parts(frame.bytes(), 0) {
            out.extend_from_slice(part);
        }
        plan.complete(&mut out[base..], 0);
    } else {
        out.extend_from_slice(frame.bytes());
        complete_checksum(frame, &mut out[base..]);
    }
    let packet = &mut out[base..];
    if packet.len() < Lrh::LEN {
        return;
    }
    let moved = packet[0] >> 4 != frame.vl().bits();
    packet[0] = packet[0] & 0x0F | frame.vl().bits() << 4;
    match frame.crc() {
        Crc::Present => {
            // The ICRC does not cover the lane, the VCRC does.
            if moved && let Some(end) = packet.len().checked_sub(crc::VCRC_LEN) {
                let vcrc = crc::vcrc(&packet[..end]);
                packet[end..].copy_from_slice(&vcrc.to_le_bytes());
            }
        }
        Crc::Late => {
            if bth_offset(packet).is_some() {
                let trailer = crc::trailer(packet);
                out.extend_from_slice(&trailer);
            } else {
                // Raw packets have no ICRC (IBA 7.8.1).
                let vcrc = crc::vcrc(packet);
                out.extend_from_slice(&vcrc.to_le_bytes());
            }
        }
    }
}

/// The octets of each packet that the frame is on the wire.
pub fn wire_images<'a>(
    frame: &'a Frame,
    pool: &'a Pool,
) -> impl Iterator<Item = Vec<u8>> + use<'a> {
    cut(frame, pool).map(|packet| finish(&packet))
}

/// Completes the transport checksum, where the stack left that to us.
fn complete_checksum(frame: &Frame, packet: &mut [u8]) {
    let (Some(offload), Some(ip)) = (frame.offload(), frame.ip_offset()) else {
        return;
    };
    if !offload.needs_checksum {
        return;
    }
    let padding = bth_offset(packet)
        .filter(|&bth| bth < ip)
        .and_then(|bth| packet.get(bth + 1))
        .map_or(0, |flags| usize::from(flags >> 4 & 3));
    let end = packet.len().saturating_sub(padding);
    let start = ip + usize::from(offload.checksum_start);
    let at = start + usize::from(offload.checksum_offset);
    if at + 2 > end {
        // The stack's word and its packet disagree: leave the packet as it is, its receiver will
        // see a wrong checksum.
        return;
    }
    let sum = Checksum::new().with(&packet[start..end]).finish_transport();
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}
