//! Traps: when they are sent, how often, and until when.

use softib_wire::addr::{Gid, QKey, Qpn, Sl};
use softib_wire::mad::notice::details::{
    BadKeyDetails, LinkStateDetails, LocalChanges, LocalChangesDetails, SwitchBadPKeyDetails,
};
use softib_wire::mad::notice::{Details, Notice, NoticeType, ProducerType, TrapNumber};
use softib_wire::mad::port_info::{PortCapabilities, PortCapabilities2};
use softib_wire::units::{self, PortState};

use super::*;

const LINK_STATE: Details = Details::LinkStateChange(LinkStateDetails { lid: Lid::NONE });

fn bad_qkey(key: u32) -> Details {
    Details::BadQKey(BadKeyDetails {
        lid1: Lid::new(5),
        lid2: Lid::new(6),
        key: QKey::new(key),
        sl: Sl::default(),
        qp1: Qpn::GSI,
        qp2: Qpn::GSI,
        gid1: Gid::NONE,
        gid2: Gid::NONE,
    })
}

fn interval() -> Duration {
    units::timeout(18)
}

impl Bench {
    /// A switch that has a manager.
    fn managed_switch() -> Self {
        let mut bench = Self::switch();
        bench.bring_up(0);
        bench
    }

    fn notify(&mut self, port: u8, details: Details) {
        self.sma.notify(self.now, &self.node, port, details);
    }

    fn trap(&mut self) -> Option<Trap> {
        self.sma.poll_transmit(self.now, &self.node)
    }

    fn trap_notice(&mut self) -> Option<(u64, Notice)> {
        let smp = LidSmp::parse(&self.trap()?.mad).expect("whole");
        Some((smp.header.transaction_id, smp.attribute().expect("sound")))
    }

    fn repress(&mut self, transaction_id: u64) {
        let id = attribute::NOTICE;
        let smp = LidSmp::request(method::TRAP_REPRESS, id, 0, transaction_id, self.m_key);
        assert!(self.hand(&smp.to_bytes()).is_none());
    }
}

#[test]
fn a_link_change_is_told_with_the_address_of_the_switch() {
    let mut bench = Bench::managed_switch();
    bench.notify(0, LINK_STATE);
    assert_eq!(bench.sma.poll_timeout(), Some(ms(0)), "at once");
    let trap = bench.trap().expect("a trap");
    assert_eq!((trap.port, trap.lid, trap.sl), (0, MANAGER, Sl::default()));
    let smp = LidSmp::parse(&trap.mad).expect("whole");
    assert_eq!(
        (smp.header.class, smp.header.method),
        (class::SUBN_LID, method::TRAP)
    );
    let notice: Notice = smp.attribute().expect("sound");
    assert_eq!(notice.trap_number, TrapNumber::LINK_STATE_CHANGE);
    assert_eq!(notice.notice_type, NoticeType::URGENT);
    assert_eq!(notice.producer_type, ProducerType::SWITCH);
    assert_eq!(notice.issuer_lid, Lid::new(50));
    let details = LinkStateDetails { lid: Lid::new(50) };
    assert_eq!(notice.details(), Ok(Details::LinkStateChange(details)));
    assert!(bench.trap().is_none());
}

#[test]
fn a_trap_is_repeated_until_it_is_repressed() {
    let mut bench = Bench::managed_switch();
    bench.notify(0, LINK_STATE);
    let mut last = ms(0);
    let (mut id, _) = bench.trap_notice().expect("a trap");
    for doublings in [0, 1, 2, 3, 4, 4, 4] {
        let due = bench.sma.poll_timeout().expect("again");
        assert_eq!(
            due - last,
            interval() * (1 << doublings),
            "slower and slower"
        );
        assert!(bench.trap().is_none());
        bench.now = due;
        last = due;
        id = bench.trap_notice().expect("again").0;
    }
    bench.repress(id ^ 1 << 40);
    assert!(bench.sma.poll_timeout().is_some(), "another one's");
    bench.repress(id);
    assert_eq!(bench.sma.poll_timeout(), None);
    bench.repress(id);
    assert_eq!(bench.sma.drops().count(SmaDrop::UnknownRepress), 2);
}

#[test]
fn repressing_needs_the_m_key() {
    let mut bench = Bench::managed_switch();
    let info = PortInfo {
        m_key: MKey::new(7),
        port_state: PortState::NoChange,
        phys_state: softib_wire::units::PhysState::NoChange,
        ..bench.get(0)
    };
    bench.set(0, &info);
    bench.notify(0, LINK_STATE);
    let (id, _) = bench.trap_notice().expect("a trap");
    bench.repress(id);
    assert_eq!(bench.sma.drops().count(SmaDrop::MKeyViolation), 1);
    bench.m_key = MKey::new(7);
    let (violation, notice) = bench.trap_notice().expect("a trap");
    assert_eq!(notice.trap_number, TrapNumber::BAD_M_KEY);
    bench.repress(violation);
    bench.repress(id);
    assert_eq!(bench.sma.poll_timeout(), None);
}

#[test]
fn after_it_was_heard_a_new_change_is_told_at_once() {
    let mut bench = Bench::managed_switch();
    bench.notify(0, LINK_STATE);
    let (id, _) = bench.trap_notice().expect("a trap");
    bench.now = ms(3);
    bench.repress(id);
    bench.notify(0, LINK_STATE);
    assert!(bench.trap().is_some());
}

#[test]
fn a_change_while_the_last_is_not_heard_yet_is_told_when_it_is() {
    let mut bench = Bench::managed_switch();
    bench.notify(0, LINK_STATE);
    let (id, _) = bench.trap_notice().expect("a trap");
    bench.now = ms(2);
    bench.notify(0, LINK_STATE);
    assert!(bench.trap().is_none(), "not two at a time");
    bench.now = ms(5);
    bench.repress(id);
    let (second, _) = bench.trap_notice().expect("what it did not hear of yet");
    bench.repress(second);
    assert_eq!(bench.sma.poll_timeout(), None);

    // And if nobody hears, at the time at which the first would have been repeated.
    bench.now = ms(10);
    bench.notify(0, LINK_STATE);
    assert!(bench.trap().is_some());
    bench.notify(0, LINK_STATE);
    assert_eq!(bench.sma.poll_timeout(), Some(ms(10) + interval()));
}

#[test]
fn what_peers_can_provoke_is_limited() {
    let mut bench = Bench::adapter();
    bench.bring_up(1);
    let mut sent = 0;
    for i in 0..1000_u32 {
        bench.notify(1, bad_qkey(i));
        while let Some((id, _)) = bench.trap_notice() {
            sent += 1;
            bench.repress(id);
        }
        bench.now += Duration::from_millis(10);
    }
    // 10 s, at most one each 1.07 s, though all are heard.
    assert_eq!(sent, 10);
    assert!(bench.sma.drops().count(SmaDrop::Superseded) > 900);
}

#[test]
fn what_peers_provoke_is_not_repeated_for_ever() {
    let mut bench = Bench::adapter();
    bench.bring_up(1);
    bench.notify(1, bad_qkey(1));
    let mut sent = 0;
    while let Some(due) = bench.sma.poll_timeout() {
        bench.now = due;
        while bench.trap().is_some() {
            sent += 1;
        }
    }
    assert_eq!(sent, 5);
    assert_eq!(bench.sma.drops().count(SmaDrop::NeverRepressed), 1);
}

#[test]
fn a_port_that_is_not_active_or_has_no_manager_tells_nobody() {
    let mut bench = Bench::adapter();
    bench.bring_up(1);
    bench.node.ports.get_mut(&1).expect("port 1").port_state = PortState::Armed;
    bench.notify(1, bad_qkey(1));
    bench.notify(2, bad_qkey(1));
    bench.notify(9, bad_qkey(1));
    assert_eq!(bench.sma.poll_timeout(), None);
    assert_eq!(bench.sma.drops().count(SmaDrop::NobodyToTell), 3);

    // It goes down while a trap is under way.
    bench.bring_up(1);
    bench.notify(1, bad_qkey(1));
    bench.node.ports.get_mut(&1).expect("port 1").port_state = PortState::Down;
    assert!(bench.trap().is_none());
    assert_eq!(bench.sma.poll_timeout(), None);
}

#[test]
fn a_repeated_trap_goes_to_the_manager_that_there_is_now() {
    let mut bench = Bench::managed_switch();
    bench.notify(0, LINK_STATE);
    assert_eq!(bench.trap().expect("a trap").lid, MANAGER);
    bench.node.ports.get_mut(&0).expect("port 0").master_sm_lid = Lid::new(33);
    bench.now = bench.sma.poll_timeout().expect("again");
    assert_eq!(bench.trap().expect("again").lid, Lid::new(33));
}

#[test]
fn changes_are_told_with_the_capabilities_as_they_are() {
    let mut bench = Bench::adapter();
    bench.bring_up(1);
    let details = LocalChangesDetails {
        lid: Lid::NONE,
        other_local_changes: true,
        capability_mask: PortCapabilities::empty(),
        changes: LocalChanges::NODE_DESCRIPTION,
        capability_mask2: PortCapabilities2::empty(),
    };
    bench.notify(1, Details::LocalChanges(details));
    let (_, notice) = bench.trap_notice().expect("a trap");
    assert_eq!(notice.notice_type, NoticeType::INFORMATIONAL);
    let Ok(Details::LocalChanges(told)) = notice.details() else {
        panic!("other details");
    };
    assert_eq!(told.lid, Lid::new(51));
    assert_eq!(told.capability_mask, bench.node.ports[&1].capability_mask);
    assert_eq!(told.changes, LocalChanges::NODE_DESCRIPTION);
}

#[test]
fn a_switch_tells_which_of_its_ports_met_a_wrong_pkey() {
    let mut bench = Bench::managed_switch();
    let details = SwitchBadPKeyDetails {
        data_valid: 0x1F,
        lid1: Lid::new(5),
        lid2: Lid::new(6),
        pkey: PKey::new(0x8005),
        sl: Sl::default(),
        qp1: Qpn::GSI,
        qp2: Qpn::GSI,
        gid1: Gid::NONE,
        gid2: Gid::NONE,
        switch_lid: Lid::NONE,
        port: 3,
    };
    bench.notify(0, Details::SwitchBadPKey(details));
    let (_, notice) = bench.trap_notice().expect("a trap");
    assert_eq!(notice.trap_number, TrapNumber::SWITCH_BAD_P_KEY);
    let want = SwitchBadPKeyDetails {
        switch_lid: Lid::new(50),
        ..details
    };
    assert_eq!(notice.details(), Ok(Details::SwitchBadPKey(want)));
}
