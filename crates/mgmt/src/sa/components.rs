//! Which components of two records are compared, and where they are: one table a record
//! (IBA 15.2.5). Reserved components compare as equal.

use softib_wire::layout::read_bits;
use softib_wire::mad::attribute::Attribute;
use softib_wire::mad::sa::{
    InformInfoRecord, LinearFdbRecord, LinkRecord, McMemberRecord, MulticastFdbRecord, NodeRecord,
    PKeyTableRecord, PortInfoRecord, ServiceRecord, SmInfoRecord, SwitchInfoRecord,
};

/// A component: its bit in the mask, its offset and its width in the record, in bits.
type Component = (u8, usize, usize);

/// A record that queries can compare.
pub(super) trait Comparable: Attribute {
    /// Its components.
    const COMPONENTS: &'static [Component];
}

/// Whether all components that `mask` names are the same in two records.
pub(super) fn matches<A: Comparable>(mask: u64, wanted: &[u8], record: &[u8]) -> bool {
    A::COMPONENTS
        .iter()
        .filter(|&&(bit, ..)| mask >> bit & 1 != 0)
        .all(|&(_, offset, width)| {
            (0..width).step_by(64).all(|at| {
                let bits = (width - at).min(64);
                read_bits(wanted, offset + at, bits) == read_bits(record, offset + at, bits)
            })
        })
}

macro_rules! components {
    ($( $record:ty: $( $bit:literal @ $offset:literal, $width:literal; )* )*) => { $(
        impl Comparable for $record {
            const COMPONENTS: &'static [Component] = &[$( ($bit, $offset, $width), )*];
        }

        const _: () = {
            let components = <$record as Comparable>::COMPONENTS;
            let mut i = 0;
            while i < components.len() {
                assert!(components[i].1 + components[i].2 <= <$record>::LEN * 8);
                assert!(i == 0 || components[i - 1].0 < components[i].0);
                i += 1;
            }
        };
    )* };
}

components! {
    NodeRecord:
        0 @ 0, 16; 2 @ 32, 8; 3 @ 40, 8; 4 @ 48, 8; 5 @ 56, 8; 6 @ 64, 64; 7 @ 128, 64;
        8 @ 192, 64; 9 @ 256, 16; 10 @ 272, 16; 11 @ 288, 32; 12 @ 320, 8; 13 @ 328, 24;
        14 @ 352, 512;
    PortInfoRecord:
        0 @ 0, 16; 1 @ 16, 8; 3 @ 32, 64; 4 @ 96, 64; 5 @ 160, 16; 6 @ 176, 16; 7 @ 192, 32;
        8 @ 224, 16; 9 @ 240, 16; 10 @ 256, 8; 11 @ 264, 8; 12 @ 272, 8; 13 @ 280, 8;
        14 @ 288, 4; 15 @ 292, 4; 16 @ 296, 4; 17 @ 300, 4; 18 @ 304, 2; 20 @ 309, 3;
        21 @ 312, 4; 22 @ 316, 4; 23 @ 320, 4; 24 @ 324, 4; 25 @ 328, 4; 26 @ 332, 4;
        27 @ 336, 8; 28 @ 344, 8; 29 @ 352, 8; 30 @ 360, 4; 31 @ 364, 4; 32 @ 368, 3;
        33 @ 371, 5; 34 @ 376, 4; 35 @ 380, 1; 36 @ 381, 1; 37 @ 382, 1; 38 @ 383, 1;
        39 @ 384, 16; 40 @ 400, 16; 41 @ 416, 16; 42 @ 432, 8;
    LinkRecord:
        0 @ 0, 16; 1 @ 16, 8; 2 @ 24, 8; 3 @ 32, 16;
    SmInfoRecord:
        0 @ 0, 16; 2 @ 32, 64; 3 @ 96, 64; 4 @ 160, 32; 5 @ 192, 4; 6 @ 196, 4;
    SwitchInfoRecord:
        0 @ 0, 16;
    LinearFdbRecord:
        0 @ 0, 16; 1 @ 16, 16;
    MulticastFdbRecord:
        0 @ 0, 16; 1 @ 16, 4; 3 @ 23, 9;
    PKeyTableRecord:
        0 @ 0, 16; 1 @ 16, 16; 2 @ 32, 8;
    InformInfoRecord:
        0 @ 0, 128; 1 @ 128, 16;
    ServiceRecord:
        0 @ 0, 64; 1 @ 64, 128; 2 @ 192, 16; 4 @ 224, 32; 5 @ 256, 128; 6 @ 384, 512;
        7 @ 896, 8; 8 @ 904, 8; 9 @ 912, 8; 10 @ 920, 8; 11 @ 928, 8; 12 @ 936, 8; 13 @ 944, 8;
        14 @ 952, 8; 15 @ 960, 8; 16 @ 968, 8; 17 @ 976, 8; 18 @ 984, 8; 19 @ 992, 8;
        20 @ 1000, 8; 21 @ 1008, 8; 22 @ 1016, 8;
        23 @ 1024, 16; 24 @ 1040, 16; 25 @ 1056, 16; 26 @ 1072, 16; 27 @ 1088, 16; 28 @ 1104, 16;
        29 @ 1120, 16; 30 @ 1136, 16; 31 @ 1152, 32; 32 @ 1184, 32; 33 @ 1216, 32; 34 @ 1248, 32;
        35 @ 1280, 64; 36 @ 1344, 64;
    // MTU, rate and life time have selectors and are compared apart.
    McMemberRecord:
        0 @ 0, 128; 1 @ 128, 128; 2 @ 256, 32; 3 @ 288, 16; 6 @ 312, 8; 7 @ 320, 16; 12 @ 352, 4;
        13 @ 356, 20; 14 @ 376, 8; 15 @ 384, 4; 16 @ 388, 4; 17 @ 392, 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use softib_wire::addr::Lid;
    use softib_wire::mad::sa::LinkMask;

    #[test]
    fn only_named_components_count() {
        let link = |from_lid, from_port, to_lid| LinkRecord {
            from_lid: Lid::new(from_lid),
            from_port,
            to_port: 1,
            to_lid: Lid::new(to_lid),
        };
        let record = link(1, 2, 3).to_bytes();
        let same = |mask: LinkMask, wanted: LinkRecord| {
            matches::<LinkRecord>(mask.bits(), &wanted.to_bytes(), &record)
        };
        assert!(same(LinkMask::empty(), link(9, 9, 9)));
        assert!(same(LinkMask::FROM_LID | LinkMask::TO_LID, link(1, 9, 3)));
        assert!(!same(
            LinkMask::FROM_LID | LinkMask::FROM_PORT,
            link(1, 9, 3)
        ));
        // Reserved components.
        assert!(matches::<LinkRecord>(1 << 60, &[0xFF; 6], &record));
    }

    #[test]
    fn wide_components_are_compared_whole() {
        let mut record = ServiceRecord::default();
        record.name[63] = 1;
        let wanted = ServiceRecord::default();
        assert!(!matches::<ServiceRecord>(
            1 << 6,
            &wanted.to_bytes(),
            &record.to_bytes()
        ));
    }
}
