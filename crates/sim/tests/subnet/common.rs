//! Subnets that several tests use.

use softib_sim::Simulation;
use softib_subnet::spec::{
    Impairment, InterfaceSpec, LinkSpec, ManagerSpec, NodeId, NodeKind, NodeSpec, PortRef,
    SubnetSpec,
};
use softib_subnet::topology::FatTree;
use softib_subnet::view::DropRow;
use softib_wire::addr::{Gid, Guid, PKey};
use softib_wire::time::Duration;
use softib_wire::units::Mtu;

/// Hosts `h1` … on one switch `s1`, host `n` at its port `n`, the manager on `h1`.
pub(crate) fn star(hosts: u8) -> SubnetSpec {
    chain(&[hosts])
}

/// Switches in a row, each with that many hosts: its first ports are the hosts', then comes that to
/// the switch before it and that to the switch behind it.
pub(crate) fn chain(hosts_per_switch: &[u8]) -> SubnetSpec {
    let hosts: usize = hosts_per_switch.iter().copied().map(usize::from).sum();
    let mut nodes: Vec<_> = (1..=hosts)
        .map(|n| NodeSpec {
            name: format!("h{n}"),
            guid: Guid::new(0x0002_C901_0000_0000 + 16 * n as u64),
            kind: NodeKind::Host {
                ports: 1,
                interfaces: vec![interface(None)],
            },
        })
        .collect();
    let mut links = Vec::new();
    let mut next_host = 0;
    for (index, &count) in hosts_per_switch.iter().enumerate() {
        let switch = id(nodes.len());
        nodes.push(NodeSpec {
            name: format!("s{}", index + 1),
            guid: Guid::new(0x0002_C900_0000_0000 + 16 * (index as u64 + 1)),
            kind: NodeKind::Switch { ports: count + 2 },
        });
        for port in 1..=count {
            links.push(cable((id(next_host), 1), (switch, port)));
            next_host += 1;
        }
        if index > 0 {
            let before = id(nodes.len() - 2);
            let port = hosts_per_switch[index - 1] + 2;
            links.push(cable((before, port), (switch, count + 1)));
        }
    }
    SubnetSpec {
        prefix: Gid::DEFAULT_PREFIX,
        mtu: Mtu::B2048,
        nodes,
        links,
        manager: ManagerSpec::Own {
            node: NodeId(0),
            priority: 0,
            sweep_interval: Duration::from_secs(10),
        },
        partitions: Vec::new(),
    }
}

/// 8 hosts on two leaves under two spines, the manager on `h1`.
pub(crate) fn small_tree() -> SubnetSpec {
    let tree = FatTree::TwoLevels {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        parallel: 1,
    };
    tree.build(Mtu::B2048).unwrap()
}

/// An interface of a partition on port 1.
pub(crate) fn interface(pkey: Option<PKey>) -> InterfaceSpec {
    InterfaceSpec {
        name: pkey.map_or_else(
            || "ib0".to_owned(),
            |pkey| format!("ib0.{:04x}", pkey.bits()),
        ),
        port: 1,
        pkey,
        mtu: None,
    }
}

/// The subnet, after it has come up.
pub(crate) fn up(spec: &SubnetSpec, seed: u64) -> Simulation {
    let mut sim = Simulation::new(spec, seed).unwrap();
    let came_up = sim.run_until(Duration::from_secs(30), Simulation::all_have_carrier);
    assert!(came_up, "{:#?}", sim.subnet.view(sim.now()).interfaces);
    sim
}

/// A port of the node with this name.
pub(crate) fn port(sim: &Simulation, node: &str, port: u8) -> PortRef {
    let node = sim.subnet.spec().node(node).expect("the node is there");
    PortRef { node, port }
}

/// Plugs in or pulls out all cables of a node: it is switched on or off.
pub(crate) fn set_power(sim: &mut Simulation, node: &str, on: bool) {
    let node = sim.subnet.spec().node(node).expect("the node is there");
    let ends: Vec<_> = sim
        .subnet
        .spec()
        .links
        .iter()
        .flat_map(|link| [link.a, link.b])
        .filter(|end| end.node == node)
        .collect();
    let now = sim.now();
    for end in ends {
        sim.subnet.set_link_up(now, end, on).unwrap();
    }
    sim.collect();
}

/// The same impairment on every link.
pub(crate) fn impair_all(sim: &mut Simulation, impairment: Impairment) {
    let ends: Vec<_> = sim.subnet.spec().links.iter().map(|link| link.a).collect();
    let now = sim.now();
    for end in ends {
        sim.subnet.set_impairment(now, end, impairment).unwrap();
    }
    sim.collect();
}

/// Drops at places whose name begins so.
pub(crate) fn drops(sim: &Simulation, place: &str) -> Vec<DropRow> {
    let view = sim.subnet.view(sim.now());
    let rows = view.drops.into_iter();
    rows.filter(|row| row.place.starts_with(place)).collect()
}

fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap())
}

fn cable((a, a_port): (NodeId, u8), (b, b_port): (NodeId, u8)) -> LinkSpec {
    LinkSpec {
        a: PortRef {
            node: a,
            port: a_port,
        },
        b: PortRef {
            node: b,
            port: b_port,
        },
        impairment: Impairment::default(),
        up: true,
    }
}
