//! Protection domains, regions and windows of one adapter by their numbers.

use std::collections::VecDeque;

use super::{Access, Keys, LKey, Memory, MemoryFault, PdId, RKey};
use crate::hca::qp::{QpId, VerbError};

/// Keys have 24 bits of index.
const SLOTS_MAX: usize = 1 << 24;

/// Slots that are left unused, if there are others, so that a key's variant comes back late.
const RESTING: usize = 64;

/// All of an adapter's.
#[derive(Debug, Default)]
pub(in crate::hca) struct Memories {
    /// By number: what uses a domain; none where there is no such domain.
    domains: Vec<Option<u32>>,
    pub(super) slots: Vec<Slot>,
    /// Slots with nothing in them: the one given back last is used again last.
    free: VecDeque<u32>,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) variant: u8,
    pub(super) entry: Entry,
}

#[derive(Debug)]
pub(super) enum Entry {
    Free,
    Region(Region),
    Window(Window),
}

#[derive(Debug)]
pub(super) struct Region {
    pub(super) pd: PdId,
    pub(super) base: u64,
    pub(super) access: Access,
    /// Windows that are bound to it.
    pub(super) windows: u32,
    pub(super) memory: Box<dyn Memory>,
}

/// A window of type 2.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) pd: PdId,
    pub(super) bound: Option<Bound>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) qp: QpId,
    pub(super) region: u32,
    pub(super) base: u64,
    pub(super) length: u64,
    pub(super) access: Access,
}

/// To which memory a window is to be bound, and what for (IBA 10.6.7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind {
    /// The window's key. It gets the variant given here, which must differ from the last one it
    /// was bound with, as a key that was invalidated must not open anything again.
    pub window: RKey,
    /// The region, which must allow [`Access::WINDOW_BIND`].
    pub region: LKey,
    /// Where the window begins, in the region's addresses.
    pub address: u64,
    /// Octets of the window.
    pub length: u64,
    /// What the other side may do by it.
    pub access: Access,
}

impl Memories {
    // ---- Protection domains ----

    pub(in crate::hca) fn create_pd(&mut self) -> PdId {
        let free = self.domains.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.domains.push(None);
            self.domains.len() - 1
        });
        self.domains[index] = Some(0);
        PdId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    pub(in crate::hca) fn destroy_pd(&mut self, pd: PdId) -> Result<(), VerbError> {
        let slot = self.domain(pd)?;
        match *slot {
            Some(users) if users > 0 => Err(VerbError::PdInUse { users }),
            _ => {
                *slot = None;
                Ok(())
            }
        }
    }

    /// Counts one more user of a domain.
    pub(in crate::hca) fn use_pd(&mut self, pd: PdId) -> Result<(), VerbError> {
        if let Some(users) = self.domain(pd)? {
            *users += 1;
        }
        Ok(())
    }

    /// Counts one less.
    pub(in crate::hca) fn leave_pd(&mut self, pd: PdId) {
        if let Ok(Some(users)) = self.domain(pd) {
            *users = users.saturating_sub(1);
        }
    }

    fn domain(&mut self, pd: PdId) -> Result<&mut Option<u32>, VerbError> {
        self.domains
            .get_mut(pd.0 as usize)
            .filter(|users| users.is_some())
            .ok_or(VerbError::NoSuchPd)
    }

    // ---- Regions and windows ----

    pub(in crate::hca) fn register(
        &mut self,
        pd: PdId,
        base: u64,
        memory: Box<dyn Memory>,
        access: Access,
    ) -> Result<Keys, VerbError> {
        self.domain(pd)?;
        if !access.is_consistent() {
            return Err(VerbError::AccessRights { access });
        }
        let length = memory.len() as u64;
        // The last octet has an address.
        if length > 0 && base.checked_add(length - 1).is_none() {
            return Err(VerbError::AddressRange { base, length });
        }
        let region = Region {
            pd,
            base,
            access,
            windows: 0,
            memory,
        };
        let (index, variant) = self.insert(Entry::Region(region))?;
        self.use_pd(pd)?;
        Ok(Keys {
            lkey: LKey::of(index, variant),
            rkey: RKey::of(index, variant),
        })
    }

    pub(in crate::hca) fn deregister(&mut self, lkey: LKey) -> Result<Box<dyn Memory>, VerbError> {
        let region = self.region(lkey).ok_or(VerbError::NoSuchRegion { lkey })?;
        let (pd, windows) = (region.pd, region.windows);
        if windows > 0 {
            return Err(VerbError::RegionInUse { lkey, windows });
        }
        let Some(Entry::Region(region)) = self.remove(lkey.index()) else {
            return Err(VerbError::NoSuchRegion { lkey });
        };
        self.leave_pd(pd);
        Ok(region.memory)
    }

    pub(in crate::hca) fn memory(&self, lkey: LKey) -> Option<&dyn Memory> {
        Some(&*self.region(lkey)?.memory)
    }

    pub(in crate::hca) fn memory_mut(&mut self, lkey: LKey) -> Option<&mut dyn Memory> {
        match self.entry_mut(lkey.index(), lkey.variant())? {
            Entry::Region(region) => Some(&mut *region.memory),
            Entry::Window(_) | Entry::Free => None,
        }
    }

    pub(in crate::hca) fn create_window(&mut self, pd: PdId) -> Result<RKey, VerbError> {
        self.domain(pd)?;
        let (index, variant) = self.insert(Entry::Window(Window { pd, bound: None }))?;
        self.use_pd(pd)?;
        Ok(RKey::of(index, variant))
    }

    /// Takes a window away, bound or not.
    pub(in crate::hca) fn destroy_window(&mut self, rkey: RKey) -> Result<(), VerbError> {
        let window = self.window(rkey).ok_or(VerbError::NoSuchWindow { rkey })?;
        let (pd, bound) = (window.pd, window.bound);
        self.release(bound);
        self.remove(rkey.index());
        self.leave_pd(pd);
        Ok(())
    }

    /// Binds a window (IBA 10.6.7.2.2). Nothing has changed when it is refused.
    pub(in crate::hca) fn bind(
        &mut self,
        pd: PdId,
        qp: QpId,
        bind: &Bind,
    ) -> Result<(), MemoryFault> {
        let rkey = bind.window;
        // The variant in the request is the one that the window is to get.
        let slot = self.slots.get(rkey.index() as usize);
        let Some(Entry::Window(window)) = slot.map(|slot| &slot.entry) else {
            return Err(MemoryFault::NoWindow { rkey });
        };
        if window.bound.is_some() {
            return Err(MemoryFault::Bound { rkey });
        }
        if window.pd != pd {
            return Err(MemoryFault::ProtectionDomain { key: rkey.bits() });
        }
        let region = self
            .region(bind.region)
            .ok_or(MemoryFault::LocalKey { lkey: bind.region })?;
        if region.pd != pd {
            return Err(MemoryFault::ProtectionDomain {
                key: bind.region.bits(),
            });
        }
        let mut wanted = Access::WINDOW_BIND;
        if bind
            .access
            .intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC)
        {
            wanted |= Access::LOCAL_WRITE;
        }
        check_right(wanted, region.access)?;
        check_bounds(
            region.base,
            region.memory.len() as u64,
            bind.address,
            bind.length,
        )?;
        let bound = Bound {
            qp,
            region: bind.region.index(),
            base: bind.address,
            length: bind.length,
            access: bind.access,
        };
        if let Some(slot) = self.slots.get_mut(rkey.index() as usize)
            && let Entry::Window(window) = &mut slot.entry
        {
            slot.variant = rkey.variant();
            window.bound = Some(bound);
        }
        if let Some(Entry::Region(region)) = self.at_mut(bound.region) {
            region.windows += 1;
        }
        Ok(())
    }

    /// Invalidates a bound window's key, by a local work request or a SEND with invalidate
    /// (IBA 10.6.7.2.3, 9.4.1.1).
    pub(in crate::hca) fn invalidate(
        &mut self,
        pd: PdId,
        qp: QpId,
        rkey: RKey,
    ) -> Result<(), MemoryFault> {
        let window = self.window(rkey).ok_or(MemoryFault::NoWindow { rkey })?;
        let bound = window.bound.ok_or(MemoryFault::RemoteKey { rkey })?;
        if window.pd != pd {
            return Err(MemoryFault::ProtectionDomain { key: rkey.bits() });
        }
        if bound.qp != qp {
            return Err(MemoryFault::QueuePair { rkey });
        }
        self.unbind(rkey.index());
        Ok(())
    }

    /// Unbinds all windows that were bound by way of a queue pair that goes away.
    pub(in crate::hca) fn forget_qp(&mut self, qp: QpId) {
        let mut bound = Vec::new();
        for (index, slot) in (0..).zip(&self.slots) {
            if let Entry::Window(window) = &slot.entry
                && window.bound.is_some_and(|bound| bound.qp == qp)
            {
                bound.push(index);
            }
        }
        for index in bound {
            self.unbind(index);
        }
    }

    // ---- Slots ----

    fn insert(&mut self, entry: Entry) -> Result<(u32, u8), VerbError> {
        let index = if self.free.len() <= RESTING && self.slots.len() < SLOTS_MAX {
            self.slots.push(Slot {
                variant: 0,
                entry: Entry::Free,
            });
            u32::try_from(self.slots.len() - 1).map_err(|_| VerbError::NoKeyLeft)?
        } else {
            self.free.pop_front().ok_or(VerbError::NoKeyLeft)?
        };
        let slot = &mut self.slots[index as usize];
        slot.variant = slot.variant.wrapping_add(1);
        slot.entry = entry;
        Ok((index, slot.variant))
    }

    fn remove(&mut self, index: u32) -> Option<Entry> {
        let slot = self.slots.get_mut(index as usize)?;
        self.free.push_back(index);
        Some(std::mem::replace(&mut slot.entry, Entry::Free))
    }

    fn unbind(&mut self, index: u32) {
        if let Some(Entry::Window(window)) = self.at_mut(index) {
            let bound = window.bound.take();
            self.release(bound);
        }
    }

    fn release(&mut self, bound: Option<Bound>) {
        if let Some(bound) = bound
            && let Some(Entry::Region(region)) = self.at_mut(bound.region)
        {
            region.windows = region.windows.saturating_sub(1);
        }
    }

    #[inline]
    pub(super) fn entry(&self, index: u32, variant: u8) -> Option<&Entry> {
        let slot = self.slots.get(index as usize)?;
        (slot.variant == variant).then_some(&slot.entry)
    }

    fn entry_mut(&mut self, index: u32, variant: u8) -> Option<&mut Entry> {
        let slot = self.slots.get_mut(index as usize)?;
        (slot.variant == variant).then_some(&mut slot.entry)
    }

    pub(super) fn at_mut(&mut self, index: u32) -> Option<&mut Entry> {
        self.slots
            .get_mut(index as usize)
            .map(|slot| &mut slot.entry)
    }

    pub(super) fn region(&self, lkey: LKey) -> Option<&Region> {
        match self.entry(lkey.index(), lkey.variant())? {
            Entry::Region(region) => Some(region),
            Entry::Window(_) | Entry::Free => None,
        }
    }

    fn window(&self, rkey: RKey) -> Option<&Window> {
        match self.entry(rkey.index(), rkey.variant())? {
            Entry::Window(window) => Some(window),
            Entry::Region(_) | Entry::Free => None,
        }
    }
}

pub(super) fn check_right(wanted: Access, given: Access) -> Result<(), MemoryFault> {
    if given.contains(wanted) {
        Ok(())
    } else {
        Err(MemoryFault::Right { wanted, given })
    }
}

/// Gives how far in the access begins.
pub(super) fn check_bounds(
    base: u64,
    have: u64,
    address: u64,
    length: u64,
) -> Result<u64, MemoryFault> {
    address
        .checked_sub(base)
        .filter(|offset| offset.checked_add(length).is_some_and(|end| end <= have))
        .ok_or(MemoryFault::Bounds {
            address,
            length,
            base,
            have,
        })
}
