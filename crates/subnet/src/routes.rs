//! The forwarding tables of a switch, read from the switch itself: what its manager wrote, and what
//! packets follow.

use std::collections::BTreeMap;

use softib_fabric::switch::MulticastTable;
use softib_wire::addr::Lid;

use crate::node::device::Device;
use crate::spec::{NodeId, PortRef};
use crate::subnet::Subnet;
use crate::told::Names;
use crate::view::{MulticastRouteRow, RoutesView, UnicastRouteRow};

impl Subnet {
    /// What the forwarding tables of a switch hold; `None`: the node is no switch.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Option<RoutesView> {
        let Device::Switch(switch) = &self.nodes.get(node.index())?.device else {
            return None;
        };
        let names = Names::new(self);
        let top = switch.switch_info().linear_fdb_top.bits();
        let unicast = (1..=top).map(Lid::new).filter_map(|lid| {
            let port = switch.linear_fdb().port(lid)?;
            let out = PortRef { node, port };
            Some(UnicastRouteRow {
                lid: lid.bits(),
                to: names.at(lid).map(str::to_owned),
                port,
                peer: self.peer(out).map(|peer| self.port_name(peer)),
            })
        });
        let groups: BTreeMap<String, String> = self
            .group_rows()
            .into_iter()
            .map(|group| (group.mlid, group.ip.unwrap_or(group.mgid)))
            .collect();
        let first = Lid::MULTICAST_FIRST.bits();
        let multicast = (first..first + MulticastTable::CAPACITY).filter_map(|mlid| {
            let ports = switch.multicast_fdb().ports(Lid::new(mlid));
            let mlid = format!("0x{mlid:04x}");
            (!ports.is_empty()).then(|| MulticastRouteRow {
                group: groups.get(&mlid).cloned(),
                mlid,
                ports: ports.iter().collect(),
            })
        });
        Some(RoutesView {
            switch: self.spec.nodes[node.index()].name.clone(),
            unicast: unicast.collect(),
            multicast: multicast.collect(),
        })
    }

    /// The port at the other end of a port's cable.
    fn peer(&self, port: PortRef) -> Option<PortRef> {
        let cables = &self.cabled[port.node.index()];
        let (link, end) = (*cables.get(usize::from(port.port))?)?;
        Some(self.links[link].at(end.other()))
    }
}
