//! A capture of a lab at work: tshark finds nothing wrong in it, and `softib decode` agrees on
//! both CRCs.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use softib_tests::{Lab, assert_ok, can_run, example, has, softib, wait_until};

/// The fields of every packet that tshark reads, one line a packet.
fn tshark(file: &str, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-r", file, "-Y", filter, "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert_ok("tshark", &output);
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn tshark_finds_nothing_wrong() {
    if !can_run() || !has("tshark") {
        return;
    }
    let lab = Lab::up(&example("two-hosts.toml"));
    let file = lab.folder.path().join("h1.pcap").display().to_string();
    let capture = lab
        .softib("capture")
        .args(["h1", "-w", &file])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let capture = GuardedChild(Some(capture));
    wait_until("the capture file is there", Duration::from_secs(10), || {
        std::fs::metadata(&file).is_ok_and(|file| file.len() >= 24)
    });

    // Everything that a subnet does: ARP and neighbour discovery, SA queries, IPv4 and IPv6, large
    // and fragmented, TCP in super-frames, and a cable pulled and put back (SMPs, joins again).
    assert_eq!(
        lab.ping("h1", &["-c", "5", "-i", "0.05", "10.0.0.2"]),
        (5, 5)
    );
    assert_eq!(
        lab.ping("h1", &["-c", "5", "-i", "0.05", "fd00:1b::2"]),
        (5, 5)
    );
    assert_eq!(
        lab.ping("h1", &["-c", "2", "-s", "60000", "10.0.0.2"]),
        (2, 2)
    );
    if has("iperf3") {
        let _server = lab.spawn("h2", &["iperf3", "--server", "--one-off"]);
        lab.wait_for_port("h2", 5201);
        let _ = lab.run("h1", &["iperf3", "--bytes", "20M", "--client", "10.0.0.2"]);
    }
    for state in ["down", "up"] {
        let output = lab.softib("link").args([state, "h1"]).output().unwrap();
        assert_ok(&format!("softib link {state} h1"), &output);
    }
    wait_until("h1 answers again", Duration::from_secs(20), || {
        lab.ping("h1", &["-c", "1", "-W", "1", "10.0.0.2"]).0 == 1
    });
    capture.interrupt();

    let malformed = tshark(&file, "_ws.malformed", &["frame.number", "_ws.col.Info"]);
    assert!(malformed.is_empty(), "malformed: {malformed:#?}");
    let expert = tshark(
        &file,
        // What a program does with its TCP connection is its own affair.
        "_ws.expert.severity >= 0x600000 && !tcp.analysis.flags && !(tcp.flags.reset == 1)",
        &["frame.number", "_ws.expert.message", "_ws.col.Info"],
    );
    assert!(expert.is_empty(), "expert items: {expert:#?}");
    for (what, filter) in [
        ("ARP", "arp"),
        ("ICMP over IPoIB", "icmp && infiniband"),
        ("neighbour discovery", "icmpv6.type == 135"),
        ("TCP", "tcp"),
        (
            "subnet management",
            "infiniband.mad.mgmtclass == 0x81 || infiniband.mad.mgmtclass == 0x01",
        ),
        ("subnet administration", "infiniband.mad.mgmtclass == 0x03"),
    ] {
        assert!(
            !tshark(&file, filter, &["frame.number"]).is_empty(),
            "no {what} in the capture"
        );
    }

    agree_on_every_packet(&file);
}

#[test]
fn decode_reads_a_capture_of_a_real_subnet() {
    let file = softib_tests::root().join("../shared/captures/infiniband.pcap");
    if !file.is_file() {
        eprintln!("skipped: the capture of a real subnet is not on this machine");
        return;
    }
    let output = Command::new(softib())
        .arg("decode")
        .arg(&file)
        .output()
        .unwrap();
    assert_ok("softib decode", &output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.lines().count(), 43, "{text}");
    assert!(!text.contains(" bad"), "{text}");
    if has("tshark") {
        agree_on_every_packet(&file.display().to_string());
    }
}

/// `softib decode` prints one line a packet that begins with its number, finds both CRCs right,
/// and names the same CRCs as tshark.
fn agree_on_every_packet(file: &str) {
    let decoded = Command::new(softib())
        .args(["decode", file])
        .output()
        .unwrap();
    assert_ok("softib decode", &decoded);
    let text = String::from_utf8_lossy(&decoded.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let fields = [
        "frame.number",
        "infiniband.invariant.crc",
        "infiniband.variant.crc",
    ];
    let packets = tshark(file, "frame", &fields);
    assert_eq!(lines.len(), packets.len());
    for (line, packet) in lines.iter().zip(&packets) {
        let fields: Vec<&str> = packet.split('\t').collect();
        assert_eq!(line.split_whitespace().next(), Some(fields[0]), "{line}");
        assert!(!line.contains(" bad"), "{line}");
        assert!(
            line.contains(fields[1]) && line.contains(fields[2]),
            "tshark has ICRC {} and VCRC {}: {line}",
            fields[1],
            fields[2]
        );
    }
}

/// A capture that is ended as a person ends it.
struct GuardedChild(Option<std::process::Child>);

impl GuardedChild {
    fn interrupt(mut self) {
        let child = self.0.take().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_ok("softib capture", &output);
    }
}

impl Drop for GuardedChild {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
