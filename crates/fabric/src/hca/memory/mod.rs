//! Memory that work requests and packets may touch: protection domains, regions, windows
//! (IBA 10.6).
//!
//! Nothing here copies unless told to: [`Memory`] is whoever holds the octets, and the adapter asks
//! it for pieces. Every access is checked by key, protection domain, range and right, each time; a
//! check that fails is a [`MemoryFault`], and the memory is untouched. An access of 0 octets touches
//! nothing and checks nothing (IBA 9.7.4.1.5, C9-88).

#![cfg_attr(
    not(test),
    allow(
        dead_code,
        unused_imports,
        reason = "the queue pairs that use it come next"
    )
)]

mod access;
mod fault;
mod keys;
mod table;
#[cfg(test)]
mod tests;
mod verbs;

use std::fmt;

pub(in crate::hca) use access::RemoteRange;
pub use fault::MemoryFault;
pub use keys::{Access, Keys, LKey, PdId, RKey, Sge};
pub use table::Bind;
pub(in crate::hca) use table::Memories;

/// Who holds the octets of a memory region: the adapter's owner hands it in by registering it and
/// gets it back by deregistering it.
///
/// The adapter never asks for a range that is not wholly below [`len`](Self::len).
pub trait Memory: fmt::Debug + Send {
    /// Octets. It must not change while registered.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the octets from `offset` on into all of `into`.
    fn read(&self, offset: usize, into: &mut [u8]);

    /// Copies all of `from` to the octets from `offset` on.
    fn write(&mut self, offset: usize, from: &[u8]);

    /// Replaces the 8 octets at `offset`, a number in the machine's own order, by what `update`
    /// makes of it, and gives what it was. Memory that others change meanwhile does it atomically.
    fn atomic(&mut self, offset: usize, update: &mut dyn FnMut(u64) -> u64) -> u64 {
        let mut octets = [0; 8];
        self.read(offset, &mut octets);
        let before = u64::from_ne_bytes(octets);
        self.write(offset, &update(before).to_ne_bytes());
        before
    }
}

impl Memory for Vec<u8> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn read(&self, offset: usize, into: &mut [u8]) {
        let end = offset.saturating_add(into.len());
        if let Some(octets) = self.get(offset..end) {
            into.copy_from_slice(octets);
        }
    }

    fn write(&mut self, offset: usize, from: &[u8]) {
        let end = offset.saturating_add(from.len());
        if let Some(octets) = self.get_mut(offset..end) {
            octets.copy_from_slice(from);
        }
    }
}
