//! Multi-packet transfers: a peer that sends anything, and two honest ends on a bad line.

use std::collections::VecDeque;

use softib_mgmt::mad::Mad;
use softib_mgmt::rmpp::{Limits, Pace, Receiver, SA_CLASS_HEADER_LEN, SEGMENT_LEN, Sender};
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::rmpp::RmppHeader;
use softib_wire::mad::{MAD_LEN, attribute, class, method};
use softib_wire::time::{Duration, Instant};

const LIMITS: Limits = Limits {
    message: 4096,
    window: 4,
    idle: Duration::from_secs(2),
    total: Duration::from_secs(20),
};

/// More than either end has to say at a time.
const BURST_MAX: usize = 10_000;

/// The first octet says which of the two.
pub(crate) fn run(data: &[u8]) {
    match data.split_first() {
        Some((how, rest)) if how % 2 == 0 => hostile_peer(rest),
        Some((_, rest)) => bad_line(rest),
        None => {}
    }
}

/// Octets of what a hostile peer says at a time: an RMPP header, what is put right in it, and how
/// long it waits.
const SAID: usize = RmppHeader::LEN + 2;

/// Both ends survive any headers, and keep to their limits.
fn hostile_peer(data: &[u8]) {
    let mut now = Instant::ZERO;
    let mut receiver = Receiver::new(now, SA_CLASS_HEADER_LEN, LIMITS);
    let message = vec![3; 2000];
    let mut sender = Sender::new(now, &head(), SA_CLASS_HEADER_LEN, message, Pace::default());
    let mut outcomes = 0;
    for said in data.chunks_exact(SAID) {
        let mut mad = head();
        let header = &mut mad[MadHeader::LEN..MadHeader::LEN + RmppHeader::LEN];
        header.copy_from_slice(&said[..RmppHeader::LEN]);
        let right = said[RmppHeader::LEN];
        if right & 1 != 0 {
            // Version, type, the active flag and no status: what follows is read.
            header[0] = RmppHeader::VERSION;
            header[1] = 1 + header[1] % 4;
            header[2] |= 1;
            header[3] = 0;
        }
        if right & 2 != 0 {
            // Numbers that can be.
            header[4..7].fill(0);
            header[7] %= 16;
            header[8..10].fill(0);
            header[10] %= 2;
        }
        if right & 4 != 0 {
            let first = u8::from(header[7] == 1);
            header[2] = header[2] & !2 | first << 1;
        }
        receiver.handle_mad(now, &mad);
        sender.handle_mad(now, &mad);
        drain(|| receiver.poll_transmit());
        drain(|| sender.poll_transmit(now));
        if let Some(outcome) = receiver.outcome() {
            outcomes += 1;
            if let Ok(message) = outcome {
                assert!(message.data.len() <= LIMITS.message);
            }
        }
        now += Duration::from_millis(u64::from(said[RmppHeader::LEN + 1]) * 4);
        receiver.handle_timeout(now);
        sender.handle_timeout(now);
    }
    assert!(outcomes <= 1);
    // Left alone, both end.
    for end in [receiver.poll_timeout(), sender.poll_timeout()]
        .into_iter()
        .flatten()
    {
        assert!(end <= now + Pace::default().total);
    }
}

/// What arrives is what was sent. `data`: how much there is to send, and what becomes of each MAD.
fn bad_line(data: &[u8]) {
    let Some(([low, high], mut fates)) = data
        .split_first_chunk::<2>()
        .map(|(len, rest)| (*len, rest))
    else {
        return;
    };
    let len = usize::from(u16::from_le_bytes([low, high])) % LIMITS.message;
    let message: Vec<u8> = (0..len).map(|i| i.to_le_bytes()[0]).collect();
    let mut now = Instant::ZERO;
    let mut sender = Sender::new(
        now,
        &head(),
        SA_CLASS_HEADER_LEN,
        message.clone(),
        Pace::default(),
    );
    let mut receiver = Receiver::new(now, SA_CLASS_HEADER_LEN, LIMITS);
    let mut arrived = None;
    // Both directions share the line: to the receiver, or to the sender.
    let mut line: VecDeque<(bool, Mad)> = VecDeque::new();

    for _ in 0..BURST_MAX {
        line.extend(
            drain(|| sender.poll_transmit(now))
                .into_iter()
                .map(|mad| (true, mad)),
        );
        line.extend(
            drain(|| receiver.poll_transmit())
                .into_iter()
                .map(|mad| (false, mad)),
        );
        if let Some(outcome) = receiver.outcome() {
            assert!(arrived.is_none(), "a transfer ends once");
            arrived = Some(outcome);
        }
        let Some((to_receiver, mad)) = line.pop_front() else {
            let due = [sender.poll_timeout(), receiver.poll_timeout()];
            let Some(due) = due.into_iter().flatten().min() else {
                break;
            };
            assert!(due >= now, "time goes on");
            now = due;
            sender.handle_timeout(now);
            receiver.handle_timeout(now);
            continue;
        };
        let fate = fates.split_off_first().copied().unwrap_or(0xff);
        match fate {
            // Lost.
            0..64 => continue,
            // Late.
            64..96 => {
                line.push_back((to_receiver, mad));
                continue;
            }
            // Twice.
            96..128 => line.push_back((to_receiver, mad)),
            _ => {}
        }
        if to_receiver {
            receiver.handle_mad(now, &mad);
        } else {
            sender.handle_mad(now, &mad);
        }
    }
    assert!(
        receiver.is_finished() && sender.outcome().is_some(),
        "both ends come to an end"
    );
    if let Some(Ok(got)) = &arrived {
        assert!(
            got.data == message,
            "{} octets became {}",
            message.len(),
            got.data.len()
        );
        assert_eq!(got.first[..MadHeader::LEN], head()[..MadHeader::LEN]);
    }
    if sender.outcome() == Some(Ok(())) {
        assert!(
            matches!(arrived, Some(Ok(_))),
            "the sender was told so, but nothing arrived"
        );
    }
}

fn drain(poll: impl FnMut() -> Option<Mad>) -> Vec<Mad> {
    let mads: Vec<Mad> = std::iter::from_fn(poll).take(BURST_MAX).collect();
    assert!(mads.len() < BURST_MAX, "there is no end to what it says");
    mads
}

fn head() -> Mad {
    let mut mad = [0; MAD_LEN];
    MadHeader::request(
        class::SUBN_ADM,
        method::GET_TABLE,
        attribute::NODE_RECORD,
        0,
        77,
    )
    .emit(&mut mad);
    mad
}

/// Transfers of some lengths on lines of some badness, and the segments of a message.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let room = u16::try_from(SEGMENT_LEN - SA_CLASS_HEADER_LEN).unwrap_or(0);
    let mut seeds = Vec::new();
    for len in [0, 1, room - 1, room, room + 1, 5 * room, 4095] {
        let [low, high] = len.to_le_bytes();
        for fates in [
            &[][..],
            &[0xff; 20],
            &[0, 0xff, 0, 0xff],
            &[80; 10],
            &[100; 10],
            &[0; 40],
        ] {
            seeds.push([&[1, low, high][..], fates].concat());
        }
    }
    let mut segments = vec![0];
    for (number, flags, length) in [(1, 3, 0), (2, 1, 0), (3, 5, 100)] {
        segments.extend([1, 1, flags, 0, 0, 0, 0, number, 0, 0, 0, length, 1, 1]);
    }
    seeds.push(segments);
    seeds.push(
        [
            &[0][..],
            &[1, 2, 1, 0, 0, 0, 0, 1, 0, 0, 0, 4, 1, 1].repeat(5),
        ]
        .concat(),
    );
    seeds
}
