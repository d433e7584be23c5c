//! Performance management.

use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Qpn, Sl};
use softib_wire::mad::class_port_info::{ClassPortInfo, PmaCapabilities};
use softib_wire::mad::method;
use softib_wire::mad::perf::{
    CounterSelect, CounterSelect2, ExtendedCounterSelect, PerfMad, PortCounters,
    PortCountersExtended,
};

use crate::oracle::Case;
use crate::smp::gid;

pub(crate) const CLASS: ClassPortInfo = ClassPortInfo {
    base_version: 1,
    class_version: 1,
    capability_mask: PmaCapabilities::ALL_PORT_SELECT
        .union(PmaCapabilities::EXTENDED_WIDTH)
        .bits(),
    capability_mask2: 0x123_4567,
    resp_time_value: 18,
    redirect_gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c902_0000_0001)),
    redirect_traffic_class: 0x11,
    redirect_sl: Sl::from_bits_truncate(3),
    redirect_flow_label: 0x1_2345,
    redirect_lid: Lid::new(0x21),
    redirect_pkey: PKey::new(0x8001),
    redirect_qpn: Qpn::from_bits_truncate(0x40_0001),
    redirect_qkey: QKey::GSI,
    trap_gid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x0002_c902_0000_0002)),
    trap_traffic_class: 0x12,
    trap_sl: Sl::from_bits_truncate(4),
    trap_flow_label: 0x5_4321,
    trap_lid: Lid::new(0x22),
    trap_pkey: PKey::new(0x8002),
    trap_hop_limit: 0x40,
    trap_qpn: Qpn::from_bits_truncate(0x40_0002),
    trap_qkey: QKey::new(0x1234_5678),
};

pub(crate) fn class_fields(case: Case) -> Case {
    case.is("infiniband.classportinfo.baseversion", 1_u8)
        .is("infiniband.classportinfo.classversion", 1_u8)
        .is("infiniband.classportinfo.capabilitymask", 0x0300_u16)
        .is("infiniband.classportinfo.capabilitymask2", 0x123_4567_u32)
        .is("infiniband.classportinfo.resptimevalue", 18_u8)
        .gid("infiniband.classportinfo.redirectgid", gid(1))
        .is("infiniband.classportinfo.redirecttc", 0x11_u8)
        .is("infiniband.classportinfo.redirectsl", 3_u8)
        .is("infiniband.classportinfo.redirectfl", 0x1_2345_u32)
        .is("infiniband.classportinfo.redirectlid", 0x21_u8)
        .is("infiniband.classportinfo.redirectpkey", 0x8001_u16)
        .is("infiniband.classportinfo.redirectqp", 0x40_0001_u32)
        .is("infiniband.classportinfo.redirectqkey", 0x8001_0000_u32)
        .gid("infiniband.classportinfo.trapgid", gid(2))
        .is("infiniband.classportinfo.traptc", 0x12_u8)
        .is("infiniband.classportinfo.trapsl", 4_u8)
        .is("infiniband.classportinfo.trapfl", 0x5_4321_u32)
        .is("infiniband.classportinfo.traplid", 0x22_u8)
        .is("infiniband.classportinfo.trappkey", 0x8002_u16)
        .is("infiniband.classportinfo.trapqp", 0x40_0002_u32)
        .is("infiniband.classportinfo.trapqkey", 0x1234_5678_u32)
}

pub(crate) fn cases() -> Vec<Case> {
    let counters = PortCounters {
        port_select: 7,
        counter_select: CounterSelect::RECEIVE_PACKETS | CounterSelect::SYMBOL_ERRORS,
        symbol_errors: 0x0102,
        link_error_recoveries: 3,
        link_downed: 4,
        receive_errors: 0x0506,
        receive_remote_physical_errors: 0x0708,
        receive_switch_relay_errors: 0x090a,
        transmit_discards: 0x0b0c,
        transmit_constraint_errors: 0x0d,
        receive_constraint_errors: 0x0e,
        counter_select2: CounterSelect2::TRANSMIT_WAIT,
        local_link_integrity_errors: 5,
        excessive_buffer_overruns: 6,
        qp1_dropped: 0x0f10,
        vl15_dropped: 0x1112,
        transmit_data: 0x1314_1516,
        receive_data: 0x1718_191a,
        transmit_packets: 0x1b1c_1d1e,
        receive_packets: 0x1f20_2122,
        transmit_wait: 0x2324_2526,
    };
    let extended = PortCountersExtended {
        port_select: 8,
        counter_select: ExtendedCounterSelect::TRANSMIT_DATA,
        transmit_data: 0x0101_0101_0000_0001,
        receive_data: 0x0101_0101_0000_0002,
        transmit_packets: 0x0101_0101_0000_0003,
        receive_packets: 0x0101_0101_0000_0004,
        unicast_transmit_packets: 0x0101_0101_0000_0005,
        unicast_receive_packets: 0x0101_0101_0000_0006,
        multicast_transmit_packets: 0x0101_0101_0000_0007,
        multicast_receive_packets: 0x0101_0101_0000_0008,
    };
    let request = PerfMad::request(method::GET, 0x42, &PortCounters::default());
    let extended_request = PerfMad::request(method::GET, 0x42, &PortCountersExtended::default());
    let class_request = PerfMad::request(method::GET, 0x42, &ClassPortInfo::default());
    vec![
        Case::new("PortCounters", request.response(&counters).to_bytes())
            .is("infiniband.mad.mgmtclass", 4_u8)
            .is("infiniband.mad.method", 0x81_u8)
            .is("infiniband.portcounters.portselect", 7_u8)
            .is("infiniband.portcounters.counterselect", 0x8001_u16)
            .is("infiniband.portcounters.symbolerrorcounter", 0x0102_u16)
            .is("infiniband.portcounters.linkerrorrecoverycounter", 3_u8)
            .is("infiniband.portcounters.linkdownedcounter", 4_u8)
            .is("infiniband.portcounters.portrcverrors", 0x0506_u16)
            .is(
                "infiniband.portcounters.portrcvremotephysicalerrors",
                0x0708_u16,
            )
            .is(
                "infiniband.portcounters.portrcvswitchrelayerrors",
                0x090a_u16,
            )
            .is("infiniband.portcounters.portxmitdiscards", 0x0b0c_u16)
            .is("infiniband.portcounters.portxmitconstrainterrors", 0x0d_u8)
            .is("infiniband.portcounters.portrcvconstrainterrors", 0x0e_u8)
            .is("infiniband.portcounters.locallinkintegrityerrors", 5_u8)
            .is("infiniband.portcounters.excessivebufferoverrunerrors", 6_u8)
            .is("infiniband.portcounters.vl15dropped", 0x1112_u16)
            .is("infiniband.portcounters.portxmitdata", 0x1314_1516_u32)
            .is("infiniband.portcounters.portrcvdata", 0x1718_191a_u32)
            .is("infiniband.portcounters.portxmitpkts", 0x1b1c_1d1e_u32)
            .is("infiniband.portcounters.portrcvpkts", 0x1f20_2122_u32),
        Case::new(
            "PortCountersExtended",
            extended_request.response(&extended).to_bytes(),
        )
        .is("infiniband.portcounters_ext.portselect", 8_u8)
        .is("infiniband.portcounters_ext.counterselect", 1_u8)
        .is(
            "infiniband.portcounters_ext.portxmitdata",
            0x0101_0101_0000_0001_u64,
        )
        .is(
            "infiniband.portcounters_ext.portrcvdata",
            0x0101_0101_0000_0002_u64,
        )
        .is(
            "infiniband.portcounters_ext.portxmitpkts",
            0x0101_0101_0000_0003_u64,
        )
        .is(
            "infiniband.portcounters_ext.portrcvpkts",
            0x0101_0101_0000_0004_u64,
        )
        .is(
            "infiniband.portcounters_ext.portunicastxmitpkts",
            0x0101_0101_0000_0005_u64,
        )
        .is(
            "infiniband.portcounters_ext.portunicastrcvpkts",
            0x0101_0101_0000_0006_u64,
        )
        .is(
            "infiniband.portcounters_ext.portmulticastxmitpkts",
            0x0101_0101_0000_0007_u64,
        )
        .is(
            "infiniband.portcounters_ext.portmulticastrcvpkts",
            0x0101_0101_0000_0008_u64,
        ),
        class_fields(Case::new(
            "performance ClassPortInfo",
            class_request.response(&CLASS).to_bytes(),
        )),
    ]
}
