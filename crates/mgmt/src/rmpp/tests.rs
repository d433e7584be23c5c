//! The rules, one by one; [`line`] has two ends and a bad line between them.

mod line;

use softib_wire::addr::{Lid, Sl};
use softib_wire::mad::sa::SaMad;
use softib_wire::mad::{attribute, class};
use softib_wire::time::{Duration, Instant};

use super::*;
use crate::mad::Endpoint;

const ROOM: usize = SEGMENT_LEN - SA_CLASS_HEADER_LEN;
const PACE: Pace = Pace {
    timeout: Duration::from_millis(100),
    retries: 20,
    total: Duration::from_secs(60),
};

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// The head of a GetTableResp(PathRecord).
fn head() -> Mad {
    let header = MadHeader::request(
        class::SUBN_ADM,
        method::GET_TABLE_RESP,
        attribute::PATH_RECORD,
        0,
        42,
    );
    SaMad {
        header,
        rmpp: RmppHeader::NONE,
        sm_key: 0,
        attribute_offset: 8,
        component_mask: 0,
        data: [0; 200],
    }
    .to_bytes()
}

fn payload(length: usize) -> Vec<u8> {
    (0..=250).cycle().take(length).collect()
}

fn sender(length: usize) -> Sender {
    Sender::new(ms(0), &head(), SA_CLASS_HEADER_LEN, payload(length), PACE)
}

fn receiver(limits: Limits) -> Receiver {
    Receiver::new(ms(0), SA_CLASS_HEADER_LEN, limits)
}

/// A segment of a message of `total` segments, all full.
fn segment(number: u32, total: u32) -> Mad {
    let length = total as usize * ROOM;
    let mut sender = sender(length);
    sender.window_last = total;
    core::iter::from_fn(|| sender.poll_transmit(ms(0)))
        .nth(number as usize - 1)
        .expect("there is such a segment")
}

fn with(mut mad: Mad, change: impl FnOnce(&mut RmppHeader)) -> Mad {
    let mut header = header(&mad).expect("whole");
    change(&mut header);
    set_header(&mut mad, &header);
    mad
}

#[test]
fn segments_say_how_long_the_message_is() {
    for (length, segments, first, last) in [
        (0, 1, 20, 20),
        (1, 1, 21, 21),
        (200, 1, 220, 220),
        // 201 octets and two class headers; in the last segment one octet and its class header.
        (201, 2, 241, 21),
        (400, 2, 440, 220),
        // A table of six NodeRecords.
        (672, 4, 752, 92),
    ] {
        let mut sender = sender(length);
        sender.window_last = u32::MAX;
        let mads: Vec<Mad> = core::iter::from_fn(|| sender.poll_transmit(ms(0))).collect();
        assert_eq!(mads.len(), segments, "{length}");
        for (i, mad) in mads.iter().enumerate() {
            let header = header(mad).expect("whole");
            assert_eq!(header.rmpp_type, RmppType::DATA);
            assert_eq!(header.data1 as usize, i + 1);
            assert_eq!(header.flags.contains(RmppFlags::FIRST), i == 0);
            assert_eq!(header.flags.contains(RmppFlags::LAST), i + 1 == segments);
            assert_eq!(mad[..RMPP], head()[..RMPP]);
            assert_eq!(mad[BODY..BODY + 20], head()[BODY..BODY + 20]);
        }
        assert_eq!(header(&mads[0]).expect("whole").data2, first, "{length}");
        assert_eq!(
            header(&mads[segments - 1]).expect("whole").data2,
            last,
            "{length}"
        );
    }
}

#[test]
fn a_clean_line_needs_no_time_out() {
    let limits = Limits {
        window: 4,
        ..Limits::default()
    };
    let (mut sender, mut receiver) = (sender(10 * ROOM + 5), receiver(limits));
    let (mut segments, mut acks) = (0, 0);
    loop {
        while let Some(mad) = sender.poll_transmit(ms(0)) {
            segments += 1;
            receiver.handle_mad(ms(0), &mad);
        }
        let Some(mad) = receiver.poll_transmit() else {
            break;
        };
        acks += 1;
        // The response bit tells the ends apart (IBA 13.6.2).
        assert_eq!(mad[3], method::GET_TABLE);
        sender.handle_mad(ms(0), &mad);
    }
    // An ACK for the first, and then one a window.
    assert_eq!((segments, acks), (11, 4));
    assert_eq!(sender.outcome(), Some(Ok(())));
    let message = receiver.outcome().expect("over").expect("whole");
    assert_eq!(message.data, payload(10 * ROOM + 5));
    assert_eq!(message.first[..RMPP], head()[..RMPP]);
    assert!(receiver.outcome().is_none() && receiver.is_finished());
    assert_eq!(
        (sender.poll_timeout(), receiver.poll_timeout()),
        (None, None)
    );
}

#[test]
fn a_lost_last_ack_is_repeated() {
    let (mut sender, mut receiver) = (sender(10), receiver(Limits::default()));
    let mad = sender.poll_transmit(ms(0)).expect("the segment");
    receiver.handle_mad(ms(0), &mad);
    assert!(receiver.poll_transmit().is_some(), "lost");
    assert!(receiver.outcome().is_some());

    sender.handle_timeout(ms(100));
    let again = sender.poll_transmit(ms(100)).expect("again");
    receiver.handle_mad(ms(100), &again);
    let ack = receiver.poll_transmit().expect("again");
    assert!(
        receiver.outcome().is_none(),
        "the message is given out once"
    );
    sender.handle_mad(ms(100), &ack);
    assert_eq!(sender.outcome(), Some(Ok(())));
}

#[test]
fn a_receiver_that_says_nothing_is_given_up() {
    let mut sender = sender(10);
    let mut sent = 0;
    let mut now = ms(0);
    loop {
        while let Some(mad) = sender.poll_transmit(now) {
            sent += 1;
            if sender.outcome().is_some() {
                let header = header(&mad).expect("whole");
                assert_eq!(header.rmpp_type, RmppType::ABORT);
                assert_eq!(header.status, RmppStatus::TOO_MANY_RETRIES);
                assert_eq!(mad[3], method::GET_TABLE_RESP);
            }
        }
        let Some(next) = sender.poll_timeout() else {
            break;
        };
        now = next;
        sender.handle_timeout(now);
    }
    assert_eq!(sent, 1 + PACE.retries + 1);
    assert_eq!(
        sender.outcome(),
        Some(Err(RmppError::Silent(RmppStatus::TOO_MANY_RETRIES)))
    );
}

#[test]
fn a_sender_that_goes_silent_is_given_up() {
    let mut receiver = receiver(Limits::default());
    assert_eq!(receiver.poll_timeout(), Some(ms(10_000)));
    receiver.handle_mad(ms(5_000), &segment(1, 3));
    assert!(receiver.poll_transmit().is_some());
    receiver.handle_timeout(ms(14_999));
    assert!(!receiver.is_finished());
    receiver.handle_timeout(ms(15_000));
    assert_eq!(
        receiver.outcome(),
        Some(Err(RmppError::Silent(RmppStatus::TOTAL_TIME_TOO_LONG)))
    );
    let mad = receiver.poll_transmit().expect("says so");
    assert_eq!(
        header(&mad).expect("whole").status,
        RmppStatus::TOTAL_TIME_TOO_LONG
    );
}

#[test]
fn a_slow_transfer_is_given_up_though_both_ends_live() {
    let mut receiver = receiver(Limits::default());
    for second in 0..40 {
        receiver.handle_timeout(ms(second * 1000));
        receiver.handle_mad(ms(second * 1000), &segment(1, 3));
    }
    receiver.handle_timeout(ms(40_000));
    assert!(receiver.is_finished());
}

/// What each broken segment is answered with (IBA 13.6.2.3).
#[test]
fn broken_segments_end_the_transfer() {
    let cases: [(&str, Mad, RmppStatus); 8] = [
        (
            "version",
            with(segment(1, 3), |h| h.version = 2),
            RmppStatus::UNSUPPORTED_VERSION,
        ),
        (
            "type",
            with(segment(1, 3), |h| {
                h.rmpp_type = RmppType::from_bits_truncate(9);
            }),
            RmppStatus::BAD_TYPE,
        ),
        (
            "status",
            with(segment(1, 3), |h| h.status = RmppStatus::UNSPECIFIED),
            RmppStatus::ILLEGAL_STATUS,
        ),
        (
            "first segment without the flag",
            with(segment(1, 3), |h| h.flags.remove(RmppFlags::FIRST)),
            RmppStatus::INCONSISTENT_FIRST,
        ),
        (
            "another with it",
            with(segment(2, 3), |h| h.flags.insert(RmppFlags::FIRST)),
            RmppStatus::INCONSISTENT_FIRST,
        ),
        (
            "segment 0",
            with(segment(2, 3), |h| h.data1 = 0),
            RmppStatus::INCONSISTENT_FIRST,
        ),
        (
            "longer than a segment",
            with(segment(1, 1), |h| h.data2 = 221),
            RmppStatus::INCONSISTENT_LENGTH,
        ),
        (
            "shorter than its class header",
            with(segment(1, 1), |h| h.data2 = 19),
            RmppStatus::INCONSISTENT_LENGTH,
        ),
    ];
    for (what, mad, status) in cases {
        let mut receiver = receiver(Limits::default());
        receiver.handle_mad(ms(0), &mad);
        assert_eq!(
            receiver.outcome(),
            Some(Err(RmppError::Protocol(status))),
            "{what}"
        );
        let farewell = header(&receiver.poll_transmit().expect("says so")).expect("whole");
        assert_eq!(
            (farewell.rmpp_type, farewell.status),
            (RmppType::ABORT, status),
            "{what}"
        );
        assert!(receiver.poll_transmit().is_none());
        // Nothing revives it.
        receiver.handle_mad(ms(0), &segment(1, 3));
        assert!(
            receiver.poll_transmit().is_none() && receiver.outcome().is_none(),
            "{what}"
        );
    }
}

#[test]
fn the_whole_length_must_be_that_of_the_segments() {
    let mut receiver = receiver(Limits::default());
    receiver.handle_mad(ms(0), &with(segment(1, 2), |h| h.data2 += 1));
    receiver.handle_mad(ms(0), &segment(2, 2));
    let status = RmppStatus::INCONSISTENT_LENGTH;
    assert_eq!(receiver.outcome(), Some(Err(RmppError::Protocol(status))));

    // 0 says that it is not known.
    let mut receiver = self::receiver(Limits::default());
    receiver.handle_mad(ms(0), &with(segment(1, 2), |h| h.data2 = 0));
    receiver.handle_mad(ms(0), &segment(2, 2));
    assert!(receiver.outcome().expect("over").is_ok());
}

#[test]
fn nothing_comes_behind_the_last_segment() {
    let early = [1, 2, 4].map(|number| segment(number, 9));
    let last = with(segment(3, 9), |h| {
        h.flags.insert(RmppFlags::LAST);
        h.data2 = 220;
    });
    let status = RmppStatus::INCONSISTENT_LENGTH;

    let mut receiver = receiver(Limits::default());
    receiver.handle_mad(ms(0), &early[0]);
    receiver.handle_mad(ms(0), &early[2]);
    receiver.handle_mad(ms(0), &last);
    assert_eq!(receiver.outcome(), Some(Err(RmppError::Protocol(status))));

    let mut receiver = self::receiver(Limits::default());
    receiver.handle_mad(ms(0), &early[0]);
    receiver.handle_mad(ms(0), &last);
    receiver.handle_mad(ms(0), &early[2]);
    assert_eq!(receiver.outcome(), Some(Err(RmppError::Protocol(status))));
}

#[test]
fn a_long_message_is_stopped_as_soon_as_it_is_known_to_be() {
    let limits = Limits {
        message: 5 * ROOM,
        ..Limits::default()
    };
    let too_long = Some(Err(RmppError::TooLong { limit: 5 * ROOM }));

    let mut receiver = receiver(limits);
    receiver.handle_mad(ms(0), &segment(1, 6));
    assert_eq!(receiver.outcome(), too_long);
    let farewell = header(&receiver.poll_transmit().expect("says so")).expect("whole");
    assert_eq!(farewell.rmpp_type, RmppType::STOP);
    assert_eq!(farewell.status, RmppStatus::RESOURCES_EXHAUSTED);

    // One that does not say how long it is, or 4 GiB, is stopped when it is too long.
    let mut receiver = self::receiver(limits);
    receiver.handle_mad(ms(0), &with(segment(1, 9), |h| h.data2 = 0));
    for number in 2..=6 {
        assert!(!receiver.is_finished(), "{number}");
        receiver.handle_mad(ms(0), &segment(number, 9));
    }
    assert_eq!(receiver.outcome(), too_long);

    let mut receiver = self::receiver(limits);
    receiver.handle_mad(ms(0), &with(segment(1, 9), |h| h.data2 = u32::MAX));
    assert_eq!(receiver.outcome(), too_long);

    let mut receiver = self::receiver(limits);
    receiver.handle_mad(ms(0), &segment(1, 5));
    assert!(!receiver.is_finished());
}

#[test]
fn segments_beyond_the_window_are_not_kept() {
    let limits = Limits {
        window: 2,
        ..Limits::default()
    };
    let mut receiver = receiver(limits);
    // Before the first ACK the window is one segment.
    for number in [2, 3, 9, u32::MAX] {
        receiver.handle_mad(ms(0), &with(segment(2, 9), |h| h.data1 = number));
    }
    assert!(receiver.ahead.is_empty() && receiver.poll_transmit().is_none());
    receiver.handle_mad(ms(0), &segment(1, 9));
    let ack = header(&receiver.poll_transmit().expect("ACK")).expect("whole");
    assert_eq!((ack.data1, ack.data2), (1, 3));
    receiver.handle_mad(ms(0), &segment(3, 9));
    receiver.handle_mad(ms(0), &segment(4, 9));
    assert_eq!(receiver.ahead.len(), 1);
}

/// What each broken ACK is answered with (IBA 13.6.2.3).
#[test]
fn broken_acks_end_the_transfer() {
    let ack = |segment, window_last| {
        control(
            &head(),
            RmppType::ACK,
            RmppStatus::NORMAL,
            segment,
            window_last,
        )
    };
    let cases: [(&str, Mad, RmppStatus); 6] = [
        (
            "version",
            with(ack(0, 1), |h| h.version = 0),
            RmppStatus::UNSUPPORTED_VERSION,
        ),
        (
            "type",
            with(ack(0, 1), |h| h.rmpp_type = RmppType::NONE),
            RmppStatus::BAD_TYPE,
        ),
        (
            "status",
            with(ack(0, 1), |h| h.status = RmppStatus::from_bits_truncate(44)),
            RmppStatus::ILLEGAL_STATUS,
        ),
        ("never sent", ack(2, 10), RmppStatus::SEGMENT_TOO_BIG),
        (
            "never sent, far away",
            ack(u32::MAX, u32::MAX),
            RmppStatus::SEGMENT_TOO_BIG,
        ),
        ("window", ack(1, 0), RmppStatus::WINDOW_TOO_SMALL),
    ];
    for (what, mad, status) in cases {
        let mut sender = sender(3 * ROOM);
        assert!(sender.poll_transmit(ms(0)).is_some());
        sender.handle_mad(ms(0), &mad);
        assert_eq!(
            sender.outcome(),
            Some(Err(RmppError::Protocol(status))),
            "{what}"
        );
        let farewell = header(&sender.poll_transmit(ms(0)).expect("says so")).expect("whole");
        assert_eq!(
            (farewell.rmpp_type, farewell.status),
            (RmppType::ABORT, status),
            "{what}"
        );
        assert!(sender.poll_transmit(ms(0)).is_none() && sender.poll_timeout().is_none());
    }
}

#[test]
fn old_acks_change_nothing() {
    let ack = |segment, window_last| {
        control(
            &head(),
            RmppType::ACK,
            RmppStatus::NORMAL,
            segment,
            window_last,
        )
    };
    let mut sender = sender(9 * ROOM);
    assert!(sender.poll_transmit(ms(0)).is_some());
    sender.handle_mad(ms(0), &ack(1, 5));
    assert_eq!(
        core::iter::from_fn(|| sender.poll_transmit(ms(0))).count(),
        4
    );
    sender.handle_mad(ms(0), &ack(3, 5));
    for (segment, window_last) in [(1, 5), (0, 1), (3, 4), (2, 9)] {
        sender.handle_mad(ms(0), &ack(segment, window_last));
        assert_eq!((sender.acknowledged, sender.window_last), (3, 5));
    }
    sender.handle_timeout(ms(100));
    let again = sender.poll_transmit(ms(100)).expect("sent again");
    assert_eq!(
        header(&again).expect("whole").data1,
        4,
        "what is not acknowledged"
    );
}

#[test]
fn stop_and_abort_of_the_other_end_end_the_transfer() {
    let stop = control(
        &head(),
        RmppType::STOP,
        RmppStatus::RESOURCES_EXHAUSTED,
        0,
        0,
    );
    let abort = control(&head(), RmppType::ABORT, RmppStatus::UNSPECIFIED, 0, 0);
    let stopped = RmppError::Stopped(RmppStatus::RESOURCES_EXHAUSTED);
    let aborted = RmppError::Aborted(RmppStatus::UNSPECIFIED);
    for (mad, error) in [(stop, stopped), (abort, aborted)] {
        let mut sender = sender(3 * ROOM);
        sender.handle_mad(ms(0), &mad);
        assert_eq!(sender.outcome(), Some(Err(error)));
        assert!(sender.poll_transmit(ms(0)).is_none(), "no answer to it");

        let mut receiver = receiver(Limits::default());
        receiver.handle_mad(ms(0), &segment(1, 3));
        receiver.handle_mad(ms(0), &mad);
        assert_eq!(receiver.outcome(), Some(Err(error)));
        assert!(receiver.poll_transmit().is_none(), "no answer to it");
    }
}

#[test]
fn many_transfers_take_turns() {
    let peer = |lid: u16| Endpoint::gsi(Lid::new(lid), Sl::default());
    let mut senders = Senders::new(2, PACE);
    let start = |lid, senders: &mut Senders| {
        senders.start(
            ms(0),
            peer(lid),
            &head(),
            SA_CLASS_HEADER_LEN,
            payload(2 * ROOM),
        )
    };
    assert_eq!(start(1, &mut senders), Ok(()));
    assert_eq!(start(2, &mut senders), Ok(()));
    assert_eq!(start(2, &mut senders), Ok(()), "asked twice");
    assert_eq!(start(3, &mut senders), Err(TooManyTransfers { limit: 2 }));
    assert!(senders.is_under_way(&peer(1), &head()) && !senders.is_under_way(&peer(3), &head()));
    assert_eq!(senders.len(), 2);

    let sent: Vec<Lid> = core::iter::from_fn(|| senders.poll_transmit(ms(0)))
        .map(|(to, _)| to.lid)
        .collect();
    assert_eq!(sent, [Lid::new(1), Lid::new(2)]);
    for lid in [1, 2] {
        let ack = control(&head(), RmppType::ACK, RmppStatus::NORMAL, 1, 2);
        assert!(senders.handle_mad(ms(0), &peer(lid), &ack));
    }
    let sent: Vec<Lid> = core::iter::from_fn(|| senders.poll_transmit(ms(0)))
        .map(|(to, _)| to.lid)
        .collect();
    assert_eq!(sent, [Lid::new(1), Lid::new(2)]);

    let ack = control(&head(), RmppType::ACK, RmppStatus::NORMAL, 2, 2);
    assert!(senders.handle_mad(ms(0), &peer(2), &ack));
    assert!(senders.poll_transmit(ms(0)).is_none());
    let finished = senders.poll_finished().expect("one is over");
    assert_eq!(
        (finished.to, finished.transaction_id, finished.outcome),
        (peer(2), 42, Ok(()))
    );

    // An ACK from a stranger is about a transfer, but none of these.
    assert!(senders.handle_mad(ms(0), &peer(7), &ack));
    assert!(
        !senders.handle_mad(ms(0), &peer(1), &head()),
        "no transfer's"
    );
    assert_eq!(senders.poll_timeout(), Some(ms(100)));
    senders.handle_timeout(ms(100));
    assert_eq!(
        senders.poll_transmit(ms(100)).map(|(to, _)| to),
        Some(peer(1))
    );
}
