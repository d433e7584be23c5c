//! What a port asks the subnet administrator for: paths, memberships in multicast groups, services;
//! and the notices that it is told. One client serves all users of the port.

mod answer;
mod multicast;
mod request;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use softib_wire::addr::{Gid, Lid, Sl};
use softib_wire::mad::attribute;
use softib_wire::mad::class;
use softib_wire::mad::class_port_info::ClassPortInfo;
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::method;
use softib_wire::mad::notice::ReportedNotice;
use softib_wire::mad::rmpp::RmppHeader;
use softib_wire::mad::sa::{McMemberMask, PathMask, PathRecord, SA_DATA_LEN, SaMad};
use softib_wire::mad::status::MadStatus;
use softib_wire::time::{Duration, Instant};

use self::answer::{Answer, Expected};
use self::multicast::{Groups, Step};
use crate::mad::{Endpoint, Mad, Retry, TransactionId, Transactions};
use crate::rmpp::{Limits, Receiver, RmppError, SA_CLASS_HEADER_LEN};

pub use request::{Records, RequestId, SaError, SaReply, SaRequest, UserId};

softib_wire::reasons! {
    /// Why the client drops a MAD, or a notice.
    pub enum SaClientDrop, SaClientDrops {
        /// The class is not subnet administration, or not the version that is spoken here.
        WrongClass = "sa-client-wrong-class";
        /// It asks something of an administrator.
        NotForClients = "sa-client-not-for-clients";
        /// It does not come from the subnet manager's port.
        NotFromManager = "sa-client-not-from-manager";
        /// It answers no request under way.
        UnknownTransaction = "sa-client-unknown-transaction";
        /// The administrator is busy: it will be asked again.
        Busy = "sa-client-busy";
        /// Its fields hold what cannot be.
        Malformed = "sa-client-malformed";
        /// Nobody fetches the notices.
        TooManyNotices = "sa-client-too-many-notices";
    }
}

/// The client of one port.
///
/// Tell it where the subnet manager is with [`Self::set_sm`]. Then [`Self::request`], send what
/// [`Self::poll_transmit`] gives, hand it what arrives for subnet administration with
/// [`Self::handle_mad`], fetch answers with [`Self::poll_reply`] and notices with
/// [`Self::poll_notice`]. At [`Self::poll_timeout`] call [`Self::handle_timeout`] and then all the
/// `poll_` functions.
#[derive(Debug)]
pub struct SaClient {
    sm: Option<(Lid, Sl)>,
    next: u64,
    transactions: Transactions<Endpoint, Work>,
    /// Transactions of the requests that are not about multicast groups.
    queries: BTreeMap<RequestId, (UserId, TransactionId)>,
    groups: Groups,
    group_transactions: BTreeMap<Gid, TransactionId>,
    /// Answers longer than one MAD that are arriving.
    receivers: BTreeMap<TransactionId, (Endpoint, Receiver)>,
    /// Such answers that have arrived, whose last ACK may be lost.
    received: VecDeque<Lingering>,
    /// Acknowledgements, to send before anything else.
    answers: VecDeque<(Endpoint, Mad)>,
    replies: VecDeque<(RequestId, Result<SaReply, SaError>)>,
    notices: VecDeque<ReportedNotice>,
    drops: SaClientDrops,
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Query(RequestId, Expected),
    Join(Gid),
    Leave(Gid),
}

#[derive(Debug)]
struct Lingering {
    transaction_id: u64,
    from: Endpoint,
    until: Instant,
    receiver: Receiver,
}

/// Ten times within a second.
const PATH_RETRY: Retry = Retry {
    timeout: Duration::from_millis(100),
    attempts: 10,
};
/// Ten times within three seconds.
const RETRY: Retry = Retry {
    timeout: Duration::from_millis(300),
    attempts: 10,
};
/// Requests that may be under way at the administrator.
const MAX_OUTSTANDING: usize = 64;
/// Requests that may wait altogether.
const MAX_REQUESTS: usize = 4096;
/// Notices that may wait to be fetched.
const MAX_NOTICES: usize = 256;
/// How long, and of how many answers, a last ACK is repeated.
const LINGER: Duration = Duration::from_secs(10);
const MAX_LINGERING: usize = 32;

impl SaClient {
    /// A client that knows no subnet manager yet. `owner` is the high half of its transaction IDs:
    /// draw it at random.
    #[must_use]
    pub fn new(owner: u32) -> Self {
        Self {
            sm: None,
            next: 0,
            transactions: Transactions::new(owner, RETRY, MAX_OUTSTANDING),
            queries: BTreeMap::new(),
            groups: Groups::default(),
            group_transactions: BTreeMap::new(),
            receivers: BTreeMap::new(),
            received: VecDeque::new(),
            answers: VecDeque::new(),
            replies: VecDeque::new(),
            notices: VecDeque::new(),
            drops: SaClientDrops::default(),
        }
    }

    /// The subnet manager is at this LID now (PortInfo.MasterSMLID and MasterSMSL), or, with a LID
    /// that is none, there is none. What is under way will ask the new one.
    pub fn set_sm(&mut self, lid: Lid, sl: Sl) {
        if lid.is_unicast() {
            self.sm = Some((lid, sl));
            for destination in self.transactions.destinations_mut() {
                *destination = Endpoint::gsi(lid, sl);
            }
            return;
        }
        self.sm = None;
        let _: usize = self.transactions.cancel_all().count();
        self.receivers.clear();
        self.group_transactions.clear();
        let queries = core::mem::take(&mut self.queries).into_keys();
        let joins = self.groups.clear();
        for id in queries.chain(joins) {
            self.replies.push_back((id, Err(SaError::NoSubnetManager)));
        }
    }

    /// The administrator has forgotten the port: it asked its clients to register again, or the
    /// port went down or has another LID. No user is a member of any group now; tell them
    /// afterwards, so that they join again.
    pub fn reset_memberships(&mut self) {
        for (_, transaction) in core::mem::take(&mut self.group_transactions) {
            self.transactions.cancel(transaction);
        }
        self.groups.reset();
        for mgid in self.groups.mgids() {
            self.serve(mgid);
        }
    }

    /// Asks for something. The answer comes by [`Self::poll_reply`], unless it is cancelled.
    pub fn request(&mut self, user: UserId, request: SaRequest) -> RequestId {
        self.next += 1;
        let id = RequestId(self.next);
        if let SaRequest::Leave { record } = request {
            self.groups.leave(user, record.mgid, record.join_state);
            self.serve(record.mgid);
            self.replies.push_back((id, Ok(SaReply::Left)));
            return id;
        }
        let refusal = match self.sm {
            None => Some(SaError::NoSubnetManager),
            Some(_) if self.queries.len() + self.groups.waiting() >= MAX_REQUESTS => {
                Some(SaError::Busy)
            }
            Some(_) => None,
        };
        if let Some(error) = refusal {
            self.replies.push_back((id, Err(error)));
            return id;
        }
        match request {
            SaRequest::Leave { .. } => {}
            SaRequest::Join { record, mask } => {
                self.groups.join(id, user, record, mask);
                self.serve(record.mgid);
            }
            SaRequest::Path {
                sgid,
                dgid,
                pkey,
                traffic_class,
            } => {
                let record = PathRecord {
                    dgid,
                    sgid,
                    pkey,
                    traffic_class,
                    path_count: 1,
                    ..PathRecord::default()
                };
                let mask = PathMask::IPOIB.bits();
                let mad = SaMad::request(method::GET, 0, mask, &record);
                self.query(user, id, Expected::Path, PATH_RETRY, &mad);
            }
            SaRequest::Register { record, mask } => {
                let mad = SaMad::request(method::SET, 0, mask, &record);
                self.query(user, id, Expected::Service, RETRY, &mad);
            }
            SaRequest::Unregister { record, mask } => {
                let mad = SaMad::request(method::DELETE, 0, mask, &record);
                self.query(user, id, Expected::Service, RETRY, &mad);
            }
            SaRequest::ClassPortInfo => {
                let mad = SaMad::request(method::GET, 0, 0, &ClassPortInfo::default());
                self.query(user, id, Expected::ClassPortInfo, RETRY, &mad);
            }
            SaRequest::Subscribe { info } => {
                let mad = SaMad::request(method::SET, 0, 0, &info);
                self.query(user, id, Expected::Subscription, RETRY, &mad);
            }
            SaRequest::Table {
                attribute_id,
                record,
                mask,
            } => {
                let mad = table_request(attribute_id, &record, mask);
                self.query(user, id, Expected::Records, RETRY, &mad);
            }
        }
        id
    }

    /// The answer is no longer wanted, and will not come, unless it is waiting to be fetched already. A
    /// membership that it would have been about is left.
    pub fn cancel(&mut self, id: RequestId) {
        self.replies.retain(|(replied, _)| *replied != id);
        if let Some((_, transaction)) = self.queries.remove(&id) {
            self.transactions.cancel(transaction);
            self.receivers.remove(&transaction);
        } else if let Some(mgid) = self.groups.cancel(id) {
            self.serve(mgid);
        }
    }

    /// The user is gone: cancels its requests and leaves its groups.
    pub fn forget_user(&mut self, user: UserId) {
        let of_user = |(&id, &(owner, _)): (&RequestId, &(UserId, TransactionId))| {
            (owner == user).then_some(id)
        };
        let ids: Vec<RequestId> = self.queries.iter().filter_map(of_user).collect();
        for id in ids {
            self.cancel(id);
        }
        self.groups.forget_user(user);
        for mgid in self.groups.mgids() {
            self.serve(mgid);
        }
    }

    /// Takes in a MAD of the subnet administration class that is no request to an administrator.
    pub fn handle_mad(&mut self, now: Instant, from: &Endpoint, mad: &Mad) {
        // A field that holds what cannot be makes the whole MAD useless.
        let Ok(sa) = SaMad::parse(mad) else {
            return self.drops.add(SaClientDrop::Malformed);
        };
        let header = &sa.header;
        if header.class != class::SUBN_ADM
            || header.class_version != class::version(class::SUBN_ADM)
            || header.base_version != 1
        {
            return self.drops.add(SaClientDrop::WrongClass);
        }
        if header.method == method::REPORT {
            return self.handle_report(from, &sa);
        }
        if !header.is_response() {
            return self.drops.add(SaClientDrop::NotForClients);
        }
        let is_from = |destination: &Endpoint| destination.same_peer(from);
        let Some(transaction) = self.transactions.find(mad, is_from) else {
            return self.handle_late(now, from, mad, header);
        };
        if sa.rmpp.is_active() {
            self.handle_segment(now, transaction, from, mad);
        } else if header.status.is_busy() {
            self.drops.add(SaClientDrop::Busy);
        } else if let Some((_, work)) = self.transactions.handle_response(mad, |_| true) {
            self.receivers.remove(&transaction);
            let result = if header.status.is_ok() {
                Ok(Answer::Single(sa))
            } else {
                Err(SaError::Refused(header.status))
            };
            self.complete(work, result);
        }
    }

    /// The next MAD to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoint, Mad)> {
        self.answers
            .pop_front()
            .or_else(|| self.transactions.poll_transmit(now))
    }

    /// The next answer.
    pub fn poll_reply(&mut self) -> Option<(RequestId, Result<SaReply, SaError>)> {
        self.replies.pop_front()
    }

    /// The next notice that the administrator reported.
    pub fn poll_notice(&mut self) -> Option<ReportedNotice> {
        self.notices.pop_front()
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let receivers = self.receivers.values();
        receivers
            .filter_map(|(_, receiver)| receiver.poll_timeout())
            .chain(self.transactions.poll_timeout())
            .min()
    }

    /// Asks again what was not answered, or gives it up.
    pub fn handle_timeout(&mut self, now: Instant) {
        let late: Vec<TransactionId> = self
            .receivers
            .iter()
            .filter(|(_, (_, receiver))| receiver.poll_timeout().is_some_and(|due| due <= now))
            .map(|(&id, _)| id)
            .collect();
        for transaction in late {
            if let Some((_, receiver)) = self.receivers.get_mut(&transaction) {
                receiver.handle_timeout(now);
            }
            self.receiver_moved(now, transaction);
        }
        self.transactions.handle_timeout(now);
        while let Some(expired) = self.transactions.poll_expired() {
            self.receivers.remove(&expired.id);
            self.complete(expired.context, Err(SaError::Timeout));
        }
    }

    /// What was dropped, and why.
    #[must_use]
    pub const fn drops(&self) -> &SaClientDrops {
        &self.drops
    }

    /// Whether nothing is under way and no user is in a group.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.transactions.is_empty() && self.groups.is_empty()
    }

    fn query(
        &mut self,
        user: UserId,
        id: RequestId,
        expected: Expected,
        retry: Retry,
        mad: &SaMad,
    ) {
        if let Some(transaction) = self.send(retry, mad, Work::Query(id, expected)) {
            self.queries.insert(id, (user, transaction));
        }
    }

    fn send(&mut self, retry: Retry, mad: &SaMad, work: Work) -> Option<TransactionId> {
        let (lid, sl) = self.sm?;
        let to = Endpoint::gsi(lid, sl);
        Some(self.transactions.send_with(retry, to, mad.to_bytes(), work))
    }

    /// Does what a group wants.
    fn serve(&mut self, mgid: Gid) {
        while let Some(step) = self.groups.step(mgid) {
            self.take_step(mgid, step);
        }
    }

    fn take_step(&mut self, mgid: Gid, step: Step) {
        let (mad, work) = match step {
            Step::Reply(id, result) => {
                self.replies.push_back((id, result.map(SaReply::Member)));
                return;
            }
            Step::Join(record, mask) => {
                let mad = SaMad::request(method::SET, 0, mask, &record);
                (mad, Work::Join(mgid))
            }
            Step::Leave(record) => {
                let mask = McMemberMask::LEAVE.bits();
                let mad = SaMad::request(method::DELETE, 0, mask, &record);
                (mad, Work::Leave(mgid))
            }
        };
        if let Some(transaction) = self.send(RETRY, &mad, work) {
            self.group_transactions.insert(mgid, transaction);
        }
    }

    fn complete(&mut self, work: Work, result: Result<Answer, SaError>) {
        match work {
            Work::Query(id, expected) => {
                self.queries.remove(&id);
                let reply = result.and_then(|answer| answer.reply(expected));
                self.replies.push_back((id, reply));
            }
            Work::Join(mgid) => {
                self.group_transactions.remove(&mgid);
                let record = result.and_then(|answer| answer.member(mgid));
                let new_mgid = record.as_ref().map_or(mgid, |record| record.mgid);
                if let Some(step) = self.groups.joined(mgid, record) {
                    self.take_step(mgid, step);
                }
                self.serve(mgid);
                self.serve(new_mgid);
            }
            Work::Leave(mgid) => {
                self.group_transactions.remove(&mgid);
                // What it refuses to forget it does not know.
                let answered = !matches!(result, Err(SaError::Timeout));
                if let Some(step) = self.groups.left(mgid, answered) {
                    self.take_step(mgid, step);
                }
                self.serve(mgid);
            }
        }
    }

    fn handle_report(&mut self, from: &Endpoint, sa: &SaMad) {
        if self.sm.is_none_or(|(lid, _)| lid != from.lid) {
            return self.drops.add(SaClientDrop::NotFromManager);
        }
        if sa.header.attribute_id != attribute::NOTICE {
            return self.drops.add(SaClientDrop::NotForClients);
        }
        let Ok(notice) = sa.record::<ReportedNotice>() else {
            return self.drops.add(SaClientDrop::Malformed);
        };
        if self.notices.len() >= MAX_NOTICES {
            // Without an answer it will be reported again.
            return self.drops.add(SaClientDrop::TooManyNotices);
        }
        self.notices.push_back(notice);
        let answer = SaMad {
            header: sa.header.response_to(MadStatus::OK),
            ..*sa
        };
        self.answers.push_back((*from, answer.to_bytes()));
    }

    /// A part of an answer that is longer than one MAD.
    fn handle_segment(
        &mut self,
        now: Instant,
        transaction: TransactionId,
        from: &Endpoint,
        mad: &Mad,
    ) {
        let limits = Limits::default();
        let (_, receiver) = self.receivers.entry(transaction).or_insert_with(|| {
            let receiver = Receiver::new(now, SA_CLASS_HEADER_LEN, limits);
            (*from, receiver)
        });
        receiver.handle_mad(now, mad);
        // The receiver has its own time-outs.
        self.transactions.extend(transaction, now + limits.total);
        self.receiver_moved(now, transaction);
    }

    fn receiver_moved(&mut self, now: Instant, transaction: TransactionId) {
        let Some((from, receiver)) = self.receivers.get_mut(&transaction) else {
            return;
        };
        while let Some(mad) = receiver.poll_transmit() {
            self.answers.push_back((*from, mad));
        }
        let Some(outcome) = receiver.outcome() else {
            return;
        };
        let transaction_id = self.transactions.transaction_id(transaction);
        let Some((from, receiver)) = self.receivers.remove(&transaction) else {
            return;
        };
        let Some(work) = self.transactions.cancel(transaction) else {
            return;
        };
        let result = match outcome {
            Ok(message) => {
                if self.received.len() == MAX_LINGERING {
                    self.received.pop_front();
                }
                self.received.push_back(Lingering {
                    transaction_id,
                    from,
                    until: now + LINGER,
                    receiver,
                });
                Answer::of_message(message)
            }
            Err(RmppError::Silent(_)) => Err(SaError::Timeout),
            Err(error) => Err(SaError::Transfer(error)),
        };
        self.complete(work, result);
    }

    /// An answer to no request under way: perhaps a segment whose ACK was lost.
    fn handle_late(&mut self, now: Instant, from: &Endpoint, mad: &Mad, header: &MadHeader) {
        self.received.retain(|late| late.until > now);
        let late = self
            .received
            .iter_mut()
            .find(|late| late.transaction_id == header.transaction_id && late.from.same_peer(from));
        let Some(late) = late else {
            return self.drops.add(SaClientDrop::UnknownTransaction);
        };
        late.receiver.handle_mad(now, mad);
        while let Some(mad) = late.receiver.poll_transmit() {
            self.answers.push_back((*from, mad));
        }
    }
}

fn table_request(attribute_id: u16, record: &[u8], mask: u64) -> SaMad {
    let mut data = [0; SA_DATA_LEN];
    let length = record.len().min(SA_DATA_LEN);
    data[..length].copy_from_slice(&record[..length]);
    SaMad {
        header: MadHeader::request(class::SUBN_ADM, method::GET_TABLE, attribute_id, 0, 0),
        rmpp: RmppHeader::NONE,
        sm_key: 0,
        attribute_offset: 0,
        component_mask: mask,
        data,
    }
}
