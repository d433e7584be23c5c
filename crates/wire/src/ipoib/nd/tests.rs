use etherparse::Icmpv6Slice;
use proptest::prelude::*;

use super::*;
use crate::addr::{Gid, Guid, Qpn};
use crate::ipoib::AddressFlags;

/// A neighbour solicitation between real adapters, from its IPv6 header on.
const SOLICITATION: [u8; 88] = [
    0x60, 0x00, 0x00, 0x00, 0x00, 0x30, 0x3a, 0xff, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36, 0xff, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x01, 0xff, 0x00, 0x18, 0x95, 0x87, 0x00, 0x7d, 0x15, 0x00, 0x00, 0x00, 0x00,
    0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0xc9, 0x03, 0x00, 0x00, 0x18, 0x95,
    0x01, 0x03, 0x00, 0x00, 0x80, 0x00, 0x04, 0x05, 0xfe, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x02, 0xc9, 0x02, 0x00, 0x24, 0xf6, 0x36,
];

fn hardware() -> HardwareAddress {
    HardwareAddress {
        flags: AddressFlags::RC,
        qpn: Qpn::from_bits_truncate(0x405),
        gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c902_0024_f636)),
    }
}

fn solicitation() -> NeighbourPacket {
    let target: Ipv6Addr = "fe80::202:c903:0:1895".parse().unwrap();
    NeighbourPacket {
        source: "fe80::202:c902:24:f636".parse().unwrap(),
        destination: solicited_node(target),
        message: Message::Solicitation {
            target,
            source: Some(hardware()),
        },
    }
}

fn advertisement() -> NeighbourPacket {
    let asked = solicitation();
    let Message::Solicitation { target, .. } = asked.message else {
        unreachable!()
    };
    NeighbourPacket {
        source: target,
        destination: asked.source,
        message: Message::Advertisement {
            target,
            address: Some(hardware()),
            router: false,
            solicited: true,
            overrides: true,
        },
    }
}

fn emitted(packet: &NeighbourPacket) -> Vec<u8> {
    let mut bytes = [0xa5; NeighbourPacket::LEN_MAX];
    let len = packet.emit(&mut bytes);
    bytes[..len].to_vec()
}

/// `emitted`, one octet changed, the checksum put right again.
fn changed(packet: &NeighbourPacket, at: usize, octet: u8) -> Vec<u8> {
    let mut bytes = emitted(packet);
    bytes[at] = octet;
    resum(&mut bytes);
    bytes
}

fn resum(bytes: &mut [u8]) {
    let header = Ipv6Header::parse(bytes).unwrap();
    let body = &mut bytes[40..];
    body[2..4].fill(0);
    let sum = Checksum::ipv6(header.source, header.destination, 58, body.len())
        .with(body)
        .finish();
    body[2..4].copy_from_slice(&sum.to_be_bytes());
}

#[test]
fn test_parse() {
    assert_eq!(NeighbourPacket::parse(&SOLICITATION), Ok(solicitation()));
}

#[test]
fn test_emit() {
    assert_eq!(emitted(&solicitation()), SOLICITATION);
}

#[test]
fn advertisements() {
    let bytes = emitted(&advertisement());
    assert_eq!(NeighbourPacket::parse(&bytes), Ok(advertisement()));
    assert_eq!(bytes[44], 0x60);
    assert_eq!(bytes[64..68], [2, 3, 0, 0]);
    let oracle = Icmpv6Slice::from_slice(&bytes[40..]).unwrap();
    assert!(oracle.is_checksum_valid(
        bytes[8..24].try_into().unwrap(),
        bytes[24..40].try_into().unwrap()
    ));
}

/// A probe for duplicate addresses: RFC 4862 §5.4.2.
#[test]
fn probes() {
    let mut probe = solicitation();
    probe.source = Ipv6Addr::UNSPECIFIED;
    assert_eq!(
        NeighbourPacket::parse(&emitted(&probe)),
        Err(NdError::UnspecifiedSource)
    );
    let Message::Solicitation { source, .. } = &mut probe.message else {
        unreachable!()
    };
    *source = None;
    assert_eq!(NeighbourPacket::parse(&emitted(&probe)), Ok(probe));
    probe.destination = "ff02::1".parse().unwrap();
    assert_eq!(
        NeighbourPacket::parse(&emitted(&probe)),
        Err(NdError::UnspecifiedSource)
    );
}

/// RFC 4861 §7.1.
#[test]
fn refusals() {
    let (ns, na) = (solicitation(), advertisement());
    let parse = |bytes: &[u8]| NeighbourPacket::parse(bytes).unwrap_err();
    assert_eq!(
        parse(&changed(&ns, 7, 254)),
        NdError::HopLimit { hop_limit: 254 }
    );
    assert_eq!(parse(&changed(&ns, 41, 1)), NdError::Code { code: 1 });
    assert_eq!(parse(&changed(&ns, 40, 128)), NdError::Other);
    assert_eq!(parse(&changed(&ns, 6, 17)), NdError::Other);
    assert!(matches!(
        parse(&changed(&ns, 48, 0xff)),
        NdError::MulticastTarget { .. }
    ));
    assert_eq!(
        parse(&changed(&ns, 65, 0)),
        NdError::OptionLength { said: 0, have: 24 }
    );
    assert_eq!(
        parse(&changed(&ns, 65, 4)),
        NdError::OptionLength { said: 32, have: 24 }
    );
    // Ethernet's option: 8 octets. What follows it must be made options too.
    let mut ethernet = emitted(&ns);
    ethernet[65] = 1;
    ethernet[72..74].copy_from_slice(&[200, 2]);
    resum(&mut ethernet);
    assert_eq!(parse(&ethernet), NdError::AddressLength { octets: 8 });
    let mut unsummed = emitted(&ns);
    unsummed[87] ^= 1;
    assert_eq!(parse(&unsummed), NdError::Checksum);
    assert!(NeighbourPacket::parse_unsummed(&unsummed).is_ok());
    assert_eq!(parse(&changed(&na, 24, 0xff)), NdError::SolicitedMulticast);
    let mut short = emitted(&ns)[..60].to_vec();
    short[5] = 20;
    assert_eq!(parse(&short), NdError::Short { have: 20 });
}

/// The padding of the option behind the address, as some stacks leave it.
#[test]
fn unfixed_option() {
    let option = |before: bool, address: &HardwareAddress| {
        let mut option = [0; 24];
        option[..2].copy_from_slice(&[1, 3]);
        address.emit(&mut option[if before { 4 } else { 2 }..]);
        option
    };
    let plain = HardwareAddress {
        flags: AddressFlags::empty(),
        ..hardware()
    };
    let large = HardwareAddress {
        qpn: Qpn::from_bits_truncate(0x12_3456),
        ..plain
    };
    let zeros = HardwareAddress {
        gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c902_0024_0000)),
        ..plain
    };
    for address in [hardware(), plain, large, zeros] {
        for before in [true, false] {
            assert_eq!(
                find_address(&option(before, &address), 1),
                Ok(Some(address)),
                "{address} {before}"
            );
        }
    }
    assert_eq!(find_address(&option(true, &plain), 2), Ok(None));
}

proptest! {
    #[test]
    fn never_panics(mut bytes in prop::collection::vec(any::<u8>(), 40..150), solicitation: bool) {
        bytes[..8].copy_from_slice(&SOLICITATION[..8]);
        bytes[5] = u8::try_from(bytes.len() - 40).unwrap();
        if let Some(kind) = bytes.get_mut(40) {
            *kind = if solicitation { 135 } else { 136 };
        }
        let _ = NeighbourPacket::parse_unsummed(&bytes);
        let _ = find_address(&bytes[40..], 1);
    }

    #[test]
    fn round_trip(target: u128, source: u128, flags: [bool; 3], address: Option<[u8; 20]>, advertise: bool) {
        let target = Ipv6Addr::from_bits(target >> 1);
        let address = address.map(|mut octets| {
            // The GID at its right place, for the two forms to be told apart.
            octets[4..6].copy_from_slice(&[0xfe, 0x80]);
            HardwareAddress::from(octets)
        });
        let [router, solicited, overrides] = flags;
        let packet = NeighbourPacket {
            source: Ipv6Addr::from_bits(source | 1),
            destination: if advertise { Ipv6Addr::LOCALHOST } else { solicited_node(target) },
            message: if advertise {
                Message::Advertisement { target, address, router, solicited, overrides }
            } else {
                Message::Solicitation { target, source: address }
            },
        };
        prop_assert_eq!(NeighbourPacket::parse(&emitted(&packet)), Ok(packet));
    }
}
