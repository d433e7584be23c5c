//! A whole packet, from LRH to VCRC, read in place.
//!
//! ```text
//! | LRH 8 | GRH 40, if LNH = 3 | BTH 12 | extended headers, as the opcode says | payload | pad 0–3 | ICRC 4 | VCRC 2 |
//! '-------'---- link: LinkPacket ------------------------------------------------------------------------------------'
//! '------------ link, network and transport: Packet -----------------------------------------------------------------'
//! ```
//!
//! [`LinkPacket`] makes the checks that every port makes, a switch's too; [`Packet`] those of an
//! end node besides. Neither copies, allocates or panics, and each check that fails is a
//! [`PacketError`] of its own. What depends on the receiver (virtual lanes, MTU, P_Keys, queue
//! pairs) is the receiver's to check. CRCs are checked only when asked for.

mod build;
mod error;

pub use build::{UdHeaders, pad_for, patch_lengths};
pub use error::PacketError;

use crate::addr::{Lid, PKey, Qpn};
use crate::bth::Bth;
use crate::crc;
use crate::ext::{Aeth, AtomicAckEth, AtomicEth, Deth, Ieth, ImmDt, Rdeth, Reth, XrcEth};
use crate::grh::Grh;
use crate::lrh::{Lrh, NextHeader};
use crate::opcode::{Headers, Opcode};

/// What a packet's octets comprise, and which lengths in its headers are filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// From LRH to VCRC, as on a wire.
    Wire,
    /// From LRH to padding: the CRCs are not computed yet, the length fields count the ICRC already.
    Late,
    /// As [`Late`](Self::Late), but to be cut into several packets yet, or never to be seen: the
    /// length fields mean nothing, and the payload may be longer than a packet can carry.
    Super,
}

/// Both CRCs as a packet carried them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crcs {
    /// Invariant CRC; a raw packet has none.
    pub icrc: Option<u32>,
    /// Variant CRC.
    pub vcrc: u16,
}

/// A packet of which the link layer is checked (IBA 7.7, 7.8): what a switch needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkPacket<'a> {
    /// Local route header.
    pub lrh: Lrh,
    /// From the LRH to the padding inclusive.
    pub bytes: &'a [u8],
    /// In a packet of [`Form::Wire`].
    pub crcs: Option<Crcs>,
}

impl<'a> LinkPacket<'a> {
    /// Reads a packet's link layer.
    ///
    /// # Errors
    /// One of the link layer's checks fails.
    #[inline]
    pub fn parse(bytes: &'a [u8], form: Form) -> Result<Self, PacketError> {
        let lrh = Lrh::parse(bytes).map_err(|_| PacketError::LrhShort { have: bytes.len() })?;
        // IBA 7.7: LVer is 0.
        if lrh.version != 0 {
            return Err(PacketError::LinkVersion {
                version: lrh.version,
            });
        }
        // Raw packets have no ICRC.
        let icrc_len = if lrh.next_header.is_raw() {
            0
        } else {
            crc::ICRC_LEN
        };
        let (bytes, trailer) = match form {
            Form::Wire => {
                // There are 8 octets of LRH, and no more than 6 of CRCs.
                let covered = bytes.len() - icrc_len - crc::VCRC_LEN;
                let (bytes, trailer) = bytes.split_at(covered);
                (bytes, Some(trailer))
            }
            Form::Late | Form::Super => (bytes, None),
        };
        if !bytes.len().is_multiple_of(4) {
            return Err(PacketError::Unaligned { have: bytes.len() });
        }
        // IBA 7.7: PktLen counts 4-octet words from the LRH to the ICRC inclusive.
        let said = usize::from(lrh.packet_length) * 4;
        if form != Form::Super && said != bytes.len() + icrc_len {
            return Err(PacketError::PacketLength {
                said,
                have: bytes.len() + icrc_len,
            });
        }
        let need = lrh.next_header.shortest();
        if bytes.len() < need {
            return Err(PacketError::HeadersShort {
                need,
                have: bytes.len(),
            });
        }
        // IBA 4.1.3: LID 0 is reserved, and a multicast LID sends nothing.
        if lrh.dlid == Lid::NONE {
            return Err(PacketError::DestinationLid);
        }
        if lrh.slid.is_multicast() {
            return Err(PacketError::SourceLid { slid: lrh.slid });
        }
        Ok(Self {
            lrh,
            bytes,
            crcs: trailer.map(|trailer| Crcs::read(trailer, icrc_len)),
        })
    }

    /// Octets before the BTH; none in a raw packet, which has no BTH.
    #[inline]
    #[must_use]
    pub const fn bth_offset(&self) -> Option<usize> {
        match self.lrh.next_header {
            NextHeader::Bth => Some(Lrh::LEN),
            NextHeader::Grh => Some(Lrh::LEN + Grh::LEN),
            NextHeader::RawEthertype | NextHeader::RawIpv6 => None,
        }
    }

    /// The P_Key, whatever else the transport header holds: what a switch port that enforces
    /// partitions looks at. A raw packet has none.
    #[inline]
    #[must_use]
    pub fn pkey(&self) -> Option<PKey> {
        let at = self.bth_offset()? + 2;
        let octets = self.bytes.get(at..)?.first_chunk()?;
        Some(PKey::new(u16::from_be_bytes(*octets)))
    }

    /// The destination QP, whatever else the transport header holds. A raw packet has none.
    #[inline]
    #[must_use]
    pub fn dest_qpn(&self) -> Option<Qpn> {
        let at = self.bth_offset()? + 4;
        let octets = self.bytes.get(at..)?.first_chunk()?;
        Some(Qpn::from_bits_truncate(u32::from_be_bytes(*octets)))
    }

    /// Recomputes the variant CRC. A packet that carries none yet passes.
    ///
    /// # Errors
    /// The packet carries another.
    pub fn check_vcrc(&self) -> Result<(), PacketError> {
        let Some(Crcs { icrc, vcrc: found }) = self.crcs else {
            return Ok(());
        };
        let computed = match icrc {
            Some(icrc) => crc::vcrc_with_icrc(self.bytes, icrc),
            None => crc::vcrc(self.bytes),
        };
        if computed == found {
            Ok(())
        } else {
            Err(PacketError::Vcrc { found, computed })
        }
    }

    /// Recomputes the invariant CRC. A packet that carries none passes.
    ///
    /// # Errors
    /// The packet carries another.
    pub fn check_icrc(&self) -> Result<(), PacketError> {
        let Some(Crcs {
            icrc: Some(found), ..
        }) = self.crcs
        else {
            return Ok(());
        };
        let computed = crc::icrc(self.bytes);
        if computed == found {
            Ok(())
        } else {
            Err(PacketError::Icrc { found, computed })
        }
    }
}

impl Crcs {
    fn read(trailer: &[u8], icrc_len: usize) -> Self {
        let (icrc, vcrc) = trailer.split_at(icrc_len);
        let vcrc = vcrc
            .first_chunk()
            .map_or(0, |octets| u16::from_le_bytes(*octets));
        Self {
            icrc: icrc.first_chunk().map(|octets| u32::from_le_bytes(*octets)),
            vcrc,
        }
    }
}

/// A packet of which link, network and transport headers are checked: what an end node needs to
/// know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Local route header.
    pub lrh: Lrh,
    /// Global route header.
    pub grh: Option<Grh>,
    /// Base transport header.
    pub bth: Bth,
    /// Extended headers.
    pub ext: Extended<'a>,
    /// Payload, without padding.
    pub payload: &'a [u8],
    /// In a packet of [`Form::Wire`].
    pub crcs: Option<Crcs>,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// One of the checks fails.
    #[inline]
    pub fn parse(bytes: &'a [u8], form: Form) -> Result<Self, PacketError> {
        Self::from_link(&LinkPacket::parse(bytes, form)?, form)
    }

    /// Reads on, in a packet whose link layer has been read. `form` as there.
    ///
    /// # Errors
    /// One of the checks of network and transport layer fails.
    #[inline]
    pub fn from_link(link: &LinkPacket<'a>, form: Form) -> Result<Self, PacketError> {
        let lrh = link.lrh;
        let (grh, rest) = match lrh.next_header {
            NextHeader::Bth => (None, &link.bytes[Lrh::LEN..]),
            NextHeader::Grh => {
                let rest = &link.bytes[Lrh::LEN..];
                let grh = Grh::parse(rest).map_err(|_| PacketError::HeadersShort {
                    need: lrh.next_header.shortest(),
                    have: link.bytes.len(),
                })?;
                let rest = &rest[Grh::LEN..];
                check_grh(&grh, rest.len(), form)?;
                (Some(grh), rest)
            }
            next_header @ (NextHeader::RawEthertype | NextHeader::RawIpv6) => {
                return Err(PacketError::Raw {
                    next_header: next_header.code(),
                });
            }
        };
        let Some(&[code, ..]) = rest.first_chunk::<{ Bth::LEN }>() else {
            return Err(PacketError::HeadersShort {
                need: lrh.next_header.shortest(),
                have: link.bytes.len(),
            });
        };
        // All of the BTH's fields but the opcode take any value.
        let bth = Bth::parse(rest).map_err(|_| PacketError::Opcode { code })?;
        // IBA 9.6.1: TVer is 0.
        if bth.transport_version != 0 {
            return Err(PacketError::TransportVersion {
                version: bth.transport_version,
            });
        }
        check_multicast(&lrh, grh.as_ref(), &bth)?;
        let rest = &rest[Bth::LEN..];
        let need = bth.opcode.headers_len();
        if rest.len() < need {
            return Err(PacketError::ExtendedHeadersShort {
                opcode: bth.opcode,
                need,
                have: rest.len(),
            });
        }
        let (ext, rest) = rest.split_at(need);
        let Some(payload_len) = rest.len().checked_sub(bth.pad_count.into()) else {
            return Err(PacketError::PadCount {
                pad: bth.pad_count,
                have: rest.len(),
            });
        };
        Ok(Self {
            lrh,
            grh,
            bth,
            ext: Extended {
                headers: bth.opcode.headers(),
                bytes: ext,
            },
            payload: &rest[..payload_len],
            crcs: link.crcs,
        })
    }

    /// Octets before the payload.
    #[inline]
    #[must_use]
    pub const fn headers_len(&self) -> usize {
        headers_len(self.grh.is_some(), self.bth.opcode)
    }

    /// Octets that [`emit`](Self::emit) writes.
    #[must_use]
    pub fn emitted_len(&self, form: Form) -> usize {
        let trailer = if form == Form::Wire {
            crc::TRAILER_LEN
        } else {
            0
        };
        self.headers_len() + self.payload.len() + usize::from(self.bth.pad_count) + trailer
    }

    /// Writes the packet, with padding of zeros, and in [`Form::Wire`] with both CRCs computed anew.
    ///
    /// # Panics
    /// `bytes` is shorter than [`emitted_len`](Self::emitted_len).
    pub fn emit(&self, bytes: &mut [u8], form: Form) {
        let len = self.emitted_len(form);
        let mut rest = &mut bytes[..len];
        self.lrh.emit(rest);
        rest = &mut rest[Lrh::LEN..];
        if let Some(grh) = &self.grh {
            grh.emit(rest);
            rest = &mut rest[Grh::LEN..];
        }
        self.bth.emit(rest);
        rest = &mut rest[Bth::LEN..];
        for part in [self.ext.bytes, self.payload] {
            rest[..part.len()].copy_from_slice(part);
            rest = &mut rest[part.len()..];
        }
        rest.fill(0);
        if form == Form::Wire {
            let (covered, trailer) = bytes[..len].split_at_mut(len - crc::TRAILER_LEN);
            trailer.copy_from_slice(&crc::trailer(covered));
        }
    }
}

/// Octets of all headers of a packet.
#[inline]
#[must_use]
pub const fn headers_len(grh: bool, opcode: Opcode) -> usize {
    Lrh::LEN + if grh { Grh::LEN } else { 0 } + Bth::LEN + opcode.headers_len()
}

/// IBA 8.3, 9.6: what the GRH must say. `rest` octets stand between it and the ICRC.
#[inline]
fn check_grh(grh: &Grh, rest: usize, form: Form) -> Result<(), PacketError> {
    if grh.ip_version != Grh::IP_VERSION {
        return Err(PacketError::GrhVersion {
            version: grh.ip_version,
        });
    }
    if grh.next_header != Grh::NEXT_HEADER_BTH {
        return Err(PacketError::GrhNextHeader {
            next_header: grh.next_header,
        });
    }
    let said = usize::from(grh.payload_length);
    let have = rest + crc::ICRC_LEN;
    if form != Form::Super && said != have {
        return Err(PacketError::GrhPayloadLength { said, have });
    }
    Ok(())
}

/// IBA 9.6.1, 10.5: a multicast packet has a multicast DLID, a GRH with a multicast DGID and
/// QP 0xFFFFFF for its destination, or none of these.
#[inline]
fn check_multicast(lrh: &Lrh, grh: Option<&Grh>, bth: &Bth) -> Result<(), PacketError> {
    let to_qpn = bth.dest_qpn == Qpn::MULTICAST;
    let Some(grh) = grh else {
        return if lrh.dlid.is_multicast() || to_qpn {
            Err(PacketError::MulticastWithoutGrh {
                dlid: lrh.dlid,
                dest_qpn: bth.dest_qpn,
            })
        } else {
            Ok(())
        };
    };
    if grh.dgid.is_multicast() != lrh.dlid.is_multicast() {
        return Err(PacketError::MulticastGid {
            dlid: lrh.dlid,
            dgid: grh.dgid,
        });
    }
    if to_qpn != lrh.dlid.is_multicast() {
        return Err(PacketError::MulticastQpn {
            dlid: lrh.dlid,
            dest_qpn: bth.dest_qpn,
        });
    }
    Ok(())
}

/// The extended headers of a packet, read when asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended<'a> {
    headers: Headers,
    bytes: &'a [u8],
}

macro_rules! extended {
    ($( $(#[$meta:meta])* $method:ident: $ty:ident = $header:ident; )*) => {
        impl<'a> Extended<'a> {
            $(
                $(#[$meta])*
                #[inline]
                #[must_use]
                pub fn $method(&self) -> Option<$ty> {
                    let offset = self.headers.offset_of(Headers::$header)?;
                    self.bytes.get(offset..).and_then(|bytes| $ty::parse(bytes).ok())
                }
            )*
        }
    };
}

extended! {
    /// Reliable datagram header.
    rdeth: Rdeth = RDETH;
    /// Datagram header: Q_Key and source queue pair.
    deth: Deth = DETH;
    /// XRC header.
    xrceth: XrcEth = XRCETH;
    /// RDMA header.
    reth: Reth = RETH;
    /// Atomic operation.
    atomic: AtomicEth = ATOMIC;
    /// Acknowledge.
    aeth: Aeth = AETH;
    /// Result of an atomic operation.
    atomic_ack: AtomicAckEth = ATOMIC_ACK;
    /// Immediate data.
    immediate: ImmDt = IMMEDIATE;
    /// Key to invalidate.
    ieth: Ieth = IETH;
}

impl<'a> Extended<'a> {
    /// The extended headers of a packet with `opcode`, as octets; none when they are not as long as
    /// the opcode says.
    #[must_use]
    pub fn new(opcode: Opcode, bytes: &'a [u8]) -> Option<Self> {
        (bytes.len() == opcode.headers_len()).then_some(Self {
            headers: opcode.headers(),
            bytes,
        })
    }

    /// Which there are.
    #[must_use]
    pub const fn headers(&self) -> Headers {
        self.headers
    }

    /// Their octets.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

#[cfg(test)]
mod tests;
