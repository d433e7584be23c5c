//! What a device tells of itself, and who else on the node must know.

use softib_fabric::NodeEvent;
use softib_fabric::event::KeyViolation;
use softib_wire::addr::{Gid, QKey};
use softib_wire::mad::notice::Details;
use softib_wire::mad::notice::details::{BadKeyDetails, LinkStateDetails, SwitchBadPKeyDetails};
use softib_wire::time::Instant;
use softib_wire::units::PortState;

use super::host::HostEvent;
use super::{Node, Outbox};
use crate::event::NodeChange;

impl Node {
    pub(super) fn handle_event(&mut self, now: Instant, event: NodeEvent, out: &mut Outbox) {
        match event {
            NodeEvent::PortDown { port } => {
                self.port_changed(now, port, PortState::Down, out);
                self.forget_memberships(port);
                self.tell_interfaces(now, port, |_| HostEvent::Down);
            }
            NodeEvent::PortInit { port } => self.port_changed(now, port, PortState::Init, out),
            NodeEvent::PortArmed { port } => {
                out.changes.push(NodeChange::Port {
                    port,
                    state: PortState::Armed,
                });
            }
            NodeEvent::PortActive { port } => {
                out.changes.push(NodeChange::Port {
                    port,
                    state: PortState::Active,
                });
                self.sa_client(port, |client, state| {
                    let (lid, sl) = state.master_sm();
                    client.set_sm(lid, sl);
                });
                self.tell_interfaces(now, port, HostEvent::active);
            }
            NodeEvent::LidChanged { port } => {
                self.forget_memberships(port);
                self.tell_interfaces(now, port, HostEvent::lid);
            }
            NodeEvent::SmChanged { port } => self.sa_client(port, |client, state| {
                let (lid, sl) = state.master_sm();
                client.set_sm(lid, sl);
            }),
            NodeEvent::PKeysChanged { port } => self.tell_interfaces(now, port, HostEvent::pkeys),
            NodeEvent::GidChanged { port } => {
                self.forget_memberships(port);
                self.tell_interfaces(now, port, |state| HostEvent::Prefix(state.gid_prefix()));
            }
            NodeEvent::ClientReregister { port } => {
                self.forget_memberships(port);
                self.tell_interfaces(now, port, |_| HostEvent::Reregister);
            }
            NodeEvent::PKeyViolation { port, violation } => {
                let details = self.bad_pkey(port, violation);
                self.sma
                    .notify(now, &self.device, self.device.end_port(port), details);
            }
            NodeEvent::QKeyViolation { port, violation } => {
                let details = Details::BadQKey(bad_key(violation));
                self.sma
                    .notify(now, &self.device, self.device.end_port(port), details);
            }
            NodeEvent::CqOverrun { .. } => out.changes.push(NodeChange::CompletionsLost),
            NodeEvent::Physical { port, .. } | NodeEvent::Flow { port, .. } => {
                out.link_events.push((port, event));
            }
        }
    }

    /// The link of a port came or went.
    fn port_changed(&mut self, now: Instant, port: u8, state: PortState, out: &mut Outbox) {
        out.changes.push(NodeChange::Port { port, state });
        if self.is_switch()
            && let Some(own) = self.device.port(0)
            && own.master_sm().0.is_unicast()
        {
            // IBA 14.3.4: a switch tells its manager by trap 128. Before there is one, PortStateChange
            // tells whoever comes.
            let details = Details::LinkStateChange(LinkStateDetails { lid: own.lid() });
            self.sma.notify(now, &self.device, 0, details);
        }
        if let Some(seat) = &mut self.manager
            && (seat.port == port || seat.port == 0)
        {
            // A manager on a switch reaches its own port 0 whatever happens to links; it hears of
            // them as of any others.
            let up = seat.port == 0 || state != PortState::Down;
            seat.manager.handle_port(now, up);
        }
    }

    /// The administrator's memory of this port's memberships is gone, or is of another address:
    /// what interfaces ask for from now on must reach it. They are told after this.
    fn forget_memberships(&mut self, port: u8) {
        self.sa_client(port, |client, _| client.reset_memberships());
    }

    /// Does something with a port's client of subnet administration.
    fn sa_client(
        &mut self,
        port: u8,
        with: impl FnOnce(&mut softib_mgmt::sa_client::SaClient, &softib_fabric::port::Port),
    ) {
        let client = usize::from(port).checked_sub(1);
        let client = client.and_then(|index| self.sa_clients.get_mut(index));
        if let (Some(client), Some(state)) = (client, self.device.port(port)) {
            with(client, state);
        }
    }

    fn bad_pkey(&self, port: u8, violation: KeyViolation<softib_wire::addr::PKey>) -> Details {
        if !self.is_switch() || port == 0 {
            let key = QKey::new(violation.key.bits().into());
            return Details::BadPKey(bad_key(KeyViolation {
                slid: violation.slid,
                dlid: violation.dlid,
                key,
                sl: violation.sl,
                src_qpn: violation.src_qpn,
                dest_qpn: violation.dest_qpn,
                gids: violation.gids,
            }));
        }
        let (gid1, gid2) = violation.gids.unwrap_or((Gid::NONE, Gid::NONE));
        Details::SwitchBadPKey(SwitchBadPKeyDetails {
            data_valid: 0xFFFF,
            lid1: violation.slid,
            lid2: violation.dlid,
            pkey: violation.key,
            sl: violation.sl,
            qp1: violation.src_qpn,
            qp2: violation.dest_qpn,
            gid1,
            gid2,
            switch_lid: self
                .device
                .port(0)
                .map_or(softib_wire::addr::Lid::NONE, softib_fabric::port::Port::lid),
            port,
        })
    }
}

fn bad_key(violation: KeyViolation<QKey>) -> BadKeyDetails {
    let (gid1, gid2) = violation.gids.unwrap_or((Gid::NONE, Gid::NONE));
    BadKeyDetails {
        lid1: violation.slid,
        lid2: violation.dlid,
        key: violation.key,
        sl: violation.sl,
        qp1: violation.src_qpn,
        qp2: violation.dest_qpn,
        gid1,
        gid2,
    }
}
