//! MADs and address resolution that nobody should send.

use std::net::{Ipv4Addr, Ipv6Addr};

use softib_sim::Simulation;
use softib_subnet::Event;
use softib_wire::addr::{Gid, Guid, Lid, MKey, PKey, Qpn};
use softib_wire::ipoib::arp::{Arp, Party};
use softib_wire::ipoib::{AddressFlags, Encapsulation, EtherType, HardwareAddress};
use softib_wire::mad::sa::{JoinState, McMemberMask, McMemberRecord, SaMad};
use softib_wire::mad::smp::LidSmp;
use softib_wire::mad::{attribute, class, method};
use softib_wire::time::Duration;

use crate::attacker::{Attacker, IPOIB_QKEY, lid, qpn};
use crate::common::{small_tree, star, up};
use crate::hostile::others_talk;

fn all_lids(sim: &Simulation) -> Vec<Lid> {
    let view = sim.subnet.view(sim.now());
    let ports = view.nodes.into_iter().flat_map(|node| node.ports);
    let lids = ports.map(|port| Lid::new(port.lid));
    lids.filter(|lid| lid.is_unicast()).collect()
}

#[test]
fn random_general_mads_harm_nobody() {
    const CLASSES: &[u8] = &[
        class::SUBN_ADM,
        class::PERF_MGT,
        class::COM_MGT,
        class::SUBN_LID,
        class::SUBN_DIRECTED,
    ];
    const METHODS: &[u8] = &[1, 2, 3, 5, 6, 7, 0x12, 0x14, 0x15, 0x81, 0x86, 0x92, 0x95];
    let mut sim = up(&small_tree(), 84);
    let mut attacker = Attacker::at_last_host(&sim, 84);
    let lids = all_lids(&sim);
    for n in 0..20_000 {
        let mut mad = attacker.noise(256);
        if n % 4 > 0 {
            let class = CLASSES[attacker.rng.usize(..CLASSES.len())];
            let version = if matches!(class, class::SUBN_ADM | class::COM_MGT) {
                2
            } else {
                1
            };
            let method = METHODS[attacker.rng.usize(..METHODS.len())];
            mad[..4].copy_from_slice(&[1, class, version, method]);
            mad[16] = 0;
            mad[17] %= 0x40;
            if n % 4 > 1 {
                // No multi-packet transfer.
                mad[24..36].fill(0);
            }
        }
        let to = lids[attacker.rng.usize(..lids.len())];
        attacker.send_gmp(&mut sim, to, &mad);
        if n % 100 == 0 {
            sim.run_for(Duration::from_millis(10));
        }
    }
    sim.run_for(Duration::from_secs(10));
    others_talk(&mut sim);
}

/// Without an M_Key anybody may write anything: what another manager finds, it puts right.
#[test]
fn tables_that_somebody_overwrote_are_put_right_by_the_next_manager() {
    const WRITTEN: &[u16] = &[
        attribute::SWITCH_INFO,
        attribute::GUID_INFO,
        attribute::PKEY_TABLE,
        attribute::SL_TO_VL,
        attribute::VL_ARBITRATION,
        attribute::LINEAR_FDB,
        attribute::MULTICAST_FDB,
    ];
    let mut sim = up(&small_tree(), 85);
    let mut attacker = Attacker::at_last_host(&sim, 85);
    let lids = all_lids(&sim);
    for _ in 0..3_000 {
        let id = WRITTEN[attacker.rng.usize(..WRITTEN.len())];
        let modifier = attacker.rng.u32(..12);
        let mut smp = LidSmp::request(method::SET, id, modifier, 9, MKey::default());
        attacker.rng.fill(&mut smp.data);
        let to = lids[attacker.rng.usize(..lids.len())];
        attacker.send_smp(&mut sim, to, &smp.to_bytes());
    }
    sim.run_for(Duration::from_secs(1));
    let now = sim.now();
    sim.subnet.stop_manager(now);
    sim.subnet.start_manager(now);
    sim.run_for(Duration::from_secs(60));
    assert!(sim.all_have_carrier());
    assert_eq!(sim.unreachable_pairs(5), []);
}

#[test]
fn random_smps_never_end_the_subnet_in_a_panic() {
    let mut sim = up(&small_tree(), 86);
    let mut attacker = Attacker::at_last_host(&sim, 86);
    let lids = all_lids(&sim);
    for n in 0..20_000 {
        let mut mad = attacker.noise(256);
        let directed = attacker.rng.bool();
        let class = if directed {
            class::SUBN_DIRECTED
        } else {
            class::SUBN_LID
        };
        let methods = [1, 2, 5, 7, 0x81];
        let method = methods[attacker.rng.usize(..methods.len())];
        mad[..4].copy_from_slice(&[1, class, 1, method]);
        mad[16..18].copy_from_slice(&[0, attacker.rng.u8(0x10..0x21)]);
        mad[20..24].copy_from_slice(&attacker.rng.u32(..8).to_be_bytes());
        if n % 3 > 0 {
            mad[24..32].fill(0);
        }
        let to = if directed {
            // Hop pointer and count, and no part of the way by LID.
            mad[6] %= 4;
            mad[7] %= 4;
            mad[32..36].fill(0xFF);
            mad[128..140].iter_mut().for_each(|port| *port %= 7);
            Lid::PERMISSIVE
        } else {
            lids[attacker.rng.usize(..lids.len())]
        };
        attacker.send_smp(&mut sim, to, &mad);
        if n % 100 == 0 {
            sim.run_for(Duration::from_millis(10));
        }
    }
    sim.run_for(Duration::from_secs(60));
}

/// Who asks for another's membership to end is refused (IBA 15.2.5.17).
#[test]
fn nobody_ends_or_begins_the_membership_of_others() {
    let mut sim = up(&star(4), 87);
    let attacker = Attacker::at_last_host(&sim, 87);
    let victim = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_C901_0000_0021));
    let members = |sim: &Simulation| sim.subnet.view(sim.now()).groups;
    let before = members(&sim);
    let manager = lid(&sim, "h1", 1);
    for group in &before {
        let record = McMemberRecord {
            mgid: Gid::new(group.mgid.parse::<Ipv6Addr>().unwrap().octets()),
            port_gid: victim,
            pkey: PKey::DEFAULT_FULL,
            join_state: JoinState::FULL,
            ..McMemberRecord::default()
        };
        let mask = McMemberMask::IPOIB_BROADCAST.bits();
        let mad = SaMad::request(method::DELETE, 1, mask, &record);
        attacker.send_gmp(&mut sim, manager, &mad.to_bytes());
    }
    sim.run_for(Duration::from_secs(1));
    assert_eq!(members(&sim), before);
    others_talk(&mut sim);
}

fn arp(sender: HardwareAddress, ip: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let us = Party {
        hardware: sender,
        protocol: ip,
    };
    let mut bytes = vec![0; Encapsulation::LEN + Arp::LEN];
    Encapsulation {
        ether_type: EtherType::Arp,
    }
    .emit(&mut bytes);
    Arp::request(us, target).emit(&mut bytes[Encapsulation::LEN..]);
    bytes
}

#[test]
fn a_flood_of_invented_neighbours_pushes_out_none_in_use() {
    let mut sim = up(&star(4), 88);
    let mut attacker = Attacker::at_last_host(&sim, 88);
    assert!(sim.reaches(0, 1, 1));
    let to = attacker.datagram(lid(&sim, "h1", 1), qpn(&sim, "h1"), IPOIB_QKEY);
    let target = Simulation::address(0, 0);
    for n in 0..5_000_u32 {
        let hardware = HardwareAddress {
            flags: AddressFlags::empty(),
            qpn: Qpn::from_bits_truncate(0x100 + n),
            gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(attacker.rng.u64(1..))),
        };
        let ip = Ipv4Addr::from(0x0A00_8000 + n);
        attacker.send_datagram(&mut sim, &to, &arp(hardware, ip, target));
        if n % 500 == 0 {
            let ping = sim.ping(0, 1, 56);
            sim.run_for(Duration::from_millis(100));
            assert!(sim.answered(ping).is_some(), "after {n}");
        }
    }
    assert!(sim.reaches(0, 2, 3), "and there is room for new ones");
    others_talk(&mut sim);
}

#[test]
fn who_claims_anothers_address_is_told_of_and_the_owner_keeps_it() {
    let mut sim = up(&star(4), 89);
    let attacker = Attacker::at_last_host(&sim, 89);
    let to = attacker.datagram(lid(&sim, "h1", 1), qpn(&sim, "h1"), IPOIB_QKEY);
    let own = Simulation::address(0, 0);
    let claims = HardwareAddress {
        flags: AddressFlags::empty(),
        qpn: Qpn::from_bits_truncate(0x99),
        gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x99)),
    };
    attacker.send_datagram(&mut sim, &to, &arp(claims, own, Simulation::address(1, 0)));
    sim.run_for(Duration::from_secs(1));
    let told = sim.log.events().any(|(_, event)| {
        matches!(event, Event::DuplicateAddress { ip, owner: Some(owner), .. }
            if *ip == own && *owner == claims)
    });
    assert!(told);
    others_talk(&mut sim);
}
