//! Packets that nobody should send: nobody is harmed, and each is counted by what is wrong with it.

use std::collections::BTreeMap;

use softib_fabric::frame::finish;
use softib_sim::Simulation;
use softib_wire::addr::{Lid, PKey, QKey, Qpn};
use softib_wire::mad::method;
use softib_wire::packet::UdHeaders;
use softib_wire::time::Duration;

use crate::attacker::{Attacker, IPOIB_QKEY, lid, packet, qpn, with_crcs};
use crate::common::{drops, small_tree, star, up};

/// All hosts but the attacker reach each other.
pub(crate) fn others_talk(sim: &mut Simulation) {
    sim.run_for(Duration::from_secs(1));
    assert!(sim.all_have_carrier());
    let attacker = sim.hosts() - 1;
    for from in 0..attacker {
        for to in (0..attacker).filter(|&to| to != from) {
            assert!(sim.reaches(from, to, 3), "{from} to {to}");
        }
    }
}

fn counted(sim: &Simulation) -> BTreeMap<(String, String), u64> {
    let rows = drops(sim, "").into_iter();
    rows.map(|row| ((row.place, row.reason), row.count))
        .collect()
}

/// What became of one kind of packet: where and why it is dropped.
struct Case {
    place: &'static str,
    reason: &'static str,
    /// From LRH to padding.
    bytes: Vec<u8>,
    /// Changes the octets once they have CRCs.
    spoil: fn(&mut [u8]),
}

/// A datagram of 60 octets with something wrong about its headers or data.
struct Cases<'a> {
    all: Vec<Case>,
    attacker: &'a Attacker,
    to: (Lid, Qpn),
}

impl Cases<'_> {
    fn add(&mut self, place: &'static str, reason: &'static str, bytes: Vec<u8>) {
        self.all.push(Case {
            place,
            reason,
            bytes,
            spoil: |_| (),
        });
    }

    fn headers(&mut self, place: &'static str, reason: &'static str, change: fn(&mut UdHeaders)) {
        let mut headers = self.right();
        change(&mut headers);
        self.add(place, reason, packet(&headers, &[0; 60]));
    }

    fn octets(&mut self, place: &'static str, reason: &'static str, change: fn(&mut Vec<u8>)) {
        let mut bytes = packet(&self.right(), &[0; 60]);
        change(&mut bytes);
        self.add(place, reason, bytes);
    }

    fn data(&mut self, place: &'static str, reason: &'static str, data: &[u8]) {
        self.add(place, reason, packet(&self.right(), data));
    }

    fn spoilt(&mut self, place: &'static str, reason: &'static str, spoil: fn(&mut [u8])) {
        let bytes = packet(&self.right(), &[0; 60]);
        self.all.push(Case {
            place,
            reason,
            bytes,
            spoil,
        });
    }

    fn right(&self) -> UdHeaders {
        self.attacker.datagram(self.to.0, self.to.1, IPOIB_QKEY)
    }
}

#[test]
fn each_wrong_packet_is_counted_once_where_and_why_it_is_dropped() {
    let mut sim = up(&star(3), 81);
    let attacker = Attacker::at_last_host(&sim, 81);
    let to = (lid(&sim, "h1", 1), qpn(&sim, "h1"));
    let mut cases = Cases {
        all: Vec::new(),
        attacker: &attacker,
        to,
    };
    // The port that it comes in by.
    let port = "s1[3]";
    cases.octets(port, "too-short", |bytes| bytes.truncate(6));
    cases.octets(port, "link-version", |bytes| bytes[0] |= 1);
    cases.octets(port, "packet-length", |bytes| bytes[5] ^= 1);
    cases.octets(port, "packet-length", |bytes| bytes.truncate(40));
    cases.spoilt(port, "vcrc-error", |bytes| *bytes.last_mut().unwrap() ^= 1);
    cases.headers(port, "data-on-vl15", |headers| {
        headers.vl = softib_wire::addr::Vl::MANAGEMENT;
    });
    cases.headers(port, "source-lid", |headers| {
        headers.slid = Lid::new(0xC001);
    });
    cases.headers(port, "dlid-zero", |headers| headers.dlid = Lid::NONE);
    cases.headers(port, "dlid-permissive", |headers| {
        headers.dlid = Lid::PERMISSIVE;
    });
    cases.headers(port, "dlid-above-top", |headers| {
        headers.dlid = Lid::new(0x4000);
    });
    cases.headers(port, "loop", |headers| headers.dlid = headers.slid);
    let long = packet(&cases.right(), &[0; 4100]);
    cases.add(port, "receive-mtu", long);
    // The adapter that it is for.
    let port = "h1[1]";
    cases.spoilt(port, "icrc-error", |bytes| {
        let end = bytes.len();
        bytes[end - 6] ^= 1;
        let vcrc = softib_wire::crc::vcrc(&bytes[..end - 2]);
        bytes[end - 2..].copy_from_slice(&vcrc.to_le_bytes());
    });
    cases.octets(port, "opcode", |bytes| bytes[8] = 0xFF);
    cases.octets(port, "transport-version", |bytes| bytes[9] |= 1);
    cases.headers(port, "no-such-qp", |headers| {
        headers.dest_qpn = Qpn::from_bits_truncate(0x0012_3456);
    });
    // The queue pair.
    let pair = "h1/ib0";
    cases.headers(pair, "pkey-mismatch", |headers| {
        headers.pkey = PKey::new(0x8001);
    });
    cases.headers(pair, "qkey-mismatch", |headers| headers.qkey = QKey::new(1));
    cases.octets(pair, "qp-service", |bytes| bytes[8] = 0x04);
    // The interface.
    cases.data(pair, "rx-encapsulation-cut", &[8, 0]);
    cases.data(pair, "rx-unknown-ethertype", &[0x88, 0xCA, 0, 0, 1, 2]);
    cases.data(pair, "rx-bad-arp", &[8, 6, 0, 0, 0, 32, 8, 0]);
    let mut ipv6 = [0x60; 44];
    ipv6[..4].copy_from_slice(&[8, 0, 0, 0]);
    cases.data(pair, "rx-version-mismatch", &ipv6);
    cases.data(pair, "rx-ip-header-cut", &[8, 0, 0, 0, 0x45, 0, 0, 1]);
    cases.data(pair, "rx-reverse-arp", &[0x80, 0x35, 0, 0]);
    // Agents.
    let gsi = attacker.datagram(to.0, Qpn::GSI, crate::attacker::GSI_QKEY);
    cases.add("h1", "mad-length", packet(&gsi, &[1; 100]));
    let mut mad = [0; 256];
    // Send: what is asked for nothing is not even refused.
    mad[..4].copy_from_slice(&[1, 0x77, 1, method::SEND]);
    cases.add("h1", "class-of-qp1", packet(&gsi, &mad));
    let smi = attacker.datagram(to.0, Qpn::SMI, QKey::default());
    cases.add("h1", "class-of-qp0", packet(&smi, &mad));

    for case in std::mem::take(&mut cases.all) {
        let before = counted(&sim);
        let mut bytes = with_crcs(&case.bytes);
        (case.spoil)(&mut bytes);
        attacker.send_raw(&mut sim, &bytes);
        sim.run_for(Duration::from_millis(1));
        let mut more = counted(&sim);
        more.retain(|key, count| {
            *count -= before.get(key).copied().unwrap_or(0);
            *count > 0
        });
        let counted = |place: &str| ((place.to_owned(), case.reason.to_owned()), 1);
        let mut expected = BTreeMap::from([counted(case.place)]);
        if case.place == pair && !case.reason.starts_with("rx-") {
            // What a queue pair refuses, its port has dropped.
            expected.extend([counted(port)]);
        }
        assert_eq!(more, expected);
    }
    others_talk(&mut sim);
}

#[test]
fn noise_harms_nobody_and_all_of_it_is_counted() {
    let mut sim = up(&star(4), 82);
    let mut attacker = Attacker::at_last_host(&sim, 82);
    let total = |sim: &Simulation| counted(sim).values().sum::<u64>();
    let before = total(&sim);
    let mut sent = 0;
    for _ in 0..20_000 {
        let len = attacker.rng.usize(..300);
        let bytes = attacker.noise(len);
        attacker.send_raw(&mut sim, &bytes);
        sent += 1;
    }
    assert_eq!(total(&sim) - before, sent, "by their CRCs");
    let before = total(&sim);
    for _ in 0..20_000 {
        let len = attacker.rng.usize(..300);
        let mut bytes = attacker.noise(len);
        // A LID in use makes some of it go further.
        if bytes.len() > 4 {
            bytes[2] = 0;
            bytes[3] %= 8;
        }
        attacker.send(&mut sim, &bytes);
    }
    let packets = total(&sim) - before;
    assert!(packets > 15_000, "{packets} of 20,000 are counted");
    others_talk(&mut sim);
}

/// What hosts really say, with some of its bits turned and its CRCs made right again.
#[test]
fn mutated_packets_harm_nobody() {
    let mut sim = up(&small_tree(), 83);
    sim.add_ipv6();
    let port = sim.port(7);
    sim.subnet.capture(port, true);
    sim.run_for(Duration::from_secs(3));
    for to in 0..7 {
        let _ = sim.reaches(7, to, 1);
        let [from, to] = [7, to].map(|host| Simulation::address6(host).into());
        sim.ping_from(sim.interface(7), from, to, 56);
    }
    sim.run_for(Duration::from_secs(1));
    sim.subnet.capture(port, false);
    let mut seen = Vec::new();
    while let Some(captured) = sim.subnet.poll_captured() {
        if captured.outgoing {
            seen.push(finish(&captured.frame));
        }
    }
    assert!(seen.len() > 20, "{} packets captured", seen.len());
    let mut attacker = Attacker::at_last_host(&sim, 83);
    for n in 0..20_000 {
        let mut bytes = seen[n % seen.len()].clone();
        // Not what an SMP sets: that is no bad packet but a right, if unwanted, one.
        if bytes[0] >> 4 == 15 {
            continue;
        }
        bytes.truncate(bytes.len() - 6);
        for _ in 0..=attacker.rng.usize(..4) {
            let bit = attacker.rng.usize(..bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if attacker.rng.u8(..) < 16 {
            let len = attacker.rng.usize(..bytes.len());
            bytes.truncate(len);
        }
        attacker.send(&mut sim, &bytes);
        if n % 100 == 0 {
            sim.run_for(Duration::from_millis(10));
        }
    }
    // What it made hosts believe of addresses is forgotten, or found wrong, in time.
    sim.run_for(Duration::from_secs(120));
    others_talk(&mut sim);
}
