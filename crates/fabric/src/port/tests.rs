use softib_wire::addr::{Gid, Guid, Lid, PKey, Qpn, Sl, Vl};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::units::{Mtu, PhysState, PortState};

use super::*;

fn port(role: Role) -> Port {
    Port::new(1, role, &PortConfig::new(Guid::new(0x11)))
}

fn events(port: &mut Port) -> Vec<NodeEvent> {
    std::iter::from_fn(|| port.poll_event()).collect()
}

fn no_change(port: &Port) -> PortInfo {
    PortInfo {
        port_state: PortState::NoChange,
        phys_state: PhysState::NoChange,
        ..port.port_info(1)
    }
}

fn set(port: &mut Port, change: impl FnOnce(&mut PortInfo)) -> Result<(), InvalidField> {
    let mut info = no_change(port);
    change(&mut info);
    port.set_port_info(&info)
}

#[test]
fn from_polling_to_active() {
    let mut port = port(Role::Adapter);
    port.handle_link(true);
    set(&mut port, |info| {
        info.lid = Lid::new(4);
        info.master_sm_lid = Lid::new(1);
        info.gid_prefix = 0xFEC0 << 48;
        info.port_state = PortState::Armed;
    })
    .unwrap();
    set(&mut port, |info| {
        info.port_state = PortState::Active;
        info.client_reregister = true;
    })
    .unwrap();
    let port_number = 1;
    assert_eq!(
        events(&mut port),
        [
            NodeEvent::PortInit { port: port_number },
            NodeEvent::LidChanged { port: port_number },
            NodeEvent::SmChanged { port: port_number },
            NodeEvent::GidChanged { port: port_number },
            NodeEvent::PortArmed { port: port_number },
            NodeEvent::ClientReregister { port: port_number },
            NodeEvent::PortActive { port: port_number },
        ]
    );
    assert!(port.owns_lid(Lid::new(4)) && !port.owns_lid(Lid::new(5)));
    assert_eq!(
        port.gid(0),
        Some(Gid::from_prefix_guid(0xFEC0 << 48, Guid::new(0x11)))
    );
    assert!(port.owns_gid(Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x11))));
    // Told the same again, nothing happens.
    set(&mut port, |_| {}).unwrap();
    assert_eq!(events(&mut port), []);
}

/// IBA 7.2.7.4, reference 6.7.
#[test]
fn data_makes_an_armed_port_active() {
    let mut port = port(Role::SwitchExternal);
    port.handle_link(true);
    port.data_arrived();
    assert_eq!(port.state(), LinkState::Init);
    set(&mut port, |info| info.port_state = PortState::Armed).unwrap();
    port.data_arrived();
    assert_eq!(port.state(), LinkState::Active);
}

/// IBA 7.2.7: nothing passes while an Active link recovers, and it need not be brought up again.
#[test]
fn error_recovery() {
    let mut port = port(Role::Adapter);
    port.handle_link(true);
    port.handle_recovery(true);
    assert_eq!(port.state(), LinkState::Init, "only an Active port defers");
    for state in [PortState::Armed, PortState::Active] {
        set(&mut port, |info| info.port_state = state).unwrap();
    }
    port.handle_recovery(true);
    assert!(!port.state().passes_smps() && !port.state().sends_data());
    assert_eq!(port.port_info(1).phys_state, PhysState::ErrorRecovery);
    port.handle_recovery(false);
    assert_eq!(port.state(), LinkState::Active);
    assert_eq!(port.counters.link_error_recoveries, 1);
}

#[test]
fn states_that_cannot_be_asked_for() {
    let mut port = port(Role::Adapter);
    port.handle_link(true);
    for (state, phys) in [
        (PortState::Init, PhysState::NoChange),
        (PortState::Active, PhysState::NoChange),
        (PortState::ActiveDefer, PhysState::NoChange),
        (PortState::Armed, PhysState::Polling),
        (PortState::Down, PhysState::LinkUp),
        (PortState::NoChange, PhysState::Training),
    ] {
        let result = set(&mut port, |info| {
            info.port_state = state;
            info.phys_state = phys;
            info.lid = Lid::new(9);
        });
        assert!(result.is_err(), "{state:?} {phys:?}");
        assert_eq!(port.lid(), Lid::NONE, "nothing of a refused Set is done");
        assert_eq!(port.state(), LinkState::Init);
    }
}

#[test]
fn down_retrains_and_disabled_stays_off() {
    let mut port = port(Role::SwitchExternal);
    port.handle_link(true);
    set(&mut port, |info| info.port_state = PortState::Down).unwrap();
    set(&mut port, |info| info.phys_state = PhysState::Disabled).unwrap();
    assert!(!port.wants_link());
    port.handle_link(true);
    assert_eq!(port.state(), LinkState::Disabled);
    set(&mut port, |info| info.phys_state = PhysState::Polling).unwrap();
    port.handle_link(true);
    assert_eq!(port.state(), LinkState::Init);
    let physical: Vec<_> = events(&mut port)
        .into_iter()
        .filter_map(|event| match event {
            NodeEvent::Physical { command, .. } => Some(command),
            _ => None,
        })
        .collect();
    use PhysicalCommand::{Disable, Enable, Retrain};
    assert_eq!(physical, [Retrain, Disable, Enable]);
}

#[test]
fn fields_out_of_range() {
    let mut port = port(Role::Adapter);
    type Change = fn(&mut PortInfo);
    let changes: [(&str, Change); 9] = [
        ("PortInfo.LID", |info| info.lid = Lid::new(0xC000)),
        ("PortInfo.LID", |info| {
            (info.lid, info.lmc) = (Lid::new(5), 1);
        }),
        ("PortInfo.MasterSMLID", |info| {
            info.master_sm_lid = Lid::PERMISSIVE;
        }),
        ("PortInfo.LinkWidthEnabled", |info| {
            info.link_width_enabled = 0x10;
        }),
        ("PortInfo.LinkSpeedEnabled", |info| {
            info.link_speed_enabled = 8;
        }),
        ("PortInfo.LinkSpeedExtEnabled", |info| {
            info.link_speed_ext_enabled = 8;
        }),
        ("PortInfo.LinkDownDefaultState", |info| {
            info.link_down_default = 3;
        }),
        ("PortInfo.OperationalVLs", |info| info.operational_vls = 5),
        ("PortInfo.PortState", |info| {
            info.port_state = PortState::Armed;
        }),
    ];
    let before = port.port_info(1);
    for (field, change) in changes {
        assert_eq!(set(&mut port, change).unwrap_err().field, field);
    }
    assert_eq!(port.port_info(1), before);

    let mut small = Port::new(
        1,
        Role::Adapter,
        &PortConfig {
            mtu: Mtu::B2048,
            ..PortConfig::new(Guid::new(1))
        },
    );
    let error = set(&mut small, |info| info.neighbor_mtu = Some(Mtu::B4096)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "PortInfo.NeighborMTU is 0x5, expected an MTU up to MTUCap"
    );
}

#[test]
fn zero_and_all_ones_are_special() {
    let mut port = port(Role::Adapter);
    set(&mut port, |info| info.link_width_enabled = 1).unwrap();
    set(&mut port, |info| {
        info.link_width_enabled = 0;
        info.operational_vls = 0;
        info.link_down_default = 0;
        info.neighbor_mtu = None;
    })
    .unwrap();
    let info = port.port_info(1);
    assert_eq!(
        (
            info.link_width_enabled,
            info.operational_vls,
            info.link_down_default
        ),
        (1, 4, 2)
    );
    assert_eq!(info.neighbor_mtu, Some(Mtu::B4096));
    set(&mut port, |info| info.link_width_enabled = 0xFF).unwrap();
    assert_eq!(
        port.port_info(1).link_width_enabled,
        info.link_width_supported
    );
}

/// Only what belongs to the link can be set of a switch's external port, and only a switch's
/// external port enforces partitions.
#[test]
fn roles() {
    let mut external = port(Role::SwitchExternal);
    set(&mut external, |info| {
        info.lid = Lid::new(7);
        info.partition_enforcement_inbound = true;
        info.client_reregister = true;
    })
    .unwrap();
    assert_eq!(external.lid(), Lid::NONE);
    assert!(external.enforces_inbound());
    assert_eq!(events(&mut external), []);

    let mut adapter = port(Role::Adapter);
    set(&mut adapter, |info| {
        info.partition_enforcement_inbound = true;
    })
    .unwrap();
    assert!(!adapter.enforces_inbound());

    let mut management = port(Role::SwitchManagement);
    assert_eq!(management.state(), LinkState::Active);
    set(&mut management, |info| info.port_state = PortState::Active).unwrap();
    assert!(set(&mut management, |info| info.port_state = PortState::Down).is_err());
}

/// IBA 14.2.5.6: P_KeyViolations is not used of a switch's external port, where nothing could clear
/// it either. The event is the same.
#[test]
fn only_end_ports_count_violations() {
    for (role, counted) in [(Role::SwitchExternal, 0), (Role::Adapter, 1)] {
        let mut port = port(role);
        port.pkey_violation(KeyViolation {
            slid: Lid::new(1),
            dlid: Lid::new(2),
            key: PKey::new(0x8001),
            sl: Sl::default(),
            src_qpn: Qpn::from_bits_truncate(3),
            dest_qpn: Qpn::from_bits_truncate(4),
            gids: None,
        });
        assert_eq!(port.port_info(1).p_key_violations, counted, "{role:?}");
        assert_eq!(events(&mut port).len(), 1);
    }
}

#[test]
fn lmc_owns_a_range() {
    let mut port = port(Role::Adapter);
    set(&mut port, |info| (info.lid, info.lmc) = (Lid::new(8), 2)).unwrap();
    let owned: Vec<_> = (0..20)
        .filter(|&lid| port.owns_lid(Lid::new(lid)))
        .collect();
    assert_eq!(owned, [8, 9, 10, 11]);
    assert!(!Port::new(1, Role::Adapter, &PortConfig::new(Guid::new(1))).owns_lid(Lid::NONE));
}

#[test]
fn lanes() {
    let mut port = port(Role::Adapter);
    let mut table = [Vl::default(); 16];
    table[1] = Vl::from_bits_truncate(7);
    table[2] = Vl::from_bits_truncate(8);
    table[3] = Vl::MANAGEMENT;
    port.set_sl_to_vl(table);
    let lane = |sl| port.lane(port.sl_to_vl(), Sl::from_bits_truncate(sl));
    assert_eq!(lane(0), Ok(Vl::default()));
    assert_eq!(lane(1), Ok(Vl::from_bits_truncate(7)));
    assert_eq!(lane(2), Err(DropReason::OutVlNotOperational));
    assert_eq!(lane(3), Err(DropReason::SlToVl15));
}

#[test]
fn tables_tell_of_changes() {
    let mut port = port(Role::Adapter);
    let mut pkeys = port.pkeys().block(0).unwrap();
    pkeys[1] = PKey::new(0x8001);
    port.set_pkey_block(0, &pkeys).unwrap();
    port.set_pkey_block(0, &pkeys).unwrap();
    let mut guids = port.guid_block(0).unwrap();
    guids[0] = Guid::new(0x99);
    guids[1] = Guid::new(0x22);
    port.set_guid_block(0, &guids).unwrap();
    assert_eq!(port.guid(), Guid::new(0x11), "the port's own GUID stays");
    assert_eq!(port.gid(1).map(Gid::guid), Some(Guid::new(0x22)));
    assert_eq!(port.gid(2), None);
    assert_eq!(
        events(&mut port),
        [
            NodeEvent::PKeysChanged { port: 1 },
            NodeEvent::GidChanged { port: 1 }
        ]
    );
    assert!(port.set_pkey_block(4, &pkeys).is_err());
    assert!(port.set_guid_block(4, &guids).is_err());
}
