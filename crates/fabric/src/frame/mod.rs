//! What travels: one pooled, reference-counted buffer with headroom.
//!
//! ```text
//!            ┌ start                                  ┌ start + len
//! | headroom | LRH … DETH | IPoIB | IP packet | pad   | spare |
//!                                 └ origin of the offload
//! ```
//!
//! Headers are pushed in front of the payload, in place; a clone is another handle to the same
//! octets, and who changes shared octets gets a copy of its own first.
//!
//! What can wait, waits. A packet frame is made without its CRCs ([`Crc::Late`]), with the virtual
//! lane beside it instead of in it, and with the checksum and the cutting that the IP stack left to
//! the adapter still undone ([`Offload`]). [`cut()`] and [`finish()`] do all that when octets leave the
//! process, and the octets are the same whenever it is done.

mod cut;
mod finish;
mod offload;
mod pool;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use softib_wire::addr::Vl;
use softib_wire::crc::{ICRC_LEN, TRAILER_LEN};
use softib_wire::lrh::{Lrh, NextHeader};
use softib_wire::packet::Form;

pub use cut::cut;
pub use finish::{finish, finish_into, wire_images};
pub use offload::{Gso, GsoKind, Offload};
pub use pool::Pool;

use crate::drop::DropReason;
use pool::Buffer;

/// Octets in front of a fresh frame: all headers that InfiniBand and IPoIB can push, and some.
pub const HEADROOM: usize = 128;

/// Whether a packet's CRCs are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Crc {
    /// Not yet computed: the frame ends with the padding.
    #[default]
    Late,
    /// The frame ends with ICRC and VCRC, and whoever takes it must check them.
    Present,
}

/// A frame: an IP packet on its way between the host's stack and an interface, or an InfiniBand packet.
#[derive(Clone)]
pub struct Frame {
    /// `None` only while the frame is dropped.
    buffer: Option<Arc<Buffer>>,
    start: u32,
    len: u32,
    /// Where in the buffer the IP packet of the offload begins.
    origin: u32,
    offload: Option<Offload>,
    vl: Vl,
    crc: Crc,
}

impl Frame {
    fn empty(buffer: Arc<Buffer>) -> Self {
        Self {
            buffer: Some(buffer),
            start: narrow(HEADROOM),
            len: 0,
            origin: 0,
            offload: None,
            vl: Vl::default(),
            crc: Crc::Late,
        }
    }

    /// The octets.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        let start = self.start as usize;
        match &self.buffer {
            Some(buffer) => &buffer.data[start..start + self.len as usize],
            None => &[],
        }
    }

    /// Octets in the frame.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The octets, to change them. A frame that shares them gets its own copy first.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let (start, end) = (self.start as usize, self.end());
        &mut self.memory()[start..end]
    }

    /// The room behind the octets, to read into. Then [`set_len`](Self::set_len).
    pub fn spare_mut(&mut self) -> &mut [u8] {
        let end = self.end();
        &mut self.memory()[end..]
    }

    /// Sets the number of octets, after reading into [`spare_mut`](Self::spare_mut). More than
    /// there is room for becomes what there is room for.
    pub fn set_len(&mut self, len: usize) {
        let room = self.capacity() - self.start as usize;
        self.len = narrow(len.min(room));
    }

    /// Puts `n` octets in front and gives them to be filled: they hold what was there before.
    pub fn push_front(&mut self, n: usize) -> &mut [u8] {
        if n > self.start as usize {
            self.grow(n, 0);
        }
        self.start -= narrow(n);
        self.len += narrow(n);
        &mut self.bytes_mut()[..n]
    }

    /// Takes `n` octets from the front; all, when there are fewer.
    #[inline]
    pub fn pop_front(&mut self, n: usize) {
        let n = narrow(n.min(self.len()));
        self.start += n;
        self.len -= n;
    }

    /// Puts octets behind.
    pub fn push_back(&mut self, bytes: &[u8]) {
        if self.end() + bytes.len() > self.capacity() {
            self.grow(0, bytes.len());
        }
        self.spare_mut()[..bytes.len()].copy_from_slice(bytes);
        self.len += narrow(bytes.len());
    }

    /// Cuts the frame to `n` octets; leaves it, when there are fewer.
    #[inline]
    pub fn truncate(&mut self, n: usize) {
        self.len = self.len.min(narrow(n));
    }

    /// What the IP stack left to do.
    #[inline]
    #[must_use]
    pub const fn offload(&self) -> Option<Offload> {
        self.offload
    }

    /// Says what the IP stack left to do. The IP packet begins where the frame begins now, and
    /// that place is kept when headers are pushed in front of it.
    pub const fn set_offload(&mut self, offload: Option<Offload>) {
        self.offload = offload;
        self.origin = self.start;
    }

    /// The lane of the link that the packet is on.
    #[inline]
    #[must_use]
    pub const fn vl(&self) -> Vl {
        self.vl
    }

    /// Puts the packet on a lane. The octets say so only when they leave.
    #[inline]
    pub const fn set_vl(&mut self, vl: Vl) {
        self.vl = vl;
    }

    /// Whether the CRCs are there.
    #[inline]
    #[must_use]
    pub const fn crc(&self) -> Crc {
        self.crc
    }

    /// Says that the octets are a packet from outside, CRCs included, and takes the lane from them.
    pub fn mark_present(&mut self) {
        self.crc = Crc::Present;
        let lane = self.bytes().first().map_or(0, |octet| octet >> 4);
        self.vl = Vl::from_bits_truncate(lane);
    }

    /// Checks the CRCs of a packet from outside as a port does. When both are right they are taken
    /// off: they can be made again. A packet with a wrong ICRC keeps it, as only the channel
    /// adapter at the end of its way drops it for that (IBA 7.8.1).
    ///
    /// # Errors
    /// The packet is too short for its CRCs, or its VCRC is wrong.
    pub fn check_link_crc(&mut self) -> Result<(), DropReason> {
        if self.crc == Crc::Late {
            return Ok(());
        }
        let bytes = self.bytes();
        let raw = bytes
            .get(1)
            .is_some_and(|octet| octet & 3 < NextHeader::Bth.code());
        let trailer = if raw {
            TRAILER_LEN - ICRC_LEN
        } else {
            TRAILER_LEN
        };
        if bytes.len() < Lrh::LEN + trailer {
            return Err(DropReason::TooShort);
        }
        let (covered, vcrc) = bytes.split_at(bytes.len() - (TRAILER_LEN - ICRC_LEN));
        if softib_wire::crc::vcrc(covered).to_le_bytes() != vcrc {
            return Err(DropReason::VcrcError);
        }
        if raw || self.icrc_is_right() {
            self.truncate(self.len() - trailer);
            self.crc = Crc::Late;
        }
        Ok(())
    }

    /// Whether the ICRC is right, as far as there is one: of a packet that [`Crc::Late`] still
    /// lacks it, it will be.
    #[must_use]
    pub fn icrc_is_right(&self) -> bool {
        if self.crc == Crc::Late {
            return true;
        }
        let Some(end) = self.len().checked_sub(TRAILER_LEN) else {
            return false;
        };
        let (covered, trailer) = self.bytes().split_at(end);
        softib_wire::crc::icrc(covered).to_le_bytes() == trailer[..ICRC_LEN]
    }

    /// Packets that this is on the wire: more than one for a large send.
    #[inline]
    #[must_use]
    pub fn wire_packets(&self) -> u64 {
        match cut::Plan::of(self) {
            None => 1,
            Some(plan) => plan.packets(),
        }
    }

    /// Octets that this is on the wire, from LRH to ICRC of each packet: what PortXmitData counts.
    #[inline]
    #[must_use]
    pub fn wire_octets(&self) -> u64 {
        match cut::Plan::of(self) {
            None => self.single_octets() as u64,
            Some(plan) => plan.octets(),
        }
    }

    /// The largest number of octets behind the first `headers` that one packet of this has:
    /// what an MTU is compared with.
    #[must_use]
    pub fn largest_payload(&self, headers: usize) -> usize {
        match cut::Plan::of(self) {
            None => {
                let crcs = if self.crc == Crc::Present {
                    TRAILER_LEN
                } else {
                    0
                };
                self.len().saturating_sub(headers + crcs)
            }
            Some(plan) => plan.largest().saturating_sub(headers),
        }
    }

    /// Octets from LRH to ICRC, if this is one packet.
    fn single_octets(&self) -> usize {
        let raw = self
            .bytes()
            .get(1)
            .is_some_and(|octet| octet & 3 < NextHeader::Bth.code());
        match (self.crc, raw) {
            (Crc::Present, _) => self.len().saturating_sub(TRAILER_LEN - ICRC_LEN),
            (Crc::Late, true) => self.len(),
            (Crc::Late, false) => self.len() + ICRC_LEN,
        }
    }

    /// How the octets are to be read as a packet.
    #[inline]
    #[must_use]
    pub fn form(&self) -> Form {
        match self.crc {
            Crc::Present => Form::Wire,
            Crc::Late if cut::Plan::of(self).is_some_and(|plan| plan.packets() > 1) => Form::Super,
            Crc::Late => Form::Late,
        }
    }

    /// Where in the frame the offload's IP packet begins; none when it was taken off the front.
    fn ip_offset(&self) -> Option<usize> {
        self.origin
            .checked_sub(self.start)
            .map(|offset| offset as usize)
    }

    const fn end(&self) -> usize {
        self.start as usize + self.len as usize
    }

    fn capacity(&self) -> usize {
        self.buffer.as_ref().map_or(0, |buffer| buffer.data.len())
    }

    /// All of the buffer, which from here on is this frame's alone.
    fn memory(&mut self) -> &mut [u8] {
        let used = self.start as usize..self.end();
        let Some(buffer) = &mut self.buffer else {
            return &mut [];
        };
        if Arc::get_mut(buffer).is_none() {
            let own = buffer.duplicate(used);
            Buffer::release(std::mem::replace(buffer, own));
        }
        match Arc::get_mut(buffer) {
            Some(buffer) => &mut buffer.data,
            None => &mut [],
        }
    }

    /// Moves to a larger buffer: `front` octets of headroom and `back` behind, and the usual on top.
    fn grow(&mut self, front: usize, back: usize) {
        let octets = HEADROOM + front + self.len() + back + pool::TAILROOM;
        let mut larger = Self::empty(Arc::new(Buffer::unpooled(octets)));
        larger.start = narrow(HEADROOM + front);
        let (start, end) = (larger.start as usize, larger.start as usize + self.len());
        larger.memory()[start..end].copy_from_slice(self.bytes());
        // The IP packet stays where it was in relation to the octets.
        self.origin = (self.origin + larger.start).saturating_sub(self.start);
        self.start = larger.start;
        if let Some(old) = std::mem::replace(&mut self.buffer, larger.buffer.take()) {
            Buffer::release(old);
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            Buffer::release(buffer);
        }
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("len", &self.len)
            .field("vl", &self.vl)
            .field("crc", &self.crc)
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

/// Offsets within a buffer, which is never anywhere near 4 GiB.
#[expect(
    clippy::cast_possible_truncation,
    reason = "buffers are far smaller than 4 GiB"
)]
const fn narrow(octets: usize) -> u32 {
    octets as u32
}
