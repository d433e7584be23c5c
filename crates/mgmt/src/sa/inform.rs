//! InformInfo: subscriptions to notices, and the reports that subscribers get (IBA 13.4.8.3, 15.3.8).

use std::collections::BTreeMap;

use softib_wire::addr::{Gid, Guid, Lid, Qpn, Sl};
use softib_wire::mad::notice::details::GidDetails;
use softib_wire::mad::notice::{Details, Notice, ProducerType, ReportedNotice};
use softib_wire::mad::sa::{InformInfo, InformInfoRecord, SaMad};
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::{class, method};
use softib_wire::time::{Duration, Instant};

use super::{Answer, Records, Reply, Request, View, manager_lid};
use crate::mad::{Endpoint, Mad, Retry, Transactions};
use crate::sm::SmEvent;

/// Subscriptions that are kept, of all ports together.
const MOST_SUBSCRIPTIONS: usize = 16_384;
/// Reports under way at once.
const MOST_REPORTS: usize = 64;

#[derive(Debug)]
struct Subscription {
    to: Endpoint,
    guid: Guid,
    gid: Gid,
    info: InformInfo,
}

/// Who wants to hear what.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// By number, the order in which they came.
    subscriptions: BTreeMap<u16, Subscription>,
    reports: Transactions<Endpoint, ()>,
}

impl Subscriptions {
    pub(super) const fn new(owner: u32) -> Self {
        let retry = Retry {
            timeout: Duration::from_millis(200),
            attempts: 3,
        };
        Self {
            subscriptions: BTreeMap::new(),
            reports: Transactions::new(owner, retry, MOST_REPORTS),
        }
    }

    /// Set(InformInfo): begins or ends a subscription.
    pub(super) fn set(&mut self, view: View<'_>, asked: Request<'_>) -> Answer {
        let info: InformInfo = asked.record()?;
        let requester = asked.requester.ok_or(MadStatus::SA_REQUEST_DENIED)?;
        let port = view
            .database
            .port(requester)
            .ok_or(MadStatus::SA_REQUEST_DENIED)?;
        let guid = port.guid.unwrap_or_default();
        let same = |other: &Subscription| {
            let bare = |info: &InformInfo| InformInfo {
                subscribe: true,
                ..*info
            };
            other.guid == guid && bare(&other.info) == bare(&info)
        };
        let known = self
            .subscriptions
            .iter()
            .find(|(_, other)| same(other))
            .map(|(&number, _)| number);
        match (info.subscribe, known) {
            (true, Some(_)) => {}
            (true, None) => {
                let number = self.free_number().ok_or(MadStatus::SA_NO_RESOURCES)?;
                let to = Endpoint {
                    // IBA 13.4.8.3: QPN 0 means the one that reports go to by default.
                    qpn: if info.qpn.bits() == 0 {
                        Qpn::GSI
                    } else {
                        info.qpn
                    },
                    sl: Sl::default(),
                    ..asked.from
                };
                let subscription = Subscription {
                    to,
                    guid,
                    gid: Gid::from_prefix_guid(view.config.subnet_prefix, guid),
                    info,
                };
                self.subscriptions.insert(number, subscription);
            }
            (false, Some(number)) => {
                self.subscriptions.remove(&number);
            }
            (false, None) => return Err(MadStatus::SA_REQUEST_INVALID),
        }
        Ok(Reply::record(&info))
    }

    /// Get and GetTable of InformInfoRecord.
    pub(super) fn query(&self, asked: Request<'_>) -> Answer {
        let mut found = Records::new::<InformInfoRecord>();
        for (&number, subscription) in &self.subscriptions {
            let record = InformInfoRecord {
                subscriber_gid: subscription.gid,
                number,
                inform_info: subscription.info,
            };
            found.push(&record, asked.mad);
        }
        Ok(Reply::Records(found))
    }

    /// Reports an event to who wants to hear of it.
    pub(super) fn report(&mut self, view: View<'_>, event: &SmEvent) {
        let details = match event {
            SmEvent::GroupCreated(gid) => Details::GroupCreated(GidDetails { gid: *gid }),
            SmEvent::GroupDeleted(gid) => Details::GroupDeleted(GidDetails { gid: *gid }),
            SmEvent::PortInService(gid) => Details::GidInService(GidDetails { gid: *gid }),
            SmEvent::PortOutOfService(gid) => Details::GidOutOfService(GidDetails { gid: *gid }),
            _ => return,
        };
        let issuer_gid = Gid::from_prefix_guid(view.config.subnet_prefix, view.config.port_guid);
        let lid = manager_lid(view);
        let notice = Notice::new(&details, ProducerType::CLASS_MANAGER, lid);
        let subject = match details {
            Details::GroupCreated(about)
            | Details::GroupDeleted(about)
            | Details::GidInService(about)
            | Details::GidOutOfService(about) => about.gid,
            _ => return,
        };
        let report = ReportedNotice { notice, issuer_gid };
        let mad = SaMad::request(method::REPORT, 0, 0, &report).to_bytes();
        for subscription in self.subscriptions.values() {
            if wants(&subscription.info, &notice, subject, lid) {
                self.reports.send(subscription.to, mad, ());
            }
        }
    }

    /// Takes in the answer to a report, and says whether it was one.
    pub(super) fn handle_response(&mut self, from: &Endpoint, mad: &Mad) -> bool {
        debug_assert_eq!(mad[1], class::SUBN_ADM);
        self.reports
            .handle_response(mad, |to| to.lid == from.lid)
            .is_some()
    }

    pub(super) fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoint, Mad)> {
        while self.reports.poll_expired().is_some() {}
        self.reports.poll_transmit(now)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.reports.poll_timeout()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.reports.handle_timeout(now);
    }

    pub(super) fn port_gone(&mut self, guid: Guid) {
        self.subscriptions.retain(|_, other| other.guid != guid);
    }

    fn free_number(&self) -> Option<u16> {
        if self.subscriptions.len() >= MOST_SUBSCRIPTIONS {
            return None;
        }
        let last = self.subscriptions.last_key_value();
        let next = last.map_or(0, |(&number, _)| number.wrapping_add(1));
        if self.subscriptions.contains_key(&next) {
            return (0..=u16::MAX).find(|number| !self.subscriptions.contains_key(number));
        }
        Some(next)
    }
}

/// IBA 13.4.8.3: whether a notice is one of those that a subscription is about.
fn wants(info: &InformInfo, notice: &Notice, subject: Gid, issuer: Lid) -> bool {
    let about = if info.gid != Gid::NONE {
        info.gid == subject
    } else {
        let (first, last) = (info.lid_range_begin, info.lid_range_end);
        first == Lid::PERMISSIVE || first == Lid::NONE || first <= issuer && issuer <= last
    };
    let kind = info.notice_type == InformInfo::ALL
        || info.notice_type == u16::from(notice.notice_type.bits());
    let trap = info.trap_number == InformInfo::ALL || info.trap_number == notice.trap_number.bits();
    let producer = info.producer_type == InformInfo::ALL_PRODUCERS
        || info.producer_type == notice.producer_type.bits();
    info.generic && about && kind && trap && producer
}
