//! Other managers in the subnet, and questions about SMInfo.

use softib_wire::addr::{Guid, Lid, MKey, Sl};
use softib_wire::mad::port_info::PortCapabilities;
use softib_wire::mad::sm_info::{SmInfo, SmState, control};
use softib_wire::mad::smp::LidSmp;
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::{attribute, method};
use softib_wire::time::Duration;

use super::fake::{Fabric, Lab, two_levels};
use crate::mad::Endpoint;

/// Host 3 runs another manager.
fn with_other(state: SmState, priority: u8, sm_key: u64) -> Fabric {
    let mut fabric = two_levels(2, 2, 1);
    let guid = fabric.guid(3, 1);
    let node = &mut fabric.nodes[3];
    node.ports[1].capability_mask |= PortCapabilities::IS_SM;
    node.sm_info = Some(SmInfo {
        guid,
        sm_key,
        activity_count: 1,
        priority,
        state,
    });
    fabric
}

#[test]
fn a_master_is_respected_and_followed_when_it_dies() {
    let mut lab = Lab::new(with_other(SmState::Master, 3, 1), 0);
    lab.run(Duration::from_secs(1));
    assert_eq!(lab.manager.state(), SmState::Standby);
    assert!(
        lab.fabric.sets.is_empty(),
        "a standby manager writes nothing"
    );
    lab.run(Duration::from_secs(20));
    assert_eq!(lab.manager.state(), SmState::Standby);
    lab.fabric.nodes[3].dead = true;
    let before = lab.now;
    while lab.manager.state() != SmState::Master {
        lab.step();
        assert!(
            lab.now - before < Duration::from_secs(5),
            "still {:?}: {:?}",
            lab.manager.state(),
            lab.events
        );
    }
}

#[test]
fn the_better_of_two_that_begin_is_master() {
    let mut lab = Lab::new(with_other(SmState::Discovering, 0, 1), 0);
    lab.run(Duration::from_millis(100));
    // Equal priority: the lower GUID.
    assert_eq!(lab.manager.state(), SmState::Master);
    let mut lab = Lab::new(with_other(SmState::Standby, 1, 1), 0);
    lab.run(Duration::from_millis(100));
    assert_eq!(lab.manager.state(), SmState::Standby);
}

#[test]
fn a_manager_with_another_key_is_ignored() {
    let mut lab = Lab::new(with_other(SmState::Master, 15, 99), 0);
    lab.run(Duration::from_secs(1));
    assert_eq!(lab.manager.state(), SmState::Master);
}

fn ask(lab: &mut Lab, method: u8, control: u32, info: Option<SmInfo>) -> LidSmp {
    let mut smp = LidSmp::request(method, attribute::SM_INFO, control, 5, MKey::NONE);
    if let Some(info) = info {
        smp = smp.with(&info);
    }
    lab.sent.clear();
    lab.deliver(Endpoint::smi(Lid::new(2), Sl::default()), &smp.to_bytes());
    lab.pump();
    LidSmp::parse(&lab.sent[0].1).unwrap()
}

fn theirs(sm_key: u64) -> SmInfo {
    SmInfo {
        guid: Guid::new(9),
        sm_key,
        activity_count: 0,
        priority: 9,
        state: SmState::Master,
    }
}

#[test]
fn it_says_who_it_is() {
    let mut lab = Lab::up(two_levels(1, 2, 0), 0);
    let answer = ask(&mut lab, method::GET, 0, None);
    assert_eq!(answer.header.method, method::GET_RESP);
    let info: SmInfo = answer.attribute().unwrap();
    assert_eq!(info.state, SmState::Master);
    assert_eq!(info.guid, lab.fabric.guid(0, 1));
}

#[test]
fn a_standby_manager_takes_over_when_it_is_told() {
    let mut lab = Lab::new(with_other(SmState::Master, 3, 1), 0);
    lab.run(Duration::from_secs(1));
    let answer = ask(&mut lab, method::SET, control::HANDOVER, Some(theirs(7)));
    assert_eq!(answer.header.status, MadStatus::BAD_FIELD, "wrong key");
    assert_eq!(lab.manager.state(), SmState::Standby);
    lab.fabric.nodes[3].sm_info.as_mut().unwrap().state = SmState::Standby;
    lab.fabric.nodes[3].sm_info.as_mut().unwrap().priority = 0;
    let answer = ask(&mut lab, method::SET, control::HANDOVER, Some(theirs(1)));
    assert_eq!(answer.header.status, MadStatus::OK);
    assert_eq!(lab.manager.state(), SmState::Master);
    lab.settle();
    lab.assert_connected();
}

#[test]
fn what_cannot_be_in_a_state_is_refused() {
    let mut lab = Lab::up(two_levels(1, 2, 0), 0);
    for control in [control::DISABLE, control::STANDBY, control::DISCOVER, 9] {
        let answer = ask(&mut lab, method::SET, control, Some(theirs(1)));
        assert_eq!(answer.header.status, MadStatus::BAD_FIELD, "{control}");
        assert_eq!(lab.manager.state(), SmState::Master);
    }
}

#[test]
fn a_disabled_manager_is_quiet_until_it_may_stand_by() {
    let mut lab = Lab::new(with_other(SmState::Master, 3, 1), 0);
    lab.run(Duration::from_secs(1));
    ask(&mut lab, method::SET, control::DISABLE, Some(theirs(1)));
    assert_eq!(lab.manager.state(), SmState::NotActive);
    let before = lab.smps;
    lab.run(Duration::from_secs(60));
    assert_eq!(
        (lab.manager.state(), lab.smps),
        (SmState::NotActive, before)
    );
    ask(&mut lab, method::SET, control::STANDBY, Some(theirs(1)));
    lab.run(Duration::from_secs(1));
    assert_eq!(lab.manager.state(), SmState::Standby);
}

#[test]
fn a_master_gives_way_to_a_better_one() {
    let mut lab = Lab::up(with_other(SmState::NotActive, 9, 1), 0);
    assert_eq!(lab.manager.state(), SmState::Master);
    lab.fabric.nodes[3].sm_info.as_mut().unwrap().state = SmState::Standby;
    // It does not answer a handover: this one stays.
    lab.manager.sweep(lab.now);
    lab.run(Duration::from_secs(3));
    assert!(matches!(
        lab.manager.state(),
        SmState::Master | SmState::Standby
    ));
}
