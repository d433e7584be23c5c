//! What a Set(PortInfo) may change, and to what (IBA 14.2.5.6).

use softib_wire::addr::Sl;
use softib_wire::mad::port_info::{MODIFIER_EXTENDED_SPEEDS, PortCapabilities};
use softib_wire::units::{Mtu, PhysState, PortState};

use super::*;

/// What a manager sends that changes nothing.
fn unchanged(bench: &mut Bench, port: u32) -> PortInfo {
    PortInfo {
        port_state: PortState::NoChange,
        phys_state: PhysState::NoChange,
        ..bench.get(port)
    }
}

fn refuse(bench: &mut Bench, modifier: u32, info: &PortInfo) {
    let before = bench.node.ports.clone();
    assert_eq!(
        bench.try_set(modifier, info).unwrap_err(),
        MadStatus::BAD_FIELD
    );
    assert_eq!(bench.node.ports, before, "nothing is changed");
}

#[test]
fn port_0_of_an_adapter_is_the_port_asked_through() {
    let mut bench = Bench::adapter();
    bench.node.ports.get_mut(&2).expect("port 2").lid = Lid::new(9);
    assert_eq!(bench.get::<PortInfo>(2).lid, Lid::new(9));
    assert_eq!(
        bench.get::<PortInfo>(2).local_port,
        1,
        "the port asked through"
    );
    bench.arrival.port = 2;
    assert_eq!(bench.get::<PortInfo>(0).lid, Lid::new(9));
    assert_eq!(
        bench.try_get::<PortInfo>(3).unwrap_err(),
        MadStatus::BAD_FIELD
    );

    let mut bench = Bench::switch();
    bench.node.ports.get_mut(&0).expect("port 0").lid = Lid::new(7);
    assert_eq!(
        bench.get::<PortInfo>(0).lid,
        Lid::new(7),
        "of a switch it is port 0"
    );
    assert_eq!(
        bench.try_get::<PortInfo>(5).unwrap_err(),
        MadStatus::BAD_FIELD
    );
}

#[test]
fn an_end_port_gets_its_address() {
    let mut bench = Bench::adapter();
    let asked = PortInfo {
        lid: Lid::new(8),
        lmc: 3,
        master_sm_lid: MANAGER,
        master_sm_sl: Sl::from_bits_truncate(2),
        gid_prefix: 0xFEC0_0000_0000_0001,
        subnet_timeout: 17,
        neighbor_mtu: Some(Mtu::B4096),
        operational_vls: 2,
        vl_high_limit: 6,
        hoq_life: 16,
        link_down_default: 1,
        // Not to be written.
        capability_mask: PortCapabilities::empty(),
        link_width_active: 8,
        guid_cap: 99,
        local_port: 77,
        partition_enforcement_inbound: true,
        ..unchanged(&mut bench, 0)
    };
    let before: PortInfo = bench.get(0);
    let after = bench.set(0, &asked);
    let want = PortInfo {
        capability_mask: before.capability_mask,
        link_width_active: before.link_width_active,
        guid_cap: before.guid_cap,
        local_port: 1,
        partition_enforcement_inbound: false,
        port_state: PortState::Init,
        phys_state: PhysState::LinkUp,
        ..asked
    };
    assert_eq!(after, want);
    assert_eq!(bench.get::<PortInfo>(0), want);
    assert_eq!(
        bench.sma.poll_event(),
        Some(SmaEvent::ManagerChanged {
            port: 1,
            lid: MANAGER,
            sl: Sl::from_bits_truncate(2)
        })
    );
    assert_eq!(bench.sma.poll_event(), None);
    bench.set(0, &asked);
    assert_eq!(bench.sma.poll_event(), None, "it is the same one");
}

#[test]
fn an_external_port_of_a_switch_has_no_address() {
    let mut bench = Bench::switch();
    let asked = PortInfo {
        lid: Lid::new(0xC000), // Not looked at.
        master_sm_lid: MANAGER,
        gid_prefix: 1,
        client_reregister: true,
        partition_enforcement_outbound: true,
        filter_raw_inbound: true,
        neighbor_mtu: Some(Mtu::B4096),
        ..unchanged(&mut bench, 2)
    };
    let after = bench.set(2, &asked);
    assert_eq!((after.lid, after.master_sm_lid), (Lid::NONE, Lid::NONE));
    assert_eq!(after.neighbor_mtu, Some(Mtu::B4096));
    assert!(after.partition_enforcement_outbound && after.filter_raw_inbound);
    assert_eq!(bench.sma.poll_event(), None);

    // Port 0 has no link.
    let asked = PortInfo {
        lid: Lid::new(4),
        neighbor_mtu: Some(Mtu::B256),
        port_state: PortState::Active,
        link_width_enabled: 8,
        ..unchanged(&mut bench, 0)
    };
    let after = bench.set(0, &asked);
    assert_eq!(
        (after.lid, after.neighbor_mtu),
        (Lid::new(4), Some(Mtu::B2048))
    );
    assert_eq!(bench.node.last_set[&0].port_state, PortState::NoChange);
}

#[test]
fn every_change_of_state() {
    use PortState::{Active, ActiveDefer, Armed, Down, Init, NoChange};
    for now in [Down, Init, Armed, Active, ActiveDefer] {
        for asked in [NoChange, Down, Init, Armed, Active, ActiveDefer] {
            let mut bench = Bench::adapter();
            bench.node.ports.get_mut(&1).expect("port 1").port_state = now;
            let info = PortInfo {
                port_state: asked,
                ..unchanged(&mut bench, 0)
            };
            let handed_down = match (now, asked) {
                (_, NoChange) => NoChange,
                (_, Down) => Down,
                (Init, Armed) => Armed,
                (Armed, Active) => Active,
                // Asked twice: the answer was lost.
                (Armed, Armed) | (Active | ActiveDefer, Active) => NoChange,
                _ => {
                    refuse(&mut bench, 0, &info);
                    continue;
                }
            };
            bench.set(0, &info);
            assert_eq!(
                bench.node.last_set[&1].port_state, handed_down,
                "{now:?} {asked:?}"
            );
        }
    }
}

#[test]
fn physical_states_go_with_down_or_no_change() {
    for asked in PhysState::ALL {
        for state in [PortState::NoChange, PortState::Down, PortState::Armed] {
            let mut bench = Bench::adapter();
            let info = PortInfo {
                port_state: state,
                phys_state: *asked,
                ..unchanged(&mut bench, 0)
            };
            let allowed = asked.code() == 0 || asked.code() <= 3 && state != PortState::Armed;
            if allowed {
                bench.set(0, &info);
                assert_eq!(bench.node.last_set[&1].phys_state, *asked);
            } else {
                refuse(&mut bench, 0, &info);
            }
        }
    }
}

#[test]
fn fields_that_cannot_be() {
    let mut bench = Bench::adapter();
    let changes: [fn(&mut PortInfo); 11] = [
        |info| info.lid = Lid::new(0xC000),
        |info| info.lid = Lid::PERMISSIVE,
        |info| info.master_sm_lid = Lid::new(0xFFFE),
        |info| {
            info.lid = Lid::new(6);
            info.lmc = 2;
        },
        |info| info.link_width_enabled = 4,
        |info| info.link_speed_enabled = 8,
        |info| info.link_down_default = 3,
        |info| info.operational_vls = 4,
        |info| info.link_speed_ext_enabled = 4,
        |info| info.port_state = PortState::Active,
        |info| info.phys_state = PhysState::LinkUp,
    ];
    for change in changes {
        let mut info = unchanged(&mut bench, 0);
        change(&mut info);
        refuse(&mut bench, MODIFIER_EXTENDED_SPEEDS, &info);
    }
    let mut info = unchanged(&mut bench, 0);
    bench.node.ports.get_mut(&1).expect("port 1").mtu_cap = Some(Mtu::B2048);
    info.neighbor_mtu = Some(Mtu::B4096);
    refuse(&mut bench, 0, &info);

    // Codes that are not defined at all.
    let info = unchanged(&mut bench, 0);
    let mut smp = LidSmp::request(method::SET, PortInfo::ID, 0, 99, MKey::NONE).with(&info);
    smp.data[32] = 0x0F; // PortState 15.
    assert_eq!(
        bench.perform::<PortInfo>(&smp).unwrap_err(),
        MadStatus::BAD_FIELD
    );
}

#[test]
fn widths_and_speeds() {
    let mut bench = Bench::adapter();
    let with = |bench: &mut Bench, modifier: u32, width: u8, speed: u8, ext: u8| {
        let asked = PortInfo {
            link_width_enabled: width,
            link_speed_enabled: speed,
            link_speed_ext_enabled: ext,
            ..unchanged(bench, 0)
        };
        let info = bench.set(modifier, &asked);
        (
            info.link_width_enabled,
            info.link_speed_enabled,
            info.link_speed_ext_enabled,
        )
    };
    let extended = MODIFIER_EXTENDED_SPEEDS;
    assert_eq!(with(&mut bench, extended, 1, 3, 1), (1, 3, 1));
    assert_eq!(with(&mut bench, extended, 0, 0, 0), (1, 3, 1), "no change");
    assert_eq!(
        with(&mut bench, extended, 255, 15, 31),
        (3, 7, 3),
        "all there are"
    );
    assert_eq!(
        with(&mut bench, extended, 2, 4, 30),
        (2, 4, 0),
        "no extended speeds"
    );
    // A manager that does not know extended speeds may send anything there.
    assert_eq!(with(&mut bench, 0, 2, 4, 0x1C), (2, 4, 0));
}

#[test]
fn clients_are_told_to_register_again() {
    let mut bench = Bench::adapter();
    let asked = PortInfo {
        client_reregister: true,
        ..unchanged(&mut bench, 0)
    };
    assert!(bench.set(0, &asked).client_reregister, "understood");
    assert!(!bench.get::<PortInfo>(0).client_reregister, "and done");
    let event = bench.sma.poll_event();
    assert_eq!(event, Some(SmaEvent::ClientReregister { port: 1 }));
    assert_eq!(bench.sma.poll_event(), None);
}

#[test]
fn counters_of_violations_are_only_cleared() {
    let mut bench = Bench::adapter();
    let mut asked = unchanged(&mut bench, 0);
    assert_eq!((asked.p_key_violations, asked.q_key_violations), (3, 4));
    asked.p_key_violations = 100;
    asked.q_key_violations = 0;
    let after = bench.set(0, &asked);
    assert_eq!((after.p_key_violations, after.q_key_violations), (3, 0));
}
