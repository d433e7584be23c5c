//! Two ends and a line between them that loses, doubles and reorders; and peers that say anything.

use std::collections::BinaryHeap;

use proptest::prelude::*;

use super::*;

/// What a line does to a MAD.
#[derive(Debug, Clone, Copy)]
struct Line {
    loss: f64,
    duplicate: f64,
    jitter_ms: u64,
}

/// MADs under way, the next to arrive first.
struct Wire {
    line: Line,
    random: fastrand::Rng,
    under_way: BinaryHeap<core::cmp::Reverse<(Instant, u64, bool, Mad)>>,
    sent: u64,
}

impl Wire {
    fn send(&mut self, now: Instant, to_receiver: bool, mad: Mad) {
        if self.random.f64() < self.line.loss {
            return;
        }
        let copies = if self.random.f64() < self.line.duplicate {
            2
        } else {
            1
        };
        for _ in 0..copies {
            self.sent += 1;
            let delay = Duration::from_millis(1 + self.random.u64(0..=self.line.jitter_ms));
            self.under_way.push(core::cmp::Reverse((
                now + delay,
                self.sent,
                to_receiver,
                mad,
            )));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Every octet arrives exactly once and in order, and both ends agree; or both say why not.
    #[test]
    fn whatever_the_line_does(
        length in 0_usize..20_000,
        window in 1_u32..40,
        loss in 0.0_f64..0.4,
        duplicate in 0.0_f64..0.3,
        jitter_ms in 0_u64..60,
        seed: u64,
    ) {
        let limits = Limits { window, ..Limits::default() };
        let (mut sender, mut receiver) = (sender(length), receiver(limits));
        let line = Line { loss, duplicate, jitter_ms };
        let random = fastrand::Rng::with_seed(seed);
        let mut wire = Wire { line, random, under_way: BinaryHeap::new(), sent: 0 };
        let mut now = ms(0);
        let mut received = None;
        for step in 0.. {
            prop_assert!(step < 200_000, "comes to an end");
            while let Some(mad) = sender.poll_transmit(now) {
                wire.send(now, true, mad);
            }
            while let Some(mad) = receiver.poll_transmit() {
                wire.send(now, false, mad);
            }
            if let Some(outcome) = receiver.outcome() {
                prop_assert!(received.is_none(), "once");
                received = Some(outcome);
            }
            let arrival = wire.under_way.peek().map(|next| next.0.0);
            let timer = sender.poll_timeout().into_iter().chain(receiver.poll_timeout()).min();
            match (arrival, timer) {
                (Some(at), timer) if timer.is_none_or(|due| at <= due) => {
                    now = at;
                    let Some(core::cmp::Reverse((_, _, to_receiver, mad))) = wire.under_way.pop()
                    else { break };
                    if to_receiver {
                        receiver.handle_mad(now, &mad);
                    } else {
                        sender.handle_mad(now, &mad);
                    }
                }
                (_, Some(due)) => {
                    now = due;
                    sender.handle_timeout(now);
                    receiver.handle_timeout(now);
                }
                _ => break,
            }
        }
        let sent = sender.outcome().expect("over");
        match received.expect("over") {
            Ok(message) => prop_assert_eq!(message.data, payload(length)),
            Err(why) => {
                prop_assert!(sent.is_err(), "the receiver says {}, the sender all is well", why);
                prop_assert!(loss > 0.1, "{}", why);
            }
        }
    }

    /// No octets make either end panic, run on for ever, or keep more than it may.
    #[test]
    fn hostile_peers_are_survived(
        mads in prop::collection::vec((any::<[u8; 12]>(), 0_u8..4, 0_u8..12), 0..60),
    ) {
        let limits = Limits { message: 2000, window: 4, ..Limits::default() };
        let (mut sender, mut receiver) = (sender(5 * ROOM), receiver(limits));
        for (i, (octets, plausible, number)) in mads.into_iter().enumerate() {
            let mut mad = head();
            mad[RMPP..BODY].copy_from_slice(&octets);
            if plausible > 0 {
                mad = with(mad, |h| {
                    h.version = 1;
                    h.rmpp_type = RmppType::from_bits_truncate(octets[1] % 5);
                    h.flags.insert(RmppFlags::ACTIVE);
                    h.status = RmppStatus::NORMAL;
                    h.data1 = u32::from(number);
                    h.flags.set(RmppFlags::FIRST, number == 1);
                    if plausible > 1 {
                        h.data2 = u32::from(octets[11]);
                    }
                });
            }
            let now = ms(i as u64 * 50);
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
            sender.handle_mad(now, &mad);
            receiver.handle_mad(now, &mad);
            prop_assert!(core::iter::from_fn(|| sender.poll_transmit(now)).count() <= 6);
            prop_assert!(core::iter::from_fn(|| receiver.poll_transmit()).count() <= 2);
            prop_assert!(receiver.ahead.len() <= 4 && receiver.data.len() <= 2000);
        }
    }
}
