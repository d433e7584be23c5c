//! Accesses: by L_Key, with gather and scatter lists, and by R_Key (IBA 10.6.3, 9.7.4.1.5).

use super::table::{Entry, Memories, Region, check_bounds, check_right};
use super::{Access, MemoryFault, PdId, RKey, Sge};
use crate::hca::qp::QpId;

/// What a remote access asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::hca) struct RemoteRange {
    pub(in crate::hca) rkey: RKey,
    pub(in crate::hca) address: u64,
    pub(in crate::hca) length: u64,
}

/// A checked piece of a region.
#[derive(Debug, Clone, Copy)]
struct Place {
    slot: u32,
    offset: usize,
}

impl Memories {
    /// Checks a gather or scatter list, and gives the octets that it has room for. `write`:
    /// whether the access changes the memory.
    pub(in crate::hca) fn check_list(
        &self,
        pd: PdId,
        list: &[Sge],
        write: bool,
    ) -> Result<u64, MemoryFault> {
        let mut octets = 0;
        for piece in list {
            self.local(pd, piece, write)?;
            octets += u64::from(piece.length);
        }
        Ok(octets)
    }

    /// Copies to the places that a scatter list names, from octet `skip` of it on. Octets that it
    /// has no room for are left.
    pub(in crate::hca) fn scatter(
        &mut self,
        pd: PdId,
        list: &[Sge],
        skip: u64,
        mut from: &[u8],
    ) -> Result<(), MemoryFault> {
        let mut skip = skip;
        for piece in list {
            let Some((piece, octets)) = part(piece, &mut skip, from.len()) else {
                continue;
            };
            let (now, later) = from.split_at(octets);
            let place = self.local(pd, &piece, true)?;
            self.write_at(place, now);
            from = later;
        }
        Ok(())
    }

    /// Copies from the places that a gather list names, from octet `skip` of it on.
    pub(in crate::hca) fn gather(
        &self,
        pd: PdId,
        list: &[Sge],
        skip: u64,
        mut into: &mut [u8],
    ) -> Result<(), MemoryFault> {
        let mut skip = skip;
        for piece in list {
            let Some((piece, octets)) = part(piece, &mut skip, into.len()) else {
                continue;
            };
            let (now, later) = into.split_at_mut(octets);
            let place = self.local(pd, &piece, false)?;
            self.read_at(place, now);
            into = later;
        }
        Ok(())
    }

    /// Checks an access by R_Key without making it (IBA 9.7.4.1.5).
    pub(in crate::hca) fn check_remote(
        &self,
        pd: PdId,
        qp: QpId,
        remote: &RemoteRange,
        wanted: Access,
    ) -> Result<(), MemoryFault> {
        if remote.length == 0 {
            return Ok(());
        }
        self.remote(pd, qp, remote, wanted).map(|_| ())
    }

    /// Writes by R_Key.
    pub(in crate::hca) fn write_remote(
        &mut self,
        pd: PdId,
        qp: QpId,
        rkey: RKey,
        address: u64,
        from: &[u8],
    ) -> Result<(), MemoryFault> {
        if from.is_empty() {
            return Ok(());
        }
        let remote = RemoteRange {
            rkey,
            address,
            length: from.len() as u64,
        };
        let place = self.remote(pd, qp, &remote, Access::REMOTE_WRITE)?;
        self.write_at(place, from);
        Ok(())
    }

    /// Reads by R_Key.
    pub(in crate::hca) fn read_remote(
        &self,
        pd: PdId,
        qp: QpId,
        rkey: RKey,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), MemoryFault> {
        if into.is_empty() {
            return Ok(());
        }
        let remote = RemoteRange {
            rkey,
            address,
            length: into.len() as u64,
        };
        let place = self.remote(pd, qp, &remote, Access::REMOTE_READ)?;
        self.read_at(place, into);
        Ok(())
    }

    /// Makes an atomic operation by R_Key, and gives what was there before.
    pub(in crate::hca) fn atomic_remote(
        &mut self,
        pd: PdId,
        qp: QpId,
        rkey: RKey,
        address: u64,
        update: &mut dyn FnMut(u64) -> u64,
    ) -> Result<u64, MemoryFault> {
        if !address.is_multiple_of(8) {
            return Err(MemoryFault::Alignment { address });
        }
        let remote = RemoteRange {
            rkey,
            address,
            length: 8,
        };
        let place = self.remote(pd, qp, &remote, Access::REMOTE_ATOMIC)?;
        match self.at_mut(place.slot) {
            Some(Entry::Region(region)) => Ok(region.memory.atomic(place.offset, update)),
            _ => Err(MemoryFault::RemoteKey { rkey }),
        }
    }

    fn local(&self, pd: PdId, piece: &Sge, write: bool) -> Result<Place, MemoryFault> {
        let lkey = piece.lkey;
        let nothing = Place { slot: 0, offset: 0 };
        if piece.length == 0 {
            return Ok(nothing);
        }
        let region = self.region(lkey).ok_or(MemoryFault::LocalKey { lkey })?;
        if region.pd != pd {
            return Err(MemoryFault::ProtectionDomain { key: lkey.bits() });
        }
        if write {
            check_right(Access::LOCAL_WRITE, region.access)?;
        }
        region.place(lkey.index(), piece.address, u64::from(piece.length))
    }

    fn remote(
        &self,
        pd: PdId,
        qp: QpId,
        remote: &RemoteRange,
        wanted: Access,
    ) -> Result<Place, MemoryFault> {
        let rkey = remote.rkey;
        let missing = MemoryFault::RemoteKey { rkey };
        let entry = self.entry(rkey.index(), rkey.variant()).ok_or(missing)?;
        let (domain, region, index) = match entry {
            Entry::Free => return Err(missing),
            Entry::Region(region) => {
                check_pd(region.pd, pd, rkey)?;
                check_right(wanted, region.access)?;
                (region.pd, region, rkey.index())
            }
            Entry::Window(window) => {
                let bound = window.bound.ok_or(missing)?;
                check_pd(window.pd, pd, rkey)?;
                if bound.qp != qp {
                    return Err(MemoryFault::QueuePair { rkey });
                }
                check_right(wanted, bound.access)?;
                check_bounds(bound.base, bound.length, remote.address, remote.length)?;
                match self
                    .slots
                    .get(bound.region as usize)
                    .map(|slot| &slot.entry)
                {
                    Some(Entry::Region(region)) => (region.pd, region, bound.region),
                    _ => return Err(missing),
                }
            }
        };
        check_pd(domain, pd, rkey)?;
        region.place(index, remote.address, remote.length)
    }

    fn write_at(&mut self, place: Place, from: &[u8]) {
        if let Some(Entry::Region(region)) = self.at_mut(place.slot) {
            region.memory.write(place.offset, from);
        }
    }

    fn read_at(&self, place: Place, into: &mut [u8]) {
        if let Some(Entry::Region(region)) =
            self.slots.get(place.slot as usize).map(|slot| &slot.entry)
        {
            region.memory.read(place.offset, into);
        }
    }
}

impl Region {
    fn place(&self, slot: u32, address: u64, length: u64) -> Result<Place, MemoryFault> {
        let offset = check_bounds(self.base, self.memory.len() as u64, address, length)?;
        Ok(Place {
            slot,
            offset: usize::try_from(offset).unwrap_or(usize::MAX),
        })
    }
}

/// What a list's piece has for an access that begins `skip` octets further on and wants no more
/// than `wanted`; none when it is all before that.
fn part(piece: &Sge, skip: &mut u64, wanted: usize) -> Option<(Sge, usize)> {
    let length = u64::from(piece.length);
    let skipped = (*skip).min(length);
    *skip -= skipped;
    let left = u32::try_from(length - skipped).unwrap_or(u32::MAX);
    let octets = left.min(u32::try_from(wanted).unwrap_or(u32::MAX));
    (octets > 0).then(|| {
        let piece = Sge {
            lkey: piece.lkey,
            // Past the end of the address space it is out of bounds as well.
            address: piece.address.saturating_add(skipped),
            length: octets,
        };
        (piece, octets as usize)
    })
}

fn check_pd(have: PdId, pd: PdId, rkey: RKey) -> Result<(), MemoryFault> {
    if have == pd {
        Ok(())
    } else {
        Err(MemoryFault::ProtectionDomain { key: rkey.bits() })
    }
}
