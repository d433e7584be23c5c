//! Which interfaces can run at all: those that `up` waits for.

use std::collections::BTreeSet;

use softib_subnet::spec::{InterfaceSpec, ManagerSpec, NodeId, NodeKind, PortRef, SubnetSpec};

/// For each node and interface, whether a manager reaches its port and lets it into its partition.
pub(super) fn expected(spec: &SubnetSpec) -> Vec<Vec<bool>> {
    let reached = reached(spec);
    spec.nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            let NodeKind::Host { interfaces, .. } = &node.kind else {
                return Vec::new();
            };
            let node = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            interfaces
                .iter()
                .map(|interface| {
                    let port = PortRef {
                        node,
                        port: interface.port,
                    };
                    reached.contains(&port) && is_member(spec, node, interface)
                })
                .collect()
        })
        .collect()
}

/// The ports that cables connect to the manager's node.
fn reached(spec: &SubnetSpec) -> BTreeSet<PortRef> {
    let ManagerSpec::Own { node: manager, .. } = spec.manager else {
        return BTreeSet::new();
    };
    let mut reached = BTreeSet::new();
    let mut to_visit = vec![manager];
    let mut visited = BTreeSet::from([manager]);
    // A manager looks out of one port of a host, but of all ports of a switch.
    let mut first = spec
        .nodes
        .get(manager.index())
        .is_some_and(|node| matches!(node.kind, NodeKind::Host { .. }));
    while let Some(node) = to_visit.pop() {
        let mut ends: Vec<_> = spec
            .links
            .iter()
            .filter(|link| link.up)
            .flat_map(|link| [(link.a, link.b), (link.b, link.a)])
            .filter(|(here, _)| here.node == node)
            .collect();
        ends.sort_unstable();
        if std::mem::take(&mut first) {
            ends.truncate(1);
        }
        for (here, there) in ends {
            reached.extend([here, there]);
            let is_switch = spec
                .nodes
                .get(there.node.index())
                .is_some_and(|node| matches!(node.kind, NodeKind::Switch { .. }));
            if is_switch && visited.insert(there.node) {
                to_visit.push(there.node);
            }
        }
    }
    reached
}

/// Whether the host is in the interface's partition, and that has a broadcast group.
fn is_member(spec: &SubnetSpec, node: NodeId, interface: &InterfaceSpec) -> bool {
    let Some(pkey) = interface.pkey else {
        return true;
    };
    if spec.partitions.is_empty() {
        return pkey.partition() == softib_wire::addr::PKey::DEFAULT_FULL.partition();
    }
    spec.partitions.iter().any(|partition| {
        partition.pkey.partition() == pkey.partition()
            && partition.ipoib
            && (partition.members.is_empty()
                || partition.members.iter().any(|(member, _)| *member == node))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;

    fn waited_for(text: &str) -> Vec<Vec<bool>> {
        expected(&Lab::parse("lab", text).unwrap().subnet)
    }

    #[test]
    fn what_no_manager_reaches_is_not_waited_for() {
        let hosts = "[[host]]\nname = \"a\"\nswitch = \"s\"\n[[host]]\nname = \"b\"\nswitch = \"s\"\n\
                     [[host]]\nname = \"c\"\n[[switch]]\nname = \"s\"\n";
        assert_eq!(
            waited_for(hosts)[..3],
            [vec![true], vec![true], vec![false]]
        );
        assert_eq!(
            waited_for(&format!("sm = \"none\"\n{hosts}"))[..3],
            [vec![false], vec![false], vec![false]]
        );
        assert_eq!(
            waited_for(&format!("sm = \"c\"\n{hosts}"))[..3],
            [vec![false], vec![false], vec![false]]
        );
    }

    #[test]
    fn partitions_decide_too() {
        let text = "[[host]]\nname = \"a\"\nswitch = \"s\"\n[[host.interface]]\npkey = 0x8001\n\
                    [[host.interface]]\npkey = 0x8002\n[[host]]\nname = \"b\"\nswitch = \"s\"\n\
                    [[switch]]\nname = \"s\"\n[[partition]]\npkey = 0x8001\nmembers = [\"a\"]\n";
        assert_eq!(waited_for(text)[..2], [vec![true, false], vec![true]]);
    }
}
