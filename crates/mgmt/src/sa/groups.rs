//! Multicast groups, their members and their multicast LIDs.

use std::collections::{BTreeMap, BTreeSet};

use softib_wire::addr::{Gid, Guid, Lid, PKey};
use softib_wire::mad::sa::{JoinState, McMemberRecord};
use softib_wire::units::{Mtu, Rate, Selector};

use super::Changes;
use crate::sm::{SmConfig, SmEvent};

/// The multicast LIDs that there can be: 0xC000 to 0xFFFE.
const MOST_MLIDS: u16 = 0x3FFF;

/// A multicast group.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Parameters, with the selectors "exactly", and without a member.
    pub(crate) record: McMemberRecord,
    pub(crate) mtu: Mtu,
    pub(crate) rate: Rate,
    /// It belongs to a partition and stays when nobody is left.
    pub(crate) well_known: bool,
    /// By port GUID.
    pub(crate) members: BTreeMap<Guid, Member>,
}

/// A member of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) join_state: JoinState,
    pub(crate) port_gid: Gid,
    pub(crate) proxy: bool,
}

/// All groups.
#[derive(Debug)]
pub(super) struct Groups {
    by_mgid: BTreeMap<Gid, Group>,
    /// Groups of each multicast LID, less 0xC000: usually one.
    by_mlid: BTreeMap<u16, BTreeSet<Gid>>,
    /// How many multicast LIDs every switch can do.
    capacity: u16,
    /// MGIDs that this administrator made up.
    made_up: u64,
}

impl Default for Groups {
    fn default() -> Self {
        Self {
            by_mgid: BTreeMap::new(),
            by_mlid: BTreeMap::new(),
            capacity: MOST_MLIDS,
            made_up: 0,
        }
    }
}

impl Group {
    /// The record of a member, or of nobody.
    pub(super) fn record_of(&self, member: Option<&Member>) -> McMemberRecord {
        let mut record = self.record;
        if let Some(member) = member {
            record.port_gid = member.port_gid;
            record.join_state = member.join_state;
            record.proxy_join = member.proxy;
        }
        record
    }
}

impl Groups {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Gid, &Group)> {
        self.by_mgid.iter()
    }

    pub(super) fn get(&self, mgid: Gid) -> Option<&Group> {
        self.by_mgid.get(&mgid)
    }

    pub(super) fn mlid_indices(&self) -> impl Iterator<Item = u16> + '_ {
        self.by_mlid.keys().copied()
    }

    pub(super) fn members(&self, index: u16) -> impl Iterator<Item = (Guid, bool)> + '_ {
        self.by_mlid
            .get(&index)
            .into_iter()
            .flatten()
            .filter_map(|mgid| self.by_mgid.get(mgid))
            .flat_map(|group| &group.members)
            .map(|(&guid, member)| (guid, member.join_state.receives()))
    }

    /// Makes the groups of partitions; those of partitions that are no more lose their privilege.
    pub(super) fn configure(&mut self, config: &SmConfig, capacity: Option<u16>) -> Changes {
        self.capacity = capacity.unwrap_or(MOST_MLIDS).min(MOST_MLIDS);
        let mut changes = Changes::default();
        let mut wanted = BTreeMap::new();
        for partition in &config.partitions {
            let Some(ipoib) = &partition.ipoib else {
                continue;
            };
            let mgid = ipoib.mgid(partition.pkey);
            let record = McMemberRecord {
                mgid,
                qkey: ipoib.qkey,
                mtu_selector: Selector::Exactly,
                mtu: Some(ipoib.mtu),
                traffic_class: ipoib.traffic_class,
                pkey: partition.pkey.full(),
                rate_selector: Selector::Exactly,
                rate: Some(ipoib.rate),
                life_time_selector: Selector::Exactly,
                life_time: config.packet_life_time,
                sl: ipoib.sl,
                flow_label: ipoib.flow_label,
                hop_limit: ipoib.hop_limit(),
                scope: ipoib.scope & 15,
                ..McMemberRecord::default()
            };
            wanted.insert(mgid, (record, ipoib.mtu, ipoib.rate));
        }
        let no_more: Vec<Gid> = self
            .by_mgid
            .iter()
            .filter(|(mgid, group)| group.well_known && !wanted.contains_key(mgid))
            .map(|(&mgid, _)| mgid)
            .collect();
        for mgid in no_more {
            if let Some(group) = self.by_mgid.get_mut(&mgid) {
                group.well_known = false;
            }
            self.drop_if_unused(mgid, &mut changes);
        }
        for (mgid, (mut record, mtu, rate)) in wanted {
            if let Some(group) = self.by_mgid.get_mut(&mgid) {
                record.mlid = group.record.mlid;
                (group.record, group.mtu, group.rate) = (record, mtu, rate);
                group.well_known = true;
            } else if let Some(group) = self.create(record, mtu, rate, &mut changes) {
                group.well_known = true;
            } else {
                changes.events.push(SmEvent::OutOfMlids(mgid));
            }
        }
        changes
    }

    /// A new group with these parameters and a multicast LID. `None`: there is no LID left for it.
    pub(super) fn create(
        &mut self,
        mut record: McMemberRecord,
        mtu: Mtu,
        rate: Rate,
        changes: &mut Changes,
    ) -> Option<&mut Group> {
        let index = self.free_mlid(&record)?;
        record.mlid = Lid::new(Lid::MULTICAST_FIRST.bits() + index);
        record.mtu = Some(mtu);
        record.rate = Some(rate);
        record.mtu_selector = Selector::Exactly;
        record.rate_selector = Selector::Exactly;
        record.life_time_selector = Selector::Exactly;
        record.port_gid = Gid::NONE;
        record.join_state = JoinState::empty();
        record.proxy_join = false;
        self.by_mlid.entry(index).or_default().insert(record.mgid);
        changes.events.push(SmEvent::GroupCreated(record.mgid));
        let group = Group {
            record,
            mtu,
            rate,
            well_known: false,
            members: BTreeMap::new(),
        };
        self.by_mgid.insert(record.mgid, group);
        self.by_mgid.get_mut(&record.mgid)
    }

    /// The lowest multicast LID that no group has. When all are taken, that of a group with the same
    /// parameters, chosen by the MGID: receivers tell the groups apart by MGID (IBA 10.5.2.1).
    fn free_mlid(&self, record: &McMemberRecord) -> Option<u16> {
        let mut next = 0;
        for &taken in self.by_mlid.keys() {
            if taken > next {
                break;
            }
            next = taken + 1;
        }
        if next < self.capacity {
            return Some(next);
        }
        let alike: Vec<u16> = self
            .by_mlid
            .iter()
            .filter(|(_, mgids)| {
                mgids.iter().all(|mgid| {
                    self.by_mgid.get(mgid).is_some_and(|group| {
                        !group.well_known
                            && group.record.pkey == record.pkey
                            && group.record.sl == record.sl
                    })
                })
            })
            .map(|(&index, _)| index)
            .collect();
        let octets = record.mgid.octets();
        let hash = octets.iter().fold(0usize, |hash, &octet| {
            hash.wrapping_mul(31).wrapping_add(usize::from(octet))
        });
        alike.get(hash.checked_rem(alike.len())?).copied()
    }

    /// Adds to how a port is a member.
    pub(super) fn join(&mut self, mgid: Gid, guid: Guid, member: Member, changes: &mut Changes) {
        let Some(group) = self.by_mgid.get_mut(&mgid) else {
            return;
        };
        let old = group.members.get(&guid).copied();
        let mut new = member;
        if let Some(old) = old {
            new.join_state |= old.join_state;
        }
        group.members.insert(guid, new);
        let receives = |member: Member| member.join_state.receives();
        if old.map(receives) != Some(receives(new)) {
            changes.mlids.push(index(&group.record));
        }
    }

    /// Takes away from how a port is a member. The group goes when nobody keeps it.
    pub(super) fn leave(
        &mut self,
        mgid: Gid,
        guid: Guid,
        join_state: JoinState,
        changes: &mut Changes,
    ) {
        let Some(group) = self.by_mgid.get_mut(&mgid) else {
            return;
        };
        let Some(member) = group.members.get_mut(&guid) else {
            return;
        };
        member.join_state.remove(join_state);
        if member.join_state.is_empty() {
            group.members.remove(&guid);
        }
        changes.mlids.push(index(&group.record));
        self.drop_if_unused(mgid, changes);
    }

    pub(super) fn port_gone(&mut self, guid: Guid) -> Changes {
        let mut changes = Changes::default();
        let left: Vec<Gid> = self
            .by_mgid
            .iter()
            .filter(|(_, group)| group.members.contains_key(&guid))
            .map(|(&mgid, _)| mgid)
            .collect();
        for mgid in left {
            self.leave(mgid, guid, JoinState::all(), &mut changes);
        }
        changes
    }

    /// IBA 15.2.5.17.3: a group is deleted when its last full member leaves.
    fn drop_if_unused(&mut self, mgid: Gid, changes: &mut Changes) {
        let Some(group) = self.by_mgid.get(&mgid) else {
            return;
        };
        let kept = group
            .members
            .values()
            .any(|member| member.join_state.sustains());
        if group.well_known || kept {
            return;
        }
        let index = index(&group.record);
        self.by_mgid.remove(&mgid);
        if let Some(mgids) = self.by_mlid.get_mut(&index) {
            mgids.remove(&mgid);
            if mgids.is_empty() {
                self.by_mlid.remove(&index);
            }
        }
        changes.mlids.push(index);
        changes.events.push(SmEvent::GroupDeleted(mgid));
    }

    /// An MGID that nobody has, for who asks for a group without naming one.
    pub(super) fn make_up_mgid(&mut self, scope: u8, pkey: PKey, prefix: u64) -> Gid {
        loop {
            self.made_up += 1;
            let [high, low] = pkey.full().bits().to_be_bytes();
            let mut octets = [0; 16];
            octets[..6].copy_from_slice(&[0xFF, 0x10 | scope & 15, 0xA0, 0x1B, high, low]);
            octets[8..].copy_from_slice(&(prefix ^ self.made_up).to_be_bytes());
            let mgid = Gid::new(octets);
            if !self.by_mgid.contains_key(&mgid) {
                return mgid;
            }
        }
    }
}

/// The multicast LID of a group, less 0xC000.
pub(super) const fn index(record: &McMemberRecord) -> u16 {
    record.mlid.bits().wrapping_sub(Lid::MULTICAST_FIRST.bits())
}
