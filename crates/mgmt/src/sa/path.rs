//! PathRecord: how to reach a port, or a multicast group (IBA 15.2.5.16).

use softib_wire::addr::{Gid, Lid, PKey};
use softib_wire::mad::method;
use softib_wire::mad::sa::{PathMask, PathRecord};
use softib_wire::mad::status::MadStatus;
use softib_wire::units::{Mtu, Rate, Selector};

use super::groups::{Group, Groups};
use super::member::fits;
use super::{Answer, Records, Reply, Request, View};
use crate::sm::database::{Port, PortId};
use crate::sm::{links, trace};

/// Records that one answer holds at most: all paths of one port of the largest subnet, and more.
const MOST_RECORDS: usize = 65_536;

/// Get and GetTable.
pub(super) fn query(view: View<'_>, groups: &Groups, asked: Request<'_>) -> Answer {
    let wanted: PathRecord = asked.record()?;
    let mask = PathMask::from_bits_truncate(asked.mad.component_mask);
    let is_table = asked.mad.header.method == method::GET_TABLE;
    if mask.contains(PathMask::DGID) && wanted.dgid.is_multicast() {
        return to_group(groups, &wanted, mask);
    }
    let named_source = ports(
        view,
        mask.contains(PathMask::SGID).then_some(wanted.sgid),
        mask.contains(PathMask::SLID).then_some(wanted.slid),
    )?;
    // Who asks for one path without saying from where means itself.
    let sources = match named_source {
        None if !is_table => asked.requester.map(|port| vec![port]),
        source => source,
    };
    let destinations = ports(
        view,
        mask.contains(PathMask::DGID).then_some(wanted.dgid),
        mask.contains(PathMask::DLID).then_some(wanted.dlid),
    )?;
    let everybody = || view.database.end_ports().map(|(id, _)| id).collect();
    let sources: Vec<PortId> = sources.unwrap_or_else(everybody);
    let destinations: Vec<PortId> = destinations.unwrap_or_else(everybody);
    let asks_count = is_table && mask.contains(PathMask::PATH_COUNT);
    let count = match wanted.path_count {
        0 => 1,
        count if asks_count => usize::from(count),
        _ => 1,
    };
    let mut found = Records::new::<PathRecord>();
    for &source in &sources {
        for &destination in &destinations {
            if found.count() >= MOST_RECORDS {
                return Err(MadStatus::SA_TOO_MANY_RECORDS);
            }
            paths(view, source, destination, &wanted, mask, count, &mut found);
        }
    }
    Ok(Reply::Records(found))
}

/// The port that a GID and a LID name, if any of them is given.
fn ports(
    view: View<'_>,
    gid: Option<Gid>,
    lid: Option<Lid>,
) -> Result<Option<Vec<PortId>>, MadStatus> {
    let by_gid = match gid {
        Some(gid) => Some(
            view.database
                .by_gid(gid, view.config.subnet_prefix)
                .ok_or(MadStatus::SA_INVALID_GID)?,
        ),
        None => None,
    };
    let by_lid = match lid {
        Some(lid) => Some(view.database.by_lid(lid).ok_or(MadStatus::SA_NO_RECORDS)?),
        None => None,
    };
    Ok(match (by_gid, by_lid) {
        (None, None) => None,
        (Some(a), Some(b)) if a != b => Some(Vec::new()),
        (a, b) => a.or(b).map(|port| vec![port]),
    })
}

/// Paths between two ports.
fn paths(
    view: View<'_>,
    source: PortId,
    destination: PortId,
    wanted: &PathRecord,
    mask: PathMask,
    count: usize,
    found: &mut Records,
) {
    let database = view.database;
    let (Some(from), Some(to)) = (database.port(source), database.port(destination)) else {
        return;
    };
    if from.lid == Lid::NONE || to.lid == Lid::NONE {
        return;
    }
    let asked_key = mask.contains(PathMask::P_KEY).then_some(wanted.pkey);
    let Some(pkey) = shared_pkey(from, to, asked_key) else {
        return;
    };
    let lids = |port: PortId| {
        if port.port == 0 {
            1
        } else {
            1 << view.config.lmc
        }
    };
    let ways = lids(source).min(lids(destination)).min(count);
    for way in (0u16..).take(ways) {
        let slid = if mask.contains(PathMask::SLID) {
            wanted.slid
        } else {
            Lid::new(from.lid.bits() + way)
        };
        let dlid = if mask.contains(PathMask::DLID) {
            wanted.dlid
        } else {
            Lid::new(to.lid.bits() + way)
        };
        let Some((mtu, rate)) = least(view, source, dlid) else {
            return;
        };
        let life = if source == destination {
            0
        } else {
            view.config.packet_life_time
        };
        let Some((mtu, rate, life)) = limit(mtu, rate, life, wanted, mask) else {
            return;
        };
        let gid = |port: &Port| {
            let guid = port.guid.unwrap_or_default();
            Gid::from_prefix_guid(view.config.subnet_prefix, guid)
        };
        found.push_unasked(&PathRecord {
            dgid: gid(to),
            sgid: gid(from),
            dlid,
            slid,
            reversible: true,
            path_count: 1,
            pkey,
            traffic_class: given(mask, PathMask::TRAFFIC_CLASS, wanted.traffic_class),
            sl: given(mask, PathMask::SL, wanted.sl),
            mtu_selector: Selector::Exactly,
            mtu: Some(mtu),
            rate_selector: Selector::Exactly,
            rate: Some(rate),
            life_time_selector: Selector::Exactly,
            life_time: life,
            ..PathRecord::default()
        });
    }
}

fn given<T: Default>(mask: PathMask, bit: PathMask, value: T) -> T {
    if mask.contains(bit) {
        value
    } else {
        T::default()
    }
}

/// A P_Key that both ports have: the one asked for, or the source's first that will do.
fn shared_pkey(from: &Port, to: &Port, asked: Option<PKey>) -> Option<PKey> {
    let keys = from.pkeys.as_deref()?;
    let peer_keys = to.pkeys.as_deref()?;
    keys.iter()
        .copied()
        .filter(|key| asked.is_none_or(|asked| asked.partition() == key.partition()))
        .find(|key| peer_keys.iter().any(|peer| peer.matches(*key)))
}

/// The smallest MTU and rate on the way.
fn least(view: View<'_>, source: PortId, dlid: Lid) -> Option<(Mtu, Rate)> {
    let of = |id| {
        let info = view.database.port(id)?.info.as_ref()?;
        let mtu = info.neighbor_mtu.or(info.mtu_cap).unwrap_or(Mtu::B256);
        Some((mtu, links::rate(info)))
    };
    let mut least: Option<(Mtu, Rate)> = None;
    let arrives = trace::follow(view.database, source, dlid, |egress, _| {
        if let Some((mtu, rate)) = of(egress) {
            let slower = |other: Rate| {
                if other.gbps_x10() < rate.gbps_x10() {
                    other
                } else {
                    rate
                }
            };
            least = Some(least.map_or((mtu, rate), |(least_mtu, least_rate)| {
                (least_mtu.min(mtu), slower(least_rate))
            }));
        }
    });
    if !arrives {
        return None;
    }
    // No hop at all: a port to itself.
    least.or_else(|| of(source))
}

/// What of the path's MTU, rate and life time the selectors allow to use. A path can be used with
/// less than it has.
fn limit(
    mtu: Mtu,
    rate: Rate,
    life: u8,
    wanted: &PathRecord,
    mask: PathMask,
) -> Option<(Mtu, Rate, u8)> {
    let asked_mtu = wanted
        .mtu
        .filter(|_| mask.contains(PathMask::MTU_SELECTOR | PathMask::MTU));
    let mtu = match asked_mtu {
        None => mtu,
        Some(asked) => most(wanted.mtu_selector, asked, mtu, Mtu::ALL, |mtu| {
            u32::from(mtu.code())
        })?,
    };
    let asked_rate = wanted
        .rate
        .filter(|_| mask.contains(PathMask::RATE_SELECTOR | PathMask::RATE));
    let rate = match asked_rate {
        None => rate,
        Some(asked) => most(wanted.rate_selector, asked, rate, Rate::ALL, |rate| {
            rate.gbps_x10()
        })?,
    };
    if !mask.contains(PathMask::LIFE_TIME_SELECTOR | PathMask::LIFE_TIME) {
        return Some((mtu, rate, life));
    }
    // A life time is a bound: a longer one is as true.
    let life = match wanted.life_time_selector {
        Selector::Greater if wanted.life_time >= 31 => return None,
        Selector::Greater => life.max(wanted.life_time + 1),
        Selector::Exactly if life <= wanted.life_time => wanted.life_time,
        Selector::Less if life < wanted.life_time => life,
        Selector::Largest => life,
        Selector::Exactly | Selector::Less => return None,
    };
    Some((mtu, rate, life))
}

/// The largest value that a selector allows and the path has.
fn most<T: Copy>(
    selector: Selector,
    asked: T,
    has: T,
    all: &[T],
    order: impl Fn(T) -> u32,
) -> Option<T> {
    all.iter()
        .copied()
        .filter(|&value| order(value) <= order(has))
        .filter(|&value| fits(selector, order(value), order(asked)))
        .max_by_key(|&value| order(value))
}

/// The path to a multicast group has the group's parameters.
fn to_group(groups: &Groups, wanted: &PathRecord, mask: PathMask) -> Answer {
    let mut found = Records::new::<PathRecord>();
    if let Some(group) = groups.get(wanted.dgid)
        && group_fits(group, wanted, mask)
    {
        let is = &group.record;
        found.push_unasked(&PathRecord {
            dgid: wanted.dgid,
            sgid: given(mask, PathMask::SGID, wanted.sgid),
            dlid: is.mlid,
            slid: given(mask, PathMask::SLID, wanted.slid),
            flow_label: is.flow_label,
            hop_limit: is.hop_limit,
            traffic_class: is.traffic_class,
            path_count: 1,
            pkey: is.pkey,
            sl: is.sl,
            mtu_selector: Selector::Exactly,
            mtu: Some(group.mtu),
            rate_selector: Selector::Exactly,
            rate: Some(group.rate),
            life_time_selector: Selector::Exactly,
            life_time: is.life_time,
            ..PathRecord::default()
        });
    }
    Ok(Reply::Records(found))
}

fn group_fits(group: &Group, wanted: &PathRecord, mask: PathMask) -> bool {
    let is = &group.record;
    let named = |bits| mask.contains(bits);
    (!named(PathMask::DLID) || wanted.dlid == is.mlid)
        && (!named(PathMask::P_KEY) || wanted.pkey.partition() == is.pkey.partition())
        && (!named(PathMask::SL) || wanted.sl == is.sl)
        && (!named(PathMask::MTU_SELECTOR | PathMask::MTU)
            || wanted
                .mtu
                .is_none_or(|mtu| fits(wanted.mtu_selector, group.mtu, mtu)))
        && (!named(PathMask::RATE_SELECTOR | PathMask::RATE)
            || wanted.rate.is_none_or(|rate| {
                fits(wanted.rate_selector, group.rate.gbps_x10(), rate.gbps_x10())
            }))
}
