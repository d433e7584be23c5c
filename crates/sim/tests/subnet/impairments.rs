//! Cables with a rate, a delay or losses: what arrives is right and in order.

use softib_sim::Simulation;
use softib_sim::packets::{Segment, large_send};
use softib_subnet::spec::Impairment;
use softib_wire::time::{Duration, Instant};

use crate::common::{impair_all, small_tree, star, up};

/// Octets of a TCP segment that fill an MTU of 2,044.
const SEGMENT: u16 = 2044 - 40;
/// Octets of one large send.
const LARGE: usize = 60_000;

fn data(len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(7);
    (0..len).map(|_| rng.u8(..)).collect()
}

/// Sends all of `data` from host 0 to the last one in large sends, no faster than the interface
/// takes them, and gives what arrived.
fn transfer(sim: &mut Simulation, data: &[u8]) -> Vec<(Instant, Segment)> {
    sim.log.keep_packets = true;
    let last = sim.hosts() - 1;
    let (from, to) = (sim.interface(0), sim.interface(last));
    for (index, piece) in data.chunks(LARGE).enumerate() {
        let room = sim.run_until(Duration::from_secs(60), |sim| {
            sim.subnet.can_accept_ip(from)
        });
        assert!(room, "the queue never drained");
        let sequence = u32::try_from(index * LARGE).unwrap();
        let packet = large_send(
            sim.subnet.pool(),
            Simulation::address(0, 0),
            Simulation::address(last, 0),
            sequence,
            piece,
            SEGMENT,
        );
        sim.send(from, packet);
    }
    sim.run_for(Duration::from_secs(30));
    let packets = sim.log.packets(to);
    packets
        .map(|(at, packet)| {
            let segment = Segment::parse(&packet.bytes, packet.offload);
            (at, segment.expect("a right segment"))
        })
        .collect()
}

/// Puts segments together; they have to be in order and without a gap.
fn joined(segments: &[(Instant, Segment)]) -> Vec<u8> {
    let mut all = Vec::new();
    for (_, segment) in segments {
        assert_eq!(segment.sequence as usize, all.len(), "in order");
        all.extend_from_slice(&segment.data);
    }
    all
}

#[test]
fn large_sends_stay_whole_on_ideal_links() {
    let mut sim = up(&small_tree(), 71);
    let data = data(10 * LARGE);
    assert!(sim.reaches(0, 7, 1));
    let segments = transfer(&mut sim, &data);
    assert_eq!(segments.len(), 10, "none was cut");
    assert!(joined(&segments) == data);
}

#[test]
fn large_sends_are_cut_on_links_with_delay_and_arrive_in_order() {
    let mut sim = up(&small_tree(), 72);
    assert!(sim.reaches(0, 7, 1));
    let slow = Impairment {
        delay: Duration::from_millis(2),
        jitter: Duration::from_micros(500),
        ..Impairment::default()
    };
    impair_all(&mut sim, slow);
    let data = data(20 * LARGE);
    let segments = transfer(&mut sim, &data);
    assert!(segments.len() >= 20 * 30, "{} segments", segments.len());
    assert!(joined(&segments) == data);
}

#[test]
fn a_rate_is_kept_and_nothing_lost_by_overrun() {
    let mut sim = up(&star(2), 73);
    assert!(sim.reaches(0, 1, 1));
    let rate = Impairment {
        rate: Some(1_000_000_000),
        ..Impairment::default()
    };
    let port = sim.port(1);
    let now = sim.now();
    sim.subnet.set_impairment(now, port, rate).unwrap();
    let data = data(50 * LARGE);
    let begun = sim.now();
    let segments = transfer(&mut sim, &data);
    assert_eq!(crate::common::drops(&sim, ""), [], "nothing is lost");
    assert!(joined(&segments) == data);
    let took = segments.last().unwrap().0 - begun;
    // 3 MB at 1 Gb/s, and a few percent of headers.
    let least = Duration::from_millis(24);
    assert!(took >= least && took < least * 11 / 10, "{took:?}");
}

#[test]
fn several_senders_share_a_slow_cable_without_a_loss() {
    let mut sim = up(&star(4), 74);
    for host in 1..4 {
        assert!(sim.reaches(host, 0, 1));
    }
    let rate = Impairment {
        rate: Some(100_000_000),
        ..Impairment::default()
    };
    let port = sim.port(0);
    let now = sim.now();
    sim.subnet.set_impairment(now, port, rate).unwrap();
    sim.log.keep_packets = true;
    let to = sim.interface(0);
    let data = data(LARGE);
    for host in 1..4 {
        let packet = large_send(
            sim.subnet.pool(),
            Simulation::address(host, 0),
            Simulation::address(0, 0),
            0,
            &data,
            SEGMENT,
        );
        let interface = sim.interface(host);
        sim.send(interface, packet);
    }
    sim.run_for(Duration::from_secs(5));
    let octets: usize = sim
        .log
        .packets(to)
        .map(|(_, packet)| Segment::parse(&packet.bytes, packet.offload).unwrap())
        .map(|segment| segment.data.len())
        .sum();
    assert_eq!(octets, 3 * LARGE);
}

#[test]
fn what_a_bad_cable_lets_through_is_right() {
    let mut sim = up(&star(2), 75);
    assert!(sim.reaches(0, 1, 1));
    let bad = Impairment {
        loss: 0.05,
        corrupt: 0.2,
        duplicate: 0.1,
        reorder: 0.1,
        delay: Duration::from_micros(100),
        ..Impairment::default()
    };
    impair_all(&mut sim, bad);
    let data = data(10 * LARGE);
    let segments = transfer(&mut sim, &data);
    assert!(!segments.is_empty());
    for (_, segment) in &segments {
        let at = segment.sequence as usize;
        assert!(data[at..at + segment.data.len()] == segment.data[..]);
    }
    let view = sim.subnet.view(sim.now());
    let counted: u64 = view
        .drops
        .iter()
        .filter(|row| row.reason == "vcrc-error")
        .map(|row| row.count)
        .sum();
    assert!(counted > 10, "corrupt packets are counted: {counted}");
}

#[test]
fn a_round_trip_takes_the_delays_of_its_cables() {
    let mut sim = up(&small_tree(), 76);
    assert!(sim.reaches(0, 7, 1));
    let far = Impairment {
        delay: Duration::from_millis(3),
        ..Impairment::default()
    };
    impair_all(&mut sim, far);
    let sent = sim.now();
    let ping = sim.ping(0, 7, 56);
    sim.run_for(Duration::from_secs(1));
    let round_trip = sim.answered(ping).unwrap() - sent;
    // Four cables there and four back.
    let least = Duration::from_millis(24);
    assert!(round_trip >= least && round_trip < least + Duration::from_millis(1));
}
