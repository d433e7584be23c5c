//! A host's side of a node: IPoIB interfaces on queue pairs of the adapter, and their questions to
//! the subnet administration.

use core::net::IpAddr;
use std::collections::BTreeMap;

use softib_fabric::frame::Pool;
use softib_fabric::hca::{CompletionKind, CqId, QpCaps, QpId, QpKind, Status, UdAttributes};
use softib_fabric::port::Port;
use softib_ipoib::{
    Action, AddressState, Interface, InterfaceConfig, Partition, PortEvent, SaToken,
};
use softib_mgmt::sa_client::{RequestId, SaClient, SaError, SaReply, UserId};
use softib_wire::addr::{PKey, QKey};
use softib_wire::ipoib::AddressFlags;
use softib_wire::time::Instant;
use softib_wire::units::Mtu;

use super::device::{Adapter, Device};
use super::{Node, Outbox};
use crate::event::NodeChange;
use crate::spec::InterfaceSpec;

/// An interface with its queue pair.
#[derive(Debug)]
pub(crate) struct HostInterface {
    pub(crate) ip: Interface,
    pub(crate) qp: QpId,
    /// Whether its administrator switched it on.
    pub(crate) admin_up: bool,
    pub(crate) carrier: bool,
    cq: CqId,
    /// Questions under way, by the client's names for them.
    asked: BTreeMap<RequestId, SaToken>,
}

/// Sends and receives of an interface's queue pair: the rings of Linux's driver, times four, as a
/// receive here holds no memory.
const CAPS: QpCaps = QpCaps {
    send: 512,
    recv: 1024,
    block_multicast_loopback: true,
};

impl HostInterface {
    /// Whether it has carrier, and none of its addresses is still being checked for duplicates.
    pub(crate) fn is_ready(&self) -> bool {
        self.carrier && self.address_in_question().is_none()
    }

    /// An address that is still being checked for duplicates.
    pub(crate) fn address_in_question(&self) -> Option<IpAddr> {
        self.ip.addresses().find_map(|(ip, _, state)| match state {
            AddressState::Tentative | AddressState::Detecting { .. } => Some(ip),
            AddressState::Valid | AddressState::Duplicate => None,
        })
    }

    /// An interface, switched off.
    pub(super) fn new(
        adapter: &mut Adapter,
        spec: &InterfaceSpec,
        prefix: u64,
        pool: &Pool,
        rng: &mut fastrand::Rng,
    ) -> Self {
        let hca = &mut adapter.hca;
        let cq = hca.create_cq(CAPS.send + CAPS.recv);
        let qp = hca
            .create_qp(spec.port, QpKind::Ud, cq, cq, CAPS)
            .expect("the specification was checked: the port is there");
        hca.activate_ud_qp(qp, QKey::default(), 0)
            .expect("a new queue pair goes to Rts");
        hca.post_recv(qp, CAPS.recv)
            .expect("a new queue pair has room");
        let port = hca.port(spec.port);
        let ip = Interface::new(
            InterfaceConfig {
                name: spec.name.clone(),
                port_guid: port.map(Port::guid).unwrap_or_default(),
                gid_prefix: prefix,
                qpn: qp.qpn(),
                partition: spec.pkey.map_or(Partition::First, Partition::Named),
                pkeys: port.map_or_else(Vec::new, pkeys),
                max_mtu: port.map_or(Mtu::B4096, Port::mtu_cap),
                mtu: spec.mtu,
                flags: AddressFlags::empty(),
                seed: rng.u64(..),
            },
            pool.clone(),
        )
        .expect("the specification was checked: the MTU is in range");
        Self {
            ip,
            qp,
            admin_up: false,
            carrier: false,
            cq,
            asked: BTreeMap::new(),
        }
    }
}

/// The client of subnet administration of a port.
pub(super) fn sa_client(adapter: &Adapter, port: u8, rng: &mut fastrand::Rng) -> SaClient {
    debug_assert!(adapter.hca.port(port).is_some());
    SaClient::new(rng.u32(..))
}

fn pkeys(port: &Port) -> Vec<PKey> {
    port.pkeys().entries().to_vec()
}

impl Node {
    /// Carries packets, completions and wishes between interfaces and the adapter.
    pub(super) fn drive_interfaces(&mut self, now: Instant, out: &mut Outbox) -> bool {
        let Device::Adapter(adapter) = &mut self.device else {
            return false;
        };
        let mut busy = false;
        for (index, interface) in self.interfaces.iter_mut().enumerate() {
            let number = u16::try_from(index).unwrap_or(u16::MAX);
            while let Some(completion) = adapter.hca.poll_cq(interface.cq) {
                match completion.kind {
                    CompletionKind::Receive(received) => {
                        // The receive that it used is there for the next one.
                        let _ = adapter.hca.post_recv(interface.qp, 1);
                        interface.ip.handle_received(now, received);
                    }
                    CompletionKind::Send => {
                        let ok = completion.status == Status::Success;
                        interface.ip.handle_send_done(now, completion.wr_id, ok);
                    }
                }
            }
            while let Some(action) = interface.ip.poll_action() {
                match action {
                    Action::Send(send) => {
                        let wr_id = send.wr_id;
                        if adapter.hca.post_ud_send(interface.qp, send).is_err() {
                            interface.ip.handle_send_done(now, wr_id, false);
                        } else {
                            // Loop-back on the adapter completes receives at once.
                            busy = true;
                        }
                    }
                    Action::Deliver(frame) => out.ip.push((number, frame)),
                    Action::Attach { mgid, mlid } => {
                        let _ = adapter.hca.attach_multicast(interface.qp, mgid, mlid);
                    }
                    Action::Detach { mgid, mlid } => {
                        let _ = adapter.hca.detach_multicast(interface.qp, mgid, mlid);
                    }
                    Action::SetQKey(qkey) => {
                        let wanted = UdAttributes {
                            qkey: Some(qkey),
                            ..UdAttributes::default()
                        };
                        let _ = adapter.hca.modify_ud_qp(interface.qp, wanted);
                    }
                    Action::SetPKeyIndex(pkey_index) => {
                        let wanted = UdAttributes {
                            pkey_index: Some(pkey_index),
                            ..UdAttributes::default()
                        };
                        let _ = adapter.hca.modify_ud_qp(interface.qp, wanted);
                    }
                    Action::SaRequest(token, request) => {
                        busy = true;
                        let client = usize::from(interface.qp.port()).checked_sub(1);
                        if let Some(client) =
                            client.and_then(|index| self.sa_clients.get_mut(index))
                        {
                            let user = UserId(u32::from(number));
                            let id = client.request(user, *request);
                            interface.asked.insert(id, token);
                        }
                    }
                    Action::SaCancel(token) => {
                        let client = usize::from(interface.qp.port()).checked_sub(1);
                        let id = interface
                            .asked
                            .iter()
                            .find_map(|(&id, &asked)| (asked == token).then_some(id));
                        if let Some(id) = id {
                            interface.asked.remove(&id);
                            if let Some(client) =
                                client.and_then(|index| self.sa_clients.get_mut(index))
                            {
                                client.cancel(id);
                            }
                        }
                    }
                    Action::Carrier(up) => {
                        interface.carrier = up;
                        out.changes.push(NodeChange::Carrier {
                            interface: number,
                            up,
                        });
                    }
                    Action::Mtu(mtu) => {
                        out.changes.push(NodeChange::Mtu {
                            interface: number,
                            mtu,
                        });
                    }
                    Action::HardwareAddress(address) => {
                        out.changes.push(NodeChange::HardwareAddress {
                            interface: number,
                            address,
                        });
                    }
                    Action::DuplicateAddress { ip, owner } => {
                        out.changes.push(NodeChange::DuplicateAddress {
                            interface: number,
                            ip,
                            owner,
                        });
                    }
                }
            }
        }
        busy
    }

    /// An answer of the subnet administration, for whichever interface asked.
    pub(super) fn handle_sa_reply(
        &mut self,
        now: Instant,
        id: RequestId,
        reply: Result<SaReply, SaError>,
        port: u8,
    ) {
        for interface in &mut self.interfaces {
            if interface.qp.port() == port
                && let Some(token) = interface.asked.remove(&id)
            {
                interface.ip.handle_sa_reply(now, token, reply);
                return;
            }
        }
    }

    /// Tells the interfaces of a port what happened to it.
    pub(super) fn tell_interfaces(
        &mut self,
        now: Instant,
        port: u8,
        event: impl Fn(&Port) -> HostEvent,
    ) {
        let Device::Adapter(adapter) = &self.device else {
            return;
        };
        let Some(state) = adapter.hca.port(port) else {
            return;
        };
        let happened = event(state);
        for interface in &mut self.interfaces {
            if interface.qp.port() == port {
                interface.ip.handle_port(now, happened.as_port_event());
            }
        }
    }
}

/// What happened to a port, for its interfaces.
#[derive(Debug)]
pub(super) enum HostEvent {
    Active(softib_wire::addr::Lid, u8),
    Down,
    Lid(softib_wire::addr::Lid, u8),
    PKeys(Vec<PKey>),
    Prefix(u64),
    Reregister,
}

impl HostEvent {
    pub(super) fn active(port: &Port) -> Self {
        Self::Active(port.lid(), port.lmc())
    }

    pub(super) fn lid(port: &Port) -> Self {
        Self::Lid(port.lid(), port.lmc())
    }

    pub(super) fn pkeys(port: &Port) -> Self {
        Self::PKeys(pkeys(port))
    }

    fn as_port_event(&self) -> PortEvent<'_> {
        match *self {
            Self::Active(lid, lmc) => PortEvent::Active { lid, lmc },
            Self::Down => PortEvent::Down,
            Self::Lid(lid, lmc) => PortEvent::LidChanged { lid, lmc },
            Self::PKeys(ref table) => PortEvent::PKeysChanged { table },
            Self::Prefix(prefix) => PortEvent::GidChanged { prefix },
            Self::Reregister => PortEvent::ClientReregister,
        }
    }
}
