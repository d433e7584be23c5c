//! A subnet comes up and carries IP.

use softib_sim::Simulation;
use softib_subnet::Event;
use softib_subnet::spec::{ManagerSpec, NodeId};
use softib_wire::time::Duration;
use softib_wire::units::{Mtu, PortState};

use crate::common::{chain, drops, small_tree, star, up};

#[test]
fn two_hosts_and_a_switch_come_up_and_ping() {
    let mut sim = up(&star(2), 1);
    assert!(sim.reaches(0, 1, 1), "the first ping is answered");
    assert!(sim.reaches(1, 0, 1));
    let view = sim.subnet.view(sim.now());
    for node in &view.nodes {
        for port in node.ports.iter().filter(|port| port.peer.is_some()) {
            assert_eq!(
                (port.state.as_str(), port.phys_state.as_str(), port.mtu),
                ("Active", "LinkUp", 4096),
                "{} port {}",
                node.name,
                port.port
            );
        }
    }
    assert_eq!(view.manager.node.as_deref(), Some("h1"));
    assert_eq!(view.manager.state, "Master");
    assert_eq!((view.manager.nodes, view.manager.switches), (3, 1));
    let mut groups = view.groups.iter();
    let broadcast = groups.find(|group| group.ip.as_deref() == Some("broadcast"));
    let broadcast = broadcast.expect("the broadcast group is there");
    assert_eq!(broadcast.mgid, "ff12:401b:ffff::ffff:ffff");
    assert_eq!(broadcast.qkey, "0x00000b1b");
    let members = broadcast.members.iter().map(ToString::to_string);
    assert_eq!(members.collect::<Vec<_>>(), ["h1 full", "h2 full"]);
    let path = view.paths.iter().find(|path| path.host == "h1").unwrap();
    assert_eq!(path.to.as_deref(), Some("h2"));
    assert_eq!(path.hops, ["h1[1]", "s1[2]"]);
    let neighbour = &view.neighbours[0];
    assert_eq!(
        (neighbour.host.as_str(), neighbour.ip.as_str()),
        ("h1", "10.0.0.2")
    );
    assert_eq!(neighbour.state, "reachable");
    assert_eq!(drops(&sim, ""), [], "nothing is dropped");
}

#[test]
fn what_is_shown_has_the_names_of_the_lab() {
    let sim = up(&star(2), 1);
    let events = sim.subnet.view(sim.now()).manager.events;
    for wanted in [
        "node s1 found",
        "cable h1[1] - s1[1] found",
        "h2 has LID ",
        "h2 in service, fe80::",
        "multicast group ff12:401b:ffff::ffff:ffff (broadcast) created",
    ] {
        assert!(
            events.iter().any(|row| row.event.starts_with(wanted)),
            "no {wanted:?} in {events:?}"
        );
    }
}

#[test]
fn routes_are_what_the_manager_wrote_to_the_switch() {
    let spec = star(2);
    let sim = up(&spec, 1);
    let routes = |name: &str| sim.subnet.routes(spec.node(name).unwrap());
    assert_eq!(routes("h1"), None, "an adapter forwards nothing");
    let routes = routes("s1").unwrap();
    let unicast: Vec<_> = routes
        .unicast
        .iter()
        .map(|row| (row.to.as_deref(), row.port, row.peer.as_deref()))
        .collect();
    for expected in [
        (Some("h1"), 1, Some("h1[1]")),
        (Some("h2"), 2, Some("h2[1]")),
        (Some("s1"), 0, None),
    ] {
        assert!(unicast.contains(&expected), "{unicast:?}");
    }
    assert_eq!(unicast.len(), 3, "{unicast:?}");
    let broadcast = &routes.multicast[0];
    assert_eq!(
        (broadcast.mlid.as_str(), broadcast.group.as_deref()),
        ("0xc000", Some("broadcast"))
    );
    assert_eq!(broadcast.ports, [1, 2]);
}

#[test]
fn mtu_is_2044_by_default_and_4092_in_a_subnet_of_4096() {
    for (mtu, expected) in [(Mtu::B2048, 2044), (Mtu::B4096, 4092)] {
        let mut spec = star(2);
        spec.mtu = mtu;
        let mut sim = up(&spec, 1);
        assert_eq!(sim.subnet.mtu(sim.interface(0)), Some(expected));
        // ICMP and IPv4 headers are 28 octets.
        let data = expected as usize - 28;
        let fits = sim.ping(0, 1, data);
        let too_long = sim.ping(0, 1, data + 1);
        sim.run_for(Duration::from_secs(1));
        assert!(sim.answered(fits).is_some(), "{data} octets of data fit");
        assert!(sim.answered(too_long).is_none(), "one more does not");
    }
}

#[test]
fn ipv6_and_link_local_addresses_are_reached() {
    let mut sim = up(&star(3), 2);
    sim.add_ipv6();
    // Everybody has found out by then that the addresses are nobody else's.
    sim.run_for(Duration::from_secs(3));
    let link_local = |host| sim.subnet.link_local(sim.interface(host)).unwrap();
    let pairs = [
        (Simulation::address6(0), Simulation::address6(1)),
        (link_local(0), link_local(2)),
    ];
    for (from, to) in pairs {
        let ping = sim.ping_from(sim.interface(0), from.into(), to.into(), 56);
        sim.run_for(Duration::from_secs(1));
        assert!(sim.answered(ping).is_some(), "{from} to {to}");
    }
}

#[test]
fn every_pair_of_a_fat_tree_and_of_a_chain_pings() {
    for spec in [small_tree(), chain(&[2, 0, 3, 1])] {
        let mut sim = up(&spec, 3);
        assert_eq!(sim.unreachable_pairs(1), []);
    }
}

#[test]
fn a_manager_on_a_switch_serves_as_well() {
    let mut spec = small_tree();
    let spine = spec.node("spine2").unwrap();
    spec.manager = ManagerSpec::Own {
        node: spine,
        priority: 3,
        sweep_interval: Duration::from_secs(10),
    };
    let mut sim = up(&spec, 4);
    assert_eq!(sim.unreachable_pairs(1), []);
}

#[test]
fn without_a_manager_there_is_no_carrier_and_the_view_says_why() {
    let mut spec = star(2);
    spec.manager = ManagerSpec::None;
    let mut sim = Simulation::new(&spec, 5).unwrap();
    sim.run_for(Duration::from_secs(60));
    let view = sim.subnet.view(sim.now());
    for interface in view.interfaces {
        assert!(interface.up && !interface.carrier);
        let reason = interface.reason.expect("it says why");
        assert!(reason.contains("subnet manager"), "{reason}");
    }
    assert!(
        view.nodes
            .iter()
            .flat_map(|node| &node.ports)
            .all(|port| { port.peer.is_none() || port.state == "Init" })
    );
}

#[test]
fn two_hosts_on_one_cable_need_no_switch() {
    let mut spec = star(2);
    spec.nodes.pop();
    let mut link = spec.links.remove(0);
    link.b = spec.links.remove(0).a;
    spec.links = vec![link];
    let mut sim = up(&spec, 6);
    assert!(sim.reaches(0, 1, 1) && sim.reaches(1, 0, 1));
}

#[test]
fn ports_go_through_init_and_armed_to_active() {
    let sim = up(&star(2), 7);
    let states: Vec<_> = sim
        .log
        .events()
        .filter_map(|(_, event)| match event {
            Event::Port { port, state } if port.node == NodeId(1) => Some(*state),
            _ => None,
        })
        .collect();
    assert_eq!(
        states,
        [PortState::Init, PortState::Armed, PortState::Active]
    );
}
