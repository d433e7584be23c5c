//! Messages from the capture, and by hand those that it does not hold.

use super::*;
use crate::addr::{Gid, Guid, Lid, PKey, Psn, QKey, Qpn, Sl};
use crate::mad::tests::{CM_REP, CM_REQ, CM_RTU};
use crate::units::{Mtu, Rate};

fn gid(guid: u64) -> Gid {
    Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(guid))
}

/// What an IPoIB interface says of itself: its UD queue pair and how much it can receive.
fn private_data<const N: usize>(qpn: u16) -> [u8; N] {
    let mut data = [0; N];
    data[2..4].copy_from_slice(&qpn.to_be_bytes());
    data[4..8].copy_from_slice(&0xFFF4_u32.to_be_bytes());
    data
}

#[test]
fn a_captured_req() {
    let req = Req {
        local_comm_id: 0xe948_8627,
        service_id: 0x1000_0000_0000_0404,
        local_ca_guid: Guid::new(0x0002_c902_0024_f634),
        local_qkey: QKey::new(0),
        local_qpn: Qpn::from_bits_truncate(0x87_0408),
        responder_resources: 4,
        local_eecn: 0,
        initiator_depth: 0,
        remote_eecn: 0,
        remote_cm_timeout: 20,
        transport: TransportService::Rc,
        flow_control: false,
        starting_psn: Psn::from_bits_truncate(0),
        local_cm_timeout: 20,
        retry_count: 0,
        pkey: PKey::DEFAULT_FULL,
        path_mtu: Some(Mtu::B2048),
        rdc_exists: false,
        rnr_retry_count: 0,
        max_cm_retries: 15,
        srq: true,
        extended_transport: 0,
        primary: PathInfo {
            local_lid: Lid::new(4),
            remote_lid: Lid::new(1),
            local_gid: gid(0x0002_c902_0024_f636),
            remote_gid: gid(0x0002_c902_0020_b4dd),
            rate: Some(Rate::Gbps10),
            subnet_local: true,
            ack_timeout: 19,
            ..PathInfo::default()
        },
        alternate: PathInfo::default(),
        private_data: private_data(0x0405),
    };
    let mad = CmMad::parse(&CM_REQ).unwrap();
    assert_eq!(mad.message(), Ok(Some(CmMessage::Req(req))));
    assert_eq!(
        CmMad::new(mad.header.transaction_id, &req.into()).to_bytes(),
        CM_REQ
    );
}

#[test]
fn a_captured_rep() {
    let rep = Rep {
        local_comm_id: 0xf902_4539,
        remote_comm_id: 0xe948_8627,
        local_qkey: QKey::new(0),
        local_qpn: Qpn::from_bits_truncate(0xfc_0407),
        local_eecn: 0,
        starting_psn: Psn::from_bits_truncate(0xd4_0a55),
        responder_resources: 0,
        initiator_depth: 0,
        target_ack_delay: 15,
        failover_accepted: 0,
        flow_control: false,
        rnr_retry_count: 0,
        srq: true,
        local_ca_guid: Guid::new(0x0002_c902_0020_b4dc),
        private_data: private_data(0x0404),
    };
    let mad = CmMad::parse(&CM_REP).unwrap();
    assert_eq!(mad.message(), Ok(Some(CmMessage::Rep(rep))));
    assert_eq!(
        CmMad::new(mad.header.transaction_id, &rep.into()).to_bytes(),
        CM_REP
    );
}

#[test]
fn a_captured_rtu() {
    let rtu = Rtu {
        local_comm_id: 0xe948_8627,
        remote_comm_id: 0xf902_4539,
        private_data: [0; 224],
    };
    let mad = CmMad::parse(&CM_RTU).unwrap();
    assert_eq!(mad.message(), Ok(Some(CmMessage::Rtu(rtu))));
    assert_eq!(
        CmMad::new(mad.header.transaction_id, &rtu.into()).to_bytes(),
        CM_RTU
    );
}

#[test]
fn another_attribute_is_no_message() {
    let mut mad = CmMad::parse(&CM_RTU).unwrap();
    mad.header.attribute_id = 0x0001;
    assert_eq!(mad.message(), Ok(None));
}

/// The octets of a message up to its private data, which is made of 0xEE.
fn head<const N: usize>(message: impl Into<CmMessage>) -> [u8; N] {
    let mut dirty = [0xa5; 232];
    dirty.copy_from_slice(&message.into().to_bytes());
    assert!(
        dirty[N..].iter().all(|&octet| octet == 0xEE),
        "private data is elsewhere"
    );
    dirty[..N].try_into().unwrap()
}

const IDS: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

#[test]
fn mra_and_rej() {
    let mra = Mra {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        answered: Answered::Other,
        service_timeout: 0x15,
        private_data: [0xEE; 222],
    };
    let bytes: [u8; 10] = head(mra);
    assert_eq!(bytes[..8], IDS);
    assert_eq!(bytes[8..], [0x80, 0xA8]);

    let rej = Rej {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        rejected: Answered::Rep,
        info_length: 4,
        reason: RejectReason::CONSUMER,
        info: [0xDD; 72],
        private_data: [0xEE; 148],
    };
    let bytes: [u8; 84] = head(rej);
    assert_eq!(bytes[8..12], [0x40, 0x08, 0x00, 28]);
    assert_eq!(bytes[12..], [0xDD; 72]);
    assert_eq!(rej.reason.to_string(), "consumer reject");
}

#[test]
fn dreq_and_drep() {
    let dreq = Dreq {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        remote_qpn: Qpn::from_bits_truncate(0x09_0a0b),
        private_data: [0xEE; 220],
    };
    let bytes: [u8; 12] = head(dreq);
    assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x0a, 0x0b, 0]);
    let drep = Drep {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        private_data: [0xEE; 224],
    };
    assert_eq!(head::<8>(drep), IDS);
}

#[test]
fn lap_and_apr() {
    let lap = Lap {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        remote_qpn: Qpn::from_bits_truncate(0x09_0a0b),
        remote_cm_timeout: 0x15,
        local_lid: Lid::new(0x1112),
        remote_lid: Lid::new(0x1314),
        local_gid: Gid::new([0x21; 16]),
        remote_gid: Gid::new([0x22; 16]),
        flow_label: 0x3_1323,
        traffic_class: 0x34,
        hop_limit: 0x35,
        rate: Some(Rate::Gbps10),
        sl: Sl::from_bits_truncate(6),
        subnet_local: true,
        ack_timeout: 0x12,
        private_data: [0xEE; 168],
    };
    let bytes: [u8; 64] = head(lap);
    assert_eq!(bytes[..8], IDS);
    assert_eq!(bytes[8..20], [0, 0, 0, 0, 9, 0x0a, 0x0b, 0xA8, 0, 0, 0, 0]);
    assert_eq!(bytes[20..24], [0x11, 0x12, 0x13, 0x14]);
    assert_eq!(bytes[24..40], [0x21; 16]);
    assert_eq!(bytes[40..56], [0x22; 16]);
    assert_eq!(
        bytes[56..],
        [0x31, 0x32, 0x30, 0x34, 0x35, 0x03, 0x68, 0x90]
    );

    let apr = Apr {
        local_comm_id: 0x0102_0304,
        remote_comm_id: 0x0506_0708,
        info_length: 2,
        status: AprStatus::REJECTED,
        info: [0xDD; 72],
        private_data: [0xEE; 148],
    };
    let bytes: [u8; 84] = head(apr);
    assert_eq!(bytes[8..12], [2, 3, 0, 0]);
    assert_eq!(bytes[12..], [0xDD; 72]);
}

#[test]
fn service_id_resolution() {
    let request = SidrReq {
        request_id: 0x0102_0304,
        pkey: PKey::new(0x8001),
        service_id: 0x1112_1314_1516_1718,
        private_data: [0xEE; 216],
    };
    let bytes: [u8; 16] = head(request);
    assert_eq!(bytes[..8], [1, 2, 3, 4, 0x80, 0x01, 0, 0]);
    assert_eq!(bytes[8..], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);

    let response = SidrRep {
        request_id: 0x0102_0304,
        status: SidrStatus::REDIRECT,
        info_length: 5,
        qpn: Qpn::from_bits_truncate(0x09_0a0b),
        service_id: 0x1112_1314_1516_1718,
        qkey: QKey::new(0x2122_2324),
        info: [0xDD; 72],
        private_data: [0xEE; 136],
    };
    let bytes: [u8; 96] = head(response);
    assert_eq!(bytes[..12], [1, 2, 3, 4, 4, 5, 0, 0, 9, 0x0a, 0x0b, 0]);
    assert_eq!(
        bytes[12..20],
        [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]
    );
    assert_eq!(bytes[20..24], [0x21, 0x22, 0x23, 0x24]);
    assert_eq!(bytes[24..], [0xDD; 72]);
}
