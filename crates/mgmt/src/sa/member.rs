//! MCMemberRecord: joining, leaving and listing multicast groups (IBA 15.2.5.17).

use softib_wire::addr::{Gid, PKey};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::sa::{McMemberMask, McMemberRecord};
use softib_wire::mad::status::MadStatus;
use softib_wire::units::{Mtu, Rate, Selector};

use super::groups::{Group, Groups, Member};
use super::{Answer, Changes, Records, Reply, Request, View, components};
use crate::sm::database::PortId;
use crate::sm::links;

/// Signatures of IPoIB in an MGID (RFC 4391 §4).
const IPOIB_SIGNATURES: [[u8; 2]; 2] = [[0x40, 0x1B], [0x60, 0x1B]];

/// Set: joins a group, and creates it if it is not there and everything is given that it takes.
pub(super) fn join(
    view: View<'_>,
    groups: &mut Groups,
    asked: Request<'_>,
    changes: &mut Changes,
) -> Answer {
    let wanted: McMemberRecord = asked.record()?;
    let mask = McMemberMask::from_bits_truncate(asked.mad.component_mask);
    if !mask.contains(McMemberMask::PORT_GID | McMemberMask::JOIN_STATE) {
        return Err(MadStatus::SA_INSUFFICIENT_COMPONENTS);
    }
    if wanted.join_state.is_empty() {
        return Err(MadStatus::SA_REQUEST_INVALID);
    }
    let port = member_port(view, asked, &wanted)?;
    let named = mask.contains(McMemberMask::MGID) && wanted.mgid != Gid::NONE;
    // Everything is checked before anything is changed: a bad request does not touch the group.
    let mgid = match groups.get(wanted.mgid).filter(|_| named) {
        Some(group) => {
            check_parameters(group, &wanted, mask)?;
            check_port(view, port, group.record.pkey, group.mtu, group.rate)?;
            wanted.mgid
        }
        None => create(view, groups, port, &wanted, mask, changes)?,
    };
    let guid = wanted.port_gid.guid();
    let member = Member {
        join_state: wanted.join_state,
        port_gid: Gid::from_prefix_guid(view.config.subnet_prefix, guid),
        proxy: mask.contains(McMemberMask::PROXY_JOIN) && wanted.proxy_join,
    };
    groups.join(mgid, guid, member, changes);
    let group = groups.get(mgid).ok_or(MadStatus::SA_NO_RESOURCES)?;
    Ok(Reply::record(&group.record_of(group.members.get(&guid))))
}

/// Delete: gives up one or more ways of being a member.
pub(super) fn leave(
    view: View<'_>,
    groups: &mut Groups,
    asked: Request<'_>,
    changes: &mut Changes,
) -> Answer {
    let wanted: McMemberRecord = asked.record()?;
    let mask = McMemberMask::from_bits_truncate(asked.mad.component_mask);
    if !mask.contains(McMemberMask::LEAVE) {
        return Err(MadStatus::SA_INSUFFICIENT_COMPONENTS);
    }
    member_port(view, asked, &wanted)?;
    let guid = wanted.port_gid.guid();
    let group = groups
        .get(wanted.mgid)
        .ok_or(MadStatus::SA_REQUEST_INVALID)?;
    let member = group
        .members
        .get(&guid)
        .ok_or(MadStatus::SA_REQUEST_INVALID)?;
    // IBA 15.2.5.17.5: only what was joined can be left.
    if wanted.join_state.is_empty() || !member.join_state.contains(wanted.join_state) {
        return Err(MadStatus::SA_REQUEST_INVALID);
    }
    let mut record = group.record_of(Some(member));
    record.join_state = wanted.join_state;
    groups.leave(wanted.mgid, guid, wanted.join_state, changes);
    Ok(Reply::record(&record))
}

/// Get and GetTable. Who is not trusted learns which groups there are and its own memberships; who
/// is trusted, all members.
pub(super) fn query(view: View<'_>, groups: &Groups, asked: Request<'_>) -> Answer {
    let wanted: McMemberRecord = asked.record()?;
    let mask = McMemberMask::from_bits_truncate(asked.mad.component_mask);
    let own_guid = asked
        .requester
        .and_then(|port| view.database.port(port)?.guid);
    let mut found = Records::new::<McMemberRecord>();
    for (_, group) in groups.iter() {
        if !selectors_fit(group, &wanted, mask) {
            continue;
        }
        if asked.trusted || mask.contains(McMemberMask::PORT_GID) {
            for (&guid, member) in &group.members {
                if asked.trusted || own_guid == Some(guid) {
                    push(&mut found, group.record_of(Some(member)), &wanted, mask);
                }
            }
        } else {
            push(&mut found, group.record_of(None), &wanted, mask);
        }
    }
    Ok(Reply::Records(found))
}

fn push(found: &mut Records, record: McMemberRecord, wanted: &McMemberRecord, mask: McMemberMask) {
    let same =
        components::matches::<McMemberRecord>(mask.bits(), &wanted.to_bytes(), &record.to_bytes());
    if same {
        found.push_unasked(&record);
    }
}

/// The port that is to be a member: it must be one of the subnet, and of the node that asks.
fn member_port(
    view: View<'_>,
    asked: Request<'_>,
    wanted: &McMemberRecord,
) -> Result<PortId, MadStatus> {
    let port = view
        .database
        .by_gid(wanted.port_gid, view.config.subnet_prefix)
        .ok_or(MadStatus::SA_INVALID_GID)?;
    if !asked.speaks_for(port.node) {
        return Err(MadStatus::SA_REQUEST_DENIED);
    }
    Ok(port)
}

/// What the request says of the group must be so. A client that has other parameters in mind could
/// not talk to the members.
fn check_parameters(
    group: &Group,
    wanted: &McMemberRecord,
    mask: McMemberMask,
) -> Result<(), MadStatus> {
    let is = &group.record;
    let same = [
        (McMemberMask::Q_KEY, wanted.qkey == is.qkey),
        (McMemberMask::MLID, wanted.mlid == is.mlid),
        (
            McMemberMask::TRAFFIC_CLASS,
            wanted.traffic_class == is.traffic_class,
        ),
        (
            McMemberMask::P_KEY,
            wanted.pkey.partition() == is.pkey.partition(),
        ),
        (McMemberMask::SL, wanted.sl == is.sl),
        (McMemberMask::FLOW_LABEL, wanted.flow_label == is.flow_label),
        (McMemberMask::HOP_LIMIT, wanted.hop_limit == is.hop_limit),
        (McMemberMask::SCOPE, wanted.scope == is.scope),
    ];
    let agrees = same.iter().all(|&(bit, same)| same || !mask.contains(bit));
    if agrees && selectors_fit(group, wanted, mask) {
        Ok(())
    } else {
        Err(MadStatus::SA_REQUEST_INVALID)
    }
}

fn selectors_fit(group: &Group, wanted: &McMemberRecord, mask: McMemberMask) -> bool {
    let asked = |selector, value| mask.contains(selector | value);
    let mtu = !asked(McMemberMask::MTU_SELECTOR, McMemberMask::MTU)
        || wanted
            .mtu
            .is_none_or(|mtu| fits(wanted.mtu_selector, group.mtu, mtu));
    let rate = !asked(McMemberMask::RATE_SELECTOR, McMemberMask::RATE)
        || wanted
            .rate
            .is_none_or(|rate| fits(wanted.rate_selector, group.rate.gbps_x10(), rate.gbps_x10()));
    let life = !asked(McMemberMask::LIFE_TIME_SELECTOR, McMemberMask::LIFE_TIME)
        || fits(
            wanted.life_time_selector,
            group.record.life_time,
            wanted.life_time,
        );
    mtu && rate && life
}

/// IBA 15.2.5.16: whether a value is what a selector asks for.
pub(super) fn fits<T: Ord>(selector: Selector, is: T, asked: T) -> bool {
    match selector {
        Selector::Greater => is > asked,
        Selector::Less => is < asked,
        Selector::Exactly => is == asked,
        Selector::Largest => true,
    }
}

/// Whether a port can be a member at all: the partition, the MTU, the rate.
fn check_port(
    view: View<'_>,
    port: PortId,
    pkey: PKey,
    mtu: Mtu,
    rate: Rate,
) -> Result<(), MadStatus> {
    let data = view.database.port(port).ok_or(MadStatus::SA_INVALID_GID)?;
    let keys = data.pkeys.as_deref().unwrap_or(&[]);
    if !keys.iter().any(|key| key.matches(pkey)) {
        return Err(MadStatus::SA_REQUEST_INVALID);
    }
    let info = data.info.as_ref().ok_or(MadStatus::SA_REQUEST_INVALID)?;
    // What the link can carry counts, not what the port could do on another one.
    let able = usable_mtu(info) >= mtu && links::rate(info).gbps_x10() >= rate.gbps_x10();
    if able {
        Ok(())
    } else {
        Err(MadStatus::SA_REQUEST_INVALID)
    }
}

/// The largest payload on the port's link.
fn usable_mtu(info: &PortInfo) -> Mtu {
    info.neighbor_mtu.or(info.mtu_cap).unwrap_or(Mtu::B256)
}

/// Creates a group as a request describes it.
fn create(
    view: View<'_>,
    groups: &mut Groups,
    port: PortId,
    wanted: &McMemberRecord,
    mask: McMemberMask,
    changes: &mut Changes,
) -> Result<Gid, MadStatus> {
    // IBA 15.2.5.17.2: what has no default must be given. Without an MGID one is made up.
    if !mask.contains(McMemberMask::CREATE.difference(McMemberMask::MGID)) {
        return Err(MadStatus::SA_INSUFFICIENT_COMPONENTS);
    }
    if !wanted.join_state.sustains() || !wanted.pkey.is_valid() {
        return Err(MadStatus::SA_REQUEST_INVALID);
    }
    let info = view
        .database
        .port(port)
        .and_then(|port| port.info.as_ref())
        .ok_or(MadStatus::SA_REQUEST_INVALID)?;
    let mtu = chosen_mtu(info, wanted, mask)?;
    let rate = chosen_rate(info, wanted, mask)?;
    let mut record = *wanted;
    record.pkey = wanted.pkey.full();
    if !mask.contains(McMemberMask::HOP_LIMIT) {
        record.hop_limit = 0;
    }
    if !mask.contains(McMemberMask::LIFE_TIME) || record.life_time > 31 {
        record.life_time = view.config.packet_life_time;
    }
    check_port(view, port, record.pkey, mtu, rate)?;
    let asked_scope = mask.contains(McMemberMask::SCOPE) && wanted.scope != 0;
    if wanted.mgid == Gid::NONE || !mask.contains(McMemberMask::MGID) {
        record.scope = if asked_scope { wanted.scope } else { 2 };
        let prefix = view.config.subnet_prefix;
        record.mgid = groups.make_up_mgid(record.scope, record.pkey, prefix);
    } else {
        check_mgid(wanted.mgid)?;
        record.scope = wanted.mgid.octets()[1] & 15;
        if asked_scope && wanted.scope != record.scope {
            return Err(MadStatus::SA_REQUEST_INVALID);
        }
        check_ipoib(groups, &record, mtu, rate)?;
    }
    let mgid = record.mgid;
    match groups.create(record, mtu, rate, changes) {
        Some(_) => Ok(mgid),
        None => Err(MadStatus::SA_NO_RESOURCES),
    }
}

/// IBA 4.1.1: `FF`, four flags of which only T is defined, a scope that is not reserved.
fn check_mgid(mgid: Gid) -> Result<(), MadStatus> {
    let octets = mgid.octets();
    let scope = octets[1] & 15;
    if mgid.is_multicast() && octets[1] & 0xE0 == 0 && scope != 0 && scope != 15 {
        Ok(())
    } else {
        Err(MadStatus::SA_INVALID_GID)
    }
}

/// RFC 4391 §10: groups of IPoIB have the P_Key, Q_Key, MTU, SL … of the broadcast group of their
/// partition and scope, which must be there.
fn check_ipoib(
    groups: &Groups,
    record: &McMemberRecord,
    mtu: Mtu,
    rate: Rate,
) -> Result<(), MadStatus> {
    let octets = record.mgid.octets();
    if !IPOIB_SIGNATURES.contains(&[octets[2], octets[3]]) {
        return Ok(());
    }
    let mut broadcast = [0; 16];
    broadcast[..6].copy_from_slice(&[octets[0], octets[1], 0x40, 0x1B, octets[4], octets[5]]);
    broadcast[12..].fill(0xFF);
    let group = groups
        .get(Gid::new(broadcast))
        .ok_or(MadStatus::SA_REQUEST_INVALID)?;
    let is = &group.record;
    let agrees = record.pkey == is.pkey
        && record.qkey == is.qkey
        && record.sl == is.sl
        && record.flow_label == is.flow_label
        && record.traffic_class == is.traffic_class
        && mtu == group.mtu
        && rate == group.rate;
    if agrees {
        Ok(())
    } else {
        Err(MadStatus::SA_REQUEST_INVALID)
    }
}

/// The MTU of a new group: what the request asks for, or else that of the creator's link.
fn chosen_mtu(
    info: &PortInfo,
    wanted: &McMemberRecord,
    mask: McMemberMask,
) -> Result<Mtu, MadStatus> {
    let most = usable_mtu(info);
    let given = wanted
        .mtu
        .filter(|_| mask.contains(McMemberMask::MTU | McMemberMask::MTU_SELECTOR));
    choose(wanted.mtu_selector, given, most, Mtu::ALL, |&mtu| {
        u32::from(mtu.code())
    })
}

fn chosen_rate(
    info: &PortInfo,
    wanted: &McMemberRecord,
    mask: McMemberMask,
) -> Result<Rate, MadStatus> {
    let most = links::rate(info);
    let given = wanted
        .rate
        .filter(|_| mask.contains(McMemberMask::RATE | McMemberMask::RATE_SELECTOR));
    choose(wanted.rate_selector, given, most, Rate::ALL, |rate| {
        rate.gbps_x10()
    })
}

/// The largest value up to `most` that a selector allows.
fn choose<T: Copy>(
    selector: Selector,
    given: Option<T>,
    most: T,
    all: &[T],
    order: impl Fn(&T) -> u32,
) -> Result<T, MadStatus> {
    let Some(given) = given else {
        return Ok(most);
    };
    all.iter()
        .copied()
        .filter(|value| fits(selector, order(value), order(&given)))
        .filter(|value| order(value) <= order(&most))
        .max_by_key(&order)
        .ok_or(MadStatus::SA_REQUEST_INVALID)
}
