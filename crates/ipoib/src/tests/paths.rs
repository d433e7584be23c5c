//! Path queries and the cache.

use softib_mgmt::sa_client::SaRequest;
use softib_wire::addr::PKey;
use softib_wire::time::Duration;

use super::bench::{Bench, ip, millis, secs, udp};
use crate::counters::DropReason;
use crate::interface::PortEvent;
use crate::view::PathState;

/// One query a GID, with both GIDs, the partition and the broadcast group's traffic class.
#[test]
fn one_query_a_gid() {
    let mut bench = Bench::new();
    bench.sa.traffic_class = 5;
    for _ in 0..2 {
        let node = bench.add(|_| {});
        bench.bring_up(node);
    }
    bench.run(secs(3));
    bench.ping(0, 1, false);
    bench.ping(0, 1, true);
    bench.run(secs(1));
    let queries: Vec<_> = bench.nodes[0]
        .asked
        .iter()
        .filter(|(_, request)| matches!(request, SaRequest::Path { .. }))
        .collect();
    let wanted = SaRequest::Path {
        sgid: bench.gid(0),
        dgid: bench.gid(1),
        pkey: PKey::DEFAULT_FULL,
        traffic_class: 5,
    };
    assert_eq!(queries.len(), 1);
    assert_eq!(queries[0].1, wanted);
    assert_eq!(bench.nodes[1].delivered.len(), 2);
}

/// No path: what waited is dropped, and the next packet asks again.
#[test]
fn no_path() {
    let mut bench = Bench::running(2);
    let peer = bench.gid(1);
    bench.sa.unreachable.insert(peer);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::NoPath), 1);
    let view = bench.nodes[0].interface.paths().next().unwrap();
    assert_eq!((view.dgid, view.state), (peer, PathState::Failed));
    bench.sa.unreachable.clear();
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1);
}

/// Three packets wait for a path, and no more.
#[test]
fn three_wait_for_a_path() {
    let mut bench = Bench::running(2);
    bench.sa.delay = secs(1);
    bench.ping(0, 1, false);
    // The answer has come, its path has not.
    bench.run(millis(1500));
    for _ in 0..4 {
        bench.ping(0, 1, false);
    }
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::NeighbourQueueFull), 2);
    bench.run(secs(3));
    assert_eq!(bench.nodes[1].delivered.len(), 3);
}

/// The path is refreshed at every packet: nothing is sent by a vector that is gone, as each send
/// carries its own.
#[test]
fn case_17_path_refresh_under_load() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    for round in 0..1000_u16 {
        bench.port_event(0, PortEvent::ClientReregister);
        bench.ping(0, 1, false);
        bench.run(Duration::from_micros(u64::from(round % 40)));
    }
    bench.run(secs(1));
    assert_eq!(bench.nodes[1].delivered.len(), 1001);
}

/// A refresh that is refused ends the path; one that is not answered does not.
#[test]
fn refresh_refused_or_unanswered() {
    let mut bench = Bench::running(2);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    bench.sa.silent = true;
    bench.port_event(0, PortEvent::ClientReregister);
    bench.ping(0, 1, false);
    bench.run(secs(2));
    assert_eq!(
        bench.nodes[0].interface.paths().next().unwrap().state,
        PathState::Stale
    );
    assert_eq!(bench.nodes[1].delivered.len(), 2);
    bench.sa.silent = false;
    let peer = bench.gid(1);
    bench.sa.unreachable.insert(peer);
    bench.ping(0, 1, false);
    bench.run(secs(1));
    assert_eq!(
        bench.nodes[0].interface.paths().next().unwrap().state,
        PathState::Failed
    );
}

/// A flush ends queries: their answers find nobody.
#[test]
fn flush_while_a_query_is_under_way() {
    let mut bench = Bench::running(2);
    bench.sa.delay = secs(1);
    bench.ping(0, 1, false);
    bench.run(millis(1500));
    bench.port_event(0, PortEvent::Down);
    let counters = bench.nodes[0].interface.counters();
    assert_eq!(counters.drops.count(DropReason::Flushed), 1);
    bench.run(secs(3));
    assert_eq!(bench.nodes[0].interface.paths().count(), 0);
    let packet = udp(ip("10.0.0.1"), ip("10.0.0.2"), b"x");
    bench.send(0, &packet);
    assert_eq!(
        bench.nodes[0]
            .interface
            .counters()
            .drops
            .count(DropReason::NoCarrier),
        1
    );
}
