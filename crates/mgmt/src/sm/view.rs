//! What a manager shows of itself and of the subnet: plain values, made on request.

use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Sl};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::sa::JoinState;
use softib_wire::mad::sm_info::SmState;
use softib_wire::time::Duration;
use softib_wire::units::{Mtu, NodeType, PhysState, PortState, Rate};

use super::database::{Node, NodeId, PortId};
use super::{SubnetManager, trace};
use crate::sa::Group;

/// The whole view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The manager itself.
    pub manager: ManagerView,
    /// Nodes, in the order in which they were found.
    pub nodes: Vec<NodeView>,
    /// Links, each once.
    pub links: Vec<LinkView>,
    /// Multicast groups, by MGID.
    pub groups: Vec<GroupView>,
}

/// The manager itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerView {
    /// Port GUID.
    pub guid: Guid,
    /// LID of its port, zero before there is one.
    pub lid: Lid,
    /// State.
    pub state: SmState,
    /// Priority.
    pub priority: u8,
    /// LID of the master, zero when unknown.
    pub master_lid: Lid,
    /// Whether a sweep is under way.
    pub sweeping: bool,
    /// Light sweeps done.
    pub light_sweeps: u64,
    /// Partial sweeps done.
    pub partial_sweeps: u64,
    /// Heavy sweeps done.
    pub heavy_sweeps: u64,
    /// How long the last heavy or partial sweep took.
    pub last_sweep: Option<Duration>,
    /// How long the first sweep took, from the start to all links Active.
    pub bring_up: Option<Duration>,
    /// SMPs sent, attempts counted each.
    pub smps_sent: u64,
    /// Of them sent again.
    pub smps_retried: u64,
    /// SMPs that nobody answered.
    pub smps_failed: u64,
    /// Traps that came in.
    pub traps: u64,
    /// SA requests that came in.
    pub sa_requests: u64,
    /// SA requests refused.
    pub sa_refused: u64,
    /// Nodes known.
    pub nodes: usize,
    /// Switches among them.
    pub switches: usize,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// Node GUID.
    pub guid: Guid,
    /// System image GUID.
    pub system_image_guid: Guid,
    /// What it is.
    pub node_type: NodeType,
    /// What it calls itself.
    pub description: NodeDescription,
    /// Ports known; port 0 of a switch first.
    pub ports: Vec<PortView>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortView {
    /// Number.
    pub port: u8,
    /// Port GUID, of end ports.
    pub guid: Option<Guid>,
    /// LID; of a switch's external port that of the switch.
    pub lid: Lid,
    /// Logical state.
    pub state: PortState,
    /// Physical state.
    pub phys_state: PhysState,
    /// Width code in use.
    pub width: u8,
    /// Speed code in use.
    pub speed: u8,
    /// Extended speed code in use.
    pub speed_ext: u8,
    /// MTU of the link.
    pub mtu: Option<Mtu>,
    /// P_Keys that the manager has set.
    pub pkeys: Vec<PKey>,
    /// The other end: node GUID and port.
    pub peer: Option<(Guid, u8)>,
}

/// A link: node GUID and port of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkView {
    /// The end of the node that was found first.
    pub a: (Guid, u8),
    /// The other end.
    pub b: (Guid, u8),
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupView {
    /// MGID.
    pub mgid: Gid,
    /// Multicast LID.
    pub mlid: Lid,
    /// Partition.
    pub pkey: PKey,
    /// Q_Key.
    pub qkey: QKey,
    /// MTU.
    pub mtu: Mtu,
    /// Rate.
    pub rate: Rate,
    /// Service level.
    pub sl: Sl,
    /// Stays when nobody is left.
    pub well_known: bool,
    /// Members.
    pub members: Vec<MemberView>,
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// GID of the port.
    pub port_gid: Gid,
    /// How it is a member.
    pub join_state: JoinState,
}

/// The way of a packet through the subnet, by the forwarding tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteView {
    /// Node GUID, port in, port out of every node on the way. The first node has no port in, the
    /// last none out.
    pub hops: Vec<HopView>,
}

/// A node on the way of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopView {
    /// Node GUID.
    pub node: Guid,
    /// The port that the packet comes in by.
    pub ingress: Option<u8>,
    /// The port that it leaves by.
    pub egress: Option<u8>,
}

impl SubnetManager {
    /// Everything that there is to show.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            manager: self.manager_view(),
            nodes: self
                .database
                .nodes()
                .map(|(id, node)| self.node_view(id, node))
                .collect(),
            links: self.link_views(),
            groups: self
                .sa
                .groups()
                .map(|(_, group)| group_view(group))
                .collect(),
        }
    }

    /// The way of a packet from the port with one LID to another LID, by the forwarding tables.
    /// `None`: one of them is not known, or there is no way.
    #[must_use]
    pub fn route(&self, from: Lid, to: Lid) -> Option<RouteView> {
        let source = self.database.by_lid(from)?;
        let mut hops = vec![HopView {
            node: self.name(source).0,
            ingress: None,
            egress: None,
        }];
        let arrives = trace::follow(&self.database, source, to, |egress, ingress| {
            if let Some(hop) = hops.last_mut() {
                hop.egress = Some(egress.port);
            }
            hops.push(HopView {
                node: self.name(ingress).0,
                ingress: Some(ingress.port),
                egress: None,
            });
        });
        arrives.then_some(RouteView { hops })
    }

    /// What the manager shows of itself. Cheaper than the whole [`Self::snapshot`].
    #[must_use]
    pub fn manager_view(&self) -> ManagerView {
        let lid = self
            .database
            .own
            .map_or(Lid::NONE, |own| self.database.lid_of(own));
        let master_lid = match (self.state, &self.watch) {
            (SmState::Master, _) => lid,
            (_, Some(watch)) => self
                .database
                .port(watch.port)
                .and_then(|port| port.info.as_ref())
                .map_or(Lid::NONE, |info| info.lid),
            _ => Lid::NONE,
        };
        ManagerView {
            guid: self.config.port_guid,
            lid,
            state: self.state,
            priority: self.config.priority,
            master_lid,
            sweeping: self.sweep.is_some(),
            light_sweeps: self.statistics.light_sweeps,
            partial_sweeps: self.statistics.partial_sweeps,
            heavy_sweeps: self.statistics.heavy_sweeps,
            last_sweep: self.statistics.last_sweep,
            bring_up: self.statistics.bring_up,
            smps_sent: self.smps.sent,
            smps_retried: self.smps.retried,
            smps_failed: self.smps.failed,
            traps: self.statistics.traps,
            sa_requests: self.sa.requests,
            sa_refused: self.sa.refused,
            nodes: self.database.len(),
            switches: self.database.switches().count(),
        }
    }

    fn node_view(&self, id: NodeId, node: &Node) -> NodeView {
        let ports = node
            .port_numbers()
            .map(|number| PortId {
                node: id,
                port: number,
            })
            .filter_map(|id| self.port_view(id))
            .collect();
        NodeView {
            guid: node.info.node_guid,
            system_image_guid: node.info.system_image_guid,
            node_type: node.info.node_type,
            description: node.description,
            ports,
        }
    }

    fn port_view(&self, id: PortId) -> Option<PortView> {
        let port = self.database.port(id)?;
        let info = port.info.as_ref()?;
        Some(PortView {
            port: id.port,
            guid: port.guid,
            lid: self.database.lid_of(id),
            state: info.port_state,
            phys_state: info.phys_state,
            width: info.link_width_active,
            speed: info.link_speed_active,
            speed_ext: info.link_speed_ext_active,
            mtu: info.neighbor_mtu,
            pkeys: port.pkeys.clone().unwrap_or_default(),
            peer: port.peer.map(|peer| self.name(peer)),
        })
    }

    fn link_views(&self) -> Vec<LinkView> {
        let mut links = Vec::new();
        for (id, node) in self.database.nodes() {
            for port in node.port_numbers() {
                let end = PortId { node: id, port };
                let peer = self.database.port(end).and_then(|port| port.peer);
                if let Some(peer) = peer.filter(|peer| end < *peer) {
                    links.push(LinkView {
                        a: self.name(end),
                        b: self.name(peer),
                    });
                }
            }
        }
        links
    }
}

fn group_view(group: &Group) -> GroupView {
    let record = &group.record;
    GroupView {
        mgid: record.mgid,
        mlid: record.mlid,
        pkey: record.pkey,
        qkey: record.qkey,
        mtu: group.mtu,
        rate: group.rate,
        sl: record.sl,
        well_known: group.well_known,
        members: group
            .members
            .values()
            .map(|member| MemberView {
                port_gid: member.port_gid,
                join_state: member.join_state,
            })
            .collect(),
    }
}
