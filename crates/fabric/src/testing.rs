//! Packets and nodes for the tests of this crate.

use softib_wire::addr::{Gid, Guid, Lid, PKey, Psn, QKey, Qpn, Sl, Vl};
use softib_wire::grh::Grh;
use softib_wire::packet::UdHeaders;
use softib_wire::time::Instant;
use softib_wire::units::{PhysState, PortState};

use crate::frame::{Frame, Pool};
use crate::management::push_headers;
use crate::port::Port;

pub(crate) const NOW: Instant = Instant::ZERO;

/// A datagram from LID 1, QP 0x41 to LID 2, QP 0x42 on VL0.
pub(crate) fn headers() -> UdHeaders {
    UdHeaders {
        vl: Vl::default(),
        sl: Sl::default(),
        dlid: Lid::new(2),
        slid: Lid::new(1),
        grh: None,
        solicited: false,
        pkey: PKey::DEFAULT_FULL,
        dest_qpn: Qpn::from_bits_truncate(0x42),
        psn: Psn::default(),
        qkey: QKey::new(0x0b1b),
        src_qpn: Qpn::from_bits_truncate(0x41),
        immediate: None,
    }
}

/// The same to a multicast group.
pub(crate) fn group_headers(mlid: u16) -> UdHeaders {
    UdHeaders {
        dlid: Lid::new(mlid),
        dest_qpn: Qpn::MULTICAST,
        grh: Some(grh(GROUP)),
        ..headers()
    }
}

/// A subnet management packet by directed route.
pub(crate) fn smp_headers() -> UdHeaders {
    UdHeaders {
        vl: Vl::MANAGEMENT,
        dlid: Lid::PERMISSIVE,
        slid: Lid::PERMISSIVE,
        dest_qpn: Qpn::SMI,
        src_qpn: Qpn::SMI,
        qkey: QKey::default(),
        ..headers()
    }
}

pub(crate) const GROUP: Gid = Gid::new([
    0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
]);

pub(crate) fn grh(dgid: Gid) -> Grh {
    Grh {
        ip_version: 6,
        traffic_class: 0,
        flow_label: 0,
        payload_length: 0,
        next_header: Grh::NEXT_HEADER_BTH,
        hop_limit: 0,
        sgid: Gid::from_prefix_guid(Gid::DEFAULT_PREFIX, Guid::new(0x11)),
        dgid,
    }
}

pub(crate) fn packet(headers: &UdHeaders, payload: &[u8]) -> Frame {
    let mut frame = Pool::new().frame_from(payload);
    push_headers(&mut frame, headers);
    frame
}

/// The packet as it comes from outside, CRCs and all.
pub(crate) fn from_outside(bytes: &[u8]) -> Frame {
    let mut frame = Pool::new().frame_from(bytes);
    frame.mark_present();
    frame
}

/// Has management take a trained port to `state`, and gives it a LID.
pub(crate) fn bring(port: &mut Port, lid: u16, state: PortState) {
    for step in [PortState::Armed, PortState::Active] {
        if step > state {
            break;
        }
        let mut info = port.port_info(0);
        info.phys_state = PhysState::NoChange;
        info.port_state = step;
        if lid != 0 {
            info.lid = Lid::new(lid);
        }
        port.set_port_info(&info).unwrap();
    }
}
