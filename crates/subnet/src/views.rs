//! How the rows of [`view`](crate::view) are made of the state of the subnet.

use softib_fabric::port::Port;
use softib_ipoib::view::PathState;
use softib_ipoib::{AddressState, Status};
use softib_mgmt::agents::ManagedNode;
use softib_mgmt::sm::view::MemberView;
use softib_wire::addr::{Gid, Guid, Lid, PKey};
use softib_wire::ipoib::mgid::{self, Group};
use softib_wire::mad::sa::JoinState;
use softib_wire::time::Instant;
use softib_wire::units::{PortState, Rate};

use crate::node::{HostInterface, Node};
use crate::spec::{IfaceRef, Impairment, NodeId, NodeKind, PortRef};
use crate::subnet::Subnet;
use crate::told::Names;
use crate::view::{
    Counter, DropRow, GroupRow, InterfaceRow, ManagerEventRow, ManagerRow, MemberRow, NeighbourRow,
    NodeRow, PathRow, PortCounterRow, PortRow, SubnetView,
};

impl Subnet {
    /// Everything that there is to show.
    #[must_use]
    pub fn view(&self, _now: Instant) -> SubnetView {
        SubnetView {
            nodes: self
                .each_node()
                .map(|(id, node)| self.node_row(id, node))
                .collect(),
            interfaces: self
                .each_interface()
                .map(|it| self.interface_row(it))
                .collect(),
            manager: self.manager_row(),
            groups: self.group_rows(),
            paths: self
                .each_interface()
                .flat_map(|it| self.path_rows(it))
                .collect(),
            neighbours: self
                .each_interface()
                .flat_map(|it| self.neighbour_rows(it))
                .collect(),
            counters: self
                .each_node()
                .flat_map(|(id, node)| self.counter_rows(id, node))
                .collect(),
            drops: self.drop_rows(),
        }
    }

    /// How a port is called: `s1[3]`.
    #[must_use]
    pub fn port_name(&self, port: PortRef) -> String {
        format!("{}[{}]", self.name(port.node), port.port)
    }

    fn name(&self, node: NodeId) -> &str {
        &self.spec.nodes[node.index()].name
    }

    pub(crate) fn each_node(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    fn each_interface(&self) -> impl Iterator<Item = (NodeId, &HostInterface)> {
        self.each_node()
            .flat_map(|(id, node)| node.interfaces.iter().map(move |it| (id, it)))
    }

    fn node_row(&self, id: NodeId, node: &Node) -> NodeRow {
        let spec = &self.spec.nodes[id.index()];
        let first = u8::from(matches!(spec.kind, NodeKind::Host { .. }));
        let port_row = |number: u8| {
            let port = node.device.port(number)?;
            let info = port.port_info(number);
            let cable = self.cabled[id.index()][usize::from(number)];
            let cable = cable.map(|(link, end)| (&self.links[link], end));
            Some(PortRow {
                port: number,
                guid: (number == 0 || first == 1).then(|| port.guid().to_string()),
                lid: port.lid().bits(),
                state: format!("{:?}", info.port_state),
                phys_state: format!("{:?}", info.phys_state),
                speed: speed_name(
                    info.link_width_active,
                    info.link_speed_active,
                    info.link_speed_ext_active,
                ),
                mtu: port.mtu().octets(),
                pkeys: valid_pkeys(port),
                peer: cable.map(|(cable, end)| self.port_name(cable.at(end.other()))),
                impairment: cable
                    .map(|(cable, _)| cable.link.impairment())
                    .filter(|impairment| !impairment.is_ideal())
                    .map(Impairment::to_string),
            })
        };
        NodeRow {
            name: spec.name.clone(),
            kind: if first == 1 { "host" } else { "switch" }.to_owned(),
            guid: spec.guid.to_string(),
            ports: (first..=spec.ports()).filter_map(port_row).collect(),
        }
    }

    fn interface_row(&self, (id, it): (NodeId, &HostInterface)) -> InterfaceRow {
        let counters = it.ip.counters();
        let figures = [
            ("rx_packets", counters.rx_packets),
            ("tx_packets", counters.tx_packets),
            ("rx_bytes", counters.rx_bytes),
            ("tx_bytes", counters.tx_bytes),
            ("tx_errors", counters.tx_errors),
            ("rx_dropped", counters.rx_dropped),
            ("tx_dropped", counters.tx_dropped),
            ("multicast", counters.multicast),
        ];
        InterfaceRow {
            host: self.name(id).to_owned(),
            interface: it.ip.name().to_owned(),
            up: it.admin_up,
            carrier: it.carrier,
            ready: it.is_ready(),
            reason: self.why_not_ready(id, it),
            mode: "datagram".to_owned(),
            mtu: it.ip.mtu(),
            pkey: it.ip.pkey().to_string(),
            qpn: it.qp.qpn().to_string(),
            hardware_address: it.ip.hardware_address().to_string(),
            addresses: it
                .ip
                .addresses()
                .map(|(ip, prefix_len, state)| match state {
                    AddressState::Duplicate => format!("{ip}/{prefix_len} (duplicate)"),
                    AddressState::Tentative
                    | AddressState::Detecting { .. }
                    | AddressState::Valid => format!("{ip}/{prefix_len}"),
                })
                .collect(),
            counters: named(figures),
        }
    }

    /// Whether an interface has carrier, and none of its addresses is still being checked for
    /// duplicates.
    #[must_use]
    pub fn is_ready(&self, interface: IfaceRef) -> bool {
        self.nodes
            .get(interface.node.index())
            .and_then(|node| node.interfaces.get(usize::from(interface.index)))
            .is_some_and(HostInterface::is_ready)
    }

    /// What an interface waits for, in a sentence.
    fn why_not_ready(&self, id: NodeId, it: &HostInterface) -> Option<String> {
        let port = self.nodes[id.index()].device.port(it.qp.port());
        Some(match it.ip.status() {
            Status::Running => {
                let ip = it.address_in_question()?;
                format!("asking whether somebody else has {ip}")
            }
            Status::AdminDown => "switched off (`ip link set up` switches it on)".to_owned(),
            Status::PortDown => match port.map(|port| port.port_info(it.qp.port()).port_state) {
                Some(PortState::Init | PortState::Armed) => {
                    "the port waits for a subnet manager to make it active".to_owned()
                }
                _ => "the port has no link: no cable, or it is pulled out".to_owned(),
            },
            Status::NoPKey => "the port has no P_Key of the interface's partition".to_owned(),
            Status::Joining {
                last_error: None, ..
            } => "joining the broadcast group".to_owned(),
            Status::Joining {
                failures,
                last_error: Some(error),
            } => {
                format!("can't join the broadcast group ({failures} tries): {error}")
            }
        })
    }

    fn manager_row(&self) -> ManagerRow {
        let seat = self
            .each_node()
            .find_map(|(id, node)| node.manager.as_ref().map(|seat| (id, seat)));
        let Some((id, seat)) = seat else {
            return ManagerRow {
                node: None,
                state: "none".to_owned(),
                guid: None,
                lid: 0,
                priority: 0,
                heavy_sweeps: 0,
                light_sweeps: 0,
                nodes: 0,
                switches: 0,
                last_sweep_ms: 0.0,
                smps: 0,
                events: Vec::new(),
            };
        };
        let view = seat.manager.snapshot().manager;
        ManagerRow {
            node: Some(self.name(id).to_owned()),
            state: format!("{:?}", view.state),
            guid: Some(view.guid.to_string()),
            lid: view.lid.bits(),
            priority: view.priority,
            heavy_sweeps: view.heavy_sweeps,
            light_sweeps: view.light_sweeps,
            nodes: view.nodes,
            switches: view.switches,
            last_sweep_ms: view.last_sweep.map_or(0.0, |took| took.as_secs_f64() * 1e3),
            smps: view.smps_sent,
            events: self.manager_event_rows(),
        }
    }

    fn manager_event_rows(&self) -> Vec<ManagerEventRow> {
        let names = Names::new(self);
        self.manager_events
            .iter()
            .map(|(at, event)| ManagerEventRow {
                seconds: at.saturating_since(Instant::ZERO).as_secs_f64(),
                event: names.tell(event),
            })
            .collect()
    }

    pub(crate) fn group_rows(&self) -> Vec<GroupRow> {
        let Some(seat) = self.nodes.iter().find_map(|node| node.manager.as_ref()) else {
            return Vec::new();
        };
        let groups = seat.manager.snapshot().groups;
        groups
            .into_iter()
            .map(|group| GroupRow {
                mgid: group.mgid.to_string(),
                ip: ip_name(group.mgid),
                mlid: format!("0x{:04x}", group.mlid.bits()),
                pkey: group.pkey.to_string(),
                qkey: group.qkey.to_string(),
                mtu: group.mtu.octets(),
                rate: gbps(group.rate),
                members: group
                    .members
                    .iter()
                    .map(|member| self.member_row(member))
                    .collect(),
            })
            .collect()
    }

    fn member_row(&self, member: &MemberView) -> MemberRow {
        let port_gid = member.port_gid;
        let port = self
            .port_of_guid(port_gid.guid())
            .map_or_else(|| port_gid.to_string(), |port| self.end_name(port));
        let states: Vec<_> = [
            (JoinState::FULL, "full"),
            (JoinState::NON, "non"),
            (JoinState::SEND_ONLY_NON, "send-only-non"),
            (JoinState::SEND_ONLY_FULL, "send-only"),
        ]
        .into_iter()
        .filter(|(flag, _)| member.join_state.contains(*flag))
        .map(|(_, name)| name)
        .collect();
        MemberRow {
            port,
            state: states.join("+"),
        }
    }

    /// The node's name; with the port, if it has several.
    pub(crate) fn end_name(&self, port: PortRef) -> String {
        match self.spec.nodes[port.node.index()].kind {
            NodeKind::Host { ports, .. } if ports > 1 => self.port_name(port),
            NodeKind::Host { .. } | NodeKind::Switch { .. } => self.name(port.node).to_owned(),
        }
    }

    fn port_of_guid(&self, guid: Guid) -> Option<PortRef> {
        self.each_node().find_map(|(node, it)| {
            let ports = 0..=it.device.port_count();
            ports
                .filter(|&port| it.device.end_port(port) == port)
                .find(|&port| {
                    it.device
                        .port(port)
                        .is_some_and(|found| found.guid() == guid)
                })
                .map(|port| PortRef { node, port })
        })
    }

    fn path_rows(&self, (id, it): (NodeId, &HostInterface)) -> Vec<PathRow> {
        it.ip
            .paths()
            .map(|path| {
                let to = self.port_of_guid(path.dgid.guid());
                let dlid = path.record.map_or(Lid::NONE, |record| record.dlid);
                PathRow {
                    host: self.name(id).to_owned(),
                    interface: it.ip.name().to_owned(),
                    dgid: path.dgid.to_string(),
                    to: to.map(|to| self.end_name(to)),
                    dlid: dlid.bits(),
                    sl: path.record.map_or(0, |record| record.sl.bits()),
                    mtu: path
                        .record
                        .and_then(|record| record.mtu)
                        .map_or(0, |mtu| mtu.octets()),
                    rate: path.record.and_then(|record| record.rate).map(gbps),
                    state: PathState::name(path.state).to_owned(),
                    hops: self.hops(
                        PortRef {
                            node: id,
                            port: it.qp.port(),
                        },
                        dlid,
                    ),
                }
            })
            .collect()
    }

    /// The ports that a packet to `dlid` leaves by, as the forwarding tables are now.
    fn hops(&self, from: PortRef, dlid: Lid) -> Vec<String> {
        let mut hops = Vec::new();
        let mut out = Some(from).filter(|_| dlid.is_unicast());
        while let Some(port) = out.filter(|_| hops.len() < 64) {
            hops.push(self.port_name(port));
            let cable = self.cabled[port.node.index()][usize::from(port.port)];
            let Some((link, end)) = cable else { break };
            let next = self.links[link].at(end.other()).node;
            let block = self.nodes[next.index()]
                .device
                .linear_block(dlid.bits() / 64);
            out = block
                .map(|block| block[usize::from(dlid.bits() % 64)])
                .filter(|&port| port != 0 && port <= self.spec.nodes[next.index()].ports())
                .map(|port| PortRef { node: next, port });
        }
        hops
    }

    fn neighbour_rows(&self, (id, it): (NodeId, &HostInterface)) -> Vec<NeighbourRow> {
        it.ip
            .neighbours()
            .map(|neighbour| NeighbourRow {
                host: self.name(id).to_owned(),
                interface: it.ip.name().to_owned(),
                ip: neighbour.ip.to_string(),
                hardware_address: neighbour.hardware.map(|address| address.to_string()),
                state: neighbour.state.name().to_owned(),
                age_ms: u64::try_from(neighbour.age.as_millis()).unwrap_or(u64::MAX),
            })
            .collect()
    }

    fn counter_rows(&self, id: NodeId, node: &Node) -> Vec<PortCounterRow> {
        (0..=node.device.port_count())
            .filter_map(|port| {
                let counted = node.device.counters(port)?;
                let figures = [
                    ("xmit_data", counted.transmit_data),
                    ("rcv_data", counted.receive_data),
                    ("xmit_pkts", counted.transmit_packets),
                    ("rcv_pkts", counted.receive_packets),
                    ("unicast_xmit_pkts", counted.unicast_transmit_packets),
                    ("unicast_rcv_pkts", counted.unicast_receive_packets),
                    ("multicast_xmit_pkts", counted.multicast_transmit_packets),
                    ("multicast_rcv_pkts", counted.multicast_receive_packets),
                    ("symbol_errors", counted.symbol_errors),
                    ("link_error_recovery", counted.link_error_recoveries),
                    ("link_downed", counted.link_downed),
                    ("rcv_errors", counted.receive_errors),
                    (
                        "rcv_remote_physical_errors",
                        counted.receive_remote_physical_errors,
                    ),
                    (
                        "rcv_switch_relay_errors",
                        counted.receive_switch_relay_errors,
                    ),
                    ("xmit_discards", counted.transmit_discards),
                    ("xmit_constraint_errors", counted.transmit_constraint_errors),
                    ("rcv_constraint_errors", counted.receive_constraint_errors),
                    (
                        "local_link_integrity_errors",
                        counted.local_link_integrity_errors,
                    ),
                    (
                        "excessive_buffer_overruns",
                        counted.excessive_buffer_overruns,
                    ),
                    ("qp1_dropped", counted.qp1_dropped),
                    ("vl15_dropped", counted.vl15_dropped),
                    ("xmit_wait", counted.transmit_wait),
                ];
                Some(PortCounterRow {
                    node: self.name(id).to_owned(),
                    port,
                    counters: named(figures),
                })
            })
            .collect()
    }

    fn drop_rows(&self) -> Vec<DropRow> {
        let mut rows = Vec::new();
        let mut add = |place: &str, reason: &str, meaning: &str, count: u64| {
            if count > 0 {
                rows.push(DropRow {
                    place: place.to_owned(),
                    reason: reason.to_owned(),
                    meaning: meaning.to_owned(),
                    count,
                });
            }
        };
        for (id, node) in self.each_node() {
            for number in 0..=node.device.port_count() {
                let Some(port) = node.device.port(number) else {
                    continue;
                };
                let place = self.port_name(PortRef {
                    node: id,
                    port: number,
                });
                for (reason, count) in port.counters.drops.iter() {
                    add(&place, reason.name(), reason.meaning(), count);
                }
            }
            let place = self.name(id);
            for (reason, count) in node.drops.iter() {
                add(place, reason.name(), reason.meaning(), count);
            }
            for (reason, count) in node.smi_drops.iter() {
                add(place, reason.name(), reason.meaning(), count);
            }
            for (reason, count) in node.sma.drops().iter() {
                add(place, reason.name(), reason.meaning(), count);
            }
            for (reason, count) in node.pma.drops().iter() {
                add(place, reason.name(), reason.meaning(), count);
            }
            if let Some(seat) = &node.manager {
                for (reason, count) in seat.manager.drops().iter() {
                    add(place, reason.name(), reason.meaning(), count);
                }
            }
            for client in &node.sa_clients {
                for (reason, count) in client.drops().iter() {
                    add(place, reason.name(), reason.meaning(), count);
                }
            }
            for interface in &node.interfaces {
                let place = format!("{place}/{}", interface.ip.name());
                for (reason, count) in interface.ip.counters().drops.iter() {
                    add(&place, reason.name(), reason.meaning(), count);
                }
                if let Some(counters) = node.qp_counters(interface.qp) {
                    for (reason, count) in counters.drops.iter() {
                        add(&place, reason.name(), reason.meaning(), count);
                    }
                }
            }
        }
        for cable in &self.links {
            for end in [softib_fabric::link::End::A, softib_fabric::link::End::B] {
                let (from, to) = (cable.at(end), cable.at(end.other()));
                let place = format!("{}-{}", self.port_name(from), self.port_name(to));
                for (reason, count) in cable.link.counters(end).drops.iter() {
                    add(&place, reason.name(), reason.meaning(), count);
                }
            }
        }
        rows
    }
}

fn named<const N: usize>(figures: [(&str, u64); N]) -> Vec<Counter> {
    figures
        .into_iter()
        .map(|(name, value)| Counter {
            name: name.to_owned(),
            value,
        })
        .collect()
}

fn valid_pkeys(port: &Port) -> Vec<String> {
    let entries = port.pkeys().entries().iter();
    entries
        .filter(|pkey| pkey.is_valid())
        .map(PKey::to_string)
        .collect()
}

/// `4x EDR`; empty while there is no link.
fn speed_name(width: u8, speed: u8, extended: u8) -> String {
    let width = match width {
        1 => "1x",
        2 => "4x",
        4 => "8x",
        8 => "12x",
        16 => "2x",
        _ => return String::new(),
    };
    let speed = match (extended, speed) {
        (8, _) => "NDR",
        (4, _) => "HDR",
        (2, _) => "EDR",
        (1, _) => "FDR",
        (_, 4) => "QDR",
        (_, 2) => "DDR",
        _ => "SDR",
    };
    format!("{width} {speed}")
}

fn gbps(rate: Rate) -> f64 {
    f64::from(rate.gbps_x10()) / 10.0
}

/// What a group stands for in IP. An IPv6 address keeps 80 bits and its scope; the well-known form
/// is shown.
pub(crate) fn ip_name(mgid: Gid) -> Option<String> {
    let (space, group) = mgid::parse(mgid)?;
    Some(match group {
        Group::Broadcast => "broadcast".to_owned(),
        Group::Ipv4(address) => address.to_string(),
        Group::Ipv6(low) => {
            let mut octets = [0; 16];
            octets[..2].copy_from_slice(&[0xFF, space.scope()]);
            octets[6..].copy_from_slice(&low);
            core::net::Ipv6Addr::from(octets).to_string()
        }
    })
}
