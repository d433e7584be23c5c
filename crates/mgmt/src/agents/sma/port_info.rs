//! What a Set(PortInfo) may change, and to what (IBA 14.2.5.6).

use softib_wire::addr::Lid;
use softib_wire::error::InvalidField;
use softib_wire::mad::port_info::{MODIFIER_EXTENDED_SPEEDS, PortInfo};
use softib_wire::units::{PhysState, PortState};

/// What kind of port it is: fields that one has, another ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortKind {
    /// A port of a channel adapter or router.
    EndPort,
    /// Port 0 of a switch: an end port without a link.
    SwitchManagement,
    /// A port of a switch that is no end port: it has a link, but no address.
    SwitchExternal,
}

impl PortKind {
    pub(super) fn has_address(self) -> bool {
        self != Self::SwitchExternal
    }

    fn has_link(self) -> bool {
        self != Self::SwitchManagement
    }
}

/// The port as it shall be: what it is now, with what `asked` changes. `port_state` and
/// `phys_state` become what is asked for. One wrong field, and nothing is changed.
pub(super) fn merge(
    now: &PortInfo,
    asked: &PortInfo,
    modifier: u32,
    kind: PortKind,
) -> Result<PortInfo, InvalidField> {
    let mut info = *now;
    info.port_state = PortState::NoChange;
    info.phys_state = PhysState::NoChange;
    info.client_reregister = false;
    if kind.has_address() {
        merge_address(&mut info, asked)?;
    }
    if kind.has_link() {
        merge_link(&mut info, now, asked, modifier, kind)?;
    }
    info.vl_high_limit = asked.vl_high_limit;
    info.overrun_errors = asked.overrun_errors;
    info.local_phy_errors = asked.local_phy_errors;
    // Counters: 0 clears them, and nobody can make them up.
    for (have, asked) in [
        (&mut info.m_key_violations, asked.m_key_violations),
        (&mut info.p_key_violations, asked.p_key_violations),
        (&mut info.q_key_violations, asked.q_key_violations),
    ] {
        if asked == 0 {
            *have = 0;
        }
    }
    Ok(info)
}

/// Who the port is, and whom it reports to.
fn merge_address(info: &mut PortInfo, asked: &PortInfo) -> Result<(), InvalidField> {
    let unicast_or_none = |lid: Lid| lid == Lid::NONE || lid.is_unicast();
    if !unicast_or_none(asked.lid) {
        return Err(invalid(
            "PortInfo.LID",
            asked.lid.bits(),
            "a unicast LID, or 0",
        ));
    }
    if !unicast_or_none(asked.master_sm_lid) {
        let value = asked.master_sm_lid.bits();
        return Err(invalid(
            "PortInfo.MasterSMLID",
            value,
            "a unicast LID, or 0",
        ));
    }
    // IBA 4.1.3: the low LMC bits of the base LID are zero.
    let mask = (1_u16 << asked.lmc) - 1;
    if asked.lid.bits() & mask != 0 {
        let expected = "a base LID with as many low zero bits as the LMC says";
        return Err(invalid("PortInfo.LID", asked.lid.bits(), expected));
    }
    info.m_key = asked.m_key;
    info.m_key_protect = asked.m_key_protect;
    info.m_key_lease_period = asked.m_key_lease_period;
    info.gid_prefix = asked.gid_prefix;
    info.lid = asked.lid;
    info.lmc = asked.lmc;
    info.master_sm_lid = asked.master_sm_lid;
    info.master_sm_sl = asked.master_sm_sl;
    info.subnet_timeout = asked.subnet_timeout;
    info.multicast_pkey_trap_suppression = asked.multicast_pkey_trap_suppression;
    info.client_reregister = asked.client_reregister;
    info.init_type = asked.init_type;
    Ok(())
}

/// The port's link.
fn merge_link(
    info: &mut PortInfo,
    now: &PortInfo,
    asked: &PortInfo,
    modifier: u32,
    kind: PortKind,
) -> Result<(), InvalidField> {
    merge_state(info, now, asked)?;

    // 0 leaves them alone, all ones enables all that there is; else no more than there is.
    match asked.link_width_enabled {
        0 => {}
        0xFF => info.link_width_enabled = now.link_width_supported,
        widths if widths & !now.link_width_supported == 0 => info.link_width_enabled = widths,
        widths => {
            return Err(invalid(
                "PortInfo.LinkWidthEnabled",
                widths,
                "widths that it supports",
            ));
        }
    }
    match asked.link_speed_enabled {
        0 => {}
        0xF => info.link_speed_enabled = now.link_speed_supported,
        speeds if speeds & !now.link_speed_supported == 0 => info.link_speed_enabled = speeds,
        speeds => {
            return Err(invalid(
                "PortInfo.LinkSpeedEnabled",
                speeds,
                "speeds that it supports",
            ));
        }
    }
    // A manager that does not know extended speeds sends zeros here, or anything.
    if modifier & MODIFIER_EXTENDED_SPEEDS != 0 {
        match asked.link_speed_ext_enabled {
            0 => {}
            0x1E => info.link_speed_ext_enabled = 0,
            0x1F => info.link_speed_ext_enabled = now.link_speed_ext_supported,
            speeds if speeds & !now.link_speed_ext_supported == 0 => {
                info.link_speed_ext_enabled = speeds;
            }
            speeds => {
                let expected = "speeds that it supports";
                return Err(invalid("PortInfo.LinkSpeedExtEnabled", speeds, expected));
            }
        }
    }
    match asked.link_down_default {
        0 => {}
        1 | 2 => info.link_down_default = asked.link_down_default,
        other => return Err(invalid("PortInfo.LinkDownDefaultState", other, "0, 1 or 2")),
    }
    if let Some(mtu) = asked.neighbor_mtu {
        if now.mtu_cap.is_some_and(|cap| mtu > cap) {
            let expected = "an MTU that the port can do";
            return Err(invalid("PortInfo.NeighborMTU", mtu.code(), expected));
        }
        info.neighbor_mtu = Some(mtu);
    }
    if asked.operational_vls != 0 {
        if asked.operational_vls > now.vl_cap {
            let expected = "no more VLs than the port has";
            return Err(invalid(
                "PortInfo.OperationalVLs",
                asked.operational_vls,
                expected,
            ));
        }
        info.operational_vls = asked.operational_vls;
    }
    info.vl_stall_count = asked.vl_stall_count;
    info.hoq_life = asked.hoq_life;
    if kind == PortKind::SwitchExternal {
        info.partition_enforcement_inbound = asked.partition_enforcement_inbound;
        info.partition_enforcement_outbound = asked.partition_enforcement_outbound;
        info.filter_raw_inbound = asked.filter_raw_inbound;
        info.filter_raw_outbound = asked.filter_raw_outbound;
    }
    Ok(())
}

/// IBA 7.2.7, 14.2.5.6: down at any time, armed from Init, active from Armed; and what the port is
/// already, because the answer to an earlier Set may have been lost. The physical state only goes
/// with Down or without a change of the logical one.
fn merge_state(info: &mut PortInfo, now: &PortInfo, asked: &PortInfo) -> Result<(), InvalidField> {
    use PortState::{Active, ActiveDefer, Armed, Down, Init, NoChange};
    info.port_state = match (now.port_state, asked.port_state) {
        (_, NoChange) => NoChange,
        (_, Down) => Down,
        (Init, Armed) => Armed,
        (Armed, Active) => Active,
        (Armed, Armed) | (Active | ActiveDefer, Active) => NoChange,
        (_, other) => {
            let expected = "NoChange, Down, Armed from Init, or Active from Armed";
            return Err(invalid("PortInfo.PortState", other.code(), expected));
        }
    };
    let may_command = matches!(asked.port_state, NoChange | Down);
    info.phys_state = match asked.phys_state {
        PhysState::NoChange => PhysState::NoChange,
        state @ (PhysState::Sleep | PhysState::Polling | PhysState::Disabled) if may_command => {
            state
        }
        other => {
            let expected = "0 to 3, with port_state NoChange or Down";
            return Err(invalid(
                "PortInfo.PortPhysicalState",
                other.code(),
                expected,
            ));
        }
    };
    Ok(())
}

fn invalid(field: &'static str, value: impl Into<u64>, expected: &'static str) -> InvalidField {
    InvalidField::new(field, value.into(), expected)
}
