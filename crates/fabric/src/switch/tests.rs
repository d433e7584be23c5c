use proptest::prelude::*;
use softib_wire::addr::{Gid, PKey, QKey, Qpn, Sl};
use softib_wire::packet::{Form, Packet, UdHeaders};
use softib_wire::time::Duration;
use softib_wire::units::{Mtu, PhysState, PortState};

use super::*;
use crate::frame::{self, Pool};
use crate::management::{ManagementSend, Route};
use crate::testing::{
    GROUP, NOW, bring, from_outside, group_headers, headers, packet, smp_headers,
};

const PORTS: u8 = 5;
/// LIDs 1 to 5 are behind the ports of these numbers, 9 is the switch.
const SWITCH_LID: u16 = 9;
const MLID: u16 = 0xC000;

/// A switch with all ports Active, routes to LIDs 1 to 5, and a group on ports 1 to 3.
fn switch() -> Switch {
    let mut switch = Switch::new(SwitchConfig {
        node_guid: Guid::new(0x99),
        system_image_guid: Guid::new(0x99),
        ports: PORTS,
        description: "s".into(),
        port: PortConfig::new(Guid::default()),
    });
    for port in 1..=PORTS {
        switch.handle_link(NOW, port, true);
        bring(switch.port_mut(port).unwrap(), 0, PortState::Active);
    }
    set(&mut switch, 0, |info| info.lid = Lid::new(SWITCH_LID));
    let mut linear = [0xFF; 64];
    for port in 1..=PORTS {
        linear[usize::from(port)] = port;
    }
    linear[usize::from(SWITCH_LID)] = 0;
    linear[20] = PORTS + 1;
    switch.linear_fdb_mut().set_block(0, &linear).unwrap();
    let mut groups = [0; 32];
    groups[0] = 0b1110;
    groups[1] = 0b0010;
    groups[2] = 0b0011;
    switch.multicast_fdb_mut().set_block(0, 0, &groups).unwrap();
    let info = SwitchInfo {
        linear_fdb_top: Lid::new(30),
        ..switch.switch_info()
    };
    switch.set_switch_info(&info).unwrap();
    while switch.poll_event().is_some() {}
    switch
}

fn set(
    switch: &mut Switch,
    port: u8,
    change: impl FnOnce(&mut softib_wire::mad::port_info::PortInfo),
) {
    let port = switch.port_mut(port).unwrap();
    let mut info = port.port_info(0);
    (info.port_state, info.phys_state) = (PortState::NoChange, PhysState::NoChange);
    change(&mut info);
    port.set_port_info(&info).unwrap();
}

fn transmitted(switch: &mut Switch) -> Vec<(u8, Frame)> {
    std::iter::from_fn(|| switch.poll_transmit()).collect()
}

/// All drops, by port.
fn drops(switch: &Switch) -> Vec<(u8, DropReason, u64)> {
    let of = |port: u8| {
        let counters = &switch.port(port).unwrap().counters;
        counters
            .drops
            .iter()
            .map(move |(reason, count)| (port, reason, count))
            .collect::<Vec<_>>()
    };
    (0..=PORTS).flat_map(of).collect()
}

fn to(lid: u16) -> UdHeaders {
    UdHeaders {
        dlid: Lid::new(lid),
        ..headers()
    }
}

#[test]
fn unicast_is_relayed_by_handle() {
    let mut switch = switch();
    let frame = packet(&to(2), b"payload!");
    let place = frame.bytes().as_ptr();
    switch.handle_frame(NOW, 1, frame);
    let out = transmitted(&mut switch);
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].0, 2);
    assert_eq!(
        out[0].1.bytes().as_ptr(),
        place,
        "the octets are not touched"
    );
    let (one, two) = (
        &switch.port(1).unwrap().counters,
        &switch.port(2).unwrap().counters,
    );
    assert_eq!((one.receive_packets, one.unicast_receive_packets), (1, 1));
    // LRH 8, BTH 12, DETH 8, payload 8, ICRC 4.
    assert_eq!((one.receive_data, two.transmit_data), (10, 10));
    assert_eq!((two.transmit_packets, two.unicast_transmit_packets), (1, 1));
    assert_eq!(switch.poll_timeout(), None);
}

#[test]
fn multicast_goes_to_all_others_and_shares_octets() {
    let mut switch = switch();
    let frame = packet(&group_headers(MLID), b"to all");
    let place = frame.bytes().as_ptr();
    switch.handle_frame(NOW, 2, frame);
    let out = transmitted(&mut switch);
    assert_eq!(
        out.iter().map(|(port, _)| *port).collect::<Vec<_>>(),
        [1, 3]
    );
    assert!(out.iter().all(|(_, frame)| frame.bytes().as_ptr() == place));
    assert_eq!(
        switch.port(2).unwrap().counters.multicast_receive_packets,
        1
    );
    assert_eq!(
        switch.port(3).unwrap().counters.multicast_transmit_packets,
        1
    );
}

/// Reference 6.5.3: groups without an entry go to the primary port, and from it to the other.
#[test]
fn default_multicast_ports() {
    let mut switch = switch();
    let info = SwitchInfo {
        default_multicast_primary_port: 4,
        default_multicast_not_primary_port: 5,
        ..switch.switch_info()
    };
    switch.set_switch_info(&info).unwrap();
    let unknown = group_headers(0xC100);
    for (input, output) in [(1, 4), (4, 5), (5, 4)] {
        switch.handle_frame(NOW, input, packet(&unknown, b""));
        let out = transmitted(&mut switch);
        assert_eq!(
            out.iter().map(|(port, _)| *port).collect::<Vec<_>>(),
            [output],
            "from {input}"
        );
    }
    assert_eq!(drops(&switch), []);
}

/// SwitchInfo.MulticastFDBTop: entries above it do not count.
#[test]
fn multicast_top() {
    let mut switch = switch();
    let info = SwitchInfo {
        multicast_fdb_top: Lid::new(0xBFFF),
        ..switch.switch_info()
    };
    switch.set_switch_info(&info).unwrap();
    switch.handle_frame(NOW, 1, packet(&group_headers(MLID), b""));
    assert_eq!(drops(&switch), [(1, DropReason::DlidAboveTop, 1)]);
}

type Prepare = fn(&mut Switch);
type Make = fn() -> Frame;

/// One packet for each reason to drop one: what is changed of the switch, the packet that comes in by
/// port 1, the port that counts it.
#[test]
fn every_reason() {
    let none: Prepare = |_| {};
    let enforce_in: Prepare = |switch| {
        set(switch, 1, |info| info.partition_enforcement_inbound = true);
        switch
            .port_mut(1)
            .unwrap()
            .set_pkey_block(0, &[PKey::new(0x8001); 32])
            .unwrap();
    };
    let enforce_out: Prepare = |switch| {
        set(switch, 2, |info| info.partition_enforcement_outbound = true);
        switch
            .port_mut(2)
            .unwrap()
            .set_pkey_block(0, &[PKey::new(0x8001); 32])
            .unwrap();
    };
    let raw: Make = || {
        let mut frame = Pool::new().frame_from(&[0, 0, 0, 2, 0, 3, 0, 1, 0x86, 0xdd, 0, 0]);
        frame.set_vl(Vl::default());
        frame
    };
    let usual: Make = || packet(&to(2), b"data");
    use DropReason as R;
    let table: &[(R, u8, Prepare, Make)] = &[
        (R::TooShort, 1, none, || {
            Pool::new().frame_from(&[0, 2, 0, 2])
        }),
        (R::LinkVersion, 1, none, || {
            edited(&to(2), |bytes| bytes[0] |= 1)
        }),
        (R::PacketLength, 1, none, || {
            edited(&to(2), |bytes| bytes[5] += 1)
        }),
        (R::VcrcError, 1, none, || {
            let mut bytes = frame::finish(&packet(&to(2), b"data"));
            bytes[30] ^= 1;
            from_outside(&bytes)
        }),
        (R::SourceLid, 1, none, || {
            packet(
                &UdHeaders {
                    slid: Lid::new(MLID),
                    ..to(2)
                },
                b"",
            )
        }),
        (R::DlidZero, 1, none, || packet(&to(0), b"")),
        (R::DlidPermissive, 1, none, || packet(&to(0xFFFF), b"")),
        (
            R::PortNotReady,
            1,
            |switch| switch.handle_link(NOW, 1, false),
            usual,
        ),
        (R::DataOnVl15, 1, none, || {
            packet(
                &UdHeaders {
                    vl: Vl::MANAGEMENT,
                    ..to(2)
                },
                b"",
            )
        }),
        (R::SmpMulticast, 1, none, || {
            packet(
                &UdHeaders {
                    vl: Vl::MANAGEMENT,
                    ..group_headers(MLID)
                },
                b"",
            )
        }),
        (R::VlNotOperational, 1, none, || {
            packet(
                &UdHeaders {
                    vl: Vl::from_bits_truncate(9),
                    ..to(2)
                },
                b"",
            )
        }),
        (R::ReceiveMtu, 1, none, || packet(&to(2), &[0; 4100])),
        (R::DlidAboveTop, 1, none, || packet(&to(31), b"")),
        (R::NoRoute, 1, none, || packet(&to(15), b"")),
        (R::NoRoute, 1, none, || packet(&group_headers(0xC010), b"")),
        (R::NoSuchPort, 1, none, || packet(&to(20), b"")),
        (R::Loop, 1, none, || packet(&to(1), b"")),
        (R::NoMember, 1, none, || {
            packet(&group_headers(MLID + 1), b"")
        }),
        (
            R::RawInbound,
            1,
            |switch| set(switch, 1, |info| info.filter_raw_inbound = true),
            raw,
        ),
        (
            R::RawOutbound,
            2,
            |switch| set(switch, 2, |info| info.filter_raw_outbound = true),
            raw,
        ),
        (R::PKeyInbound, 1, enforce_in, usual),
        (R::PKeyOutbound, 2, enforce_out, usual),
        (
            R::OutInactive,
            2,
            |switch| switch.handle_link(NOW, 2, false),
            usual,
        ),
        (
            R::OutMtu,
            2,
            |switch| set(switch, 2, |info| info.neighbor_mtu = Some(Mtu::B256)),
            || packet(&to(2), &[0; 260]),
        ),
        (
            R::SlToVl15,
            2,
            |switch| switch.set_sl_to_vl(1, 2, [Vl::MANAGEMENT; 16]).unwrap(),
            usual,
        ),
        (
            R::OutVlNotOperational,
            2,
            |switch| {
                switch
                    .set_sl_to_vl(1, 2, [Vl::from_bits_truncate(8); 16])
                    .unwrap();
            },
            usual,
        ),
        // What the switch itself takes, as an end node.
        (R::IcrcError, 0, none, || bad_icrc(&gmp())),
        (R::GrhVersion, 0, none, || {
            edited(
                &UdHeaders {
                    grh: Some(crate::testing::grh(Gid::NONE)),
                    ..gmp()
                },
                |bytes| bytes[8] = 0x40,
            )
        }),
        (R::Opcode, 0, none, || {
            edited(&gmp(), |bytes| bytes[8] = 0x1F)
        }),
        (R::QpService, 0, none, || {
            edited(&gmp(), |bytes| bytes[8] = 0x04)
        }),
        (R::NoSuchQp, 0, none, || packet(&to(SWITCH_LID), b"")),
        (R::SmpOnDataVl, 0, none, || {
            packet(
                &UdHeaders {
                    dest_qpn: Qpn::SMI,
                    ..gmp()
                },
                b"",
            )
        }),
        (R::PKeyMismatch, 0, none, || {
            packet(
                &UdHeaders {
                    pkey: PKey::new(0x8001),
                    ..gmp()
                },
                b"",
            )
        }),
        (R::QKeyMismatch, 0, none, || {
            packet(
                &UdHeaders {
                    qkey: QKey::new(1),
                    ..gmp()
                },
                b"",
            )
        }),
        (
            R::NotMine,
            0,
            |switch| {
                let mut block = switch.linear_fdb().block(0).unwrap();
                block[7] = 0;
                switch.linear_fdb_mut().set_block(0, &block).unwrap();
            },
            || packet(&to(7), b""),
        ),
    ];
    for (reason, port, prepare, make) in table {
        let mut switch = switch();
        prepare(&mut switch);
        switch.handle_frame(NOW, 1, make());
        assert_eq!(drops(&switch), [(*port, *reason, 1)], "{reason:?}");
        assert!(transmitted(&mut switch).is_empty(), "{reason:?}");
        assert!(switch.poll_management().is_none(), "{reason:?}");
        assert_eq!(
            switch.port(1).unwrap().counters.receive_packets,
            1,
            "{reason:?}"
        );
    }
}

fn gmp() -> UdHeaders {
    UdHeaders {
        dest_qpn: Qpn::GSI,
        src_qpn: Qpn::GSI,
        qkey: QKey::GSI,
        ..to(SWITCH_LID)
    }
}

fn edited(headers: &UdHeaders, edit: impl FnOnce(&mut [u8])) -> Frame {
    let mut frame = packet(headers, b"data");
    edit(frame.bytes_mut());
    frame
}

/// The payload was damaged before the last hop: its VCRC is right, its ICRC is not.
fn bad_icrc(headers: &UdHeaders) -> Frame {
    let mut bytes = frame::finish(&packet(headers, b"data"));
    bytes[30] ^= 1;
    let end = bytes.len() - 2;
    let vcrc = softib_wire::crc::vcrc(&bytes[..end]);
    bytes[end..].copy_from_slice(&vcrc.to_le_bytes());
    from_outside(&bytes)
}

/// A switch does not check the ICRC of what it relays, and leaves it as it is.
#[test]
fn a_wrong_icrc_is_relayed() {
    let mut switch = switch();
    switch.handle_frame(NOW, 1, bad_icrc(&to(2)));
    let out = transmitted(&mut switch);
    assert!(!out[0].1.icrc_is_right());
}

/// A packet comes in by a port of its partition, and leaves by one whose membership lets it pass
/// (IBA 10.9.3); VL15 is not checked.
#[test]
fn pkey_matrix() {
    for (entry, pkey, comes_in, leaves) in [
        (0xFFFF, 0xFFFF, true, true),
        (0xFFFF, 0x7FFF, true, true),
        (0x7FFF, 0xFFFF, true, true),
        (0x7FFF, 0x7FFF, true, false),
        (0x8001, 0x8001, true, true),
        (0x8001, 0xFFFF, false, false),
        (0x0000, 0x8000, false, false),
    ] {
        for (inbound, passes) in [(true, comes_in), (false, leaves)] {
            let mut switch = switch();
            let port = if inbound { 1 } else { 2 };
            set(&mut switch, port, |info| {
                info.partition_enforcement_inbound = inbound;
                info.partition_enforcement_outbound = !inbound;
            });
            let mut block = [PKey::default(); 32];
            block[3] = PKey::new(entry);
            switch
                .port_mut(port)
                .unwrap()
                .set_pkey_block(0, &block)
                .unwrap();
            let sent = UdHeaders {
                pkey: PKey::new(pkey),
                ..to(2)
            };
            switch.handle_frame(NOW, 1, packet(&sent, b""));
            let case = format!("{entry:#06x} {pkey:#06x} inbound {inbound}");
            assert_eq!(
                transmitted(&mut switch).len(),
                usize::from(passes),
                "{case}"
            );
            let violations = std::iter::from_fn(|| switch.poll_event())
                .filter(|event| matches!(event, NodeEvent::PKeyViolation { .. }))
                .count();
            assert_eq!(violations, usize::from(!passes), "{case}");

            let smp = UdHeaders {
                dlid: Lid::new(2),
                slid: Lid::new(1),
                ..smp_headers()
            };
            switch.handle_frame(NOW, 1, packet(&smp, b""));
            assert_eq!(transmitted(&mut switch).len(), 1, "{case}");
        }
    }
}

/// Reference 6.7: what passes in which state of the ports that a packet comes in and leaves by.
#[test]
fn port_states() {
    use PortState::{Active, Armed, Down, Init};
    for (state, smp_in, data_in, data_out) in [
        (Down, false, false, false),
        (Init, true, false, false),
        (Armed, true, true, false),
        (Active, true, true, true),
    ] {
        let prepared = |port: u8| {
            let mut switch = switch();
            switch.handle_link(NOW, port, false);
            if state != Down {
                switch.handle_link(NOW, port, true);
                bring(switch.port_mut(port).unwrap(), 0, state);
            }
            switch
        };
        let smp = UdHeaders {
            dlid: Lid::new(2),
            slid: Lid::new(1),
            ..smp_headers()
        };
        for (port, headers, passes) in [
            (1, &smp, smp_in),
            (2, &smp, smp_in),
            (1, &to(2), data_in),
            (2, &to(2), data_out),
        ] {
            let mut switch = prepared(port);
            switch.handle_frame(NOW, 1, packet(headers, b""));
            let out = transmitted(&mut switch).len();
            assert_eq!(
                out,
                usize::from(passes),
                "{state:?} port {port} {:?}",
                headers.vl
            );
        }
        let mut switch = prepared(1);
        switch.handle_frame(NOW, 1, packet(&to(2), b""));
        let now_active = switch.port(1).unwrap().state() == crate::port::LinkState::Active;
        assert_eq!(now_active, state >= Armed, "data arms {state:?}");
    }
}

/// The SL stays, the lane follows the tables of each pair of ports.
#[test]
fn lanes_are_mapped() {
    let mut switch = switch();
    let mut table = [Vl::default(); 16];
    table[3] = Vl::from_bits_truncate(5);
    switch.set_sl_to_vl(1, 2, table).unwrap();
    assert_eq!(switch.sl_to_vl(1, 2), Some(&table));
    let sent = UdHeaders {
        sl: Sl::from_bits_truncate(3),
        ..to(2)
    };
    switch.handle_frame(NOW, 1, packet(&sent, b""));
    switch.handle_frame(NOW, 3, packet(&sent, b""));
    let out = transmitted(&mut switch);
    let mut lanes: Vec<_> = out.iter().map(|(_, frame)| frame.vl().bits()).collect();
    lanes.sort_unstable();
    assert_eq!(lanes, [0, 5]);
    for (_, frame) in &out {
        let wire = frame::finish(frame);
        let packet = Packet::parse(&wire, Form::Wire).unwrap();
        assert_eq!(
            (packet.lrh.sl, packet.lrh.vl),
            (Sl::from_bits_truncate(3), frame.vl())
        );
        assert!(from_outside(&wire).check_link_crc().is_ok());
    }
}

#[test]
fn management_comes_and_goes() {
    let mut switch = switch();
    // By directed route, at a port that is only in Init.
    switch.handle_link(NOW, 4, false);
    switch.handle_link(NOW, 4, true);
    switch.handle_frame(NOW, 4, packet(&smp_headers(), &[5; 256]));
    let smp = switch.poll_management().unwrap();
    assert_eq!(
        (smp.port, smp.dest_qpn, smp.dlid),
        (4, Qpn::SMI, Lid::PERMISSIVE)
    );
    assert_eq!(smp.payload.bytes(), [5; 256]);
    // To the switch's LID.
    switch.handle_frame(NOW, 1, packet(&gmp(), &[6; 256]));
    let gmp = switch.poll_management().unwrap();
    assert_eq!(
        (gmp.port, gmp.dest_qpn, gmp.slid, gmp.src_qpn),
        (1, Qpn::GSI, Lid::new(1), Qpn::GSI)
    );
    assert_eq!(switch.port(0).unwrap().counters.receive_packets, 2);

    let pool = Pool::new();
    switch
        .send_management(
            NOW,
            ManagementSend::smp(Route::Port(4), pool.frame_from(&[7; 256])),
        )
        .unwrap();
    let answer = ManagementSend {
        src_qpn: Qpn::GSI,
        dest_qpn: Qpn::GSI,
        qkey: QKey::GSI,
        ..ManagementSend::smp(Route::Lid(Lid::new(1)), pool.frame_from(&[8; 256]))
    };
    switch.send_management(NOW, answer.clone()).unwrap();
    let out = transmitted(&mut switch);
    let seen: Vec<_> = out
        .iter()
        .map(|(port, frame)| {
            let packet = Packet::parse(frame.bytes(), frame.form()).unwrap();
            (
                *port,
                frame.vl().bits(),
                packet.lrh.slid.bits(),
                packet.payload[0],
            )
        })
        .collect();
    assert_eq!(seen, [(1, 0, SWITCH_LID, 8), (4, 15, 0xFFFF, 7)]);

    // To itself, and where there is no way.
    let to_itself = ManagementSend {
        route: Route::Lid(Lid::new(SWITCH_LID)),
        ..answer.clone()
    };
    switch.send_management(NOW, to_itself).unwrap();
    assert_eq!(switch.poll_management().unwrap().port, 0);
    for (route, reason) in [
        (Route::Lid(Lid::new(15)), DropReason::NoRoute),
        (Route::Lid(Lid::new(MLID)), DropReason::NotMine),
        (Route::Port(PORTS + 1), DropReason::NoSuchPort),
    ] {
        let send = ManagementSend {
            route,
            ..answer.clone()
        };
        assert_eq!(switch.send_management(NOW, send), Err(reason));
    }
}

#[test]
fn agents_that_do_not_come_are_not_waited_for() {
    let mut switch = switch();
    let count = MANAGEMENT_DEPTH + 3;
    for _ in 0..count {
        switch.handle_frame(NOW, 1, packet(&smp_headers(), b""));
        switch.handle_frame(NOW, 1, packet(&gmp(), b""));
    }
    let taken = std::iter::from_fn(|| switch.poll_management()).count();
    let counters = &switch.port(0).unwrap().counters;
    assert_eq!(taken, MANAGEMENT_DEPTH);
    assert_eq!(
        counters.vl15_dropped + counters.qp1_dropped,
        (2 * count - taken) as u64
    );
}

/// A blocked output holds back the input, and nothing is lost.
#[test]
fn backpressure() {
    let mut switch = switch();
    switch.handle_ready(NOW, 2, VlMask(1 << 15));
    let frame = packet(&to(2), &[0; 4000]);
    let count = HELD_HIGH / frame.len() + 1;
    for _ in 0..count {
        switch.handle_frame(NOW, 1, frame.clone());
    }
    assert_eq!(transmitted(&mut switch).len(), 0);
    let closed = VlMask(!1);
    assert_eq!(
        switch.poll_event(),
        Some(NodeEvent::Flow {
            port: 1,
            open: closed
        })
    );
    switch.handle_ready(NOW + Duration::from_millis(1), 2, VlMask::ALL);
    assert_eq!(transmitted(&mut switch).len(), count);
    assert_eq!(
        switch.poll_event(),
        Some(NodeEvent::Flow {
            port: 1,
            open: VlMask::ALL
        })
    );
    assert_eq!(drops(&switch), []);
    assert_eq!(switch.port(2).unwrap().counters.transmit_wait, 1_000_000);
}

/// SwitchInfo.LifeTimeValue and PortInfo.HOQLife.
#[test]
fn what_waits_too_long_is_dropped() {
    for (life_time, hoq_life, reason) in [
        (4, 31, DropReason::LifeTime),
        (31, 4, DropReason::HeadOfQueue),
    ] {
        let mut switch = switch();
        let info = SwitchInfo {
            life_time,
            ..switch.switch_info()
        };
        switch.set_switch_info(&info).unwrap();
        set(&mut switch, 2, |info| info.hoq_life = hoq_life);
        switch.handle_ready(NOW, 2, VlMask::NONE);
        switch.handle_frame(NOW, 1, packet(&to(2), b""));
        let due = NOW + softib_wire::units::timeout(4);
        assert_eq!(switch.poll_timeout(), Some(due));
        switch.handle_timeout(due);
        assert_eq!(drops(&switch), [(2, reason, 1)]);
        assert_eq!(switch.port(2).unwrap().counters.transmit_discards, 1);
        assert_eq!(switch.poll_timeout(), None);
    }
}

/// PortInfo.VLStallCount: a lane that drops again and again drops everything for a while.
#[test]
fn stalled_lane() {
    let mut switch = switch();
    set(&mut switch, 2, |info| {
        (info.hoq_life, info.vl_stall_count) = (4, 1);
    });
    switch.handle_ready(NOW, 2, VlMask::NONE);
    switch.handle_frame(NOW, 1, packet(&to(2), b""));
    let due = NOW + softib_wire::units::timeout(4);
    switch.handle_timeout(due);
    switch.handle_frame(due, 1, packet(&to(2), b""));
    assert_eq!(
        drops(&switch),
        [
            (2, DropReason::HeadOfQueue, 1),
            (2, DropReason::VlStalled, 1)
        ]
    );
}

#[test]
fn vl15_has_no_credit_and_a_bound() {
    let mut switch = switch();
    switch.handle_ready(NOW, 2, VlMask::NONE);
    let smp = packet(
        &UdHeaders {
            dlid: Lid::new(2),
            slid: Lid::new(1),
            ..smp_headers()
        },
        &[0; 256],
    );
    for _ in 0..HELD_HIGH / smp.len() + 2 {
        switch.handle_frame(NOW, 1, smp.clone());
    }
    assert_eq!(drops(&switch), [(2, DropReason::Vl15Overrun, 1)]);
    assert_eq!(switch.port(2).unwrap().counters.vl15_dropped, 1);
}

#[test]
fn a_port_that_goes_down_loses_its_queue() {
    let mut switch = switch();
    switch.handle_ready(NOW, 2, VlMask::NONE);
    switch.handle_frame(NOW, 1, packet(&to(2), b""));
    switch.handle_link(NOW, 2, false);
    assert_eq!(transmitted(&mut switch).len(), 0);
    assert_eq!(drops(&switch), [(2, DropReason::OutInactive, 1)]);
    assert_eq!(switch.port(2).unwrap().counters.link_downed, 1);
    assert_eq!(switch.poll_event(), Some(NodeEvent::PortDown { port: 2 }));
    assert_eq!(switch.poll_timeout(), None);
}

/// SwitchInfo.PortStateChange: set by a change, cleared by writing 1.
#[test]
fn port_state_change() {
    let mut switch = switch();
    let clear = SwitchInfo {
        port_state_change: true,
        ..switch.switch_info()
    };
    switch.set_switch_info(&clear).unwrap();
    assert!(!switch.switch_info().port_state_change);
    switch.handle_link(NOW, 3, false);
    let info = switch.switch_info();
    assert!(info.port_state_change);
    let keep = SwitchInfo {
        port_state_change: false,
        ..info
    };
    switch.set_switch_info(&keep).unwrap();
    assert!(switch.switch_info().port_state_change);
    let wrong = SwitchInfo {
        linear_fdb_top: Lid::new(0xC000),
        ..info
    };
    assert_eq!(
        switch.set_switch_info(&wrong).unwrap_err().field,
        "SwitchInfo.LinearFDBTop"
    );
}

#[test]
fn ports_that_do_not_exist() {
    let mut switch = switch();
    switch.handle_frame(NOW, 0, packet(&to(2), b""));
    switch.handle_frame(NOW, PORTS + 1, packet(&to(2), b""));
    switch.handle_link(NOW, 200, true);
    switch.handle_ready(NOW, 200, VlMask::NONE);
    assert!(switch.port_mut(200).is_none());
    assert!(switch.set_sl_to_vl(1, 200, [Vl::default(); 16]).is_err());
    assert!(
        switch
            .set_vl_arb(200, 1, &[Default::default(); 32])
            .is_err()
    );
    assert!(switch.set_vl_arb(1, 5, &[Default::default(); 32]).is_err());
    assert_eq!(switch.vl_arb(1, 0), None);
    assert!(switch.poll_transmit().is_none());
}

/// A large send passes whole, counted as the packets that it stands for, and its octets are those
/// that its packets would have had.
#[test]
fn super_frames_pass_whole() {
    let (whole, pool) = (large_send(), Pool::new());
    let packets: Vec<_> = frame::cut(&whole, &pool).collect();
    assert!(packets.len() > 3);

    let mut late = switch();
    late.handle_frame(NOW, 1, whole.clone());
    let out = transmitted(&mut late);
    assert_eq!(out.len(), 1);
    let late_images: Vec<_> = frame::wire_images(&out[0].1, &pool).collect();

    let mut early = switch();
    for packet in &packets {
        early.handle_frame(NOW, 1, packet.clone());
    }
    let early_images: Vec<_> = transmitted(&mut early)
        .iter()
        .map(|(_, packet)| frame::finish(packet))
        .collect();
    assert_eq!(late_images, early_images);
    for port in 1..=2 {
        assert_eq!(
            late.port(port).unwrap().counters,
            early.port(port).unwrap().counters
        );
    }

    // As many packets too large for a port as there are.
    set(&mut late, 2, |info| info.neighbor_mtu = Some(Mtu::B256));
    late.handle_frame(NOW, 1, whole);
    assert_eq!(
        drops(&late),
        [(2, DropReason::OutMtu, packets.len() as u64)]
    );
}

/// TCP over IPv4, in the default partition, from LID 1 to LID 2.
fn large_send() -> Frame {
    use crate::frame::{Gso, GsoKind, Offload};
    let mut ip = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 5002, 1, 1000)
        .write(&mut ip, &[0x5A; 9001])
        .unwrap();
    let mut frame = Pool::new().frame_from(&ip);
    frame.set_offload(Some(Offload {
        needs_checksum: true,
        checksum_start: 20,
        checksum_offset: 16,
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            size: 2004,
            header_len: 40,
            ecn: false,
        }),
    }));
    frame.push_front(4).copy_from_slice(&[8, 0, 0, 0]);
    crate::management::push_headers(&mut frame, &to(2));
    frame
}

proptest! {
    /// Arbitrary octets, and packets with arbitrary changes: nothing panics, and whatever comes in
    /// goes out, to the agents, or into a counter.
    #[test]
    fn hostile(
        base in 0_usize..5,
        cut_to in 0_usize..400,
        changes in prop::collection::vec((0_usize..100, any::<u8>()), 0..6),
        octets in prop::collection::vec(any::<u8>(), 0..120),
        present: bool,
        repair: bool,
        vl in 0_u8..16,
        port in 1..=PORTS,
    ) {
        let mut switch = switch();
        set(&mut switch, 3, |info| info.partition_enforcement_inbound = true);
        let mut frame = match base {
            0 => Pool::new().frame_from(&octets),
            1 => packet(&to(2), &octets),
            2 => packet(&group_headers(MLID), &octets),
            3 => packet(&smp_headers(), &octets),
            _ => packet(&UdHeaders { grh: Some(crate::testing::grh(GROUP)), ..gmp() }, &octets),
        };
        for (at, value) in changes {
            if let Some(octet) = frame.bytes_mut().get_mut(at) {
                *octet = value;
            }
        }
        frame.truncate(cut_to);
        frame.set_vl(Vl::from_bits_truncate(vl));
        if present {
            frame = if repair { from_outside(&frame::finish(&frame)) } else { from_outside(frame.bytes()) };
        }
        switch.handle_frame(NOW, port, frame);
        let out = transmitted(&mut switch).len();
        let management = std::iter::from_fn(|| switch.poll_management()).count();
        let dropped: u64 = drops(&switch).iter().map(|(_, _, count)| count).sum();
        let outcomes = out as u64 + management as u64 + dropped;
        prop_assert_eq!(switch.port(port).unwrap().counters.receive_packets, 1);
        // A multicast packet has an outcome at each port that it goes to.
        prop_assert!((1..=3).contains(&outcomes), "{} {} {}", out, management, dropped);
    }
}
