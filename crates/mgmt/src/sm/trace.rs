//! Following the forwarding tables: the way that a packet takes.

use softib_wire::addr::Lid;
use softib_wire::mad::smp::HopPath;
use softib_wire::mad::tables::NO_PORT;

use super::database::{Database, PortId};

/// Calls `each` with every port that a packet leaves by and the one that it comes in by after it, on
/// its way from an end port to the port that has `dlid`. False: it does not arrive.
pub(crate) fn follow(
    database: &Database,
    from: PortId,
    dlid: Lid,
    mut each: impl FnMut(PortId, PortId),
) -> bool {
    let Some(to) = database.by_lid(dlid) else {
        return false;
    };
    if from == to {
        return true;
    }
    let mut leave = |egress: PortId| {
        let ingress = database.port(egress)?.peer?;
        each(egress, ingress);
        Some(ingress)
    };
    let Some(source) = database.node(from.node) else {
        return false;
    };
    let mut at = from;
    if !source.is_switch() {
        let Some(ingress) = leave(from) else {
            return false;
        };
        at = ingress;
    }
    for _ in 0..=HopPath::MAX {
        let Some(node) = database.node(at.node) else {
            return false;
        };
        let Some(switch) = &node.switch else {
            return at == to;
        };
        if at.node == to.node {
            return true;
        }
        let entry = switch.lft.get(usize::from(dlid.bits())).copied();
        let Some(port) = entry.filter(|&port| port != NO_PORT && port != 0) else {
            return false;
        };
        let egress = PortId {
            node: at.node,
            port,
        };
        let Some(ingress) = leave(egress) else {
            return false;
        };
        at = ingress;
    }
    false
}
