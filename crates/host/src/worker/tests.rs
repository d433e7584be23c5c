//! The event loop around a machine that does nothing but pass packets from one interface to the
//! other.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::process::{Command, Output};
use std::time::Duration;

use softib_fabric::frame::{Frame, Pool};
use softib_ipoib::Route;
use softib_subnet::spec::{IfaceRef, NodeId, PortRef};
use softib_subnet::{Captured, Event};
use softib_wire::addr::Guid;
use softib_wire::ipoib::link_local;
use softib_wire::time::Instant;

use super::{Attached, Machine, Worker};
use crate::error::HostError;
use crate::interface::{Interface, Setup};
use crate::namespace::{NetNamespace, prepare};
use crate::testing::{self, Missing};

/// Joins interface 0 of node 0 and of node 1.
#[derive(Default)]
struct Pipe {
    pool: Pool,
    out: VecDeque<(IfaceRef, Frame)>,
    events: VecDeque<Event>,
    timeout: Option<Instant>,
    fired: Vec<Duration>,
    /// No packet is taken.
    full: bool,
    told: Vec<String>,
}

impl Machine for Pipe {
    fn pool(&self) -> Pool {
        self.pool.clone()
    }

    fn handle_ip(&mut self, _: Instant, interface: IfaceRef, packet: Frame) {
        assert!(!self.full, "a packet although there was no room");
        self.out.push_back((at(1 - interface.node.0), packet));
    }

    fn can_accept_ip(&self, _: IfaceRef) -> bool {
        !self.full
    }

    fn poll_ip(&mut self) -> Option<(IfaceRef, Frame)> {
        self.out.pop_front()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn poll_captured(&mut self) -> Option<Captured> {
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.fired
            .extend(self.timeout.map(|due| now.saturating_since(due)));
        self.timeout = None;
    }

    fn capture(&mut self, _: PortRef, _: bool) {}

    fn set_admin_up(&mut self, _: Instant, interface: IfaceRef, up: bool) {
        self.told.push(format!("{} up {up}", interface.node.0));
    }

    fn set_mtu(&mut self, _: Instant, interface: IfaceRef, mtu: u32) -> (u32, Option<String>) {
        self.told.push(format!("{} mtu {mtu}", interface.node.0));
        (mtu.min(2044), None)
    }

    fn set_addresses(&mut self, _: Instant, interface: IfaceRef, addresses: &[(IpAddr, u8)]) {
        self.told
            .push(format!("{} addresses {addresses:?}", interface.node.0));
    }

    fn set_routes(&mut self, _: Instant, interface: IfaceRef, routes: &[Route]) {
        self.told
            .push(format!("{} routes {}", interface.node.0, routes.len()));
    }

    fn set_memberships(&mut self, _: Instant, interface: IfaceRef, groups: &[IpAddr]) {
        self.told
            .push(format!("{} groups {groups:?}", interface.node.0));
    }
}

const fn at(node: u32) -> IfaceRef {
    IfaceRef {
        node: NodeId(node),
        index: 0,
    }
}

struct Lab {
    namespaces: [NetNamespace; 2],
    worker: Worker<Pipe>,
}

impl Lab {
    fn new() -> Self {
        prepare().unwrap();
        let namespaces = [NetNamespace::new().unwrap(), NetNamespace::new().unwrap()];
        let interfaces = [0, 1]
            .map(|index: u8| {
                let setup = Setup {
                    host: "host",
                    name: "ib0",
                    mtu: 2044,
                    link_local: link_local(Guid::new(u64::from(index) + 1)),
                    addresses: &[(IpAddr::from([10, 0, 0, index + 1]), 24)],
                };
                let interface = Interface::create(&namespaces[usize::from(index)], &setup).unwrap();
                Attached::new(
                    at(u32::from(index)),
                    format!("h{index}/ib0"),
                    interface,
                    2044,
                )
            })
            .into();
        let worker = Worker::start(Pipe::default(), interfaces).unwrap();
        let carrier = |node| Event::Carrier {
            interface: at(node),
            up: true,
        };
        worker
            .call(move |pipe, _| pipe.events.extend([carrier(0), carrier(1)]))
            .unwrap();
        let lab = Self { namespaces, worker };
        assert!((0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            let has_carrier = |host| {
                let shown = lab.output(host, "ip link show ib0").stdout;
                String::from_utf8_lossy(&shown).contains("LOWER_UP")
            };
            has_carrier(0) && has_carrier(1)
        }));
        lab
    }

    fn run(&self, host: usize, words: &str) -> bool {
        self.output(host, words).status.success()
    }

    fn output(&self, host: usize, words: &str) -> Output {
        let mut words = words.split(' ');
        let mut command = Command::new(words.next().unwrap());
        command.args(words);
        let output = self.namespaces[host]
            .run(|| {
                command
                    .output()
                    .map_err(|error| HostError::system("run", error))
            })
            .unwrap();
        eprintln!("{command:?}: {output:?}");
        output
    }

    /// Waits until the machine has been told a sentence that holds `part`.
    fn told(&self, part: &'static str) -> bool {
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            self.worker
                .call(move |pipe, _| pipe.told.iter().any(|told| told.contains(part)))
                .unwrap()
        })
    }
}

fn lab(test: &str) -> Option<Lab> {
    match testing::in_own_process(test) {
        Ok(true) => Some(Lab::new()),
        Ok(false) => None,
        Err(Missing(reason)) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn packets_pass_and_wait_when_there_is_no_room() {
    let Some(lab) = lab("worker::tests::packets_pass_and_wait_when_there_is_no_room") else {
        return;
    };
    assert!(lab.run(0, "ping -c 5 -i 0.02 -W 2 10.0.0.2"));
    lab.worker.call(|pipe, _| pipe.full = true).unwrap();
    assert!(!lab.run(0, "ping -c 1 -W 1 10.0.0.2"));
    // What waited in the device is read when there is room again.
    lab.worker.call(|pipe, _| pipe.full = false).unwrap();
    assert!(lab.run(0, "ping -c 1 -W 1 10.0.0.2"));
}

#[test]
fn the_machine_is_told_what_people_do() {
    let Some(lab) = lab("worker::tests::the_machine_is_told_what_people_do") else {
        return;
    };
    assert!(
        lab.told("0 up true")
            && lab.told("0 addresses [(10.0.0.1, 24)")
            && lab.told("1 groups [224.0.0.1, ff0")
    );
    assert!(lab.run(0, "ip addr add 10.7.0.1/16 dev ib0"));
    assert!(lab.told("(10.7.0.1, 16)"));
    assert!(lab.run(0, "ip link set ib0 mtu 4000"));
    assert!(lab.told("0 mtu 4000"));
    // The machine allows less, so it is set back.
    assert!((0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        String::from_utf8_lossy(&lab.output(0, "ip link show ib0").stdout).contains("mtu 2044")
    }));
    assert!(lab.run(0, "ip link set ib0 down"));
    assert!(lab.told("0 up false"));
    lab.worker.call(|pipe, _| pipe.told.clear()).unwrap();
    assert!(lab.run(0, "ip link set ib0 up"));
    // The kernel forgot the link-local address; it is given again.
    assert!(lab.told("0 up true") && lab.told("(fe80::200:0:0:1, 64)"));
}

#[test]
fn a_duplicate_address_is_removed() {
    let Some(lab) = lab("worker::tests::a_duplicate_address_is_removed") else {
        return;
    };
    assert!(lab.told("0 addresses [(10.0.0.1, 24)"));
    lab.worker
        .call(|pipe, _| {
            pipe.told.clear();
            let ip = IpAddr::from([10, 0, 0, 1]);
            pipe.events.push_back(Event::DuplicateAddress {
                interface: at(0),
                ip,
                owner: None,
            });
        })
        .unwrap();
    assert!(lab.told("0 addresses [(fe80::200:0:0:1, 64)]"));
}

#[test]
fn timers_fire_in_time() {
    let Some(lab) = lab("worker::tests::timers_fire_in_time") else {
        return;
    };
    std::thread::sleep(Duration::from_millis(100));
    for wait in [10, 300, 5_000, 50_000] {
        lab.worker
            .call(move |pipe, now| pipe.timeout = Some(now + Duration::from_micros(wait)))
            .unwrap();
        std::thread::sleep(Duration::from_micros(wait) + Duration::from_millis(30));
    }
    let late = lab.worker.call(|pipe, _| pipe.fired.clone()).unwrap();
    assert_eq!(late.len(), 4);
    // On a busy machine a thread waits for its turn.
    assert!(
        late.iter().all(|late| *late < Duration::from_millis(25)),
        "{late:?}"
    );
}

#[test]
fn lost_packets_are_counted() {
    let Some(lab) = lab("worker::tests::lost_packets_are_counted") else {
        return;
    };
    assert!(lab.run(1, "ip link set ib0 down"));
    assert!(lab.told("1 up false"));
    assert!(!lab.run(0, "ping -c 1 -W 1 10.0.0.2"));
    let drops = lab.worker.drops().unwrap();
    let row = drops
        .iter()
        .find(|row| row.place == "h1/ib0" && row.reason == "host-down");
    assert!(row.is_some_and(|row| row.count >= 1), "{drops:?}");
    assert!(lab.run(0, "ip link del ib0"));
    assert!(lab.told("0 up false"));
}
