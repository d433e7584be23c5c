//! A whole lab, as root and as an ordinary user: two hosts on a switch, programs on them, and
//! nothing left afterwards.
//!
//! This test has a harness of its own: a lab must start on its process's only thread, as a daemon's
//! does, and the standard harness runs tests on others. Each test runs in a process of its own, as
//! an ordinary user and, when started by root, as root too. Arguments are those of the standard
//! harness, as far as test runners use them.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

use softib_host::capture::CapturedPacket;
use softib_host::enter::Ticket;
use softib_host::run_dir::RunDir;
use softib_host::runtime::{HostSpec, LabSpec, Progress, Runtime};
use softib_host::{HostError, namespace};
use softib_subnet::spec::{
    IfaceRef, Impairment, InterfaceSpec, LinkSpec, ManagerSpec, NodeId, NodeKind, NodeSpec,
    PortRef, SubnetSpec,
};
use softib_wire::addr::Guid;
use softib_wire::packet::{Form, Packet};
use softib_wire::units::Mtu;

/// A test of a running lab.
type Test = fn(&Lab);

const TESTS: [(&str, Test); 6] = [
    ("hosts_talk", hosts_talk),
    ("captures_show_what_passes", captures_show_what_passes),
    ("people_change_interfaces", people_change_interfaces),
    (
        "a_cable_is_pulled_and_plugged_in",
        a_cable_is_pulled_and_plugged_in,
    ),
    (
        "an_idle_lab_uses_no_processor",
        an_idle_lab_uses_no_processor,
    ),
    ("large_sends_are_fast", large_sends_are_fast),
];

/// Asks the process to run a test itself, and not in another.
const CHILD: &str = "SOFTIB_TEST_CHILD";
/// Asks it to become a program on a host: socket, host, program.
const EXEC: &str = "--exec";
/// Status of a child that says why it cannot run here.
const SKIP: u8 = 77;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, socket, host, program, rest @ ..] = args.as_slice()
        && first == EXEC
    {
        return exec(socket, host, program, rest);
    }
    if args.iter().any(|arg| arg == "--list") {
        if !args.iter().any(|arg| arg == "--ignored") {
            TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        }
        return ExitCode::SUCCESS;
    }
    let exact = args.iter().any(|arg| arg == "--exact");
    let filters: Vec<_> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let chosen = TESTS.iter().filter(|(name, _)| {
        filters.is_empty()
            || filters.iter().any(|filter| {
                if exact {
                    *filter == name
                } else {
                    name.contains(filter.as_str())
                }
            })
    });
    let mut failed = false;
    for (name, test) in chosen {
        if std::env::var_os(CHILD).is_some() {
            return run(*test);
        }
        match as_each_user(name) {
            Ok(()) => println!("test {name} ... ok"),
            Err(why) => {
                println!("test {name} ... FAILED\n{why}");
                failed = true;
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Runs a test in processes of its own.
fn as_each_user(test: &str) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let args = ["--exact", test];
    finish(
        test,
        "this user",
        Command::new(&own).args(args).env(CHILD, "1"),
    )?;
    if !namespace::has_capabilities() {
        return Ok(());
    }
    // In a mount namespace with a TUN device open to all, as distributions ship it, and the program
    // where that user can reach it.
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = format!(
        "chmod 755 {dir} && cp {own} {dir}/test && mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200 && \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups {dir}/test {args}",
        dir = dir.path().display(),
        own = own.display(),
        args = args.join(" "),
    );
    finish(
        test,
        "an ordinary user",
        Command::new("unshare")
            .args(["-m", "sh", "-c", &script])
            .env(CHILD, "1"),
    )
}

fn finish(test: &str, who: &str, command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    if output.status.code() == Some(i32::from(SKIP)) {
        println!("{test} skipped as {who}: {text}");
        return Ok(());
    }
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("as {who}: {}\n{text}", output.status))
    }
}

/// A lab of two hosts, `h1` and `h2`, on switch `s1`.
struct Lab {
    runtime: Runtime,
    dir: RunDir,
    _exec: softib_host::enter::Server,
    _base: tempfile::TempDir,
}

const H1: NodeId = NodeId(0);
const H2: NodeId = NodeId(1);
const S1: NodeId = NodeId(2);

fn run(test: Test) -> ExitCode {
    let mut steps = Vec::new();
    let runtime = match Runtime::start(&two_hosts(), |step| steps.push(step)) {
        Ok(runtime) => runtime,
        Err(
            error @ (HostError::TunMissing
            | HostError::UserNamespacesOff
            | HostError::UserNamespacesForRoot
            | HostError::UserNamespacesAppArmor
            | HostError::UserNamespacesRefused { .. }),
        ) => {
            eprintln!("{error}");
            return ExitCode::from(SKIP);
        }
        Err(error) => panic!("{error}"),
    };
    assert!(
        steps.contains(&Progress::Host {
            name: "h2".to_owned(),
            done: 2,
            total: 2
        }),
        "{steps:?}"
    );
    let base = tempfile::tempdir().unwrap();
    let dir = RunDir::create_in(&base.path().join("labs"), "test").unwrap();
    let exec = runtime.serve_exec(&dir).unwrap();
    let lab = Lab {
        runtime,
        dir,
        _exec: exec,
        _base: base,
    };
    assert!(
        lab.runtime
            .wait_ready(Duration::from_secs(20), |_| {})
            .unwrap(),
        "{:#?}",
        lab.runtime.view()
    );
    test(&lab);
    lab.runtime.stop();
    ExitCode::SUCCESS
}

fn two_hosts() -> LabSpec {
    let host = |name: &str, guid| NodeSpec {
        name: name.to_owned(),
        guid: Guid::new(guid),
        kind: NodeKind::Host {
            ports: 1,
            interfaces: vec![InterfaceSpec {
                name: "ib0".to_owned(),
                port: 1,
                pkey: None,
                mtu: None,
            }],
        },
    };
    let switch = NodeSpec {
        name: "s1".to_owned(),
        guid: Guid::new(0x1b00_0000_0300),
        kind: NodeKind::Switch { ports: 4 },
    };
    let link = |node, port| LinkSpec {
        a: PortRef { node, port: 1 },
        b: PortRef { node: S1, port },
        impairment: Impairment::default(),
        up: true,
    };
    let addresses = |last: u16| {
        vec![vec![
            (
                IpAddr::V4(Ipv4Addr::new(10, 0, 0, last.to_be_bytes()[1])),
                24,
            ),
            (
                IpAddr::V6(Ipv6Addr::new(0xfd00, 0x1b, 0, 0, 0, 0, 0, last)),
                64,
            ),
        ]]
    };
    LabSpec {
        name: "test".to_owned(),
        subnet: SubnetSpec {
            prefix: 0xfe80_0000_0000_0000,
            mtu: Mtu::B2048,
            nodes: vec![
                host("h1", 0x1b00_0000_0100),
                host("h2", 0x1b00_0000_0200),
                switch,
            ],
            links: vec![link(H1, 1), link(H2, 2)],
            manager: ManagerSpec::Own {
                node: S1,
                priority: 0,
                sweep_interval: Duration::from_secs(10),
            },
            partitions: Vec::new(),
        },
        hosts: vec![
            HostSpec {
                node: H1,
                interfaces: addresses(1),
            },
            HostSpec {
                node: H2,
                interfaces: addresses(2),
            },
        ],
        seed: 1,
    }
}

impl Lab {
    fn command(&self, host: &str, words: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .arg(EXEC)
            .arg(self.dir.exec_socket())
            .arg(host)
            .args(words.split(' '))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, host: &str, words: &str) -> Output {
        let output = self.command(host, words).output().unwrap();
        assert!(
            output.status.success(),
            "{host}: {words}: {output:?}\n{:#?}",
            self.runtime.view()
        );
        output
    }

    fn text(&self, host: &str, words: &str) -> String {
        String::from_utf8(self.run(host, words).stdout).unwrap()
    }
}

/// Becomes a program on a host, as `softib exec` does.
fn exec(socket: &str, host: &str, program: &str, rest: &[String]) -> ExitCode {
    let rest: Vec<_> = rest.iter().map(Into::into).collect();
    let error = match Ticket::request(Path::new(socket), host) {
        Ok(ticket) => ticket.exec(program.as_ref(), &rest),
        Err(error) => error,
    };
    eprintln!("{error}");
    ExitCode::FAILURE
}

fn hosts_talk(lab: &Lab) {
    for target in ["10.0.0.2", "fd00:1b::2", "h2"] {
        let output = lab.text("h1", &format!("ping -c 10 -i 0.05 -W 2 {target}"));
        assert!(output.contains("10 received"), "{output}");
    }
    assert!(
        lab.text("h1", "ping -c 3 -i 0.05 -s 2016 -M do 10.0.0.2")
            .contains("3 received")
    );
    assert!(
        lab.text("h1", "ping -c 3 -i 0.05 -s 60000 10.0.0.2")
            .contains("3 received")
    );
    let too_long = lab
        .command("h1", "ping -c 1 -W 1 -s 2017 -M do 10.0.0.2")
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&too_long.stderr).contains("message too long"),
        "{too_long:?}"
    );
    assert_eq!(lab.text("h2", "hostname").trim(), "h2");
    assert!(
        lab.text("h1", "cat /etc/hosts")
            .contains("10.0.0.2 h2 h2-ib0")
    );
    let shown = lab.text("h1", "ip -d addr show ib0");
    for part in ["link/infiniband", "mtu 2044", "LOWER_UP", "inet6 fe80::"] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let mut devices: Vec<_> = lab
        .text("h1", "ls /sys/class/net")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    devices.sort();
    assert_eq!(devices, ["ib0", "lo"]);
    let unknown = lab.command("h9", "true").output().unwrap();
    assert!(
        String::from_utf8_lossy(&unknown.stderr).contains("no host \"h9\""),
        "{unknown:?}"
    );
}

fn captures_show_what_passes(lab: &Lab) {
    let mut capture = lab.runtime.capture(PortRef { node: H1, port: 1 }).unwrap();
    lab.run("h1", "ping -c 3 -i 0.05 10.0.0.2");
    let packets: Vec<CapturedPacket> = std::iter::from_fn(|| capture.try_next()).collect();
    assert!(packets.len() >= 6, "{}", packets.len());
    assert_eq!(capture.dropped(), 0);
    for packet in &packets {
        Packet::parse(&packet.bytes, Form::Wire)
            .unwrap_or_else(|error| panic!("{error:?}: {packet:?}"));
    }
    let refused = lab
        .runtime
        .capture(PortRef { node: H1, port: 2 })
        .unwrap_err();
    assert_eq!(refused.to_string(), "\"h1\" has ports 1 to 1, not 2");
}

fn people_change_interfaces(lab: &Lab) {
    lab.run("h1", "ip addr add 10.9.0.1/24 dev ib0");
    lab.run("h2", "ip addr add 10.9.0.2/24 dev ib0");
    assert!(
        lab.text("h1", "ping -c 5 -i 0.2 -W 2 10.9.0.2")
            .contains(" 0% packet loss")
    );
    // A route through the other host.
    lab.run("h2", "ip addr add 172.16.0.1/32 dev lo");
    lab.run("h1", "ip route add 172.16.0.0/16 via 10.0.0.2");
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        lab.text("h1", "ping -c 3 -i 0.1 -W 2 172.16.0.1")
            .contains("3 received")
    );
    let first = IfaceRef { node: H1, index: 0 };
    // More than the subnet carries is set back, less is kept.
    lab.run("h1", "ip link set ib0 mtu 4000");
    wait_for("MTU set back to 2044", || {
        lab.text("h1", "ip link show ib0").contains("mtu 2044")
    });
    lab.run("h1", "ip link set ib0 mtu 1500");
    wait_for("MTU 1500 in the subnet", || {
        lab.runtime
            .call(move |subnet, _| subnet.mtu(first))
            .unwrap()
            == Some(1500)
    });
    assert!(lab.text("h1", "ip link show ib0").contains("mtu 1500"));
    lab.runtime.set_mtu(first, Some(1400)).unwrap();
    wait_for("MTU 1400 on the host", || {
        lab.text("h1", "ip link show ib0").contains("mtu 1400")
    });
    assert!(
        lab.runtime
            .set_mtu(first, Some(10))
            .unwrap_err()
            .to_string()
            .contains("out of range")
    );
    lab.run("h1", "ip link set ib0 down");
    wait_for("no carrier", || {
        !lab.runtime
            .call(move |subnet, _| subnet.has_carrier(first))
            .unwrap()
    });
    lab.run("h1", "ip link set ib0 up");
    wait_for("carrier again", || {
        lab.runtime
            .call(move |subnet, _| subnet.has_carrier(first))
            .unwrap()
    });
    wait_for("a link-local address again", || {
        lab.text("h1", "ip addr show ib0").contains("inet6 fe80::")
    });
    wait_for("ping", || {
        lab.command("h1", "ping -c 1 -W 1 10.0.0.2")
            .output()
            .unwrap()
            .status
            .success()
    });
    // A deleted interface does not take the lab with it.
    lab.run("h1", "ip link del ib0");
    std::thread::sleep(Duration::from_millis(200));
    lab.runtime.view().unwrap();
}

fn a_cable_is_pulled_and_plugged_in(lab: &Lab) {
    let cable = PortRef { node: H1, port: 1 };
    lab.runtime.set_link_up(cable, false).unwrap();
    wait_for("no carrier", || {
        lab.text("h1", "ip link show ib0").contains("NO-CARRIER")
    });
    lab.runtime.set_link_up(cable, true).unwrap();
    wait_for("carrier", || {
        lab.text("h1", "ip link show ib0").contains("LOWER_UP")
    });
    wait_for("ping", || {
        lab.command("h1", "ping -c 1 -W 1 10.0.0.2")
            .output()
            .unwrap()
            .status
            .success()
    });
    let slow = Impairment {
        delay: Duration::from_millis(20),
        ..Impairment::default()
    };
    lab.runtime.set_impairment(cable, slow).unwrap();
    lab.run("h1", "ping -c 1 -W 2 10.0.0.2");
    let output = lab.text("h1", "ping -c 4 -i 0.1 -W 2 10.0.0.2");
    let shortest: f64 = output
        .split("min/avg/max/mdev = ")
        .nth(1)
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((40.0..45.0).contains(&shortest), "{output}");
    let error = lab
        .runtime
        .set_link_up(PortRef { node: S1, port: 4 }, false)
        .unwrap_err();
    assert_eq!(error.to_string(), "there is no cable at s1[4]");
}

fn an_idle_lab_uses_no_processor(_: &Lab) {
    std::thread::sleep(Duration::from_millis(500));
    let before = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::thread::sleep(Duration::from_secs(2));
    let after = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = (after.tv_sec - before.tv_sec) * 1_000_000_000 + after.tv_nsec - before.tv_nsec;
    assert!(used < 60_000_000, "{used} ns of 2 s");
}

fn large_sends_are_fast(lab: &Lab) {
    if Command::new("iperf3").arg("-v").output().is_err() {
        println!("iperf3 is not installed");
        return;
    }
    let mut server = lab
        .command("h2", "iperf3 -s -1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let text = lab.text("h1", "iperf3 -c 10.0.0.2 -t 2 -f m");
    let rate = text
        .lines()
        .find(|line| line.contains("receiver"))
        .and_then(|line| {
            line.split(" MBytes")
                .nth(1)
                .or_else(|| line.split(" GBytes").nth(1))
        });
    let rate: f64 = rate
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    // Cut into single packets it would be less than this even on a fast machine.
    let _ = writeln!(std::io::stderr(), "{rate} Mb/s");
    assert!(rate > 500.0, "{text}");
    server.wait().unwrap();
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < end, "{what}: not within 10 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}
