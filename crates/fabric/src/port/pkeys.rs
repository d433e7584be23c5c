//! A port's P_Key table (IBA 10.9.2).

use softib_wire::addr::PKey;
use softib_wire::mad::tables::PKeyBlock;

/// The P_Key table of a port. Entries that name no partition are free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyTable(Vec<PKey>);

impl PKeyTable {
    /// A table of `capacity` entries: full membership of the default partition at index 0, as
    /// before any subnet manager came (IBA 10.9.1.1).
    pub(crate) fn new(capacity: u16) -> Self {
        let mut entries = vec![PKey::default(); usize::from(capacity.max(1))];
        entries[0] = PKey::DEFAULT_FULL;
        Self(entries)
    }

    /// Entries that the table has.
    #[must_use]
    pub fn capacity(&self) -> u16 {
        u16::try_from(self.0.len()).unwrap_or(u16::MAX)
    }

    /// The entries in order.
    #[must_use]
    pub fn entries(&self) -> &[PKey] {
        &self.0
    }

    /// The entry at `index`, if it names a partition.
    #[inline]
    #[must_use]
    pub fn get(&self, index: u16) -> Option<PKey> {
        self.0
            .get(usize::from(index))
            .copied()
            .filter(|pkey| pkey.is_valid())
    }

    /// The index of the first entry that lets a packet with `pkey` pass.
    #[inline]
    #[must_use]
    pub fn matching(&self, pkey: PKey) -> Option<u16> {
        let index = self.0.iter().position(|entry| entry.matches(pkey))?;
        u16::try_from(index).ok()
    }

    /// Whether an entry names the partition of `pkey`, whatever the membership: what a switch asks
    /// of packets that come in. By the rule of IBA 10.9.3 a limited member, behind a port that
    /// managers give the member's own table, could not send at all.
    #[must_use]
    pub fn names(&self, pkey: PKey) -> bool {
        let same = |entry: &PKey| entry.is_valid() && entry.partition() == pkey.partition();
        self.0.iter().any(same)
    }

    /// Block `block` of 32 entries; entries beyond the table are 0.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<PKeyBlock> {
        let entries = self.0.chunks(BLOCK).nth(block.into())?;
        let mut out = [PKey::default(); BLOCK];
        out[..entries.len()].copy_from_slice(entries);
        Some(out)
    }

    /// Writes block `block`; returns whether an entry changed, or none when there is no such block.
    pub(crate) fn set_block(&mut self, block: u16, values: &PKeyBlock) -> Option<bool> {
        let entries = self.0.chunks_mut(BLOCK).nth(block.into())?;
        let values = &values[..entries.len()];
        let changed = entries != values;
        entries.copy_from_slice(values);
        Some(changed)
    }
}

const BLOCK: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks() {
        let mut table = PKeyTable::new(40);
        assert_eq!(table.get(0), Some(PKey::DEFAULT_FULL));
        assert_eq!(table.get(1), None);
        let mut block = [PKey::new(0x8001); 32];
        assert_eq!(table.set_block(1, &block), Some(true));
        assert_eq!(table.set_block(1, &block), Some(false));
        assert_eq!(table.set_block(2, &block), None);
        block[8..].fill(PKey::default());
        assert_eq!(table.block(1), Some(block), "the last block is short");
        assert_eq!(table.get(39), Some(PKey::new(0x8001)));
        assert_eq!(table.get(40), None);
    }

    /// IBA 10.9.3: same partition, and at least one of the two full.
    #[test]
    fn membership_matrix() {
        // (table entry, packet, passes)
        for (entry, packet, passes) in [
            (0xFFFF, 0xFFFF, true),
            (0xFFFF, 0x7FFF, true),
            (0x7FFF, 0xFFFF, true),
            (0x7FFF, 0x7FFF, false),
            (0x8001, 0x8002, false),
            (0x8001, 0xFFFF, false),
            (0x0000, 0x0000, false),
            (0x8000, 0x8000, false),
            (0x0000, 0x8000, false),
        ] {
            let mut table = PKeyTable::new(1);
            let mut block = [PKey::default(); 32];
            block[0] = PKey::new(entry);
            table.set_block(0, &block);
            let matched = table.matching(PKey::new(packet)).is_some();
            assert_eq!(matched, passes, "{entry:#06x} {packet:#06x}");
            let named = entry & 0x7FFF != 0 && entry & 0x7FFF == packet & 0x7FFF;
            assert_eq!(table.names(PKey::new(packet)), named);
        }
    }
}
