//! P_Key tables: which keys a port is to have, and where in its table.

use softib_wire::addr::{Guid, PKey};

use super::config::{Members, Membership, Partition};

/// Keys of one block of a table.
pub(super) const BLOCK: usize = 32;

/// The keys that an end port is to have, that of the default partition first.
///
/// Every port is at least a limited member of the default partition, or it could not talk to the subnet
/// administrator; the manager's own port is a full one.
pub(super) fn wanted(
    partitions: &[Partition],
    port: Guid,
    node: Guid,
    is_manager: bool,
) -> Vec<PKey> {
    let mut keys = vec![PKey::DEFAULT_LIMITED];
    if is_manager {
        keys[0] = PKey::DEFAULT_FULL;
    }
    for partition in partitions {
        let membership = match &partition.members {
            Members::All(membership) => Some(*membership),
            Members::Ports(ports) => {
                let of = |guid| ports.get(&guid).copied();
                of(port).max(of(node))
            }
        };
        let Some(membership) = membership else {
            continue;
        };
        let key = membership.pkey(partition.pkey);
        if partition.pkey.partition() != PKey::DEFAULT_FULL.partition() {
            keys.push(key);
        } else if membership == Membership::Full {
            keys[0] = key;
        }
    }
    keys
}

/// Where the keys go in a table that holds `known`. Keys stay where they are, because clients name
/// them by their place; gone ones leave a gap, new ones fill gaps. The first wanted key is at index 0.
/// What does not fit into `capacity` is left out.
pub(super) fn arrange(known: &[PKey], wanted: &[PKey], capacity: usize) -> Vec<PKey> {
    let mut table = vec![PKey::default(); known.len().min(capacity).max(1)];
    let mut left: Vec<PKey> = Vec::new();
    for (rank, &key) in wanted.iter().enumerate() {
        let same = |other: &PKey| other.is_valid() && other.partition() == key.partition();
        let place = known.iter().position(same);
        match place {
            _ if rank == 0 => table[0] = key,
            Some(place) if place != 0 && place < capacity => table[place] = key,
            _ => left.push(key),
        }
    }
    for key in left {
        match table.iter().skip(1).position(|slot| !slot.is_valid()) {
            Some(gap) => table[gap + 1] = key,
            None if table.len() < capacity => table.push(key),
            None => {}
        }
    }
    while table.last().is_some_and(|key| !key.is_valid()) {
        table.pop();
    }
    table
}

/// Blocks in which two tables differ. An unknown table differs wherever the wanted one has keys, and
/// in its first block.
pub(super) fn changed_blocks(known: Option<&[PKey]>, wanted: &[PKey]) -> Vec<u16> {
    let longest = known.map_or(0, <[PKey]>::len).max(wanted.len()).max(1);
    (0..longest.div_ceil(BLOCK))
        .filter(|&at| known.is_none_or(|known| block(known, at) != block(wanted, at)))
        .filter_map(|at| u16::try_from(at).ok())
        .collect()
}

/// One block of a table.
pub(super) fn block(table: &[PKey], at: usize) -> [PKey; BLOCK] {
    core::array::from_fn(|i| table.get(at * BLOCK + i).copied().unwrap_or_default())
}

/// Whether switches must check P_Keys: with one partition that all are full members of there is
/// nothing to check.
pub(super) fn need_enforcement(partitions: &[Partition]) -> bool {
    !matches!(
        partitions,
        [] | [Partition {
            pkey: PKey::DEFAULT_FULL | PKey::DEFAULT_LIMITED,
            members: Members::All(Membership::Full),
            ..
        }]
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn key(bits: u16) -> PKey {
        PKey::new(bits)
    }

    #[test]
    fn everybody_is_in_the_default_partition() {
        let (port, node) = (Guid::new(2), Guid::new(1));
        assert_eq!(
            wanted(&[Partition::default()], port, node, false),
            [PKey::DEFAULT_FULL]
        );
        assert_eq!(wanted(&[], port, node, false), [PKey::DEFAULT_LIMITED]);
        assert_eq!(wanted(&[], port, node, true), [PKey::DEFAULT_FULL]);
    }

    #[test]
    fn members_by_port_or_node() {
        let partition = |pkey, guid, membership| Partition {
            pkey: key(pkey),
            members: Members::Ports(BTreeMap::from([(Guid::new(guid), membership)])),
            ipoib: None,
        };
        let partitions = [
            Partition::default(),
            partition(0x8001, 1, Membership::Full),
            partition(0x0002, 2, Membership::Limited),
            partition(0x0003, 9, Membership::Full),
        ];
        assert_eq!(
            wanted(&partitions, Guid::new(2), Guid::new(1), false),
            [key(0xFFFF), key(0x8001), key(0x0002)]
        );
    }

    #[test]
    fn keys_keep_their_place() {
        let known = [key(0xFFFF), key(0x8001), key(0x8002), key(0x8003)];
        let table = arrange(
            &known,
            &[key(0xFFFF), key(0x0003), key(0x8004), key(0x8001)],
            32,
        );
        assert_eq!(table, [key(0xFFFF), key(0x8001), key(0x8004), key(0x0003)]);
        // Less than fits.
        let table = arrange(&known, &[key(0x7FFF), key(0x8005)], 1);
        assert_eq!(table, [key(0x7FFF)]);
        // The default key is moved to the front.
        let table = arrange(&[key(0x8001), key(0xFFFF)], &[key(0xFFFF), key(0x8001)], 4);
        assert_eq!(table, [key(0xFFFF), key(0x8001)]);
    }

    #[test]
    fn only_changed_blocks_are_written() {
        let long: Vec<PKey> = (1..=40).map(|i| key(0x8000 | i)).collect();
        assert_eq!(changed_blocks(Some(&long), &long), [0u16; 0]);
        assert_eq!(changed_blocks(Some(&long[..33]), &long), [1]);
        assert_eq!(changed_blocks(None, &long), [0, 1]);
        assert_eq!(changed_blocks(None, &[]), [0]);
    }

    #[test]
    fn one_partition_of_all_needs_no_enforcement() {
        assert!(!need_enforcement(&[Partition::default()]));
        let limited = Partition {
            members: Members::All(Membership::Limited),
            ..Partition::default()
        };
        assert!(need_enforcement(&[limited]));
        let other = Partition {
            pkey: key(1),
            ..Partition::default()
        };
        assert!(need_enforcement(&[Partition::default(), other]));
    }
}
