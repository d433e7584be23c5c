//! Records of what the manager discovered and wrote: nodes, ports, links, tables (IBA 15.2.5.2 to
//! 15.2.5.13).

use softib_wire::addr::{Lid, MKey};
use softib_wire::mad::sa::{
    LinearFdbRecord, LinkRecord, MulticastFdbRecord, NodeRecord, PKeyTableRecord, PortInfoRecord,
    SmInfoRecord, SwitchInfoRecord,
};
use softib_wire::mad::tables::NO_PORT;

use super::{Answer, Records, Reply, Request, View, manager_lid};
use crate::sm::database::{Node, NodeId, PortId};

/// The first component of all these records is a LID, in their first two octets.
const LID: u64 = 1;

/// Nodes that a query is about: the one that has the LID, if one is named, or else all. The other
/// components are compared as octets, so codes that a query leaves zero are no error.
fn nodes_of<'a>(view: View<'a>, asked: Request<'_>) -> Vec<(NodeId, &'a Node)> {
    if asked.mad.component_mask & LID == 0 {
        return view.database.nodes().collect();
    }
    let lid = u16::from_be_bytes([asked.mad.data[0], asked.mad.data[1]]);
    let owner = view.database.by_lid(Lid::new(lid));
    owner
        .and_then(|port| Some((port.node, view.database.node(port.node)?)))
        .into_iter()
        .collect()
}

/// NodeRecord: one for each end port.
pub(super) fn nodes(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<NodeRecord>();
    for (_, node) in nodes_of(view, asked) {
        for (port, number) in node.ports.iter().zip(0u8..=255) {
            let Some(guid) = port.guid else { continue };
            let mut node_info = node.info;
            node_info.port_guid = guid;
            node_info.local_port = if node.is_switch() {
                node.info.local_port
            } else {
                number
            };
            let record = NodeRecord {
                lid: port.lid,
                node_info,
                description: node.description,
            };
            found.push(&record, asked.mad);
        }
    }
    Ok(Reply::Records(found))
}

/// PortInfoRecord: every port of every node.
pub(super) fn ports(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<PortInfoRecord>();
    for (id, node) in nodes_of(view, asked) {
        for (port, number) in node.ports.iter().zip(0u8..=255) {
            let Some(mut port_info) = port.info else {
                continue;
            };
            if !asked.trusted {
                // IBA 15.4.2: keys are for managers.
                port_info.m_key = MKey::NONE;
            }
            let at = PortId {
                node: id,
                port: number,
            };
            let record = PortInfoRecord {
                lid: view.database.lid_of(at),
                port: number,
                options: 0,
                port_info,
            };
            found.push(&record, asked.mad);
        }
    }
    Ok(Reply::Records(found))
}

/// SwitchInfoRecord.
pub(super) fn switches(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<SwitchInfoRecord>();
    for (id, node) in nodes_of(view, asked) {
        if let Some(switch) = &node.switch {
            let record = SwitchInfoRecord {
                lid: switch_lid(view, id),
                switch_info: switch.info,
            };
            found.push(&record, asked.mad);
        }
    }
    Ok(Reply::Records(found))
}

/// LinearForwardingTableRecord.
pub(super) fn linear(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<LinearFdbRecord>();
    for (id, node) in nodes_of(view, asked) {
        let Some(switch) = &node.switch else {
            continue;
        };
        for (entries, block) in switch.lft.chunks(64).zip(0u16..) {
            let mut ports = [NO_PORT; 64];
            ports[..entries.len()].copy_from_slice(entries);
            let record = LinearFdbRecord {
                lid: switch_lid(view, id),
                block,
                ports,
            };
            found.push(&record, asked.mad);
        }
    }
    Ok(Reply::Records(found))
}

/// MulticastForwardingTableRecord: blocks up to the last multicast LID in use.
pub(super) fn multicast(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<MulticastFdbRecord>();
    let Some(last) = view.rows.last_index() else {
        return Ok(Reply::Records(found));
    };
    for (id, node) in nodes_of(view, asked) {
        if !node.is_switch() {
            continue;
        }
        for block in 0..=last / 32 {
            for position in 0..=node.info.port_count / 16 {
                let mut port_masks = [0; 32];
                for (index, ports) in (block * 32..).zip(&mut port_masks) {
                    *ports = view.rows.ports(index, id).position(position);
                }
                let record = MulticastFdbRecord {
                    lid: switch_lid(view, id),
                    position,
                    block,
                    port_masks,
                };
                found.push(&record, asked.mad);
            }
        }
    }
    Ok(Reply::Records(found))
}

/// P_KeyTableRecord, for who is trusted (IBA 15.4.2).
pub(super) fn pkeys(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<PKeyTableRecord>();
    for (id, node) in nodes_of(view, asked) {
        if !asked.speaks_for(id) {
            continue;
        }
        for (port, number) in node.ports.iter().zip(0u8..=255) {
            let Some(keys) = &port.pkeys else { continue };
            for (keys, block) in keys.chunks(32).zip(0u16..) {
                let mut pkeys = [Default::default(); 32];
                pkeys[..keys.len()].copy_from_slice(keys);
                let at = PortId {
                    node: id,
                    port: number,
                };
                let record = PKeyTableRecord {
                    lid: view.database.lid_of(at),
                    block,
                    port: if node.is_switch() { number } else { 0 },
                    pkeys,
                };
                found.push(&record, asked.mad);
            }
        }
    }
    Ok(Reply::Records(found))
}

/// SMInfoRecord: the master.
pub(super) fn manager(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut sm_info = view.manager;
    if !asked.trusted {
        sm_info.sm_key = 0;
    }
    let mut found = Records::new::<SmInfoRecord>();
    let record = SmInfoRecord {
        lid: manager_lid(view),
        sm_info,
    };
    found.push(&record, asked.mad);
    Ok(Reply::Records(found))
}

/// LinkRecord: every link, from each of its ends.
pub(super) fn links(view: View<'_>, asked: Request<'_>) -> Answer {
    let mut found = Records::new::<LinkRecord>();
    for (id, node) in nodes_of(view, asked) {
        for number in node.port_numbers() {
            let from = PortId {
                node: id,
                port: number,
            };
            let Some(to) = view.database.port(from).and_then(|port| port.peer) else {
                continue;
            };
            let record = LinkRecord {
                from_lid: view.database.lid_of(from),
                from_port: number,
                to_port: to.port,
                to_lid: view.database.lid_of(to),
            };
            found.push(&record, asked.mad);
        }
    }
    Ok(Reply::Records(found))
}

fn switch_lid(view: View<'_>, node: NodeId) -> Lid {
    view.database.lid_of(PortId { node, port: 0 })
}
