//! Communication management. The dissector knows REQ, REP, RTU, REJ, DREQ and DREP; of a path in a
//! REQ it reads flow label and rate from the wrong octets, so they are not asked for.

use softib_wire::addr::{Guid, Lid, PKey, Psn, QKey, Qpn, Sl};
use softib_wire::mad::cm::{
    Answered, CmMad, CmMessage, Drep, Dreq, PathInfo, Rej, RejectReason, Rep, Req, Rtu,
    TransportService,
};
use softib_wire::units::{Mtu, Rate};

use crate::oracle::{Case, hex, octet};
use crate::smp::gid;

fn mad(message: impl Into<CmMessage>) -> [u8; 256] {
    CmMad::new(0x0102_0304_0506_0708, &message.into()).to_bytes()
}

fn path(first: u8, rate: Rate) -> PathInfo {
    PathInfo {
        local_lid: Lid::new(u16::from(first)),
        remote_lid: Lid::new(u16::from(first + 1)),
        local_gid: gid(first),
        remote_gid: gid(first + 1),
        flow_label: 0x1_2340 + u32::from(first),
        rate: Some(rate),
        traffic_class: 0x10 + first,
        hop_limit: 0x20 + first,
        sl: Sl::from_bits_truncate(first),
        subnet_local: true,
        ack_timeout: 16 + first,
    }
}

pub(crate) fn cases() -> Vec<Case> {
    vec![req(), rep(), rtu(), rej(), dreq(), drep()]
}

fn req() -> Case {
    let req = Req {
        local_comm_id: 0xe948_8627,
        service_id: 0x1000_0000_0000_0404,
        local_ca_guid: Guid::new(0x0002_c902_0024_f634),
        local_qkey: QKey::new(0x0b1b),
        local_qpn: Qpn::from_bits_truncate(0x87_0408),
        responder_resources: 4,
        local_eecn: 0x01_0203,
        initiator_depth: 5,
        remote_eecn: 0x04_0506,
        remote_cm_timeout: 20,
        transport: TransportService::Uc,
        flow_control: true,
        starting_psn: Psn::from_bits_truncate(0x11_2233),
        local_cm_timeout: 21,
        retry_count: 6,
        pkey: PKey::DEFAULT_FULL,
        path_mtu: Some(Mtu::B2048),
        rdc_exists: true,
        rnr_retry_count: 5,
        max_cm_retries: 15,
        srq: true,
        extended_transport: 1,
        primary: path(1, Rate::Gbps10),
        alternate: path(3, Rate::Gbps1200),
        private_data: core::array::from_fn(octet),
    };
    Case::new("REQ", mad(req))
        .is("infiniband.mad.mgmtclass", 7_u8)
        .is("infiniband.mad.classversion", 2_u8)
        .is("infiniband.mad.method", 3_u8)
        .is("infiniband.mad.attributeid", 0x10_u8)
        .is("infiniband.cm.req", 0xe948_8627_u32)
        .is("infiniband.cm.req.serviceid", 0x1000_0000_0000_0404_u64)
        .is("infiniband.cm.req.localcaguid", 0x0002_c902_0024_f634_u64)
        .is("infiniband.cm.req.localqkey", 0x0b1b_u16)
        .is("infiniband.cm.req.localqpn", 0x87_0408_u32)
        .is("infiniband.cm.req.responderres", 4_u8)
        .is("infiniband.cm.req.localeecn", 0x01_0203_u32)
        .is("infiniband.cm.req.initdepth", 5_u8)
        .is("infiniband.cm.req.remoteeecn", 0x04_0506_u32)
        .is("infiniband.cm.req.remoteresptout", 20_u8)
        .is("infiniband.cm.req.transpsvctype", 1_u8)
        .is("infiniband.cm.req.e2eflowctrl", 1_u8)
        .is("infiniband.cm.req.startpsn", 0x11_2233_u32)
        .is("infiniband.cm.req.localresptout", 21_u8)
        .is("infiniband.cm.req.retrcount", 6_u8)
        .is("infiniband.cm.req.pkey", 0xFFFF_u16)
        .is("infiniband.cm.req.pppmtu", 4_u8)
        .is("infiniband.cm.req.rdcexist", 1_u8)
        .is("infiniband.cm.req.rnrretrcount", 5_u8)
        .is("infiniband.cm.req.maxcmretr", 15_u8)
        .is("infiniband.cm.req.srq", 1_u8)
        .is("infiniband.cm.req.ext_transport", 1_u8)
        .is("infiniband.cm.req.prim_locallid", 1_u8)
        .is("infiniband.cm.req.prim_remotelid", 2_u8)
        .gid("infiniband.cm.req.prim_localgid", gid(1))
        .gid("infiniband.cm.req.prim_remotegid", gid(2))
        .is("infiniband.cm.req.prim_tfcclass", 0x11_u8)
        .is("infiniband.cm.req.prim_hoplim", 0x21_u8)
        .is("infiniband.cm.req.prim_sl", 1_u8)
        .is("infiniband.cm.req.prim_subnetlocal", 1_u8)
        .is("infiniband.cm.req.prim_localacktout", 17_u8)
        .is("infiniband.cm.req.alt_locallid", 3_u8)
        .is("infiniband.cm.req.alt_remotelid", 4_u8)
        .text("infiniband.cm.req.alt_localgid", &hex(&gid(3).octets()))
        .text("infiniband.cm.req.alt_remotegid", &hex(&gid(4).octets()))
        .is("infiniband.cm.req.alt_tfcclass", 0x13_u8)
        .is("infiniband.cm.req.alt_hoplim", 0x23_u8)
        .is("infiniband.cm.req.alt_sl", 3_u8)
        .is("infiniband.cm.req.alt_subnetlocal", 1_u8)
        .is("infiniband.cm.req.alt_localacktout", 19_u8)
        .text("infiniband.cm.req.private", &hex(&req.private_data))
}

fn rep() -> Case {
    let rep = Rep {
        local_comm_id: 0xf902_4539,
        remote_comm_id: 0xe948_8627,
        local_qkey: QKey::new(0x0b1b),
        local_qpn: Qpn::from_bits_truncate(0xfc_0407),
        local_eecn: 0x01_0203,
        starting_psn: Psn::from_bits_truncate(0xd4_0a55),
        responder_resources: 4,
        initiator_depth: 5,
        target_ack_delay: 15,
        failover_accepted: 2,
        flow_control: true,
        rnr_retry_count: 6,
        srq: true,
        local_ca_guid: Guid::new(0x0002_c902_0020_b4dc),
        private_data: core::array::from_fn(octet),
    };
    Case::new("REP", mad(rep))
        .is("infiniband.mad.attributeid", 0x13_u8)
        .is("infiniband.cm.rep", 0xf902_4539_u32)
        .is("infiniband.cm.rep.remotecommid", 0xe948_8627_u32)
        .is("infiniband.cm.rep.localqkey", 0x0b1b_u16)
        .is("infiniband.cm.rep.localqpn", 0xfc_0407_u32)
        .is("infiniband.cm.rep.localeecn", 0x01_0203_u32)
        .is("infiniband.cm.rep.startpsn", 0xd4_0a55_u32)
        .is("infiniband.cm.rep.respres", 4_u8)
        .is("infiniband.cm.rep.initdepth", 5_u8)
        .is("infiniband.cm.rep.tgtackdelay", 15_u8)
        .is("infiniband.cm.rep.failoveracc", 2_u8)
        .is("infiniband.cm.rep.e2eflowctrl", 1_u8)
        .is("infiniband.cm.rep.rnrretrcount", 6_u8)
        .is("infiniband.cm.rep.srq", 1_u8)
        .is("infiniband.cm.rep.localcaguid", 0x0002_c902_0020_b4dc_u64)
        .text("infiniband.cm.rep.private", &hex(&rep.private_data))
}

fn rtu() -> Case {
    let rtu = Rtu {
        local_comm_id: 1,
        remote_comm_id: 2,
        private_data: core::array::from_fn(octet),
    };
    Case::new("RTU", mad(rtu))
        .is("infiniband.mad.attributeid", 0x14_u8)
        .is("infiniband.cm.rtu.localcommid", 1_u8)
        .is("infiniband.cm.rtu.remotecommid", 2_u8)
        .text("infiniband.cm.rtu.private", &hex(&rtu.private_data))
}

fn rej() -> Case {
    let rej = Rej {
        local_comm_id: 1,
        remote_comm_id: 2,
        rejected: Answered::Rep,
        info_length: 8,
        reason: RejectReason::STALE_CONNECTION,
        info: core::array::from_fn(octet),
        private_data: core::array::from_fn(|i| 100 + octet(i)),
    };
    Case::new("REJ", mad(rej))
        .is("infiniband.mad.attributeid", 0x12_u8)
        .is("infiniband.cm.rej.localcommid", 1_u8)
        .is("infiniband.cm.rej.remotecommid", 2_u8)
        .is("infiniband.cm.rej.msgrej", 1_u8)
        .is("infiniband.cm.rej.rejinfolen", 8_u8)
        .is("infiniband.cm.rej.reason", 10_u8)
        .text("infiniband.cm.rej.ari", &hex(&rej.info))
        .text("infiniband.cm.rej.private", &hex(&rej.private_data))
}

fn dreq() -> Case {
    let dreq = Dreq {
        local_comm_id: 1,
        remote_comm_id: 2,
        remote_qpn: Qpn::from_bits_truncate(0x87_0408),
        private_data: core::array::from_fn(octet),
    };
    Case::new("DREQ", mad(dreq))
        .is("infiniband.mad.attributeid", 0x15_u8)
        .is("infiniband.cm.dreq.localcommid", 1_u8)
        .is("infiniband.cm.dreq.remotecommid", 2_u8)
        .is("infiniband.cm.req.remoteqpneecn", 0x87_0408_u32)
        .text("infiniband.cm.dreq.private", &hex(&dreq.private_data))
}

fn drep() -> Case {
    let drep = Drep {
        local_comm_id: 1,
        remote_comm_id: 2,
        private_data: core::array::from_fn(octet),
    };
    Case::new("DREP", mad(drep))
        .is("infiniband.mad.attributeid", 0x16_u8)
        .is("infiniband.cm.drsp.localcommid", 1_u8)
        .is("infiniband.cm.drsp.remotecommid", 2_u8)
        .text("infiniband.cm.drsp.private", &hex(&drep.private_data))
}
