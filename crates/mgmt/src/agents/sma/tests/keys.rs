//! M_Key: who may read, who may write, and for how long (IBA 14.2.4).

use softib_wire::mad::notice::{Details, Notice, TrapNumber};
use softib_wire::units::{PhysState, PortState};

use super::*;

const KEY: MKey = MKey::new(0x1234_5678_9ABC_DEF0);
const WRONG: MKey = MKey::new(0xBAD);

/// An adapter that somebody has locked, and who has the key.
fn locked(protect: u8, lease_period: u16) -> Bench {
    let mut bench = Bench::adapter();
    lock(&mut bench, protect, lease_period);
    bench
}

fn lock(bench: &mut Bench, protect: u8, lease_period: u16) {
    let info = PortInfo {
        m_key: KEY,
        m_key_protect: protect,
        m_key_lease_period: lease_period,
        port_state: PortState::NoChange,
        phys_state: PhysState::NoChange,
        ..bench.get::<PortInfo>(0)
    };
    assert_eq!(bench.set(0, &info).m_key, KEY, "who sets it sees it");
    bench.m_key = KEY;
}

fn is_answered(bench: &mut Bench, method: u8) -> bool {
    let smp = LidSmp::request(method, attribute::NODE_INFO, 0, 1, bench.m_key);
    bench.hand(&smp.to_bytes()).is_some()
}

/// The table of IBA 14.2.4.1.
#[test]
fn protection_by_level() {
    for (protect, key, may_get, shown) in [
        (0, KEY, true, KEY),
        (0, WRONG, true, KEY),
        (1, KEY, true, KEY),
        (1, WRONG, true, MKey::NONE),
        (2, KEY, true, KEY),
        (2, WRONG, false, MKey::NONE),
        (3, KEY, true, KEY),
        (3, WRONG, false, MKey::NONE),
    ] {
        let mut bench = locked(protect, 0);
        bench.m_key = key;
        assert_eq!(
            is_answered(&mut bench, method::GET),
            may_get,
            "{protect} {key}"
        );
        if may_get {
            let info: PortInfo = bench.get(0);
            assert_eq!(
                (info.m_key, info.m_key_protect),
                (shown, protect),
                "{protect} {key}"
            );
        }
        assert_eq!(
            is_answered(&mut bench, method::SET),
            key == KEY,
            "{protect} {key}"
        );
        let violations = u16::from(!may_get) + u16::from(key != KEY);
        bench.m_key = KEY;
        assert_eq!(
            bench.get::<PortInfo>(0).m_key_violations,
            violations,
            "{protect} {key}"
        );
        let drops = bench.sma.drops().count(SmaDrop::MKeyViolation);
        assert_eq!(drops, u64::from(violations));
    }
}

#[test]
fn without_a_key_anybody_may_do_anything() {
    let mut bench = Bench::adapter();
    bench.m_key = WRONG;
    assert!(is_answered(&mut bench, method::GET) && is_answered(&mut bench, method::SET));
    assert_eq!(bench.get::<PortInfo>(0).m_key_violations, 0);
}

#[test]
fn a_lease_that_nobody_renews_ends_the_protection() {
    let mut bench = locked(2, 15);
    assert_eq!(bench.sma.poll_timeout(), None);
    bench.now = ms(1000);
    bench.m_key = WRONG;
    assert!(!is_answered(&mut bench, method::GET));
    assert_eq!(bench.sma.poll_timeout(), Some(ms(16_000)));
    // Trying again does not make it longer.
    bench.now = ms(9000);
    assert!(!is_answered(&mut bench, method::SET));
    assert_eq!(bench.sma.poll_timeout(), Some(ms(16_000)));

    bench.now = ms(16_000);
    bench.sma.handle_timeout(bench.now);
    assert_eq!(bench.sma.poll_timeout(), None);
    let info: PortInfo = bench.get(0);
    assert_eq!(
        (info.m_key, info.m_key_protect),
        (KEY, 0),
        "for the one who takes over"
    );
    assert!(
        !is_answered(&mut bench, method::SET),
        "who first has to show it"
    );
}

#[test]
fn a_lease_ends_also_when_nobody_looked_at_the_clock() {
    let mut bench = locked(3, 1);
    bench.m_key = WRONG;
    assert!(!is_answered(&mut bench, method::GET));
    bench.now = ms(1000);
    assert!(is_answered(&mut bench, method::GET));
}

#[test]
fn who_shows_the_key_keeps_it() {
    let mut bench = locked(2, 15);
    bench.m_key = WRONG;
    assert!(!is_answered(&mut bench, method::GET));
    bench.m_key = KEY;
    bench.now = ms(14_999);
    assert!(is_answered(&mut bench, method::GET));
    assert_eq!(bench.sma.poll_timeout(), None);
    bench.now = ms(60_000);
    bench.m_key = WRONG;
    assert!(!is_answered(&mut bench, method::GET));
}

#[test]
fn violations_can_be_cleared_but_not_made_up() {
    let mut bench = locked(1, 0);
    bench.m_key = WRONG;
    for _ in 0..3 {
        is_answered(&mut bench, method::SET);
    }
    bench.m_key = KEY;
    let mut info: PortInfo = bench.get(0);
    assert_eq!(info.m_key_violations, 3);
    info.port_state = PortState::NoChange;
    info.phys_state = PhysState::NoChange;
    info.m_key_violations = 1000;
    assert_eq!(bench.set(0, &info).m_key_violations, 3);
    info.m_key_violations = 0;
    assert_eq!(bench.set(0, &info).m_key_violations, 0);
}

#[test]
fn each_port_of_an_adapter_has_its_key() {
    let mut bench = locked(2, 0);
    // Through port 2, which has none, about port 1, which has.
    bench.arrival.port = 2;
    bench.m_key = WRONG;
    assert!(bench.try_get::<PortInfo>(2).is_ok());
    let get = LidSmp::request(method::GET, attribute::PORT_INFO, 1, 1, WRONG);
    assert!(bench.hand(&get.to_bytes()).is_none());
    bench.m_key = KEY;
    assert_eq!(bench.get::<PortInfo>(1).m_key, KEY);
    assert_eq!(bench.get::<PortInfo>(2).m_key, MKey::NONE);
}

#[test]
fn a_switch_has_one_key_for_all_ports() {
    let mut bench = Bench::switch();
    lock(&mut bench, 2, 0);
    bench.m_key = WRONG;
    for port in 0..=4 {
        bench.arrival.port = port;
        assert!(!is_answered(&mut bench, method::GET), "{port}");
    }
    bench.m_key = KEY;
    assert_eq!(bench.get::<PortInfo>(0).m_key_violations, 5);
    let external: PortInfo = bench.get(2);
    assert_eq!(
        (external.m_key, external.m_key_protect),
        (MKey::NONE, 0),
        "no field of theirs"
    );
}

#[test]
fn a_wrong_key_is_told_to_the_manager() {
    let mut bench = locked(2, 0);
    bench.bring_up(1);
    let path = HopPath::new(&[7; 40]).expect("short");
    let id = attribute::NODE_INFO;
    let mut smp = DirectedSmp::request(method::SET, id, 9, 1, WRONG, &path);
    smp.return_path = core::array::from_fn(|i| u8::try_from(i).expect("64"));
    bench.arrival.slid = Lid::PERMISSIVE;
    assert!(bench.hand(&smp.to_bytes()).is_none());

    let trap = bench
        .sma
        .poll_transmit(bench.now, &bench.node)
        .expect("a trap");
    assert_eq!((trap.port, trap.lid), (1, MANAGER));
    let smp = LidSmp::parse(&trap.mad).expect("whole");
    assert_eq!((smp.header.method, smp.m_key), (method::TRAP, MKey::NONE));
    let notice: Notice = smp.attribute().expect("sound");
    assert_eq!(
        (notice.trap_number, notice.issuer_lid),
        (TrapNumber::BAD_M_KEY, Lid::new(51))
    );
    let Ok(Details::BadMKey(details)) = notice.details() else {
        panic!("other details");
    };
    assert_eq!(details.lid, Lid::PERMISSIVE);
    assert_eq!((details.method, details.attribute_id), (method::SET, id));
    assert_eq!((details.attribute_modifier, details.m_key), (9, WRONG));
    assert!(details.directed && details.path_truncated);
    assert_eq!(details.hop_count, 30);
    assert_eq!(details.return_path[29], 29);
}
