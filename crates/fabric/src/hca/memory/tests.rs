//! Keys, domains, bounds and rights (IBA 10.6, 9.7.4.1.5).

use proptest::prelude::*;
use softib_wire::addr::Qpn;

use super::*;
use crate::hca::qp::{QpId, VerbError};

const BASE: u64 = 0x1000;

const QP: QpId = qp(0x40);

const fn qp(qpn: u32) -> QpId {
    QpId {
        port: 1,
        qpn: Qpn::from_bits_truncate(qpn),
    }
}

struct Bench {
    memories: Memories,
    pd: PdId,
    keys: Keys,
}

/// 100 octets that count up from [`BASE`] on.
fn bench(access: Access) -> Bench {
    let mut memories = Memories::default();
    let pd = memories.create_pd();
    let octets: Vec<u8> = (0..100).collect();
    let keys = memories
        .register(pd, BASE, Box::new(octets), access)
        .unwrap();
    Bench { memories, pd, keys }
}

impl Bench {
    fn octets(&self) -> Vec<u8> {
        let memory = self.memories.memory(self.keys.lkey).unwrap();
        let mut octets = vec![0; memory.len()];
        memory.read(0, &mut octets);
        octets
    }

    fn remote(&self, address: u64, length: u64, wanted: Access) -> Result<(), MemoryFault> {
        let remote = RemoteRange {
            rkey: self.keys.rkey,
            address,
            length,
        };
        self.memories.check_remote(self.pd, QP, &remote, wanted)
    }

    fn bind(&mut self, window: RKey, address: u64, length: u64) -> Result<(), MemoryFault> {
        let bind = Bind {
            window,
            region: self.keys.lkey,
            address,
            length,
            access: Access::REMOTE_READ | Access::REMOTE_WRITE,
        };
        self.memories.bind(self.pd, QP, &bind)
    }
}

// IBA 9.7.4.1.5: key, domain, bounds and right, each by itself.
#[test]
fn each_check_of_a_remote_access() {
    let mut bench = bench(Access::LOCAL_WRITE | Access::REMOTE_READ);
    let read = Access::REMOTE_READ;
    assert_eq!(bench.remote(BASE, 100, read), Ok(()));
    assert_eq!(bench.remote(BASE + 99, 1, read), Ok(()));
    for (address, length) in [
        (BASE, 101),
        (BASE + 99, 2),
        (BASE + 100, 1),
        (BASE - 1, 1),
        (BASE - 1, 2),
        (0, 1),
        (u64::MAX, 1),
        (BASE, u64::MAX),
        (u64::MAX, u64::MAX),
    ] {
        assert_eq!(
            bench.remote(address, length, read),
            Err(MemoryFault::Bounds {
                address,
                length,
                base: BASE,
                have: 100
            })
        );
    }
    for wanted in [Access::REMOTE_WRITE, Access::REMOTE_ATOMIC] {
        let given = Access::LOCAL_WRITE | Access::REMOTE_READ;
        assert_eq!(
            bench.remote(BASE, 8, wanted),
            Err(MemoryFault::Right { wanted, given })
        );
    }
    let rkey = bench.keys.rkey;
    let other = bench.memories.create_pd();
    let remote = RemoteRange {
        rkey,
        address: BASE,
        length: 1,
    };
    assert_eq!(
        bench.memories.check_remote(other, QP, &remote, read),
        Err(MemoryFault::ProtectionDomain { key: rkey.bits() })
    );
    for wrong in [
        rkey.with_variant(rkey.variant().wrapping_add(1)),
        RKey::new(0),
        RKey::new(u32::MAX),
    ] {
        let remote = RemoteRange {
            rkey: wrong,
            ..remote
        };
        assert_eq!(
            bench.memories.check_remote(bench.pd, QP, &remote, read),
            Err(MemoryFault::RemoteKey { rkey: wrong })
        );
    }
}

// C9-88: of an access of 0 octets nothing is checked.
#[test]
fn nothing_is_checked_of_nothing() {
    let bench = bench(Access::empty());
    assert_eq!(bench.remote(7, 0, Access::REMOTE_WRITE), Ok(()));
    let piece = Sge {
        lkey: LKey::new(0xdead_beef),
        address: 1,
        length: 0,
    };
    assert_eq!(bench.memories.check_list(bench.pd, &[piece], true), Ok(0));
}

#[test]
fn what_is_refused_changes_nothing() {
    let mut bench = bench(Access::LOCAL_WRITE | Access::REMOTE_WRITE);
    let (pd, rkey, before) = (bench.pd, bench.keys.rkey, bench.octets());
    let memories = &mut bench.memories;
    memories
        .write_remote(pd, QP, rkey, BASE + 98, &[1, 2, 3])
        .unwrap_err();
    memories
        .atomic_remote(pd, QP, rkey, BASE + 8, &mut |_| 0)
        .unwrap_err();
    let piece = |address, length| Sge {
        lkey: bench.keys.lkey,
        address,
        length,
    };
    // A list with room for less than it says is not begun with.
    bench
        .memories
        .check_list(pd, &[piece(BASE, 10), piece(BASE + 99, 2)], true)
        .unwrap_err();
    let mut into = [0; 3];
    bench
        .memories
        .read_remote(pd, QP, rkey, BASE, &mut into)
        .unwrap_err();
    assert_eq!(into, [0; 3]);
    assert_eq!(bench.octets(), before);
}

// IBA 9.4.5.
#[test]
fn atomics() {
    let access = Access::LOCAL_WRITE | Access::REMOTE_ATOMIC;
    let mut bench = bench(access);
    let (pd, rkey) = (bench.pd, bench.keys.rkey);
    let memories = &mut bench.memories;
    let before = memories
        .atomic_remote(pd, QP, rkey, BASE + 8, &mut |value| value + 5)
        .unwrap();
    assert_eq!(before, u64::from_ne_bytes([8, 9, 10, 11, 12, 13, 14, 15]));
    assert_eq!(
        memories.atomic_remote(pd, QP, rkey, BASE + 8, &mut |_| 0),
        Ok(before + 5)
    );
    assert_eq!(
        memories.atomic_remote(pd, QP, rkey, BASE + 9, &mut |_| 0),
        Err(MemoryFault::Alignment { address: BASE + 9 })
    );
    // The last number that begins inside is not all inside.
    memories
        .atomic_remote(pd, QP, rkey, BASE + 96, &mut |_| 0)
        .unwrap_err();
}

#[test]
fn keys_that_outlived_their_memory_open_nothing() {
    let mut bench = bench(Access::REMOTE_READ);
    let (pd, old) = (bench.pd, bench.keys);
    let memory = bench.memories.deregister(old.lkey).unwrap();
    assert_eq!(memory.len(), 100);
    for _ in 0..300 {
        let keys = bench
            .memories
            .register(pd, BASE, Box::new(vec![0; 8]), Access::REMOTE_READ)
            .unwrap();
        assert_ne!(keys, old);
        bench.memories.deregister(keys.lkey).unwrap();
    }
    assert!(bench.memories.memory(old.lkey).is_none());
    assert_eq!(
        bench.remote(BASE, 1, Access::REMOTE_READ),
        Err(MemoryFault::RemoteKey { rkey: old.rkey })
    );
    let again = bench.memories.deregister(old.lkey).unwrap_err();
    assert_eq!(again, VerbError::NoSuchRegion { lkey: old.lkey });
    bench.memories.destroy_pd(pd).unwrap();
    assert_eq!(bench.memories.destroy_pd(pd), Err(VerbError::NoSuchPd));
}

#[test]
fn what_cannot_be_registered() {
    let mut memories = Memories::default();
    let pd = memories.create_pd();
    let mut register = |base, octets, access| {
        memories
            .register(pd, base, Box::new(vec![0; octets]), access)
            .map(|_| ())
    };
    let access = Access::REMOTE_WRITE;
    assert_eq!(
        register(0, 1, access),
        Err(VerbError::AccessRights { access })
    );
    assert_eq!(register(u64::MAX, 1, Access::empty()), Ok(()));
    assert_eq!(register(u64::MAX, 0, Access::empty()), Ok(()));
    assert_eq!(
        register(u64::MAX, 2, Access::empty()),
        Err(VerbError::AddressRange {
            base: u64::MAX,
            length: 2
        })
    );
    assert_eq!(
        memories.destroy_pd(pd),
        Err(VerbError::PdInUse { users: 2 })
    );
}

// IBA 10.6.7.2: bound once, by one queue pair, within the region; then invalidated.
#[test]
fn windows() {
    let access = Access::LOCAL_WRITE | Access::WINDOW_BIND;
    let mut bench = bench(access);
    let pd = bench.pd;
    let fresh = bench.memories.create_window(pd).unwrap();
    let window = fresh.with_variant(fresh.variant() + 1);
    let remote = |rkey, address, length| RemoteRange {
        rkey,
        address,
        length,
    };
    bench
        .memories
        .check_remote(pd, QP, &remote(fresh, BASE, 1), Access::REMOTE_READ)
        .unwrap_err();
    assert!(matches!(
        bench.bind(window, BASE + 90, 11),
        Err(MemoryFault::Bounds { .. })
    ));
    bench.bind(window, BASE + 10, 20).unwrap();
    assert_eq!(
        bench.bind(window, BASE, 1),
        Err(MemoryFault::Bound { rkey: window })
    );

    let check = |bench: &Bench, qp, address, length| {
        bench.memories.check_remote(
            pd,
            qp,
            &remote(window, address, length),
            Access::REMOTE_WRITE,
        )
    };
    assert_eq!(check(&bench, QP, BASE + 10, 20), Ok(()));
    assert!(check(&bench, QP, BASE + 9, 2).is_err());
    assert!(check(&bench, QP, BASE + 10, 21).is_err());
    assert_eq!(
        check(&bench, qp(0x41), BASE + 10, 1),
        Err(MemoryFault::QueuePair { rkey: window })
    );
    bench
        .memories
        .write_remote(pd, QP, window, BASE + 10, &[0xaa])
        .unwrap();
    assert_eq!(bench.octets()[9..12], [9, 0xaa, 11]);
    // The region itself gives no remote access.
    assert!(bench.remote(BASE, 1, Access::REMOTE_READ).is_err());

    let lkey = bench.keys.lkey;
    assert_eq!(
        bench.memories.deregister(lkey).map(|_| ()),
        Err(VerbError::RegionInUse { lkey, windows: 1 })
    );
    assert_eq!(
        bench.memories.invalidate(pd, qp(0x41), window),
        Err(MemoryFault::QueuePair { rkey: window })
    );
    bench.memories.invalidate(pd, QP, window).unwrap();
    assert!(check(&bench, QP, BASE + 10, 1).is_err());
    bench.memories.invalidate(pd, QP, window).unwrap_err();

    // A queue pair that goes away leaves nothing bound.
    bench.bind(window.with_variant(77), BASE, 1).unwrap();
    bench.memories.forget_qp(QP);
    bench
        .memories
        .destroy_window(window.with_variant(77))
        .unwrap();
    bench.memories.deregister(lkey).unwrap();
    bench.memories.destroy_pd(pd).unwrap();
}

#[test]
fn windows_need_the_regions_rights() {
    let mut bench = bench(Access::LOCAL_WRITE);
    let window = bench.memories.create_window(bench.pd).unwrap();
    assert!(matches!(
        bench.bind(window, BASE, 1),
        Err(MemoryFault::Right { .. })
    ));
    let mut bench = self::bench(Access::WINDOW_BIND);
    let window = bench.memories.create_window(bench.pd).unwrap();
    assert!(matches!(
        bench.bind(window, BASE, 1),
        Err(MemoryFault::Right { .. })
    ));
    let rkey = bench.keys.rkey;
    assert_eq!(
        bench.bind(rkey, BASE, 1),
        Err(MemoryFault::NoWindow { rkey })
    );
    assert_eq!(
        bench.memories.invalidate(bench.pd, QP, rkey),
        Err(MemoryFault::NoWindow { rkey })
    );
}

proptest! {
    /// What is scattered piece by piece is gathered whole, whatever the pieces.
    #[test]
    fn scatter_and_gather(
        pieces in prop::collection::vec((0_u32..40, 0_u32..30), 0..8),
        cuts in prop::collection::vec(1_usize..50, 1..8),
    ) {
        let mut memories = Memories::default();
        let pd = memories.create_pd();
        // Each piece in memory of its own.
        let list: Vec<_> = pieces.iter().map(|&(gap, length)| {
            let memory = vec![0; (gap + length) as usize];
            let keys = memories.register(pd, BASE, Box::new(memory), Access::LOCAL_WRITE).unwrap();
            Sge { lkey: keys.lkey, address: BASE + u64::from(gap), length }
        }).collect();
        let room = memories.check_list(pd, &list, true).unwrap();
        let octets: Vec<u8> = (0..room).map(|at| (at % 251) as u8 + 1).collect();
        let mut at = 0;
        for cut in cuts.iter().cycle() {
            if at == octets.len() {
                break;
            }
            let end = (at + cut).min(octets.len());
            memories.scatter(pd, &list, at as u64, &octets[at..end]).unwrap();
            at = end;
        }
        let mut gathered = vec![0; octets.len()];
        memories.gather(pd, &list, 0, &mut gathered).unwrap();
        prop_assert_eq!(&gathered, &octets);
        if let Some(half) = octets.len().checked_div(2) {
            let mut gathered = vec![0; octets.len() - half];
            memories.gather(pd, &list, half as u64, &mut gathered).unwrap();
            prop_assert_eq!(&gathered[..], &octets[half..]);
        }
        for (piece, &(gap, _)) in list.iter().zip(&pieces) {
            let mut before = vec![9; gap as usize];
            memories.memory(piece.lkey).unwrap().read(0, &mut before);
            prop_assert!(before.iter().all(|&octet| octet == 0));
        }
    }
}
