//! A subnet on virtual time, its log, and hosts that answer pings.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use softib_fabric::frame::Frame;
use softib_subnet::spec::{IfaceRef, NodeId, NodeKind, SpecError, SubnetSpec};
use softib_subnet::{Event, Subnet};
use softib_wire::time::{Duration, Instant};

use crate::echo::Echo;

/// A subnet on virtual time.
///
/// Host `n` (counted from 0 among the hosts) has one address, [`Simulation::address`], on its
/// first interface and answers pings there.
#[derive(Debug)]
pub struct Simulation {
    /// The subnet, to be looked at or changed.
    pub subnet: Subnet,
    now: Instant,
    hosts: Vec<NodeId>,
    by_interface: BTreeMap<IfaceRef, usize>,
    log: Vec<(Instant, Event)>,
    replies: BTreeMap<u32, Instant>,
    next_id: u32,
}

impl Simulation {
    /// A subnet at time zero, with its interfaces set up and all cables plugged in.
    ///
    /// # Errors
    /// The parts of `spec` do not fit together.
    pub fn new(spec: &SubnetSpec, seed: u64) -> Result<Self, SpecError> {
        let mut subnet = Subnet::new(spec.clone(), seed)?;
        let now = Instant::ZERO;
        subnet.start(now);
        let mut hosts = Vec::new();
        let mut by_interface = BTreeMap::new();
        for (index, node) in spec.nodes.iter().enumerate() {
            if !matches!(node.kind, NodeKind::Host { .. }) {
                continue;
            }
            let node = NodeId(u32::try_from(index).expect("nodes fit a subnet"));
            let interface = IfaceRef { node, index: 0 };
            let address = IpAddr::V4(Self::address(hosts.len()));
            by_interface.insert(interface, hosts.len());
            hosts.push(node);
            subnet.set_addresses(now, interface, &[(address, 8)]);
            subnet.set_admin_up(now, interface, true);
        }
        Ok(Self {
            subnet,
            now,
            hosts,
            by_interface,
            log: Vec::new(),
            replies: BTreeMap::new(),
            next_id: 0,
        })
    }

    /// The address of a host: 10.0.0.1 and up.
    ///
    /// # Panics
    /// There are no so many addresses.
    #[must_use]
    pub fn address(host: usize) -> Ipv4Addr {
        let host = u32::try_from(host).expect("hosts fit a subnet");
        Ipv4Addr::from(0x0A00_0001 + host)
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

    /// The time that it is.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// All that happened, oldest first.
    #[must_use]
    pub fn log(&self) -> &[(Instant, Event)] {
        &self.log
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
        self.by_interface
            .keys()
            .all(|&interface| self.subnet.has_carrier(interface))
    }

    /// Sends a ping of `data_len` octets of data; its number asks [`Self::answered`].
    pub fn ping(&mut self, from: usize, to: usize, data_len: usize) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        let echo = Echo {
            source: Self::address(from),
            destination: Self::address(to),
            reply: false,
            id,
            data_len,
        };
        let packet = echo.packet(self.subnet.pool());
        self.subnet
            .handle_ip(self.now, self.interface(from), packet);
        self.collect();
        id
    }

    /// When the answer to a ping came.
    #[must_use]
    pub fn answered(&self, ping: u32) -> Option<Instant> {
        self.replies.get(&ping).copied()
    }

    /// Pings until an answer comes, once a second. Whether one came within `tries`.
    pub fn reaches(&mut self, from: usize, to: usize, tries: u32) -> bool {
        (0..tries).any(|_| {
            let ping = self.ping(from, to, 56);
            self.run_until(Duration::from_secs(1), |this| this.answered(ping).is_some())
        })
    }

    /// Takes what the subnet has to say, and answers pings.
    fn collect(&mut self) {
        loop {
            while let Some(event) = self.subnet.poll_event() {
                self.log.push((self.now, event));
            }
            let Some((interface, packet)) = self.subnet.poll_ip() else {
                break;
            };
            self.answer(interface, &packet);
        }
    }

    fn answer(&mut self, interface: IfaceRef, packet: &Frame) {
        let Some(&host) = self.by_interface.get(&interface) else {
            return;
        };
        let Some(echo) = Echo::parse(packet.bytes()) else {
            return;
        };
        if echo.destination != Self::address(host) {
            return;
        }
        if echo.reply {
            self.replies.entry(echo.id).or_insert(self.now);
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
