//! PortInfo of a port, read and written (IBA 14.2.5.6).

use softib_wire::addr::{Gid, Lid, MKey, Sl};
use softib_wire::error::InvalidField;
use softib_wire::mad::port_info::{PortCapabilities, PortCapabilities2, PortInfo};
use softib_wire::units::{PhysState, PortState};

use super::{LinkEvent, LinkState, Port, PortConfig, Role, Transition};
use crate::event::NodeEvent;

/// PortInfo of a port that nobody has set anything of.
pub(super) fn initial(role: Role, config: &PortConfig) -> PortInfo {
    let vl_cap = config.vl_cap.clamp(1, 5);
    let mut capabilities = config.capabilities
        | PortCapabilities::SL_MAPPING
        | PortCapabilities::SYSTEM_IMAGE_GUID
        | PortCapabilities::CLIENT_REREGISTRATION
        | PortCapabilities::OTHER_LOCAL_CHANGES_NOTICE
        | PortCapabilities::CAPABILITY_MASK_NOTICE;
    capabilities.set(PortCapabilities::EXTENDED_SPEEDS, config.speed.extended > 0);
    capabilities.set(
        PortCapabilities::MULTICAST_FDB_TOP,
        role == Role::SwitchManagement,
    );
    // A port can do all speeds below its own too.
    let up_to = |code: u8| match code {
        0 => 0,
        code => (code << 1).wrapping_sub(1),
    };
    PortInfo {
        m_key: MKey::NONE,
        gid_prefix: Gid::DEFAULT_PREFIX,
        lid: Lid::NONE,
        master_sm_lid: Lid::NONE,
        capability_mask: capabilities,
        diag_code: 0,
        m_key_lease_period: 0,
        local_port: 0,
        link_width_enabled: up_to(config.speed.width),
        link_width_supported: up_to(config.speed.width),
        link_width_active: config.speed.width,
        link_speed_supported: up_to(config.speed.speed) & 15,
        port_state: PortState::Down,
        phys_state: PhysState::Polling,
        link_down_default: 2,
        m_key_protect: 0,
        lmc: 0,
        link_speed_active: config.speed.speed,
        link_speed_enabled: up_to(config.speed.speed) & 15,
        neighbor_mtu: Some(config.mtu),
        master_sm_sl: Sl::default(),
        vl_cap,
        init_type: 0,
        vl_high_limit: 0,
        vl_arb_high_cap: 64,
        vl_arb_low_cap: 64,
        init_type_reply: 0,
        mtu_cap: Some(config.mtu),
        vl_stall_count: 0,
        hoq_life: 31,
        operational_vls: vl_cap,
        partition_enforcement_inbound: false,
        partition_enforcement_outbound: false,
        filter_raw_inbound: false,
        filter_raw_outbound: false,
        m_key_violations: 0,
        p_key_violations: 0,
        q_key_violations: 0,
        guid_cap: if role == Role::SwitchExternal {
            0
        } else {
            config.guids.max(1)
        },
        client_reregister: false,
        multicast_pkey_trap_suppression: 0,
        subnet_timeout: 18,
        resp_time_value: 16,
        local_phy_errors: 0,
        overrun_errors: 0,
        max_credit_hint: 0,
        link_round_trip_latency: 0,
        capability_mask2: PortCapabilities2::empty(),
        link_speed_ext_active: config.speed.extended,
        link_speed_ext_supported: up_to(config.speed.extended) & 15,
        link_speed_ext_enabled: up_to(config.speed.extended) & 31,
    }
}

impl Port {
    /// PortInfo. `local_port`: the port that the question came in by.
    #[must_use]
    pub const fn port_info(&self, local_port: u8) -> PortInfo {
        let mut info = self.info;
        info.local_port = local_port;
        info.port_state = self.state.logical();
        info.phys_state = self.state.physical();
        info
    }

    /// Does what a Set of PortInfo asks for: all of it or, when a field cannot be so, nothing.
    ///
    /// # Errors
    /// The field that cannot be so.
    pub fn set_port_info(&mut self, wanted: &PortInfo) -> Result<(), InvalidField> {
        let event = self.check(wanted)?;
        self.set_addresses(wanted);
        self.set_link(wanted);
        if wanted.client_reregister && self.role != Role::SwitchExternal {
            self.events
                .push_back(NodeEvent::ClientReregister { port: self.number });
        }
        if let Some(event) = event {
            self.apply(event);
        }
        Ok(())
    }

    /// Checks everything before anything is changed; gives the event for the state machine.
    fn check(&self, wanted: &PortInfo) -> Result<Option<LinkEvent>, InvalidField> {
        let has = &self.info;
        if self.role != Role::SwitchExternal {
            // LID 0 says "unset", and may be said again until there is one.
            if wanted.lid != has.lid && !wanted.lid.is_unicast() {
                return Err(InvalidField::new(
                    "PortInfo.LID",
                    wanted.lid.bits().into(),
                    "a unicast LID",
                ));
            }
            if wanted.lid.bits() & ((1 << wanted.lmc) - 1) != 0 {
                return Err(InvalidField::new(
                    "PortInfo.LID",
                    wanted.lid.bits().into(),
                    "a multiple of 2^LMC",
                ));
            }
            if wanted.master_sm_lid != has.master_sm_lid && !wanted.master_sm_lid.is_unicast() {
                return Err(InvalidField::new(
                    "PortInfo.MasterSMLID",
                    wanted.master_sm_lid.bits().into(),
                    "a unicast LID",
                ));
            }
        }
        check_subset(
            "PortInfo.LinkWidthEnabled",
            wanted.link_width_enabled,
            has.link_width_supported,
            0xFF,
        )?;
        check_subset(
            "PortInfo.LinkSpeedEnabled",
            wanted.link_speed_enabled,
            has.link_speed_supported,
            15,
        )?;
        check_subset(
            "PortInfo.LinkSpeedExtEnabled",
            wanted.link_speed_ext_enabled,
            has.link_speed_ext_supported,
            31,
        )?;
        if wanted.link_down_default > 2 {
            return Err(InvalidField::new(
                "PortInfo.LinkDownDefaultState",
                wanted.link_down_default.into(),
                "0 (no change), 1 (sleep) or 2 (polling)",
            ));
        }
        if wanted.neighbor_mtu > has.mtu_cap {
            return Err(InvalidField::new(
                "PortInfo.NeighborMTU",
                wanted.neighbor_mtu.map_or(0, |mtu| mtu.code().into()),
                "an MTU up to MTUCap",
            ));
        }
        if wanted.operational_vls > has.vl_cap {
            return Err(InvalidField::new(
                "PortInfo.OperationalVLs",
                wanted.operational_vls.into(),
                "0 (no change) up to VLCap",
            ));
        }
        self.state_event(wanted)
    }

    /// IBA 14.2.5.6, PortState and PortPhysicalState: what the two ask for together.
    fn state_event(&self, wanted: &PortInfo) -> Result<Option<LinkEvent>, InvalidField> {
        let event = match (wanted.port_state, wanted.phys_state) {
            (PortState::NoChange, PhysState::NoChange) => return Ok(None),
            (PortState::Down, PhysState::NoChange) => LinkEvent::SetDown,
            (PortState::NoChange | PortState::Down, PhysState::Sleep) => LinkEvent::SetSleep,
            (PortState::NoChange | PortState::Down, PhysState::Polling) => LinkEvent::SetPolling,
            (PortState::NoChange | PortState::Down, PhysState::Disabled) => LinkEvent::SetDisabled,
            (PortState::Armed, PhysState::NoChange) => LinkEvent::SetArmed,
            (PortState::Active, PhysState::NoChange) => LinkEvent::SetActive,
            (PortState::NoChange | PortState::Down, phys) => {
                return Err(InvalidField::new(
                    "PortInfo.PortPhysicalState",
                    phys.code().into(),
                    "0 (no change), 1 (sleep), 2 (polling) or 3 (disabled)",
                ));
            }
            (state, PhysState::NoChange) => {
                return Err(InvalidField::new(
                    "PortInfo.PortState",
                    state.code().into(),
                    "0 (no change), 1 (down), 3 (armed) or 4 (active)",
                ));
            }
            (_, phys) => {
                return Err(InvalidField::new(
                    "PortInfo.PortPhysicalState",
                    phys.code().into(),
                    "0 when a logical state other than down is asked for",
                ));
            }
        };
        if self.role == Role::SwitchManagement {
            // Port 0 has no link: it is Active, and asking for that changes nothing.
            return match event {
                LinkEvent::SetArmed | LinkEvent::SetActive => Ok(None),
                _ => Err(InvalidField::new(
                    "PortInfo.PortState",
                    wanted.port_state.code().into(),
                    "0: port 0 has no link",
                )),
            };
        }
        match self.state.on(event) {
            Transition::Refuse => Err(InvalidField::new(
                "PortInfo.PortState",
                wanted.port_state.code().into(),
                match self.state {
                    LinkState::Init => "3 (armed): the port is in Init",
                    LinkState::Armed => "4 (active): the port is Armed",
                    _ => "0 (no change) or 1 (down) in the port's state",
                },
            )),
            Transition::To(_) | Transition::Stay => Ok(Some(event)),
        }
    }

    /// What belongs to an end port: keys, LIDs, prefix, the manager.
    fn set_addresses(&mut self, wanted: &PortInfo) {
        if self.role == Role::SwitchExternal {
            return;
        }
        let port = self.number;
        let has = &mut self.info;
        has.m_key = wanted.m_key;
        has.m_key_protect = wanted.m_key_protect;
        has.m_key_lease_period = wanted.m_key_lease_period;
        has.subnet_timeout = wanted.subnet_timeout;
        has.multicast_pkey_trap_suppression = wanted.multicast_pkey_trap_suppression;
        if (has.lid, has.lmc) != (wanted.lid, wanted.lmc) {
            (has.lid, has.lmc) = (wanted.lid, wanted.lmc);
            self.events.push_back(NodeEvent::LidChanged { port });
        }
        let sm = (wanted.master_sm_lid, wanted.master_sm_sl);
        if (has.master_sm_lid, has.master_sm_sl) != sm {
            (has.master_sm_lid, has.master_sm_sl) = sm;
            self.events.push_back(NodeEvent::SmChanged { port });
        }
        if has.gid_prefix != wanted.gid_prefix {
            has.gid_prefix = wanted.gid_prefix;
            self.events.push_back(NodeEvent::GidChanged { port });
        }
        // IBA 14.2.5.6: violation counters can only be cleared.
        for (counter, value) in [
            (&mut has.m_key_violations, wanted.m_key_violations),
            (&mut has.p_key_violations, wanted.p_key_violations),
            (&mut has.q_key_violations, wanted.q_key_violations),
        ] {
            if value == 0 {
                *counter = 0;
            }
        }
    }

    /// What belongs to the link: widths, speeds, MTU, lanes, enforcement.
    fn set_link(&mut self, wanted: &PortInfo) {
        let has = &mut self.info;
        // 0: no change; all ones: everything that the port can do.
        let chosen = |wanted: u8, all: u8, supported: u8, now: u8| match wanted {
            0 => now,
            wanted if wanted == all => supported,
            wanted => wanted,
        };
        has.link_width_enabled = chosen(
            wanted.link_width_enabled,
            0xFF,
            has.link_width_supported,
            has.link_width_enabled,
        );
        has.link_speed_enabled = chosen(
            wanted.link_speed_enabled,
            15,
            has.link_speed_supported,
            has.link_speed_enabled,
        );
        has.link_speed_ext_enabled = chosen(
            wanted.link_speed_ext_enabled,
            31,
            has.link_speed_ext_supported,
            has.link_speed_ext_enabled,
        );
        if wanted.link_down_default != 0 {
            has.link_down_default = wanted.link_down_default;
        }
        if wanted.neighbor_mtu.is_some() {
            has.neighbor_mtu = wanted.neighbor_mtu;
        }
        if wanted.operational_vls != 0 {
            has.operational_vls = wanted.operational_vls;
        }
        has.vl_high_limit = wanted.vl_high_limit;
        has.vl_stall_count = wanted.vl_stall_count;
        has.hoq_life = wanted.hoq_life;
        has.local_phy_errors = wanted.local_phy_errors;
        has.overrun_errors = wanted.overrun_errors;
        if self.role == Role::SwitchExternal {
            has.partition_enforcement_inbound = wanted.partition_enforcement_inbound;
            has.partition_enforcement_outbound = wanted.partition_enforcement_outbound;
            has.filter_raw_inbound = wanted.filter_raw_inbound;
            has.filter_raw_outbound = wanted.filter_raw_outbound;
        }
    }
}

/// `wanted` is 0, all ones, or only of bits that are supported.
const fn check_subset(
    field: &'static str,
    wanted: u8,
    supported: u8,
    all: u8,
) -> Result<(), InvalidField> {
    if wanted == all || wanted & !supported == 0 {
        Ok(())
    } else {
        Err(InvalidField::new(
            field,
            wanted as u64,
            "only what is supported",
        ))
    }
}
