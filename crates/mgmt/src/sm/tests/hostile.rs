//! MADs that nobody should send.

use softib_wire::addr::{Lid, Sl};
use softib_wire::mad::smp::DirectedSmp;
use softib_wire::mad::{class, method};
use softib_wire::time::Duration;

use super::fake::{Lab, two_levels};
use crate::mad::Endpoint;
use crate::sm::SmDrop;

#[test]
fn noise_is_counted_and_does_nothing() {
    let mut lab = Lab::up(two_levels(2, 2, 2), 0);
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..20_000u32 {
        let mut mad = [0; 256];
        if round % 3 != 0 {
            rng.fill(&mut mad);
        }
        mad[0] = 1;
        mad[1] = [class::SUBN_DIRECTED, class::SUBN_LID, class::SUBN_ADM][rng.usize(..3)];
        mad[2] = class::version(mad[1]);
        mad[3] = [
            method::GET,
            method::SET,
            method::GET_RESP,
            method::GET_TABLE,
            method::DELETE,
            method::TRAP,
            method::REPORT_RESP,
            rng.u8(..),
        ][rng.usize(..8)];
        let attributes = [
            0x01, 0x02, 0x03, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x20,
            0x30, 0x31, 0x33, 0x35, 0x38, 0xF3,
        ];
        mad[16] = 0;
        mad[17] = attributes[rng.usize(..attributes.len())];
        if rng.bool() {
            // Not an RMPP segment, no SM_Key: it reaches the handlers.
            mad[24..44].fill(0);
        }
        let lid = Lid::new(rng.u16(..12));
        let from = if rng.bool() {
            Endpoint::gsi(lid, Sl::default())
        } else {
            Endpoint::smi(lid, Sl::default())
        };
        lab.deliver(from, &mad);
        if round % 100 == 0 {
            lab.run(Duration::from_millis(1));
        }
        lab.sent.clear();
    }
    lab.run(Duration::from_secs(30));
    lab.settle();
    lab.assert_connected();
    assert!(lab.manager.drops().count(SmDrop::Unmatched) > 0);
}

#[test]
fn answers_with_undefined_values_are_no_answers() {
    let mut lab = Lab::up(two_levels(1, 2, 0), 0);
    lab.manager.sweep(lab.now);
    let out = lab.manager.poll_transmit(lab.now).expect("an SMP");
    let smp = DirectedSmp::parse(&out.mad).unwrap();
    let mut answer = smp.response_to(softib_wire::mad::status::MadStatus::OK);
    // NodeType 9.
    answer.data = [9; 64];
    lab.deliver(
        Endpoint::smi(Lid::PERMISSIVE, Sl::default()),
        &answer.to_bytes(),
    );
    assert_eq!(lab.manager.drops().count(SmDrop::Malformed), 1);
    // A second copy answers nothing.
    lab.deliver(
        Endpoint::smi(Lid::PERMISSIVE, Sl::default()),
        &answer.to_bytes(),
    );
    assert_eq!(lab.manager.drops().count(SmDrop::Unmatched), 1);
    lab.run(Duration::from_secs(20));
    lab.settle();
    lab.assert_connected();
}

#[test]
fn other_versions_and_classes_are_not_ours() {
    let mut lab = Lab::up(two_levels(1, 2, 0), 0);
    let mut mad = [0; 256];
    (mad[0], mad[1], mad[2]) = (1, class::SUBN_ADM, 1);
    lab.deliver(Endpoint::gsi(Lid::new(2), Sl::default()), &mad);
    assert_eq!(lab.manager.drops().count(SmDrop::BadVersion), 1);
    (mad[1], mad[2]) = (class::PERF_MGT, 1);
    lab.deliver(Endpoint::gsi(Lid::new(2), Sl::default()), &mad);
    assert_eq!(lab.manager.drops().count(SmDrop::ForeignClass), 1);
}
