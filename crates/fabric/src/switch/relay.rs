//! What happens to a packet in a switch, check by check (IBA 18.2.4, 18.2.5).

use softib_wire::addr::{Lid, PKey, Psn, QKey, Qpn, Vl};
use softib_wire::bth::Bth;
use softib_wire::lrh::Lrh;
use softib_wire::opcode::Opcode;
use softib_wire::packet::{LinkPacket, Packet, UdHeaders};

use super::{HELD_HIGH, MANAGEMENT_DEPTH, MulticastTable, Origin, PortSet, Switch};
use crate::drop::DropReason;
use crate::event::KeyViolation;
use crate::frame::Frame;
use crate::management::{ManagementFrame, ManagementSend, Route, SMP_PKEY, push_headers};
use crate::port::LinkState;

/// What a switch reads of a packet.
#[derive(Debug, Clone, Copy)]
struct Seen {
    lrh: Lrh,
    /// None: a raw packet.
    transport: Option<Transport>,
    /// Octets of the largest payload.
    payload: usize,
}

#[derive(Debug, Clone, Copy)]
struct Transport {
    pkey: PKey,
    dest_qpn: Qpn,
}

impl Seen {
    #[inline]
    fn of(frame: &Frame) -> Result<Self, DropReason> {
        let packet = LinkPacket::parse(frame.bytes(), frame.form())?;
        let (Some(bth), Some(pkey), Some(dest_qpn)) =
            (packet.bth_offset(), packet.pkey(), packet.dest_qpn())
        else {
            let payload = frame.largest_payload(Lrh::LEN);
            return Ok(Self {
                lrh: packet.lrh,
                transport: None,
                payload,
            });
        };
        let extended = Opcode::from_code(packet.bytes[bth]).map_or(0, Opcode::headers_len);
        Ok(Self {
            lrh: packet.lrh,
            transport: Some(Transport { pkey, dest_qpn }),
            payload: frame.largest_payload(bth + Bth::LEN + extended),
        })
    }

    fn violation(&self, frame: &Frame, key: PKey, dest_qpn: Qpn) -> KeyViolation<PKey> {
        let packet = Packet::parse(frame.bytes(), frame.form()).ok();
        KeyViolation {
            slid: self.lrh.slid,
            dlid: self.lrh.dlid,
            key,
            sl: self.lrh.sl,
            src_qpn: packet
                .and_then(|packet| packet.ext.deth())
                .map_or_else(Qpn::default, |deth| deth.src_qpn),
            dest_qpn,
            gids: packet
                .and_then(|packet| packet.grh)
                .map(|grh| (grh.sgid, grh.dgid)),
        }
    }
}

/// Whether a frame that this switch made or checked goes to a multicast LID.
#[inline]
pub(super) fn is_multicast(frame: &Frame) -> bool {
    match frame.bytes() {
        [_, _, high, low, ..] => Lid::new(u16::from_be_bytes([*high, *low])).is_multicast(),
        _ => false,
    }
}

impl Switch {
    pub(super) fn receive(&mut self, in_port: u8, mut frame: Frame) {
        let vl = frame.vl();
        let port = &mut self.ports[usize::from(in_port)];
        port.counters.received(&frame, is_multicast(&frame));
        let seen = match frame.check_link_crc().and_then(|()| Seen::of(&frame)) {
            Ok(seen) => seen,
            Err(reason) => return port.drop_frame(&frame, reason),
        };
        if let Err(reason) = self.admit(in_port, vl, &seen, &frame) {
            return self.ports[usize::from(in_port)].drop_frame(&frame, reason);
        }
        let outcome = if seen.lrh.dlid == Lid::PERMISSIVE {
            // Never relayed: for the agent of whoever gets it (IBA 4.1.3).
            self.deliver(in_port, &seen.lrh, frame);
            return;
        } else if seen.lrh.dlid.is_multicast() {
            self.multicast(in_port, &seen, &frame)
        } else {
            match self.unicast(in_port, seen.lrh.dlid) {
                Ok(0) => {
                    self.deliver(in_port, &seen.lrh, frame);
                    return;
                }
                Ok(out_port) => {
                    self.forward(in_port, out_port, &seen, frame);
                    return;
                }
                Err(reason) => Err(reason),
            }
        };
        if let Err(reason) = outcome {
            self.ports[usize::from(in_port)].drop_frame(&frame, reason);
        }
    }

    /// Whether the port takes the packet at all (IBA 7.2.7, 18.2.4).
    fn admit(&mut self, in_port: u8, vl: Vl, seen: &Seen, frame: &Frame) -> Result<(), DropReason> {
        let port = &mut self.ports[usize::from(in_port)];
        let dlid = seen.lrh.dlid;
        if vl == Vl::MANAGEMENT {
            if !port.state().passes_smps() {
                return Err(DropReason::PortNotReady);
            }
            if dlid.is_multicast() {
                return Err(DropReason::SmpMulticast);
            }
            return match seen.transport {
                Some(Transport {
                    dest_qpn: Qpn::SMI, ..
                }) => Ok(()),
                _ => Err(DropReason::DataOnVl15),
            };
        }
        if !port.state().receives_data() {
            return Err(DropReason::PortNotReady);
        }
        if !port.is_operational(vl) {
            return Err(DropReason::VlNotOperational);
        }
        if seen.payload > port.mtu_cap().octets() {
            return Err(DropReason::ReceiveMtu);
        }
        if dlid == Lid::PERMISSIVE {
            return Err(DropReason::DlidPermissive);
        }
        if port.state() != LinkState::Active {
            port.data_arrived();
            self.stirred = true;
        }
        match seen.transport {
            None if port.filters_raw_inbound() => Err(DropReason::RawInbound),
            None => Ok(()),
            Some(Transport { pkey, dest_qpn }) => {
                if port.enforces_inbound() && !port.pkeys().names(pkey) {
                    port.pkey_violation(seen.violation(frame, pkey, dest_qpn));
                    self.stirred = true;
                    return Err(DropReason::PKeyInbound);
                }
                Ok(())
            }
        }
    }

    /// The port that packets to a unicast LID leave by.
    #[inline]
    fn unicast(&self, in_port: u8, dlid: Lid) -> Result<u8, DropReason> {
        if self.ports[0].owns_lid(dlid) {
            return Ok(0);
        }
        if dlid > self.info.linear_fdb_top {
            return Err(DropReason::DlidAboveTop);
        }
        let out_port = self.linear.port(dlid).ok_or(DropReason::NoRoute)?;
        if usize::from(out_port) >= self.ports.len() {
            Err(DropReason::NoSuchPort)
        } else if out_port == in_port {
            Err(DropReason::Loop)
        } else {
            Ok(out_port)
        }
    }

    /// Sends copies to the other ports of a group.
    fn multicast(&mut self, in_port: u8, seen: &Seen, frame: &Frame) -> Result<(), DropReason> {
        let ports = self.group_ports(in_port, seen.lrh.dlid)?.without(in_port);
        if ports.is_empty() {
            return Err(DropReason::NoMember);
        }
        for out_port in ports.iter() {
            if out_port == 0 {
                self.deliver(in_port, &seen.lrh, frame.clone());
            } else if usize::from(out_port) < self.ports.len() {
                self.forward(in_port, out_port, seen, frame.clone());
            } else {
                self.ports[usize::from(in_port)].drop_frame(frame, DropReason::NoSuchPort);
            }
        }
        Ok(())
    }

    fn group_ports(&self, in_port: u8, dlid: Lid) -> Result<PortSet, DropReason> {
        let top = self.info.multicast_fdb_top;
        // A manager that does not know the field leaves it 0: then the capacity is the limit.
        let last = if top == Lid::NONE {
            Lid::new(Lid::MULTICAST_FIRST.bits() + MulticastTable::CAPACITY - 1)
        } else {
            top
        };
        let ports = if dlid <= last {
            self.multicast.ports(dlid)
        } else {
            PortSet::default()
        };
        if !ports.is_empty() {
            return Ok(ports);
        }
        // IBA 18.2.4.3.3: unknown groups go to the primary port, or from it to the other.
        let primary = self.info.default_multicast_primary_port;
        let default = if in_port == primary {
            self.info.default_multicast_not_primary_port
        } else {
            primary
        };
        match default {
            0xFF if dlid > last => Err(DropReason::DlidAboveTop),
            0xFF => Err(DropReason::NoRoute),
            port => Ok(PortSet::one(port)),
        }
    }

    /// Queues a packet to leave, or drops it for what the port that it would leave by forbids.
    #[inline]
    fn forward(&mut self, in_port: u8, out_port: u8, seen: &Seen, mut frame: Frame) {
        let in_vl = frame.vl();
        match self.output_lane(in_port, out_port, seen, in_vl) {
            Ok(vl) => frame.set_vl(vl),
            Err(reason) => {
                let violation = match (reason, seen.transport) {
                    (DropReason::PKeyOutbound, Some(Transport { pkey, dest_qpn })) => {
                        Some(seen.violation(&frame, pkey, dest_qpn))
                    }
                    _ => None,
                };
                let port = &mut self.ports[usize::from(out_port)];
                port.drop_frame(&frame, reason);
                if let Some(violation) = violation {
                    port.pkey_violation(violation);
                    self.stirred = true;
                }
                return;
            }
        }
        let origin = Origin {
            port: in_port,
            vl: in_vl,
        };
        let octets = frame.len();
        match self.outputs[usize::from(out_port)].push(self.now, frame, origin) {
            Ok(()) => {
                self.hold(origin, octets);
                self.pending.insert(out_port);
            }
            Err(queued) => {
                self.ports[usize::from(out_port)].drop_frame(&queued.frame, DropReason::VlStalled);
            }
        }
    }

    /// The lane that a packet leaves on, if it may leave.
    #[inline]
    fn output_lane(
        &self,
        in_port: u8,
        out_port: u8,
        seen: &Seen,
        in_vl: Vl,
    ) -> Result<Vl, DropReason> {
        let port = &self.ports[usize::from(out_port)];
        if in_vl == Vl::MANAGEMENT {
            if !port.state().passes_smps() {
                return Err(DropReason::OutInactive);
            }
            // No flow control: what does not fit is lost (IBA 7.9).
            return if self.held[usize::from(in_port)][15] > HELD_HIGH {
                Err(DropReason::Vl15Overrun)
            } else {
                Ok(Vl::MANAGEMENT)
            };
        }
        if !port.state().sends_data() {
            return Err(DropReason::OutInactive);
        }
        match seen.transport {
            None if port.filters_raw_outbound() => return Err(DropReason::RawOutbound),
            Some(Transport { pkey, .. })
                if port.enforces_outbound() && port.pkeys().matching(pkey).is_none() =>
            {
                return Err(DropReason::PKeyOutbound);
            }
            None | Some(_) => {}
        }
        if seen.payload > port.mtu().octets() {
            return Err(DropReason::OutMtu);
        }
        let table = usize::from(in_port) * self.ports.len() + usize::from(out_port);
        port.lane(&self.sl_to_vl[table], seen.lrh.sl)
    }

    /// Hands a packet to the switch's own agents, with the checks that an end node makes.
    fn deliver(&mut self, in_port: u8, lrh: &Lrh, mut frame: Frame) {
        self.ports[0]
            .counters
            .received(&frame, is_multicast(&frame));
        let checked = Packet::parse(frame.bytes(), frame.form())
            .map_err(DropReason::from)
            .and_then(|packet| {
                let pkey_index = self.check_own(lrh, &packet, &frame)?;
                let src_qpn = packet
                    .ext
                    .deth()
                    .map_or_else(Qpn::default, |deth| deth.src_qpn);
                let place = (packet.headers_len(), packet.payload.len());
                Ok((src_qpn, packet.bth.dest_qpn, pkey_index, packet.grh, place))
            });
        let (src_qpn, dest_qpn, pkey_index, grh, (headers, payload)) = match checked {
            Ok(checked) => checked,
            Err(reason) => return self.refuse(&frame, reason),
        };
        if self.management.len() >= MANAGEMENT_DEPTH {
            let reason = if dest_qpn == Qpn::SMI {
                DropReason::Vl15Overrun
            } else {
                DropReason::Qp1Overrun
            };
            return self.ports[0].drop_frame(&frame, reason);
        }
        frame.pop_front(headers);
        frame.truncate(payload);
        self.management.push_back(ManagementFrame {
            port: in_port,
            slid: lrh.slid,
            dlid: lrh.dlid,
            sl: lrh.sl,
            src_qpn,
            dest_qpn,
            pkey_index,
            grh,
            payload: frame,
        });
    }

    /// IBA 9.6, for QP0 and QP1 of port 0. Gives the index of the P_Key.
    fn check_own(&self, lrh: &Lrh, packet: &Packet<'_>, frame: &Frame) -> Result<u16, DropReason> {
        if !frame.icrc_is_right() {
            return Err(DropReason::IcrcError);
        }
        let port = &self.ports[0];
        if lrh.dlid != Lid::PERMISSIVE && !port.owns_lid(lrh.dlid) {
            return Err(DropReason::NotMine);
        }
        let (Opcode::UdSendOnly | Opcode::UdSendOnlyImmediate, Some(deth)) =
            (packet.bth.opcode, packet.ext.deth())
        else {
            return Err(DropReason::QpService);
        };
        match (packet.bth.dest_qpn, frame.vl()) {
            (Qpn::SMI, Vl::MANAGEMENT) => Ok(0),
            (Qpn::SMI, _) => Err(DropReason::SmpOnDataVl),
            (Qpn::GSI, _) => {
                let index = port
                    .pkeys()
                    .matching(packet.bth.pkey)
                    .ok_or(DropReason::PKeyMismatch)?;
                if deth.qkey == QKey::GSI {
                    Ok(index)
                } else {
                    Err(DropReason::QKeyMismatch)
                }
            }
            _ => Err(DropReason::NoSuchQp),
        }
    }

    /// Drops a packet that was for the switch itself; key violations are announced.
    fn refuse(&mut self, frame: &Frame, reason: DropReason) {
        let port = &mut self.ports[0];
        port.drop_frame(frame, reason);
        let Ok(packet) = Packet::parse(frame.bytes(), frame.form()) else {
            return;
        };
        match reason {
            DropReason::PKeyMismatch => {
                port.pkey_violation(KeyViolation::of(&packet, packet.bth.pkey));
            }
            DropReason::QKeyMismatch => {
                let qkey = packet
                    .ext
                    .deth()
                    .map_or_else(QKey::default, |deth| deth.qkey);
                port.qkey_violation(KeyViolation::of(&packet, qkey));
            }
            _ => return,
        }
        self.stirred = true;
    }

    /// Sends a management packet of the switch's own.
    ///
    /// # Errors
    /// Why it cannot be sent. What happens to it later is counted at the port that it leaves by.
    pub fn send_management(
        &mut self,
        now: softib_wire::time::Instant,
        send: ManagementSend,
    ) -> Result<(), DropReason> {
        self.now = now;
        let own = &self.ports[0];
        let smp = send.src_qpn == Qpn::SMI;
        let (dlid, slid) = match send.route {
            Route::Port(_) => (Lid::PERMISSIVE, Lid::PERMISSIVE),
            Route::Lid(lid) => (lid, own.lid()),
        };
        let out_port = match send.route {
            Route::Port(port) if usize::from(port) < self.ports.len() => port,
            Route::Port(_) => return Err(DropReason::NoSuchPort),
            // Port 0 is no port that a packet could come back to: no loop rule.
            Route::Lid(lid) if lid.is_unicast() => self.unicast(0xFF, lid)?,
            Route::Lid(_) => return Err(DropReason::NotMine),
        };
        let pkey = if smp {
            SMP_PKEY
        } else {
            own.pkeys()
                .get(send.pkey_index)
                .ok_or(DropReason::PKeyMismatch)?
        };
        let grh = match send.global {
            None => None,
            Some(global) => Some(global.header(own).ok_or(DropReason::GidMismatch)?),
        };
        let mut frame = send.payload;
        push_headers(
            &mut frame,
            &UdHeaders {
                // Data lanes are chosen where it leaves.
                vl: if smp { Vl::MANAGEMENT } else { Vl::default() },
                sl: send.sl,
                dlid,
                slid,
                grh,
                solicited: false,
                pkey,
                dest_qpn: send.dest_qpn,
                psn: self.psn,
                qkey: if smp { QKey::default() } else { send.qkey },
                src_qpn: send.src_qpn,
                immediate: None,
            },
        );
        self.psn = Psn::from_bits_truncate(self.psn.bits() + 1);
        self.ports[0].counters.transmitted(&frame, false);
        let seen = Seen::of(&frame)?;
        if out_port == 0 {
            self.deliver(0, &seen.lrh, frame);
        } else {
            self.forward(0, out_port, &seen, frame);
        }
        Ok(())
    }
}
