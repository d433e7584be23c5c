//! Parameters of ports: what a Set of PortInfo writes (IBA 14.2.5.6).

use softib_wire::addr::Sl;
use softib_wire::mad::port_info::PortInfo;
use softib_wire::units::{Mtu, PhysState, PortState, Rate};

use super::config::SmConfig;
use super::database::{Database, PortId};
use super::partitions;

/// PortInfo as a port is to have it, with no change of state; `None`: the port was never read.
pub(super) fn wanted(database: &Database, config: &SmConfig, id: PortId) -> Option<PortInfo> {
    let node = database.node(id.node)?;
    let port = database.port(id)?;
    let mut info = port.info?;
    info.port_state = PortState::NoChange;
    info.phys_state = PhysState::NoChange;
    // Zero: no change (IBA 14.2.5.6).
    info.link_width_enabled = 0;
    info.link_speed_enabled = 0;
    info.link_speed_ext_enabled = 0;
    info.client_reregister = false;
    // Not zero, which would clear the counters.
    info.m_key_violations = u16::MAX;
    info.p_key_violations = u16::MAX;
    info.q_key_violations = u16::MAX;
    let is_end_port = port.guid.is_some();
    if is_end_port {
        info.gid_prefix = config.subnet_prefix;
        info.lid = port.lid;
        info.lmc = if id.port == 0 { 0 } else { config.lmc };
        info.master_sm_lid = database.own.map_or(port.lid, |own| database.lid_of(own));
        info.master_sm_sl = Sl::default();
        info.subnet_timeout = config.subnet_timeout;
    }
    if node.is_switch() && id.port == 0 {
        info.neighbor_mtu = info.mtu_cap;
        return Some(info);
    }
    let peer = port
        .peer
        .and_then(|peer| Some((peer, database.port(peer)?)));
    let Some((peer_id, peer_info)) = peer.and_then(|(id, peer)| Some((id, peer.info.as_ref()?)))
    else {
        return Some(info);
    };
    info.neighbor_mtu = Some(least_mtu(&info, peer_info));
    info.operational_vls = info
        .vl_cap
        .min(peer_info.vl_cap)
        .min(config.operational_vls)
        .max(1);
    info.local_phy_errors = 8;
    info.overrun_errors = 8;
    info.vl_stall_count = 7;
    let leads_to_switch = database
        .node(peer_id.node)
        .is_some_and(|node| node.is_switch());
    info.hoq_life = if leads_to_switch {
        config.hoq_life
    } else {
        config.leaf_hoq_life
    };
    if let Some(switch) = &node.switch {
        // Only where the subnet begins: between switches everything was checked.
        let enforce = partitions::need_enforcement(&config.partitions) && !leads_to_switch;
        info.partition_enforcement_inbound = enforce && switch.info.inbound_enforcement_cap;
        info.partition_enforcement_outbound = enforce && switch.info.outbound_enforcement_cap;
    }
    Some(info)
}

/// Whether a port has other parameters than it is to have.
pub(super) fn differs(has: &PortInfo, wanted: &PortInfo, is_end_port: bool) -> bool {
    let of_link = |info: &PortInfo| {
        (
            info.neighbor_mtu,
            info.operational_vls,
            info.hoq_life,
            info.vl_stall_count,
            info.local_phy_errors,
            info.overrun_errors,
            info.partition_enforcement_inbound,
            info.partition_enforcement_outbound,
        )
    };
    let of_end = |info: &PortInfo| {
        (
            info.gid_prefix,
            info.lid,
            info.lmc,
            info.master_sm_lid,
            info.master_sm_sl,
            info.subnet_timeout,
        )
    };
    of_link(has) != of_link(wanted) || is_end_port && of_end(has) != of_end(wanted)
}

/// The largest MTU that both ends of a link can do. A port that says none gets the least there is.
fn least_mtu(a: &PortInfo, b: &PortInfo) -> Mtu {
    let cap = |info: &PortInfo| info.mtu_cap.unwrap_or(Mtu::B256);
    cap(a).min(cap(b))
}

/// The rate of a link, of width and speed in use. Without any: 1x SDR.
pub(crate) fn rate(info: &PortInfo) -> Rate {
    let lanes = match info.link_width_active {
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => 1,
    };
    // Tenths of a gigabit a second of one lane.
    let lane = match (info.link_speed_ext_active, info.link_speed_active) {
        (1, _) => 140,
        (2, _) => 250,
        (4, _) => 500,
        (8, _) => 1000,
        (_, 2) => 50,
        (_, 4) => 100,
        _ => 25,
    };
    let speed = lanes * lane;
    // Some products have no code of their own: the next below.
    Rate::ALL
        .iter()
        .copied()
        .filter(|rate| rate.gbps_x10() <= speed)
        .max_by_key(|rate| rate.gbps_x10())
        .unwrap_or(Rate::Gbps2_5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_width_and_speed() {
        let mut info = PortInfo::parse(&[0; 64]).unwrap();
        let mut of = |width, speed, ext| {
            info.link_width_active = width;
            info.link_speed_active = speed;
            info.link_speed_ext_active = ext;
            rate(&info)
        };
        assert_eq!(of(1, 1, 0), Rate::Gbps2_5);
        assert_eq!(of(2, 1, 0), Rate::Gbps10);
        assert_eq!(of(2, 4, 0), Rate::Gbps40);
        assert_eq!(of(2, 4, 1), Rate::Gbps56);
        assert_eq!(of(2, 7, 2), Rate::Gbps100);
        assert_eq!(of(2, 4, 4), Rate::Gbps200);
        assert_eq!(of(8, 4, 0), Rate::Gbps120);
        assert_eq!(of(0, 0, 0), Rate::Gbps2_5);
    }
}
