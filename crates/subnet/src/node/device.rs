//! A device as its agents see it: an adapter or a switch under one set of calls.
//!
//! The data plane knows nothing of MADs and management nothing of packets; this is where they
//! meet.

use softib_fabric::event::VlMask;
use softib_fabric::frame::{Frame, Pool};
use softib_fabric::hca::{
    AddressVector, CompletionKind, CqId, Hca, HcaConfig, QpCaps, QpId, QpKind, UdSend,
};
use softib_fabric::management::{ManagementSend, Route};
use softib_fabric::port::{Port, PortConfig, PortCounters};
use softib_fabric::switch::{Switch, SwitchConfig};
use softib_fabric::{NodeEvent, hca};
use softib_mgmt::agents::{Counters, ManagedNode};
use softib_mgmt::mad::{Endpoint, GlobalRoute, Mad};
use softib_wire::addr::{Guid, Lid, QKey, Qpn};
use softib_wire::error::InvalidField;
use softib_wire::grh::Grh;
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock,
};
use softib_wire::time::Instant;
use softib_wire::units::{Mtu, NodeType};

/// Management packets that may wait at a port for its agents, and that may be on their way out.
const MANAGEMENT_DEPTH: u32 = 4096;

/// A MAD that came in.
#[derive(Debug)]
pub(crate) struct IncomingMad {
    /// The port that it came in by; of a switch 0 when the switch itself sent it.
    pub(crate) port: u8,
    /// QP0 or QP1.
    pub(crate) qpn: Qpn,
    /// Who sent it.
    pub(crate) from: Endpoint,
    /// The MAD.
    pub(crate) mad: Frame,
}

/// An adapter or a switch.
#[derive(Debug)]
pub(crate) enum Device {
    Adapter(Box<Adapter>),
    Switch(Box<Switch>),
}

/// An adapter with its management queue pairs.
#[derive(Debug)]
pub(crate) struct Adapter {
    pub(crate) hca: Hca,
    /// Where QP0 and QP1 of all ports complete.
    management: CqId,
    /// QP0 and QP1 of each port, that of port 1 first.
    qps: Vec<[QpId; 2]>,
}

impl Device {
    /// A host's adapter. Port `n` has the node's GUID plus `n`.
    pub(crate) fn adapter(guid: Guid, ports: u8, mtu: Mtu, description: &str) -> Self {
        let ports: Vec<_> = (1..=ports)
            .map(|port| PortConfig {
                mtu,
                ..PortConfig::new(Guid::new(guid.bits() + u64::from(port)))
            })
            .collect();
        let count = ports.len();
        let mut hca = Hca::new(HcaConfig {
            node_guid: guid,
            system_image_guid: guid,
            ports,
            description: description.to_owned(),
        });
        let management = hca.create_cq(2 * MANAGEMENT_DEPTH);
        let caps = QpCaps {
            send: MANAGEMENT_DEPTH,
            recv: MANAGEMENT_DEPTH,
            block_multicast_loopback: true,
        };
        let mut make = |port, kind| {
            let qp = hca
                .create_qp(port, kind, management, management, caps)
                .expect("the port is there and has no QP0 and QP1 yet");
            hca.post_recv(qp, MANAGEMENT_DEPTH)
                .expect("a new queue pair has room");
            qp
        };
        let qps = (1..=u8::MAX)
            .take(count)
            .map(|port| [make(port, QpKind::Smi), make(port, QpKind::Gsi)])
            .collect();
        Self::Adapter(Box::new(Adapter {
            hca,
            management,
            qps,
        }))
    }

    /// A switch.
    pub(crate) fn switch(guid: Guid, ports: u8, mtu: Mtu, description: &str) -> Self {
        Self::Switch(Box::new(Switch::new(SwitchConfig {
            node_guid: guid,
            system_image_guid: guid,
            ports,
            description: description.to_owned(),
            port: PortConfig {
                mtu,
                ..PortConfig::new(guid)
            },
        })))
    }

    pub(crate) const fn node_type(&self) -> NodeType {
        match self {
            Self::Adapter(_) => NodeType::ChannelAdapter,
            Self::Switch(_) => NodeType::Switch,
        }
    }

    /// External ports.
    pub(crate) fn port_count(&self) -> u8 {
        match self {
            Self::Adapter(adapter) => adapter.hca.port_count(),
            Self::Switch(switch) => switch.port_count(),
        }
    }

    pub(crate) fn port(&self, port: u8) -> Option<&Port> {
        match self {
            Self::Adapter(adapter) => adapter.hca.port(port),
            Self::Switch(switch) => switch.port(port),
        }
    }

    pub(crate) fn port_mut(&mut self, port: u8) -> Option<&mut Port> {
        match self {
            Self::Adapter(adapter) => adapter.hca.port_mut(port),
            Self::Switch(switch) => switch.port_mut(port),
        }
    }

    /// The port whose address the node answers with: of a switch port 0, of an adapter the port
    /// itself.
    pub(crate) const fn end_port(&self, port: u8) -> u8 {
        match self {
            Self::Adapter(_) => port,
            Self::Switch(_) => 0,
        }
    }

    #[inline]
    pub(crate) fn handle_frame(&mut self, now: Instant, port: u8, frame: Frame) {
        match self {
            Self::Adapter(adapter) => adapter.hca.handle_frame(now, port, frame),
            Self::Switch(switch) => switch.handle_frame(now, port, frame),
        }
    }

    pub(crate) fn handle_link(&mut self, now: Instant, port: u8, up: bool) {
        match self {
            Self::Adapter(adapter) => adapter.hca.handle_link(now, port, up),
            Self::Switch(switch) => switch.handle_link(now, port, up),
        }
    }

    pub(crate) fn handle_ready(&mut self, now: Instant, port: u8, ready: VlMask) {
        match self {
            Self::Adapter(adapter) => adapter.hca.handle_ready(now, port, ready),
            Self::Switch(switch) => switch.handle_ready(now, port, ready),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Adapter(adapter) => adapter.hca.handle_timeout(now),
            Self::Switch(switch) => switch.handle_timeout(now),
        }
    }

    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Adapter(adapter) => adapter.hca.poll_timeout(),
            Self::Switch(switch) => switch.poll_timeout(),
        }
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self) -> Option<(u8, Frame)> {
        match self {
            Self::Adapter(adapter) => adapter.hca.poll_transmit(),
            Self::Switch(switch) => switch.poll_transmit(),
        }
    }

    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<NodeEvent> {
        match self {
            Self::Adapter(adapter) => adapter.hca.poll_event(),
            Self::Switch(switch) => switch.poll_event(),
        }
    }

    /// The next MAD for QP0 or QP1.
    #[inline]
    pub(crate) fn poll_mad(&mut self) -> Option<IncomingMad> {
        match self {
            Self::Adapter(adapter) => adapter.poll_mad(),
            Self::Switch(switch) => {
                let frame = switch.poll_management()?;
                let base = switch.port(0).map_or(Lid::NONE, Port::lid);
                Some(IncomingMad {
                    port: frame.port,
                    qpn: frame.dest_qpn,
                    from: Endpoint {
                        lid: frame.slid,
                        qpn: frame.src_qpn,
                        sl: frame.sl,
                        path_bits: path_bits(frame.dlid, base),
                        pkey_index: frame.pkey_index,
                        grh: frame.grh.as_ref().map(way_back),
                    },
                    mad: frame.payload,
                })
            }
        }
    }

    /// Sends a directed-route SMP out of a port. Whether it was taken.
    pub(crate) fn send_directed(&mut self, now: Instant, port: u8, mad: Frame) -> bool {
        match self {
            Self::Adapter(adapter) => adapter.hca.post_smp(port, mad).is_ok(),
            Self::Switch(switch) => switch
                .send_management(now, ManagementSend::smp(Route::Port(port), mad))
                .is_ok(),
        }
    }

    /// Sends a MAD by LID, from QP0 or QP1 of a port (0 of a switch) as `to` says. Whether it was
    /// taken.
    pub(crate) fn send_by_lid(
        &mut self,
        now: Instant,
        port: u8,
        to: &Endpoint,
        mad: Frame,
    ) -> bool {
        let global = |local: &Port| {
            to.grh.map(|grh| hca::GlobalRoute {
                dgid: grh.peer,
                sgid_index: (0..=u8::MAX)
                    .take(32)
                    .find(|&index| local.gid(index) == Some(grh.local))
                    .unwrap_or(0),
                flow_label: grh.flow_label,
                hop_limit: grh.hop_limit,
                traffic_class: grh.traffic_class,
            })
        };
        let smp = to.qpn == Qpn::SMI;
        let qkey = if smp { QKey::default() } else { QKey::GSI };
        match self {
            Self::Adapter(adapter) => {
                let Some(&qps) = usize::from(port)
                    .checked_sub(1)
                    .and_then(|i| adapter.qps.get(i))
                else {
                    return false;
                };
                let send = UdSend {
                    wr_id: 0,
                    address: AddressVector {
                        dlid: to.lid,
                        sl: to.sl,
                        path_bits: to.path_bits,
                        rate: None,
                        global: adapter.hca.port(port).and_then(global),
                    },
                    dest_qpn: to.qpn,
                    qkey,
                    pkey_index: Some(to.pkey_index),
                    payload: mad,
                    signaled: false,
                };
                adapter
                    .hca
                    .post_ud_send(qps[usize::from(!smp)], send)
                    .is_ok()
            }
            Self::Switch(switch) => {
                let send = ManagementSend {
                    route: Route::Lid(to.lid),
                    sl: to.sl,
                    src_qpn: if smp { Qpn::SMI } else { Qpn::GSI },
                    dest_qpn: to.qpn,
                    pkey_index: to.pkey_index,
                    qkey,
                    global: switch.port(0).and_then(global),
                    payload: mad,
                };
                switch.send_management(now, send).is_ok()
            }
        }
    }
}

impl Adapter {
    fn poll_mad(&mut self) -> Option<IncomingMad> {
        loop {
            let completion = self.hca.poll_cq(self.management)?;
            let CompletionKind::Receive(received) = completion.kind else {
                continue;
            };
            let port = completion.qp.port();
            // The receive that it used is there for the next one.
            let _ = self.hca.post_recv(completion.qp, 1);
            let base = self.hca.port(port).map_or(Lid::NONE, Port::lid);
            return Some(IncomingMad {
                port,
                qpn: completion.qp.qpn(),
                from: Endpoint {
                    lid: received.slid,
                    qpn: received.src_qpn,
                    sl: received.sl,
                    path_bits: path_bits(received.dlid, base),
                    pkey_index: received.pkey_index,
                    grh: received.grh.as_ref().map(way_back),
                },
                mad: received.payload,
            });
        }
    }
}

/// A MAD as a frame.
pub(crate) fn mad_frame(pool: &Pool, mad: &Mad) -> Frame {
    pool.frame_from(mad)
}

/// Which of this port's LIDs a packet went to, so that the answer comes from it.
fn path_bits(dlid: Lid, base: Lid) -> u8 {
    if dlid == Lid::PERMISSIVE {
        return 0;
    }
    u8::try_from(dlid.bits().wrapping_sub(base.bits())).unwrap_or(0)
}

/// The global route of an answer.
fn way_back(grh: &Grh) -> GlobalRoute {
    GlobalRoute {
        local: grh.dgid,
        peer: grh.sgid,
        flow_label: grh.flow_label,
        traffic_class: grh.traffic_class,
        hop_limit: 0xFF,
    }
}

/// The node has no such port or table.
fn absent(attribute: &'static str, port: u8) -> InvalidField {
    InvalidField::new(
        attribute,
        port.into(),
        "of a port or table that the node has",
    )
}

impl ManagedNode for Device {
    fn node_info(&self, port: u8) -> NodeInfo {
        let end_port = self.port(self.end_port(port));
        let (node_guid, system_image_guid) = match self {
            Self::Adapter(adapter) => (adapter.hca.node_guid(), adapter.hca.system_image_guid()),
            Self::Switch(switch) => (switch.node_guid(), switch.system_image_guid()),
        };
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: self.node_type(),
            port_count: self.port_count(),
            system_image_guid,
            node_guid,
            port_guid: end_port.map(Port::guid).unwrap_or_default(),
            partition_cap: end_port.map_or(0, |port| port.pkeys().capacity()),
            device_id: 0x5F1B,
            revision: 1,
            local_port: port,
            vendor_id: 0,
        }
    }

    fn description(&self) -> NodeDescription {
        match self {
            Self::Adapter(adapter) => adapter.hca.description().into(),
            Self::Switch(switch) => switch.description().into(),
        }
    }

    fn port_info(&self, port: u8) -> Option<PortInfo> {
        self.port(port).map(|found| found.port_info(port))
    }

    fn set_port_info(
        &mut self,
        _now: Instant,
        port: u8,
        info: &PortInfo,
    ) -> Result<(), InvalidField> {
        let found = self
            .port_mut(port)
            .ok_or_else(|| absent("PortInfo port", port))?;
        found.set_port_info(info)
    }

    fn switch_info(&self) -> Option<SwitchInfo> {
        match self {
            Self::Adapter(_) => None,
            Self::Switch(switch) => Some(switch.switch_info()),
        }
    }

    fn set_switch_info(&mut self, _now: Instant, info: &SwitchInfo) -> Result<(), InvalidField> {
        match self {
            Self::Adapter(_) => Err(absent("SwitchInfo port", 0)),
            Self::Switch(switch) => switch.set_switch_info(info),
        }
    }

    fn guid_block(&self, port: u8, block: u8) -> Option<GuidBlock> {
        self.port(port)?.guid_block(block)
    }

    fn set_guid_block(
        &mut self,
        _now: Instant,
        port: u8,
        block: u8,
        guids: &GuidBlock,
    ) -> Result<(), InvalidField> {
        let found = self
            .port_mut(port)
            .ok_or_else(|| absent("GUIDInfo port", port))?;
        found.set_guid_block(block, guids)
    }

    fn pkey_block(&self, port: u8, block: u16) -> Option<PKeyBlock> {
        self.port(port)?.pkeys().block(block)
    }

    fn set_pkey_block(
        &mut self,
        _now: Instant,
        port: u8,
        block: u16,
        pkeys: &PKeyBlock,
    ) -> Result<(), InvalidField> {
        let found = self
            .port_mut(port)
            .ok_or_else(|| absent("P_KeyTable port", port))?;
        found.set_pkey_block(block, pkeys)
    }

    fn sl_to_vl(&self, input: u8, output: u8) -> Option<SlToVl> {
        match self {
            Self::Adapter(adapter) => adapter.hca.port(output).map(|port| *port.sl_to_vl()),
            Self::Switch(switch) => switch.sl_to_vl(input, output).copied(),
        }
    }

    fn set_sl_to_vl(
        &mut self,
        _now: Instant,
        input: u8,
        output: u8,
        lanes: &SlToVl,
    ) -> Result<(), InvalidField> {
        match self {
            Self::Adapter(adapter) => {
                let port = adapter.hca.port_mut(output);
                port.ok_or_else(|| absent("SLtoVLMappingTable port", output))?
                    .set_sl_to_vl(*lanes);
                Ok(())
            }
            Self::Switch(switch) => switch.set_sl_to_vl(input, output, *lanes),
        }
    }

    fn vl_arb(&self, port: u8, block: u8) -> Option<VlArbBlock> {
        match self {
            Self::Adapter(adapter) => adapter.hca.vl_arb(port, block),
            Self::Switch(switch) => switch.vl_arb(port, block),
        }
    }

    fn set_vl_arb(
        &mut self,
        _now: Instant,
        port: u8,
        block: u8,
        weights: &VlArbBlock,
    ) -> Result<(), InvalidField> {
        match self {
            Self::Adapter(adapter) => adapter.hca.set_vl_arb(port, block, weights),
            Self::Switch(switch) => switch.set_vl_arb(port, block, weights),
        }
    }

    fn linear_block(&self, block: u16) -> Option<LinearBlock> {
        match self {
            Self::Adapter(_) => None,
            Self::Switch(switch) => switch.linear_fdb().block(block),
        }
    }

    fn set_linear_block(
        &mut self,
        _now: Instant,
        block: u16,
        ports: &LinearBlock,
    ) -> Result<(), InvalidField> {
        match self {
            Self::Adapter(_) => Err(absent("LinearForwardingTable port", 0)),
            Self::Switch(switch) => switch.linear_fdb_mut().set_block(block, ports),
        }
    }

    fn multicast_block(&self, block: u16, position: u8) -> Option<MulticastBlock> {
        match self {
            Self::Adapter(_) => None,
            Self::Switch(switch) => switch.multicast_fdb().block(block, position),
        }
    }

    fn set_multicast_block(
        &mut self,
        _now: Instant,
        block: u16,
        position: u8,
        masks: &MulticastBlock,
    ) -> Result<(), InvalidField> {
        match self {
            Self::Adapter(_) => Err(absent("MulticastForwardingTable port", 0)),
            Self::Switch(switch) => switch.multicast_fdb_mut().set_block(block, position, masks),
        }
    }

    fn counters(&self, port: u8) -> Option<Counters> {
        self.port(port).map(|port| counters(&port.counters))
    }
}

/// What a port counted, as the performance agent takes it.
fn counters(from: &PortCounters) -> Counters {
    Counters {
        symbol_errors: from.symbol_errors,
        link_error_recoveries: from.link_error_recoveries,
        link_downed: from.link_downed,
        receive_errors: from.receive_errors,
        receive_remote_physical_errors: from.receive_remote_physical_errors,
        receive_switch_relay_errors: from.receive_switch_relay_errors,
        transmit_discards: from.transmit_discards,
        transmit_constraint_errors: from.transmit_constraint_errors,
        receive_constraint_errors: from.receive_constraint_errors,
        local_link_integrity_errors: from.local_link_integrity_errors,
        excessive_buffer_overruns: from.excessive_buffer_overruns,
        qp1_dropped: from.qp1_dropped,
        vl15_dropped: from.vl15_dropped,
        transmit_wait: from.transmit_wait,
        transmit_data: from.transmit_data,
        receive_data: from.receive_data,
        transmit_packets: from.transmit_packets,
        receive_packets: from.receive_packets,
        unicast_transmit_packets: from.unicast_transmit_packets,
        unicast_receive_packets: from.unicast_receive_packets,
        multicast_transmit_packets: from.multicast_transmit_packets,
        multicast_receive_packets: from.multicast_receive_packets,
    }
}
