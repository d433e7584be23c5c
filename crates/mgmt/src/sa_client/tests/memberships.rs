//! Memberships in multicast groups, shared by the users of a port.

use softib_wire::addr::{QKey, Sl};
use softib_wire::units::Selector;

use super::*;

const MGID: Gid = Gid::new([
    0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
]);

fn asked_for(join_state: JoinState) -> McMemberRecord {
    McMemberRecord {
        mgid: MGID,
        port_gid: gid(1),
        pkey: PKey::DEFAULT_FULL,
        join_state,
        ..McMemberRecord::default()
    }
}

/// What the administrator makes of it.
fn granted(join_state: JoinState) -> McMemberRecord {
    McMemberRecord {
        qkey: QKey::new(0x0B1B),
        mlid: Lid::new(0xC000),
        mtu_selector: Selector::Exactly,
        mtu: Some(Mtu::B2048),
        rate_selector: Selector::Exactly,
        rate: Some(Rate::Gbps10),
        scope: 2,
        ..asked_for(join_state)
    }
}

pub(super) fn join(join_state: JoinState) -> SaRequest {
    SaRequest::Join {
        record: asked_for(join_state),
        mask: McMemberMask::IPOIB_BROADCAST.bits(),
    }
}

fn leave(join_state: JoinState) -> SaRequest {
    SaRequest::Leave {
        record: asked_for(join_state),
    }
}

impl Bench {
    /// A user joins, and the administrator grants it.
    fn joined(&mut self, user: UserId, join_state: JoinState) -> RequestId {
        let id = self.client.request(user, join(join_state));
        let asked = self.only();
        self.hand(&asked.response(&granted(join_state)));
        let want = Ok(SaReply::Member(granted(join_state)));
        assert_eq!(self.replies(), [(id, want)]);
        id
    }

    /// The one MAD to send is a Delete of these join states.
    fn leaves(&mut self, join_state: JoinState) -> SaMad {
        let mad = self.only();
        assert_eq!(mad.header.method, method::DELETE);
        assert_eq!(mad.component_mask, 0x1_0003);
        let record: McMemberRecord = mad.record().expect("sound");
        assert_eq!((record.mgid, record.port_gid), (MGID, gid(1)));
        assert_eq!(record.join_state, join_state);
        mad
    }
}

#[test]
fn join_and_leave() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, join(JoinState::FULL));
    let asked = bench.only();
    assert_eq!(
        (asked.header.method, asked.component_mask),
        (method::SET, 0x1_0083)
    );
    assert_eq!(asked.record(), Ok(asked_for(JoinState::FULL)));
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    let want = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(id, want)]);
    assert!(!bench.client.is_idle());

    let id = bench.client.request(USER, leave(JoinState::FULL));
    assert_eq!(
        bench.replies(),
        [(id, Ok(SaReply::Left))],
        "nobody has to wait for that"
    );
    let asked = bench.leaves(JoinState::FULL);
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    assert!(bench.client.is_idle() && bench.client.poll_timeout().is_none());
}

#[test]
fn a_join_is_asked_for_ten_times_within_three_seconds() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, join(JoinState::FULL));
    let times: Vec<Instant> = bench.wait().iter().map(|&(at, _)| at).collect();
    assert_eq!(times, (0..10).map(|i| ms(i * 300)).collect::<Vec<_>>());
    assert_eq!(bench.now, ms(3000));
    assert_eq!(bench.replies(), [(id, Err(SaError::Timeout))]);
    assert!(bench.client.is_idle());
}

#[test]
fn the_administrator_hears_of_the_first_and_of_the_last() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    let id = bench.client.request(OTHER, join(JoinState::FULL));
    assert_eq!(bench.sent(), None, "the port is a member");
    let want = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(id, want)]);

    bench.client.request(USER, leave(JoinState::FULL));
    bench.client.request(USER, leave(JoinState::FULL));
    assert_eq!(bench.sent(), None, "the other one stays");
    bench.client.request(OTHER, leave(JoinState::FULL));
    bench.leaves(JoinState::FULL);
}

#[test]
fn ways_of_being_a_member_are_counted_apart() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::SEND_ONLY_FULL);
    // Another user wants to receive, too.
    let id = bench.client.request(OTHER, join(JoinState::FULL));
    let asked = bench.only();
    let both = JoinState::FULL | JoinState::SEND_ONLY_FULL;
    bench.hand(&asked.response(&granted(both)));
    let want = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(id, want)], "what he asked for");
    bench.client.request(OTHER, leave(JoinState::FULL));
    let asked = bench.leaves(JoinState::FULL);
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    bench.client.request(USER, leave(JoinState::SEND_ONLY_FULL));
    bench.leaves(JoinState::SEND_ONLY_FULL);
}

#[test]
fn one_request_of_a_group_at_a_time() {
    let mut bench = Bench::new();
    let first = bench.client.request(USER, join(JoinState::FULL));
    let second = bench.client.request(OTHER, join(JoinState::FULL));
    let third = bench.client.request(OTHER, join(JoinState::NON));
    let asked = bench.only();
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    let full = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(first, full.clone()), (second, full)]);
    let asked = bench.only();
    assert_eq!(asked.record(), Ok(asked_for(JoinState::NON)));
    bench.hand(&asked.refusal(MadStatus::SA_REQUEST_INVALID));
    let refused = Err(SaError::Refused(MadStatus::SA_REQUEST_INVALID));
    assert_eq!(bench.replies(), [(third, refused)]);
    // The refusal does not touch the membership that there is.
    bench.client.request(USER, leave(JoinState::FULL));
    bench.client.request(OTHER, leave(JoinState::FULL));
    bench.leaves(JoinState::FULL);
}

#[test]
fn groups_do_not_wait_for_each_other() {
    // ipoib.md hard case 14.
    let mut bench = Bench::new();
    bench.client.request(USER, join(JoinState::FULL));
    let other = Gid::new([0xFF; 16]);
    let record = McMemberRecord {
        mgid: other,
        ..asked_for(JoinState::FULL)
    };
    bench
        .client
        .request(USER, SaRequest::Join { record, mask: 0 });
    bench.only_two();
}

#[test]
fn a_group_that_is_not_as_asked_is_refused() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    let mask = McMemberMask::IPOIB_GROUP.bits();
    let changes: [fn(&mut McMemberRecord); 9] = [
        |record| record.qkey = QKey::new(1),
        |record| record.mtu = Some(Mtu::B4096),
        |record| record.mtu_selector = Selector::Greater,
        |record| record.rate = Some(Rate::Gbps20),
        |record| record.rate_selector = Selector::Less,
        |record| record.sl = Sl::from_bits_truncate(1),
        |record| record.hop_limit = 1,
        |record| record.traffic_class = 1,
        |record| record.port_gid = gid(9),
    ];
    for change in changes {
        let mut record = granted(JoinState::FULL);
        change(&mut record);
        let id = bench
            .client
            .request(OTHER, SaRequest::Join { record, mask });
        assert_eq!(bench.replies(), [(id, Err(SaError::Mismatch))]);
    }
    let record = McMemberRecord {
        mtu_selector: Selector::Less,
        mtu: Some(Mtu::B4096),
        rate_selector: Selector::Greater,
        rate: Some(Rate::Gbps5), // A larger code, but a lower rate.
        ..granted(JoinState::FULL)
    };
    let id = bench
        .client
        .request(OTHER, SaRequest::Join { record, mask });
    let want = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(id, want)]);
    assert_eq!(bench.sent(), None);
}

#[test]
fn a_join_that_nobody_wants_any_more_is_left_again() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, join(JoinState::FULL));
    let asked = bench.only();
    bench.client.cancel(id);
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    assert_eq!(bench.replies(), []);
    bench.leaves(JoinState::FULL);
}

#[test]
fn a_join_that_waits_its_turn_can_be_cancelled() {
    let mut bench = Bench::new();
    let first = bench.client.request(USER, join(JoinState::FULL));
    let second = bench.client.request(OTHER, join(JoinState::NON));
    let asked = bench.only();
    bench.client.cancel(second);
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    assert_eq!(bench.replies()[0].0, first);
    assert_eq!(bench.sent(), None);
}

#[test]
fn leaving_while_others_join() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    bench.client.request(USER, leave(JoinState::FULL));
    let leaving = bench.leaves(JoinState::FULL);
    assert_eq!(bench.replies().len(), 1);
    // It must not be answered from a membership that is just being left.
    let id = bench.client.request(OTHER, join(JoinState::FULL));
    assert_eq!((bench.sent(), bench.replies()), (None, vec![]));
    bench.hand(&leaving.response(&granted(JoinState::FULL)));
    let asked = bench.only();
    assert_eq!(asked.header.method, method::SET);
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    assert_eq!(bench.replies()[0].0, id);
}

#[test]
fn leaving_is_tried_four_times() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    bench.client.request(USER, leave(JoinState::FULL));
    let sent = bench.wait();
    assert_eq!(sent.len(), 40);
    assert!(
        sent.iter()
            .all(|(_, mad)| mad.header.method == method::DELETE)
    );
    assert!(bench.client.is_idle());
    assert_eq!(bench.replies().len(), 1);

    // What is refused is not asked for again.
    bench.joined(USER, JoinState::FULL);
    bench.client.request(USER, leave(JoinState::FULL));
    let asked = bench.leaves(JoinState::FULL);
    bench.hand(&asked.refusal(MadStatus::SA_REQUEST_INVALID));
    assert!(bench.client.is_idle());
}

#[test]
fn when_the_administrator_forgot_all_start_anew() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    bench.joined_already(OTHER);
    let waiting = bench.client.request(OTHER, join(JoinState::NON));
    let asked = bench.only();
    bench.client.reset_memberships();
    // The join under way is asked for again, and the answer to the first no longer counts.
    let again = bench.only();
    assert_ne!(again.header.transaction_id, asked.header.transaction_id);
    bench.hand(&asked.response(&granted(JoinState::NON)));
    assert_eq!(bench.replies(), []);
    bench.hand(&again.response(&granted(JoinState::NON)));
    assert_eq!(bench.replies()[0].0, waiting);

    // One user is quick to join again. The other one leaves what he thinks that he has: that must
    // not end the membership of the first.
    bench.joined(USER, JoinState::FULL);
    bench.client.request(OTHER, leave(JoinState::FULL));
    assert_eq!(bench.sent(), None);
    bench.client.request(USER, leave(JoinState::FULL));
    bench.leaves(JoinState::FULL);
}

impl Bench {
    fn joined_already(&mut self, user: UserId) {
        self.client.request(user, join(JoinState::FULL));
        assert_eq!((self.replies().len(), self.sent()), (1, None));
    }
}

#[test]
fn a_user_that_is_gone_is_in_no_group() {
    let mut bench = Bench::new();
    bench.joined(USER, JoinState::FULL);
    bench.joined_already(OTHER);
    bench.client.request(USER, path(gid(2)));
    bench.client.request(USER, join(JoinState::NON));
    bench.only_two();
    bench.client.forget_user(USER);
    assert_eq!((bench.replies(), bench.sent()), (vec![], None));
    // The join under way times out; the other user is still a member.
    bench.wait();
    assert_eq!(bench.replies(), []);
    bench.client.forget_user(OTHER);
    bench.leaves(JoinState::FULL);
}

#[test]
fn what_the_administrator_grants_must_make_sense() {
    let changes: [fn(&mut McMemberRecord); 3] = [
        |record| record.mgid = Gid::new([0xFF; 16]),
        |record| record.mlid = Lid::new(9),
        |record| record.mlid = Lid::PERMISSIVE,
    ];
    for change in changes {
        let mut bench = Bench::new();
        let id = bench.client.request(USER, join(JoinState::FULL));
        let asked = bench.only();
        let mut record = granted(JoinState::FULL);
        change(&mut record);
        bench.hand(&asked.response(&record));
        assert_eq!(bench.replies(), [(id, Err(SaError::Malformed))]);
        bench.leaves(JoinState::FULL);
    }
}

#[test]
fn a_group_of_the_administrators_choice() {
    let mut bench = Bench::new();
    let record = McMemberRecord {
        mgid: Gid::NONE,
        ..asked_for(JoinState::FULL)
    };
    let request = SaRequest::Join { record, mask: 0 };
    let first = bench.client.request(USER, request.clone());
    let second = bench.client.request(OTHER, request);
    let asked = bench.only();
    bench.hand(&asked.response(&granted(JoinState::FULL)));
    let want = Ok(SaReply::Member(granted(JoinState::FULL)));
    assert_eq!(bench.replies(), [(first, want)]);
    // The second wants another one.
    let asked = bench.only();
    let other = McMemberRecord {
        mgid: Gid::new([0xFF; 16]),
        ..granted(JoinState::FULL)
    };
    bench.hand(&asked.response(&other));
    assert_eq!(bench.replies(), [(second, Ok(SaReply::Member(other)))]);

    bench.client.request(USER, leave(JoinState::FULL));
    bench.leaves(JoinState::FULL);
    bench
        .client
        .request(OTHER, SaRequest::Leave { record: other });
    assert_eq!(bench.only().record(), Ok(other));
}
