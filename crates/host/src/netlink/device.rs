//! An interface as the kernel sees it, and what softib changes on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::message::{
    AttributeIter, Attributes, Message, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE,
    Request, value_u32,
};
use super::socket::Requests;

// linux/rtnetlink.h
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_DELADDR: u16 = 21;
const RTM_GETADDR: u16 = 22;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;

/// Length of `ifinfomsg`: family u8, pad u8, type u16, index i32, flags u32, change u32.
const IFINFOMSG: usize = 16;
/// Length of `ifaddrmsg`: family, prefix length, flags, scope u8, index u32.
const IFADDRMSG: usize = 8;
/// Length of `rtmsg`: family, destination length, source length, tos, table, protocol, scope, type
/// u8, flags u32.
const RTMSG: usize = 12;

const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_TXQLEN: u16 = 13;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const ADDR_GEN_MODE_NONE: u8 = 1;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_BROADCAST: u16 = 4;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_MULTIPATH: u16 = 9;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTN_UNICAST: u8 = 1;
const RT_TABLE_LOCAL: u32 = 255;
const RTM_F_CLONED: u32 = 0x200;
const IFF_UP: u32 = 1;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// State of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Link {
    /// Index in its namespace.
    pub(crate) index: u32,
    /// Name, which a person may change.
    pub(crate) name: String,
    /// Whether it is set up.
    pub(crate) up: bool,
    /// MTU.
    pub(crate) mtu: u32,
}

/// A route that leaves by an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceRoute {
    /// Destination network.
    pub(crate) destination: IpAddr,
    /// Length of its prefix.
    pub(crate) prefix: u8,
    /// Which of several routes to the same destination is used: the lowest.
    pub(crate) metric: u32,
    /// Next hop; `None`: the destination itself.
    pub(crate) gateway: Option<IpAddr>,
}

/// The interface of this name.
pub(crate) fn link_by_name(requests: &mut Requests, name: &str) -> io::Result<Link> {
    let request = Request::new(RTM_GETLINK, NLM_F_ACK, &[0; IFINFOMSG])
        .attribute(IFLA_IFNAME, &c_string(name));
    read_link(requests, &request)
}

/// The interface of this index.
pub(crate) fn link(requests: &mut Requests, index: u32) -> io::Result<Link> {
    read_link(
        requests,
        &Request::new(RTM_GETLINK, NLM_F_ACK, &ifinfomsg(index, 0, 0)),
    )
}

fn read_link(requests: &mut Requests, request: &Request) -> io::Result<Link> {
    requests
        .read(request, |link: &mut Option<Link>, message| {
            *link = parse_link(message);
        })?
        .ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
}

fn parse_link(message: Message<'_>) -> Option<Link> {
    let fixed: &[u8; IFINFOMSG] = message.fixed().filter(|_| message.kind == RTM_NEWLINK)?;
    let mut link = Link {
        index: native(fixed, 4),
        up: native(fixed, 8) & IFF_UP != 0,
        ..Link::default()
    };
    for (kind, value) in message.attributes::<IFINFOMSG>() {
        match kind {
            IFLA_IFNAME => {
                link.name =
                    String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned();
            }
            IFLA_MTU => link.mtu = value_u32(value)?,
            _ => {}
        }
    }
    Some(link)
}

/// Sets an interface up or down.
pub(crate) fn set_up(requests: &mut Requests, index: u32, up: bool) -> io::Result<()> {
    let flags = if up { IFF_UP } else { 0 };
    requests.change(Request::new(
        RTM_NEWLINK,
        NLM_F_ACK,
        &ifinfomsg(index, flags, IFF_UP),
    ))
}

/// Sets the MTU.
pub(crate) fn set_mtu(requests: &mut Requests, index: u32, mtu: u32) -> io::Result<()> {
    let request = Request::new(RTM_NEWLINK, NLM_F_ACK, &ifinfomsg(index, 0, 0));
    requests.change(request.attribute(IFLA_MTU, &mtu.to_ne_bytes()))
}

/// Sets how many packets may wait for the device.
pub(crate) fn set_queue_length(
    requests: &mut Requests,
    index: u32,
    packets: u32,
) -> io::Result<()> {
    let request = Request::new(RTM_NEWLINK, NLM_F_ACK, &ifinfomsg(index, 0, 0));
    requests.change(request.attribute(IFLA_TXQLEN, &packets.to_ne_bytes()))
}

/// Keeps the kernel from making link-local addresses of its own: it would make them of a hardware
/// address that the device has not.
pub(crate) fn no_own_link_local(requests: &mut Requests, index: u32) -> io::Result<()> {
    let mode = Attributes::default().attribute(IFLA_INET6_ADDR_GEN_MODE, &[ADDR_GEN_MODE_NONE]);
    let families = Attributes::default().nested(u16::from(AF_INET6), &mode);
    let request = Request::new(RTM_NEWLINK, NLM_F_ACK, &ifinfomsg(index, 0, 0));
    requests.change(request.nested(IFLA_AF_SPEC, &families))
}

/// Adds an address, or does nothing when it is there.
pub(crate) fn add_address(
    requests: &mut Requests,
    index: u32,
    address: IpAddr,
    prefix: u8,
) -> io::Result<()> {
    let mut request = address_request(
        RTM_NEWADDR,
        NLM_F_CREATE | NLM_F_REPLACE,
        index,
        address,
        prefix,
    );
    if let IpAddr::V4(address) = address
        && prefix < 31
    {
        // `ip addr add … brd +`: without it the kernel has no route to the subnet's broadcast
        // address.
        let host_bits = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
        let broadcast = Ipv4Addr::from(u32::from(address) | host_bits);
        request = request.attribute(IFA_BROADCAST, &broadcast.octets());
    }
    requests.change(request)
}

/// Removes an address.
pub(crate) fn remove_address(
    requests: &mut Requests,
    index: u32,
    address: IpAddr,
    prefix: u8,
) -> io::Result<()> {
    requests.change(address_request(RTM_DELADDR, 0, index, address, prefix))
}

fn address_request(kind: u16, flags: u16, index: u32, address: IpAddr, prefix: u8) -> Request {
    let mut body = [0; IFADDRMSG];
    body[0] = family(address);
    body[1] = prefix;
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    let octets = octets(address);
    Request::new(kind, flags | NLM_F_ACK, &body)
        .attribute(IFA_LOCAL, &octets)
        .attribute(IFA_ADDRESS, &octets)
}

/// All addresses of an interface with their prefix lengths, in the kernel's order.
pub(crate) fn addresses(requests: &mut Requests, index: u32) -> io::Result<Vec<(IpAddr, u8)>> {
    let request = Request::new(RTM_GETADDR, NLM_F_DUMP, &[0; IFADDRMSG]);
    requests.read(&request, |found: &mut Vec<_>, message| {
        found.extend(
            parse_address(message)
                .filter(|(on, _, _)| *on == index)
                .map(|(_, ip, prefix)| (ip, prefix)),
        );
    })
}

fn parse_address(message: Message<'_>) -> Option<(u32, IpAddr, u8)> {
    let fixed: &[u8; IFADDRMSG] = message.fixed().filter(|_| message.kind == RTM_NEWADDR)?;
    let (mut address, mut local) = (None, None);
    for (kind, value) in message.attributes::<IFADDRMSG>() {
        match kind {
            IFA_ADDRESS => address = ip(value),
            IFA_LOCAL => local = ip(value),
            _ => {}
        }
    }
    // With a peer address, IFA_ADDRESS is the peer's.
    Some((native(fixed, 4), local.or(address)?, fixed[1]))
}

/// All unicast routes that leave by an interface, from every table but the one of local addresses.
/// Of several to one destination the one that is used comes first.
pub(crate) fn routes(requests: &mut Requests, index: u32) -> io::Result<Vec<DeviceRoute>> {
    let mut all = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let mut body = [0; RTMSG];
        body[0] = family;
        let request = Request::new(RTM_GETROUTE, NLM_F_DUMP, &body);
        all.extend(requests.read(&request, |found: &mut Vec<_>, message| {
            parse_route(message, index, found);
        })?);
    }
    all.sort_unstable();
    Ok(all)
}

fn parse_route(message: Message<'_>, index: u32, found: &mut Vec<DeviceRoute>) {
    let Some(fixed) = message
        .fixed::<RTMSG>()
        .filter(|_| message.kind == RTM_NEWROUTE)
    else {
        return;
    };
    if fixed[7] != RTN_UNICAST || native(fixed, 8) & RTM_F_CLONED != 0 {
        return;
    }
    let mut destination = match fixed[0] {
        AF_INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        AF_INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => return,
    };
    let (mut metric, mut table, mut device, mut gateway) = (0, u32::from(fixed[4]), None, None);
    let mut hops = Vec::new();
    for (kind, value) in message.attributes::<RTMSG>() {
        match kind {
            RTA_DST => destination = ip(value).unwrap_or(destination),
            RTA_OIF => device = value_u32(value),
            RTA_PRIORITY => metric = value_u32(value).unwrap_or(0),
            RTA_TABLE => table = value_u32(value).unwrap_or(table),
            RTA_MULTIPATH => next_hops(value, &mut hops),
            other => gateway = next_hop(other, value).or(gateway),
        }
    }
    if table == RT_TABLE_LOCAL {
        return;
    }
    hops.extend(device.map(|device| (device, gateway)));
    found.extend(
        hops.into_iter()
            .filter(|(device, _)| *device == index)
            .map(|(_, gateway)| DeviceRoute {
                destination,
                prefix: fixed[1],
                metric,
                gateway,
            }),
    );
}

/// The hops of a multipath route: `rtnexthop` (length u16, flags u8, hops u8, index i32) and
/// attributes.
fn next_hops(mut rest: &[u8], hops: &mut Vec<(u32, Option<IpAddr>)>) {
    while let Some(header) = rest.first_chunk::<8>() {
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let Some(attributes) = rest.get(8..length) else {
            return;
        };
        let gateway = AttributeIter::of(attributes).find_map(|(kind, value)| next_hop(kind, value));
        hops.push((native(header, 4), gateway));
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

/// `RTA_GATEWAY`, or `RTA_VIA` for an IPv4 route with an IPv6 next hop.
fn next_hop(kind: u16, value: &[u8]) -> Option<IpAddr> {
    match kind {
        RTA_GATEWAY => ip(value),
        RTA_VIA => ip(value.get(2..)?),
        _ => None,
    }
}

fn ifinfomsg(index: u32, flags: u32, change: u32) -> [u8; IFINFOMSG] {
    let mut body = [0; IFINFOMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&change.to_ne_bytes());
    body
}

fn native<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    bytes.get(at..).and_then(value_u32).unwrap_or(0)
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    match value.len() {
        4 => value.first_chunk::<4>().map(|octets| IpAddr::from(*octets)),
        16 => value
            .first_chunk::<16>()
            .map(|octets| IpAddr::from(*octets)),
        _ => None,
    }
}

const fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn c_string(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}
