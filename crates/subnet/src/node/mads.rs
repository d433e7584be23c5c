//! Where a MAD goes within a node: directed routes, agents, the manager, clients.

use softib_mgmt::agents::sma::Arrival;
use softib_mgmt::agents::smi::{self, Decision};
use softib_mgmt::mad::{Endpoint, Mad};
use softib_mgmt::sm::{Route, SmIncoming};
use softib_wire::addr::{Lid, Qpn};
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::{class, method};
use softib_wire::time::Instant;

use super::device::{IncomingMad, mad_frame};
use super::{Node, Outbox};
use crate::drop::NodeDropReason;
use crate::event::NodeChange;

/// Where an SMP came from: the port, and who gets the answer if it is LID-routed.
#[derive(Debug, Clone, Copy)]
struct Origin {
    port: u8,
    from: Endpoint,
}

impl Node {
    /// Takes a MAD that came to QP0 or QP1.
    pub(super) fn handle_mad(&mut self, now: Instant, incoming: IncomingMad) {
        let Ok(mad) = <&Mad>::try_from(incoming.mad.bytes()) else {
            self.drop_one(NodeDropReason::MadLength);
            return;
        };
        let mut mad = *mad;
        let origin = Origin {
            port: incoming.port,
            from: incoming.from,
        };
        if incoming.qpn == Qpn::SMI {
            self.handle_smp(now, &mut mad, origin);
        } else {
            self.handle_gmp(now, &mad, origin);
        }
    }

    fn handle_smp(&mut self, now: Instant, mad: &mut Mad, origin: Origin) {
        let decision = match mad[1] {
            class::SUBN_DIRECTED => smi::receive(
                mad,
                self.device.node_type(),
                origin.port,
                self.device.port_count(),
            ),
            class::SUBN_LID => smi::consumer(mad),
            _ => {
                self.drop_one(NodeDropReason::ClassOfQp0);
                return;
            }
        };
        self.carry_out(now, mad, origin, decision);
    }

    /// Does with an SMP what its route, or its purpose, says.
    fn carry_out(&mut self, now: Instant, mad: &Mad, origin: Origin, decision: Decision) {
        match decision {
            Decision::Agent => self.ask_agent(now, mad, origin),
            Decision::Manager => match &mut self.manager {
                Some(seat) => {
                    seat.manager.handle_mad(
                        now,
                        SmIncoming {
                            from: origin.from,
                            mad,
                        },
                    );
                }
                None => self.drop_one(NodeDropReason::NoManager),
            },
            Decision::Forward(port) => {
                let frame = mad_frame(&self.pool, mad);
                if !self.device.send_directed(now, port, frame) {
                    self.drop_one(NodeDropReason::MadNotSent);
                }
            }
            Decision::LidRoute(lid) => {
                let to = Endpoint::smi(lid, origin.from.sl);
                self.send_by_lid(now, self.device.end_port(origin.port), &to, mad);
            }
            Decision::AsAddressed => {
                self.send_by_lid(now, self.device.end_port(origin.port), &origin.from, mad);
            }
            Decision::Discard(reason) => self.smi_drops.add(reason),
        }
    }

    fn ask_agent(&mut self, now: Instant, mad: &Mad, origin: Origin) {
        let arrival = Arrival {
            port: origin.port,
            slid: origin.from.lid,
        };
        let Some(mut answer) = self.sma.handle_smp(now, &mut self.device, arrival, mad) else {
            return;
        };
        if smi::is_directed(&answer) {
            let (node_type, ports) = (self.device.node_type(), self.device.port_count());
            let decision = smi::send(&mut answer, node_type, ports);
            self.carry_out(now, &answer, origin, decision);
        } else {
            self.send_by_lid(
                now,
                self.device.end_port(origin.port),
                &origin.from,
                &answer,
            );
        }
    }

    /// A MAD of the general services: by its class to an agent, the administrator or a client.
    fn handle_gmp(&mut self, now: Instant, mad: &Mad, origin: Origin) {
        let Ok(header) = MadHeader::parse(mad) else {
            self.drop_one(NodeDropReason::MadLength);
            return;
        };
        let port = self.device.end_port(origin.port);
        match header.class {
            class::PERF_MGT => {
                let ports = self.device.port_count();
                if let Some(answer) = self.pma.handle_mad(&self.device, ports, mad) {
                    self.send_by_lid(now, port, &origin.from, &answer);
                }
            }
            class::SUBN_ADM => {
                let for_client = header.is_response() || header.method == method::REPORT;
                let client = usize::from(port).checked_sub(1);
                match (for_client, &mut self.manager) {
                    (true, _) => match client.and_then(|index| self.sa_clients.get_mut(index)) {
                        Some(client) => client.handle_mad(now, &origin.from, mad),
                        None => self.drop_one(NodeDropReason::NobodyWaits),
                    },
                    (false, Some(seat)) => {
                        seat.manager.handle_mad(
                            now,
                            SmIncoming {
                                from: origin.from,
                                mad,
                            },
                        );
                    }
                    (false, None) => self.refuse(now, port, &header, mad, &origin.from),
                }
            }
            _ if header.is_response() => self.drop_one(NodeDropReason::NobodyWaits),
            _ => self.refuse(now, port, &header, mad, &origin.from),
        }
    }

    /// IBA 13.4.7: a question that nobody here can answer is answered by status; what asks for no
    /// answer is dropped.
    fn refuse(&mut self, now: Instant, port: u8, header: &MadHeader, mad: &Mad, from: &Endpoint) {
        self.drop_one(NodeDropReason::ClassOfQp1);
        if matches!(header.method, method::GET | method::SET) {
            let mut answer = *mad;
            header
                .response_to(MadStatus::BAD_METHOD_ATTRIBUTE)
                .emit(&mut answer);
            self.send_by_lid(now, port, from, &answer);
        }
    }

    /// What the manager has to send and to tell.
    pub(super) fn drive_manager(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let mut busy = false;
        while let Some(seat) = &mut self.manager {
            while let Some(event) = seat.manager.poll_event() {
                out.changes.push(NodeChange::Manager(Box::new(event)));
            }
            let port = seat.port;
            let Some(outgoing) = seat.manager.poll_transmit(now) else {
                break;
            };
            busy = true;
            let mut mad = outgoing.mad;
            match outgoing.route {
                Route::Directed => {
                    let (node_type, ports) = (self.device.node_type(), self.device.port_count());
                    let decision = smi::send(&mut mad, node_type, ports);
                    let from = Endpoint::smi(Lid::PERMISSIVE, softib_wire::addr::Sl::default());
                    self.carry_out(now, &mad, Origin { port, from }, decision);
                }
                Route::Lid(to) => self.send_by_lid(now, port, &to, &mad),
            }
        }
        busy
    }

    /// Sends a MAD by LID from a port (0 of a switch).
    pub(super) fn send_by_lid(&mut self, now: Instant, port: u8, to: &Endpoint, mad: &Mad) {
        let frame = mad_frame(&self.pool, mad);
        if !self.device.send_by_lid(now, port, to, frame) {
            self.drop_one(NodeDropReason::MadNotSent);
        }
    }
}
