//! Which partition the interface belongs to, and where the port's P_Key table has its key.

use softib_wire::addr::PKey;

/// How the partition of an interface is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partition {
    /// That of the table's first entry, whatever it is: an interface of the port itself.
    First,
    /// A given one: a child interface. The membership bit does not matter.
    Named(PKey),
}

/// A partition looked up in a P_Key table.
#[derive(Debug)]
pub(crate) struct PartitionIndex {
    partition: Partition,
    /// With the membership bit set, which is how groups are named (RFC 4391 §4.1).
    pkey: PKey,
    /// `None`: the port is not in the partition.
    index: Option<u16>,
}

/// What a new P_Key table means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartitionChange {
    /// Nothing.
    None,
    /// Another partition, another index, or presence itself: start over.
    Changed,
}

impl PartitionIndex {
    pub(crate) fn new(partition: Partition, table: &[PKey]) -> Self {
        let mut index = Self {
            partition,
            pkey: PKey::new(0).full(),
            index: None,
        };
        index.set_table(table);
        index
    }

    pub(crate) fn set_table(&mut self, table: &[PKey]) -> PartitionChange {
        let old = (self.pkey, self.index);
        match self.partition {
            Partition::First => {
                let first = table.first().copied().unwrap_or_default();
                self.pkey = first.full();
                self.index = first.is_valid().then_some(0);
            }
            Partition::Named(pkey) => {
                self.pkey = pkey.full();
                // A full membership is preferred to a limited one, should the table have both.
                let find = |wanted: PKey| table.iter().position(|&entry| entry == wanted);
                let limited = PKey::new(pkey.partition());
                self.index = find(pkey.full())
                    .or_else(|| find(limited))
                    .filter(|_| pkey.is_valid())
                    .and_then(|index| u16::try_from(index).ok());
            }
        }
        if old == (self.pkey, self.index) {
            PartitionChange::None
        } else {
            PartitionChange::Changed
        }
    }

    pub(crate) const fn pkey(&self) -> PKey {
        self.pkey
    }

    pub(crate) const fn index(&self) -> Option<u16> {
        self.index
    }

    pub(crate) const fn is_present(&self) -> bool {
        self.index.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_entry() {
        let mut index = PartitionIndex::new(Partition::First, &[]);
        assert!(!index.is_present());
        assert_eq!(index.set_table(&[PKey::new(0x8000)]), PartitionChange::None);
        assert_eq!(
            index.set_table(&[PKey::new(0x7FFF)]),
            PartitionChange::Changed
        );
        assert_eq!((index.pkey(), index.index()), (PKey::new(0xFFFF), Some(0)));
        assert_eq!(
            index.set_table(&[PKey::new(0x7FFF), PKey::new(1)]),
            PartitionChange::None
        );
    }

    #[test]
    fn named_entry() {
        let table = [PKey::new(0xFFFF), PKey::new(0x000A), PKey::new(0x800A)];
        let mut index = PartitionIndex::new(Partition::Named(PKey::new(0x000A)), &table);
        assert_eq!((index.pkey(), index.index()), (PKey::new(0x800A), Some(2)));
        assert_eq!(index.set_table(&table[..2]), PartitionChange::Changed);
        assert_eq!(index.index(), Some(1));
        assert_eq!(index.set_table(&table[..1]), PartitionChange::Changed);
        assert!(!index.is_present());
    }
}
