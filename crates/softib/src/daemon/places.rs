//! From names to nodes, ports, cables and interfaces of this lab, or a sentence that says what there is.

use softib_subnet::spec::{IfaceRef, LinkSpec, NodeId, NodeKind, NodeSpec, PortRef, SubnetSpec};

use crate::lab::place::PortPlace;
use crate::text::{self, some_of};

/// A sentence for who asked.
type Found<T> = Result<T, String>;

pub(super) fn node<'a>(spec: &'a SubnetSpec, name: &str) -> Found<(NodeId, &'a NodeSpec)> {
    spec.node(name)
        .and_then(|id| Some((id, spec.nodes.get(id.index())?)))
        .ok_or_else(|| {
            let names = some_of(spec.nodes.iter().map(|node| &node.name));
            format!("the lab has no node {name:?}; it has {names}")
        })
}

/// The port of a place; of a node alone the one that has a cable, of a host the first one.
pub(super) fn port(spec: &SubnetSpec, place: &PortPlace) -> Found<PortRef> {
    let (id, node) = node(spec, &place.node)?;
    if let Some(port) = place.port {
        return in_range(id, node, port);
    }
    if matches!(node.kind, NodeKind::Host { .. }) {
        return Ok(cabled(spec, id)
            .first()
            .copied()
            .unwrap_or(PortRef { node: id, port: 1 }));
    }
    match cabled(spec, id)[..] {
        [only] => Ok(only),
        ref ports => Err(which(node, ports)),
    }
}

/// Index of the cable at `end`, which leads to `other` if that is given.
pub(super) fn cable(
    spec: &SubnetSpec,
    links: &[LinkSpec],
    end: &PortPlace,
    other: Option<&PortPlace>,
) -> Found<usize> {
    let here = Wanted::new(spec, end)?;
    let there = other.map(|other| Wanted::new(spec, other)).transpose()?;
    let fits =
        |a: PortRef, b: PortRef| here.is(a) && there.as_ref().is_none_or(|there| there.is(b));
    let found: Vec<_> = links
        .iter()
        .enumerate()
        .filter(|(_, link)| fits(link.a, link.b) || fits(link.b, link.a))
        .map(|(index, _)| index)
        .collect();
    match found[..] {
        [only] => Ok(only),
        [] => Err(no_cable(spec, &here, other)),
        _ => {
            let (_, node) = node(spec, &end.node)?;
            let ports: Vec<_> = links
                .iter()
                .flat_map(|link| [(link.a, link.b), (link.b, link.a)])
                .filter(|(a, b)| fits(*a, *b))
                .map(|(a, _)| a)
                .collect();
            Err(which(node, &ports))
        }
    }
}

/// The interface of a host; without a name its first.
pub(super) fn interface(
    spec: &SubnetSpec,
    host: &str,
    name: Option<&str>,
) -> Found<(IfaceRef, String)> {
    let (id, node) = node(spec, host)?;
    let NodeKind::Host { interfaces, .. } = &node.kind else {
        return Err(format!("{host} is a switch; only hosts have interfaces"));
    };
    let index = match name {
        Some(name) => interfaces
            .iter()
            .position(|interface| interface.name == name),
        None => (!interfaces.is_empty()).then_some(0),
    };
    let index = index
        .and_then(|index| u16::try_from(index).ok())
        .ok_or_else(|| {
            let names = some_of(interfaces.iter().map(|interface| &interface.name));
            match name {
                Some(name) => format!("{host} has no interface {name:?}; it has {names}"),
                None => format!("{host} has no interface"),
            }
        })?;
    let name = interfaces
        .get(usize::from(index))
        .map_or("", |interface| &interface.name);
    Ok((IfaceRef { node: id, index }, format!("{host}:{name}")))
}

/// A port as people write it.
pub(super) fn show(spec: &SubnetSpec, port: PortRef) -> String {
    let name = spec
        .nodes
        .get(port.node.index())
        .map_or("?", |node| &node.name);
    format!("{name}[{}]", port.port)
}

/// An end that somebody means: a node, and perhaps a port of it.
struct Wanted {
    node: NodeId,
    port: Option<u8>,
}

impl Wanted {
    fn new(spec: &SubnetSpec, place: &PortPlace) -> Found<Self> {
        let (id, node) = node(spec, &place.node)?;
        if let Some(port) = place.port {
            in_range(id, node, port)?;
        }
        Ok(Self {
            node: id,
            port: place.port,
        })
    }

    fn is(&self, end: PortRef) -> bool {
        end.node == self.node && self.port.is_none_or(|port| port == end.port)
    }
}

fn in_range(id: NodeId, node: &NodeSpec, port: u8) -> Found<PortRef> {
    let ports = node.ports();
    if (1..=ports).contains(&port) {
        Ok(PortRef { node: id, port })
    } else {
        Err(format!(
            "{} has {}, not {port}",
            node.name,
            text::ports(ports)
        ))
    }
}

/// The ports of a node that have cables, in their order.
fn cabled(spec: &SubnetSpec, id: NodeId) -> Vec<PortRef> {
    let mut ports: Vec<_> = spec
        .links
        .iter()
        .flat_map(|link| [link.a, link.b])
        .filter(|end| end.node == id)
        .collect();
    ports.sort_unstable();
    ports
}

fn which(node: &NodeSpec, ports: &[PortRef]) -> String {
    let ports = some_of(
        ports
            .iter()
            .map(|port| format!("{}[{}]", node.name, port.port)),
    );
    format!(
        "{} alone leaves open which port is meant; name one of {ports}",
        node.name
    )
}

fn no_cable(spec: &SubnetSpec, here: &Wanted, other: Option<&PortPlace>) -> String {
    let name = spec
        .nodes
        .get(here.node.index())
        .map_or("?", |node| &node.name);
    let place = PortPlace {
        node: name.to_owned(),
        port: here.port,
    };
    let ports = some_of(cabled(spec, here.node).iter().map(|port| port.port));
    match other {
        Some(other) => format!("no cable leads from {place} to {other}"),
        None => format!("{place} has no cable; ports of {name} that have one: {ports}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Lab;

    fn spec() -> SubnetSpec {
        let text = include_str!("../../../../examples/fat-tree.toml");
        Lab::parse("lab", text).unwrap().subnet
    }

    fn place(text: &str) -> PortPlace {
        text.parse().unwrap()
    }

    #[test]
    fn ports() {
        let spec = spec();
        let name = |text: &str| port(&spec, &place(text)).map(|port| show(&spec, port));
        assert_eq!(name("h1").unwrap(), "h1[1]");
        assert_eq!(name("leaf1[3]").unwrap(), "leaf1[3]");
        assert!(name("leaf1").unwrap_err().contains("leaf1[1], leaf1[2]"));
        assert!(name("h1[9]").unwrap_err().contains("h1 has port 1, not 9"));
        assert!(name("h9").unwrap_err().contains("it has h1, h2"));
    }

    #[test]
    fn cables() {
        let spec = spec();
        let find = |end: &str, other: Option<&str>| {
            let other = other.map(place);
            cable(&spec, &spec.links, &place(end), other.as_ref())
                .map(|index| show(&spec, spec.links[index].b))
        };
        assert_eq!(find("h1", None).unwrap(), "leaf1[1]");
        assert_eq!(find("leaf1", Some("spine2")).unwrap(), "spine2[1]");
        assert_eq!(find("spine2", Some("leaf1")).unwrap(), "spine2[1]");
        assert_eq!(find("leaf1[5]", None).unwrap(), "spine1[1]");
        assert!(find("leaf1", None).unwrap_err().contains("leaf1[5]"));
        assert!(find("h1", Some("h2")).unwrap_err().contains("no cable"));
    }

    #[test]
    fn interfaces() {
        let spec = spec();
        assert_eq!(interface(&spec, "h2", None).unwrap().1, "h2:ib0");
        assert!(
            interface(&spec, "h2", Some("ib7"))
                .unwrap_err()
                .contains("it has ib0")
        );
        assert!(
            interface(&spec, "leaf1", None)
                .unwrap_err()
                .contains("switch")
        );
    }
}
