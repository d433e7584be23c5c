//! A capture of real adapters: 43 packets, each decoded to typed values and encoded again from
//! them alone, which must give the same octets, both CRCs included.
//!
//! The capture is a well-known sample whose licence is not stated, so it is not part of the
//! project: where it is missing the test says so and skips.

#![allow(clippy::disallowed_methods, reason = "a test may read files")]

use std::path::Path;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use softib_wire::addr::Qpn;
use softib_wire::ext::{Aeth, Deth};
use softib_wire::ipoib::arp::Arp;
use softib_wire::ipoib::ip::{IpHeader, protocol};
use softib_wire::ipoib::nd::NeighbourPacket;
use softib_wire::ipoib::{Encapsulation, EtherType, connected};
use softib_wire::mad::cm::{CmMad, CmMessage};
use softib_wire::mad::sa::{PathRecord, SaMad};
use softib_wire::mad::sm_info::SmInfo;
use softib_wire::mad::smp::DirectedSmp;
use softib_wire::mad::{Attribute, attribute, class};
use softib_wire::opcode::{Headers, Opcode, Service};
use softib_wire::packet::{Extended, Form, LinkPacket, Packet};

/// Record header of the capture card, in front of each packet.
const ERF_HEADER: usize = 16;

/// What each packet is.
const EXPECTED: [&str; 43] = [
    "SMInfo",
    "SMInfo",
    "IPv4",
    "IPv4",
    "ARP",
    "ARP",
    "REQ",
    "REP",
    "RTU",
    "IPv4",
    "ACK",
    "SMInfo",
    "SMInfo",
    "IPv4",
    "ACK",
    "IPv4",
    "ACK",
    "IPv4",
    "ACK",
    "IPv4",
    "ACK",
    "IPv4",
    "ACK",
    "IPv4",
    "IPv4",
    "ND",
    "REQ",
    "REP",
    "RTU",
    "ND",
    "ACK",
    "PathRecord",
    "PathRecord",
    "REQ",
    "REP",
    "IPv6",
    "RTU",
    "ACK",
    "IPv6",
    "ACK",
    "SMInfo",
    "SMInfo",
    "IPv6",
];

/// The packets of the capture, from LRH to VCRC; none when it is not there.
fn packets() -> Option<Vec<Vec<u8>>> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures/infiniband.pcap");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: there is no capture at {}", path.display());
        return None;
    };
    let mut reader = PcapReader::new(&bytes[..]).unwrap();
    assert_eq!(reader.header().datalink, DataLink::ERF);
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        packets.push(packet.unwrap().data[ERF_HEADER..].to_vec());
    }
    Some(packets)
}

#[test]
fn every_packet_decodes_and_encodes_to_itself() {
    let Some(packets) = packets() else { return };
    assert_eq!(packets.len(), EXPECTED.len());
    for (number, (bytes, expected)) in (1..).zip(packets.iter().zip(EXPECTED)) {
        let packet = Packet::parse(bytes, Form::Wire)
            .unwrap_or_else(|error| panic!("packet {number}: {error}"));
        let (kind, payload) = reencode_payload(&packet);
        assert_eq!(kind, expected, "packet {number}");
        assert_eq!(payload, packet.payload, "packet {number}, {kind}");
        let ext = reencode_extended(&packet);

        let again = Packet {
            ext: Extended::new(packet.bth.opcode, &ext).unwrap(),
            payload: &payload,
            crcs: None,
            ..packet
        };
        let mut encoded = vec![0xa5; again.emitted_len(Form::Wire)];
        again.emit(&mut encoded, Form::Wire);
        assert_eq!(&encoded, bytes, "packet {number}, {kind}");
    }
}

#[test]
fn every_crc_is_right() {
    let Some(packets) = packets() else { return };
    for (number, bytes) in (1..).zip(&packets) {
        let link = LinkPacket::parse(bytes, Form::Wire).unwrap();
        assert!(link.crcs.is_some());
        assert_eq!(
            (link.check_icrc(), link.check_vcrc()),
            (Ok(()), Ok(())),
            "packet {number}"
        );
    }
}

/// Each octet of each packet is covered by a CRC, or by the other one.
#[test]
fn a_flipped_bit_is_noticed() {
    let Some(packets) = packets() else { return };
    for bytes in &packets {
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << (at % 8);
            // Some flips make it no packet.
            if let Ok(link) = LinkPacket::parse(&bytes, Form::Wire) {
                assert!(link.check_vcrc().is_err(), "octet {at}");
            }
        }
    }
}

/// The values that others have read in these packets.
#[test]
fn known_values() {
    let Some(packets) = packets() else { return };
    let read = |number: usize| Packet::parse(&packets[number - 1], Form::Wire).unwrap();
    let cm = |number| {
        CmMad::parse(read(number).payload)
            .unwrap()
            .message()
            .unwrap()
    };

    let Some(CmMessage::Req(req)) = cm(7) else {
        panic!("packet 7 is a REQ")
    };
    let qpn = Qpn::from_bits_truncate(0x404);
    assert_eq!(
        connected::parse_service_id(req.service_id),
        Some((connected::ServiceIdForm::Deployed, qpn))
    );
    let private = connected::PrivateData::parse(&req.private_data).unwrap();
    assert_eq!((private.qpn.bits(), private.receive_mtu), (0x405, 65524));
    let Some(CmMessage::Rep(rep)) = cm(8) else {
        panic!("packet 8 is a REP")
    };
    let private = connected::PrivateData::parse(&rep.private_data).unwrap();
    assert_eq!((private.qpn.bits(), private.receive_mtu), (0x404, 65524));

    let reply = SaMad::parse(read(33).payload).unwrap();
    let path: PathRecord = reply.record().unwrap();
    assert_eq!((path.dlid.bits(), path.slid.bits()), (2, 4));

    // The advertisement comes over a reliable connection.
    assert_eq!(read(30).bth.opcode.service(), Service::Rc);
    let ack = read(11);
    assert_eq!(
        ack.ext.aeth(),
        Some(Aeth {
            syndrome: 0x1f,
            msn: 1
        })
    );
    assert_eq!(ack.bth.psn.bits(), 0xd4_0a55);
}

/// The extended headers, each as its own value.
fn reencode_extended(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(deth) = packet.ext.deth() {
        bytes.extend(Deth::to_bytes(&deth));
    }
    if let Some(aeth) = packet.ext.aeth() {
        bytes.extend(Aeth::to_bytes(&aeth));
    }
    assert!((packet.ext.headers() - Headers::DETH - Headers::AETH).is_empty());
    bytes
}

/// What a payload is, and its octets again.
fn reencode_payload(packet: &Packet<'_>) -> (&'static str, Vec<u8>) {
    if packet.bth.opcode == Opcode::RcAcknowledge {
        return ("ACK", Vec::new());
    }
    match (packet.bth.opcode.service(), packet.bth.dest_qpn) {
        (Service::Ud, Qpn::SMI) => reencode_smp(packet.payload),
        (Service::Ud, Qpn::GSI) => reencode_general(packet.payload),
        _ => reencode_ipoib(packet.payload),
    }
}

fn reencode_smp(bytes: &[u8]) -> (&'static str, Vec<u8>) {
    let mut smp = DirectedSmp::parse(bytes).unwrap();
    assert_eq!(
        (smp.class, smp.attribute_id),
        (class::SUBN_DIRECTED, attribute::SM_INFO)
    );
    let info: SmInfo = <SmInfo as Attribute>::parse(&smp.data).unwrap();
    smp.data.fill(0);
    Attribute::emit(&info, &mut smp.data);
    ("SMInfo", smp.to_bytes().to_vec())
}

fn reencode_general(bytes: &[u8]) -> (&'static str, Vec<u8>) {
    let mad = CmMad::parse(bytes).unwrap();
    if mad.header.class == class::SUBN_ADM {
        let mut mad = SaMad::parse(bytes).unwrap();
        assert_eq!(mad.header.attribute_id, attribute::PATH_RECORD);
        let record: PathRecord = mad.record().unwrap();
        mad.data.fill(0);
        record.emit(&mut mad.data);
        return ("PathRecord", mad.to_bytes().to_vec());
    }
    assert_eq!(mad.header.class, class::COM_MGT);
    let message = mad.message().unwrap().unwrap();
    let kind = match message {
        CmMessage::Req(_) => "REQ",
        CmMessage::Rep(_) => "REP",
        CmMessage::Rtu(_) => "RTU",
        _ => "another CM message",
    };
    let mad = CmMad {
        data: message.to_bytes(),
        ..mad
    };
    (kind, mad.to_bytes().to_vec())
}

fn reencode_ipoib(bytes: &[u8]) -> (&'static str, Vec<u8>) {
    let header = Encapsulation::parse(bytes).unwrap();
    let mut encoded = header.to_bytes().to_vec();
    let body = &bytes[Encapsulation::LEN..];
    let kind = match header.ether_type {
        EtherType::Arp => {
            let mut arp = [0xa5; Arp::LEN];
            Arp::parse(body).unwrap().emit(&mut arp);
            encoded.extend(arp);
            "ARP"
        }
        EtherType::Ipv6 if NeighbourPacket::is_one(body) => {
            let mut nd = [0xa5; NeighbourPacket::LEN_MAX];
            let len = NeighbourPacket::parse(body).unwrap().emit(&mut nd);
            encoded.extend(&nd[..len]);
            "ND"
        }
        EtherType::Ipv4 | EtherType::Ipv6 => {
            let ip = IpHeader::parse(body).unwrap();
            assert!([protocol::ICMP, protocol::UDP, protocol::ICMPV6].contains(&ip.protocol()));
            let kind = match ip {
                IpHeader::V4(ip) => {
                    // Its checksum is made anew.
                    encoded.extend(ip.with_checksum().to_bytes());
                    "IPv4"
                }
                IpHeader::V6(ip) => {
                    encoded.extend(ip.to_bytes());
                    "IPv6"
                }
            };
            encoded.extend(&body[ip.header_len()..]);
            kind
        }
        other => panic!("unexpected {other:?}"),
    };
    (kind, encoded)
}
