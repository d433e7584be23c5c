//! What a subnet shows of itself: plain rows that a table or JSON is made of.
//!
//! All identifiers are already spelled the way people read them (`0x…` GUIDs, GIDs as IPv6
//! addresses), so that the tables and the JSON say the same.

use serde::{Deserialize, Serialize};

/// A node with its ports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// Name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: String,
    /// Node GUID.
    pub guid: String,
    /// Its ports, port 0 of a switch first.
    pub ports: Vec<PortRow>,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PortRow {
    /// Number.
    pub port: u8,
    /// Port GUID; `None` at a switch's external ports, which have none.
    pub guid: Option<String>,
    /// LID, 0 while there is none.
    pub lid: u16,
    /// Logical state: `Down`, `Init`, `Armed`, `Active`.
    pub state: String,
    /// Physical state: `Polling`, `LinkUp`, `Disabled` …
    pub phys_state: String,
    /// Width and speed, such as `4x EDR`.
    pub speed: String,
    /// NeighborMTU in octets.
    pub mtu: usize,
    /// P_Keys that are set.
    pub pkeys: Vec<String>,
    /// The other end of the cable: `s1[3]`.
    pub peer: Option<String>,
    /// What the cable does to packets, when it does anything: `loss 1% delay 2ms rate 10G`.
    pub impairment: Option<String>,
}

/// An IPoIB interface of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// Host.
    pub host: String,
    /// Interface.
    pub interface: String,
    /// Whether it is set up by the administrator.
    pub up: bool,
    /// Whether it has carrier.
    pub carrier: bool,
    /// Whether all its addresses can be used: it has carrier, and none of them is still being checked
    /// for duplicates.
    pub ready: bool,
    /// Why it has no carrier, or is not ready.
    pub reason: Option<String>,
    /// `datagram` or `connected`.
    pub mode: String,
    /// MTU in octets.
    pub mtu: u32,
    /// P_Key.
    pub pkey: String,
    /// Queue pair.
    pub qpn: String,
    /// 20-octet hardware address.
    pub hardware_address: String,
    /// IP addresses with prefix length.
    pub addresses: Vec<String>,
    /// Counters, as the Linux driver's.
    pub counters: Vec<Counter>,
}

/// A named number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Name.
    pub name: String,
    /// Value.
    pub value: u64,
}

/// The subnet manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManagerRow {
    /// Node that it runs on; `None`: there is no manager of ours.
    pub node: Option<String>,
    /// `Master`, `Standby` …
    pub state: String,
    /// Port GUID.
    pub guid: Option<String>,
    /// LID.
    pub lid: u16,
    /// Priority.
    pub priority: u8,
    /// Heavy sweeps done.
    pub heavy_sweeps: u64,
    /// Light sweeps done.
    pub light_sweeps: u64,
    /// Nodes known.
    pub nodes: usize,
    /// Switches among them.
    pub switches: usize,
    /// Milliseconds that the last heavy sweep took.
    pub last_sweep_ms: f64,
    /// SMPs sent.
    pub smps: u64,
    /// Latest events, oldest first.
    pub events: Vec<ManagerEventRow>,
}

/// What a subnet manager found or did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManagerEventRow {
    /// When, in seconds since the lab started.
    pub seconds: f64,
    /// What, in words; nodes and ports by their names.
    pub event: String,
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupRow {
    /// MGID.
    pub mgid: String,
    /// What it stands for in IP: `broadcast`, `224.0.0.1`, `ff02::1`.
    pub ip: Option<String>,
    /// MLID.
    pub mlid: String,
    /// P_Key.
    pub pkey: String,
    /// Q_Key.
    pub qkey: String,
    /// MTU in octets.
    pub mtu: usize,
    /// Rate in Gb/s.
    pub rate: f64,
    /// Members.
    pub members: Vec<MemberRow>,
}

/// A port in a multicast group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRow {
    /// Node, with the port if it has several: `h1`; a port GID if it is none of this lab's.
    pub port: String,
    /// Join state: `full`, `non`, `send-only`.
    pub state: String,
}

impl core::fmt::Display for MemberRow {
    /// `h1 full`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} {}", self.port, self.state)
    }
}

/// A path that an interface has in its cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// Host.
    pub host: String,
    /// Interface.
    pub interface: String,
    /// Destination GID.
    pub dgid: String,
    /// Host that has that GID.
    pub to: Option<String>,
    /// Destination LID.
    pub dlid: u16,
    /// Service level.
    pub sl: u8,
    /// Path MTU in octets.
    pub mtu: usize,
    /// Rate in Gb/s, once known.
    pub rate: Option<f64>,
    /// `valid`, `querying`, `stale` or `failed`.
    pub state: String,
    /// Ports that packets leave by, one a hop: `h1[1]`, `s1[2]`.
    pub hops: Vec<String>,
}

/// A neighbour of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeighbourRow {
    /// Host.
    pub host: String,
    /// Interface.
    pub interface: String,
    /// IP address.
    pub ip: String,
    /// Hardware address, once known.
    pub hardware_address: Option<String>,
    /// `reachable`, `stale`, `probe`, `incomplete` …
    pub state: String,
    /// Milliseconds since it was last confirmed.
    pub age_ms: u64,
}

/// Counters of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounterRow {
    /// Node.
    pub node: String,
    /// Port.
    pub port: u8,
    /// PortCounters, PortCountersExtended and others, by name.
    pub counters: Vec<Counter>,
}

/// Packets dropped for one reason at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DropRow {
    /// Where: `s1[3]`, `h1/ib0`, `h1[1]-s1[1]`.
    pub place: String,
    /// Which check refused them.
    pub reason: String,
    /// What the reason means, in a sentence.
    pub meaning: String,
    /// How many.
    pub count: u64,
}

/// The forwarding tables of a switch (`show routes`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutesView {
    /// The switch.
    pub switch: String,
    /// Its linear forwarding table, by LID.
    pub unicast: Vec<UnicastRouteRow>,
    /// Its multicast forwarding table, by LID.
    pub multicast: Vec<MulticastRouteRow>,
}

/// An entry of a linear forwarding table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnicastRouteRow {
    /// LID.
    pub lid: u16,
    /// Node that has the LID, with the port if it has several.
    pub to: Option<String>,
    /// Port that packets leave by; 0 is the switch itself.
    pub port: u8,
    /// Where that port's cable leads.
    pub peer: Option<String>,
}

/// An entry of a multicast forwarding table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MulticastRouteRow {
    /// MLID.
    pub mlid: String,
    /// What the group stands for in IP, or else its MGID.
    pub group: Option<String>,
    /// Ports that packets leave by, but for the one that they came by.
    pub ports: Vec<u8>,
}

/// Everything at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SubnetView {
    /// Nodes and ports (`show fabric`).
    pub nodes: Vec<NodeRow>,
    /// Interfaces (`show hosts`).
    pub interfaces: Vec<InterfaceRow>,
    /// The subnet manager (`show sm`).
    pub manager: ManagerRow,
    /// Multicast groups (`show groups`).
    pub groups: Vec<GroupRow>,
    /// Paths (`show paths`).
    pub paths: Vec<PathRow>,
    /// Neighbours (`show neighbours`).
    pub neighbours: Vec<NeighbourRow>,
    /// Port counters (`show counters`).
    pub counters: Vec<PortCounterRow>,
    /// Drops (`show drops`).
    pub drops: Vec<DropRow>,
}
