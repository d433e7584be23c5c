//! A test bench: interfaces on one link, a small subnet administration, and virtual time.
//!
//! The link carries what interfaces send as channel adapters and switches would: by DLID and queue
//! pair, to groups by attachment, with the Q_Key checked. Every packet is logged.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use softib_fabric::frame::{Frame, Offload, Pool};
use softib_fabric::hca::{Received, UdSend};
use softib_mgmt::sa_client::{SaError, SaReply, SaRequest};
use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Qpn, Sl};
use softib_wire::grh::Grh;
use softib_wire::ipoib::checksum::{Checksum, checksum};
use softib_wire::ipoib::ip::{Ipv4Header, Ipv6Header, protocol};
use softib_wire::ipoib::{AddressFlags, GroupSpace};
use softib_wire::mad::sa::{JoinState, McMemberRecord, PathRecord};
use softib_wire::time::{Duration, Instant};
use softib_wire::units::{Mtu, Rate, Selector};

use crate::interface::{Action, Interface, InterfaceConfig, PortEvent, SaToken};
use crate::partition::Partition;

pub(crate) const QKEY: QKey = QKey::new(0x0b1b);
/// One way over the link, and one way of a question to the subnet administration.
const LATENCY: Duration = Duration::from_micros(10);

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// An interface with what surrounds it.
pub(crate) struct Node {
    pub(crate) interface: Interface,
    pub(crate) guid: Guid,
    pub(crate) lid: Lid,
    pub(crate) qpn: Qpn,
    /// The Q_Key that its queue pair has.
    pub(crate) qkey: QKey,
    pub(crate) pkey_index: Option<u16>,
    pub(crate) attached: BTreeSet<(Gid, Lid)>,
    /// What its host got.
    pub(crate) delivered: Vec<Frame>,
    /// Carrier, MTU, hardware address and duplicates, in their order.
    pub(crate) events: Vec<Action>,
    /// What it asked the subnet administration.
    pub(crate) asked: Vec<(Instant, SaRequest)>,
}

impl Node {
    pub(crate) fn joins(&self) -> Vec<(Instant, McMemberRecord, u64)> {
        let joins = self.asked.iter().filter_map(|(at, request)| match request {
            SaRequest::Join { record, mask } => Some((*at, *record, *mask)),
            _ => None,
        });
        joins.collect()
    }

    pub(crate) fn joins_of(&self, mgid: Gid) -> Vec<Instant> {
        let joins = self
            .joins()
            .into_iter()
            .filter(|(_, record, _)| record.mgid == mgid);
        joins.map(|(at, ..)| at).collect()
    }

    pub(crate) fn leaves(&self) -> Vec<McMemberRecord> {
        let leaves = self.asked.iter().filter_map(|(_, request)| match request {
            SaRequest::Leave { record } => Some(*record),
            _ => None,
        });
        leaves.collect()
    }

    pub(crate) fn path_queries(&self) -> usize {
        self.asked
            .iter()
            .filter(|(_, request)| matches!(request, SaRequest::Path { .. }))
            .count()
    }

    pub(crate) fn carrier_changes(&self) -> Vec<bool> {
        let changes = self.events.iter().filter_map(|event| match event {
            Action::Carrier(on) => Some(*on),
            _ => None,
        });
        changes.collect()
    }

    pub(crate) fn last_mtu(&self) -> Option<u32> {
        self.events.iter().rev().find_map(|event| match event {
            Action::Mtu(mtu) => Some(*mtu),
            _ => None,
        })
    }
}

/// A packet that was on the link.
#[derive(Clone)]
pub(crate) struct Logged {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) send: UdSend,
}

impl Logged {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.send.payload.bytes()
    }

    pub(crate) fn is_multicast(&self) -> bool {
        self.send.dest_qpn == Qpn::MULTICAST
    }

    pub(crate) fn ether_type(&self) -> u16 {
        u16::from_be_bytes([self.bytes()[0], self.bytes()[1]])
    }
}

/// The subnet administration.
pub(crate) struct Sa {
    pub(crate) groups: BTreeMap<Gid, (McMemberRecord, BTreeMap<Gid, JoinState>)>,
    /// What the broadcast group is made with.
    pub(crate) mtu: Mtu,
    pub(crate) qkey: QKey,
    pub(crate) traffic_class: u8,
    /// It answers nothing.
    pub(crate) silent: bool,
    /// It answers nothing about these groups.
    pub(crate) ignored: BTreeSet<Gid>,
    /// It says that there is no path to these.
    pub(crate) unreachable: BTreeSet<Gid>,
    /// What it believes the LIDs to be, where that differs from what they are.
    pub(crate) lids: BTreeMap<Gid, Lid>,
    pub(crate) next_mlid: u16,
    pub(crate) delay: Duration,
}

enum Event {
    Packet {
        to: usize,
        received: Received,
    },
    Answer {
        to: usize,
        token: SaToken,
        result: Result<SaReply, SaError>,
    },
}

pub(crate) struct Bench {
    pub(crate) now: Instant,
    pub(crate) nodes: Vec<Node>,
    pub(crate) sa: Sa,
    pub(crate) log: Vec<Logged>,
    pub(crate) pool: Pool,
    /// Give a sender its own multicast, as some adapters and switches do.
    pub(crate) echo: bool,
    /// Lose every packet for which this says so.
    pub(crate) lose: Option<fn(&Logged) -> bool>,
    events: BTreeMap<(Instant, u64), Event>,
    cancelled: BTreeSet<(usize, SaToken)>,
    sequence: u64,
}

impl Bench {
    /// Interfaces with the addresses 10.0.0.1/24, fd00::1/64 and on, up on active ports.
    pub(crate) fn running(count: usize) -> Self {
        let mut bench = Self::new();
        for _ in 0..count {
            let node = bench.add(|_| {});
            bench.bring_up(node);
        }
        // Until addresses are known to be nobody else's.
        bench.run(secs(3));
        bench.log.clear();
        bench
    }

    pub(crate) fn new() -> Self {
        Self {
            now: Instant::from_nanos(1_000_000_000),
            nodes: Vec::new(),
            sa: Sa {
                groups: BTreeMap::new(),
                mtu: Mtu::B2048,
                qkey: QKEY,
                traffic_class: 0,
                silent: false,
                ignored: BTreeSet::new(),
                unreachable: BTreeSet::new(),
                lids: BTreeMap::new(),
                next_mlid: 0xC000,
                delay: LATENCY,
            },
            log: Vec::new(),
            pool: Pool::new(),
            echo: false,
            lose: None,
            events: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            sequence: 0,
        }
    }

    /// Adds an interface, switched off, on a port that is down.
    pub(crate) fn add(&mut self, adjust: impl FnOnce(&mut InterfaceConfig)) -> usize {
        let index = self.nodes.len();
        let number = u32::try_from(index + 1).unwrap();
        let mut config = InterfaceConfig {
            name: format!("h{number}/ib0"),
            port_guid: Guid::new(0x0002_c903_0000_0000 | u64::from(number)),
            gid_prefix: Gid::DEFAULT_PREFIX,
            qpn: Qpn::from_bits_truncate(0x400 + number),
            partition: Partition::First,
            pkeys: vec![PKey::DEFAULT_FULL],
            max_mtu: Mtu::B4096,
            mtu: None,
            flags: AddressFlags::empty(),
            seed: u64::from(number),
        };
        adjust(&mut config);
        self.nodes.push(Node {
            guid: config.port_guid,
            lid: Lid::new(u16::try_from(number).unwrap()),
            qpn: config.qpn,
            interface: Interface::new(config, self.pool.clone()).unwrap(),
            qkey: QKey::new(0),
            pkey_index: None,
            attached: BTreeSet::new(),
            delivered: Vec::new(),
            events: Vec::new(),
            asked: Vec::new(),
        });
        index
    }

    pub(crate) fn bring_up(&mut self, node: usize) {
        let now = self.now;
        let number = u8::try_from(node + 1).unwrap();
        let lid = self.nodes[node].lid;
        let interface = &mut self.nodes[node].interface;
        let link_local = interface.link_local();
        interface.set_addresses(
            now,
            &[
                (Ipv4Addr::new(10, 0, 0, number).into(), 24),
                (
                    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, number.into()).into(),
                    64,
                ),
                (link_local.into(), 64),
            ],
        );
        interface.handle_port(now, PortEvent::Active { lid, lmc: 0 });
        interface.set_admin_up(now, true);
        self.settle(node);
    }

    /// Does something with an interface, and carries out what follows from it at once.
    pub(crate) fn with<T>(
        &mut self,
        node: usize,
        f: impl FnOnce(&mut Interface, Instant) -> T,
    ) -> T {
        let result = f(&mut self.nodes[node].interface, self.now);
        self.settle(node);
        result
    }

    pub(crate) fn port_event(&mut self, node: usize, event: PortEvent<'_>) {
        self.with(node, |interface, now| interface.handle_port(now, event));
    }

    pub(crate) fn send(&mut self, node: usize, packet: &[u8]) {
        let frame = self.pool.frame_from(packet);
        self.with(node, |interface, now| interface.handle_ip(now, frame));
    }

    pub(crate) fn send_offloaded(&mut self, node: usize, packet: &[u8], offload: Offload) {
        let mut frame = self.pool.frame_from(packet);
        frame.set_offload(Some(offload));
        self.with(node, |interface, now| interface.handle_ip(now, frame));
    }

    pub(crate) fn receive(&mut self, node: usize, received: Received) {
        self.with(node, |interface, now| {
            interface.handle_received(now, received);
        });
    }

    /// Sends from one node's first address of a family to another's.
    pub(crate) fn ping(&mut self, from: usize, to: usize, v6: bool) {
        let address = |node: usize| {
            let number = u8::try_from(node + 1).unwrap();
            if v6 {
                IpAddr::V6(Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, number.into()))
            } else {
                IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))
            }
        };
        let packet = udp(address(from), address(to), b"ping");
        self.send(from, &packet);
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        for node in 0..self.nodes.len() {
            self.settle(node);
        }
        loop {
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let timeouts = self.nodes.iter().enumerate();
            let timeout = timeouts
                .filter_map(|(node, n)| Some((n.interface.poll_timeout()?, node)))
                .min();
            match (event, timeout) {
                (Some(at), timeout) if at <= end && timeout.is_none_or(|(t, _)| at <= t) => {
                    self.now = self.now.max(at);
                    let Some((_, event)) = self.events.pop_first() else {
                        unreachable!()
                    };
                    self.happen(event);
                }
                (_, Some((at, node))) if at <= end => {
                    self.now = self.now.max(at);
                    self.with(node, |interface, now| interface.handle_timeout(now));
                }
                _ => break,
            }
        }
        self.now = end;
    }

    /// The log's packets of one EtherType, taken out of it.
    pub(crate) fn take_log(&mut self, ether_type: u16) -> Vec<Logged> {
        let log = std::mem::take(&mut self.log);
        log.into_iter()
            .filter(|logged| logged.ether_type() == ether_type)
            .collect()
    }

    pub(crate) fn broadcast_mgid() -> Gid {
        GroupSpace::new(2, PKey::DEFAULT_FULL).broadcast()
    }

    pub(crate) fn mgid(group: &str) -> Gid {
        GroupSpace::new(2, PKey::DEFAULT_FULL).group(ip(group))
    }

    /// What a neighbour looks like to a node.
    pub(crate) fn state(&self, node: usize, neighbour: &str) -> Option<&'static str> {
        let wanted = ip(neighbour);
        let mut neighbours = self.nodes[node].interface.neighbours();
        neighbours
            .find(|view| view.ip == wanted)
            .map(|view| view.state.name())
    }

    /// The GID that a node has.
    pub(crate) fn gid(&self, node: usize) -> Gid {
        self.nodes[node].interface.hardware_address().gid
    }

    /// Carries out what an interface wants done.
    pub(crate) fn settle(&mut self, node: usize) {
        while let Some(action) = self.nodes[node].interface.poll_action() {
            match action {
                Action::Send(send) => self.transmit(node, send),
                Action::Attach { mgid, mlid } => {
                    assert!(
                        self.nodes[node].attached.insert((mgid, mlid)),
                        "attached twice"
                    );
                }
                Action::Detach { mgid, mlid } => {
                    assert!(
                        self.nodes[node].attached.remove(&(mgid, mlid)),
                        "not attached"
                    );
                }
                Action::SetQKey(qkey) => self.nodes[node].qkey = qkey,
                Action::SetPKeyIndex(index) => self.nodes[node].pkey_index = Some(index),
                Action::SaRequest(token, request) => self.ask(node, token, *request),
                Action::SaCancel(token) => {
                    self.cancelled.insert((node, token));
                }
                Action::Deliver(frame) => self.nodes[node].delivered.push(frame),
                event @ (Action::Carrier(_)
                | Action::Mtu(_)
                | Action::HardwareAddress(_)
                | Action::DuplicateAddress { .. }) => self.nodes[node].events.push(event),
            }
        }
    }

    fn transmit(&mut self, from: usize, send: UdSend) {
        assert!(
            self.nodes[from].pkey_index.is_some(),
            "sent without a P_Key"
        );
        let logged = Logged {
            at: self.now,
            from,
            send,
        };
        self.log.push(logged.clone());
        if self.lose.as_ref().is_some_and(|lose| lose(&logged)) {
            return;
        }
        let send = logged.send;
        let source = &self.nodes[from];
        let grh = send.address.global.map(|global| Grh {
            ip_version: 6,
            traffic_class: global.traffic_class,
            flow_label: global.flow_label,
            payload_length: 0,
            next_header: 0x1B,
            hop_limit: global.hop_limit,
            sgid: source.interface.hardware_address().gid,
            dgid: global.dgid,
        });
        let received = Received {
            src_qpn: source.qpn,
            slid: source.lid,
            dlid: send.address.dlid,
            sl: send.address.sl,
            pkey_index: 0,
            grh,
            immediate: None,
            payload: send.payload,
        };
        for to in 0..self.nodes.len() {
            let node = &self.nodes[to];
            let takes = if send.address.dlid.is_multicast() {
                let group = (grh.map_or(Gid::NONE, |grh| grh.dgid), send.address.dlid);
                node.attached.contains(&group) && (to != from || self.echo)
            } else {
                node.lid == send.address.dlid && node.qpn == send.dest_qpn
            };
            if takes && node.qkey == send.qkey {
                self.schedule(
                    LATENCY,
                    Event::Packet {
                        to,
                        received: received.clone(),
                    },
                );
            }
        }
    }

    fn ask(&mut self, from: usize, token: SaToken, request: SaRequest) {
        self.nodes[from].asked.push((self.now, request.clone()));
        let timed_out = |seconds| (secs(seconds), Err(SaError::Timeout));
        let (delay, result) = match request {
            SaRequest::Path { .. } if self.sa.silent => timed_out(1),
            _ if self.sa.silent => timed_out(3),
            SaRequest::Join { record, .. } if self.sa.ignored.contains(&record.mgid) => {
                timed_out(3)
            }
            SaRequest::Path {
                sgid,
                dgid,
                pkey,
                traffic_class,
            } => (self.sa.delay, self.path(sgid, dgid, pkey, traffic_class)),
            SaRequest::Join { record, mask } => (
                self.sa.delay,
                self.sa.join(&record, mask).map(SaReply::Member),
            ),
            SaRequest::Leave { record } => {
                self.sa.leave(&record);
                (self.sa.delay, Ok(SaReply::Left))
            }
            other => panic!("an interface has no reason to ask {other:?}"),
        };
        self.schedule(
            delay,
            Event::Answer {
                to: from,
                token,
                result,
            },
        );
    }

    fn path(
        &self,
        sgid: Gid,
        dgid: Gid,
        pkey: PKey,
        traffic_class: u8,
    ) -> Result<SaReply, SaError> {
        let node = self.nodes.iter().find(|node| node.guid == dgid.guid());
        let Some(node) = node.filter(|_| !self.sa.unreachable.contains(&dgid)) else {
            return Err(SaError::Malformed);
        };
        Ok(SaReply::Path(PathRecord {
            service_id: 0,
            dgid,
            sgid,
            dlid: self.sa.lids.get(&dgid).copied().unwrap_or(node.lid),
            slid: Lid::NONE,
            raw_traffic: false,
            flow_label: 0,
            hop_limit: 0,
            traffic_class,
            reversible: true,
            path_count: 1,
            pkey,
            qos_class: 0,
            sl: Sl::default(),
            mtu_selector: Selector::Exactly,
            mtu: Some(self.sa.mtu),
            rate_selector: Selector::Exactly,
            rate: Some(Rate::Gbps100),
            life_time_selector: Selector::Exactly,
            life_time: 18,
            preference: 0,
        }))
    }

    fn schedule(&mut self, delay: Duration, event: Event) {
        self.sequence += 1;
        self.events.insert((self.now + delay, self.sequence), event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Packet { to, received } => self.receive(to, received),
            Event::Answer { to, token, result } => {
                if !self.cancelled.remove(&(to, token)) {
                    self.with(to, |i, now| i.handle_sa_reply(now, token, result));
                }
            }
        }
    }
}

impl Sa {
    fn join(&mut self, wanted: &McMemberRecord, mask: u64) -> Result<McMemberRecord, SaError> {
        let space = GroupSpace::new(2, wanted.pkey);
        if !self.groups.contains_key(&wanted.mgid) {
            let record = if wanted.mgid == space.broadcast() {
                McMemberRecord {
                    qkey: self.qkey,
                    mtu_selector: Selector::Exactly,
                    mtu: Some(self.mtu),
                    traffic_class: self.traffic_class,
                    rate_selector: Selector::Exactly,
                    rate: Some(Rate::Gbps10),
                    scope: 2,
                    ..*wanted
                }
            } else {
                *wanted
            };
            let record = McMemberRecord {
                mlid: Lid::new(self.next_mlid),
                ..record
            };
            self.next_mlid += 1;
            self.groups.insert(wanted.mgid, (record, BTreeMap::new()));
        }
        let broadcast = self
            .groups
            .get(&space.broadcast())
            .map(|(record, _)| *record);
        let Some((group, members)) = self.groups.get_mut(&wanted.mgid) else {
            unreachable!()
        };
        if wanted.mgid != space.broadcast() {
            // As a strict manager checks it: everything is given, and as in the broadcast group.
            assert_eq!(mask, 0x1_73F7);
            let Some(broadcast) = broadcast else {
                return Err(SaError::Mismatch);
            };
            let of = |r: &McMemberRecord| {
                (
                    r.qkey,
                    r.mtu,
                    r.traffic_class,
                    r.pkey,
                    r.rate,
                    r.sl,
                    r.flow_label,
                    r.hop_limit,
                )
            };
            if of(wanted) != of(&broadcast)
                || wanted.mtu_selector != Selector::Exactly
                || wanted.rate_selector != Selector::Exactly
            {
                return Err(SaError::Mismatch);
            }
        } else {
            assert_eq!(mask, 0x1_0083);
        }
        let state = members.entry(wanted.port_gid).or_insert(JoinState::empty());
        *state |= wanted.join_state;
        Ok(McMemberRecord {
            port_gid: wanted.port_gid,
            join_state: *state,
            ..*group
        })
    }

    fn leave(&mut self, record: &McMemberRecord) {
        let Some((_, members)) = self.groups.get_mut(&record.mgid) else {
            return;
        };
        if let Some(state) = members.get_mut(&record.port_gid) {
            *state -= record.join_state;
            if state.is_empty() {
                members.remove(&record.port_gid);
            }
        }
        if members.is_empty() {
            self.groups.remove(&record.mgid);
        }
    }

    /// How a port is in a group.
    pub(crate) fn membership(&self, mgid: Gid, port: Gid) -> JoinState {
        let members = self.groups.get(&mgid).map(|(_, members)| members);
        members
            .and_then(|members| members.get(&port))
            .copied()
            .unwrap_or(JoinState::empty())
    }
}

/// A UDP datagram from port 1 to port 2.
pub(crate) fn udp(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len();
    let mut segment = vec![0, 1, 0, 2];
    segment.extend_from_slice(&u16::try_from(len).unwrap().to_be_bytes());
    segment.extend_from_slice(&[0, 0]);
    segment.extend_from_slice(payload);
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let sum = Checksum::ipv4(source, destination, protocol::UDP, len).with(&segment);
            segment[6..8].copy_from_slice(&sum.finish().to_be_bytes());
            let mut packet = vec![0; Ipv4Header::LEN];
            ipv4_header(source, destination, len).emit(&mut packet);
            let sum = checksum(&packet);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
            packet.extend_from_slice(&segment);
            packet
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let sum = Checksum::ipv6(source, destination, protocol::UDP, len).with(&segment);
            segment[6..8].copy_from_slice(&sum.finish().to_be_bytes());
            let mut packet = vec![0; Ipv6Header::LEN];
            Ipv6Header {
                version: 6,
                traffic_class: 0,
                flow_label: 0,
                payload_length: u16::try_from(len).unwrap(),
                next_header: protocol::UDP,
                hop_limit: 64,
                source,
                destination,
            }
            .emit(&mut packet);
            packet.extend_from_slice(&segment);
            packet
        }
        _ => panic!("{source} and {destination} are of two families"),
    }
}

pub(crate) fn ipv4_header(source: Ipv4Addr, destination: Ipv4Addr, payload: usize) -> Ipv4Header {
    Ipv4Header {
        version: 4,
        header_words: 5,
        traffic_class: 0,
        total_length: u16::try_from(Ipv4Header::LEN + payload).unwrap(),
        identification: 1,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::UDP,
        checksum: 0,
        source,
        destination,
    }
}
