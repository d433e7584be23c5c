use softib_wire::addr::{Guid, PKey, Psn, Qpn, Sl};
use softib_wire::packet::{Form, Packet, UdHeaders};
use softib_wire::units::{Mtu, PhysState, PortState};

mod refusals;

use super::*;
use crate::frame::{self, Gso, GsoKind, Offload, Pool};
use crate::testing::{GROUP, NOW, bring, group_headers, headers, packet, smp_headers};

const LID: u16 = 2;
const MLID: u16 = 0xC000;
const QKEY: QKey = QKey::new(0x0b1b);

/// An adapter with an Active port at LID 2, and on it a completion queue and two UD queue pairs.
struct Bench {
    hca: Hca,
    cq: CqId,
    one: QpId,
    two: QpId,
}

fn bench() -> Bench {
    bench_with(QpCaps::default())
}

fn bench_with(caps: QpCaps) -> Bench {
    let mut hca = Hca::new(HcaConfig {
        node_guid: Guid::new(0x20),
        system_image_guid: Guid::new(0x20),
        ports: vec![
            PortConfig::new(Guid::new(0x21)),
            PortConfig::new(Guid::new(0x22)),
        ],
        description: "h".into(),
    });
    hca.handle_link(NOW, 1, true);
    bring(hca.port_mut(1).unwrap(), LID, PortState::Active);
    let cq = hca.create_cq(100);
    let mut qp = |index| {
        let id = hca.create_qp(1, QpKind::Ud, cq, cq, caps).unwrap();
        hca.activate_ud_qp(id, QKEY, index).unwrap();
        hca.post_recv(id, 8).unwrap();
        id
    };
    let (one, two) = (qp(0), qp(0));
    while hca.poll_event().is_some() {}
    Bench { hca, cq, one, two }
}

impl Bench {
    fn completions(&mut self) -> Vec<Completion> {
        std::iter::from_fn(|| self.hca.poll_cq(self.cq)).collect()
    }

    /// Who received what.
    fn received(&mut self) -> Vec<(QpId, Vec<u8>)> {
        self.completions()
            .into_iter()
            .filter_map(|completion| match completion.kind {
                CompletionKind::Receive(received) => {
                    Some((completion.qp, received.payload.bytes().to_vec()))
                }
                CompletionKind::Send => None,
            })
            .collect()
    }

    fn transmitted(&mut self) -> Vec<Frame> {
        std::iter::from_fn(|| self.hca.poll_transmit())
            .map(|(_, frame)| frame)
            .collect()
    }

    fn drops(&self) -> Vec<(DropReason, u64)> {
        self.hca.port(1).unwrap().counters.drops.iter().collect()
    }

    fn to(&self, id: QpId) -> UdHeaders {
        UdHeaders {
            dest_qpn: id.qpn(),
            ..headers()
        }
    }

    fn set(&mut self, change: impl FnOnce(&mut softib_wire::mad::port_info::PortInfo)) {
        let port = self.hca.port_mut(1).unwrap();
        let mut info = port.port_info(1);
        (info.port_state, info.phys_state) = (PortState::NoChange, PhysState::NoChange);
        change(&mut info);
        port.set_port_info(&info).unwrap();
    }
}

fn send(dlid: u16, dest_qpn: Qpn, payload: &[u8]) -> UdSend {
    UdSend {
        wr_id: 7,
        address: AddressVector {
            dlid: Lid::new(dlid),
            sl: Sl::default(),
            path_bits: 0,
            rate: None,
            global: None,
        },
        dest_qpn,
        qkey: QKEY,
        pkey_index: None,
        payload: Pool::new().frame_from(payload),
        signaled: true,
    }
}

fn send_to_group(payload: &[u8]) -> UdSend {
    let mut send = send(MLID, Qpn::MULTICAST, payload);
    send.address.global = Some(GlobalRoute {
        dgid: GROUP,
        sgid_index: 0,
        flow_label: 0,
        hop_limit: 0,
        traffic_class: 0,
    });
    send
}

#[test]
fn a_datagram_leaves_with_all_its_headers() {
    let mut bench = bench();
    let mut request = send(9, Qpn::from_bits_truncate(0x123), b"hello");
    request.address.sl = Sl::from_bits_truncate(2);
    bench.hca.post_ud_send(bench.one, request.clone()).unwrap();
    assert!(bench.completions().is_empty(), "not before it left");
    let wire = frame::finish(&bench.transmitted()[0]);
    let packet = Packet::parse(&wire, Form::Wire).unwrap();
    assert_eq!(
        (packet.lrh.slid, packet.lrh.dlid),
        (Lid::new(LID), Lid::new(9))
    );
    assert_eq!((packet.lrh.sl.bits(), packet.bth.pad_count), (2, 3));
    assert_eq!(
        (packet.bth.pkey, packet.bth.psn),
        (PKey::DEFAULT_FULL, Psn::default())
    );
    let deth = packet.ext.deth().unwrap();
    assert_eq!((deth.qkey, deth.src_qpn), (QKEY, bench.one.qpn()));
    assert_eq!(packet.payload, b"hello");
    let done = bench.completions();
    assert_eq!(
        (done.len(), done[0].wr_id, done[0].status),
        (1, 7, Status::Success)
    );

    // The next has the next sequence number; who wants no completion gets none.
    bench
        .hca
        .post_ud_send(
            bench.one,
            UdSend {
                signaled: false,
                ..request
            },
        )
        .unwrap();
    let out = bench.transmitted();
    assert_eq!(
        Packet::parse(out[0].bytes(), Form::Late)
            .unwrap()
            .bth
            .psn
            .bits(),
        1
    );
    assert!(bench.completions().is_empty());
    assert_eq!(bench.hca.qp_counters(bench.one).unwrap().sent, 2);
}

/// IBA 10.2.5: a controlled Q_Key stands for the queue pair's own.
#[test]
fn controlled_qkey() {
    let mut bench = bench();
    let request = UdSend {
        qkey: QKey::new(0x8000_0000),
        ..send(9, bench.two.qpn(), b"")
    };
    bench.hca.post_ud_send(bench.one, request).unwrap();
    let out = bench.transmitted();
    let packet = Packet::parse(out[0].bytes(), Form::Late).unwrap();
    assert_eq!(packet.ext.deth().unwrap().qkey, QKEY);
}

#[test]
fn global_route_and_path_bits() {
    let mut bench = bench();
    bench.set(|info| (info.lid, info.lmc) = (Lid::new(4), 1));
    let mut request = send(9, bench.two.qpn(), b"");
    request.address.path_bits = 3;
    request.address.global = Some(GlobalRoute {
        dgid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x31)),
        sgid_index: 0,
        flow_label: 0xABCDE,
        hop_limit: 64,
        traffic_class: 9,
    });
    bench.hca.post_ud_send(bench.one, request).unwrap();
    let out = bench.transmitted();
    let packet = Packet::parse(out[0].bytes(), Form::Late).unwrap();
    assert_eq!(
        packet.lrh.slid,
        Lid::new(5),
        "only the bits that LMC leaves"
    );
    let grh = packet.grh.unwrap();
    assert_eq!(
        (grh.flow_label, grh.hop_limit, grh.traffic_class),
        (0xABCDE, 64, 9)
    );
    assert_eq!(
        grh.sgid,
        Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x21))
    );
}

#[test]
fn a_datagram_arrives_without_headers_and_padding() {
    let mut bench = bench();
    let sent = UdHeaders {
        immediate: Some(0xFEED),
        ..bench.to(bench.two)
    };
    bench.hca.handle_frame(NOW, 1, packet(&sent, b"hello"));
    let done = bench.completions();
    let CompletionKind::Receive(received) = &done[0].kind else {
        panic!()
    };
    assert_eq!((done.len(), done[0].qp, done[0].wr_id), (1, bench.two, 0));
    assert_eq!(received.payload.bytes(), b"hello");
    assert_eq!((received.slid, received.dlid), (Lid::new(1), Lid::new(LID)));
    assert_eq!((received.src_qpn.bits(), received.pkey_index), (0x41, 0));
    assert_eq!((received.grh, received.immediate), (None, Some(0xFEED)));
}

/// Case 29 of the IPoIB reference: two queue pairs of one port talk to each other.
#[test]
fn unicast_to_its_own_port_is_looped_back() {
    let mut bench = bench();
    bench
        .hca
        .post_ud_send(bench.one, send(LID, bench.two.qpn(), b"next door"))
        .unwrap();
    bench
        .hca
        .post_ud_send(bench.one, send(LID, bench.one.qpn(), b"myself"))
        .unwrap();
    assert!(bench.transmitted().is_empty());
    let (one, two) = (bench.one, bench.two);
    assert_eq!(
        bench.received(),
        [(two, b"next door".to_vec()), (one, b"myself".to_vec())]
    );
    bench
        .hca
        .post_ud_send(one, send(LID, Qpn::from_bits_truncate(0x999), b"nobody"))
        .unwrap();
    assert_eq!(bench.drops(), [(DropReason::NoSuchQp, 1)]);
}

/// Case 29: multicast reaches the other queue pairs of the port too, and the sender unless it is
/// blocked.
#[test]
fn multicast_is_looped_back_and_sent() {
    for block in [true, false] {
        let caps = QpCaps {
            block_multicast_loopback: block,
            ..QpCaps::default()
        };
        let mut bench = bench_with(caps);
        let (one, two) = (bench.one, bench.two);
        for id in [one, two] {
            bench
                .hca
                .attach_multicast(id, GROUP, Lid::new(MLID))
                .unwrap();
        }
        bench.hca.post_ud_send(one, send_to_group(b"all")).unwrap();
        assert_eq!(bench.transmitted().len(), 1);
        let expected = if block { vec![two] } else { vec![one, two] };
        let got: Vec<_> = bench.received().into_iter().map(|(id, _)| id).collect();
        assert_eq!(got, expected);

        // From the link it is for all of them, and they share the octets.
        bench
            .hca
            .handle_frame(NOW, 1, packet(&group_headers(MLID), b"all"));
        assert_eq!(bench.received().len(), 2);
        bench
            .hca
            .detach_multicast(two, GROUP, Lid::new(MLID))
            .unwrap();
        bench
            .hca
            .handle_frame(NOW, 1, packet(&group_headers(MLID), b"all"));
        assert_eq!(bench.received().len(), 1);
        assert!(
            bench
                .hca
                .detach_multicast(two, GROUP, Lid::new(MLID))
                .is_err()
        );
    }
}

/// A packet to a group that nobody here is in is no drop when it came from here.
#[test]
fn sending_to_a_group_without_being_in_it() {
    let mut bench = bench();
    bench
        .hca
        .post_ud_send(bench.one, send_to_group(b"all"))
        .unwrap();
    assert_eq!(bench.transmitted().len(), 1);
    assert_eq!(bench.drops(), []);
}

#[test]
fn posts_that_are_refused() {
    let mut bench = bench_with(QpCaps {
        send: 2,
        recv: 8,
        ..QpCaps::default()
    });
    let (one, qpn) = (bench.one, bench.two.qpn());
    let post = |bench: &mut Bench, request| bench.hca.post_ud_send(one, request).unwrap_err();
    assert_eq!(
        post(&mut bench, send(0, qpn, b"")),
        PostError::Destination { dlid: Lid::NONE }
    );
    assert_eq!(
        post(&mut bench, send(9, Qpn::MULTICAST, b"")),
        PostError::Multicast {
            dlid: Lid::new(9),
            dest_qpn: Qpn::MULTICAST
        }
    );
    assert_eq!(
        post(&mut bench, send(MLID, Qpn::MULTICAST, b"")),
        PostError::Multicast {
            dlid: Lid::new(MLID),
            dest_qpn: Qpn::MULTICAST
        }
    );
    let mut request = send_to_group(b"");
    request.address.global.as_mut().unwrap().sgid_index = 1;
    assert_eq!(post(&mut bench, request), PostError::NoGid { index: 1 });
    bench.set(|info| info.neighbor_mtu = Some(Mtu::B2048));
    assert_eq!(
        post(&mut bench, send(9, qpn, &[0; 2049])),
        PostError::TooLong {
            octets: 2049,
            mtu: 2048
        }
    );
    bench
        .hca
        .modify_ud_qp(
            one,
            UdAttributes {
                pkey_index: Some(5),
                ..Default::default()
            },
        )
        .unwrap();
    assert_eq!(
        post(&mut bench, send(9, qpn, b"")),
        PostError::NoPKey { index: 5 }
    );
    bench
        .hca
        .modify_ud_qp(
            one,
            UdAttributes {
                pkey_index: Some(0),
                ..Default::default()
            },
        )
        .unwrap();

    bench.hca.handle_ready(NOW, 1, VlMask::NONE);
    for _ in 0..2 {
        bench.hca.post_ud_send(one, send(9, qpn, b"")).unwrap();
    }
    assert_eq!(
        post(&mut bench, send(9, qpn, b"")),
        PostError::QueueFull { depth: 2 }
    );
    bench.hca.handle_ready(NOW, 1, VlMask::ALL);
    assert_eq!(bench.transmitted().len(), 2);
    bench.hca.post_ud_send(one, send(9, qpn, b"")).unwrap();

    assert_eq!(
        bench.hca.post_recv(one, 1),
        Err(PostError::QueueFull { depth: 8 })
    );
    assert_eq!(
        bench.hca.post_recv(one, u32::MAX),
        Err(PostError::QueueFull { depth: 8 })
    );
    let state = Some(QpState::Sqd);
    bench
        .hca
        .modify_ud_qp(
            one,
            UdAttributes {
                state,
                ..Default::default()
            },
        )
        .unwrap();
    assert_eq!(
        post(&mut bench, send(9, qpn, b"")),
        PostError::State {
            state: QpState::Sqd
        }
    );
    bench.hca.destroy_qp(one).unwrap();
    assert_eq!(
        post(&mut bench, send(9, qpn, b"")),
        PostError::NoSuchQp { qpn: one.qpn() }
    );
}

/// What waits when a queue pair goes to the error state is flushed, not sent.
#[test]
fn error_state_flushes() {
    let mut bench = bench();
    bench.hca.handle_ready(NOW, 1, VlMask::NONE);
    let (one, two) = (bench.one, bench.two);
    for id in [one, two, one] {
        let request = UdSend {
            signaled: false,
            ..send(9, two.qpn(), b"")
        };
        bench.hca.post_ud_send(id, request).unwrap();
    }
    let state = Some(QpState::Error);
    bench
        .hca
        .modify_ud_qp(
            one,
            UdAttributes {
                state,
                ..Default::default()
            },
        )
        .unwrap();
    let done = bench.completions();
    assert!(
        done.iter()
            .all(|done| done.status == Status::Flushed && done.qp == one)
    );
    assert_eq!(done.len(), 2);
    bench.hca.handle_ready(NOW, 1, VlMask::ALL);
    assert_eq!(bench.transmitted().len(), 1);
    assert_eq!(
        bench.hca.post_recv(one, 1),
        Err(PostError::State {
            state: QpState::Error
        })
    );
}

type Prepare = fn(&mut Bench);

/// What the port drops instead of sending, with the send done nevertheless.
#[test]
fn sends_that_do_not_leave() {
    let table: &[(DropReason, Prepare)] = &[
        (DropReason::OutInactive, |bench| {
            bench.hca.handle_link(NOW, 1, false);
        }),
        (DropReason::SlToVl15, |bench| {
            bench
                .hca
                .port_mut(1)
                .unwrap()
                .set_sl_to_vl([Vl::MANAGEMENT; 16]);
        }),
        (DropReason::OutVlNotOperational, |bench| {
            bench
                .hca
                .port_mut(1)
                .unwrap()
                .set_sl_to_vl([Vl::from_bits_truncate(8); 16]);
        }),
    ];
    for (reason, prepare) in table {
        let mut bench = bench();
        prepare(&mut bench);
        bench
            .hca
            .post_ud_send(bench.one, send(9, bench.two.qpn(), b""))
            .unwrap();
        assert_eq!(bench.drops(), [(*reason, 1)]);
        assert!(bench.transmitted().is_empty());
        assert_eq!(bench.completions().len(), 1);
    }
    // While it waits for credit: the port goes down, or the time is up.
    let mut bench = bench();
    bench.set(|info| info.hoq_life = 4);
    bench.hca.handle_ready(NOW, 1, VlMask::NONE);
    bench
        .hca
        .post_ud_send(bench.one, send(9, bench.two.qpn(), b""))
        .unwrap();
    let due = bench.hca.poll_timeout().unwrap();
    bench.hca.handle_timeout(due);
    bench
        .hca
        .post_ud_send(bench.one, send(9, bench.two.qpn(), b""))
        .unwrap();
    bench.hca.handle_link(due, 1, false);
    assert_eq!(
        bench.drops(),
        [(DropReason::OutInactive, 1), (DropReason::HeadOfQueue, 1)]
    );
    assert_eq!(bench.completions().len(), 2);
    assert_eq!(bench.hca.poll_timeout(), None);
}

#[test]
fn violations_are_counted_and_announced() {
    let mut bench = bench();
    let sent = UdHeaders {
        pkey: PKey::new(0x8001),
        ..bench.to(bench.one)
    };
    bench.hca.handle_frame(NOW, 1, packet(&sent, b""));
    let sent = UdHeaders {
        qkey: QKey::new(5),
        ..bench.to(bench.one)
    };
    bench.hca.handle_frame(NOW, 1, packet(&sent, b""));
    let Some(NodeEvent::PKeyViolation { port: 1, violation }) = bench.hca.poll_event() else {
        panic!()
    };
    assert_eq!(
        (violation.key, violation.slid),
        (PKey::new(0x8001), Lid::new(1))
    );
    assert_eq!(
        (violation.src_qpn.bits(), violation.dest_qpn),
        (0x41, bench.one.qpn())
    );
    let Some(NodeEvent::QKeyViolation { port: 1, violation }) = bench.hca.poll_event() else {
        panic!()
    };
    assert_eq!((violation.key, violation.gids), (QKey::new(5), None));
    let info = bench.hca.port(1).unwrap().port_info(1);
    assert_eq!((info.p_key_violations, info.q_key_violations), (1, 1));
    assert_eq!(bench.hca.qp_counters(bench.one).unwrap().drops.total(), 2);
}

/// QP0: no keys are checked. QP1: any P_Key of the port, the well-known Q_Key.
#[test]
fn special_queue_pairs() {
    let mut bench = bench();
    let caps = QpCaps::default();
    let smi = bench
        .hca
        .create_qp(1, QpKind::Smi, bench.cq, bench.cq, caps)
        .unwrap();
    let gsi = bench
        .hca
        .create_qp(1, QpKind::Gsi, bench.cq, bench.cq, caps)
        .unwrap();
    assert_eq!((smi.qpn(), gsi.qpn()), (Qpn::SMI, Qpn::GSI));
    let again = bench
        .hca
        .create_qp(1, QpKind::Smi, bench.cq, bench.cq, caps);
    assert_eq!(
        again,
        Err(VerbError::QpExists {
            port: 1,
            qpn: Qpn::SMI
        })
    );
    for id in [smi, gsi] {
        bench.hca.post_recv(id, 8).unwrap();
    }
    let mut pkeys = bench.hca.port(1).unwrap().pkeys().block(0).unwrap();
    pkeys[3] = PKey::new(0x8001);
    bench
        .hca
        .port_mut(1)
        .unwrap()
        .set_pkey_block(0, &pkeys)
        .unwrap();

    bench.hca.handle_frame(
        NOW,
        1,
        packet(
            &UdHeaders {
                pkey: PKey::new(0),
                ..smp_headers()
            },
            b"s",
        ),
    );
    let gmp = UdHeaders {
        dest_qpn: Qpn::GSI,
        qkey: QKey::GSI,
        pkey: PKey::new(0x8001),
        ..headers()
    };
    bench.hca.handle_frame(NOW, 1, packet(&gmp, b"g"));
    let done = bench.completions();
    let indices: Vec<_> = done
        .iter()
        .map(|done| match &done.kind {
            CompletionKind::Receive(received) => (done.qp, received.pkey_index),
            CompletionKind::Send => panic!(),
        })
        .collect();
    assert_eq!(indices, [(smi, 0), (gsi, 3)]);

    // Sends: QP1 says which P_Key, SMPs are on VL15 and have none.
    let request = UdSend {
        pkey_index: Some(3),
        qkey: QKey::GSI,
        ..send(9, Qpn::GSI, b"g")
    };
    bench.hca.post_ud_send(gsi, request).unwrap();
    bench
        .hca
        .post_ud_send(smi, send(9, Qpn::SMI, b"s"))
        .unwrap();
    bench.hca.post_smp(1, Pool::new().frame_from(b"d")).unwrap();
    let out = bench.transmitted();
    let seen: Vec<_> = out
        .iter()
        .map(|frame| {
            let packet = Packet::parse(frame.bytes(), Form::Late).unwrap();
            (
                frame.vl().bits(),
                packet.lrh.dlid.bits(),
                packet.bth.pkey.bits(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [(15, 9, 0xFFFF), (15, 0xFFFF, 0xFFFF), (0, 9, 0x8001)]
    );
    assert!(bench.hca.post_smp(2, Pool::new().frame_from(b"d")).is_err());
}

/// SMPs pass in Init, where data does not.
#[test]
fn smps_pass_in_init() {
    let mut bench = bench();
    let smi = bench
        .hca
        .create_qp(1, QpKind::Smi, bench.cq, bench.cq, QpCaps::default())
        .unwrap();
    bench.hca.post_recv(smi, 1).unwrap();
    bench.hca.handle_link(NOW, 1, false);
    bench.hca.handle_link(NOW, 1, true);
    bench.hca.post_smp(1, Pool::new().frame_from(b"d")).unwrap();
    assert_eq!(bench.transmitted().len(), 1);
    bench.hca.handle_frame(NOW, 1, packet(&smp_headers(), b"s"));
    assert_eq!(bench.received().len(), 1);
    bench
        .hca
        .handle_frame(NOW, 1, packet(&bench.to(bench.one), b""));
    assert_eq!(bench.drops(), [(DropReason::PortNotReady, 1)]);
}

#[test]
fn verbs_that_are_refused() {
    let mut bench = bench();
    let (cq, one, caps) = (bench.cq, bench.one, QpCaps::default());
    let hca = &mut bench.hca;
    assert_eq!(
        hca.create_qp(3, QpKind::Ud, cq, cq, caps)
            .unwrap_err()
            .to_string(),
        "the adapter has no port 3, only 1 to 2"
    );
    let missing = CqId(99);
    assert_eq!(
        hca.create_qp(1, QpKind::Ud, cq, missing, caps),
        Err(VerbError::NoSuchCq)
    );
    assert_eq!(hca.destroy_cq(missing), Err(VerbError::NoSuchCq));
    assert_eq!(hca.destroy_cq(cq), Err(VerbError::CqInUse { users: 4 }));
    let init = UdAttributes {
        state: Some(QpState::Init),
        ..Default::default()
    };
    assert_eq!(
        hca.modify_ud_qp(one, init),
        Err(VerbError::StateChange {
            from: QpState::Rts,
            to: QpState::Init
        })
    );
    let gsi = hca.create_qp(1, QpKind::Gsi, cq, cq, caps).unwrap();
    let keys = UdAttributes {
        qkey: Some(QKEY),
        ..Default::default()
    };
    assert_eq!(
        hca.modify_ud_qp(gsi, keys),
        Err(VerbError::FixedKeys { qpn: Qpn::GSI })
    );
    let mlid = Lid::new(MLID);
    assert_eq!(
        hca.attach_multicast(one, GROUP, Lid::new(1)),
        Err(VerbError::NotMulticast { mlid: Lid::new(1) })
    );
    assert_eq!(
        hca.attach_multicast(one, Gid::NONE, mlid),
        Err(VerbError::NotMulticast { mlid })
    );
    hca.attach_multicast(one, GROUP, mlid).unwrap();
    hca.destroy_qp(one).unwrap();
    assert_eq!(
        hca.attach_multicast(one, GROUP, mlid),
        Err(VerbError::NoSuchQp { qpn: one.qpn() })
    );
    assert_eq!(hca.qp_state(one), None);
    hca.handle_frame(NOW, 1, packet(&group_headers(MLID), b""));
    assert_eq!(bench.drops(), [(DropReason::NotAttached, 1)]);
}

/// A number that was given back is not the next to be given: late packets for the old queue pair
/// must not reach a new one.
#[test]
fn numbers_are_not_reused_at_once() {
    let mut bench = bench();
    bench.hca.destroy_qp(bench.two).unwrap();
    let next = bench
        .hca
        .create_qp(1, QpKind::Ud, bench.cq, bench.cq, QpCaps::default())
        .unwrap();
    assert_ne!(next.qpn(), bench.two.qpn());
    assert_eq!(bench.hca.qps().count(), 2);
}

#[test]
fn a_full_completion_queue_is_announced() {
    let mut bench = bench();
    let cq = bench.hca.create_cq(0);
    let id = bench
        .hca
        .create_qp(1, QpKind::Ud, cq, cq, QpCaps::default())
        .unwrap();
    bench.hca.activate_ud_qp(id, QKEY, 0).unwrap();
    bench.hca.post_ud_send(id, send(9, id.qpn(), b"")).unwrap();
    bench.transmitted();
    assert_eq!(bench.hca.poll_event(), Some(NodeEvent::CqOverrun { cq }));
}

/// A large send goes as one frame, is counted as its packets, and is received whole.
#[test]
fn large_send() {
    let mut bench = bench();
    let mut ip = Vec::new();
    etherparse::PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 5002, 1, 1000)
        .write(&mut ip, &[0x5A; 50_001])
        .unwrap();
    let mut payload = Pool::new().frame_from(&ip);
    let offload = Offload {
        needs_checksum: true,
        checksum_start: 20,
        checksum_offset: 16,
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            size: 2004,
            header_len: 40,
            ecn: false,
        }),
    };
    payload.set_offload(Some(offload));
    payload.push_front(4).copy_from_slice(&[8, 0, 0, 0]);
    let request = UdSend {
        payload,
        ..send(9, bench.two.qpn(), b"")
    };
    bench.set(|info| info.neighbor_mtu = Some(Mtu::B2048));
    bench.hca.post_ud_send(bench.one, request.clone()).unwrap();
    let out = bench.transmitted();
    let packets = 50_001_u64.div_ceil(2004);
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].wire_packets(), packets);
    assert_eq!(
        bench.hca.port(1).unwrap().counters.transmit_packets,
        packets
    );
    bench
        .hca
        .post_ud_send(bench.one, send(9, bench.two.qpn(), b""))
        .unwrap();
    let next = bench.transmitted();
    let psn = Packet::parse(next[0].bytes(), Form::Late).unwrap().bth.psn;
    assert_eq!(u64::from(psn.bits()), packets, "each packet took a number");

    let mut looped = request;
    looped.address.dlid = Lid::new(LID);
    bench.hca.post_ud_send(bench.one, looped).unwrap();
    let done = bench.completions();
    let received = done.iter().find_map(|done| match &done.kind {
        CompletionKind::Receive(received) => Some(received),
        CompletionKind::Send => None,
    });
    let mut payload = received.unwrap().payload.clone();
    payload.pop_front(4);
    assert_eq!(payload.bytes(), ip);
    assert_eq!(payload.offload(), Some(offload));
    bench.set(|info| info.neighbor_mtu = Some(Mtu::B1024));
    let mut again = send(9, bench.two.qpn(), b"");
    again.payload = out[0].clone();
    again.payload.pop_front(28);
    assert_eq!(
        bench.hca.post_ud_send(bench.one, again),
        Err(PostError::TooLong {
            octets: 2048,
            mtu: 1024
        })
    );
}
