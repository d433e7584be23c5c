//! Headers of a datagram, pushed in front of its payload.

use crate::addr::{Lid, PKey, Psn, QKey, Qpn, Sl, Vl};
use crate::bth::Bth;
use crate::crc::ICRC_LEN;
use crate::ext::{Deth, ImmDt};
use crate::grh::Grh;
use crate::lrh::{Lrh, NextHeader};
use crate::opcode::Opcode;
use crate::packet::headers_len;

/// Octets of padding behind a payload of `payload` octets.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "less than 4")]
pub const fn pad_for(payload: usize) -> u8 {
    (payload.wrapping_neg() % 4) as u8
}

/// All headers of an unreliable datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdHeaders {
    /// Virtual lane of the first link.
    pub vl: Vl,
    /// Service level.
    pub sl: Sl,
    /// Destination LID.
    pub dlid: Lid,
    /// Source LID.
    pub slid: Lid,
    /// Global route header. What it says of version, length and next header is replaced.
    pub grh: Option<Grh>,
    /// The receiver asked to be woken by this one.
    pub solicited: bool,
    /// Partition.
    pub pkey: PKey,
    /// Destination queue pair.
    pub dest_qpn: Qpn,
    /// Packet sequence number.
    pub psn: Psn,
    /// Q_Key.
    pub qkey: QKey,
    /// Source queue pair.
    pub src_qpn: Qpn,
    /// Immediate data.
    pub immediate: Option<u32>,
}

impl UdHeaders {
    const fn opcode(&self) -> Opcode {
        if self.immediate.is_some() {
            Opcode::UdSendOnlyImmediate
        } else {
            Opcode::UdSendOnly
        }
    }

    /// Octets that [`emit`](Self::emit) writes.
    #[expect(clippy::len_without_is_empty, reason = "headers are never empty")]
    #[must_use]
    pub const fn len(&self) -> usize {
        headers_len(self.grh.is_some(), self.opcode())
    }

    /// Writes the headers for a payload of `payload` octets to the front of `bytes`, and returns how
    /// many octets of padding must follow the payload.
    ///
    /// For a payload that is longer than one packet can carry, and is cut later, LRH.PktLen and
    /// GRH.PayLen are 0.
    ///
    /// # Panics
    /// `bytes` is shorter than [`len`](Self::len).
    pub fn emit(&self, bytes: &mut [u8], payload: usize) -> u8 {
        let pad_count = pad_for(payload);
        let lengths = Lengths::of(
            self.len() + payload + usize::from(pad_count),
            self.grh.is_some(),
        );
        Lrh {
            vl: self.vl,
            version: 0,
            sl: self.sl,
            next_header: if self.grh.is_some() {
                NextHeader::Grh
            } else {
                NextHeader::Bth
            },
            dlid: self.dlid,
            packet_length: lengths.packet,
            slid: self.slid,
        }
        .emit(bytes);
        let mut rest = &mut bytes[Lrh::LEN..];
        if let Some(grh) = self.grh {
            Grh {
                ip_version: Grh::IP_VERSION,
                payload_length: lengths.grh_payload,
                next_header: Grh::NEXT_HEADER_BTH,
                ..grh
            }
            .emit(rest);
            rest = &mut rest[Grh::LEN..];
        }
        Bth {
            opcode: self.opcode(),
            solicited: self.solicited,
            // As adapters do where there is nothing to migrate.
            migration: true,
            pad_count,
            transport_version: 0,
            pkey: self.pkey,
            fecn: false,
            becn: false,
            dest_qpn: self.dest_qpn,
            ack_request: false,
            psn: self.psn,
        }
        .emit(rest);
        let rest = &mut rest[Bth::LEN..];
        Deth {
            qkey: self.qkey,
            src_qpn: self.src_qpn,
        }
        .emit(rest);
        if let Some(data) = self.immediate {
            ImmDt { data }.emit(&mut rest[Deth::LEN..]);
        }
        pad_count
    }
}

/// Writes LRH.PktLen and GRH.PayLen of a packet that is given from its LRH to its padding; 0 where
/// it is longer than the field can say. Octets that are no packet are left as they are.
pub fn patch_lengths(packet: &mut [u8]) {
    let len = packet.len();
    let Some(&[_, lnh]) = packet.first_chunk() else {
        return;
    };
    let grh = lnh & 3 == NextHeader::Grh.code();
    let lengths = Lengths::of(len, grh);
    if let Some(field) = packet.get_mut(4..6) {
        field.copy_from_slice(&lengths.packet.to_be_bytes());
    }
    if grh && let Some(field) = packet.get_mut(Lrh::LEN + 4..Lrh::LEN + 6) {
        field.copy_from_slice(&lengths.grh_payload.to_be_bytes());
    }
}

struct Lengths {
    packet: u16,
    grh_payload: u16,
}

impl Lengths {
    /// The length fields of a packet with `octets` from LRH to padding.
    fn of(octets: usize, grh: bool) -> Self {
        const WORDS_MAX: usize = (1 << 11) - 1;
        let words = (octets + ICRC_LEN) / 4;
        if words > WORDS_MAX {
            return Self {
                packet: 0,
                grh_payload: 0,
            };
        }
        let payload = if grh {
            (octets + ICRC_LEN).saturating_sub(Lrh::LEN + Grh::LEN)
        } else {
            0
        };
        Self {
            packet: u16::try_from(words).unwrap_or(0),
            grh_payload: u16::try_from(payload).unwrap_or(0),
        }
    }
}
