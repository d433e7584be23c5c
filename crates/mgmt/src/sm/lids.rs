//! LIDs: every end port has one, and keeps it.

use std::collections::BTreeMap;

use softib_wire::addr::{Guid, Lid};

use super::database::{Database, PortId};

/// The largest unicast LID.
const LAST: u16 = 0xBFFF;

/// Which LID which port has, or had when it was last seen.
#[derive(Debug, Default)]
pub(super) struct Lids {
    of: BTreeMap<Guid, Lid>,
}

/// What came of an assignment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Assigned {
    /// Ports that had no LID from this manager yet.
    pub(super) new: Vec<(Guid, Lid)>,
    /// Ports that no LID was left for.
    pub(super) refused: Vec<Guid>,
}

impl Lids {
    /// Gives every end port its LID: the one that it had from this manager; or else the one that it
    /// has already, from an earlier manager, if no other port has it; or else the lowest that nobody
    /// has or had. Ports of channel adapters own 2^lmc LIDs each.
    pub(super) fn assign(&mut self, database: &mut Database, lmc: u8) -> Assigned {
        let ports: Vec<(PortId, Guid, Lid, u16)> = database
            .end_ports()
            .filter_map(|(id, port)| {
                let has = port.info.as_ref().map_or(Lid::NONE, |info| info.lid);
                let count = 1 << if id.port == 0 { 0 } else { lmc };
                Some((id, port.guid?, has, count))
            })
            .collect();
        let mut owners: Vec<Option<PortId>> = vec![None; usize::from(LAST) + 1];
        let mut taken: Vec<Option<(PortId, Lid)>> = vec![None; ports.len()];
        let keeps = |lid: Lid, count: u16, owners: &[Option<PortId>]| {
            let first = lid.bits();
            first != 0
                && first.is_multiple_of(count)
                && first <= LAST - (count - 1)
                && owners[range(first, count)].iter().all(Option::is_none)
        };
        for (entry, &(id, guid, _, count)) in taken.iter_mut().zip(&ports) {
            if let Some(&lid) = self.of.get(&guid)
                && keeps(lid, count, &owners)
            {
                owners[range(lid.bits(), count)].fill(Some(id));
                *entry = Some((id, lid));
            }
        }
        // LIDs of ports that are gone for now are given to others only when there is no other left.
        let reserved = self.reserved(database, lmc);
        let mut assigned = Assigned::default();
        for (entry, &(id, guid, has, count)) in taken.iter_mut().zip(&ports) {
            let free = |first: u16| {
                keeps(Lid::new(first), count, &owners)
                    && !reserved[range(first, count)].contains(&true)
            };
            if entry.is_none() && has.is_unicast() && free(has.bits()) {
                owners[range(has.bits(), count)].fill(Some(id));
                self.of.insert(guid, has);
                assigned.new.push((guid, has));
                *entry = Some((id, has));
            }
        }
        let mut search: BTreeMap<u16, u16> = BTreeMap::new();
        for (entry, &(id, guid, _, count)) in taken.iter_mut().zip(&ports) {
            if entry.is_some() {
                continue;
            }
            let from = search.entry(count).or_insert(count);
            let mut candidates = (*from..=LAST - (count - 1)).step_by(usize::from(count));
            let first = candidates
                .find(|&first| {
                    keeps(Lid::new(first), count, &owners)
                        && !reserved[range(first, count)].contains(&true)
                })
                .or_else(|| {
                    (count..=LAST - (count - 1))
                        .step_by(usize::from(count))
                        .find(|&first| keeps(Lid::new(first), count, &owners))
                });
            let Some(first) = first else {
                assigned.refused.push(guid);
                continue;
            };
            *from = first;
            let lid = Lid::new(first);
            owners[range(first, count)].fill(Some(id));
            self.of.retain(|_, old| *old != lid);
            self.of.insert(guid, lid);
            assigned.new.push((guid, lid));
            *entry = Some((id, lid));
        }
        for (entry, &(id, ..)) in taken.iter().zip(&ports) {
            if let Some(port) = database.port_mut(id) {
                port.lid = entry.map_or(Lid::NONE, |(_, lid)| lid);
            }
        }
        database.set_lid_owners(owners);
        assigned
    }

    fn reserved(&self, database: &Database, lmc: u8) -> Vec<bool> {
        let mut reserved = vec![false; usize::from(LAST) + 1];
        for (guid, lid) in &self.of {
            if database.by_port_guid(*guid).is_none() {
                let end = LAST.min(lid.bits().saturating_add((1 << lmc) - 1));
                reserved[usize::from(lid.bits())..=usize::from(end)].fill(true);
            }
        }
        reserved
    }
}

fn range(first: u16, count: u16) -> core::ops::Range<usize> {
    usize::from(first)..usize::from(first) + usize::from(count)
}
