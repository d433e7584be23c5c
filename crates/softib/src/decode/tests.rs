//! Lines for real packets, and for what is none.

use proptest::prelude::*;

use super::*;

/// An ARP request and reply and an RC acknowledge of a capture of real adapters.
const ARP_REQUEST: &str = "0003c000002100046000000000541b00fe800000000000000002c9020024f636ff12401bffff000000000000ffffffff6440ffff00ffffff000020af00000b1b0000040508060000002008001404000180000405fe800000000000000002c9020024f6360a00012200000000000000000000000000000000000000000a00003abd6bd6a88883";
const NEIGHBOUR_SOLICITATION: &str = "0003c007002900046000000000741b00fe800000000000000002c9020024f636ff12601bffff000000000001ff0018956440ffff00ffffff0000229100000b1b0000040586dd00006000000000303afffe800000000000000202c9020024f636ff0200000000000000000001ff00189587007d1500000000fe800000000000000202c903000018950103000080000405fe800000000000000002c9020024f636eeebefb1a375";
const ACK: &str = "00020004000700011140ffff0087040800d40a551f000001a80355503081";

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn line(bytes: &[u8]) -> String {
    Decoder::default().line(Duration::ZERO, bytes)
}

#[test]
fn real_packets() {
    assert_eq!(
        line(&octets(ARP_REQUEST)),
        "0.000000 LID 4 > 49152 UD SEND Only QP 0x000405 > 0xffffff ARP who has 10.0.0.58? tell \
         10.0.1.34 | ICRC 0xbd6bd6a8 ok, VCRC 0x8883 ok"
    );
    assert_eq!(
        line(&octets(NEIGHBOUR_SOLICITATION)),
        "0.000000 LID 4 > 49159 UD SEND Only QP 0x000405 > 0xffffff IP fe80::202:c902:24:f636 > \
         ff02::1:ff00:1895 ICMPv6 who has fe80::202:c903:0:1895? | ICRC 0xeeebefb1 ok, VCRC \
         0xa375 ok"
    );
    assert_eq!(
        line(&octets(ACK)),
        "0.000000 LID 1 > 4 RC Acknowledge QP > 0x870408 syndrome 0x1f MSN 1 | ICRC 0xa8035550 ok, \
         VCRC 0x3081 ok"
    );
}

#[test]
fn a_changed_packet_is_told() {
    let mut packet = octets(ACK);
    packet[20] ^= 1;
    let line = line(&packet);
    assert!(
        line.contains("ICRC 0xa8035550 bad, VCRC 0x3081 bad"),
        "{line}"
    );
}

#[test]
fn time_counts_from_the_first_packet() {
    let mut decoder = Decoder::default();
    let _ = decoder.line(Duration::from_millis(5000), &[]);
    let second = decoder.line(Duration::from_micros(5_001_002), &[]);
    assert!(second.starts_with("0.001002 "), "{second}");
}

proptest! {
    /// Whatever is in a file, it is a line.
    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(!line(&bytes).contains('\n'));
    }

    #[test]
    fn never_panics_on_almost_packets(at in 0_usize..200, value: u8, cut in 0_usize..200) {
        for packet in [ARP_REQUEST, NEIGHBOUR_SOLICITATION, ACK] {
            let mut packet = octets(packet);
            let length = packet.len();
            packet[at % length] = value;
            line(&packet);
            line(&packet[..cut % length]);
        }
    }
}
