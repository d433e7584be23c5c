#![expect(
    clippy::cast_possible_truncation,
    reason = "lengths of test packets, which are short, and numbers that wrap"
)]

use etherparse::{
    IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, NetHeaders, PacketBuilder,
    PacketHeaders, TcpHeader, TransportHeader, UdpHeader,
};
use proptest::prelude::*;
use softib_wire::addr::{Lid, Psn, Qpn};
use softib_wire::ipoib::checksum::Checksum;
use softib_wire::packet::{Form, Packet, UdHeaders};

use super::*;
use crate::management::push_headers;
use crate::testing::{GROUP, from_outside, grh, headers, packet};

#[test]
fn headers_are_pushed_in_place() {
    let pool = Pool::new();
    let mut frame = pool.frame_from(b"payload");
    let place = frame.bytes().as_ptr();
    frame.push_front(4).copy_from_slice(b"head");
    assert_eq!(frame.bytes(), b"headpayload");
    frame.pop_front(4);
    assert_eq!(frame.bytes().as_ptr(), place);
    frame.push_back(b"+tail");
    frame.truncate(9);
    assert_eq!(frame.bytes(), b"payload+t");
    frame.pop_front(100);
    assert!(frame.is_empty());
}

#[test]
fn who_writes_to_shared_octets_gets_a_copy() {
    let pool = Pool::new();
    let original = pool.frame_from(b"shared");
    let mut copy = original.clone();
    copy.push_front(1)[0] = b'>';
    copy.push_back(b"<");
    copy.bytes_mut()[1] = b'S';
    assert_eq!(copy.bytes(), b">Shared<");
    assert_eq!(original.bytes(), b"shared");
}

#[test]
fn reading_into_the_spare() {
    let pool = Pool::new();
    let mut frame = pool.alloc(100);
    assert!(frame.spare_mut().len() >= 100);
    frame.spare_mut()[..3].copy_from_slice(b"abc");
    frame.set_len(3);
    assert_eq!(frame.bytes(), b"abc");
    frame.set_len(usize::MAX);
    assert_eq!(frame.len(), frame.capacity() - HEADROOM);
}

#[test]
fn frames_grow_when_they_must() {
    let mut frame = Pool::new().frame_from(&[1; 100]);
    frame.set_offload(Some(SUM_ONLY));
    frame.push_front(HEADROOM + 50).fill(2);
    frame.push_back(&[3; 10_000]);
    assert_eq!(frame.len(), HEADROOM + 50 + 100 + 10_000);
    assert_eq!(frame.bytes()[HEADROOM + 50], 1);
    assert_eq!(frame.bytes()[HEADROOM + 49], 2);
    assert_eq!(frame.ip_offset(), Some(HEADROOM + 50));
}

const SUM_ONLY: Offload = Offload {
    needs_checksum: true,
    checksum_start: 20,
    checksum_offset: 6,
    gso: None,
};

/// A packet from outside is checked, and its CRCs are taken off when they are right.
#[test]
fn crcs_from_outside() {
    let bytes = finish(&packet(&headers(), &[7; 30]));
    let mut frame = from_outside(&bytes);
    assert_eq!(frame.form(), Form::Wire);
    assert_eq!(frame.wire_octets(), bytes.len() as u64 - 2);
    frame.check_link_crc().unwrap();
    assert_eq!(frame.crc(), Crc::Late);
    assert_eq!(finish(&frame), bytes);

    let mut broken = bytes.clone();
    broken[30] ^= 1;
    assert_eq!(
        from_outside(&broken).check_link_crc(),
        Err(DropReason::VcrcError)
    );

    // The ICRC is wrong, but the last hop made a right VCRC for that: it must get to the end.
    let end = broken.len() - 2;
    let vcrc = softib_wire::crc::vcrc(&broken[..end]);
    broken[end..].copy_from_slice(&vcrc.to_le_bytes());
    let mut frame = from_outside(&broken);
    frame.check_link_crc().unwrap();
    assert_eq!(frame.crc(), Crc::Present);
    assert!(!frame.icrc_is_right());
    assert_eq!(finish(&frame), broken);
    // On another lane only the lane and the VCRC differ.
    frame.set_vl(Vl::from_bits_truncate(3));
    let moved = finish(&frame);
    assert_eq!(moved[0] >> 4, 3);
    assert_eq!(moved[1..end], broken[1..end]);
    assert!(from_outside(&moved).check_link_crc().is_ok());

    assert_eq!(
        from_outside(&bytes[..12]).check_link_crc(),
        Err(DropReason::TooShort)
    );
}

/// Raw packets have a VCRC only.
#[test]
fn raw_packets() {
    let bytes = [
        0x00, 0x01, 0x00, 0x02, 0x00, 0x03, 0x00, 0x01, 0x86, 0xdd, 0x00, 0x00,
    ];
    let frame = Pool::new().frame_from(&bytes);
    let wire = finish(&frame);
    assert_eq!(wire.len(), bytes.len() + 2);
    assert_eq!(frame.wire_octets(), bytes.len() as u64);
    let mut frame = from_outside(&wire);
    frame.check_link_crc().unwrap();
    assert_eq!(frame.bytes(), bytes);
}

const KINDS: [GsoKind; 4] = [GsoKind::Tcp4, GsoKind::Tcp6, GsoKind::Udp4, GsoKind::Udp6];

/// The case of a large send.
#[derive(Debug, Clone)]
struct Send {
    kind: GsoKind,
    payload: usize,
    size: u16,
    options: usize,
    flags: u8,
    global: bool,
    id: u16,
    sequence: u32,
    psn: u32,
}

fn sends() -> impl Strategy<Value = Send> {
    (
        (
            prop::sample::select(&KINDS[..]),
            0_usize..20_000,
            1_u16..3000,
            0_usize..=10,
        ),
        (
            any::<u8>(),
            any::<bool>(),
            any::<u16>(),
            any::<u32>(),
            0_u32..1 << 24,
        ),
    )
        .prop_map(
            |((kind, payload, size, options), (flags, global, id, sequence, psn))| Send {
                kind,
                payload,
                // So many packets that a test of it stays short.
                size: size.max(u16::try_from(payload / 40).unwrap()),
                options,
                flags,
                global,
                id,
                sequence,
                psn,
            },
        )
}

impl Send {
    fn payload(&self) -> Vec<u8> {
        (0..self.payload).map(|i| (i * 7 + i / 256) as u8).collect()
    }

    fn transport_len(&self) -> usize {
        if self.kind.is_tcp() {
            20 + self.options * 4
        } else {
            8
        }
    }

    fn network_len(&self) -> usize {
        if self.kind.is_ipv6() { 40 } else { 20 }
    }

    /// An IP packet as etherparse makes it, complete. `last`: the flags that only the last segment
    /// has are kept; `first` likewise.
    fn ip(&self, payload: &[u8], index: usize, first: bool, last: bool) -> Vec<u8> {
        let number = if self.kind.is_tcp() {
            IpNumber::TCP
        } else {
            IpNumber::UDP
        };
        let ip = if self.kind.is_ipv6() {
            let mut header = Ipv6Header {
                flow_label: Ipv6FlowLabel::try_new(0x12345).unwrap(),
                hop_limit: 64,
                next_header: number,
                ..Ipv6Header::default()
            };
            header.source = [0xfd; 16];
            header.destination = [0xfc; 16];
            IpHeaders::Ipv6(header, etherparse::Ipv6Extensions::default())
        } else {
            let mut header = Ipv4Header::new(0, 64, number, [10, 0, 0, 1], [10, 0, 0, 2]).unwrap();
            header.identification = self.id.wrapping_add(index as u16);
            header.dont_fragment = true;
            IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default())
        };
        let builder = PacketBuilder::ip(ip);
        let mut out = Vec::new();
        if self.kind.is_tcp() {
            let offset = (index * usize::from(self.size)) as u32;
            let mut tcp = TcpHeader::new(5001, 40000, self.sequence.wrapping_add(offset), 8192);
            tcp.acknowledgment_number = 77;
            tcp.ack = true;
            tcp.fin = self.flags & 1 != 0 && last;
            tcp.psh = self.flags & 8 != 0 && last;
            tcp.cwr = self.flags & 0x80 != 0 && first;
            tcp.ece = self.flags & 0x40 != 0;
            tcp.set_options_raw(&vec![1; self.options * 4]).unwrap();
            builder.tcp_header(tcp).write(&mut out, payload).unwrap();
            // One's complement has two zeros; etherparse writes the other one.
            let at = self.network_len() + 16;
            if out[at..at + 2] == [0, 0] {
                out[at..at + 2].fill(0xFF);
            }
        } else {
            builder.udp(5001, 40000).write(&mut out, payload).unwrap();
        }
        out
    }

    fn headers(&self) -> UdHeaders {
        UdHeaders {
            grh: self.global.then(|| grh(GROUP)),
            dlid: if self.global {
                Lid::new(0xC001)
            } else {
                Lid::new(2)
            },
            dest_qpn: if self.global {
                Qpn::MULTICAST
            } else {
                Qpn::from_bits_truncate(0x42)
            },
            psn: Psn::from_bits_truncate(self.psn),
            ..headers()
        }
    }

    /// The large send as an interface hands it to the adapter, with all headers.
    fn frame(&self) -> Frame {
        let ip = self.ip(&self.payload(), 0, true, true);
        let mut frame = Pool::new().frame_from(&ip);
        let header_len = self.network_len() + self.transport_len();
        frame.set_offload(Some(Offload {
            needs_checksum: true,
            checksum_start: self.network_len() as u16,
            checksum_offset: if self.kind.is_tcp() { 16 } else { 6 },
            gso: Some(Gso {
                kind: self.kind,
                size: self.size,
                header_len: header_len as u16,
                ecn: false,
            }),
        }));
        let at = self.network_len() + if self.kind.is_tcp() { 16 } else { 6 };
        // The stack leaves only a part of the sum there.
        frame.bytes_mut()[at..at + 2].copy_from_slice(&[0xAB, 0xCD]);
        frame.push_front(4).copy_from_slice(&[0x08, 0, 0, 0]);
        push_headers(&mut frame, &self.headers());
        frame
    }

    /// What must be on the wire, made without this module: IP by etherparse, InfiniBand by `wire`.
    fn expected(&self) -> Vec<Vec<u8>> {
        let payload = self.payload();
        let segments: Vec<&[u8]> = match payload.len() {
            0 => vec![&[]],
            _ => payload.chunks(self.size.into()).collect(),
        };
        let count = segments.len();
        segments
            .into_iter()
            .enumerate()
            .map(|(index, segment)| {
                let ip = self.ip(segment, index, index == 0, index + 1 == count);
                let body = [&[0x08, 0, 0, 0][..], &ip].concat();
                let headers = UdHeaders {
                    psn: Psn::from_bits_truncate(self.psn + index as u32),
                    ..self.headers()
                };
                let mut wire = vec![0; headers.len()];
                let padding = headers.emit(&mut wire, body.len());
                wire.extend_from_slice(&body);
                wire.extend(std::iter::repeat_n(0, padding.into()));
                let trailer = softib_wire::crc::trailer(&wire);
                wire.extend_from_slice(&trailer);
                wire
            })
            .collect()
    }
}

/// A header that ends before the octet that says how much padding there is.
#[test]
fn an_offload_behind_half_a_header() {
    let mut frame = Pool::new().frame_from(&[0, 106, 0, 0, 0, 0, 0, 0, 0]);
    frame.pop_front(9);
    frame.set_offload(Some(Offload {
        needs_checksum: true,
        checksum_start: 0,
        checksum_offset: 0,
        gso: None,
    }));
    frame.push_front(9);
    assert!(finish(&frame).len() > 9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Cutting gives what the stack would have sent packet by packet, bit for bit.
    #[test]
    fn cut_is_what_the_stack_would_have_sent(send in sends()) {
        let (pool, frame) = (Pool::new(), send.frame());
        let packets: Vec<_> = wire_images(&frame, &pool).collect();
        let expected = send.expected();
        prop_assert_eq!(&packets, &expected);
        prop_assert_eq!(frame.wire_packets(), expected.len() as u64);
        let octets: usize = expected.iter().map(|packet| packet.len() - 2).sum();
        prop_assert_eq!(frame.wire_octets(), octets as u64);
        let largest = expected.iter().map(|wire| {
            Packet::parse(wire, Form::Wire).unwrap().payload.len()
        }).max();
        let headers = send.headers().len();
        prop_assert_eq!(Some(frame.largest_payload(headers)), largest);
    }

    /// Whatever is done to the whole frame on its way can as well be done to its packets.
    #[test]
    fn early_is_late(send in sends(), vl in 0_u8..15) {
        let (pool, mut whole) = (Pool::new(), send.frame());
        let mut early: Vec<_> = cut(&whole, &pool).collect();
        let vl = Vl::from_bits_truncate(vl);
        whole.set_vl(vl);
        for packet in &mut early {
            packet.set_vl(vl);
            prop_assert_eq!(packet.wire_packets(), 1);
            prop_assert_eq!(packet.form(), Form::Late);
            prop_assert!(Packet::parse(packet.bytes(), Form::Late).is_ok());
            // What is cut is not cut again.
            prop_assert_eq!(cut(packet, &pool).count(), 1);
        }
        let early: Vec<_> = early.iter().map(finish).collect();
        let late: Vec<_> = wire_images(&whole, &pool).collect();
        prop_assert_eq!(early, late);
    }

    /// A single packet whose checksum was left undone: early and late, and right.
    #[test]
    fn checksum_left_undone(len in 0_usize..1500, ipv6: bool, tcp: bool) {
        let kind = match (tcp, ipv6) {
            (true, false) => GsoKind::Tcp4,
            (true, true) => GsoKind::Tcp6,
            (false, false) => GsoKind::Udp4,
            (false, true) => GsoKind::Udp6,
        };
        let send = Send {
            kind, payload: len, size: 1, options: 0, flags: 0, global: false, id: 1, sequence: 2, psn: 3,
        };
        let mut ip = send.ip(&send.payload(), 0, true, true);
        let complete = ip.clone();
        let start = send.network_len();
        let at = start + if tcp { 16 } else { 6 };
        // What Linux leaves there: the sum over the pseudo header, not complemented.
        let addresses = if ipv6 { &ip[8..40] } else { &ip[12..20] };
        let pseudo = Checksum::new()
            .with(addresses)
            .with_number(kind.protocol().into())
            .with_number(ip.len() - start)
            .partial();
        ip[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
        let mut frame = Pool::new().frame_from(&ip);
        frame.set_offload(Some(Offload {
            needs_checksum: true,
            checksum_start: start as u16,
            checksum_offset: (at - start) as u16,
            gso: None,
        }));
        frame.push_front(4).copy_from_slice(&[0x08, 0, 0, 0]);
        push_headers(&mut frame, &headers());
        let wire = finish(&frame);
        let packet = Packet::parse(&wire, Form::Wire).unwrap();
        prop_assert_eq!(&packet.payload[4..], &complete[..]);
        check_sums(&packet.payload[4..])?;
    }

    /// No offload, however wrong, makes cutting or finishing panic.
    #[test]
    fn any_offload_on_any_octets(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        headers in 0_usize..80,
        (start, offset, size, header_len) in (0_u16..200, 0_u16..200, 0_u16..100, 0_u16..200),
        kind in 0_usize..4,
        gso: bool,
        present: bool,
    ) {
        let pool = Pool::new();
        let mut frame = pool.frame_from(&bytes);
        frame.pop_front(headers);
        frame.set_offload(Some(Offload {
            needs_checksum: true,
            checksum_start: start,
            checksum_offset: offset,
            gso: gso.then_some(Gso { kind: KINDS[kind], size, header_len, ecn: true }),
        }));
        frame.push_front(headers.min(bytes.len()));
        if present {
            frame.mark_present();
            let _ = frame.check_link_crc();
        }
        let packets = wire_images(&frame, &pool).count();
        prop_assert_eq!(packets as u64, frame.wire_packets());
        let _ = (frame.wire_octets(), frame.largest_payload(48), frame.form(), finish(&frame));
    }
}

/// Checksums, checked by etherparse.
fn check_sums(ip: &[u8]) -> Result<(), TestCaseError> {
    let packet = PacketHeaders::from_ip_slice(ip).unwrap();
    let payload = packet.payload.slice();
    let same = |ours: u16, theirs: u16| ours == theirs || (ours == 0xFFFF && theirs == 0);
    match (packet.net, packet.transport) {
        (Some(NetHeaders::Ipv4(ip, _)), Some(TransportHeader::Tcp(tcp))) => {
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            prop_assert!(same(
                tcp.checksum,
                tcp.calc_checksum_ipv4(&ip, payload).unwrap()
            ));
        }
        (Some(NetHeaders::Ipv6(ip, _)), Some(TransportHeader::Tcp(tcp))) => {
            prop_assert!(same(
                tcp.checksum,
                tcp.calc_checksum_ipv6(&ip, payload).unwrap()
            ));
        }
        (Some(NetHeaders::Ipv4(ip, _)), Some(TransportHeader::Udp(udp))) => {
            let sum = UdpHeader::calc_checksum_ipv4(&udp, &ip, payload).unwrap();
            prop_assert!(same(udp.checksum, sum));
        }
        (Some(NetHeaders::Ipv6(ip, _)), Some(TransportHeader::Udp(udp))) => {
            prop_assert!(same(
                udp.checksum,
                udp.calc_checksum_ipv6(&ip, payload).unwrap()
            ));
        }
        other => prop_assert!(false, "unexpected {other:?}"),
    }
    Ok(())
}
