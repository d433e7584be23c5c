//! Joining groups, leaving them, and sending to them.
//!
//! The broadcast group comes first: what it was granted is what all others are asked for
//! (RFC 4391 §10). Once it is joined, all others are joined at once, so that one that nobody
//! answers for delays no other.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeSet;

use softib_fabric::frame::Frame;
use softib_mgmt::sa_client::{SaError, SaReply, SaRequest};
use softib_wire::addr::{Gid, Qpn};
use softib_wire::ipoib::ip::solicited_node;
use softib_wire::ipoib::{EtherType, GroupSpace};
use softib_wire::mad::sa::{JoinState, McMemberMask, McMemberRecord};
use softib_wire::time::Instant;
use softib_wire::units::Selector;

use crate::counters::DropReason;
use crate::group::{
    self, Grant, Group, Join, MAX_QUEUE, Membership, SEND_ONLY_ATTEMPTS, SEND_ONLY_IDLE,
};
use crate::interface::{Action, Asked, Interface, SaToken, Timer};

const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

impl Interface {
    /// The group that everybody on the link is in.
    pub(crate) fn broadcast_mgid(&self) -> Gid {
        self.group_space().broadcast()
    }

    /// The group that stands for an IP multicast group.
    pub(crate) fn mgid_of(&self, group: IpAddr) -> Gid {
        self.group_space().group(group)
    }

    /// The traffic class that the broadcast group has.
    pub(crate) fn group_traffic_class(&self) -> u8 {
        let broadcast = self.groups.get(self.broadcast_mgid());
        broadcast
            .and_then(|group| group.grant)
            .map_or(0, |grant| grant.record.traffic_class)
    }

    /// Sends an IP packet of the host's to a group.
    pub(crate) fn send_to_group(&mut self, now: Instant, mgid: Gid, frame: Frame) {
        let ether_type = match frame.bytes().first() {
            Some(first) if first >> 4 == 6 => EtherType::Ipv6,
            _ => EtherType::Ipv4,
        };
        self.send_to_mgid(now, mgid, ether_type, frame);
    }

    /// Sends to a group, becoming a member that only sends if we are none.
    pub(crate) fn send_to_mgid(
        &mut self,
        now: Instant,
        mgid: Gid,
        ether_type: EtherType,
        frame: Frame,
    ) {
        if self.groups.get(mgid).is_none() && !self.add_send_only(now, mgid) {
            return self.counters.drop(DropReason::GroupTableFull);
        }
        let Some(group) = self.groups.get_mut(mgid) else {
            return;
        };
        group.last_used = now;
        if let Some(grant) = &group.grant {
            let vector = grant.vector;
            return self.post(vector, Qpn::MULTICAST, ether_type, frame);
        }
        if group.waiting.len() >= MAX_QUEUE {
            return self.counters.drop(DropReason::GroupQueueFull);
        }
        group.waiting.push_back((ether_type, frame));
        if group.join == Join::Idle {
            self.join(now, mgid);
        }
    }

    /// Brings the groups that we are in into line with those that the host wants.
    pub(crate) fn sync_groups(&mut self, now: Instant) {
        if !self.running {
            return;
        }
        let wanted = self.wanted_groups();
        let unwanted: Vec<Gid> = self
            .groups
            .by_mgid
            .iter()
            .filter(|(mgid, group)| group.wanted == Membership::Full && !wanted.contains(*mgid))
            .map(|(mgid, _)| *mgid)
            .collect();
        for mgid in unwanted {
            self.leave(mgid, true);
        }
        for mgid in wanted {
            match self.groups.get_mut(mgid) {
                None => {
                    self.groups
                        .by_mgid
                        .insert(mgid, Group::new(now, Membership::Full));
                }
                Some(group) if group.wanted == Membership::SendOnly => {
                    // Promoted in place: it goes on sending as what it is until it is more.
                    group.wanted = Membership::Full;
                    group.failures = 0;
                }
                Some(_) => continue,
            }
            let asked = self
                .groups
                .get(mgid)
                .is_some_and(|g| matches!(g.join, Join::Asked(_)));
            if !asked {
                self.join(now, mgid);
            }
        }
    }

    /// Asks for membership as it is wanted, if it is time: before it is in the broadcast group the
    /// interface joins no other.
    pub(crate) fn join(&mut self, now: Instant, mgid: Gid) {
        let broadcast = self.broadcast_mgid();
        let defaults = match self.groups.get(broadcast) {
            Some(group) if group.confirmed => group.grant.map(|grant| grant.record),
            _ => None,
        };
        if !self.running || mgid != broadcast && defaults.is_none() {
            return;
        }
        let Some(group) = self.groups.get_mut(mgid) else {
            return;
        };
        let membership = group.wanted;
        self.timers.cancel(Timer::Group(mgid));
        let join_state = membership.join_state();
        let (record, mask) = match defaults {
            Some(defaults) if mgid != broadcast => (
                McMemberRecord {
                    qkey: defaults.qkey,
                    mtu_selector: Selector::Exactly,
                    mtu: defaults.mtu,
                    traffic_class: defaults.traffic_class,
                    rate_selector: Selector::Exactly,
                    rate: defaults.rate,
                    sl: defaults.sl,
                    flow_label: defaults.flow_label,
                    hop_limit: defaults.hop_limit,
                    ..self.member_record(mgid, join_state)
                },
                McMemberMask::IPOIB_GROUP,
            ),
            _ => (
                self.member_record(mgid, join_state),
                McMemberMask::IPOIB_BROADCAST,
            ),
        };
        let request = SaRequest::Join {
            record,
            mask: mask.bits(),
        };
        let token = self.ask(Asked::Join(mgid, membership), request);
        if let Some(group) = self.groups.get_mut(mgid) {
            group.join = Join::Asked(token);
            group.last_used = now;
        }
    }

    /// The subnet administration answered a join.
    pub(crate) fn join_answered(
        &mut self,
        now: Instant,
        mgid: Gid,
        membership: Membership,
        token: SaToken,
        result: Result<SaReply, SaError>,
    ) {
        let is_broadcast = mgid == self.broadcast_mgid();
        let Some(group) = self.groups.get_mut(mgid) else {
            return;
        };
        if group.join != Join::Asked(token) {
            return;
        }
        group.join = Join::Idle;
        let granted = match result {
            Ok(SaReply::Member(record)) if is_sound(&record, mgid, is_broadcast) => Ok(record),
            Ok(_) => Err(SaError::Malformed),
            Err(error) => Err(error),
        };
        match granted {
            Ok(record) => self.joined(now, mgid, membership, record),
            Err(error) => self.join_failed(now, mgid, error),
        }
    }

    /// A group's deadline has been reached: the next attempt to join.
    pub(crate) fn group_due(&mut self, now: Instant, mgid: Gid) {
        if let Some(group) = self.groups.get_mut(mgid) {
            group.join = Join::Idle;
            self.join(now, mgid);
        }
    }

    /// Leaves a group. Without `tell` the subnet administration is not told: it cannot be, or has
    /// forgotten anyway.
    pub(crate) fn leave(&mut self, mgid: Gid, tell: bool) {
        let Some(group) = self.groups.by_mgid.remove(&mgid) else {
            return;
        };
        self.timers.cancel(Timer::Group(mgid));
        let mut held = JoinState::empty();
        if let Join::Asked(token) = group.join {
            // The request may have been granted, though we do not know yet.
            if let Some(Asked::Join(_, membership)) = self.requests.get(&token) {
                held |= membership.join_state();
            }
            self.cancel(token);
        }
        if let Some(grant) = group.grant {
            held |= grant.membership.join_state();
        }
        if let Some(mlid) = group.attached {
            self.act(Action::Detach { mgid, mlid });
        }
        for _ in &group.waiting {
            self.counters.drop(DropReason::Flushed);
        }
        if tell && !held.is_empty() {
            let record = self.member_record(mgid, held);
            self.tell(SaRequest::Leave { record });
        }
    }

    /// Puts all memberships in doubt and asks for them again, the broadcast group's first. What was
    /// granted serves until something else is.
    pub(crate) fn rejoin_all(&mut self, now: Instant) {
        let mgids: Vec<Gid> = self.groups.by_mgid.keys().copied().collect();
        for mgid in mgids {
            self.timers.cancel(Timer::Group(mgid));
            let Some(group) = self.groups.get_mut(mgid) else {
                continue;
            };
            group.confirmed = false;
            group.failures = 0;
            if let Join::Asked(token) = std::mem::replace(&mut group.join, Join::Idle) {
                self.cancel(token);
            }
        }
        self.join(now, self.broadcast_mgid());
    }

    /// Leaves groups that we only send to, and have not for long.
    pub(crate) fn collect_groups(&mut self, now: Instant) {
        let idle: Vec<Gid> = self
            .groups
            .by_mgid
            .iter()
            .filter(|(_, group)| {
                group.wanted == Membership::SendOnly
                    && group.waiting.is_empty()
                    && now.saturating_since(group.last_used) >= SEND_ONLY_IDLE
            })
            .map(|(mgid, _)| *mgid)
            .collect();
        for mgid in idle {
            self.leave(mgid, true);
        }
    }

    fn joined(&mut self, now: Instant, mgid: Gid, membership: Membership, record: McMemberRecord) {
        let Some(group) = self.groups.get_mut(mgid) else {
            return;
        };
        let vector = group::vector_of(&record);
        let before = group.grant.replace(Grant {
            membership,
            record,
            vector,
        });
        group.confirmed = true;
        group.failures = 0;
        group.last_error = None;
        let waiting = std::mem::take(&mut group.waiting);
        let settled = group.is_settled();
        let attached = group.attached;
        if membership == Membership::Full && attached != Some(record.mlid) {
            group.attached = Some(record.mlid);
            if let Some(mlid) = attached {
                self.act(Action::Detach { mgid, mlid });
            }
            self.act(Action::Attach {
                mgid,
                mlid: record.mlid,
            });
        }
        if membership == Membership::Full
            && before.is_some_and(|grant| grant.membership == Membership::SendOnly)
        {
            let record = self.member_record(mgid, Membership::SendOnly.join_state());
            self.tell(SaRequest::Leave { record });
        }
        if mgid == self.broadcast_mgid() {
            self.broadcast_joined(now, &record);
        }
        for (ether_type, frame) in waiting {
            self.post(vector, Qpn::MULTICAST, ether_type, frame);
        }
        if !settled {
            // It became a full member's group while the answer to a lesser request was under way.
            self.join(now, mgid);
        }
    }

    fn join_failed(&mut self, now: Instant, mgid: Gid, error: SaError) {
        let Some(group) = self.groups.get_mut(mgid) else {
            return;
        };
        group.failures = group.failures.saturating_add(1);
        group.last_error = Some(error);
        if group.wanted == Membership::SendOnly && group.failures >= SEND_ONLY_ATTEMPTS {
            // The next packet starts over.
            group.failures = 0;
            for _ in std::mem::take(&mut group.waiting) {
                self.counters.drop(DropReason::GroupJoinFailed);
            }
            return;
        }
        group.join = Join::BackingOff;
        let at = now + group.backoff();
        self.timers.set(Timer::Group(mgid), at);
    }

    /// We are in the broadcast group, for the first time or again: what it says holds for the whole
    /// interface.
    fn broadcast_joined(&mut self, now: Instant, record: &McMemberRecord) {
        if self.qkey != record.qkey || !self.carrier {
            self.qkey = record.qkey;
            self.act(Action::SetQKey(record.qkey));
        }
        if let Some(mtu) = record.mtu {
            self.mtu.set_group(mtu);
        }
        let had_carrier = self.carrier;
        self.carrier = true;
        self.announce_mtu();
        if !had_carrier {
            self.act(Action::Carrier(true));
        }
        let unsettled: Vec<Gid> = self
            .groups
            .by_mgid
            .iter()
            .filter(|(_, group)| !group.is_settled() && !matches!(group.join, Join::Asked(_)))
            .map(|(mgid, _)| *mgid)
            .collect();
        for mgid in unsettled {
            self.join(now, mgid);
        }
        if !had_carrier {
            self.start_detection(now);
        }
    }

    /// The groups to be a full member of.
    fn wanted_groups(&self) -> BTreeSet<Gid> {
        let space = self.group_space();
        let mut wanted = BTreeSet::from([space.broadcast()]);
        wanted.extend(
            self.memberships
                .iter()
                .filter(|group| leaves_the_host(**group))
                .map(|g| space.group(*g)),
        );
        for ip in self.addressing.addresses.keys() {
            match ip {
                IpAddr::V4(_) => {
                    wanted.insert(space.ipv4(ALL_HOSTS));
                }
                IpAddr::V6(ip) => {
                    wanted.insert(space.ipv6(ALL_NODES));
                    wanted.insert(space.ipv6(solicited_node(*ip)));
                }
            }
        }
        wanted
    }

    /// Makes an entry for a group to send to only. Answers whether there was room.
    fn add_send_only(&mut self, now: Instant, mgid: Gid) -> bool {
        match self.groups.room_for_send_only() {
            Ok(()) => {}
            Err(Some(idle)) => self.leave(idle, true),
            Err(None) => return false,
        }
        self.groups
            .by_mgid
            .insert(mgid, Group::new(now, Membership::SendOnly));
        true
    }

    /// A record with nothing in it but who and what.
    fn member_record(&self, mgid: Gid, join_state: JoinState) -> McMemberRecord {
        McMemberRecord {
            mgid,
            port_gid: self.own_gid(),
            pkey: self.pkey(),
            join_state,
            ..McMemberRecord::default()
        }
    }

    fn group_space(&self) -> GroupSpace {
        GroupSpace::new(GroupSpace::DEFAULT_SCOPE, self.pkey())
    }
}

/// Whether packets for a group leave the host: those of interface-local scope do not.
fn leaves_the_host(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => group.is_multicast(),
        IpAddr::V6(group) => group.is_multicast() && group.octets()[1] & 0xF > 1,
    }
}

/// Whether a grant is one that packets can be sent by.
fn is_sound(record: &McMemberRecord, mgid: Gid, is_broadcast: bool) -> bool {
    record.mgid == mgid && record.mlid.is_multicast() && (!is_broadcast || record.mtu.is_some())
}
