//! Answers longer than one MAD.

use softib_wire::mad::rmpp::{RmppStatus, RmppType};

use super::*;
use crate::rmpp::{self, Pace, Sender};

pub(super) fn request() -> SaRequest {
    SaRequest::Table {
        attribute_id: attribute::NODE_RECORD,
        record: vec![0xAA; 4],
        mask: 1,
    }
}

/// An administrator that sends so many octets of records.
fn administrator(asked: &SaMad, length: usize, attribute_offset: u16) -> Sender {
    let head = SaMad {
        attribute_offset,
        ..asked.refusal(MadStatus::OK)
    };
    let data = (0..=u8::MAX).cycle().take(length).collect();
    Sender::new(
        ms(0),
        &head.to_bytes(),
        SA_CLASS_HEADER_LEN,
        data,
        Pace::default(),
    )
}

/// Carries MADs between both until neither has anything to say.
fn talk(bench: &mut Bench, administrator: &mut Sender) {
    loop {
        let mut idle = true;
        while let Some(mad) = administrator.poll_transmit(bench.now) {
            bench.client.handle_mad(bench.now, &admin(), &mad);
            idle = false;
        }
        while let Some((to, mad)) = bench.client.poll_transmit(bench.now) {
            assert_eq!(to, admin());
            administrator.handle_mad(bench.now, &mad);
            idle = false;
        }
        if idle {
            return;
        }
    }
}

#[test]
fn six_records_in_four_segments() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, request());
    let asked = bench.only();
    assert_eq!(
        (asked.header.method, asked.component_mask),
        (method::GET_TABLE, 1)
    );
    assert_eq!((asked.data[3], asked.data[4]), (0xAA, 0));
    let mut administrator = administrator(&asked, 6 * 112, 14);
    talk(&mut bench, &mut administrator);
    assert_eq!(administrator.outcome(), Some(Ok(())));
    let replies = bench.replies();
    let [(replied, Ok(SaReply::Records(records)))] = &replies[..] else {
        panic!("other replies: {replies:?}");
    };
    assert_eq!(*replied, id);
    let records: Vec<&[u8]> = records.iter().collect();
    assert_eq!(records.len(), 6);
    assert!(records.iter().all(|record| record.len() == 112));
    assert_eq!(records[1][0], 112);
    assert!(bench.client.is_idle() && bench.client.poll_timeout().is_none());
}

#[test]
fn no_records() {
    let mut bench = Bench::new();
    bench.client.request(USER, request());
    let asked = bench.only();
    talk(&mut bench, &mut administrator(&asked, 0, 0));
    let replies = bench.replies();
    let [(_, Ok(SaReply::Records(records)))] = &replies[..] else {
        panic!("other replies: {replies:?}");
    };
    assert_eq!(records.iter().count(), 0);
}

#[test]
fn a_last_ack_that_was_lost_is_repeated() {
    let mut bench = Bench::new();
    bench.client.request(USER, request());
    let asked = bench.only();
    let mut administrator = administrator(&asked, 100, 14);
    let mad = administrator.poll_transmit(ms(0)).expect("a segment");
    bench.client.handle_mad(ms(0), &admin(), &mad);
    assert!(bench.sent().is_some(), "lost");
    assert_eq!(bench.replies().len(), 1);
    bench.now = ms(250);
    administrator.handle_timeout(bench.now);
    talk(&mut bench, &mut administrator);
    assert_eq!(administrator.outcome(), Some(Ok(())));
    assert_eq!(bench.replies(), []);

    // Some time later it is forgotten.
    bench.client.handle_mad(ms(11_000), &admin(), &mad);
    assert_eq!(bench.sent(), None);
    assert_eq!(
        bench.client.drops().count(SaClientDrop::UnknownTransaction),
        1
    );
}

#[test]
fn an_administrator_that_goes_silent() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, request());
    let asked = bench.only();
    let mad = administrator(&asked, 1000, 14)
        .poll_transmit(ms(0))
        .expect("a segment");
    bench.client.handle_mad(ms(0), &admin(), &mad);
    assert!(bench.sent().is_some());
    let sent = bench.wait();
    assert_eq!(bench.now, ms(10_000));
    assert_eq!(
        sent.len(),
        1,
        "it is not asked again while an answer arrives"
    );
    assert_eq!(sent[0].1.rmpp.rmpp_type, RmppType::ABORT);
    assert_eq!(bench.replies(), [(id, Err(SaError::Timeout))]);
    assert!(bench.client.is_idle());
}

#[test]
fn an_administrator_that_breaks_the_rules() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, request());
    let asked = bench.only();
    let mut mad = administrator(&asked, 1000, 14)
        .poll_transmit(ms(0))
        .expect("a segment");
    mad[24] = 2; // RMPP version.
    bench.client.handle_mad(ms(0), &admin(), &mad);
    assert_eq!(bench.only().rmpp.status, RmppStatus::UNSUPPORTED_VERSION);
    let error = rmpp::RmppError::Protocol(RmppStatus::UNSUPPORTED_VERSION);
    assert_eq!(bench.replies(), [(id, Err(SaError::Transfer(error)))]);
    assert!(bench.client.is_idle());
}

#[test]
fn records_without_a_size() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, request());
    let asked = bench.only();
    talk(&mut bench, &mut administrator(&asked, 1000, 0));
    assert_eq!(bench.replies(), [(id, Err(SaError::Malformed))]);
}

#[test]
fn a_table_that_is_refused_or_is_none() {
    let mut bench = Bench::new();
    let refused = bench.client.request(USER, request());
    let asked = bench.only();
    bench.hand(&asked.refusal(MadStatus::SA_NO_RECORDS));
    let strange = bench.client.request(USER, request());
    let asked = bench.only();
    bench.hand(&asked.refusal(MadStatus::OK));
    assert_eq!(
        bench.replies(),
        [
            (refused, Err(SaError::Refused(MadStatus::SA_NO_RECORDS))),
            (strange, Err(SaError::Malformed)),
        ]
    );
}

#[test]
fn a_cancelled_table_is_forgotten() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, request());
    let asked = bench.only();
    let mut administrator = administrator(&asked, 1000, 14);
    let mad = administrator.poll_transmit(ms(0)).expect("a segment");
    bench.client.handle_mad(ms(0), &admin(), &mad);
    assert!(bench.sent().is_some());
    bench.client.cancel(id);
    assert!(bench.client.is_idle() && bench.client.poll_timeout().is_none());
    talk(&mut bench, &mut administrator);
    assert_eq!(bench.replies(), []);
}
