//! Any octets as a MAD of any class, and as any attribute.

use softib_wire::addr::{Lid, MKey};
use softib_wire::mad::class_port_info::ClassPortInfo;
use softib_wire::mad::cm::{CmMad, CmMessage};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::notice::{Notice, ReportedNotice};
use softib_wire::mad::perf::{PerfMad, PortCounters, PortCountersExtended};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::sa::{
    GuidInfoRecord, InformInfo, InformInfoRecord, LinearFdbRecord, LinkRecord, McMemberRecord,
    MulticastFdbRecord, NodeRecord, PKeyTableRecord, PathRecord, PortInfoRecord, SaMad,
    ServiceRecord, SlToVlRecord, SmInfoRecord, SwitchInfoRecord, VlArbRecord,
};
use softib_wire::mad::sm_info::SmInfo;
use softib_wire::mad::smp::{DirectedSmp, LidSmp};
use softib_wire::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock,
};
use softib_wire::mad::{Attribute, MAD_LEN, attribute, class, method};

/// Takes any octets; those behind a MAD's are left, missing ones are zero.
pub(crate) fn run(data: &[u8]) {
    let mut mad = [0; MAD_LEN];
    let len = data.len().min(MAD_LEN);
    mad[..len].copy_from_slice(&data[..len]);

    macro_rules! datagrams {
        ($($format:ident)*) => { $(
            // Short ones are refused, not read beyond their end.
            if data.len() < $format::LEN {
                assert!($format::parse(data).is_err());
            }
            if let Ok(read) = $format::parse(&mad) {
                assert_eq!($format::parse(&read.to_bytes()), Ok(read));
            }
        )* };
    }
    datagrams! { MadHeader LidSmp DirectedSmp SaMad PerfMad CmMad }

    if let Ok(Some(message)) = CmMad::parse(&mad).and_then(|mad| mad.message()) {
        let again = CmMessage::parse(message.attribute_id(), &message.to_bytes());
        assert_eq!(again, Ok(Some(message)));
    }
    for body in [24, 56, 64] {
        attributes(&mad[body..]);
    }
}

/// Every attribute: emitted and parsed again, it is the same.
fn attributes(bytes: &[u8]) {
    macro_rules! round_trips {
        ($($attribute:ident)*) => { $( round_trip::<$attribute>(bytes); )* };
    }
    round_trips! {
        ClassPortInfo NodeDescription NodeInfo SwitchInfo PortInfo SmInfo
        GuidBlock PKeyBlock SlToVl VlArbBlock LinearBlock MulticastBlock
        PortCounters PortCountersExtended Notice ReportedNotice
        PathRecord McMemberRecord ServiceRecord NodeRecord PortInfoRecord LinkRecord SmInfoRecord
        SwitchInfoRecord GuidInfoRecord PKeyTableRecord SlToVlRecord VlArbRecord LinearFdbRecord
        MulticastFdbRecord InformInfo InformInfoRecord
    }
    if let Ok(notice) = Notice::parse(bytes)
        && let Ok(details) = notice.details()
    {
        let again = Notice {
            data: details.to_bytes(),
            ..notice
        };
        assert_eq!(again.details(), Ok(details));
    }
}

fn round_trip<A: Attribute + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok(read) = A::parse(bytes) else {
        return;
    };
    let mut emitted = vec![0xa5; A::LEN];
    read.emit(&mut emitted);
    let again = A::parse(&emitted);
    assert!(again.as_ref() == Ok(&read), "{read:?} became {again:?}");
    assert!(bytes.len() >= A::LEN && A::parse(&bytes[..A::LEN - 1]).is_err());
}

/// A MAD of each class and attribute.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for id in [
        attribute::NODE_DESCRIPTION,
        attribute::NODE_INFO,
        attribute::SWITCH_INFO,
        attribute::GUID_INFO,
        attribute::PORT_INFO,
        attribute::PKEY_TABLE,
        attribute::SL_TO_VL,
        attribute::VL_ARBITRATION,
        attribute::LINEAR_FDB,
        attribute::MULTICAST_FDB,
        attribute::SM_INFO,
        attribute::NOTICE,
    ] {
        let smp = LidSmp::request(method::SET, id, 1, 7, MKey::NONE);
        seeds.push(smp.to_bytes().to_vec());
        let mut directed = smp.to_bytes();
        directed[1] = class::SUBN_DIRECTED;
        directed[6..8].copy_from_slice(&[1, 2]);
        directed[32..36].fill(0xff);
        directed[128..192].fill(3);
        seeds.push(directed.to_vec());
    }
    for id in 0x0010..=0x001a {
        if let Ok(Some(message)) = CmMessage::parse(id, &[0; 232]) {
            seeds.push(CmMad::new(9, &message).to_bytes().to_vec());
        }
    }
    for id in [
        attribute::NODE_RECORD,
        attribute::PATH_RECORD,
        attribute::MC_MEMBER_RECORD,
        attribute::SERVICE_RECORD,
        attribute::PORT_INFO_RECORD,
        attribute::LINK_RECORD,
        attribute::INFORM_INFO,
    ] {
        let header = MadHeader::request(class::SUBN_ADM, method::GET_TABLE, id, 0, 8);
        let mut mad = [0; MAD_LEN];
        header.emit(&mut mad);
        seeds.push(mad.to_vec());
    }
    // All codes of path and group records are right in this one.
    let mut mad = seeds[seeds.len() - 1].clone();
    mad[56..].fill(0x84);
    seeds.push(mad);
    for id in [
        attribute::PORT_COUNTERS,
        attribute::PORT_COUNTERS_EXTENDED,
        attribute::CLASS_PORT_INFO,
    ] {
        let mut mad = [0; MAD_LEN];
        MadHeader::request(class::PERF_MGT, method::GET, id, 0, 8).emit(&mut mad);
        seeds.push(mad.to_vec());
    }
    // Notices of every trap that there are details for.
    for trap in [
        64, 65, 66, 67, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259_u16,
    ] {
        let mut mad = LidSmp::request(method::TRAP, attribute::NOTICE, 0, 7, MKey::NONE).to_bytes();
        mad[64] = 0x84;
        mad[68..70].copy_from_slice(&trap.to_be_bytes());
        mad[70..72].copy_from_slice(&Lid::new(5).bits().to_be_bytes());
        seeds.push(mad.to_vec());
    }
    seeds
}
