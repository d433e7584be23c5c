//! Two interfaces in two namespaces, joined by nothing but a loop that carries packets: what the
//! kernel hands over, the kernel takes.

use std::os::fd::AsFd;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use softib_fabric::frame::Pool;
use softib_wire::addr::Guid;
use softib_wire::ipoib::link_local;

use super::*;
use crate::namespace::{end_processes, prepare};
use crate::netlink::Changes;
use crate::testing::{self, Missing};
use crate::tun::{Read, ReadBuffer};

const GUIDS: [Guid; 2] = [
    Guid::new(0x0000_1b00_0000_0001),
    Guid::new(0x0000_1b00_0000_0002),
];

struct Pipe {
    namespaces: [NetNamespace; 2],
    interfaces: [Interface; 2],
}

/// What went through.
#[derive(Default)]
struct Seen {
    packets: AtomicU64,
    largest: AtomicUsize,
}

impl Pipe {
    fn new() -> Result<Self, HostError> {
        prepare()?;
        let namespaces = [NetNamespace::new()?, NetNamespace::new()?];
        let end = |index: usize| {
            let last = u8::try_from(index + 1).unwrap();
            Interface::create(
                &namespaces[index],
                &Setup {
                    host: ["h1", "h2"][index],
                    name: "ib0",
                    mtu: 2044,
                    link_local: link_local(GUIDS[index]),
                    addresses: &[
                        (IpAddr::from([10, 0, 0, last]), 24),
                        (
                            IpAddr::from([0xfd00, 0x1b, 0, 0, 0, 0, 0, u16::from(last)]),
                            64,
                        ),
                    ],
                },
            )
        };
        let interfaces = [end(0)?, end(1)?];
        for interface in &interfaces {
            interface.tun.set_carrier(true).unwrap();
        }
        Ok(Self {
            namespaces,
            interfaces,
        })
    }

    /// Carries packets while `action` runs.
    fn while_open<T: Send>(&self, seen: &Seen, action: impl FnOnce() -> T + Send) -> T {
        /// Ends the loop also when `action` panics.
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let _end = Over(&over);
            scope.spawn(|| self.carry(&over, seen));
            action()
        })
    }

    fn carry(&self, over: &AtomicBool, seen: &Seen) {
        let mut buffer = ReadBuffer::new(Pool::new());
        let [a, b] = &self.interfaces;
        while !over.load(Ordering::Relaxed) {
            let mut fds = [
                PollFd::new(&a.tun, PollFlags::IN),
                PollFd::new(&b.tun, PollFlags::IN),
            ];
            poll(
                &mut fds,
                Some(&Timespec {
                    tv_sec: 0,
                    tv_nsec: 10_000_000,
                }),
            )
            .unwrap();
            for (from, to) in [(a, b), (b, a)] {
                while let Read::Packet(packet) = from.tun.read(&mut buffer).unwrap() {
                    seen.packets.fetch_add(1, Ordering::Relaxed);
                    seen.largest.fetch_max(packet.len(), Ordering::Relaxed);
                    to.tun.write(&packet).unwrap();
                }
            }
        }
    }

    fn run(&self, host: usize, program: &str, args: &[&str]) -> Output {
        let output = self.namespaces[host]
            .run(|| {
                Command::new(program)
                    .args(args)
                    .output()
                    .map_err(|error| HostError::system("run", error))
            })
            .unwrap();
        assert!(output.status.success(), "{program} {args:?}: {output:?}");
        output
    }
}

/// Whether the test runs in this process. Else it has run in another one, or cannot run, and has
/// said so.
fn pipe(test: &str) -> Option<Pipe> {
    match testing::in_own_process(test) {
        Ok(true) => Some(Pipe::new().unwrap()),
        Ok(false) => None,
        Err(Missing(reason)) => {
            eprintln!("skipped: {reason}");
            None
        }
    }
}

#[test]
fn programs_talk_over_two_devices() {
    let Some(pipe) = pipe("interface::tests::programs_talk_over_two_devices") else {
        return;
    };
    let seen = Seen::default();
    pipe.while_open(&seen, || {
        for target in ["10.0.0.2", "fd00:1b::2", "fe80::200:1b00:0:2%ib0"] {
            let output = pipe.run(0, "ping", &["-c", "3", "-i", "0.05", "-W", "2", target]);
            assert!(
                String::from_utf8_lossy(&output.stdout).contains("3 received"),
                "{output:?}"
            );
        }
        pipe.run(
            0,
            "ping",
            &["-c", "1", "-s", "2016", "-M", "do", "10.0.0.2"],
        );
        let refused = pipe.namespaces[0]
            .run(|| {
                let args = ["-c", "1", "-W", "1", "-s", "2017", "-M", "do", "10.0.0.2"];
                Command::new("ping")
                    .args(args)
                    .output()
                    .map_err(|error| HostError::system("run", error))
            })
            .unwrap();
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("message too long"),
            "{refused:?}"
        );
    });
    assert!(seen.packets.load(Ordering::Relaxed) >= 20);
}

#[test]
fn large_sends_pass_whole() {
    let Some(pipe) = pipe("interface::tests::large_sends_pass_whole") else {
        return;
    };
    if testing::find_program("iperf3").is_none() {
        eprintln!("skipped: iperf3 is not installed");
        return;
    }
    let seen = Seen::default();
    pipe.while_open(&seen, || {
        pipe.namespaces[1]
            .run(|| {
                let server = Command::new("iperf3")
                    .args(["-s", "-1"])
                    .stdout(std::process::Stdio::null())
                    .spawn();
                server
                    .map(drop)
                    .map_err(|error| HostError::system("run", error))
            })
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let output = pipe.run(0, "iperf3", &["-c", "10.0.0.2", "-t", "1", "-f", "m"]);
        eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    });
    assert!(
        seen.largest.load(Ordering::Relaxed) > 30_000,
        "packets were cut: {}",
        seen.largest.load(Ordering::Relaxed)
    );
    end_processes(&pipe.namespaces);
}

#[test]
fn a_host_sees_an_infiniband_interface() {
    let Some(pipe) = pipe("interface::tests::a_host_sees_an_infiniband_interface") else {
        return;
    };
    let shown =
        String::from_utf8(pipe.run(0, "ip", &["-d", "addr", "show", "ib0"]).stdout).unwrap();
    for part in [
        "link/infiniband",
        "mtu 2044",
        "LOWER_UP",
        "inet 10.0.0.1/24 brd 10.0.0.255",
        "fe80::200:1b00:0:1/64",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    pipe.interfaces[0].tun.set_carrier(false).unwrap();
    let shown = String::from_utf8(pipe.run(0, "ip", &["addr", "show", "ib0"]).stdout).unwrap();
    assert!(shown.contains("NO-CARRIER"), "{shown}");
}

#[test]
fn what_people_do_with_ip_is_followed() {
    let Some(mut pipe) = pipe("interface::tests::what_people_do_with_ip_is_followed") else {
        return;
    };
    pipe.interfaces[0].monitor.drain().unwrap();
    let ip = |pipe: &Pipe, words: &str| {
        pipe.run(0, "ip", &words.split(' ').collect::<Vec<_>>());
    };
    let changes = |pipe: &mut Pipe| pipe.interfaces[0].monitor.drain().unwrap();

    ip(&pipe, "addr add 10.9.0.1/16 dev ib0");
    assert!(changes(&mut pipe).addresses);
    let addresses = pipe.interfaces[0].monitor.addresses().unwrap();
    assert!(
        addresses.contains(&("10.9.0.1".parse().unwrap(), 16)),
        "{addresses:?}"
    );
    assert_eq!(addresses.len(), 4, "{addresses:?}");

    ip(&pipe, "route add 192.168.7.0/24 via 10.0.0.254");
    ip(&pipe, "-6 route add 2001:db8::/32 via fd00:1b::fe");
    ip(
        &pipe,
        "route add 192.168.8.0/24 nexthop via 10.0.0.253 nexthop via 10.0.0.252",
    );
    ip(
        &pipe,
        "route add 192.168.9.0/24 via inet6 fd00:1b::fe dev ib0",
    );
    assert!(changes(&mut pipe).routes);
    let routes = pipe.interfaces[0].monitor.routes().unwrap();
    let via = |destination: &str| {
        let destination: IpAddr = destination.parse().unwrap();
        let mut found: Vec<_> = routes
            .iter()
            .filter(|route| route.destination == destination)
            .map(|route| route.gateway)
            .collect();
        found.sort();
        found
    };
    let gateway = |text: &str| Some(text.parse::<IpAddr>().unwrap());
    assert_eq!(via("192.168.7.0"), [gateway("10.0.0.254")]);
    assert_eq!(via("2001:db8::"), [gateway("fd00:1b::fe")]);
    assert_eq!(
        via("192.168.8.0"),
        [gateway("10.0.0.252"), gateway("10.0.0.253")]
    );
    assert_eq!(via("192.168.9.0"), [gateway("fd00:1b::fe")]);
    assert_eq!(via("10.0.0.0"), [None]);

    ip(&pipe, "link set ib0 mtu 1500");
    assert!(changes(&mut pipe).link);
    assert_eq!(pipe.interfaces[0].monitor.link().unwrap().mtu, 1500);
    ip(&pipe, "link set ib0 down");
    assert!(changes(&mut pipe).link);
    assert!(!pipe.interfaces[0].monitor.link().unwrap().up);
    ip(&pipe, "link set ib0 up");
    pipe.interfaces[0].restore_link_local().unwrap();
    let addresses = pipe.interfaces[0].monitor.addresses().unwrap();
    assert!(
        addresses.contains(&("fe80::200:1b00:0:1".parse().unwrap(), 64)),
        "{addresses:?}"
    );
}

#[test]
fn multicast_groups_are_followed() {
    let Some(mut pipe) = pipe("interface::tests::multicast_groups_are_followed") else {
        return;
    };
    pipe.interfaces[0].monitor.drain().unwrap();
    let group = std::net::Ipv4Addr::new(239, 1, 2, 3);
    let group6: Ipv6Addr = "ff15::1234".parse().unwrap();
    let socket = pipe.namespaces[0]
        .run(|| {
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            socket
                .join_multicast_v4(&group, &std::net::Ipv4Addr::new(10, 0, 0, 1))
                .unwrap();
            let socket6 = std::net::UdpSocket::bind("[::]:0").unwrap();
            socket6.join_multicast_v6(&group6, 2).unwrap();
            Ok((socket, socket6))
        })
        .unwrap();
    let changes = pipe.interfaces[0].monitor.drain().unwrap();
    if pipe.interfaces[0].monitor.tells_memberships() {
        assert!(changes.memberships);
    }
    let groups = pipe.interfaces[0].monitor.memberships().unwrap();
    for expected in [
        IpAddr::V4(group),
        IpAddr::V6(group6),
        "224.0.0.1".parse().unwrap(),
        "ff02::1".parse().unwrap(),
    ] {
        assert!(groups.contains(&expected), "no {expected} in {groups:?}");
    }
    drop(socket);
    let groups = pipe.interfaces[0].monitor.memberships().unwrap();
    assert!(!groups.contains(&IpAddr::V4(group)), "{groups:?}");
    assert_ne!(pipe.interfaces[0].monitor.drain().unwrap(), Changes::ALL);
}

#[test]
fn programs_left_on_a_host_are_ended() {
    let Some(pipe) = pipe("interface::tests::programs_left_on_a_host_are_ended") else {
        return;
    };
    let mut child = pipe.namespaces[1]
        .run(|| {
            // A shell that ignores SIGTERM, with a child.
            let mut command = Command::new("sh");
            command.args(["-c", "trap '' TERM; sleep 100; sleep 100"]);
            command
                .spawn()
                .map_err(|error| HostError::system("run", error))
        })
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let begin = Instant::now();
    assert!(end_processes(&pipe.namespaces) >= 2);
    assert!(begin.elapsed() < Duration::from_secs(3));
    child.wait().unwrap();
    assert_eq!(end_processes(&pipe.namespaces), 0);
    let _ = pipe.namespaces[0].as_fd();
}
