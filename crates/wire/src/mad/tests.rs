//! Real MADs from a public capture of 2008 (`infiniband.pcap`, two hosts running IPoIB), and what
//! holds for all formats of management datagrams.

use proptest::prelude::*;

use crate::mad::Attribute;
use crate::mad::class_port_info::ClassPortInfo;
use crate::mad::cm::{Apr, CmMad, Drep, Dreq, Lap, Mra, Rej, Rep, Req, Rtu, SidrRep, SidrReq};
use crate::mad::description::NodeDescription;
use crate::mad::header::MadHeader;
use crate::mad::node::{NodeInfo, SwitchInfo};
use crate::mad::notice::{Notice, ReportedNotice, details};
use crate::mad::perf::{PerfMad, PortCounters, PortCountersExtended};
use crate::mad::port_info::PortInfo;
use crate::mad::rmpp::RmppHeader;
use crate::mad::sa::{
    GuidInfoRecord, InformInfo, InformInfoRecord, LinearFdbRecord, LinkRecord, McMemberRecord,
    MulticastFdbRecord, NodeRecord, PKeyTableRecord, PathRecord, PortInfoRecord, SaMad,
    ServiceRecord, SlToVlRecord, SmInfoRecord, SwitchInfoRecord, VlArbRecord,
};
use crate::mad::sm_info::SmInfo;
use crate::mad::smp::{DirectedSmp, LidSmp};
use crate::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock, VlWeight,
};

/// Frame 1: a directed-route Get(SMInfo) at its last hop but one.
pub(crate) const DR_SM_INFO_GET: [u8; 256] = mad(concat!(
    "01810101000001020001509c000125c800200000000000000000000000000000ffffffff00000000",
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000203",
));
/// Frame 2: its answer on the way back.
pub(crate) const DR_SM_INFO_RESP: [u8; 256] = mad(concat!(
    "01810181800001020001509c000125c800200000000000000000000000000000ffffffff00000000",
    "0000000000000000000000000000000000000000000000000002c9020020b4dd0000000000000000",
    "0000923a030000000000000000000000000000000000000000000000000000000000000000000000",
    "00000000000000000002030000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000000000601",
));
/// Frame 7: REQ of a connected-mode IPoIB interface.
pub(crate) const CM_REQ: [u8; 256] = mad(concat!(
    "010702030000000000000010278648e90010000000000000e9488627000000001000000000000404",
    "0002c9020024f63400000000000000008704080400000000000000a0000000a0ffff40f800040001",
    "fe800000000000000002c9020024f636fe800000000000000002c9020020b4dd0000000300000898",
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
    "00000000000004050000fff4",
));
/// Frame 8: REP to it.
pub(crate) const CM_REP: [u8; 256] = mad(concat!(
    "010702030000000000000010278648e90013000000000000f9024539e948862700000000fc040700",
    "00000000d40a5500000078100002c9020020b4dc000004040000fff4",
));
/// Frame 9: RTU to that.
pub(crate) const CM_RTU: [u8; 256] =
    mad("010702030000000000000010278648e90014000000000000e9488627f9024539");
/// Frame 32: Get(PathRecord) of an IPoIB interface.
pub(crate) const SA_PATH_GET: [u8; 256] = mad(concat!(
    "01030201000000000000000bb9647f9e003500000000000000000000000000000000000000000000",
    "0000000000000000000000000000340c0000000000000000fe800000000000000002c90300001895",
    "fe800000000000000002c9020024f63600000000000000000001ffff",
));
/// Frame 33: its answer.
pub(crate) const SA_PATH_RESP: [u8; 256] = mad(concat!(
    "01030281000000000000000bb9647f9e003500000000000000000000000000000000000000000000",
    "0000000000080000000000000000340c0000000000000000fe800000000000000002c90300001895",
    "fe800000000000000002c9020024f63600020004000000000080ffff0000848392",
));

/// A MAD from the hexadecimal digits of its first octets; the others are zero.
const fn mad(digits: &str) -> [u8; 256] {
    const fn digit(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            _ => digit - b'a' + 10,
        }
    }
    let digits = digits.as_bytes();
    let mut octets = [0; 256];
    let mut i = 0;
    while i < digits.len() / 2 {
        octets[i] = digit(digits[2 * i]) << 4 | digit(digits[2 * i + 1]);
        i += 1;
    }
    octets
}

#[test]
fn captured_mads_come_out_as_they_went_in() {
    fn check<const LEN: usize>(bytes: &[u8; 256], parsed: [u8; LEN]) {
        assert_eq!(bytes[..], parsed[..]);
    }
    for bytes in [DR_SM_INFO_GET, DR_SM_INFO_RESP] {
        check(&bytes, DirectedSmp::parse(&bytes).unwrap().to_bytes());
    }
    for bytes in [CM_REQ, CM_REP, CM_RTU] {
        let mad = CmMad::parse(&bytes).unwrap();
        check(&bytes, mad.to_bytes());
        let message = mad.message().unwrap().unwrap();
        check(
            &bytes,
            CmMad::new(mad.header.transaction_id, &message).to_bytes(),
        );
    }
    for bytes in [SA_PATH_GET, SA_PATH_RESP] {
        let mad = SaMad::parse(&bytes).unwrap();
        check(&bytes, mad.to_bytes());
        let record: PathRecord = mad.record().unwrap();
        assert_eq!(record.to_bytes()[..], mad.data[..64]);
    }
}

/// Puts one of the codes that the specification defines into some bits of an octet.
fn choose(bytes: &mut [u8], octet: usize, mask: u8, codes: &[u8]) {
    let code = codes[usize::from(bytes[octet]) % codes.len()];
    bytes[octet] = bytes[octet] & !mask | code;
}

/// For each format, whatever bytes come: nothing panics; where the codes are good it is read, and
/// read again from what is written of it over a dirty buffer; no bit is written that was not
/// there, and none beyond the format; one octet less is refused.
macro_rules! formats {
    ($( $name:ident: $ty:ty $(, $octet:literal & $mask:literal = $codes:expr)*; )*) => {
        proptest! { $(
            #[test]
            fn $name(bytes in any::<[u8; 256]>()) {
                let _ = <$ty>::parse(&bytes);
                #[allow(unused_mut, reason = "only formats with codes are changed")]
                let mut bytes = bytes;
                $( choose(&mut bytes, $octet, $mask, &$codes); )*
                let value = <$ty>::parse(&bytes)?;
                let mut written = [0xa5; 257];
                value.emit(&mut written);
                prop_assert_eq!(<$ty>::parse(&written), Ok(value));
                for i in 0..<$ty>::LEN {
                    prop_assert_eq!(written[i] & !bytes[i], 0, "octet {}", i);
                }
                prop_assert!(written[<$ty>::LEN..].iter().all(|&octet| octet == 0xa5));
                prop_assert!(<$ty>::parse(&written[..<$ty>::LEN]).is_ok());
                prop_assert!(<$ty>::parse(&written[..<$ty>::LEN - 1]).is_err());
            }
        )* }
    };
}

const MTUS: [u8; 6] = [0, 1, 2, 3, 4, 5];
const MTUS_HIGH: [u8; 6] = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50];
const RATES: [u8; 7] = [0, 2, 3, 10, 16, 23, 24];
const STATES: [u8; 6] = [0, 1, 2, 3, 4, 5];
const PHYS_STATES: [u8; 8] = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70];
const NODE_TYPES: [u8; 3] = [1, 2, 3];
const SM_STATES: [u8; 4] = [0, 1, 2, 3];
const FLAGS: [u8; 2] = [0, 1];
const MESSAGES: [u8; 3] = [0x00, 0x40, 0x80];

formats! {
    header: MadHeader;
    lid_smp: LidSmp;
    directed_smp: DirectedSmp;
    sa_mad: SaMad;
    perf_mad: PerfMad;
    cm_mad: CmMad;
    rmpp_header: RmppHeader;

    class_port_info: ClassPortInfo;
    node_description: NodeDescription;
    node_info: NodeInfo, 2 & 0xFF = NODE_TYPES;
    switch_info: SwitchInfo;
    port_info: PortInfo, 32 & 0x0F = STATES, 33 & 0xF0 = PHYS_STATES, 36 & 0xF0 = MTUS_HIGH,
        41 & 0x0F = MTUS;
    sm_info: SmInfo, 20 & 0x0F = SM_STATES;
    guid_block: GuidBlock;
    pkey_block: PKeyBlock;
    sl_to_vl: SlToVl;
    linear_block: LinearBlock;
    multicast_block: MulticastBlock;
    vl_arb_block: VlArbBlock;
    vl_weight: VlWeight;

    notice: Notice;
    reported_notice: ReportedNotice;
    gid_details: details::GidDetails;
    link_state_details: details::LinkStateDetails;
    port_details: details::PortDetails;
    local_changes_details: details::LocalChangesDetails;
    system_image_guid_details: details::SystemImageGuidDetails;
    bad_m_key_details: details::BadMKeyDetails;
    bad_key_details: details::BadKeyDetails;
    switch_bad_p_key_details: details::SwitchBadPKeyDetails;

    port_counters: PortCounters;
    port_counters_extended: PortCountersExtended;

    path_record: PathRecord, 54 & 0x3F = MTUS, 55 & 0x3F = RATES;
    mc_member_record: McMemberRecord, 38 & 0x3F = MTUS, 42 & 0x3F = RATES;
    service_record: ServiceRecord;
    node_record: NodeRecord, 6 & 0xFF = NODE_TYPES;
    port_info_record: PortInfoRecord, 36 & 0x0F = STATES, 37 & 0xF0 = PHYS_STATES,
        40 & 0xF0 = MTUS_HIGH, 45 & 0x0F = MTUS;
    link_record: LinkRecord;
    sm_info_record: SmInfoRecord, 24 & 0x0F = SM_STATES;
    switch_info_record: SwitchInfoRecord;
    guid_info_record: GuidInfoRecord;
    pkey_table_record: PKeyTableRecord;
    sl_to_vl_record: SlToVlRecord;
    vl_arb_record: VlArbRecord;
    linear_fdb_record: LinearFdbRecord;
    multicast_fdb_record: MulticastFdbRecord;
    inform_info: InformInfo, 22 & 0xFF = FLAGS, 23 & 0xFF = FLAGS;
    inform_info_record: InformInfoRecord, 46 & 0xFF = FLAGS, 47 & 0xFF = FLAGS;

    req: Req, 50 & 0xF0 = MTUS_HIGH, 91 & 0x3F = RATES, 135 & 0x3F = RATES;
    mra: Mra, 8 & 0xC0 = MESSAGES;
    rej: Rej, 8 & 0xC0 = MESSAGES;
    rep: Rep;
    rtu: Rtu;
    dreq: Dreq;
    drep: Drep;
    lap: Lap, 61 & 0x3F = RATES;
    apr: Apr;
    sidr_req: SidrReq;
    sidr_rep: SidrRep;
}

proptest! {
    #[test]
    fn notices_of_any_trap(bytes in any::<[u8; 64]>(), trap in 60_u16..262) {
        let mut bytes = bytes;
        bytes[0] |= 0x80;
        bytes[4..6].copy_from_slice(&trap.to_be_bytes());
        let notice = Notice::parse(&bytes)?;
        let details = notice.details()?;
        prop_assert_eq!(details.trap_number(), notice.trap_number);
        let again = Notice::new(&details, notice.producer_type, notice.issuer_lid);
        prop_assert_eq!(again.details(), Ok(details));
    }

    #[test]
    fn messages_of_any_attribute(bytes in any::<[u8; 256]>(), attribute in 0_u8..0x20) {
        let mut bytes = bytes;
        bytes[16..18].copy_from_slice(&[0, attribute]);
        let mad = CmMad::parse(&bytes)?;
        if let Ok(Some(message)) = mad.message() {
            prop_assert_eq!(message.attribute_id(), u16::from(attribute));
            let again = CmMad::new(mad.header.transaction_id, &message);
            prop_assert_eq!(again.message(), Ok(Some(message)));
        }
    }

    #[test]
    fn paths_of_any_length(ports in proptest::collection::vec(any::<u8>(), 0..70)) {
        match crate::mad::smp::HopPath::new(&ports) {
            Some(path) => prop_assert_eq!(path.ports(), ports),
            None => prop_assert!(ports.len() > 63),
        }
    }
}
