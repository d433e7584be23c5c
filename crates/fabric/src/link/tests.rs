use softib_wire::addr::Vl;
use softib_wire::time::Duration;

use super::*;
use crate::testing::{NOW, headers, packet, smp_headers};

fn link(impairment: Impairment) -> Link {
    let mut link = Link::new(LinkConfig {
        up: true,
        impairment,
        seed: 1,
        pool: Pool::new(),
    });
    while link.poll_event().is_some() {}
    link
}

fn numbered(number: u32) -> Frame {
    let mut payload = [0; 1000];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    packet(&headers(), &payload)
}

fn number(frame: &Frame) -> u32 {
    let payload = &frame.bytes()[28..];
    u32::from_be_bytes([payload[0], payload[1], payload[2], payload[3]])
}

/// Everything that arrives until nothing is under way any more, with when.
fn run(link: &mut Link) -> Vec<(Instant, End, Frame)> {
    let mut now = NOW;
    let mut out = Vec::new();
    loop {
        while let Some((end, frame)) = link.poll_deliver(now) {
            out.push((now, end, frame));
        }
        match link.poll_timeout() {
            Some(next) => now = next.max(now),
            None => return out,
        }
        link.handle_timeout(now);
    }
}

#[test]
fn an_ideal_link_hands_over_the_frame_itself() {
    let mut link = link(Impairment::default());
    let frame = numbered(1);
    let place = frame.bytes().as_ptr();
    link.send(NOW, End::A, frame);
    link.send(NOW, End::B, numbered(2));
    let (end, frame) = link.poll_deliver(NOW).unwrap();
    assert_eq!((end, frame.bytes().as_ptr()), (End::B, place));
    assert_eq!(link.poll_deliver(NOW).unwrap().0, End::A);
    assert!(link.poll_deliver(NOW).is_none());
    assert_eq!(link.counters(End::A).packets, 1);
    assert_eq!(link.poll_timeout(), None);
    assert!(link.poll_event().is_none());
}

#[test]
fn training() {
    let config = LinkConfig {
        up: false,
        impairment: Impairment::default(),
        seed: 1,
        pool: Pool::new(),
    };
    let mut link = Link::new(config);
    assert!(link.poll_event().is_none());
    let events = |link: &mut Link| -> Vec<(End, bool)> {
        std::iter::from_fn(|| link.poll_event())
            .filter_map(|(end, notice)| match notice {
                LinkNotice::Trained(up) => Some((end, up)),
                LinkNotice::Ready(_) => None,
            })
            .collect()
    };
    let (up, down) = (
        [(End::A, true), (End::B, true)],
        [(End::A, false), (End::B, false)],
    );
    link.set_up(true);
    assert_eq!(events(&mut link), up);
    let physical = |command| NodeEvent::Physical { port: 1, command };
    link.handle_event(NOW, End::A, &physical(PhysicalCommand::Retrain));
    assert_eq!(events(&mut link), [down, up].concat());
    link.handle_event(NOW, End::B, &physical(PhysicalCommand::Disable));
    assert_eq!(events(&mut link), down);
    link.handle_event(NOW, End::A, &physical(PhysicalCommand::Retrain));
    assert_eq!(events(&mut link), []);
    link.handle_event(NOW, End::B, &physical(PhysicalCommand::Enable));
    assert_eq!(events(&mut link), up);
    link.set_up(false);
    link.set_up(false);
    assert_eq!(events(&mut link), down);
}

#[test]
fn what_is_under_way_on_a_link_that_goes_down_is_lost() {
    let mut link = link(Impairment {
        delay: Duration::from_millis(1),
        ..Impairment::default()
    });
    link.send(NOW, End::A, numbered(1));
    link.set_up(false);
    link.send(NOW, End::A, numbered(2));
    link.set_up(true);
    assert!(run(&mut link).is_empty());
    assert_eq!(link.counters(End::A).drops.count(DropReason::LinkDown), 2);
}

/// IBA 7.9: a slow link loses nothing, however much is sent, and delivers in order and at its rate.
#[test]
fn a_slow_link_loses_nothing() {
    let rate = 8_000_000;
    let mut link = link(Impairment {
        rate: Some(rate),
        delay: Duration::from_millis(5),
        ..Impairment::default()
    });
    let count = 3000;
    for i in 0..count {
        link.send(NOW, End::A, numbered(i));
    }
    let arrived = run(&mut link);
    let numbers: Vec<_> = arrived.iter().map(|(_, _, frame)| number(frame)).collect();
    assert_eq!(numbers, (0..count).collect::<Vec<_>>());
    assert_eq!(link.counters(End::A).drops.total(), 0);
    // 1,034 octets a packet at a megabyte a second.
    let last = arrived.last().unwrap().0;
    let expected = Duration::from_micros(1034 * u64::from(count)) + Duration::from_millis(5);
    assert_eq!(last, NOW + expected);
}

/// A receiver that takes nothing stops the sender when the buffer is full, and nothing is lost.
#[test]
fn credits_stop_the_sender() {
    for impairment in [
        Impairment::default(),
        Impairment {
            rate: Some(1_000_000_000),
            ..Impairment::default()
        },
    ] {
        let mut link = link(impairment);
        let closed = NodeEvent::Flow {
            port: 1,
            open: VlMask(!1),
        };
        link.handle_event(NOW, End::B, &closed);
        let mut sent = 0;
        let mut now = NOW;
        let stopped = loop {
            link.send(now, End::A, numbered(sent));
            sent += 1;
            now += Duration::from_micros(10);
            link.handle_timeout(now);
            assert!(link.poll_deliver(now).is_none());
            if let Some((end, LinkNotice::Ready(ready))) = link.poll_event() {
                break (end, ready);
            }
            assert!(sent < 10_000);
        };
        assert_eq!(stopped, (End::A, VlMask(!1)));
        // Management has no flow control.
        link.send(now, End::A, packet(&smp_headers(), &[0; 256]));
        link.handle_timeout(now + Duration::from_secs(1));
        let (_, smp) = link.poll_deliver(now + Duration::from_secs(1)).unwrap();
        assert_eq!(smp.vl(), Vl::MANAGEMENT);

        link.handle_event(
            now,
            End::B,
            &NodeEvent::Flow {
                port: 1,
                open: VlMask::ALL,
            },
        );
        assert_eq!(run(&mut link).len(), sent as usize);
        let opened = std::iter::from_fn(|| link.poll_event()).last();
        assert_eq!(opened, Some((End::A, LinkNotice::Ready(VlMask::ALL))));
    }
}

/// A lane without credit does not hold up another.
#[test]
fn lanes_are_independent() {
    let mut link = link(Impairment {
        rate: Some(1_000_000_000),
        ..Impairment::default()
    });
    link.handle_event(
        NOW,
        End::B,
        &NodeEvent::Flow {
            port: 1,
            open: VlMask(!1),
        },
    );
    for i in 0..500 {
        link.send(NOW, End::A, numbered(i));
    }
    let mut other = numbered(1000);
    other.set_vl(Vl::from_bits_truncate(1));
    link.send(NOW, End::A, other);
    let later = NOW + Duration::from_secs(1);
    link.handle_timeout(later);
    assert_eq!(number(&link.poll_deliver(later).unwrap().1), 1000);
    assert!(link.poll_deliver(later).is_none());
}

#[test]
fn loss_is_as_told_and_repeats_with_its_seed() {
    let lossy = Impairment {
        loss: 0.1,
        ..Impairment::default()
    };
    let arrived = || {
        let mut link = link(lossy);
        for i in 0..10_000 {
            link.send(NOW, End::A, numbered(i));
        }
        let numbers: Vec<_> = run(&mut link)
            .iter()
            .map(|(_, _, frame)| number(frame))
            .collect();
        let lost = link.counters(End::A).drops.count(DropReason::LinkLoss);
        assert_eq!(numbers.len() as u64 + lost, 10_000);
        numbers
    };
    let numbers = arrived();
    assert!((8_800..9_200).contains(&numbers.len()), "{}", numbers.len());
    assert!(numbers.is_sorted(), "in order nevertheless");
    assert_eq!(arrived(), numbers);
}

/// Every turned bit is found by the VCRC.
#[test]
fn corruption_is_found() {
    let mut link = link(Impairment {
        corrupt: 1.0,
        ..Impairment::default()
    });
    for i in 0..100 {
        link.send(NOW, End::A, numbered(i));
    }
    for (_, _, mut frame) in run(&mut link) {
        assert_eq!(frame.check_link_crc(), Err(DropReason::VcrcError));
    }
    assert_eq!(link.counters(End::A).corrupted, 100);
}

#[test]
fn duplicates_and_overtaking() {
    let mut twice = link(Impairment {
        duplicate: 1.0,
        ..Impairment::default()
    });
    // More than a buffer of credit: copies have none of their own.
    for i in 0..1000 {
        twice.send(NOW, End::A, numbered(i));
    }
    let numbers: Vec<_> = run(&mut twice)
        .iter()
        .map(|(_, _, frame)| number(frame))
        .collect();
    assert_eq!(numbers, (0..1000).flat_map(|i| [i, i]).collect::<Vec<_>>());

    let mut mixed = link(Impairment {
        reorder: 0.2,
        ..Impairment::default()
    });
    for i in 0..50 {
        mixed.send(NOW, End::A, numbered(i));
    }
    let mut numbers: Vec<_> = run(&mut mixed)
        .iter()
        .map(|(_, _, frame)| number(frame))
        .collect();
    assert!(!numbers.is_sorted());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..50).collect::<Vec<_>>());
    assert!(mixed.counters(End::A).reordered > 0);
}

#[test]
fn jitter_delays_and_keeps_order() {
    let (delay, jitter) = (Duration::from_millis(2), Duration::from_millis(1));
    let mut link = link(Impairment {
        delay,
        jitter,
        ..Impairment::default()
    });
    for i in 0..100 {
        link.send(NOW, End::B, numbered(i));
    }
    let arrived = run(&mut link);
    assert!(arrived.iter().all(|(at, end, _)| {
        *end == End::A && (NOW + delay..=NOW + delay + jitter).contains(at)
    }));
    assert!(
        arrived
            .iter()
            .map(|(_, _, frame)| number(frame))
            .is_sorted()
    );
    assert!(arrived[0].0 < arrived[99].0);
}

/// When a link is told to be another, nothing is lost and nothing overtakes.
#[test]
fn changing_the_impairment_under_way() {
    let slow = Impairment {
        rate: Some(1_000_000),
        delay: Duration::from_millis(10),
        ..Impairment::default()
    };
    let mut link = link(slow);
    for i in 0..300 {
        link.send(NOW, End::A, numbered(i));
    }
    link.handle_timeout(NOW + Duration::from_millis(100));
    link.set_impairment(Impairment::default());
    for i in 300..310 {
        link.send(NOW, End::A, numbered(i));
    }
    let numbers: Vec<_> = run(&mut link)
        .iter()
        .map(|(_, _, frame)| number(frame))
        .collect();
    assert_eq!(numbers, (0..310).collect::<Vec<_>>());
    link.set_impairment(slow);
    for i in 0..300 {
        link.send(NOW, End::A, numbered(i));
    }
    assert_eq!(run(&mut link).len(), 300);
}
