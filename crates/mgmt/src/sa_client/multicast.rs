//! Memberships in multicast groups, counted for all users of a port: the administrator knows only
//! the port (IBA 15.2.5.17). It is asked when the first user joins in some way, and told when the last
//! one has left; of one group there is one request under way at a time.

use std::collections::{BTreeMap, VecDeque};

use softib_wire::addr::Gid;
use softib_wire::mad::sa::{JoinState, McMemberMask, McMemberRecord};
use softib_wire::units::{Mtu, Rate, Selector};

use super::request::{RequestId, SaError, UserId};

/// What a group wants of the client that owns it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Tell a user.
    Reply(RequestId, Result<McMemberRecord, SaError>),
    /// Set(MCMemberRecord).
    Join(McMemberRecord, u64),
    /// Delete(MCMemberRecord).
    Leave(McMemberRecord),
}

/// The groups of a port.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<Gid, Group>);

#[derive(Debug)]
struct Group {
    /// The group, as the administrator described it last.
    record: McMemberRecord,
    /// What the port is, as far as the administrator knows.
    joined: JoinState,
    users: BTreeMap<UserId, JoinState>,
    pending: VecDeque<Join>,
    busy: Busy,
}

#[derive(Debug, Default)]
enum Busy {
    #[default]
    No,
    Joining(Join),
    Leaving {
        states: JoinState,
        retries_left: u32,
    },
}

#[derive(Debug, Clone)]
struct Join {
    /// Who waits for it; nobody does after he cancelled it.
    waits: Option<(RequestId, UserId)>,
    record: McMemberRecord,
    mask: u64,
}

/// How often a leave is asked for again that nobody answered.
const LEAVE_RETRIES: u32 = 3;

impl Groups {
    /// Whether the port joins, is in, or leaves any group.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Joins that wait for their turn or an answer.
    pub(super) fn waiting(&self) -> usize {
        self.0
            .values()
            .map(|group| group.pending.len() + usize::from(matches!(group.busy, Busy::Joining(_))))
            .sum()
    }

    pub(super) fn join(&mut self, id: RequestId, user: UserId, record: McMemberRecord, mask: u64) {
        let group = self.0.entry(record.mgid).or_default();
        group.pending.push_back(Join {
            waits: Some((id, user)),
            record,
            mask,
        });
    }

    pub(super) fn leave(&mut self, user: UserId, mgid: Gid, states: JoinState) {
        let Some(group) = self.0.get_mut(&mgid) else {
            return;
        };
        if let Some(held) = group.users.get_mut(&user) {
            held.remove(states);
            if held.is_empty() {
                group.users.remove(&user);
            }
        }
    }

    /// The user no longer waits for a join. If the administrator grants it, it is left again.
    pub(super) fn cancel(&mut self, id: RequestId) -> Option<Gid> {
        let waits_for = |join: &Join| join.waits.is_some_and(|(waiting, _)| waiting == id);
        for (&mgid, group) in &mut self.0 {
            if let Some(at) = group.pending.iter().position(waits_for) {
                group.pending.remove(at);
                return Some(mgid);
            }
            if let Busy::Joining(join) = &mut group.busy
                && waits_for(join)
            {
                join.waits = None;
                return Some(mgid);
            }
        }
        None
    }

    /// The user is gone: it waits for nothing, and is in no group.
    pub(super) fn forget_user(&mut self, user: UserId) {
        let is_of_user = |join: &Join| join.waits.is_some_and(|(_, waiting)| waiting == user);
        for group in self.0.values_mut() {
            group.users.remove(&user);
            group.pending.retain(|join| !is_of_user(join));
            if let Busy::Joining(join) = &mut group.busy
                && is_of_user(join)
            {
                join.waits = None;
            }
        }
    }

    /// The administrator has forgotten all memberships. Joins that wait for an answer will be asked
    /// for again; what was under way is void.
    pub(super) fn reset(&mut self) {
        for group in self.0.values_mut() {
            group.joined = JoinState::empty();
            group.users.clear();
            if let Busy::Joining(join) = core::mem::take(&mut group.busy)
                && join.waits.is_some()
            {
                group.pending.push_front(join);
            }
        }
    }

    /// There is no administrator any more. Who waited for a join.
    pub(super) fn clear(&mut self) -> Vec<RequestId> {
        let mut waiting = Vec::new();
        for group in core::mem::take(&mut self.0).into_values() {
            let mut joins = group.pending;
            if let Busy::Joining(join) = group.busy {
                joins.push_front(join);
            }
            waiting.extend(joins.iter().filter_map(|join| join.waits).map(|(id, _)| id));
        }
        waiting
    }

    pub(super) fn mgids(&self) -> Vec<Gid> {
        self.0.keys().copied().collect()
    }

    /// What the group wants done next. Ask until it is `None`.
    pub(super) fn step(&mut self, mgid: Gid) -> Option<Step> {
        let group = self.0.get_mut(&mgid)?;
        let step = group.step(mgid);
        if step.is_none() && group.is_idle() {
            self.0.remove(&mgid);
        }
        step
    }

    /// The administrator answered a join, or did not.
    pub(super) fn joined(
        &mut self,
        mgid: Gid,
        result: Result<McMemberRecord, SaError>,
    ) -> Option<Step> {
        let group = self.0.get_mut(&mgid)?;
        let Busy::Joining(join) = core::mem::take(&mut group.busy) else {
            return None;
        };
        let states = join.record.join_state;
        let record = match result {
            Ok(record) => record,
            Err(error) => {
                if error == SaError::Malformed {
                    // It was granted, whatever it is: leave again.
                    group.joined.insert(states);
                    group.record.mgid = mgid;
                    group.record.port_gid = join.record.port_gid;
                }
                return join.waits.map(|(id, _)| Step::Reply(id, Err(error)));
            }
        };
        let group = if record.mgid == mgid {
            group
        } else {
            // MGID 0 asks for a group of the administrator's choice: this is it. Others who ask for
            // one want another one.
            let new = self.0.entry(record.mgid).or_default();
            if !matches!(new.busy, Busy::No) {
                return join
                    .waits
                    .map(|(id, _)| Step::Reply(id, Err(SaError::Malformed)));
            }
            new
        };
        group.record = record;
        // Hard to tell from a lost leave: the administrator names all states of the port.
        group.joined.insert(record.join_state | states);
        let (id, user) = join.waits?;
        group
            .users
            .entry(user)
            .or_insert(JoinState::empty())
            .insert(states);
        Some(Step::Reply(id, Ok(group.record_for(states))))
    }

    /// The administrator answered a leave, or did not.
    pub(super) fn left(&mut self, mgid: Gid, answered: bool) -> Option<Step> {
        let group = self.0.get_mut(&mgid)?;
        let Busy::Leaving {
            states,
            retries_left,
        } = core::mem::take(&mut group.busy)
        else {
            return None;
        };
        if answered || retries_left == 0 {
            return None;
        }
        group.busy = Busy::Leaving {
            states,
            retries_left: retries_left - 1,
        };
        Some(Step::Leave(group.record_for(states)))
    }
}

impl Default for Group {
    fn default() -> Self {
        Self {
            record: McMemberRecord::default(),
            joined: JoinState::empty(),
            users: BTreeMap::new(),
            pending: VecDeque::new(),
            busy: Busy::No,
        }
    }
}

impl Group {
    fn is_idle(&self) -> bool {
        matches!(self.busy, Busy::No)
            && self.pending.is_empty()
            && self.users.is_empty()
            && self.joined.is_empty()
    }

    fn step(&mut self, mgid: Gid) -> Option<Step> {
        if !matches!(self.busy, Busy::No) {
            return None;
        }
        let Some(join) = self.pending.pop_front() else {
            return self.leave_what_nobody_wants();
        };
        let states = join.record.join_state;
        if mgid == Gid::NONE || states.is_empty() || !self.joined.contains(states) {
            let step = Step::Join(join.record, join.mask);
            self.busy = Busy::Joining(join);
            return Some(step);
        }
        let (id, user) = join.waits?;
        if !is_as_asked(&self.record, &join.record, join.mask) {
            return Some(Step::Reply(id, Err(SaError::Mismatch)));
        }
        self.users
            .entry(user)
            .or_insert(JoinState::empty())
            .insert(states);
        Some(Step::Reply(id, Ok(self.record_for(states))))
    }

    fn leave_what_nobody_wants(&mut self) -> Option<Step> {
        let wanted = self
            .users
            .values()
            .fold(JoinState::empty(), |all, &states| all | states);
        let states = self.joined - wanted;
        if states.is_empty() {
            return None;
        }
        self.joined.remove(states);
        self.busy = Busy::Leaving {
            states,
            retries_left: LEAVE_RETRIES,
        };
        Some(Step::Leave(self.record_for(states)))
    }

    const fn record_for(&self, join_state: JoinState) -> McMemberRecord {
        McMemberRecord {
            join_state,
            ..self.record
        }
    }
}

/// Whether a group is what a join asks for.
fn is_as_asked(group: &McMemberRecord, asked: &McMemberRecord, mask: u64) -> bool {
    let mask = McMemberMask::from_bits_retain(mask);
    let same = |component: McMemberMask, is_same: bool| !mask.contains(component) || is_same;
    let within = |components: McMemberMask, selector: Selector, have: u64, want: u64| {
        !mask.contains(components)
            || match selector {
                Selector::Greater => have > want,
                Selector::Less => have < want,
                Selector::Exactly => have == want,
                Selector::Largest => true,
            }
    };
    let mtu = |mtu: Option<Mtu>| mtu.map_or(0, |mtu| mtu.octets() as u64);
    let rate = |rate: Option<Rate>| rate.map_or(0, |rate| u64::from(rate.gbps_x10()));
    same(McMemberMask::PORT_GID, group.port_gid == asked.port_gid)
        && same(McMemberMask::Q_KEY, group.qkey == asked.qkey)
        && same(McMemberMask::MLID, group.mlid == asked.mlid)
        && same(
            McMemberMask::TRAFFIC_CLASS,
            group.traffic_class == asked.traffic_class,
        )
        && same(McMemberMask::P_KEY, group.pkey == asked.pkey)
        && same(McMemberMask::SL, group.sl == asked.sl)
        && same(
            McMemberMask::FLOW_LABEL,
            group.flow_label == asked.flow_label,
        )
        && same(McMemberMask::HOP_LIMIT, group.hop_limit == asked.hop_limit)
        && same(McMemberMask::SCOPE, group.scope == asked.scope)
        && within(
            McMemberMask::MTU_SELECTOR | McMemberMask::MTU,
            asked.mtu_selector,
            mtu(group.mtu),
            mtu(asked.mtu),
        )
        && within(
            McMemberMask::RATE_SELECTOR | McMemberMask::RATE,
            asked.rate_selector,
            rate(group.rate),
            rate(asked.rate),
        )
        && within(
            McMemberMask::LIFE_TIME_SELECTOR | McMemberMask::LIFE_TIME,
            asked.life_time_selector,
            u64::from(group.life_time),
            u64::from(asked.life_time),
        )
}
