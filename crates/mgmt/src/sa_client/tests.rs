//! The client in front of an administrator that answers as the test says.

mod memberships;
mod tables;

use proptest::prelude::*;
use softib_wire::addr::{Guid, PKey};
use softib_wire::mad::notice::Notice;
use softib_wire::mad::notice::details::{Details, GidDetails};
use softib_wire::mad::sa::{InformInfo, JoinState, McMemberRecord, ServiceRecord};
use softib_wire::units::{Mtu, Rate};

use super::*;

const ADMIN: Lid = Lid::new(1);
const USER: UserId = UserId(1);
const OTHER: UserId = UserId(2);

fn ms(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn admin() -> Endpoint {
    Endpoint::gsi(ADMIN, Sl::default())
}

fn gid(number: u64) -> Gid {
    Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(number))
}

fn path(dgid: Gid) -> SaRequest {
    SaRequest::Path {
        sgid: gid(1),
        dgid,
        pkey: PKey::DEFAULT_FULL,
        traffic_class: 3,
    }
}

/// A client and the time.
struct Bench {
    client: SaClient,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let mut client = SaClient::new(0x77);
        client.set_sm(ADMIN, Sl::default());
        Self { client, now: ms(0) }
    }

    fn sent(&mut self) -> Option<SaMad> {
        let (to, mad) = self.client.poll_transmit(self.now)?;
        assert_eq!(to, admin());
        Some(SaMad::parse(&mad).expect("whole"))
    }

    /// The one MAD that there is to send.
    fn only(&mut self) -> SaMad {
        let mad = self.sent().expect("a MAD");
        assert_eq!(self.sent(), None);
        mad
    }

    fn hand(&mut self, mad: &SaMad) {
        self.client.handle_mad(self.now, &admin(), &mad.to_bytes());
    }

    /// Runs the clock until nothing is left to wait for, and counts what is sent.
    fn wait(&mut self) -> Vec<(Instant, SaMad)> {
        let mut sent = Vec::new();
        loop {
            while let Some(mad) = self.sent() {
                sent.push((self.now, mad));
            }
            let Some(due) = self.client.poll_timeout() else {
                return sent;
            };
            self.now = due;
            self.client.handle_timeout(due);
        }
    }

    fn replies(&mut self) -> Vec<(RequestId, Result<SaReply, SaError>)> {
        core::iter::from_fn(|| self.client.poll_reply()).collect()
    }
}

#[test]
fn a_path_is_asked_for_as_linux_does() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    assert_eq!(
        (asked.header.method, asked.header.attribute_id),
        (method::GET, attribute::PATH_RECORD)
    );
    assert_eq!(asked.header.class_version, 2);
    assert_eq!(asked.component_mask, 0x340C);
    let record: PathRecord = asked.record().expect("sound");
    assert_eq!((record.sgid, record.dgid), (gid(1), gid(2)));
    assert_eq!((record.path_count, record.traffic_class), (1, 3));
    assert_eq!(record.pkey, PKey::DEFAULT_FULL);

    let found = PathRecord {
        dlid: Lid::new(9),
        mtu: Some(Mtu::B2048),
        rate: Some(Rate::Gbps100),
        ..record
    };
    bench.hand(&asked.response(&found));
    assert_eq!(bench.replies(), [(id, Ok(SaReply::Path(found)))]);
    assert!(bench.client.is_idle() && bench.client.poll_timeout().is_none());
    bench.hand(&asked.response(&found));
    assert_eq!(
        bench.client.drops().count(SaClientDrop::UnknownTransaction),
        1
    );
}

#[test]
fn a_path_is_asked_for_ten_times_within_a_second() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let sent = bench.wait();
    let times: Vec<Instant> = sent.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, (0..10).map(|i| ms(i * 100)).collect::<Vec<_>>());
    assert_eq!(bench.now, ms(1000));
    assert_eq!(bench.replies(), [(id, Err(SaError::Timeout))]);
}

#[test]
fn a_refusal_says_why() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    bench.hand(&asked.refusal(MadStatus::SA_NO_RECORDS));
    let error = SaError::Refused(MadStatus::SA_NO_RECORDS);
    assert_eq!(bench.replies(), [(id, Err(error))]);
    assert_eq!(error.status(), Some(MadStatus::SA_NO_RECORDS));
    let text = "the subnet administrator refused: no records (status 0x0300)";
    assert_eq!(error.to_string(), text);
}

#[test]
fn a_busy_administrator_is_asked_again() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    bench.hand(&asked.refusal(MadStatus::BUSY));
    assert_eq!(bench.replies(), []);
    assert_eq!(bench.client.drops().count(SaClientDrop::Busy), 1);
    bench.now = ms(100);
    bench.client.handle_timeout(bench.now);
    let again = bench.only();
    bench.hand(&again.response(&PathRecord::default()));
    assert_eq!(
        bench.replies(),
        [(id, Ok(SaReply::Path(PathRecord::default())))]
    );
}

#[test]
fn nobody_else_can_answer() {
    let mut bench = Bench::new();
    bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    let answer = asked.response(&PathRecord::default());
    let strangers = [
        Endpoint::gsi(Lid::new(2), Sl::default()),
        Endpoint {
            qpn: softib_wire::addr::Qpn::from_bits_truncate(5),
            ..admin()
        },
    ];
    for from in strangers {
        bench.client.handle_mad(ms(0), &from, &answer.to_bytes());
    }
    let mut other = answer;
    other.header.transaction_id ^= 1 << 32;
    bench.hand(&other);
    let mut other = answer;
    other.header.attribute_id = attribute::MC_MEMBER_RECORD;
    bench.hand(&other);
    assert_eq!(
        bench.client.drops().count(SaClientDrop::UnknownTransaction),
        4
    );
    let mut other = answer;
    other.header.class_version = 1;
    bench.hand(&other);
    assert_eq!(bench.client.drops().count(SaClientDrop::WrongClass), 1);
    bench.hand(&asked);
    assert_eq!(bench.client.drops().count(SaClientDrop::NotForClients), 1);
    assert_eq!(bench.replies(), []);
    bench.hand(&answer);
    assert_eq!(bench.replies().len(), 1);
}

#[test]
fn an_answer_without_sense_is_an_error() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let mut answer = bench.only().response(&PathRecord::default());
    answer.data[54] = 0x3F; // MTU code 63.
    bench.hand(&answer);
    assert_eq!(bench.replies(), [(id, Err(SaError::Malformed))]);
}

#[test]
fn without_a_manager_there_is_nobody_to_ask() {
    let mut bench = Bench::new();
    let waiting = bench.client.request(USER, path(gid(2)));
    let joining = bench
        .client
        .request(USER, memberships::join(JoinState::FULL));
    bench.only_two();
    bench.client.set_sm(Lid::NONE, Sl::default());
    let asked = bench.client.request(USER, path(gid(3)));
    let none = Err(SaError::NoSubnetManager);
    assert_eq!(
        bench.replies(),
        [
            (waiting, none.clone()),
            (joining, none.clone()),
            (asked, none)
        ]
    );
    assert!(bench.client.is_idle());
    assert_eq!((bench.sent(), bench.client.poll_timeout()), (None, None));
}

impl Bench {
    fn only_two(&mut self) {
        assert!(self.sent().is_some() && self.sent().is_some());
        assert_eq!(self.sent(), None);
    }
}

#[test]
fn a_new_manager_is_asked_what_the_old_one_did_not_answer() {
    let mut bench = Bench::new();
    let id = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    bench.client.set_sm(Lid::new(40), Sl::from_bits_truncate(2));
    bench.hand(&asked.response(&PathRecord::default()));
    assert_eq!(bench.replies(), [], "the old one no longer counts");
    bench.client.handle_timeout(ms(100));
    let (to, mad) = bench.client.poll_transmit(ms(100)).expect("again");
    assert_eq!(to, Endpoint::gsi(Lid::new(40), Sl::from_bits_truncate(2)));
    let answer = SaMad::parse(&mad)
        .expect("whole")
        .response(&PathRecord::default());
    bench.client.handle_mad(ms(100), &to, &answer.to_bytes());
    assert_eq!(bench.replies()[0].0, id);
}

#[test]
fn what_is_cancelled_is_not_answered() {
    let mut bench = Bench::new();
    let unsent = bench.client.request(USER, path(gid(2)));
    bench.client.cancel(unsent);
    assert_eq!(bench.sent(), None);
    let sent = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    bench.client.cancel(sent);
    bench.hand(&asked.response(&PathRecord::default()));
    let answered = bench.client.request(USER, path(gid(2)));
    let asked = bench.only();
    bench.hand(&asked.response(&PathRecord::default()));
    bench.client.cancel(answered);
    assert_eq!(bench.replies(), []);
    assert!(bench.client.is_idle() && bench.client.poll_timeout().is_none());
}

#[test]
fn services_and_subscriptions() {
    let mut bench = Bench::new();
    let record = ServiceRecord {
        service_id: 7,
        ..ServiceRecord::default()
    };
    let info = InformInfo {
        subscribe: true,
        ..InformInfo::default()
    };
    let ids = [
        bench
            .client
            .request(USER, SaRequest::Register { record, mask: 1 }),
        bench
            .client
            .request(USER, SaRequest::Unregister { record, mask: 1 }),
        bench.client.request(USER, SaRequest::Subscribe { info }),
        bench.client.request(USER, SaRequest::ClassPortInfo),
    ];
    let asked: Vec<SaMad> = core::iter::from_fn(|| bench.sent()).collect();
    let what: Vec<(u8, u16, u64)> = asked
        .iter()
        .map(|mad| {
            (
                mad.header.method,
                mad.header.attribute_id,
                mad.component_mask,
            )
        })
        .collect();
    assert_eq!(
        what,
        [
            (method::SET, attribute::SERVICE_RECORD, 1),
            (method::DELETE, attribute::SERVICE_RECORD, 1),
            (method::SET, attribute::INFORM_INFO, 0),
            (method::GET, attribute::CLASS_PORT_INFO, 0),
        ]
    );
    let class_port_info = ClassPortInfo {
        capability_mask: 0x200,
        ..ClassPortInfo::default()
    };
    bench.hand(&asked[3].response(&class_port_info));
    bench.hand(&asked[2].response(&info));
    bench.hand(&asked[1].response(&record));
    bench.hand(&asked[0].response(&record));
    assert_eq!(
        bench.replies(),
        [
            (ids[3], Ok(SaReply::ClassPortInfo(class_port_info))),
            (ids[2], Ok(SaReply::Subscribed(info))),
            (ids[1], Ok(SaReply::Service(record))),
            (ids[0], Ok(SaReply::Service(record))),
        ]
    );
}

#[test]
fn reports_are_acknowledged_and_given_out() {
    let mut bench = Bench::new();
    let details = Details::GroupCreated(GidDetails { gid: gid(5) });
    let producer = softib_wire::mad::notice::ProducerType::CLASS_MANAGER;
    let notice = ReportedNotice {
        notice: Notice::new(&details, producer, ADMIN),
        issuer_gid: gid(1),
    };
    let report = SaMad::request(method::REPORT, 0x1234, 0, &notice);
    let stranger = Endpoint::gsi(Lid::new(9), Sl::default());
    bench
        .client
        .handle_mad(ms(0), &stranger, &report.to_bytes());
    assert_eq!(bench.client.poll_notice(), None);
    assert_eq!(bench.client.drops().count(SaClientDrop::NotFromManager), 1);

    bench.hand(&report);
    assert_eq!(bench.client.poll_notice(), Some(notice));
    let answer = bench.only();
    assert_eq!(answer.header.method, method::REPORT_RESP);
    assert_eq!(answer.header.transaction_id, 0x1234);

    for _ in 0..1000 {
        bench.hand(&report);
    }
    assert_eq!(
        core::iter::from_fn(|| bench.client.poll_notice()).count(),
        MAX_NOTICES
    );
    assert_eq!(core::iter::from_fn(|| bench.sent()).count(), MAX_NOTICES);
}

#[test]
fn there_is_a_bound_on_what_waits() {
    let mut bench = Bench::new();
    for i in 0..MAX_REQUESTS as u64 {
        bench.client.request(USER, path(gid(i)));
    }
    let one_more = bench.client.request(USER, path(gid(0)));
    let joining = bench
        .client
        .request(USER, memberships::join(JoinState::FULL));
    let busy = Err(SaError::Busy);
    assert_eq!(bench.replies(), [(one_more, busy.clone()), (joining, busy)]);
    assert_eq!(
        core::iter::from_fn(|| bench.sent()).count(),
        MAX_OUTSTANDING
    );
    bench.client.forget_user(USER);
    assert!(bench.client.is_idle() && bench.replies().is_empty());
}

proptest! {
    #[test]
    fn any_octets_are_survived(
        mads in prop::collection::vec((prop::collection::vec(any::<u8>(), 256), 0_u8..4), 1..30),
    ) {
        let mut bench = Bench::new();
        bench.client.request(USER, path(gid(2)));
        bench.client.request(USER, memberships::join(JoinState::FULL));
        bench.client.request(USER, tables::request());
        let asked: Vec<SaMad> = core::iter::from_fn(|| bench.sent()).collect();
        for (octets, plausible) in mads {
            let mut mad: Mad = octets.try_into().expect("256");
            if let Some(request) = asked.get(usize::from(plausible)) {
                // The answer to one of them, with anything behind the MAD header.
                let answer = request.refusal(MadStatus::OK).to_bytes();
                mad[..24].copy_from_slice(&answer[..24]);
                mad[25] %= 5;
                mad[26] |= 1;
                mad[28..31].fill(0);
                mad[31] %= 4;
            }
            bench.client.handle_mad(bench.now, &admin(), &mad);
            while bench.sent().is_some() {}
            bench.now += Duration::from_millis(50);
            bench.client.handle_timeout(bench.now);
        }
        bench.wait();
        prop_assert!(bench.replies().len() <= 3);
    }
}
