//! Multicast: every member that receives gets one copy of every packet, and nobody else does.

use std::collections::BTreeMap;

use proptest::prelude::*;
use softib_wire::addr::{Gid, Lid, PKey, QKey, Sl};
use softib_wire::mad::method;
use softib_wire::mad::sa::{JoinState, McMemberMask, McMemberRecord, SaMad};
use softib_wire::mad::status::MadStatus;
use softib_wire::time::Duration;
use softib_wire::units::{Mtu, Rate, Selector};

use super::fake::{Fabric, Lab, three_levels, two_levels};

pub(crate) fn broadcast() -> Gid {
    "ff12:401b:ffff::ffff:ffff"
        .parse::<core::net::Ipv6Addr>()
        .map(|ip| Gid::new(ip.octets()))
        .unwrap()
}

/// A join as an IPoIB interface asks for it, with everything that it takes to create the group.
pub(crate) fn join_request(lab: &Lab, host: usize, mgid: Gid, join_state: JoinState) -> SaMad {
    let record = McMemberRecord {
        mgid,
        port_gid: lab.fabric.gid(host, 1),
        qkey: QKey::new(0x0b1b),
        pkey: PKey::DEFAULT_FULL,
        mtu_selector: Selector::Exactly,
        mtu: Some(Mtu::B2048),
        rate_selector: Selector::Exactly,
        rate: Some(Rate::Gbps10),
        sl: Sl::default(),
        join_state,
        ..McMemberRecord::default()
    };
    let mask = if mgid == broadcast() {
        McMemberMask::IPOIB_BROADCAST
    } else {
        McMemberMask::IPOIB_GROUP
    };
    SaMad::request(method::SET, lab.smps + 1000, mask.bits(), &record)
}

pub(crate) fn join(lab: &mut Lab, host: usize, mgid: Gid, state: JoinState) -> McMemberRecord {
    let request = join_request(lab, host, mgid, state);
    let answer = lab.ask(host, &request);
    assert_eq!(answer.header.status, MadStatus::OK, "host {host}");
    answer.record().unwrap()
}

pub(crate) fn leave(lab: &mut Lab, host: usize, mgid: Gid, state: JoinState) -> MadStatus {
    let record = McMemberRecord {
        mgid,
        port_gid: lab.fabric.gid(host, 1),
        join_state: state,
        ..McMemberRecord::default()
    };
    let mask = McMemberMask::LEAVE.bits();
    let request = SaMad::request(method::DELETE, lab.smps + 500, mask, &record);
    lab.ask(host, &request).header.status
}

/// From every member one copy comes to every member that receives.
fn assert_spans(lab: &Lab, mlid: Lid, members: &BTreeMap<usize, bool>) {
    for &from in members.keys() {
        let mut expected: BTreeMap<usize, u32> = members
            .iter()
            .filter(|&(&to, &receives)| receives && to != from)
            .map(|(&to, _)| (to, 1))
            .collect();
        expected.remove(&from);
        assert_eq!(lab.fabric.flood(from, mlid), expected, "from {from}");
    }
}

#[test]
fn the_answer_to_a_join_comes_when_the_tree_is_there() {
    let mut lab = Lab::up(three_levels(4, 4), 0);
    let mut members = BTreeMap::new();
    for host in 0..16 {
        let record = join(&mut lab, host, broadcast(), JoinState::FULL);
        members.insert(host, true);
        // Not settled: at the very moment of the answer.
        assert_spans(&lab, record.mlid, &members);
    }
}

#[test]
fn joins_of_all_hosts_at_once() {
    let mut lab = Lab::up(three_levels(4, 4), 0);
    for host in 0..16 {
        let request = join_request(&lab, host, broadcast(), JoinState::FULL);
        let from = crate::mad::Endpoint::gsi(lab.fabric.lid(host), Sl::default());
        lab.deliver(from, &request.to_bytes());
    }
    lab.settle();
    assert_eq!(lab.sent.len(), 16);
    assert_spans(
        &lab,
        Lid::MULTICAST_FIRST,
        &(0..16).map(|host| (host, true)).collect(),
    );
}

#[test]
fn who_only_sends_does_not_receive() {
    let mut lab = Lab::up(two_levels(4, 2, 2), 0);
    let record = join(&mut lab, 0, broadcast(), JoinState::FULL);
    join(&mut lab, 3, broadcast(), JoinState::FULL);
    join(&mut lab, 6, broadcast(), JoinState::SEND_ONLY_FULL);
    join(&mut lab, 5, broadcast(), JoinState::SEND_ONLY_NON);
    join(&mut lab, 1, broadcast(), JoinState::NON);
    let members = BTreeMap::from([(0, true), (1, true), (3, true), (5, false), (6, false)]);
    assert_spans(&lab, record.mlid, &members);
}

#[test]
fn a_tree_follows_the_subnet() {
    let mut lab = Lab::up(three_levels(4, 4), 0);
    let members: BTreeMap<usize, bool> = [0, 3, 7, 9, 14].map(|host| (host, true)).into();
    for &host in members.keys() {
        join(&mut lab, host, broadcast(), JoinState::FULL);
    }
    let trunks: Vec<(usize, u8)> = lab
        .fabric
        .cables
        .iter()
        .filter(|(a, b)| a < b && a.0 >= 16 && b.0 >= 16)
        .map(|(&a, _)| a)
        .collect();
    for cut in trunks {
        for up in [false, true] {
            lab.set_link(cut, up);
            while !lab.manager.is_settled() {
                // Old and new links together must not form a loop, at any moment.
                lab.fabric.flood(0, Lid::MULTICAST_FIRST);
                lab.step();
            }
            assert_spans(&lab, Lid::MULTICAST_FIRST, &members);
        }
    }
}

#[test]
fn a_member_that_vanishes_is_taken_out() {
    let mut lab = Lab::up(two_levels(3, 2, 2), 0);
    for host in [0, 2, 4] {
        join(&mut lab, host, broadcast(), JoinState::FULL);
    }
    lab.set_link((4, 1), false);
    lab.settle();
    let group = &lab.manager.snapshot().groups[0];
    assert_eq!(group.members.len(), 2);
    assert_spans(&lab, group.mlid, &BTreeMap::from([(0, true), (2, true)]));
}

#[test]
fn tables_of_an_earlier_manager_are_overwritten() {
    let mut fabric = two_levels(2, 2, 2);
    for switch in 4..8 {
        // Served before, with entries that would make a loop.
        for port in &mut fabric.nodes[switch].ports[1..] {
            port.port_state = softib_wire::units::PortState::Active;
        }
        for index in 0..40 {
            fabric.nodes[switch].mft.insert((index, 0), 0xFFFE);
        }
    }
    let mut lab = Lab::up(fabric, 0);
    let record = join(&mut lab, 0, broadcast(), JoinState::FULL);
    join(&mut lab, 3, broadcast(), JoinState::FULL);
    assert_spans(&lab, record.mlid, &BTreeMap::from([(0, true), (3, true)]));
}

#[test]
fn when_all_multicast_lids_are_taken_groups_share_them() {
    let mut fabric = two_levels(2, 2, 1);
    for switch in &mut fabric.nodes[4..] {
        switch.switch.multicast_fdb_cap = 3;
    }
    let mut lab = Lab::up(fabric, 0);
    let group = |i: u8| {
        let mut octets = broadcast().octets();
        octets[15] = i;
        Gid::new(octets)
    };
    let mut mlids = std::collections::BTreeSet::new();
    for i in 0..10 {
        mlids.insert(join(&mut lab, usize::from(i % 4), group(i), JoinState::FULL).mlid);
    }
    assert_eq!(mlids.len(), 2, "and none of them the broadcast group's");
    for i in 0..10 {
        assert_eq!(
            leave(&mut lab, usize::from(i % 4), group(i), JoinState::FULL),
            MadStatus::OK
        );
    }
    lab.settle();
    assert_eq!(lab.manager.snapshot().groups.len(), 1);
}

fn any_topology() -> impl Strategy<Value = u8> {
    0u8..3
}

fn topology(which: u8) -> Fabric {
    match which {
        0 => two_levels(4, 2, 3),
        1 => three_levels(4, 4),
        _ => {
            // A ring of switches with two hosts each.
            let mut fabric = Fabric::default();
            let hosts: Vec<usize> = (0..10).map(|_| fabric.host(1)).collect();
            let ring: Vec<usize> = (0..5).map(|_| fabric.switch(6)).collect();
            for (i, host) in hosts.iter().enumerate() {
                fabric.connect(*host, ring[i / 2]);
            }
            for i in 0..5 {
                fabric.connect(ring[i], ring[(i + 1) % 5]);
            }
            fabric
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_span_exactly_their_members(
        which in any_topology(),
        steps in proptest::collection::vec((0usize..8, 0u8..6, any::<prop::sample::Index>()), 1..30),
    ) {
        let mut lab = Lab::up(topology(which), 0);
        let mut members: BTreeMap<usize, bool> = BTreeMap::new();
        let cables: Vec<(usize, u8)> = lab.fabric.cables.keys().copied().collect();
        for (host, action, cable) in steps {
            match action {
                0 | 1 if lab.reachable().contains(&host) => {
                    join(&mut lab, host, broadcast(), JoinState::FULL);
                    members.insert(host, true);
                }
                2 if lab.reachable().contains(&host) => {
                    join(&mut lab, host, broadcast(), JoinState::SEND_ONLY_FULL);
                    members.entry(host).or_insert(false);
                }
                3 | 4 => {
                    if let Some(receives) = members.remove(&host) {
                        if receives {
                            leave(&mut lab, host, broadcast(), JoinState::FULL);
                        }
                        leave(&mut lab, host, broadcast(), JoinState::SEND_ONLY_FULL);
                    }
                }
                _ => {
                    let end = cables[cable.index(cables.len())];
                    let peer = lab.fabric.cables[&end];
                    if lab.fabric.nodes[end.0].name.starts_with('s')
                        && lab.fabric.nodes[peer.0].name.starts_with('s')
                    {
                        let up = lab.fabric.down.contains(&end);
                        lab.set_link(end, up);
                    }
                }
            }
            lab.settle();
            let there = lab.reachable();
            members.retain(|host, _| there.contains(host));
            assert_spans(&lab, Lid::MULTICAST_FIRST, &members);
        }
        lab.run(Duration::from_secs(1));
    }
}
