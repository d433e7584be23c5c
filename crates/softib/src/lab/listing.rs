//! Listings as `ibnetdiscover` prints them, and as `ibsim` reads them: the fabric of a real cluster
//! becomes a lab.
//!
//! ```text
//! switchguid=0x200001(200001)
//! Switch  8 "S-0000000000200001"    # "Switch2" base port 0 lid 3 lmc 0
//! [1]     "H-0000000000100006"[1](100007)   # "Hca3" lid 5 4xSDR
//!
//! caguid=0x100006
//! Ca      2 "H-0000000000100006"    # "Hca3"
//! [1](100007)   "S-0000000000200001"[1]     # lid 5 lmc 0 "Switch2" lid 3 4xSDR
//! ```
//!
//! Nodes are named by the first word of their description, if that is theirs alone, else by more of it or by
//! their identifier. A listing knows no IP addresses: host n gets 10.0.0.0 + n, prefix length 8, on
//! its first cabled port.

use core::net::{IpAddr, Ipv4Addr};
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use softib_host::runtime::HostSpec;
use softib_subnet::spec::{
    Impairment, InterfaceSpec, LinkSpec, ManagerSpec, NodeId, NodeKind, NodeSpec, PortRef,
    SubnetSpec,
};
use softib_subnet::topology;
use softib_wire::addr::{Gid, Guid};
use softib_wire::time::Duration;
use softib_wire::units::Mtu;

use super::error::Source;
use super::place::is_name;
use super::{Lab, LabError, MOST_HOST_PORTS, MOST_SWITCH_PORTS, quantity};
use crate::text;

type Result<T> = core::result::Result<T, LabError>;

/// Whether the first line that says something is one of a listing.
pub(super) fn looks_like_one(text: &str) -> bool {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| {
        is_assignment(line)
            || line
                .split_once(char::is_whitespace)
                .is_some_and(|(word, rest)| {
                    kind_of(word).is_some()
                        && rest.trim_start().starts_with(|c: char| c.is_ascii_digit())
                })
    })
}

/// `name=value` lines that listings have between nodes; all but the GUIDs mean nothing here.
fn is_assignment(line: &str) -> bool {
    const NAMES: [&str; 13] = [
        "vendid",
        "devid",
        "sysimgguid",
        "switchguid",
        "switchguids",
        "caguid",
        "caguids",
        "hcaguid",
        "hcaguids",
        "rtguid",
        "width",
        "speed",
        "extspeed",
    ];
    line.split_once('=')
        .is_some_and(|(name, _)| NAMES.contains(&name.trim()))
}

pub(super) fn parse(source: &Source<'_>) -> Result<Lab> {
    let records = read(source)?;
    if !records.iter().any(|record| record.host) {
        let help = "a lab needs one at least: a `Ca` record";
        return Err(source.error(0..0, "", "the listing has no channel adapter", help));
    }
    let links = cables(source, &records)?;
    let names = names(&records);
    let (nodes, hosts) = nodes(source, &records, names)?;
    let subnet = SubnetSpec {
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
    };
    subnet
        .check()
        .map_err(|error| source.error(0..0, "", error, "mend the listing"))?;
    Ok(Lab {
        name: None,
        subnet,
        hosts,
    })
}

/// A node of the listing.
struct Record<'a> {
    host: bool,
    ports: u8,
    id: &'a str,
    description: Option<&'a str>,
    guid: Option<Guid>,
    span: Range<usize>,
    lines: Vec<PortLine<'a>>,
}

/// A cabled port of a node.
struct PortLine<'a> {
    port: u8,
    peer: &'a str,
    peer_port: u8,
    span: Range<usize>,
}

/// The records, hosts first, so that host n is node n.
fn read<'a>(source: &Source<'a>) -> Result<Vec<Record<'a>>> {
    let mut records: Vec<Record<'a>> = Vec::new();
    let mut guid = None;
    // Whether the lines that follow belong to the last record.
    let mut open = false;
    let mut offset = 0;
    for raw in source.text.split_inclusive('\n') {
        let start = offset;
        offset += raw.len();
        let line = raw.trim();
        let indent = raw.len() - raw.trim_start().len();
        let span = start + indent..start + indent + line.len();
        if line.starts_with('[') {
            let record = records.last_mut().filter(|_| open).ok_or_else(|| {
                source.error(span.clone(), "", "this port belongs to no node", HEADER)
            })?;
            record
                .lines
                .push(port_line(source, line, span, record.ports)?);
        } else if line.starts_with('#') || line.starts_with('@') {
            // Comments, and names of ports within a chassis.
        } else if let Some((name, value)) = line.split_once('=') {
            open = false;
            let name = name.trim();
            let digits = value.split('(').next().unwrap_or("").trim();
            if name.ends_with("guid") && name != "sysimgguid" || name.ends_with("guids") {
                guid = (!digits.starts_with('+'))
                    .then(|| guid_of(source, digits, &span))
                    .transpose()?;
            }
        } else {
            open = false;
            let word = line.split_whitespace().next().unwrap_or("");
            if let Some(host) = kind_of(word) {
                let record = header(source, line, span, host, guid.take())?;
                records.push(record);
                open = true;
            }
            // ibsim leaves out other lines too.
        }
    }
    records.sort_by_key(|record| !record.host);
    Ok(records)
}

const HEADER: &str = "a node begins with a line such as: Switch 8 \"s1\"";
const PORT: &str = "write a cabled port as: [1] \"s1\"[3]";

/// Whether the word begins a host's record or a switch's.
fn kind_of(word: &str) -> Option<bool> {
    match word {
        "Ca" | "Hca" => Some(true),
        "Switch" => Some(false),
        _ => None,
    }
}

fn guid_of(source: &Source<'_>, digits: &str, span: &Range<usize>) -> Result<Guid> {
    quantity::guid(digits).map_err(|bad| {
        source.error(
            span.clone(),
            "",
            format!("{:?} is not {}", bad.value, bad.what),
            bad.help,
        )
    })
}

fn header<'a>(
    source: &Source<'a>,
    line: &'a str,
    span: Range<usize>,
    host: bool,
    guid: Option<Guid>,
) -> Result<Record<'a>> {
    let bad = |problem: String, help: &str| source.error(span.clone(), "", problem, help);
    let mut words = line.splitn(2, '"');
    let ports = words
        .next()
        .and_then(|front| front.split_whitespace().nth(1))
        .unwrap_or("");
    let (id, rest) = words
        .next()
        .and_then(|rest| rest.split_once('"'))
        .filter(|(id, _)| !id.is_empty())
        .ok_or_else(|| bad("the node has no identifier in quotes".to_owned(), HEADER))?;
    let most = if host {
        MOST_HOST_PORTS
    } else {
        MOST_SWITCH_PORTS
    };
    let ports = ports
        .parse()
        .ok()
        .filter(|ports| (1..=most).contains(ports))
        .ok_or_else(|| {
            bad(
                format!("{ports:?} is not a number of ports from 1 to {most}"),
                HEADER,
            )
        })?;
    let description = rest
        .split_once('#')
        .and_then(|(_, comment)| comment.split('"').nth(1));
    Ok(Record {
        host,
        ports,
        id,
        description,
        guid,
        span,
        lines: Vec::new(),
    })
}

/// `[1](portguid) "peer"[2] …`; without a peer's port that is 1.
fn port_line<'a>(
    source: &Source<'a>,
    line: &'a str,
    span: Range<usize>,
    ports: u8,
) -> Result<PortLine<'a>> {
    let bad = |problem: String| source.error(span.clone(), "", problem, PORT);
    let number = |text: &str| {
        let digits = text.strip_prefix('[')?.split_once(']')?.0;
        digits.trim().parse::<u8>().ok()
    };
    let port = number(line).ok_or_else(|| bad("the line has no port number".to_owned()))?;
    if port == 0 || port > ports {
        return Err(bad(format!(
            "the node has {}, not {port}",
            text::ports(ports)
        )));
    }
    let mut parts = line.splitn(3, '"').skip(1);
    let (Some(peer), Some(rest)) = (parts.next(), parts.next()) else {
        return Err(bad("the line names no peer in quotes".to_owned()));
    };
    let peer_port = if rest.starts_with('[') {
        number(rest).ok_or_else(|| bad("the peer's port is no number from 1 to 254".to_owned()))?
    } else {
        1
    };
    Ok(PortLine {
        port,
        peer,
        peer_port,
        span,
    })
}

/// Each cable once; both ends list it and must agree.
fn cables(source: &Source<'_>, records: &[Record<'_>]) -> Result<Vec<LinkSpec>> {
    let mut ids = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        if ids.insert(record.id, index).is_some() {
            return Err(source.error(
                record.span.clone(),
                "",
                format!("another node has the identifier {:?}", record.id),
                "give each node an identifier of its own",
            ));
        }
    }
    let reference = |index: usize, port| PortRef {
        node: NodeId(u32::try_from(index).unwrap_or(u32::MAX)),
        port,
    };
    let mut ends = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        for line in &record.lines {
            let Some(&peer) = ids.get(line.peer) else {
                return Err(source.error(
                    line.span.clone(),
                    "",
                    format!("the listing has no node {:?}", line.peer),
                    "each node that a port is cabled to needs a record of its own",
                ));
            };
            let (here, there) = (reference(index, line.port), reference(peer, line.peer_port));
            if here == there || ends.insert(here, (there, line.span.clone())).is_some() {
                return Err(source.error(
                    line.span.clone(),
                    "",
                    format!(
                        "port {} of {:?} can't have this cable too",
                        line.port, record.id
                    ),
                    "a port takes one cable, to another port",
                ));
            }
        }
    }
    let mut links = Vec::new();
    for (&a, (b, span)) in &ends {
        if ends.get(b).map(|(back, _)| *back) != Some(a) {
            return Err(source.error(
                span.clone(),
                "",
                "the other end does not list this cable",
                "list each cable at both of its ends, with the same ports",
            ));
        }
        if a < *b {
            links.push(LinkSpec {
                a,
                b: *b,
                impairment: Impairment::default(),
                up: true,
            });
        }
    }
    Ok(links)
}

/// A name for each node: the first candidate that is its alone.
fn names(records: &[Record<'_>]) -> Vec<String> {
    let candidates: Vec<_> = records.iter().map(candidates).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for names in &candidates {
        for name in names.iter().collect::<BTreeSet<_>>() {
            *uses.entry(name).or_default() += 1;
        }
    }
    let mut taken = BTreeSet::new();
    candidates
        .iter()
        .enumerate()
        .map(|(index, names)| {
            let name = names
                .iter()
                .find(|name| uses.get(name.as_str()) == Some(&1))
                .cloned()
                .unwrap_or_else(|| format!("node{}", index + 1));
            if taken.insert(name.clone()) {
                name
            } else {
                format!("{name}-{}", index + 1)
            }
        })
        .collect()
}

fn candidates(record: &Record<'_>) -> Vec<String> {
    let tidy = |text: &str| {
        let text: String = text
            .trim()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                    c
                } else {
                    '-'
                }
            })
            .take(63)
            .collect();
        text.trim_matches(['-', '_', '.']).to_owned()
    };
    let description = record.description.unwrap_or("");
    let first = description.split_whitespace().next().unwrap_or("");
    [first, description, record.id]
        .map(tidy)
        .into_iter()
        .filter(|name| is_name(name))
        .collect()
}

fn nodes(
    source: &Source<'_>,
    records: &[Record<'_>],
    names: Vec<String>,
) -> Result<(Vec<NodeSpec>, Vec<HostSpec>)> {
    let mut nodes = Vec::new();
    let mut hosts = Vec::new();
    let mut guids = BTreeMap::new();
    for (index, (record, name)) in records.iter().zip(names).enumerate() {
        let guid = record.guid.unwrap_or_else(|| {
            if record.host {
                topology::host_guid(index)
            } else {
                topology::switch_guid(index)
            }
        });
        if let Some(other) = guids.insert(guid, record.id) {
            return Err(source.error(
                record.span.clone(),
                "",
                format!("{:?} has the GUID {guid} too", other),
                "give each node a GUID of its own",
            ));
        }
        let ports = record.ports;
        let kind = if record.host {
            let (interfaces, addresses) = interfaces(record, index);
            let node = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
            hosts.push(HostSpec {
                node,
                interfaces: addresses,
            });
            NodeKind::Host { ports, interfaces }
        } else {
            NodeKind::Switch { ports }
        };
        nodes.push(NodeSpec { name, guid, kind });
    }
    Ok((nodes, hosts))
}

/// An interface on each cabled port, an IPv4 address on the first.
fn interfaces(record: &Record<'_>, index: usize) -> (Vec<InterfaceSpec>, Vec<Vec<(IpAddr, u8)>>) {
    let ports: BTreeSet<_> = record.lines.iter().map(|line| line.port).collect();
    let interfaces: Vec<_> = ports
        .into_iter()
        .enumerate()
        .map(|(n, port)| InterfaceSpec {
            name: format!("ib{n}"),
            port,
            pkey: None,
            mtu: None,
        })
        .collect();
    let mut addresses = vec![Vec::new(); interfaces.len()];
    if let Some(first) = addresses.first_mut() {
        let number = u32::try_from(index + 1).unwrap_or(0);
        first.push((Ipv4Addr::from(0x0A00_0000 | number & 0x00FF_FFFF).into(), 8));
    }
    (interfaces, addresses)
}
