//! Packets that an adapter does not take: one for each reason, and arbitrary ones.

use proptest::prelude::*;

use super::*;
use crate::testing::{from_outside, grh, smp_headers};

type Make = fn(&Bench) -> Frame;

/// One packet for each reason to drop one.
#[test]
fn every_reason() {
    let none: Prepare = |_| {};
    let usual: Make = |bench| packet(&bench.to(bench.one), b"data");
    use DropReason as R;
    let table: &[(R, Prepare, Make)] = &[
        (R::TooShort, none, |_| Pool::new().frame_from(&[0, 2])),
        (R::LinkVersion, none, |bench| {
            edited(&bench.to(bench.one), |bytes| bytes[0] |= 1)
        }),
        (R::PacketLength, none, |bench| {
            edited(&bench.to(bench.one), |bytes| bytes[5] += 1)
        }),
        (R::VcrcError, none, |bench| {
            let mut bytes = frame::finish(&packet(&bench.to(bench.one), b"data"));
            bytes[30] ^= 1;
            from_outside(&bytes)
        }),
        (R::IcrcError, none, |bench| {
            let mut bytes = frame::finish(&packet(&bench.to(bench.one), b"data"));
            bytes[30] ^= 1;
            let end = bytes.len() - 2;
            let vcrc = softib_wire::crc::vcrc(&bytes[..end]);
            bytes[end..].copy_from_slice(&vcrc.to_le_bytes());
            from_outside(&bytes)
        }),
        (R::SourceLid, none, |bench| {
            packet(
                &UdHeaders {
                    slid: Lid::new(MLID),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::DlidZero, none, |bench| {
            packet(
                &UdHeaders {
                    dlid: Lid::NONE,
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::DlidPermissive, none, |bench| {
            packet(
                &UdHeaders {
                    dlid: Lid::PERMISSIVE,
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (
            R::PortNotReady,
            |bench| bench.hca.handle_link(NOW, 1, false),
            usual,
        ),
        (
            R::PortNotReady,
            |bench| bench.hca.handle_link(NOW, 1, false),
            |_| packet(&smp_headers(), b""),
        ),
        (R::DataOnVl15, none, |bench| {
            packet(
                &UdHeaders {
                    vl: Vl::MANAGEMENT,
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::SmpOnDataVl, none, |_| {
            packet(
                &UdHeaders {
                    dest_qpn: Qpn::SMI,
                    ..headers()
                },
                b"",
            )
        }),
        (R::SmpMulticast, none, |_| {
            packet(
                &UdHeaders {
                    vl: Vl::MANAGEMENT,
                    ..group_headers(MLID)
                },
                b"",
            )
        }),
        (R::VlNotOperational, none, |bench| {
            packet(
                &UdHeaders {
                    vl: Vl::from_bits_truncate(8),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::ReceiveMtu, none, |bench| {
            packet(&bench.to(bench.one), &[0; 4097])
        }),
        (R::Raw, none, |_| {
            Pool::new().frame_from(&[0, 0, 0, 2, 0, 3, 0, 1, 0x86, 0xdd, 0, 0])
        }),
        (R::NotMine, none, |bench| {
            packet(
                &UdHeaders {
                    dlid: Lid::new(3),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::GrhVersion, none, |_| {
            edited(&group_headers(MLID), |bytes| bytes[8] = 0x40)
        }),
        (R::GrhNextHeader, none, |_| {
            edited(&group_headers(MLID), |bytes| bytes[14] = 6)
        }),
        (R::GrhLength, none, |_| {
            edited(&group_headers(MLID), |bytes| bytes[13] += 1)
        }),
        (R::GidMismatch, none, |bench| {
            let other = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x99));
            packet(
                &UdHeaders {
                    grh: Some(grh(other)),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::MulticastNoGid, none, |_| {
            packet(
                &UdHeaders {
                    grh: None,
                    ..group_headers(MLID)
                },
                b"",
            )
        }),
        (R::MulticastQpn, none, |bench| {
            packet(
                &UdHeaders {
                    dest_qpn: bench.one.qpn(),
                    ..group_headers(MLID)
                },
                b"",
            )
        }),
        (R::NotAttached, none, |_| {
            packet(&group_headers(MLID + 1), b"")
        }),
        (R::Opcode, none, |bench| {
            edited(&bench.to(bench.one), |bytes| bytes[8] = 0x1F)
        }),
        (R::TransportVersion, none, |bench| {
            edited(&bench.to(bench.one), |bytes| bytes[9] |= 1)
        }),
        (R::Padding, none, |bench| {
            let mut frame = packet(&bench.to(bench.one), b"");
            frame.bytes_mut()[9] |= 0x30;
            frame
        }),
        (R::NoSuchQp, none, |_| {
            packet(
                &UdHeaders {
                    dest_qpn: Qpn::from_bits_truncate(5),
                    ..headers()
                },
                b"",
            )
        }),
        (R::NoSuchQp, none, |_| {
            packet(
                &UdHeaders {
                    dest_qpn: Qpn::from_bits_truncate(0xFF_FFFE),
                    ..headers()
                },
                b"",
            )
        }),
        (
            R::QpOtherPort,
            |bench| {
                bench
                    .hca
                    .create_qp(2, QpKind::Ud, bench.cq, bench.cq, QpCaps::default())
                    .unwrap();
            },
            |_| {
                packet(
                    &UdHeaders {
                        dest_qpn: Qpn::from_bits_truncate(0x42),
                        ..headers()
                    },
                    b"",
                )
            },
        ),
        (
            R::QpState,
            |bench| {
                let state = Some(QpState::Error);
                bench
                    .hca
                    .modify_ud_qp(
                        bench.one,
                        UdAttributes {
                            state,
                            ..Default::default()
                        },
                    )
                    .unwrap();
            },
            usual,
        ),
        (R::QpService, none, |bench| {
            edited(&bench.to(bench.one), |bytes| bytes[8] = 0x04)
        }),
        (R::PKeyMismatch, none, |bench| {
            packet(
                &UdHeaders {
                    pkey: PKey::new(0x8001),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (R::QKeyMismatch, none, |bench| {
            packet(
                &UdHeaders {
                    qkey: QKey::new(1),
                    ..bench.to(bench.one)
                },
                b"",
            )
        }),
        (
            R::NoReceive,
            |bench| {
                for _ in 0..8 {
                    bench
                        .hca
                        .handle_frame(NOW, 1, packet(&bench.to(bench.one), b""));
                }
                bench.completions();
            },
            usual,
        ),
        (
            R::CqFull,
            |bench| {
                bench.hca.destroy_qp(bench.one).unwrap();
                let cq = bench.hca.create_cq(1);
                bench.one = bench
                    .hca
                    .create_qp(1, QpKind::Ud, cq, cq, QpCaps::default())
                    .unwrap();
                bench.hca.activate_ud_qp(bench.one, QKEY, 0).unwrap();
                bench.hca.post_recv(bench.one, 8).unwrap();
                bench
                    .hca
                    .handle_frame(NOW, 1, packet(&bench.to(bench.one), b""));
            },
            usual,
        ),
    ];
    for (reason, prepare, make) in table {
        let mut bench = bench();
        prepare(&mut bench);
        let before = bench.hca.port(1).unwrap().counters.receive_packets;
        let frame = make(&bench);
        bench.hca.handle_frame(NOW, 1, frame);
        assert_eq!(bench.drops(), [(*reason, 1)], "{reason:?}");
        assert!(bench.received().is_empty(), "{reason:?}");
        assert_eq!(
            bench.hca.port(1).unwrap().counters.receive_packets,
            before + 1,
            "{reason:?}"
        );
    }
}

fn edited(headers: &UdHeaders, edit: impl FnOnce(&mut [u8])) -> Frame {
    let mut frame = packet(headers, b"data");
    edit(frame.bytes_mut());
    frame
}

proptest! {
    /// Arbitrary octets, and packets with arbitrary changes: nothing panics, and whatever comes in
    /// is received or counted.
    #[test]
    fn hostile(
        base in 0_usize..5,
        cut_to in 0_usize..400,
        changes in prop::collection::vec((0_usize..100, any::<u8>()), 0..6),
        octets in prop::collection::vec(any::<u8>(), 0..120),
        present: bool,
        repair: bool,
        vl in prop::sample::select(&[0_u8, 0, 0, 1, 8, 15][..]),
    ) {
        let mut bench = bench();
        bench.hca.attach_multicast(bench.one, GROUP, Lid::new(MLID)).unwrap();
        let smi = bench.hca.create_qp(1, QpKind::Smi, bench.cq, bench.cq, QpCaps::default()).unwrap();
        bench.hca.post_recv(smi, 1).unwrap();
        let own = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x21));
        let mut frame = match base {
            0 => Pool::new().frame_from(&octets),
            1 => packet(&bench.to(bench.one), &octets),
            2 => packet(&group_headers(MLID), &octets),
            3 => packet(&smp_headers(), &octets),
            _ => packet(&UdHeaders { grh: Some(grh(own)), ..bench.to(bench.two) }, &octets),
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
        bench.hca.handle_frame(NOW, 1, frame);
        let received = bench.received().len() as u64;
        let dropped: u64 = bench.drops().iter().map(|(_, count)| count).sum();
        prop_assert_eq!(bench.hca.port(1).unwrap().counters.receive_packets, 1);
        prop_assert_eq!(received + dropped, 1);
    }
}
