//! Management packets between a node and its agents: QP0 and QP1 of a switch's port 0, and the
//! datagram headers that every sender of datagrams pushes.

use softib_wire::addr::{Lid, PKey, QKey, Qpn, Sl};
use softib_wire::grh::Grh;
use softib_wire::packet::UdHeaders;

use crate::frame::Frame;
use crate::hca::GlobalRoute;

/// A management packet that came to a switch, for one of its agents.
#[derive(Debug, Clone)]
pub struct ManagementFrame {
    /// The port that it came in by; 0: from the switch itself.
    pub port: u8,
    /// Source LID.
    pub slid: Lid,
    /// Destination LID; permissive for directed-route SMPs.
    pub dlid: Lid,
    /// Service level.
    pub sl: Sl,
    /// Source queue pair.
    pub src_qpn: Qpn,
    /// Destination queue pair: 0 or 1.
    pub dest_qpn: Qpn,
    /// Its P_Key's index in the table of port 0; 0 for QP0, which checks none.
    pub pkey_index: u16,
    /// Global route header, if it has one.
    pub grh: Option<Grh>,
    /// The MAD.
    pub payload: Frame,
}

/// By which way a switch sends a management packet of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Out of this port, whatever its tables say: directed-route SMPs, whose LIDs are permissive.
    Port(u8),
    /// By its forwarding tables, to this LID.
    Lid(Lid),
}

/// A management packet that a switch is to send.
#[derive(Debug, Clone)]
pub struct ManagementSend {
    /// Where to.
    pub route: Route,
    /// Service level.
    pub sl: Sl,
    /// Source queue pair: 0 or 1.
    pub src_qpn: Qpn,
    /// Destination queue pair.
    pub dest_qpn: Qpn,
    /// Index of its P_Key in the table of port 0; not looked at for QP0.
    pub pkey_index: u16,
    /// Q_Key; not looked at for QP0.
    pub qkey: QKey,
    /// Global route, if it needs one.
    pub global: Option<GlobalRoute>,
    /// The MAD.
    pub payload: Frame,
}

impl ManagementSend {
    /// A subnet management packet.
    #[must_use]
    pub fn smp(route: Route, payload: Frame) -> Self {
        Self {
            route,
            sl: Sl::default(),
            src_qpn: Qpn::SMI,
            dest_qpn: Qpn::SMI,
            pkey_index: 0,
            qkey: QKey::default(),
            global: None,
            payload,
        }
    }
}

/// What QP0 puts where others have a P_Key: nobody looks at it.
pub(crate) const SMP_PKEY: PKey = PKey::DEFAULT_FULL;

/// Makes a packet of a datagram's payload: headers in front, padding behind.
pub(crate) fn push_headers(frame: &mut Frame, headers: &UdHeaders) {
    let payload = frame.len();
    let padding = headers.emit(frame.push_front(headers.len()), payload);
    frame.push_back(&[0; 3][..usize::from(padding)]);
    frame.set_vl(headers.vl);
}
