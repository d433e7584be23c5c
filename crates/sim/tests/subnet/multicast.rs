//! IP multicast goes to the members of its group, to all of them, and to nobody else.

use std::net::IpAddr;

use softib_sim::{Simulation, packets};
use softib_wire::time::Duration;

use crate::common::{drops, small_tree, star, up};

/// Sends `count` numbered datagrams to a group.
fn send(sim: &mut Simulation, from: usize, group: IpAddr, count: u32) {
    for n in 0..count {
        let source = if group.is_ipv4() {
            Simulation::address(from, 0).into()
        } else {
            Simulation::address6(from).into()
        };
        let packet = packets::udp(sim.subnet.pool(), source, group, &n.to_be_bytes());
        let interface = sim.interface(from);
        sim.send(interface, packet);
    }
    sim.run_for(Duration::from_secs(1));
}

/// The numbers of the datagrams that came to a host.
fn received(sim: &Simulation, host: usize) -> Vec<u32> {
    let packets = sim.log.packets(sim.interface(host));
    packets
        .filter_map(|(_, packet)| packets::udp_data(&packet.bytes))
        .map(|data| u32::from_be_bytes(data.try_into().unwrap()))
        .collect()
}

fn listen(sim: &mut Simulation, host: usize, groups: &[IpAddr]) {
    let now = sim.now();
    let interface = sim.interface(host);
    sim.subnet.set_memberships(now, interface, groups);
    sim.run_for(Duration::from_secs(1));
}

fn groups() -> [IpAddr; 2] {
    [[239, 1, 2, 3].into(), "ff15::1b".parse().unwrap()]
}

#[test]
fn members_hear_a_group_in_order_and_others_do_not() {
    for group in groups() {
        let mut sim = up(&small_tree(), 51);
        sim.add_ipv6();
        sim.run_for(Duration::from_secs(3));
        for host in [1, 4, 7] {
            listen(&mut sim, host, &[group]);
        }
        sim.log.keep_packets = true;
        // Host 0 is no member: it joins to send only. Host 4 is one, and does not hear itself.
        for (sender, hear) in [(0, vec![1, 4, 7]), (4, vec![1, 7])] {
            sim.log.clear();
            send(&mut sim, sender, group, 50);
            for host in 0..sim.hosts() {
                let expected: Vec<u32> = if hear.contains(&host) {
                    (0..50).collect()
                } else {
                    Vec::new()
                };
                assert_eq!(received(&sim, host), expected, "{group} at host {host}");
            }
        }
        assert_eq!(
            drops(&sim, "h3"),
            [],
            "nothing of it even comes to a host that is no member"
        );
    }
}

#[test]
fn sending_only_is_a_membership_that_ends_when_it_is_idle() {
    let group = groups()[0];
    let mut sim = up(&star(3), 52);
    listen(&mut sim, 1, &[group]);
    send(&mut sim, 0, group, 3);
    let members = |sim: &Simulation| {
        let groups = sim.subnet.view(sim.now()).groups;
        let found = groups
            .into_iter()
            .find(|row| row.ip.as_deref() == Some("239.1.2.3"));
        let members = found.map_or_else(Vec::new, |row| row.members);
        members.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(members(&sim), ["h1 send-only", "h2 full"]);
    sim.run_for(Duration::from_secs(150));
    assert_eq!(members(&sim), ["h2 full"]);
    listen(&mut sim, 1, &[]);
    assert_eq!(members(&sim), [""; 0], "a group without members is gone");
}

#[test]
fn who_leaves_hears_no_more_and_who_joins_hears_from_then_on() {
    let group = groups()[0];
    let mut sim = up(&small_tree(), 53);
    listen(&mut sim, 1, &[group]);
    listen(&mut sim, 6, &[group]);
    sim.log.keep_packets = true;
    send(&mut sim, 3, group, 2);
    listen(&mut sim, 6, &[]);
    listen(&mut sim, 5, &[group]);
    send(&mut sim, 3, group, 3);
    assert_eq!(received(&sim, 1), [0, 1, 0, 1, 2]);
    assert_eq!(received(&sim, 6), [0, 1]);
    assert_eq!(received(&sim, 5), [0, 1, 2]);
}

#[test]
fn a_sender_that_becomes_a_member_hears_the_group() {
    let group = groups()[0];
    let mut sim = up(&star(3), 54);
    sim.log.keep_packets = true;
    listen(&mut sim, 1, &[group]);
    send(&mut sim, 0, group, 1);
    listen(&mut sim, 0, &[group]);
    send(&mut sim, 1, group, 2);
    assert_eq!(received(&sim, 0), [0, 1]);
    assert_eq!(received(&sim, 1), [0]);
}

#[test]
fn broadcasts_come_to_all_but_the_sender() {
    let mut sim = up(&small_tree(), 55);
    sim.log.keep_packets = true;
    for broadcast in ["255.255.255.255", "10.0.255.255"] {
        sim.log.clear();
        send(&mut sim, 2, broadcast.parse().unwrap(), 2);
        for host in 0..sim.hosts() {
            let expected: &[u32] = if host == 2 { &[] } else { &[0, 1] };
            assert_eq!(received(&sim, host), expected, "{broadcast} at host {host}");
        }
    }
}

#[test]
fn a_group_survives_the_spine_that_its_tree_went_through() {
    let group = groups()[0];
    for spine in ["spine1", "spine2"] {
        let mut sim = up(&small_tree(), 56);
        for host in [1, 4, 7] {
            listen(&mut sim, host, &[group]);
        }
        crate::common::set_power(&mut sim, spine, false);
        sim.run_for(Duration::from_secs(1));
        sim.log.keep_packets = true;
        send(&mut sim, 0, group, 5);
        for host in [1, 4, 7] {
            assert_eq!(
                received(&sim, host),
                [0, 1, 2, 3, 4],
                "{spine}, host {host}"
            );
        }
    }
}

/// Hard case 14: one group that nobody answers for must not delay others. With a manager that
/// answers all, many groups at once are all joined.
#[test]
fn many_groups_are_joined_at_once() {
    let mut sim = up(&star(2), 57);
    let many: Vec<IpAddr> = (0..100).map(|n| [239, 0, 0, n].into()).collect();
    listen(&mut sim, 1, &many);
    sim.log.keep_packets = true;
    for &group in &many {
        send(&mut sim, 0, group, 1);
    }
    assert_eq!(received(&sim, 1).len(), 100);
}
