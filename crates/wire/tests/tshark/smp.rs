//! Subnet management: both kinds of SMP, and every attribute.

use softib_wire::addr::{Gid, Guid, Lid, MKey, PKey, QKey, Qpn, Sl, Vl};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::notice::details::{
    BadKeyDetails, BadMKeyDetails, Details, GidDetails, LinkStateDetails, LocalChanges,
    LocalChangesDetails, PortDetails, SystemImageGuidDetails,
};
use softib_wire::mad::notice::{Notice, ProducerType};
use softib_wire::mad::port_info::{PortCapabilities, PortCapabilities2, PortInfo};
use softib_wire::mad::sm_info::{SmInfo, SmState};
use softib_wire::mad::smp::{DirectedSmp, HopPath, LidSmp};
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock, VlWeight,
    sl_to_vl_modifier,
};
use softib_wire::mad::{Attribute, method};
use softib_wire::units::{Mtu, NodeType, PhysState, PortState};

use crate::oracle::{Case, octet};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        directed(),
        port_info(),
        switch_info(),
        description(),
        sm_info(),
    ];
    cases.extend(tables());
    cases.extend(traps());
    cases
}

pub(crate) const NODE: NodeInfo = NodeInfo {
    base_version: 1,
    class_version: 1,
    node_type: NodeType::Switch,
    port_count: 36,
    system_image_guid: Guid::new(0x0002_c903_0000_0001),
    node_guid: Guid::new(0x0002_c903_0000_0002),
    port_guid: Guid::new(0x0002_c903_0000_0003),
    partition_cap: 64,
    device_id: 0x1234,
    revision: 0x5678_9abc,
    local_port: 17,
    vendor_id: 0x00_02c9,
};

pub(crate) fn node_fields(case: Case) -> Case {
    case.is("infiniband.nodeinfo.baseversion", 1_u8)
        .is("infiniband.nodeinfo.classversion", 1_u8)
        .is("infiniband.nodeinfo.nodetype", 2_u8)
        .is("infiniband.nodeinfo.numports", 36_u8)
        .is(
            "infiniband.nodeinfo.systemimageguid",
            0x0002_c903_0000_0001_u64,
        )
        .is("infiniband.nodeinfo.nodeguid", 0x0002_c903_0000_0002_u64)
        .is("infiniband.nodeinfo.portguid", 0x0002_c903_0000_0003_u64)
        .is("infiniband.nodeinfo.partitioncap", 64_u8)
        .is("infiniband.nodeinfo.deviceid", 0x1234_u16)
        .is("infiniband.nodeinfo.revision", 0x5678_9abc_u32)
        .is("infiniband.nodeinfo.localportnum", 17_u8)
        .is("infiniband.nodeinfo.vendorid", 0x02c9_u16)
}

pub(crate) const PORT: PortInfo = PortInfo {
    m_key: MKey::new(0x0102_0304_0506_0708),
    gid_prefix: Gid::DEFAULT_PREFIX,
    lid: Lid::new(0x1234),
    master_sm_lid: Lid::new(0x0077),
    capability_mask: PortCapabilities::IS_SM
        .union(PortCapabilities::TRAP)
        .union(PortCapabilities::SYSTEM_IMAGE_GUID)
        .union(PortCapabilities::CLIENT_REREGISTRATION),
    diag_code: 0x0abc,
    m_key_lease_period: 15,
    local_port: 3,
    link_width_enabled: 1,
    link_width_supported: 3,
    link_width_active: 2,
    link_speed_supported: 7,
    port_state: PortState::Armed,
    phys_state: PhysState::LinkUp,
    link_down_default: 2,
    m_key_protect: 2,
    lmc: 5,
    link_speed_active: 4,
    link_speed_enabled: 6,
    neighbor_mtu: Some(Mtu::B2048),
    master_sm_sl: Sl::from_bits_truncate(9),
    vl_cap: 4,
    init_type: 1,
    vl_high_limit: 0x21,
    vl_arb_high_cap: 0x22,
    vl_arb_low_cap: 0x23,
    init_type_reply: 2,
    mtu_cap: Some(Mtu::B4096),
    vl_stall_count: 7,
    hoq_life: 17,
    operational_vls: 3,
    partition_enforcement_inbound: true,
    partition_enforcement_outbound: false,
    filter_raw_inbound: true,
    filter_raw_outbound: false,
    m_key_violations: 0x1111,
    p_key_violations: 0x2222,
    q_key_violations: 0x3333,
    guid_cap: 8,
    client_reregister: true,
    multicast_pkey_trap_suppression: 1,
    subnet_timeout: 18,
    resp_time_value: 16,
    local_phy_errors: 8,
    overrun_errors: 9,
    max_credit_hint: 0x4444,
    link_round_trip_latency: 0x12_3456,
    capability_mask2: PortCapabilities2::LINK_WIDTH_2X,
    link_speed_ext_active: 2,
    link_speed_ext_supported: 3,
    link_speed_ext_enabled: 7,
};

pub(crate) fn port_fields(case: Case) -> Case {
    case.is("infiniband.portinfo.m_key", 0x0102_0304_0506_0708_u64)
        .is("infiniband.portinfo.guid", Gid::DEFAULT_PREFIX)
        .is("infiniband.portinfo.lid", 0x1234_u16)
        .is("infiniband.portinfo.mastersmlid", 0x77_u8)
        .is(
            "infiniband.portinfo.capabilitymask",
            PORT.capability_mask.bits(),
        )
        .is("infiniband.portinfo.capabilitymask.issm", 1_u8)
        .is("infiniband.portinfo.capabilitymask.noticesupported", 0_u8)
        .is("infiniband.portinfo.capabilitymask.trapsupported", 1_u8)
        .is(
            "infiniband.portinfo.capabilitymask.systemimageguidsupported",
            1_u8,
        )
        .is(
            "infiniband.portinfo.capabilitymask.clientregistrationsupported",
            1_u8,
        )
        .is("infiniband.portinfo.diagcode", 0x0abc_u16)
        .is("infiniband.portinfo.m_keyleaseperiod", 15_u8)
        .is("infiniband.portinfo.localportnum", 3_u8)
        .is("infiniband.portinfo.linkwidthenabled", 1_u8)
        .is("infiniband.portinfo.linkwidthsupported", 3_u8)
        .is("infiniband.portinfo.linkwidthactive", 2_u8)
        .is("infiniband.portinfo.linkspeedsupported", 7_u8)
        .is("infiniband.portinfo.portstate", 3_u8)
        .is("infiniband.portinfo.portphysicalstate", 5_u8)
        .is("infiniband.portinfo.linkdowndefaultstate", 2_u8)
        .is("infiniband.portinfo.m_keyprotectbits", 2_u8)
        .is("infiniband.portinfo.lmc", 5_u8)
        .is("infiniband.portinfo.linkspeedactive", 4_u8)
        .is("infiniband.portinfo.linkspeedenabled", 6_u8)
        .is("infiniband.portinfo.neighbormtu", 4_u8)
        .is("infiniband.portinfo.mastersmsl", 9_u8)
        .is("infiniband.portinfo.vlcap", 4_u8)
        .is("infiniband.portinfo.inittype", 1_u8)
        .is("infiniband.portinfo.vlhighlimit", 0x21_u8)
        .is("infiniband.portinfo.vlarbitrationhighcap", 0x22_u8)
        .is("infiniband.portinfo.vlarbitrationlowcap", 0x23_u8)
        .is("infiniband.portinfo.inittypereply", 2_u8)
        .is("infiniband.portinfo.mtucap", 5_u8)
        .is("infiniband.portinfo.vlstallcount", 7_u8)
        .is("infiniband.portinfo.hoqlife", 17_u8)
        .is("infiniband.portinfo.operationalvls", 3_u8)
        .is("infiniband.portinfo.partitionenforcementinbound", 1_u8)
        .is("infiniband.portinfo.partitionenforcementoutbound", 0_u8)
        .is("infiniband.portinfo.filterrawinbound", 1_u8)
        .is("infiniband.portinfo.filterrawoutbound", 0_u8)
        .is("infiniband.portinfo.m_keyviolations", 0x1111_u16)
        .is("infiniband.portinfo.p_keyviolations", 0x2222_u16)
        .is("infiniband.portinfo.q_keyviolations", 0x3333_u16)
        .is("infiniband.portinfo.guidcap", 8_u8)
        .is("infiniband.portinfo.clientreregister", 1_u8)
        .is("infiniband.portinfo.subnettimeout", 18_u8)
        .is("infiniband.portinfo.resptimevalue", 16_u8)
        .is("infiniband.portinfo.localphyerrors", 8_u8)
        .is("infiniband.portinfo.overrunerrors", 9_u8)
        .is("infiniband.portinfo.maxcredithint", 0x4444_u16)
        .is("infiniband.portinfo.linkroundtriplatency", 0x12_3456_u32)
}

fn directed() -> Case {
    let path = HopPath::new(&[2, 3]).expect("a short path");
    let request = DirectedSmp::request(
        method::GET,
        NodeInfo::ID,
        0x0102_0304,
        0x1122_3344_5566_7788,
        MKey::new(0xAABB),
        &path,
    );
    let mut answer = request.response_to(MadStatus::BAD_FIELD).with(&NODE);
    answer.hop_pointer = 1;
    answer.return_path[1] = 7;
    let case = Case::new("directed-route SMP", answer.to_bytes())
        .is("infiniband.mad.baseversion", 1_u8)
        .is("infiniband.mad.mgmtclass", 0x81_u8)
        .is("infiniband.mad.classversion", 1_u8)
        .is("infiniband.mad.method", 0x81_u8)
        // The dissector looks for the direction elsewhere, and shows it as part of the status.
        .is("infiniband.smpdirected.smpstatus", 0x801C_u16)
        .is("infiniband.smpdirected.hoppointer", 1_u8)
        .is("infiniband.smpdirected.hopcount", 2_u8)
        .is("infiniband.mad.transactionid", 0x1122_3344_5566_7788_u64)
        .is("infiniband.mad.attributeid", 0x11_u8)
        .is("infiniband.mad.attributemodifier", 0x0102_0304_u32)
        .is("infiniband.smplid.mkey", 0xAABB_u16)
        .is("infiniband.smpdirected.drslid", 0xFFFF_u16)
        .is("infiniband.smpdirected.drdlid", 0xFFFF_u16);
    node_fields(case)
}

fn lid_routed<A: Attribute>(modifier: u32, attribute: &A) -> [u8; 256] {
    LidSmp::request(method::GET, A::ID, modifier, 0x42, MKey::NONE)
        .response_to(MadStatus::OK)
        .with(attribute)
        .to_bytes()
}

fn port_info() -> Case {
    port_fields(
        Case::new("PortInfo", lid_routed(3, &PORT))
            .is("infiniband.mad.mgmtclass", 1_u8)
            .is("infiniband.mad.attributeid", 0x15_u8),
    )
}

fn switch_info() -> Case {
    let info = SwitchInfo {
        linear_fdb_cap: 0xBFFF,
        random_fdb_cap: 0x0102,
        multicast_fdb_cap: 0x0400,
        linear_fdb_top: Lid::new(0x1234),
        default_port: 1,
        default_multicast_primary_port: 2,
        default_multicast_not_primary_port: 3,
        life_time: 18,
        port_state_change: true,
        optimized_sl_to_vl: 2,
        lids_per_port: 0x0304,
        partition_enforcement_cap: 64,
        inbound_enforcement_cap: true,
        outbound_enforcement_cap: false,
        filter_raw_inbound_cap: true,
        filter_raw_outbound_cap: false,
        enhanced_port_0: true,
        multicast_fdb_top: Lid::new(0xC3FF),
    };
    Case::new("SwitchInfo", lid_routed(0, &info))
        .is("infiniband.switchinfo.linearfdbcap", 0xBFFF_u16)
        .is("infiniband.switchinfo.randomfdbcap", 0x0102_u16)
        .is("infiniband.switchinfo.multicastfdbcap", 0x0400_u16)
        .is("infiniband.switchinfo.linearfdbtop", 0x1234_u16)
        .is("infiniband.switchinfo.defaultport", 1_u8)
        .is("infiniband.switchinfo.defaultmulticastprimaryport", 2_u8)
        .is("infiniband.switchinfo.defaultmulticastnotprimaryport", 3_u8)
        .is("infiniband.switchinfo.lifetimevalue", 18_u8)
        .is("infiniband.switchinfo.portstatechange", 1_u8)
        .is(
            "infiniband.switchinfo.optimizedsltovlmappingprogramming",
            2_u8,
        )
        .is("infiniband.switchinfo.lidsperport", 0x0304_u16)
        .is("infiniband.switchinfo.partitionenforcementcap", 64_u8)
        .is("infiniband.switchinfo.inboundenforcementcap", 1_u8)
        .is("infiniband.switchinfo.outboundenforcementcap", 0_u8)
        .is("infiniband.switchinfo.filterrawinboundcap", 1_u8)
        .is("infiniband.switchinfo.filterrawoutboundcap", 0_u8)
        .is("infiniband.switchinfo.enhancedportzero", 1_u8)
}

fn description() -> Case {
    Case::new(
        "NodeDescription",
        lid_routed(0, &NodeDescription::from("h1 ib0")),
    )
    .text("infiniband.nodedescription.nodestring", "h1 ib0")
}

fn sm_info() -> Case {
    let info = SmInfo {
        guid: Guid::new(0x0002_c902_0020_b4dd),
        sm_key: 0x77,
        activity_count: 0x923a,
        priority: 14,
        state: SmState::Master,
    };
    Case::new("SMInfo", lid_routed(0, &info))
        .is("infiniband.sminfo.guid", 0x0002_c902_0020_b4dd_u64)
        .is("infiniband.sminfo.sm_key", 0x77_u8)
        .is("infiniband.sminfo.actcount", 0x923a_u16)
        .is("infiniband.sminfo.priority", 14_u8)
        .is("infiniband.sminfo.smstate", 3_u8)
}

fn tables() -> Vec<Case> {
    let guids: GuidBlock = core::array::from_fn(|i| Guid::new(0x0002_c902_0000_0000 + i as u64));
    let pkeys: PKeyBlock = core::array::from_fn(|i| PKey::new(0x8000 | u16::from(octet(i))));
    let lanes: SlToVl = core::array::from_fn(|sl| Vl::from_bits_truncate(15 - octet(sl)));
    let weights: VlArbBlock = core::array::from_fn(|i| VlWeight {
        vl: Vl::from_bits_truncate(octet(i)),
        weight: 100 + octet(i),
    });
    let ports: LinearBlock = core::array::from_fn(octet);
    let masks: MulticastBlock = core::array::from_fn(|i| 1 << (i % 16));
    vec![
        Case::new("GUIDInfo", lid_routed(0, &guids)).are(
            "infiniband.switchinfo.guid",
            guids.iter().map(|guid| guid.bits()),
        ),
        Case::new("P_KeyTable", lid_routed(0, &pkeys))
            .are("infiniband.p_keytable.p_keybase", 0..32),
        Case::new(
            "SLtoVLMappingTable",
            lid_routed(sl_to_vl_modifier(1, 2), &lanes),
        )
        .are(
            "infiniband.sltovlmappingtable.sltovlhighbits",
            (0..8).map(|i| 15 - 2 * i),
        )
        .are(
            "infiniband.sltovlmappingtable.sltovllowbits",
            (0..8).map(|i| 14 - 2 * i),
        ),
        Case::new("VLArbitrationTable", lid_routed(0x0001_0001, &weights))
            .are("infiniband.vlarbitrationtable.vl", (0..32).map(|i| i % 16))
            .are("infiniband.vlarbitrationtable.weight", 100..132),
        Case::new("LinearForwardingTable", lid_routed(0, &ports))
            .are("infiniband.linearforwardingtable.port", 0..64),
        // The dissector reads only half of the block.
        Case::new("MulticastForwardingTable", lid_routed(0, &masks)).are(
            "infiniband.multicastforwardingtable.portmask",
            masks[..16].iter().map(|&mask| u64::from(mask)),
        ),
    ]
}

pub(crate) fn gid(last: u8) -> Gid {
    Gid::from_prefix_guid(
        Gid::DEFAULT_PREFIX,
        Guid::new(0x0002_c902_0000_0000 | u64::from(last)),
    )
}

/// A trap, and the fields that all have.
fn trap(name: &'static str, number: u16, notice_type: u8, details: Details) -> Case {
    let mut notice = Notice::new(&details, ProducerType::SWITCH, Lid::new(0x55));
    notice.toggle = true;
    notice.count = 0x1234;
    assert_eq!(notice.details(), Ok(details));
    let mad = LidSmp::request(method::TRAP, Notice::ID, 0, 0x42, MKey::NONE).with(&notice);
    Case::new(name, mad.to_bytes())
        .is("infiniband.mad.method", 5_u8)
        .is("infiniband.notice.isgeneric", 1_u8)
        .is("infiniband.notice.type", notice_type)
        .is("infiniband.notice.producertypevendorid", 2_u8)
        .is("infiniband.notice.trapnumberdeviceid", number)
        .is("infiniband.notice.issuerlid", 0x55_u8)
        .is("infiniband.notice.noticetoggle", 1_u8)
        .is("infiniband.notice.noticecount", 0x1234_u16)
}

/// All but trap 259, which the dissector takes for malformed, whatever is in it.
fn traps() -> Vec<Case> {
    let lid = Lid::new(0x66);
    let port = PortDetails { lid, port: 9 };
    let bad_key = BadKeyDetails {
        lid1: Lid::new(0x11),
        lid2: Lid::new(0x22),
        key: QKey::new(0x1234_5678),
        sl: Sl::from_bits_truncate(5),
        qp1: Qpn::from_bits_truncate(0x40_0404),
        qp2: Qpn::from_bits_truncate(0x40_0405),
        gid1: gid(1),
        gid2: gid(2),
    };
    let bad_key_fields = |case: Case| {
        case.is("infiniband.trap.lidaddr1", 0x11_u8)
            .is("infiniband.trap.lidaddr2", 0x22_u8)
            .is("infiniband.trap.sl", 5_u8)
            .is("infiniband.trap.qp1", 0x40_0404_u32)
            .is("infiniband.trap.qp2", 0x40_0405_u32)
            .gid("infiniband.trap.gidaddr1", gid(1))
            .gid("infiniband.trap.gidaddr2", gid(2))
    };
    let mut return_path = [0; 30];
    return_path[1] = 4;
    vec![
        trap(
            "trap 64",
            64,
            3,
            Details::GidInService(GidDetails { gid: gid(3) }),
        )
        .gid("infiniband.trap.gidaddr", gid(3)),
        trap(
            "trap 65",
            65,
            3,
            Details::GidOutOfService(GidDetails { gid: gid(3) }),
        )
        .gid("infiniband.trap.gidaddr", gid(3)),
        trap(
            "trap 66",
            66,
            3,
            Details::GroupCreated(GidDetails { gid: gid(3) }),
        )
        .gid("infiniband.trap.gidaddr", gid(3)),
        trap(
            "trap 67",
            67,
            3,
            Details::GroupDeleted(GidDetails { gid: gid(3) }),
        )
        .gid("infiniband.trap.gidaddr", gid(3)),
        trap(
            "trap 128",
            128,
            1,
            Details::LinkStateChange(LinkStateDetails { lid }),
        )
        .is("infiniband.trap.lidaddr", 0x66_u8),
        trap("trap 129", 129, 1, Details::LinkIntegrity(port))
            .is("infiniband.trap.lidaddr", 0x66_u8)
            .is("infiniband.trap.portno", 9_u8),
        trap("trap 130", 130, 1, Details::BufferOverrun(port))
            .is("infiniband.trap.lidaddr", 0x66_u8)
            .is("infiniband.trap.portno", 9_u8),
        trap("trap 131", 131, 1, Details::FlowControlWatchdog(port))
            .is("infiniband.trap.lidaddr", 0x66_u8)
            .is("infiniband.trap.portno", 9_u8),
        trap(
            "trap 144",
            144,
            4,
            Details::LocalChanges(LocalChangesDetails {
                lid,
                other_local_changes: true,
                capability_mask: PortCapabilities::IS_SM,
                changes: LocalChanges::NODE_DESCRIPTION | LocalChanges::LINK_SPEED_ENABLED,
                capability_mask2: PortCapabilities2::LINK_WIDTH_2X,
            }),
        )
        .is("infiniband.trap.lidaddr", 0x66_u8)
        .is("infiniband.trap.otherlocalchanges", 1_u8)
        .is("infiniband.trap.capabilitymask", 2_u8)
        .is("infiniband.trap.nodedescriptionchange", 1_u8)
        .is("infiniband.trap.linkwidthenabledchange", 0_u8)
        .is("infiniband.trap.linkspeecenabledchange", 1_u8),
        trap(
            "trap 145",
            145,
            4,
            Details::SystemImageGuidChange(SystemImageGuidDetails {
                lid,
                system_image_guid: Guid::new(0x0002_c902_1122_3344),
            }),
        )
        .is("infiniband.trap.lidaddr", 0x66_u8)
        .is("infiniband.trap.systemimageguid", 0x0002_c902_1122_3344_u64),
        trap(
            "trap 256",
            256,
            2,
            Details::BadMKey(BadMKeyDetails {
                lid,
                dr_slid: Lid::PERMISSIVE,
                method: method::SET,
                attribute_id: 0x15,
                attribute_modifier: 0x0203_0405,
                m_key: MKey::new(0x1112_1314_1516_1718),
                directed: true,
                path_truncated: false,
                hop_count: 2,
                return_path,
            }),
        )
        .is("infiniband.trap.lidaddr", 0x66_u8)
        .is("infiniband.trap.drslid", 0xFFFF_u16)
        .is("infiniband.trap.method", 2_u8)
        .is("infiniband.trap.attributeid", 0x15_u8)
        .is("infiniband.trap.attributemodifier", 0x0203_0405_u32)
        .is("infiniband.trap.mkey", 0x1112_1314_1516_1718_u64)
        .is("infiniband.trap.drnotice", 1_u8)
        .is("infiniband.trap.drpathtruncated", 0_u8)
        .is("infiniband.trap.drhopcount", 2_u8),
        bad_key_fields(
            trap("trap 257", 257, 2, Details::BadPKey(bad_key))
                .is("infiniband.trap.key", 0x1234_5678_u32),
        ),
        bad_key_fields(
            trap("trap 258", 258, 2, Details::BadQKey(bad_key))
                .is("infiniband.trap.key", 0x1234_5678_u32),
        ),
    ]
}
