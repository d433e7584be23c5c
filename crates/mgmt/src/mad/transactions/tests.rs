use softib_wire::addr::{Lid, MKey, Sl};
use softib_wire::mad::smp::LidSmp;
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::{attribute, method};

use super::*;
use crate::mad::Endpoint;

const RETRY: Retry = Retry {
    timeout: Duration::from_millis(100),
    attempts: 3,
};

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn to(lid: u16) -> Endpoint {
    Endpoint::smi(Lid::new(lid), Sl::default())
}

fn get(attribute_id: u16) -> Mad {
    LidSmp::request(method::GET, attribute_id, 0, 0, MKey::NONE).to_bytes()
}

fn answer_to(mad: &Mad) -> Mad {
    let request = LidSmp::parse(mad).expect("whole");
    request.response_to(MadStatus::OK).to_bytes()
}

fn transactions(max_outstanding: usize) -> Transactions<Endpoint, &'static str> {
    Transactions::new(0xABCD, RETRY, max_outstanding)
}

#[test]
fn an_answer_finds_its_request() {
    let mut t = transactions(8);
    t.send(to(1), get(attribute::NODE_INFO), "first");
    t.send(to(2), get(attribute::NODE_INFO), "second");
    let (_, first) = t.poll_transmit(ms(0)).expect("a request");
    let (destination, second) = t.poll_transmit(ms(0)).expect("a request");
    assert_eq!(destination, to(2));
    assert_ne!(first[8..16], second[8..16]);
    assert_eq!(first[8..12], 0xABCD_u32.to_be_bytes());

    let answer = answer_to(&second);
    let found = t.handle_response(&answer, |destination| *destination == to(2));
    assert_eq!(found.expect("known").1, "second");
    assert!(t.handle_response(&answer, |_| true).is_none(), "only once");
    assert_eq!(t.len(), 1);
}

#[test]
fn what_answers_another_question_is_no_answer() {
    let mut t = transactions(8);
    t.send(to(1), get(attribute::NODE_INFO), "");
    let (_, request) = t.poll_transmit(ms(0)).expect("a request");
    let answer = answer_to(&request);

    assert!(t.handle_response(&request, |_| true).is_none(), "no answer");
    assert!(
        t.handle_response(&answer, |_| false).is_none(),
        "from elsewhere"
    );
    for (octet, what) in [
        (1, "class"),
        (3, "method"),
        (8, "owner"),
        (15, "transaction"),
        (17, "attribute"),
    ] {
        let mut other = answer;
        other[octet] ^= 0x10;
        assert!(t.handle_response(&other, |_| true).is_none(), "{what}");
    }
    assert!(t.handle_response(&answer, |_| true).is_some());
}

#[test]
fn it_is_asked_as_often_as_said() {
    let mut t = transactions(8);
    let id = t.send(to(1), get(attribute::NODE_INFO), "mine");
    let mut sent = Vec::new();
    let mut now = ms(0);
    loop {
        t.handle_timeout(now);
        while let Some((_, mad)) = t.poll_transmit(now) {
            sent.push((now, mad));
        }
        match t.poll_timeout() {
            Some(next) => now = next,
            None => break,
        }
    }
    let times: Vec<Instant> = sent.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [ms(0), ms(100), ms(200)]);
    assert!(
        sent.iter().all(|(_, mad)| *mad == sent[0].1),
        "same ID each time"
    );
    assert_eq!(now, ms(300));
    let expired = t.poll_expired().expect("given up");
    assert_eq!((expired.id, expired.context), (id, "mine"));
    assert!(t.is_empty() && t.poll_expired().is_none());
}

#[test]
fn no_more_are_under_way_than_may_be() {
    let mut t = transactions(2);
    for _ in 0..5 {
        t.send(to(1), get(attribute::NODE_INFO), "");
    }
    let (_, first) = t.poll_transmit(ms(0)).expect("one");
    assert!(t.poll_transmit(ms(0)).is_some());
    assert!(t.poll_transmit(ms(0)).is_none());
    assert_eq!((t.outstanding(), t.len()), (2, 5));
    assert!(t.handle_response(&answer_to(&first), |_| true).is_some());
    assert!(t.poll_transmit(ms(0)).is_some());
    assert!(t.poll_transmit(ms(0)).is_none());
}

#[test]
fn a_late_answer_to_a_request_that_waits_to_be_sent_again_counts() {
    let mut t = transactions(8);
    t.send(to(1), get(attribute::NODE_INFO), "");
    let (_, request) = t.poll_transmit(ms(0)).expect("a request");
    t.handle_timeout(ms(100));
    assert!(t.handle_response(&answer_to(&request), |_| true).is_some());
    assert!(t.poll_transmit(ms(100)).is_none());
    assert!(t.is_empty() && t.poll_timeout().is_none());
}

#[test]
fn what_was_sent_before_is_sent_again_before_what_is_new() {
    let mut t = transactions(8);
    for lid in 1..=3 {
        t.send(to(lid), get(attribute::NODE_INFO), "");
        t.poll_transmit(ms(0));
    }
    t.send(to(4), get(attribute::NODE_INFO), "");
    t.handle_timeout(ms(100));
    let order: Vec<Endpoint> =
        core::iter::from_fn(|| t.poll_transmit(ms(100)).map(|(to, _)| to)).collect();
    assert_eq!(order, [to(1), to(2), to(3), to(4)]);
}

#[test]
fn what_is_cancelled_is_forgotten() {
    let mut t = transactions(1);
    let sent = t.send(to(1), get(attribute::NODE_INFO), "sent");
    let queued = t.send(to(1), get(attribute::NODE_INFO), "queued");
    let (_, request) = t.poll_transmit(ms(0)).expect("a request");
    assert_eq!(t.cancel(queued), Some("queued"));
    assert_eq!(t.cancel(sent), Some("sent"));
    assert_eq!(t.cancel(sent), None);
    assert!(t.handle_response(&answer_to(&request), |_| true).is_none());
    assert!(t.poll_transmit(ms(0)).is_none() && t.poll_timeout().is_none());

    t.send(to(1), get(attribute::NODE_INFO), "a");
    t.send(to(1), get(attribute::NODE_INFO), "b");
    assert_eq!(t.cancel_all().collect::<Vec<_>>(), ["a", "b"]);
    assert!(t.is_empty() && t.poll_transmit(ms(0)).is_none());
}

#[test]
fn an_answer_that_has_begun_to_arrive_is_waited_for() {
    let mut t = transactions(8);
    let id = t.send(to(1), get(attribute::NODE_INFO), "");
    t.poll_transmit(ms(0));
    t.extend(id, ms(5000));
    assert_eq!(t.poll_timeout(), Some(ms(5000)));
    t.handle_timeout(ms(4999));
    assert!(t.poll_transmit(ms(4999)).is_none() && t.poll_expired().is_none());
    t.handle_timeout(ms(5000));
    assert!(t.poll_transmit(ms(5000)).is_none(), "is not asked again");
    assert!(t.poll_expired().is_some());
}

#[test]
fn ids_come_round() {
    let mut t = transactions(8);
    let early = t.send(to(1), get(attribute::NODE_INFO), "");
    t.next = u32::MAX;
    let last = t.send(to(1), get(attribute::NODE_INFO), "");
    let next = t.send(to(1), get(attribute::NODE_INFO), "");
    assert_eq!(t.transaction_id(early), 0xABCD_0000_0001);
    assert_eq!(t.transaction_id(last), 0xABCD_FFFF_FFFF);
    assert_eq!(
        t.transaction_id(next),
        0xABCD_0000_0002,
        "0 and those in use are left out"
    );
}
