//! Subnet administration: the header and every record.

use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Qpn, Sl, Vl};
use softib_wire::mad::class_port_info::ClassPortInfo;
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::SwitchInfo;
use softib_wire::mad::notice::details::{Details, GidDetails};
use softib_wire::mad::notice::{Notice, ProducerType, ReportedNotice};
use softib_wire::mad::rmpp::{RmppFlags, RmppHeader, RmppStatus, RmppType};
use softib_wire::mad::sa::{
    GuidInfoRecord, InformInfo, InformInfoRecord, JoinState, LinearFdbRecord, LinkRecord,
    McMemberMask, McMemberRecord, MulticastFdbRecord, NodeRecord, PKeyTableRecord, PathRecord,
    PortInfoRecord, SaMad, ServiceRecord, SlToVlRecord, SmInfoRecord, SwitchInfoRecord,
    VlArbRecord,
};
use softib_wire::mad::sm_info::{SmInfo, SmState};
use softib_wire::mad::tables::VlWeight;
use softib_wire::mad::{Attribute, method};
use softib_wire::units::{Mtu, Rate, Selector};

use crate::oracle::{Case, hex, octet};
use crate::perf::{CLASS, class_fields};
use crate::smp::{NODE, PORT, gid, node_fields, port_fields};

/// The answer that carries a record.
fn answer<A: Attribute>(record: &A) -> [u8; 256] {
    SaMad::request(method::GET, 0x42, 0, record)
        .response(record)
        .to_bytes()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        header(),
        path(),
        mc_member(),
        service(),
        link(),
        inform_info(),
        inform_info_record(),
        report(),
    ];
    cases.push(node_fields(
        Case::new(
            "NodeRecord",
            answer(&NodeRecord {
                lid: Lid::new(7),
                node_info: NODE,
                description: NodeDescription::from("leaf 1"),
            }),
        )
        .is("infiniband.sa.lid", 7_u8)
        .text("infiniband.nodedescription.nodestring", "leaf 1"),
    ));
    let port = PortInfoRecord {
        lid: Lid::new(7),
        port: 3,
        options: 0,
        port_info: PORT,
    };
    cases.push(port_fields(
        Case::new("PortInfoRecord", answer(&port))
            .is("infiniband.sa.endportlid", 7_u8)
            .is("infiniband.sa.portnum", 3_u8),
    ));
    cases.push(class_fields(Case::new(
        "SA ClassPortInfo",
        answer::<ClassPortInfo>(&CLASS),
    )));
    cases.extend(tables());
    cases
}

fn header() -> Case {
    let request = SaMad::request(
        method::GET_TABLE,
        0x42,
        McMemberMask::IPOIB_GROUP.bits(),
        &McMemberRecord::default(),
    );
    let mut mad = request.response(&McMemberRecord::default());
    mad.sm_key = 0x0102_0304_0506_0708;
    mad.rmpp = RmppHeader {
        version: RmppHeader::VERSION,
        rmpp_type: RmppType::DATA,
        resp_time: 18,
        flags: RmppFlags::ACTIVE | RmppFlags::FIRST,
        status: RmppStatus::NORMAL,
        data1: 1,
        data2: 672,
    };
    Case::new("SA header", mad.to_bytes())
        .is("infiniband.mad.mgmtclass", 3_u8)
        .is("infiniband.mad.classversion", 2_u8)
        .is("infiniband.mad.method", 0x92_u8)
        .is("infiniband.rmpp.rmppversion", 1_u8)
        .is("infiniband.rmpp.rmpptype", 1_u8)
        .is("infiniband.rmpp.rmppstatus", 0_u8)
        .is("infiniband.rmpp.segmentnumber", 1_u8)
        .is("infiniband.rmpp.payloadlength", 672_u16)
        .is("infiniband.sa.smkey", 0x0102_0304_0506_0708_u64)
        .is("infiniband.sa.attributeoffset", 7_u8)
        .is("infiniband.sa.componentmask", 0x1_73F7_u32)
}

fn path() -> Case {
    let record = PathRecord {
        service_id: 0,
        dgid: gid(1),
        sgid: gid(2),
        dlid: Lid::new(0x21),
        slid: Lid::new(0x22),
        raw_traffic: true,
        flow_label: 0x1_2345,
        hop_limit: 0x40,
        traffic_class: 0x11,
        reversible: true,
        path_count: 0x7E,
        pkey: PKey::new(0x8001),
        qos_class: 0x123,
        sl: Sl::from_bits_truncate(9),
        mtu_selector: Selector::Exactly,
        mtu: Some(Mtu::B2048),
        rate_selector: Selector::Less,
        rate: Some(Rate::Gbps400),
        life_time_selector: Selector::Largest,
        life_time: 18,
        preference: 0x33,
    };
    Case::new("PathRecord", answer(&record))
        .gid("infiniband.pathrecord.dgid", gid(1))
        .gid("infiniband.pathrecord.sgid", gid(2))
        .is("infiniband.pathrecord.dlid", 0x21_u8)
        .is("infiniband.pathrecord.slid", 0x22_u8)
        .is("infiniband.pathrecord.rawtraffic", 1_u8)
        .is("infiniband.pathrecord.flowlabel", 0x1_2345_u32)
        .is("infiniband.pathrecord.hoplimit", 0x40_u8)
        .is("infiniband.pathrecord.tclass", 0x11_u8)
        .is("infiniband.pathrecord.reversible", 1_u8)
        .is("infiniband.pathrecord.numbpath", 0x7E_u8)
        .is("infiniband.pathrecord.p_key", 0x8001_u16)
        .is("infiniband.pathrecord.sl", 9_u8)
        .is("infiniband.pathrecord.mtuselector", 2_u8)
        .is("infiniband.pathrecord.mtu", 4_u8)
        .is("infiniband.pathrecord.rateselector", 1_u8)
        .is("infiniband.pathrecord.rate", 21_u8)
        .is("infiniband.pathrecord.packetlifetimeselector", 3_u8)
        .is("infiniband.pathrecord.packetlifetime", 18_u8)
        .is("infiniband.pathrecord.preference", 0x33_u8)
}

fn mc_member() -> Case {
    let record = McMemberRecord {
        mgid: gid(1),
        port_gid: gid(2),
        qkey: QKey::new(0x0b1b),
        mlid: Lid::new(0xC007),
        mtu_selector: Selector::Exactly,
        mtu: Some(Mtu::B4096),
        traffic_class: 0x11,
        pkey: PKey::DEFAULT_FULL,
        rate_selector: Selector::Less,
        rate: Some(Rate::Gbps10),
        life_time_selector: Selector::Largest,
        life_time: 18,
        sl: Sl::from_bits_truncate(9),
        flow_label: 0x1_2345,
        hop_limit: 0x40,
        scope: 2,
        join_state: JoinState::FULL | JoinState::SEND_ONLY_FULL,
        proxy_join: true,
    };
    Case::new("MCMemberRecord", answer(&record))
        .gid("infiniband.mcmemberrecord.mgid", gid(1))
        .gid("infiniband.mcmemberrecord.portgid", gid(2))
        .is("infiniband.mcmemberrecord.q_key", 0x0b1b_u16)
        .is("infiniband.mcmemberrecord.mlid", 0xC007_u16)
        .is("infiniband.mcmemberrecord.mtuselector", 2_u8)
        .is("infiniband.mcmemberrecord.mtu", 5_u8)
        .is("infiniband.mcmemberrecord.tclass", 0x11_u8)
        .is("infiniband.mcmemberrecord.p_key", 0xFFFF_u16)
        .is("infiniband.mcmemberrecord.rateselector", 1_u8)
        .is("infiniband.mcmemberrecord.rate", 3_u8)
        .is("infiniband.mcmemberrecord.packetlifetimeselector", 3_u8)
        .is("infiniband.mcmemberrecord.packetlifetime", 18_u8)
        .is("infiniband.mcmemberrecord.sl", 9_u8)
        .is("infiniband.mcmemberrecord.flowlabel", 0x1_2345_u32)
        .is("infiniband.mcmemberrecord.hoplimit", 0x40_u8)
        .is("infiniband.mcmemberrecord.scope", 2_u8)
        .is("infiniband.mcmemberrecord.joinstate", 9_u8)
        .is("infiniband.mcmemberrecord.proxyjoin", 1_u8)
}

fn service() -> Case {
    let mut name = [0; 64];
    name[..4].copy_from_slice(b"test");
    let record = ServiceRecord {
        service_id: 0x1000_0000_0000_0404,
        service_gid: gid(1),
        service_pkey: PKey::new(0x8001),
        lease: 0x1234_5678,
        key: core::array::from_fn(octet),
        name,
        data8: core::array::from_fn(|i| 0x10 + octet(i)),
        data16: core::array::from_fn(|i| 0x20 + octet(i)),
        data32: core::array::from_fn(|i| 0x30 + octet(i)),
        data64: core::array::from_fn(|i| 0x40 + octet(i)),
    };
    let data = [
        &record.data8,
        &record.data16,
        &record.data32,
        &record.data64,
    ]
    .map(|data| hex(data));
    Case::new("ServiceRecord", answer(&record))
        .is("infiniband.linkrecord.serviceid", 0x1000_0000_0000_0404_u64)
        .gid("infiniband.linkrecord.servicegid", gid(1))
        .is("infiniband.linkrecord.servicep_key", 0x8001_u16)
        .is("infiniband.linkrecord.servicelease", 0x1234_5678_u32)
        .text(
            "infiniband.linkrecord.servicekey",
            "000102030405060708090a0b0c0d0e0f",
        )
        .text("infiniband.linkrecord.servicename", &hex(&name))
        .text("infiniband.linkrecord.servicedata", &data.join(","))
}

fn link() -> Case {
    let record = LinkRecord {
        from_lid: Lid::new(0x11),
        from_port: 2,
        to_port: 3,
        to_lid: Lid::new(0x44),
    };
    Case::new("LinkRecord", answer(&record))
        .is("infiniband.linkrecord.fromlid", 0x11_u8)
        .is("infiniband.linkrecord.fromport", 2_u8)
        .is("infiniband.linkrecord.toport", 3_u8)
        .is("infiniband.linkrecord.tolid", 0x44_u8)
}

const INFORM: InformInfo = InformInfo {
    gid: Gid::NONE,
    lid_range_begin: Lid::PERMISSIVE,
    lid_range_end: Lid::new(0x1234),
    generic: true,
    subscribe: true,
    notice_type: 3,
    trap_number: 66,
    qpn: Qpn::from_bits_truncate(0x40_0001),
    resp_time_value: 18,
    producer_type: 4,
};

fn inform_fields(case: Case) -> Case {
    case.gid("infiniband.informinfo.gid", Gid::NONE)
        .is("infiniband.informinfo.lidrangebegin", 0xFFFF_u16)
        .is("infiniband.informinfo.lidrangeend", 0x1234_u16)
        .is("infiniband.informinfo.isgeneric", 1_u8)
        .is("infiniband.informinfo.subscribe", 1_u8)
        .is("infiniband.informinfo.type", 3_u8)
        .is("infiniband.informinfo.trapnumberdeviceid", 66_u8)
        .is("infiniband.informinfo.qpn", 0x40_0001_u32)
        .is("infiniband.informinfo.resptimevalue", 18_u8)
        .is("infiniband.informinfo.producertypevendorid", 4_u8)
}

fn inform_info() -> Case {
    inform_fields(Case::new("InformInfo", answer(&INFORM)))
}

fn inform_info_record() -> Case {
    let record = InformInfoRecord {
        subscriber_gid: gid(1),
        number: 0x1234,
        inform_info: INFORM,
    };
    inform_fields(
        Case::new("InformInfoRecord", answer(&record))
            .gid("infiniband.informinforecord.subscribergid", gid(1))
            .is("infiniband.informinforecord.enum", 0x1234_u16),
    )
}

fn report() -> Case {
    let details = Details::GroupCreated(GidDetails { gid: gid(5) });
    let notice = Notice::new(&details, ProducerType::CLASS_MANAGER, Lid::new(1));
    let reported = ReportedNotice {
        notice,
        issuer_gid: gid(1),
    };
    let mad = SaMad::request(method::REPORT, 0x42, 0, &reported);
    Case::new("Report", mad.to_bytes())
        .is("infiniband.mad.method", 6_u8)
        .is("infiniband.mad.attributeid", 2_u8)
        .is("infiniband.notice.trapnumberdeviceid", 66_u8)
        .is("infiniband.notice.producertypevendorid", 4_u8)
        .gid("infiniband.trap.gidaddr", gid(5))
}

fn tables() -> Vec<Case> {
    let sm_info = SmInfo {
        guid: Guid::new(0x0002_c902_0020_b4dd),
        sm_key: 0,
        activity_count: 7,
        priority: 3,
        state: SmState::Standby,
    };
    let switch_info = SwitchInfo {
        linear_fdb_cap: 0xBFFF,
        ..Default::default()
    };
    vec![
        Case::new(
            "SMInfoRecord",
            answer(&SmInfoRecord {
                lid: Lid::new(9),
                sm_info,
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sminfo.guid", 0x0002_c902_0020_b4dd_u64)
        .is("infiniband.sminfo.actcount", 7_u8)
        .is("infiniband.sminfo.priority", 3_u8)
        .is("infiniband.sminfo.smstate", 2_u8),
        Case::new(
            "SwitchInfoRecord",
            answer(&SwitchInfoRecord {
                lid: Lid::new(9),
                switch_info,
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.switchinfo.linearfdbcap", 0xBFFF_u16),
        Case::new(
            "LinearForwardingTableRecord",
            answer(&LinearFdbRecord {
                lid: Lid::new(9),
                block: 0x0102,
                ports: core::array::from_fn(octet),
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.blocknum_sixteenbit", 0x0102_u16)
        .are("infiniband.linearforwardingtable.port", 0..64),
        Case::new(
            "MulticastForwardingTableRecord",
            answer(&MulticastFdbRecord {
                lid: Lid::new(9),
                position: 3,
                block: 0x101,
                port_masks: [0x8001; 32],
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.position", 3_u8)
        .is("infiniband.sa.blocknum_ninebit", 0x101_u16)
        // The dissector reads only half of the block.
        .are("infiniband.multicastforwardingtable.portmask", [0x8001; 16]),
        Case::new(
            "P_KeyTableRecord",
            answer(&PKeyTableRecord {
                lid: Lid::new(9),
                block: 0x0102,
                port: 5,
                pkeys: [PKey::new(0x8003); 32],
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.blocknum_sixteenbit", 0x0102_u16)
        .is("infiniband.sa.portnum", 5_u8)
        .are("infiniband.p_keytable.p_keybase", [3; 32]),
        Case::new(
            "SLtoVLMappingTableRecord",
            answer(&SlToVlRecord {
                lid: Lid::new(9),
                input_port: 3,
                output_port: 4,
                sl_to_vl: [Vl::from_bits_truncate(7); 16],
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.inputportnum", 3_u8)
        .is("infiniband.sa.outputportnum", 4_u8)
        .are("infiniband.sltovlmappingtable.sltovlhighbits", [7; 8])
        .are("infiniband.sltovlmappingtable.sltovllowbits", [7; 8]),
        Case::new(
            "VLArbitrationTableRecord",
            answer(&VlArbRecord {
                lid: Lid::new(9),
                output_port: 3,
                block: 4,
                weights: [VlWeight {
                    vl: Vl::from_bits_truncate(2),
                    weight: 100,
                }; 32],
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.outputportnum", 3_u8)
        .is("infiniband.sa.blocknum_eightbit", 4_u8)
        .are("infiniband.vlarbitrationtable.vl", [2; 32])
        .are("infiniband.vlarbitrationtable.weight", [100; 32]),
        Case::new(
            "GuidInfoRecord",
            answer(&GuidInfoRecord {
                lid: Lid::new(9),
                block: 2,
                guids: [Guid::new(0x1122_3344_5566_7788); 8],
            }),
        )
        .is("infiniband.sa.lid", 9_u8)
        .is("infiniband.sa.blocknum_eightbit", 2_u8)
        .are("infiniband.switchinfo.guid", [0x1122_3344_5566_7788; 8]),
    ]
}
