//! One seed, one log.

use softib_sim::{Log, Simulation};
use softib_subnet::spec::Impairment;
use softib_wire::time::Duration;

use crate::common::{impair_all, port, small_tree, up};

/// Half a minute of bad links and changing cables.
fn run(seed: u64) -> Log {
    let mut sim = up(&small_tree(), seed);
    sim.log.keep_packets = true;
    impair_all(
        &mut sim,
        Impairment {
            loss: 0.05,
            duplicate: 0.02,
            reorder: 0.02,
            corrupt: 0.01,
            delay: Duration::from_micros(5),
            jitter: Duration::from_micros(20),
            ..Impairment::default()
        },
    );
    for second in 0..30_u8 {
        let cable = port(&sim, "leaf1", 5 + second % 2);
        let now = sim.now();
        let plugged = second % 4 < 2;
        sim.subnet.set_link_up(now, cable, plugged).unwrap();
        for host in 0..sim.hosts() {
            let to = (host + 1 + usize::from(second) % (sim.hosts() - 1)) % sim.hosts();
            sim.ping(host, to, 100);
        }
        sim.run_for(Duration::from_secs(1));
    }
    sim.log
}

#[test]
fn two_runs_with_one_seed_give_the_same_log_to_the_nanosecond() {
    let (first, second) = (run(11), run(11));
    assert!(first.entries().len() > 200, "something happened");
    for (a, b) in first.entries().iter().zip(second.entries()) {
        assert_eq!(a, b);
    }
    assert_eq!(first, second);
}

#[test]
fn another_seed_gives_another_log() {
    assert_ne!(run(11), run(12));
}

#[test]
fn how_time_is_cut_into_calls_changes_nothing() {
    let one = {
        let mut sim = Simulation::new(&small_tree(), 13).unwrap();
        sim.run_for(Duration::from_secs(30));
        sim.log
    };
    let many = {
        let mut sim = Simulation::new(&small_tree(), 13).unwrap();
        for _ in 0..3000 {
            sim.run_for(Duration::from_millis(10));
        }
        sim.log
    };
    assert_eq!(one, many);
}
