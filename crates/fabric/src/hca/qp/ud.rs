//! Datagrams: UD queue pairs, and QP0 and QP1, which are such (IBA 9.8.3, 10.2.5).

use softib_wire::addr::{Lid, PKey, QKey, Qpn, Vl};
use softib_wire::opcode::Service;
use softib_wire::packet::{Packet, UdHeaders};

use super::{PKeyRule, PostError, Qp, QpId, QpKind};
use crate::drop::DropReason;
use crate::frame::Frame;
use crate::hca::{AddressVector, Hca, Status, Work};
use crate::management::{SMP_PKEY, push_headers};
use crate::port::Port;

/// A datagram to send.
#[derive(Debug, Clone)]
pub struct UdSend {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// Where to.
    pub address: AddressVector,
    /// Destination queue pair; [`Qpn::MULTICAST`] for multicast.
    pub dest_qpn: Qpn,
    /// Q_Key. One with the highest bit set stands for the queue pair's own (IBA 10.2.5).
    pub qkey: QKey,
    /// QP1 only: index of the P_Key. Others have their own.
    pub pkey_index: Option<u16>,
    /// What stands behind the headers. It may be a large send.
    pub payload: Frame,
    /// Whether a completion is wanted.
    pub signaled: bool,
}

impl Hca {
    /// Sends a datagram.
    ///
    /// # Errors
    /// Why it is not taken. What happens to it after that is counted at the port.
    pub fn post_ud_send(&mut self, id: QpId, send: UdSend) -> Result<(), PostError> {
        let missing = PostError::NoSuchQp { qpn: id.qpn };
        let port_index = usize::from(id.port);
        let qp = self.qps.get_mut(id).ok_or(missing)?;
        let port = self.ports.get(port_index).ok_or(missing)?;
        let headers = ud_headers(qp, port, &send)?;
        let largest = send.payload.largest_payload(0);
        let mtu = port.mtu().octets();
        if largest > mtu {
            return Err(PostError::TooLong {
                octets: largest,
                mtu,
            });
        }

        qp.sends += 1;
        let packets = send.payload.wire_packets();
        qp.counters.sent += packets;
        let mut frame = send.payload;
        push_headers(
            &mut frame,
            &UdHeaders {
                psn: qp.take_psn(packets),
                ..headers
            },
        );
        let work = Work {
            qp: id,
            wr_id: send.wr_id,
            signaled: send.signaled,
        };

        let dlid = send.address.dlid;
        if dlid.is_multicast() {
            // A port gets back what it sends to a group that it is in (IBA 10.5.2.1), from itself:
            // no switch sends a packet back to where it came from.
            self.loop_back(id.port, &frame, Some(id));
        } else if port.owns_lid(dlid) {
            self.loop_back(id.port, &frame, None);
            self.complete_send(work, Status::Success);
            return Ok(());
        }
        self.transmit(id.port, frame, work);
        Ok(())
    }

    /// Sends a directed-route SMP out of a port: from and to the permissive LID.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn post_smp(&mut self, port: u8, payload: Frame) -> Result<(), PostError> {
        let id = QpId {
            port,
            qpn: Qpn::SMI,
        };
        let qp = self
            .qps
            .get_mut(id)
            .ok_or(PostError::NoSuchQp { qpn: Qpn::SMI })?;
        check_queue(qp)?;
        qp.sends += 1;
        qp.counters.sent += 1;
        let mut frame = payload;
        let psn = qp.take_psn(1);
        push_headers(
            &mut frame,
            &UdHeaders {
                psn,
                ..smp_headers(Lid::PERMISSIVE, Lid::PERMISSIVE)
            },
        );
        self.transmit(
            port,
            frame,
            Work {
                qp: id,
                wr_id: 0,
                signaled: false,
            },
        );
        Ok(())
    }
}

fn check_queue(qp: &Qp) -> Result<(), PostError> {
    if !qp.state.sends() {
        return Err(PostError::State { state: qp.state });
    }
    if qp.sends >= qp.caps.send {
        return Err(PostError::QueueFull {
            depth: qp.caps.send,
        });
    }
    Ok(())
}

const fn smp_headers(dlid: Lid, slid: Lid) -> UdHeaders {
    UdHeaders {
        vl: Vl::MANAGEMENT,
        sl: softib_wire::addr::Sl::from_bits_truncate(0),
        dlid,
        slid,
        grh: None,
        solicited: false,
        pkey: SMP_PKEY,
        dest_qpn: Qpn::SMI,
        psn: softib_wire::addr::Psn::from_bits_truncate(0),
        qkey: QKey::new(0),
        src_qpn: Qpn::SMI,
        immediate: None,
    }
}

/// The headers of a datagram, all but its sequence number; its lane is that of VL0 until it is
/// known to leave.
#[inline]
fn ud_headers(qp: &Qp, port: &Port, send: &UdSend) -> Result<UdHeaders, PostError> {
    check_queue(qp)?;
    let address = &send.address;
    let dlid = address.dlid;
    if !dlid.is_unicast() && !dlid.is_multicast() {
        return Err(PostError::Destination { dlid });
    }
    // IBA 9.6.1.2.3: what must go together.
    let multicast = dlid.is_multicast();
    let to_group = address
        .global
        .is_some_and(|global| global.dgid.is_multicast());
    if multicast != to_group || multicast != (send.dest_qpn == Qpn::MULTICAST) {
        return Err(PostError::Multicast {
            dlid,
            dest_qpn: send.dest_qpn,
        });
    }
    let grh = match address.global {
        None => None,
        Some(global) => {
            let no_gid = PostError::NoGid {
                index: global.sgid_index,
            };
            Some(global.header(port).ok_or(no_gid)?)
        }
    };
    let path_bits = u16::from(address.path_bits) & ((1 << port.lmc()) - 1);
    let slid = Lid::new(port.lid().bits() | path_bits);
    if qp.kind == QpKind::Smi {
        return Ok(UdHeaders {
            sl: address.sl,
            grh,
            dest_qpn: send.dest_qpn,
            ..smp_headers(dlid, slid)
        });
    }
    let index = match qp.kind {
        QpKind::Gsi => send.pkey_index.unwrap_or(0),
        QpKind::Ud | QpKind::Smi => qp.pkey_index,
    };
    Ok(UdHeaders {
        vl: Vl::default(),
        sl: address.sl,
        dlid,
        slid,
        grh,
        solicited: false,
        pkey: port.pkeys().get(index).ok_or(PostError::NoPKey { index })?,
        dest_qpn: send.dest_qpn,
        psn: qp.psn,
        qkey: if send.qkey.is_controlled() {
            qp.qkey
        } else {
            send.qkey
        },
        src_qpn: qp.id.qpn,
        immediate: None,
    })
}

/// Whether a queue pair takes a packet (IBA 9.6.1.3 to 9.6.1.5, 9.8.3). Gives the index of the
/// P_Key that let it in.
#[inline]
pub(in crate::hca) fn accept(qp: &Qp, port: &Port, packet: &Packet<'_>) -> Result<u16, DropReason> {
    if !qp.state.receives() {
        return Err(DropReason::QpState);
    }
    let Some(deth) = packet
        .ext
        .deth()
        .filter(|_| packet.bth.opcode.service() == Service::Ud)
    else {
        return Err(DropReason::QpService);
    };
    let index = match pkey_rule(qp, port) {
        PKeyRule::Any => 0,
        PKeyRule::Table => port
            .pkeys()
            .matching(packet.bth.pkey)
            .ok_or(DropReason::PKeyMismatch)?,
        PKeyRule::Own(own) => {
            if !own.is_some_and(|own| own.matches(packet.bth.pkey)) {
                return Err(DropReason::PKeyMismatch);
            }
            qp.pkey_index
        }
    };
    if qp.kind != QpKind::Smi && deth.qkey != qp.qkey {
        return Err(DropReason::QKeyMismatch);
    }
    if qp.receives == 0 {
        return Err(DropReason::NoReceive);
    }
    Ok(index)
}

#[inline]
fn pkey_rule(qp: &Qp, port: &Port) -> PKeyRule {
    match qp.kind {
        QpKind::Smi => PKeyRule::Any,
        QpKind::Gsi => PKeyRule::Table,
        QpKind::Ud => PKeyRule::Own(port.pkeys().get(qp.pkey_index)),
    }
}

/// The Q_Key that a packet carries, for the report of one that does not match.
pub(in crate::hca) fn qkey_of(packet: &Packet<'_>) -> QKey {
    packet
        .ext
        .deth()
        .map_or_else(QKey::default, |deth| deth.qkey)
}

/// The P_Key that a packet carries, likewise.
pub(in crate::hca) const fn pkey_of(packet: &Packet<'_>) -> PKey {
    packet.bth.pkey
}
