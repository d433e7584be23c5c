use proptest::prelude::*;

use super::*;
use crate::addr::{Gid, Psn, QKey, Sl, Vl};

/// An RC acknowledge and an ARP request to the broadcast group, from a capture of real adapters.
const ACK: [u8; 30] = [
    0x00, 0x02, 0x00, 0x04, 0x00, 0x07, 0x00, 0x01, 0x11, 0x40, 0xff, 0xff, 0x00, 0x87, 0x04, 0x08,
    0x00, 0xd4, 0x0a, 0x55, 0x1f, 0x00, 0x00, 0x01, 0xa8, 0x03, 0x55, 0x50, 0x30, 0x81,
];
const ARP: [u8; 134] = [
    0x00, 0x03, 0xc0, 0x00, 0x00, 0x21, 0x00, 0x04, 0x60, 0x00, 0x00, 0x00, 0x00, 0x54, 0x1b, 0x00,
    0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36,
    0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x64, 0x40, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff, 0x00, 0x00, 0x20, 0xaf, 0x00, 0x00, 0x0b, 0x1b,
    0x00, 0x00, 0x04, 0x05, 0x08, 0x06, 0x00, 0x00, 0x00, 0x20, 0x08, 0x00, 0x14, 0x04, 0x00, 0x01,
    0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc9, 0x02,
    0x00, 0x24, 0xf6, 0x36, 0x0a, 0x00, 0x01, 0x22, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x3a,
    0xbd, 0x6b, 0xd6, 0xa8, 0x88, 0x83,
];

/// The headers of [`ARP`].
fn arp_headers() -> UdHeaders {
    let gid = |text: &str| Gid::new(text.parse::<core::net::Ipv6Addr>().unwrap().octets());
    UdHeaders {
        vl: Vl::default(),
        sl: Sl::default(),
        dlid: Lid::new(0xc000),
        slid: Lid::new(4),
        grh: Some(Grh {
            // To be replaced.
            ip_version: 0,
            payload_length: 0,
            next_header: 0,
            traffic_class: 0,
            flow_label: 0,
            hop_limit: 0,
            sgid: gid("fe80::2:c902:24:f636"),
            dgid: gid("ff12:401b:ffff::ffff:ffff"),
        }),
        solicited: false,
        pkey: PKey::DEFAULT_FULL,
        dest_qpn: Qpn::MULTICAST,
        psn: Psn::from_bits_truncate(0x20af),
        qkey: QKey::new(0xb1b),
        src_qpn: Qpn::from_bits_truncate(0x405),
        immediate: None,
    }
}

/// The packet without its CRCs.
fn late(packet: &[u8]) -> &[u8] {
    &packet[..packet.len() - crc::TRAILER_LEN]
}

#[test]
fn test_parse() {
    let packet = Packet::parse(&ACK, Form::Wire).unwrap();
    assert_eq!(packet.bth.opcode, Opcode::RcAcknowledge);
    assert_eq!((packet.grh, packet.payload), (None, &[][..]));
    assert_eq!(
        packet.ext.aeth(),
        Some(Aeth {
            syndrome: 0x1f,
            msn: 1
        })
    );
    assert_eq!(packet.ext.deth(), None);
    assert_eq!(
        packet.crcs,
        Some(Crcs {
            icrc: Some(0x5055_03a8),
            vcrc: 0x8130
        })
    );
    assert_eq!(packet.headers_len(), 24);

    let packet = Packet::parse(&ARP, Form::Wire).unwrap();
    assert_eq!(packet.grh.unwrap().dgid, arp_headers().grh.unwrap().dgid);
    let deth = Deth {
        qkey: QKey::new(0xb1b),
        src_qpn: Qpn::from_bits_truncate(0x405),
    };
    assert_eq!(packet.ext.deth(), Some(deth));
    assert_eq!(packet.payload, &ARP[68..128]);
    assert_eq!(packet.headers_len(), 68);

    let packet = Packet::parse(late(&ARP), Form::Late).unwrap();
    assert_eq!((packet.payload, packet.crcs), (&ARP[68..128], None));
}

#[test]
fn test_emit() {
    for bytes in [&ACK[..], &ARP[..]] {
        let packet = Packet::parse(bytes, Form::Wire).unwrap();
        for (form, expected) in [(Form::Wire, bytes), (Form::Late, late(bytes))] {
            let mut emitted = vec![0xa5; packet.emitted_len(form)];
            packet.emit(&mut emitted, form);
            assert_eq!(emitted, expected);
        }
    }
}

#[test]
fn link_view() {
    let link = LinkPacket::parse(&ARP, Form::Wire).unwrap();
    assert_eq!(link.pkey(), Some(PKey::DEFAULT_FULL));
    assert_eq!(link.dest_qpn(), Some(Qpn::MULTICAST));
    let link = LinkPacket::parse(&ACK, Form::Wire).unwrap();
    assert_eq!(link.pkey(), Some(PKey::DEFAULT_FULL));
    assert_eq!(link.dest_qpn(), Some(Qpn::from_bits_truncate(0x87_0408)));
}

#[test]
fn crc_checks() {
    for bytes in [&ACK[..], &ARP[..]] {
        let link = LinkPacket::parse(bytes, Form::Wire).unwrap();
        assert_eq!((link.check_icrc(), link.check_vcrc()), (Ok(()), Ok(())));
        let link = LinkPacket::parse(late(bytes), Form::Late).unwrap();
        assert_eq!((link.check_icrc(), link.check_vcrc()), (Ok(()), Ok(())));

        let mut bytes = bytes.to_vec();
        let last = bytes.len() - 7;
        bytes[last] ^= 1;
        let link = LinkPacket::parse(&bytes, Form::Wire).unwrap();
        assert!(matches!(link.check_icrc(), Err(PacketError::Icrc { .. })));
        assert!(matches!(link.check_vcrc(), Err(PacketError::Vcrc { .. })));
    }
}

#[test]
fn raw_packets() {
    // LRH, raw header with EtherType IPv4, 8 octets, VCRC; no ICRC.
    let mut bytes = vec![0, 0, 0, 1, 0, 5, 0, 2, 0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    bytes.extend(crc::vcrc(&bytes).to_le_bytes());
    let link = LinkPacket::parse(&bytes, Form::Wire).unwrap();
    assert_eq!(
        (link.pkey(), link.dest_qpn(), link.bth_offset()),
        (None, None, None)
    );
    assert_eq!((link.check_icrc(), link.check_vcrc()), (Ok(()), Ok(())));
    assert_eq!(
        Packet::parse(&bytes, Form::Wire),
        Err(PacketError::Raw { next_header: 0 })
    );
    bytes[1] = 1;
    assert_eq!(
        LinkPacket::parse(&bytes, Form::Wire),
        Err(PacketError::HeadersShort { need: 48, have: 20 })
    );
}

/// Each check of IBA 7.7, 8.3 and 9.6, by one changed octet of the packet that passes them all.
#[test]
fn refusals() {
    let gid = |prefix: &[u8]| {
        let mut octets = <[u8; 16]>::try_from(&ARP[32..48]).unwrap();
        octets[..prefix.len()].copy_from_slice(prefix);
        Gid::new(octets)
    };
    let dlid = Lid::new(0xc000);
    #[rustfmt::skip]
    let table = [
        (0, 0x01, PacketError::LinkVersion { version: 1 }),
        (1, 0x01, PacketError::Raw { next_header: 1 }),
        (5, 0x22, PacketError::PacketLength { said: 136, have: 132 }),
        (6, 0xc0, PacketError::SourceLid { slid: Lid::new(0xc004) }),
        (8, 0x40, PacketError::GrhVersion { version: 4 }),
        (14, 0x11, PacketError::GrhNextHeader { next_header: 0x11 }),
        (13, 0x55, PacketError::GrhPayloadLength { said: 85, have: 84 }),
        (48, 0x66, PacketError::Opcode { code: 0x66 }),
        (49, 0x41, PacketError::TransportVersion { version: 1 }),
        (2, 0x00, PacketError::DestinationLid),
        (32, 0xfe, PacketError::MulticastGid { dlid, dgid: gid(&[0xfe]) }),
        (53, 0x00, PacketError::MulticastQpn { dlid, dest_qpn: Qpn::from_bits_truncate(0xffff) }),
    ];
    for (octet, value, error) in table {
        for form in [Form::Wire, Form::Late, Form::Super] {
            let mut bytes = if form == Form::Wire {
                ARP.to_vec()
            } else {
                late(&ARP).to_vec()
            };
            bytes[octet] = value;
            let lengths = matches!(
                error,
                PacketError::PacketLength { .. } | PacketError::GrhPayloadLength { .. }
            );
            let found = match error {
                // Whole words less the ICRC that a raw packet has not.
                PacketError::Raw { .. } => {
                    let words = u8::try_from(bytes.len() / 4).unwrap();
                    bytes[5] = words;
                    bytes.truncate(usize::from(words) * 4 + if form == Form::Wire { 2 } else { 0 });
                    Packet::parse(&bytes, form)
                }
                _ => Packet::parse(&bytes, form),
            };
            if form == Form::Super && lengths {
                assert!(found.is_ok());
            } else {
                assert_eq!(found, Err(error), "octet {octet} {form:?}");
            }
        }
    }
}

#[test]
fn multicast_needs_a_grh() {
    let mut bytes = ACK;
    bytes[2..4].copy_from_slice(&[0xc0, 0x01]);
    let error = Packet::parse(&bytes, Form::Wire).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a packet to LID 49153, QP 0x870408 needs a GRH"
    );
    let mut bytes = ACK;
    bytes[13..16].fill(0xff);
    assert!(matches!(
        Packet::parse(&bytes, Form::Wire),
        Err(PacketError::MulticastWithoutGrh { .. })
    ));
    // The permissive LID is no multicast LID.
    let mut bytes = ACK;
    bytes[2..4].fill(0xff);
    assert!(Packet::parse(&bytes, Form::Wire).is_ok());
}

#[test]
fn short_packets() {
    let need_lrh = |have| Err(PacketError::LrhShort { have });
    assert_eq!(Packet::parse(&[], Form::Wire), need_lrh(0));
    assert_eq!(Packet::parse(&ACK[..7], Form::Wire), need_lrh(7));
    assert_eq!(
        Packet::parse(&ACK[..13], Form::Wire),
        Err(PacketError::Unaligned { have: 7 })
    );
    assert_eq!(
        Packet::parse(&ACK[..9], Form::Wire),
        Err(PacketError::Unaligned { have: 3 })
    );
    assert_eq!(
        Packet::parse(&ACK[..29], Form::Wire),
        Err(PacketError::Unaligned { have: 23 })
    );
    let mut short = ACK;
    // Room for a BTH, none for the AETH.
    short[5] = 6;
    assert_eq!(
        Packet::parse(&short[..20], Form::Late),
        Err(PacketError::ExtendedHeadersShort {
            opcode: Opcode::RcAcknowledge,
            need: 4,
            have: 0
        })
    );
    short[5] = 4;
    assert_eq!(
        Packet::parse(&short[..12], Form::Late),
        Err(PacketError::HeadersShort { need: 20, have: 12 })
    );
    // No payload to be padding.
    let mut padded = ACK;
    padded[9] |= 0x20;
    assert_eq!(
        Packet::parse(&padded, Form::Wire),
        Err(PacketError::PadCount { pad: 2, have: 0 })
    );
    let raw = [0, 0, 0, 1, 0, 2, 0, 3];
    assert_eq!(
        Packet::parse(&raw, Form::Late),
        Err(PacketError::HeadersShort { need: 12, have: 8 })
    );
    assert_eq!(
        Packet::parse(&[0, 2, 0, 1, 0, 2, 0, 3], Form::Wire),
        Err(PacketError::Unaligned { have: 2 })
    );
}

#[test]
fn errors_are_counted_by_their_index() {
    assert_eq!(PacketError::NAMES.len(), 20);
    let error = PacketError::Vcrc {
        found: 1,
        computed: 2,
    };
    assert_eq!((error.index(), error.name()), (19, "vcrc"));
    assert_eq!(error.to_string(), "the VCRC is 0x0001, expected 0x0002");
}

#[test]
fn ud_headers() {
    let headers = arp_headers();
    let mut bytes = vec![0xa5; headers.len()];
    assert_eq!(headers.emit(&mut bytes, 60), 0);
    assert_eq!(bytes, ARP[..68]);
}

/// A payload that is cut later has no length that the fields could say.
#[test]
fn super_packets() {
    for grh in [None, arp_headers().grh] {
        let unicast = Grh {
            dgid: Gid::new([0xfe; 16]),
            ..arp_headers().grh.unwrap()
        };
        let headers = UdHeaders {
            grh: grh.map(|_| unicast),
            dlid: Lid::new(1),
            dest_qpn: Qpn::from_bits_truncate(7),
            ..arp_headers()
        };
        let payload = 65_521;
        let mut bytes = vec![0; headers.len() + payload + 3];
        assert_eq!(headers.emit(&mut bytes, payload), 3);
        assert_eq!(Lrh::parse(&bytes).unwrap().packet_length, 0);
        let packet = Packet::parse(&bytes, Form::Super).unwrap();
        assert_eq!(packet.payload.len(), payload);
        assert!(matches!(
            Packet::parse(&bytes, Form::Late),
            Err(PacketError::PacketLength { .. })
        ));
        bytes.truncate(2048);
        patch_lengths(&mut bytes);
        assert!(Packet::parse(&bytes, Form::Late).is_ok());
    }
}

#[test]
fn padding() {
    assert_eq!([0, 1, 2, 3, 4, 5].map(pad_for), [0, 3, 2, 1, 0, 3]);
}

fn any_form() -> impl Strategy<Value = Form> {
    prop::sample::select(vec![Form::Wire, Form::Late, Form::Super])
}

proptest! {
    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200), form in any_form()) {
        let _ = Packet::parse(&bytes, form);
        let mut bytes = bytes;
        patch_lengths(&mut bytes);
        let _ = Packet::parse(&bytes, form);
    }

    /// Nearly right packets reach the later checks.
    #[test]
    fn never_panics_on_a_changed_packet(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        len in 0..=134usize,
        opcode in prop::sample::select(Opcode::ALL),
        form in any_form(),
    ) {
        let mut bytes = ARP[..len].to_vec();
        if let Some(octet) = bytes.get_mut(48) {
            *octet = opcode.code();
        }
        patch_lengths(&mut bytes);
        for (at, value) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
        }
        if let Ok(packet) = Packet::parse(&bytes, form) {
            let mut emitted = vec![0xa5; packet.emitted_len(form)];
            packet.emit(&mut emitted, form);
            prop_assert_eq!(Packet::parse(&emitted, form).map(|read| read.payload.to_vec()), Ok(packet.payload.to_vec()));
            let present = packet.ext.headers();
            prop_assert_eq!(packet.ext.deth().is_some(), present.contains(Headers::DETH));
            prop_assert_eq!(packet.ext.reth().is_some(), present.contains(Headers::RETH));
            prop_assert_eq!(packet.ext.aeth().is_some(), present.contains(Headers::AETH));
            prop_assert_eq!(packet.ext.immediate().is_some(), present.contains(Headers::IMMEDIATE));
        }
    }

    #[test]
    fn ud_round_trip(
        payload in prop::collection::vec(any::<u8>(), 0..4100),
        numbers: [u32; 4],
        lids in (1..0xc000u16, 1..0xc000u16),
        grh: Option<([u8; 15], [u8; 15], u8, u8)>,
        immediate: Option<u32>,
        solicited: bool,
    ) {
        let [qkey, psn, dest_qpn, src_qpn] = numbers;
        let unicast = |octets: [u8; 15]| {
            let mut gid = [0xfe; 16];
            gid[1..].copy_from_slice(&octets);
            Gid::new(gid)
        };
        let headers = UdHeaders {
            dlid: Lid::new(lids.0),
            slid: Lid::new(lids.1),
            grh: grh.map(|(sgid, dgid, traffic_class, hop_limit)| Grh {
                traffic_class,
                hop_limit,
                sgid: unicast(sgid),
                dgid: unicast(dgid),
                ..arp_headers().grh.unwrap()
            }),
            qkey: QKey::new(qkey),
            psn: Psn::from_bits_truncate(psn),
            dest_qpn: Qpn::from_bits_truncate(dest_qpn & 0xff_fffe),
            src_qpn: Qpn::from_bits_truncate(src_qpn),
            immediate,
            solicited,
            ..arp_headers()
        };
        let mut bytes = vec![0xa5; headers.len()];
        let pad = headers.emit(&mut bytes, payload.len());
        bytes.extend(&payload);
        bytes.resize(bytes.len() + usize::from(pad), 0);
        let unpatched = bytes.clone();
        patch_lengths(&mut bytes);
        prop_assert_eq!(&bytes, &unpatched);
        bytes.extend(crc::trailer(&bytes));

        let link = LinkPacket::parse(&bytes, Form::Wire).unwrap();
        prop_assert_eq!((link.check_icrc(), link.check_vcrc()), (Ok(()), Ok(())));
        let packet = Packet::from_link(&link, Form::Wire).unwrap();
        prop_assert_eq!(packet.payload, &payload);
        prop_assert_eq!(packet.ext.deth(), Some(Deth { qkey: headers.qkey, src_qpn: headers.src_qpn }));
        prop_assert_eq!(packet.ext.immediate(), immediate.map(|data| ImmDt { data }));
        prop_assert_eq!(packet.grh.map(|grh| grh.dgid), headers.grh.map(|grh| grh.dgid));
        let mut emitted = vec![0xa5; packet.emitted_len(Form::Wire)];
        packet.emit(&mut emitted, Form::Wire);
        prop_assert_eq!(emitted, bytes);
    }
}
