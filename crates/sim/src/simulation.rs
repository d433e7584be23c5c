//! A subnet on virtual time, its log, and hosts that answer pings.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use softib_fabric::frame::Frame;
use softib_subnet::Subnet;
use softib_subnet::spec::{IfaceRef, NodeId, NodeKind, PortRef, SpecError, SubnetSpec};
use softib_wire::time::{Duration, Instant};

use crate::echo::Echo;
use crate::log::Log;

/// A subnet on virtual time.
///
/// Interface `i` of host `n` (both counted from 0, hosts among hosts) has the address
/// [`Simulation::address`] at first. Hosts answer pings to the addresses that they have.
#[derive(Debug)]
pub struct Simulation {
    /// The subnet, to be looked at or changed.
    pub subnet: Subnet,
    /// What happened.
    pub log: Log,
    now: Instant,
    hosts: Vec<NodeId>,
    addresses: BTreeMap<IfaceRef, Vec<IpAddr>>,
    /// When each ping was sent and answered, by its number.
    pings: Vec<(Instant, Option<Instant>)>,
}

/// Pings that were sent one after the other: their numbers.
#[derive(Debug, Clone, Default)]
pub struct Pings(pub Vec<u32>);

impl Simulation {
    /// A subnet at time zero, with its interfaces set up and all cables plugged in.
    ///
    /// # Errors
    /// The parts of `spec` do not fit together.
    pub fn new(spec: &SubnetSpec, seed: u64) -> Result<Self, SpecError> {
        let mut subnet = Subnet::new(spec.clone(), seed)?;
        let now = Instant::ZERO;
        subnet.start(now);
        let mut it = Self {
            subnet,
            log: Log::default(),
            now,
            hosts: Vec::new(),
            addresses: BTreeMap::new(),
            pings: Vec::new(),
        };
        for (node, spec) in (0..).map(NodeId).zip(&spec.nodes) {
            let NodeKind::Host { interfaces, .. } = &spec.kind else {
                continue;
            };
            let host = it.hosts.len();
            it.hosts.push(node);
            for index in 0..u16::try_from(interfaces.len()).unwrap_or(u16::MAX) {
                let interface = IfaceRef { node, index };
                it.set_addresses(interface, &[Self::address(host, index).into()]);
                it.subnet.set_admin_up(now, interface, true);
            }
        }
        it.collect();
        Ok(it)
    }

    /// The IPv4 address of a host on its interface `index`: `10.index.0.1` and up.
    ///
    /// # Panics
    /// There are not so many addresses.
    #[must_use]
    pub fn address(host: usize, index: u16) -> Ipv4Addr {
        let host = u16::try_from(host + 1).expect("65,535 hosts have an address");
        let [high, low] = host.to_be_bytes();
        let index = u8::try_from(index).expect("256 interfaces have an address");
        Ipv4Addr::new(10, index, high, low)
    }

    /// An IPv6 address for a host on its first interface: `fd00:1b::1` and up.
    ///
    /// # Panics
    /// There are not so many addresses.
    #[must_use]
    pub fn address6(host: usize) -> Ipv6Addr {
        let host = u16::try_from(host + 1).expect("65,535 hosts have an address");
        Ipv6Addr::new(0xFD00, 0x1B, 0, 0, 0, 0, 0, host)
    }

    /// Gives every host [`Simulation::address6`] and its link-local address, beside what it has.
    pub fn add_ipv6(&mut self) {
        for host in 0..self.hosts() {
            let interface = self.interface(host);
            let link_local = self.subnet.link_local(interface);
            let mut ips = vec![
                Self::address(host, 0).into(),
                IpAddr::V6(Self::address6(host)),
            ];
            ips.extend(link_local.map(IpAddr::V6));
            self.set_addresses(interface, &ips);
        }
        self.collect();
    }

    /// Gives an interface these addresses: prefix length 16 for IPv4, 64 for IPv6.
    pub fn set_addresses(&mut self, interface: IfaceRef, ips: &[IpAddr]) {
        let with_prefix: Vec<_> = ips
            .iter()
            .map(|&ip| (ip, if ip.is_ipv4() { 16 } else { 64 }))
            .collect();
        self.subnet.set_addresses(self.now, interface, &with_prefix);
        self.addresses.insert(interface, ips.to_vec());
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// The first interface of a host.
    #[must_use]
    pub fn interface(&self, host: usize) -> IfaceRef {
        IfaceRef {
            node: self.hosts[host],
            index: 0,
        }
    }

    /// The first port of a host.
    #[must_use]
    pub fn port(&self, host: usize) -> PortRef {
        PortRef {
            node: self.hosts[host],
            port: 1,
        }
    }

    /// The time that it is.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Lets time pass.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.now + duration;
        self.collect();
        while let Some(next) = self.subnet.poll_timeout().filter(|&next| next <= end) {
            self.now = self.now.max(next);
            self.subnet.handle_timeout(self.now);
            self.collect();
        }
        self.now = end;
    }

    /// Lets time pass until `holds`, at most for `limit`. Whether it came to hold.
    pub fn run_until(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + limit;
        self.collect();
        while !holds(self) {
            match self.subnet.poll_timeout() {
                Some(next) if next <= end => {
                    self.now = self.now.max(next);
                    self.subnet.handle_timeout(self.now);
                    self.collect();
                }
                _ => {
                    self.now = end;
                    return holds(self);
                }
            }
        }
        true
    }

    /// Whether every interface has carrier.
    #[must_use]
    pub fn all_have_carrier(&self) -> bool {
        self.addresses
            .keys()
            .all(|&interface| self.subnet.has_carrier(interface))
    }

    /// Lets a host's stack send an IP packet.
    pub fn send(&mut self, interface: IfaceRef, packet: Frame) {
        self.subnet.handle_ip(self.now, interface, packet);
        self.collect();
    }

    /// Sends a ping with `data_len` octets of data between the first interfaces of two hosts; its
    /// number asks [`Self::answered`].
    pub fn ping(&mut self, from: usize, to: usize, data_len: usize) -> u32 {
        let source = Self::address(from, 0).into();
        let destination = Self::address(to, 0).into();
        self.ping_from(self.interface(from), source, destination, data_len)
    }

    /// Sends a ping from an address of an interface.
    ///
    /// # Panics
    /// After 2^32 pings.
    pub fn ping_from(
        &mut self,
        interface: IfaceRef,
        source: IpAddr,
        destination: IpAddr,
        data_len: usize,
    ) -> u32 {
        let id = u32::try_from(self.pings.len()).expect("fewer than 2^32 pings");
        self.pings.push((self.now, None));
        let echo = Echo {
            source,
            destination,
            reply: false,
            id,
            data_len,
        };
        let packet = echo.packet(self.subnet.pool());
        self.send(interface, packet);
        id
    }

    /// When the answer to a ping came.
    #[must_use]
    pub fn answered(&self, ping: u32) -> Option<Instant> {
        self.pings.get(ping as usize)?.1
    }

    /// Pings until an answer comes, once a second. Whether one came within `tries`.
    pub fn reaches(&mut self, from: usize, to: usize, tries: u32) -> bool {
        (0..tries).any(|_| {
            let ping = self.ping(from, to, 56);
            self.run_until(Duration::from_secs(1), |this| this.answered(ping).is_some())
        })
    }

    /// The ordered pairs of hosts of which the first gets no answer from the second within
    /// `tries`, a second apart.
    #[must_use]
    pub fn unreachable_pairs(&mut self, tries: u32) -> Vec<(usize, usize)> {
        let hosts = self.hosts();
        let mut pairs: Vec<_> = (0..hosts)
            .flat_map(|from| (0..hosts).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect();
        for _ in 0..tries {
            // Not more at once than the queues of one interface are made for.
            let mut asked = Vec::new();
            for (from, to) in pairs {
                asked.push((from, to, self.ping(from, to, 56)));
                if asked.len().is_multiple_of(1024) {
                    self.run_for(Duration::from_millis(1));
                }
            }
            self.run_for(Duration::from_secs(1));
            pairs = asked
                .into_iter()
                .filter(|&(_, _, ping)| self.answered(ping).is_none())
                .map(|(from, to, _)| (from, to))
                .collect();
            if pairs.is_empty() {
                break;
            }
        }
        pairs
    }

    /// Pings at a steady pace for a while.
    pub fn ping_for(
        &mut self,
        (from, to): (usize, usize),
        interval: Duration,
        duration: Duration,
    ) -> Pings {
        let end = self.now + duration;
        let mut pings = Pings::default();
        while self.now < end {
            pings.0.push(self.ping(from, to, 56));
            self.run_for(interval);
        }
        pings
    }

    /// The pings among these that were not answered.
    #[must_use]
    pub fn lost(&self, pings: &Pings) -> usize {
        let lost = pings
            .0
            .iter()
            .filter(|&&ping| self.answered(ping).is_none());
        lost.count()
    }

    /// The longest time between two answered pings among these that follow one another: how long
    /// nothing got through.
    #[must_use]
    pub fn longest_gap(&self, pings: &Pings) -> Duration {
        let sent: Vec<_> = pings
            .0
            .iter()
            .filter(|&&ping| self.answered(ping).is_some())
            .map(|&ping| self.pings[ping as usize].0)
            .collect();
        let gaps = sent.windows(2).map(|pair| pair[1] - pair[0]);
        gaps.max().unwrap_or(Duration::MAX)
    }

    /// Takes what the subnet has to say, and answers pings.
    pub fn collect(&mut self) {
        loop {
            while let Some(event) = self.subnet.poll_event() {
                self.log.event(self.now, event);
            }
            let Some((interface, packet)) = self.subnet.poll_ip() else {
                break;
            };
            self.log.packet(self.now, interface, &packet);
            self.answer(interface, &packet);
        }
    }

    fn answer(&mut self, interface: IfaceRef, packet: &Frame) {
        let Some(echo) = Echo::parse(packet.bytes()) else {
            return;
        };
        let own = self.addresses.get(&interface);
        if !own.is_some_and(|own| own.contains(&echo.destination)) {
            return;
        }
        if echo.reply {
            if let Some((_, answered)) = self.pings.get_mut(echo.id as usize) {
                answered.get_or_insert(self.now);
            }
            return;
        }
        let reply = Echo {
            source: echo.destination,
            destination: echo.source,
            reply: true,
            ..echo
        };
        let packet = reply.packet(self.subnet.pool());
        self.subnet.handle_ip(self.now, interface, packet);
    }
}
