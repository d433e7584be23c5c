//! What happens to a packet that comes to an adapter, check by check (IBA 9.6).

use softib_wire::addr::{Lid, Qpn, Vl};
use softib_wire::packet::{LinkPacket, Packet};

use super::Hca;
use super::cq::{Completion, CompletionKind, Received, Status};
use super::qp::{QpId, ud};
use crate::drop::DropReason;
use crate::event::KeyViolation;
use crate::frame::Frame;
use crate::port::LinkState;

impl Hca {
    /// A frame from the link.
    pub(super) fn receive(&mut self, number: u8, mut frame: Frame) {
        let Some(port) = self.ports.get_mut(usize::from(number)) else {
            return;
        };
        port.counters.received(&frame, super::is_multicast(&frame));
        let checked = frame.check_link_crc().and_then(|()| {
            let link = LinkPacket::parse(frame.bytes(), frame.form())?;
            self.admit(number, frame.vl(), &link)?;
            self.dispatch(number, &frame, &link, None)
        });
        if let Err(reason) = checked {
            self.ports[usize::from(number)].drop_frame(&frame, reason);
        }
    }

    /// A frame that a queue pair of the port sent to the port, or to a group that it may be in.
    /// A packet to a group that nobody else here is in is no drop: it goes on to the link.
    pub(super) fn loop_back(&mut self, number: u8, frame: &Frame, group_from: Option<QpId>) {
        let checked = LinkPacket::parse(frame.bytes(), frame.form())
            .map_err(DropReason::from)
            .and_then(|link| self.dispatch(number, frame, &link, group_from));
        match checked {
            Ok(()) => {}
            Err(_) if group_from.is_some() => {}
            Err(reason) => self.ports[usize::from(number)].drop_frame(frame, reason),
        }
    }

    /// What the link layer checks (IBA 7.2.7, 7.6).
    #[inline]
    fn admit(&mut self, number: u8, vl: Vl, link: &LinkPacket<'_>) -> Result<(), DropReason> {
        let (dlid, dest_qpn) = (link.lrh.dlid, link.dest_qpn());
        let port = &mut self.ports[usize::from(number)];
        if vl == Vl::MANAGEMENT {
            if !port.state().passes_smps() {
                return Err(DropReason::PortNotReady);
            }
            if dlid.is_multicast() {
                return Err(DropReason::SmpMulticast);
            }
            return if dest_qpn == Some(Qpn::SMI) {
                Ok(())
            } else {
                Err(DropReason::DataOnVl15)
            };
        }
        if !port.state().receives_data() {
            return Err(DropReason::PortNotReady);
        }
        if !port.is_operational(vl) {
            return Err(DropReason::VlNotOperational);
        }
        if dlid == Lid::PERMISSIVE {
            return Err(DropReason::DlidPermissive);
        }
        if dest_qpn == Some(Qpn::SMI) {
            return Err(DropReason::SmpOnDataVl);
        }
        if port.state() == LinkState::Armed {
            port.data_arrived();
            self.stirred = true;
        }
        Ok(())
    }

    /// Finds who a packet is for, and gives it to them. `group_from`: the queue pair that sent it to
    /// a group, if it is of this port.
    #[inline]
    fn dispatch(
        &mut self,
        number: u8,
        frame: &Frame,
        link: &LinkPacket<'_>,
        group_from: Option<QpId>,
    ) -> Result<(), DropReason> {
        let packet = Packet::from_link(link, frame.form())?;
        if !frame.icrc_is_right() {
            return Err(DropReason::IcrcError);
        }
        let port = &self.ports[usize::from(number)];
        if frame.largest_payload(packet.headers_len()) > port.mtu_cap().octets() {
            return Err(DropReason::ReceiveMtu);
        }
        let dlid = packet.lrh.dlid;
        if dlid.is_multicast() {
            return self.dispatch_multicast(number, frame, &packet, group_from);
        }
        if !port.owns_lid(dlid) && dlid != Lid::PERMISSIVE {
            return Err(DropReason::NotMine);
        }
        if packet.grh.is_some_and(|grh| !port.owns_gid(grh.dgid)) {
            return Err(DropReason::GidMismatch);
        }
        let qp = self
            .qps
            .at(number, packet.bth.dest_qpn)
            .ok_or(DropReason::NoSuchQp)?;
        if qp.id.port != number {
            return Err(DropReason::QpOtherPort);
        }
        self.give(qp.id, &packet, frame)
    }

    /// Every member gets its own handle to the one packet. It is dropped when nobody takes it.
    fn dispatch_multicast(
        &mut self,
        number: u8,
        frame: &Frame,
        packet: &Packet<'_>,
        group_from: Option<QpId>,
    ) -> Result<(), DropReason> {
        let dgid = packet
            .grh
            .map(|grh| grh.dgid)
            .ok_or(DropReason::MulticastNoGid)?;
        let groups = std::mem::take(&mut self.groups[usize::from(number)]);
        let mut outcome = Err(DropReason::NotAttached);
        for &member in groups.members(dgid, packet.lrh.dlid) {
            let blocked = Some(member) == group_from
                && self
                    .qps
                    .get(member)
                    .is_some_and(|qp| qp.caps.block_multicast_loopback);
            if blocked {
                continue;
            }
            let given = self.give(member, packet, frame);
            if outcome.is_err() {
                outcome = given;
            }
        }
        self.groups[usize::from(number)] = groups;
        outcome
    }

    /// Gives a packet to a queue pair, if it takes it.
    #[inline]
    fn give(&mut self, id: QpId, packet: &Packet<'_>, frame: &Frame) -> Result<(), DropReason> {
        let qp = self.qps.get_mut(id).ok_or(DropReason::NoSuchQp)?;
        let port = &mut self.ports[usize::from(id.port)];
        let packets = frame.wire_packets();
        let accepted =
            ud::accept(qp, port, packet).and_then(|index| match self.cqs.get_mut(&qp.recv_cq) {
                Some(cq) if cq.has_room() => Ok((index, cq)),
                _ => Err(DropReason::CqFull),
            });
        let (pkey_index, cq) = match accepted {
            Ok(accepted) => accepted,
            Err(reason) => {
                qp.counters.drops.add_many(reason, packets);
                match reason {
                    DropReason::PKeyMismatch => {
                        port.pkey_violation(KeyViolation::of(packet, ud::pkey_of(packet)));
                    }
                    DropReason::QKeyMismatch => {
                        port.qkey_violation(KeyViolation::of(packet, ud::qkey_of(packet)));
                    }
                    _ => return Err(reason),
                }
                self.stirred = true;
                return Err(reason);
            }
        };
        let mut payload = frame.clone();
        payload.pop_front(packet.headers_len());
        payload.truncate(packet.payload.len());
        let wr_id = qp.used;
        qp.used += 1;
        qp.receives -= 1;
        qp.counters.received += packets;
        cq.push(Completion {
            wr_id,
            qp: id,
            status: Status::Success,
            kind: CompletionKind::Receive(Received {
                src_qpn: packet
                    .ext
                    .deth()
                    .map_or_else(Qpn::default, |deth| deth.src_qpn),
                slid: packet.lrh.slid,
                dlid: packet.lrh.dlid,
                sl: packet.lrh.sl,
                pkey_index,
                grh: packet.grh,
                immediate: packet.ext.immediate().map(|immediate| immediate.data),
                payload,
            }),
        });
        Ok(())
    }
}
