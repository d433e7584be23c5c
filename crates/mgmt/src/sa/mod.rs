//! The subnet administrator: answers for the subnet manager's database, keeps multicast groups,
//! services and subscriptions (IBA 15).
//!
//! Requests name components of a record with a mask. `components` compares any record with any mask, from
//! a table of where components are; what is more than a comparison (selectors, joins, paths) is in
//! the file of its record.

mod components;
mod groups;
mod inform;
mod member;
mod path;
mod records;
mod service;

use softib_wire::addr::{Gid, Guid, Lid};
use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::class_port_info::{ClassPortInfo, SaCapabilities, SaCapabilities2};
use softib_wire::mad::method;
use softib_wire::mad::sa::{SA_DATA_LEN, SaMad};
use softib_wire::mad::sm_info::SmInfo;
use softib_wire::mad::status::MadStatus;
use softib_wire::time::Instant;

use crate::mad::{Endpoint, Mad};
use crate::rmpp::{Pace, SA_CLASS_HEADER_LEN, Senders};
use crate::sm::database::{Database, NodeId, PortId};
use crate::sm::{PortMask, SmConfig, SmDrop, SmEvent};

use groups::Groups;
use inform::Subscriptions;
use service::Services;

pub(crate) use groups::Group;

/// Tables being sent at once. Who asks beyond that is told to ask again.
const MAX_TRANSFERS: usize = 1024;

/// What the administrator sees of the manager.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) database: &'a Database,
    pub(crate) config: &'a SmConfig,
    pub(crate) rows: &'a dyn MulticastRows,
    pub(crate) manager: SmInfo,
}

/// Rows of multicast forwarding tables.
pub(crate) trait MulticastRows {
    /// Ports of a switch for a multicast LID less 0xC000.
    fn ports(&self, index: u16, switch: NodeId) -> PortMask;
    /// Multicast LIDs, less 0xC000, that have rows.
    fn last_index(&self) -> Option<u16>;
}

/// What a request did.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) answer: Option<Mad>,
    pub(crate) changes: Changes,
}

/// What changed about multicast groups.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Multicast LIDs, less 0xC000, whose members changed.
    pub(crate) mlids: Vec<u16>,
    pub(crate) events: Vec<SmEvent>,
}

/// The administrator.
#[derive(Debug)]
pub(crate) struct Server {
    groups: Groups,
    services: Services,
    subscriptions: Subscriptions,
    transfers: Senders,
    pub(crate) requests: u64,
    pub(crate) refused: u64,
}

/// A request that was read, and who asks.
#[derive(Clone, Copy)]
struct Request<'a> {
    mad: &'a SaMad,
    from: Endpoint,
    /// The port that asks, if it is known.
    requester: Option<PortId>,
    /// The request carries the SM_Key: it may see and do what concerns others.
    trusted: bool,
}

/// What is answered.
enum Reply {
    /// One record: an answer to Set, Delete, or a Get that cannot find several.
    Record(Vec<u8>),
    /// What a query found.
    Records(Records),
}

/// Records of one kind, as they go on the wire.
#[derive(Debug, Default)]
struct Records {
    /// Octets from one record to the next.
    length: usize,
    octets: Vec<u8>,
}

type Answer = Result<Reply, MadStatus>;

impl Server {
    pub(crate) fn new(owner: u32) -> Self {
        Self {
            groups: Groups::default(),
            services: Services::default(),
            subscriptions: Subscriptions::new(owner),
            transfers: Senders::new(MAX_TRANSFERS, Pace::default()),
            requests: 0,
            refused: 0,
        }
    }

    /// Takes in a MAD of the class of subnet administration.
    pub(crate) fn handle_mad(
        &mut self,
        now: Instant,
        view: View<'_>,
        from: &Endpoint,
        mad: &Mad,
    ) -> Result<Outcome, SmDrop> {
        if self.transfers.handle_mad(now, from, mad) {
            return Ok(Outcome::default());
        }
        let request = SaMad::parse(mad).map_err(|_| SmDrop::Malformed)?;
        if request.header.is_response() {
            return if self.subscriptions.handle_response(from, mad) {
                Ok(Outcome::default())
            } else {
                Err(SmDrop::NoTransfer)
            };
        }
        // IBA 15.2.1: 0 is anybody, the right key is trusted, another one is not answered at all.
        if request.sm_key != 0 && request.sm_key != view.config.sm_key {
            return Err(SmDrop::BadSmKey);
        }
        if self.transfers.is_under_way(from, &answer_head(&request, 0)) {
            // Asked a second time: the answer is on its way.
            return Ok(Outcome::default());
        }
        self.requests += 1;
        let asked = Request {
            mad: &request,
            from: *from,
            requester: view.database.by_lid(from.lid),
            trusted: request.sm_key != 0,
        };
        let mut changes = Changes::default();
        let answer = self.serve(now, view, asked, &mut changes);
        let answer = self.answer(now, from, &request, answer);
        Ok(Outcome { answer, changes })
    }

    fn serve(
        &mut self,
        now: Instant,
        view: View<'_>,
        asked: Request<'_>,
        changes: &mut Changes,
    ) -> Answer {
        let query = matches!(asked.mad.header.method, method::GET | method::GET_TABLE);
        match (asked.mad.header.method, asked.mad.header.attribute_id) {
            (method::GET, attribute::CLASS_PORT_INFO) => Ok(Reply::record(&class_port_info(view))),
            (method::SET, attribute::INFORM_INFO) => self.subscriptions.set(view, asked),
            (_, attribute::INFORM_INFO_RECORD) if query => self.subscriptions.query(asked),
            (_, attribute::NODE_RECORD) if query => records::nodes(view, asked),
            (_, attribute::PORT_INFO_RECORD) if query => records::ports(view, asked),
            (_, attribute::SWITCH_INFO_RECORD) if query => records::switches(view, asked),
            (_, attribute::LINEAR_FDB_RECORD) if query => records::linear(view, asked),
            (_, attribute::MULTICAST_FDB_RECORD) if query => records::multicast(view, asked),
            (_, attribute::PKEY_TABLE_RECORD) if query => records::pkeys(view, asked),
            (_, attribute::SM_INFO_RECORD) if query => records::manager(view, asked),
            (_, attribute::LINK_RECORD) if query => records::links(view, asked),
            (_, attribute::PATH_RECORD) if query => path::query(view, &self.groups, asked),
            (_, attribute::MC_MEMBER_RECORD) if query => member::query(view, &self.groups, asked),
            (method::SET, attribute::MC_MEMBER_RECORD) => {
                member::join(view, &mut self.groups, asked, changes)
            }
            (method::DELETE, attribute::MC_MEMBER_RECORD) => {
                member::leave(view, &mut self.groups, asked, changes)
            }
            (_, attribute::SERVICE_RECORD) if query => self.services.query(now, asked),
            (method::SET, attribute::SERVICE_RECORD) => self.services.set(now, view, asked),
            (method::DELETE, attribute::SERVICE_RECORD) => self.services.delete(view, asked),
            _ => Err(MadStatus::BAD_METHOD_ATTRIBUTE),
        }
    }

    /// The MAD that answers; `None`: a transfer of several was begun.
    fn answer(
        &mut self,
        now: Instant,
        from: &Endpoint,
        request: &SaMad,
        answer: Answer,
    ) -> Option<Mad> {
        let mut refuse = |status| {
            self.refused += 1;
            Some(request.refusal(status).to_bytes())
        };
        let is_table = request.header.method == method::GET_TABLE;
        match answer {
            Err(status) => refuse(status),
            Ok(Reply::Record(octets)) => Some(one_record(request, &octets)),
            Ok(Reply::Records(found)) if !is_table => match found.count() {
                0 => refuse(MadStatus::SA_NO_RECORDS),
                1 => Some(one_record(request, &found.octets)),
                // IBA 15.4.5: a Get can return only one.
                _ => refuse(MadStatus::SA_TOO_MANY_RECORDS),
            },
            Ok(Reply::Records(found)) => {
                let head = answer_head(request, found.length);
                let sent =
                    self.transfers
                        .start(now, *from, &head, SA_CLASS_HEADER_LEN, found.octets);
                match sent {
                    Ok(()) => None,
                    Err(_) => refuse(MadStatus::BUSY),
                }
            }
        }
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<(Endpoint, Mad)> {
        while self.transfers.poll_finished().is_some() {}
        self.subscriptions
            .poll_transmit(now)
            .or_else(|| self.transfers.poll_transmit(now))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [
            self.transfers.poll_timeout(),
            self.subscriptions.poll_timeout(),
            self.services.poll_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.transfers.handle_timeout(now);
        self.subscriptions.handle_timeout(now);
        self.services.handle_timeout(now);
    }

    /// Makes the groups that partitions have, and notes how many multicast LIDs all switches can do.
    pub(crate) fn configure(&mut self, config: &SmConfig, capacity: Option<u16>) -> Changes {
        self.groups.configure(config, capacity)
    }

    /// A port is gone: it leaves its groups; its services and subscriptions end.
    pub(crate) fn port_gone(&mut self, guid: Guid) -> Changes {
        self.services.port_gone(guid);
        self.subscriptions.port_gone(guid);
        self.groups.port_gone(guid)
    }

    /// Members of all groups that share a multicast LID: port GUID, and whether it receives.
    pub(crate) fn members(&self, index: u16) -> impl Iterator<Item = (Guid, bool)> + '_ {
        self.groups.members(index)
    }

    /// Multicast LIDs in use, less 0xC000.
    pub(crate) fn mlid_indices(&self) -> impl Iterator<Item = u16> + '_ {
        self.groups.mlid_indices()
    }

    pub(crate) fn groups(&self) -> impl Iterator<Item = (&Gid, &Group)> {
        self.groups.iter()
    }

    /// Reports to subscribers that something happened.
    pub(crate) fn report(&mut self, view: View<'_>, event: &SmEvent) {
        self.subscriptions.report(view, event);
    }
}

impl Reply {
    fn record<A: Attribute>(record: &A) -> Self {
        let mut octets = vec![0; A::RECORD_LEN];
        record.emit(&mut octets);
        Self::Record(octets)
    }
}

impl Records {
    fn new<A: Attribute>() -> Self {
        Self {
            length: A::RECORD_LEN,
            octets: Vec::new(),
        }
    }

    /// Adds a record, if the components that are asked for are the same in both.
    fn push<A: components::Comparable>(&mut self, record: &A, asked: &SaMad) {
        let start = self.octets.len();
        self.octets.resize(start + self.length, 0);
        record.emit(&mut self.octets[start..]);
        if !components::matches::<A>(asked.component_mask, &asked.data, &self.octets[start..]) {
            self.octets.truncate(start);
        }
    }

    /// Adds a record.
    fn push_unasked<A: Attribute>(&mut self, record: &A) {
        let start = self.octets.len();
        self.octets.resize(start + self.length, 0);
        record.emit(&mut self.octets[start..]);
    }

    fn count(&self) -> usize {
        self.octets.len().checked_div(self.length).unwrap_or(0)
    }
}

impl Request<'_> {
    fn record<A: Attribute>(&self) -> Result<A, MadStatus> {
        self.mad.record().map_err(|_| MadStatus::BAD_FIELD)
    }

    /// Whether the request comes from this node. Who is trusted may speak for others.
    fn speaks_for(&self, node: NodeId) -> bool {
        self.trusted || self.requester.is_some_and(|port| port.node == node)
    }
}

fn one_record(request: &SaMad, octets: &[u8]) -> Mad {
    let mut answer = request.refusal(MadStatus::OK);
    answer.attribute_offset = u16::try_from(octets.len() / 8).unwrap_or(0);
    let length = octets.len().min(SA_DATA_LEN);
    answer.data[..length].copy_from_slice(&octets[..length]);
    answer.to_bytes()
}

/// What all segments of a table begin with.
fn answer_head(request: &SaMad, record_length: usize) -> Mad {
    let mut head = request.refusal(MadStatus::OK);
    head.attribute_offset = u16::try_from(record_length / 8).unwrap_or(0);
    head.to_bytes()
}

/// IBA 15.2.5.1: what this administrator can do.
fn class_port_info(view: View<'_>) -> ClassPortInfo {
    let capabilities = SaCapabilities::CAPABILITY_MASK2 | SaCapabilities::MULTICAST;
    let capabilities2 = SaCapabilities2::FULL_PORT_INFO_RECORD
        | SaCapabilities2::EXTENDED_SPEEDS
        | SaCapabilities2::SEND_ONLY_FULL_MEMBER;
    ClassPortInfo {
        base_version: 1,
        class_version: 2,
        capability_mask: capabilities.bits(),
        capability_mask2: capabilities2.bits(),
        resp_time_value: view.config.subnet_timeout,
        ..ClassPortInfo::default()
    }
}

/// The LID that the manager's port has.
fn manager_lid(view: View<'_>) -> Lid {
    view.database
        .own
        .map_or(Lid::NONE, |own| view.database.lid_of(own))
}
