//! A switch's forwarding tables (IBA 14.2.5.10, 14.2.5.12), as large as what was written to them.

use softib_wire::addr::Lid;
use softib_wire::error::InvalidField;
use softib_wire::mad::tables::{LinearBlock, MulticastBlock};

/// "No port".
const NONE: u8 = 0xFF;
const LINEAR_BLOCK: usize = 64;
const MULTICAST_BLOCK: usize = 32;
/// Ports that one position of the multicast table has bits for.
const POSITION: usize = 16;

/// Port by unicast LID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinearTable(Vec<u8>);

impl LinearTable {
    /// LIDs that it can hold: all unicast ones.
    pub const CAPACITY: u16 = 0xC000;

    /// The port that packets to `lid` leave by.
    #[inline]
    #[must_use]
    pub fn port(&self, lid: Lid) -> Option<u8> {
        self.0
            .get(usize::from(lid.bits()))
            .copied()
            .filter(|&port| port != NONE)
    }

    /// A block of 64 LIDs.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<LinearBlock> {
        let start = Self::start(block)?;
        let mut out = [NONE; LINEAR_BLOCK];
        if let Some(entries) = self.0.get(start..start + LINEAR_BLOCK) {
            out.copy_from_slice(entries);
        }
        Some(out)
    }

    /// Writes a block of 64 LIDs.
    ///
    /// # Errors
    /// There is no such block.
    pub fn set_block(&mut self, block: u16, values: &LinearBlock) -> Result<(), InvalidField> {
        let Some(start) = Self::start(block) else {
            return Err(InvalidField::new(
                "LinearForwardingTable block",
                block.into(),
                "0 to 767",
            ));
        };
        let end = start + LINEAR_BLOCK;
        if self.0.len() < end {
            self.0.resize(end, NONE);
        }
        self.0[start..end].copy_from_slice(values);
        Ok(())
    }

    fn start(block: u16) -> Option<usize> {
        let start = usize::from(block) * LINEAR_BLOCK;
        (start < usize::from(Self::CAPACITY)).then_some(start)
    }
}

/// Ports by multicast LID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MulticastTable(Vec<PortSet>);

impl MulticastTable {
    /// Multicast LIDs that it can hold.
    pub const CAPACITY: u16 = 4096;

    /// The ports of the group `lid`.
    #[inline]
    #[must_use]
    pub fn ports(&self, lid: Lid) -> PortSet {
        let index = usize::from(lid.bits().wrapping_sub(Lid::MULTICAST_FIRST.bits()));
        self.0.get(index).copied().unwrap_or_default()
    }

    /// A block of 32 LIDs, of the 16 ports of a position.
    #[must_use]
    pub fn block(&self, block: u16, position: u8) -> Option<MulticastBlock> {
        let start = Self::start(block, position)?;
        let mut out = [0; MULTICAST_BLOCK];
        if let Some(entries) = self.0.get(start..start + MULTICAST_BLOCK) {
            for (out, entry) in out.iter_mut().zip(entries) {
                *out = entry.0[usize::from(position)];
            }
        }
        Some(out)
    }

    /// Writes a block of 32 LIDs, of the 16 ports of a position.
    ///
    /// # Errors
    /// There is no such block or position.
    pub fn set_block(
        &mut self,
        block: u16,
        position: u8,
        values: &MulticastBlock,
    ) -> Result<(), InvalidField> {
        let Some(start) = Self::start(block, position) else {
            return Err(InvalidField::new(
                "MulticastForwardingTable block",
                u64::from(position) << 28 | u64::from(block),
                "block 0 to 127, position 0 to 15",
            ));
        };
        let end = start + MULTICAST_BLOCK;
        if self.0.len() < end {
            self.0.resize(end, PortSet::default());
        }
        for (entry, value) in self.0[start..end].iter_mut().zip(values) {
            entry.0[usize::from(position)] = *value;
        }
        Ok(())
    }

    fn start(block: u16, position: u8) -> Option<usize> {
        let start = usize::from(block) * MULTICAST_BLOCK;
        (start < usize::from(Self::CAPACITY) && usize::from(position) < POSITION).then_some(start)
    }
}

/// A set of ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortSet([u16; 256 / POSITION]);

impl PortSet {
    /// Only this port.
    #[must_use]
    pub fn one(port: u8) -> Self {
        let mut set = Self::default();
        set.0[usize::from(port) / POSITION] = 1 << (usize::from(port) % POSITION);
        set
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 256 / POSITION]
    }

    /// Without this port.
    #[must_use]
    pub fn without(mut self, port: u8) -> Self {
        self.0[usize::from(port) / POSITION] &= !(1 << (usize::from(port) % POSITION));
        self
    }

    /// The ports in order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..)
            .zip(self.0)
            .flat_map(|(position, mut mask): (u8, u16)| {
                std::iter::from_fn(move || {
                    let bit = u8::try_from(mask.trailing_zeros())
                        .ok()
                        .filter(|&bit| bit < 16)?;
                    mask &= mask - 1;
                    Some(position * 16 + bit)
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear() {
        let mut table = LinearTable::default();
        assert_eq!(table.port(Lid::new(5)), None);
        let mut block = [NONE; 64];
        block[1] = 7;
        table.set_block(2, &block).unwrap();
        assert_eq!(table.port(Lid::new(129)), Some(7));
        assert_eq!(table.port(Lid::new(128)), None);
        assert_eq!(table.port(Lid::new(0xBFFF)), None);
        assert_eq!(table.block(2), Some(block));
        assert_eq!(table.block(700), Some([NONE; 64]));
        assert_eq!(table.block(768), None);
        assert!(table.set_block(768, &block).is_err());
    }

    #[test]
    fn multicast() {
        let mut table = MulticastTable::default();
        let mut block = [0; 32];
        block[3] = 0b1000_0000_0000_0010;
        table.set_block(1, 2, &block).unwrap();
        let ports: Vec<_> = table.ports(Lid::new(0xC000 + 35)).iter().collect();
        assert_eq!(ports, [33, 47]);
        assert!(table.ports(Lid::new(0xC000)).is_empty());
        assert_eq!(table.block(1, 2), Some(block));
        assert_eq!(table.block(1, 3), Some([0; 32]));
        assert_eq!(table.block(128, 0), None);
        assert_eq!(table.block(0, 16), None);
        assert!(table.set_block(0, 16, &block).is_err());
    }

    #[test]
    fn port_sets() {
        let set = PortSet::one(255);
        assert_eq!(set.iter().collect::<Vec<_>>(), [255]);
        assert!(set.without(255).is_empty());
    }
}
