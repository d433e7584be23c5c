//! Any octets as a packet. The first says which form it has, and whether lengths and opcode are put
//! right, so that later checks are reached.

use softib_wire::addr::{Gid, Guid, Lid, PKey, Psn, QKey, Qpn, Sl, Vl};
use softib_wire::crc;
use softib_wire::grh::Grh;
use softib_wire::ipoib::arp::{Arp, Party};
use softib_wire::ipoib::ip::IpHeader;
use softib_wire::ipoib::nd::{Message, NeighbourPacket};
use softib_wire::ipoib::{
    AddressFlags, Encapsulation, EtherType, GroupSpace, HardwareAddress, icmp, link_local, mgid, nd,
};
use softib_wire::opcode::{Headers, Opcode};
use softib_wire::packet::{
    Extended, Form, LinkPacket, Packet, PacketError, UdHeaders, patch_lengths,
};

/// What follows the first octet's low two bits.
const PATCH: u8 = 4;

/// Takes any octets.
pub(crate) fn run(data: &[u8]) {
    let Some((&how, bytes)) = data.split_first() else {
        return;
    };
    let form = match how & 3 {
        0 => Form::Wire,
        1 => Form::Late,
        _ => Form::Super,
    };
    let mut bytes = bytes.to_vec();
    if how & PATCH != 0 {
        patch_lengths(&mut bytes);
        if form == Form::Wire {
            bytes.extend(crc::trailer(&bytes));
        }
    }
    match LinkPacket::parse(&bytes, form) {
        Ok(link) => link_packet(&link, &bytes, form),
        Err(error) => {
            assert_eq!(Packet::parse(&bytes, form), Err(error));
            described(error);
        }
    }
    // The payload by itself, to be reached without the headers.
    payload(&bytes);
}

fn link_packet(link: &LinkPacket<'_>, bytes: &[u8], form: Form) {
    assert_eq!(link.bth_offset().is_none(), link.lrh.next_header.is_raw());
    assert_eq!(link.pkey().is_none(), link.lrh.next_header.is_raw());
    let _ = link.dest_qpn();
    for error in [link.check_icrc().err(), link.check_vcrc().err()]
        .into_iter()
        .flatten()
    {
        described(error);
    }
    match Packet::from_link(link, form) {
        Ok(packet) => {
            assert_eq!(packet.emitted_len(form), bytes.len());
            whole_packet(&packet, form);
        }
        Err(error) => described(error),
    }
}

/// Every error has its number and says something.
fn described(error: PacketError) {
    assert!(PacketError::NAMES[error.index()] == error.name() && !error.to_string().is_empty());
}

/// Emitted and parsed again, it is the same.
fn whole_packet(packet: &Packet<'_>, form: Form) {
    let mut emitted = vec![0xa5; packet.emitted_len(form)];
    packet.emit(&mut emitted, form);
    let again = Packet::parse(&emitted, form);
    let again = again.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        again,
        Packet {
            crcs: again.crcs,
            ..*packet
        }
    );
    let link = LinkPacket::parse(&emitted, form).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((link.check_icrc(), link.check_vcrc()), (Ok(()), Ok(())));

    extended(&packet.ext);
    payload(packet.payload);
}

/// Each header is there if the opcode says so.
fn extended(ext: &Extended<'_>) {
    for (header, present) in [
        (Headers::RDETH, ext.rdeth().is_some()),
        (Headers::DETH, ext.deth().is_some()),
        (Headers::XRCETH, ext.xrceth().is_some()),
        (Headers::RETH, ext.reth().is_some()),
        (Headers::ATOMIC, ext.atomic().is_some()),
        (Headers::AETH, ext.aeth().is_some()),
        (Headers::ATOMIC_ACK, ext.atomic_ack().is_some()),
        (Headers::IMMEDIATE, ext.immediate().is_some()),
        (Headers::IETH, ext.ieth().is_some()),
    ] {
        assert_eq!(ext.headers().contains(header), present);
    }
    assert_eq!(ext.headers().octets(), ext.bytes().len());
}

/// What IPoIB makes of it.
fn payload(bytes: &[u8]) {
    let Ok(_header) = Encapsulation::parse(bytes) else {
        return;
    };
    let body = &bytes[Encapsulation::LEN..];
    if let Ok(arp) = Arp::parse(body) {
        let mut emitted = [0xa5; Arp::LEN];
        arp.emit(&mut emitted);
        assert_eq!(Arp::parse(&emitted), Ok(arp));
        let address = arp.sender.hardware;
        assert_eq!(address.to_string().parse(), Ok(address));
        if let Some((space, group)) = mgid::parse(address.gid) {
            assert_eq!(space.parse(address.gid), Some(group));
        }
    }
    if let Ok(ip) = IpHeader::parse(body) {
        assert!(ip.header_len() <= ip.total_len() && ip.total_len() <= body.len());
    }
    if let Ok(read) = NeighbourPacket::parse_unsummed(body) {
        assert!(NeighbourPacket::is_one(body));
        let mut emitted = [0xa5; NeighbourPacket::LEN_MAX];
        let len = read.emit(&mut emitted);
        let again = NeighbourPacket::parse(&emitted[..len]);
        // An address may look as if its padding were behind it.
        assert_eq!(again.map(|again| again.destination), Ok(read.destination));
    }
    let _ = nd::find_address(body, 1);
    let mut out = [0; icmp::PACKET_TOO_BIG_MAX];
    for len in [
        icmp::fragmentation_needed(body, 2044, [10, 0, 0, 1].into(), &mut out),
        icmp::packet_too_big(body, 2044, link_local(Guid::new(1)), &mut out),
    ]
    .into_iter()
    .flatten()
    {
        // An answer is a packet, and is not answered itself.
        let answer = out[..len].to_vec();
        assert_eq!(IpHeader::parse(&answer).map(|ip| ip.total_len()), Ok(len));
        assert!(icmp::fragmentation_needed(&answer, 68, [10, 0, 0, 2].into(), &mut out).is_err());
        assert!(icmp::packet_too_big(&answer, 1280, link_local(Guid::new(2)), &mut out).is_err());
    }
}

/// Packets that pass all checks, of every kind.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let guid = Guid::new(0x0002_c902_0024_f636);
    let gid = Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, guid);
    let hardware = HardwareAddress {
        flags: AddressFlags::RC,
        qpn: Qpn::from_bits_truncate(0x405),
        gid,
    };
    let party = Party {
        hardware,
        protocol: [10, 0, 0, 1].into(),
    };

    let mut arp = [0; Arp::LEN];
    Arp::request(party, [10, 0, 0, 2].into()).emit(&mut arp);
    let mut nd = [0; NeighbourPacket::LEN_MAX];
    let target = link_local(Guid::new(7));
    let destination = link_local(guid);
    let message = Message::Advertisement {
        target,
        address: Some(hardware),
        router: false,
        solicited: true,
        overrides: true,
    };
    NeighbourPacket {
        source: target,
        destination,
        message,
    }
    .emit(&mut nd);
    let mut v4 = vec![
        0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    v4.resize(40, 7);

    let space = GroupSpace::new(GroupSpace::DEFAULT_SCOPE, PKey::DEFAULT_FULL);
    for (ether_type, body) in [
        (EtherType::Arp, &arp[..]),
        (EtherType::Ipv6, &nd),
        (EtherType::Ipv4, &v4),
    ] {
        let mut payload = Encapsulation { ether_type }.to_bytes().to_vec();
        payload.extend(body);
        seeds.push([&[2][..], &payload].concat());
        for multicast in [false, true] {
            seeds.push(datagram(
                multicast.then(|| space.broadcast()),
                gid,
                &payload,
            ));
        }
    }
    for &opcode in Opcode::ALL {
        // A packet of each opcode, its extended headers all the same octet.
        let mut bytes = vec![
            1 | PATCH,
            0,
            2,
            0,
            1,
            0,
            0,
            0,
            2,
            opcode.code(),
            0x40,
            0xff,
            0xff,
        ];
        bytes.extend([0, 0, 4, 5, 0, 0, 0, 1]);
        bytes.resize(bytes.len() + opcode.headers_len() + 8, 0x11);
        seeds.push(bytes);
    }
    // A raw packet.
    seeds.push(vec![1, 0, 0, 0, 1, 0, 4, 0, 2, 8, 0, 0, 0, 1, 2, 3, 4]);
    seeds
}

fn datagram(group: Option<Gid>, sgid: Gid, payload: &[u8]) -> Vec<u8> {
    let headers = UdHeaders {
        vl: Vl::default(),
        sl: Sl::default(),
        dlid: if group.is_some() {
            Lid::MULTICAST_FIRST
        } else {
            Lid::new(2)
        },
        slid: Lid::new(1),
        grh: group.map(|dgid| Grh {
            ip_version: Grh::IP_VERSION,
            traffic_class: 0,
            flow_label: 0,
            payload_length: 0,
            next_header: Grh::NEXT_HEADER_BTH,
            hop_limit: 0,
            sgid,
            dgid,
        }),
        solicited: false,
        pkey: PKey::DEFAULT_FULL,
        dest_qpn: if group.is_some() {
            Qpn::MULTICAST
        } else {
            Qpn::from_bits_truncate(0x404)
        },
        psn: Psn::default(),
        qkey: QKey::new(0xb1b),
        src_qpn: Qpn::from_bits_truncate(0x405),
        immediate: None,
    };
    let mut bytes = vec![0; 1 + headers.len()];
    bytes[0] = 1 | PATCH;
    let pad = headers.emit(&mut bytes[1..], payload.len());
    bytes.extend(payload);
    bytes.resize(bytes.len() + usize::from(pad), 0);
    bytes
}
