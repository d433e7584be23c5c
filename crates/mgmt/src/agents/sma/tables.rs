//! What the agent does with each attribute (IBA 14.2.5).

use softib_wire::ParseError;
use softib_wire::error::InvalidField;
use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::node::SwitchInfo;
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::tables::{
    self, GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock,
};
use softib_wire::units::NodeType;

use super::keys::Access;
use super::port_info::{PortKind, merge};
use super::{Request, Sma, SmaEvent};
use crate::agents::ManagedNode;

type Data = [u8; 64];
/// The status of the answer and the attribute in it.
type Answer = (MadStatus, Data);

impl Sma {
    /// Does what a Get or Set asks for; `None`: it must not be answered.
    pub(super) fn perform(
        &mut self,
        node: &mut dyn ManagedNode,
        request: &Request<'_>,
    ) -> Option<Answer> {
        let arrival = request.arrival.port;
        let modifier = request.modifier();
        let is_switch = self.node_type == NodeType::Switch;
        // Of a channel adapter the port is the one that the SMP came in by.
        let port_of = |port: u8| if is_switch { port } else { arrival };
        let id = request.smp.header.attribute_id;
        let result = match id {
            attribute::NODE_DESCRIPTION if !request.is_set() && modifier == 0 => {
                Ok(data(&node.description()))
            }
            attribute::NODE_INFO if !request.is_set() && modifier == 0 => {
                let mut info = node.node_info(arrival);
                info.local_port = arrival;
                Ok(data(&info))
            }
            attribute::NODE_DESCRIPTION | attribute::NODE_INFO if !request.is_set() => {
                Err(Refusal::Modifier)
            }
            attribute::PORT_INFO => return self.port_info(node, request),
            attribute::SWITCH_INFO if is_switch => switch_info(node, request),
            attribute::GUID_INFO => guid_info(node, request, port_of(0)),
            attribute::PKEY_TABLE => {
                let (port, block) = tables::split_pkey_modifier(modifier);
                let port = port_of(port);
                exchange::<PKeyBlock>(
                    node,
                    request,
                    |node| node.pkey_block(port, block),
                    |node, keys| node.set_pkey_block(request.now, port, block, keys),
                )
            }
            attribute::SL_TO_VL => {
                let (input, output) = tables::split_sl_to_vl_modifier(modifier);
                let (input, output) = (port_of(input), port_of(output));
                exchange::<SlToVl>(
                    node,
                    request,
                    |node| node.sl_to_vl(input, output),
                    |node, lanes| node.set_sl_to_vl(request.now, input, output, lanes),
                )
            }
            attribute::VL_ARBITRATION => {
                let (port, block) = tables::split_vl_arb_modifier(modifier);
                let port = port_of(port);
                exchange::<VlArbBlock>(
                    node,
                    request,
                    |node| node.vl_arb(port, block),
                    |node, weights| node.set_vl_arb(request.now, port, block, weights),
                )
            }
            attribute::LINEAR_FDB if is_switch => {
                let block = u16::try_from(modifier).ok();
                exchange::<LinearBlock>(
                    node,
                    request,
                    |node| node.linear_block(block?),
                    |node, ports| match block {
                        Some(block) => node.set_linear_block(request.now, block, ports),
                        None => Ok(()),
                    },
                )
            }
            attribute::MULTICAST_FDB if is_switch => {
                let (position, block) = tables::split_multicast_modifier(modifier);
                exchange::<MulticastBlock>(
                    node,
                    request,
                    |node| node.multicast_block(block, position),
                    |node, masks| node.set_multicast_block(request.now, block, position, masks),
                )
            }
            _ => Err(Refusal::Attribute),
        };
        Some(match result {
            Ok(data) => (MadStatus::OK, data),
            Err(refusal) => (refusal.status(), request.smp.data),
        })
    }

    fn port_info(&mut self, node: &mut dyn ManagedNode, request: &Request<'_>) -> Option<Answer> {
        let refused = Some((MadStatus::BAD_FIELD, request.smp.data));
        let [.., port] = request.modifier().to_be_bytes();
        let port = match (self.node_type, port) {
            (NodeType::Switch, port) => port,
            (NodeType::ChannelAdapter | NodeType::Router, 0) => request.arrival.port,
            (NodeType::ChannelAdapter | NodeType::Router, port) => port,
        };
        let Some(mut current) = node.port_info(port) else {
            return refused;
        };
        // A port has its own M_Key, also when asked through another port.
        let access = if self.key_port(port) == self.key_port(request.arrival.port) {
            request.access
        } else {
            let Request {
                now,
                arrival,
                mad,
                smp,
                ..
            } = *request;
            self.check_key(now, node, arrival, port, mad, smp)?
        };
        if !request.is_set() {
            return Some((
                MadStatus::OK,
                data(&self.shown(current, port, request, access)),
            ));
        }

        let Ok(asked) = request.smp.attribute::<PortInfo>() else {
            return refused;
        };
        let kind = self.kind(port);
        current = self.shown(current, port, request, Access::Trusted);
        let Ok(wanted) = merge(&current, &asked, request.modifier(), kind) else {
            return refused;
        };
        if node.set_port_info(request.now, port, &wanted).is_err() {
            return refused;
        }
        if kind.has_address() {
            self.keys(port)?.set(&wanted);
            if (wanted.master_sm_lid, wanted.master_sm_sl)
                != (current.master_sm_lid, current.master_sm_sl)
            {
                self.tell(SmaEvent::ManagerChanged {
                    port,
                    lid: wanted.master_sm_lid,
                    sl: wanted.master_sm_sl,
                });
            }
            if wanted.client_reregister {
                self.tell(SmaEvent::ClientReregister { port });
            }
        }
        let mut info = self.shown(node.port_info(port)?, port, request, Access::Trusted);
        // o14-12: the answer tells that the bit was understood, though a Get never shows it.
        info.client_reregister = wanted.client_reregister;
        Some((MadStatus::OK, data(&info)))
    }

    const fn kind(&self, port: u8) -> PortKind {
        match (self.node_type, port) {
            (NodeType::Switch, 0) => PortKind::SwitchManagement,
            (NodeType::Switch, _) => PortKind::SwitchExternal,
            (NodeType::ChannelAdapter | NodeType::Router, _) => PortKind::EndPort,
        }
    }

    /// PortInfo with what the agent knows of it.
    fn shown(
        &self,
        mut info: PortInfo,
        port: u8,
        request: &Request<'_>,
        access: Access,
    ) -> PortInfo {
        let without_keys = super::Keys::default();
        let keys = match self.kind(port) {
            PortKind::SwitchExternal => None,
            PortKind::EndPort | PortKind::SwitchManagement => {
                self.keys.get(usize::from(self.key_port(port)))
            }
        };
        keys.unwrap_or(&without_keys).show(&mut info, access);
        info.local_port = request.arrival.port;
        info.client_reregister = false;
        info
    }
}

/// Why an attribute is not answered as asked.
enum Refusal {
    /// The attribute is not known here, or not with this method.
    Attribute,
    /// The modifier names what is not there.
    Modifier,
    /// A field holds what cannot be.
    Field,
}

impl Refusal {
    const fn status(&self) -> MadStatus {
        match self {
            Self::Attribute => MadStatus::BAD_METHOD_ATTRIBUTE,
            Self::Modifier | Self::Field => MadStatus::BAD_FIELD,
        }
    }
}

impl From<InvalidField> for Refusal {
    fn from(_: InvalidField) -> Self {
        Self::Field
    }
}

impl From<ParseError> for Refusal {
    fn from(_: ParseError) -> Self {
        Self::Field
    }
}

/// Get and Set of a value without rules of its own: the answer is what is there afterwards.
fn exchange<A: Attribute>(
    node: &mut dyn ManagedNode,
    request: &Request<'_>,
    get: impl Fn(&dyn ManagedNode) -> Option<A>,
    set: impl FnOnce(&mut dyn ManagedNode, &A) -> Result<(), InvalidField>,
) -> Result<Data, Refusal> {
    let mut value = get(node).ok_or(Refusal::Modifier)?;
    if request.is_set() {
        set(node, &request.smp.attribute()?)?;
        value = get(node).ok_or(Refusal::Modifier)?;
    }
    Ok(data(&value))
}

fn switch_info(node: &mut dyn ManagedNode, request: &Request<'_>) -> Result<Data, Refusal> {
    let current = node.switch_info().ok_or(Refusal::Attribute)?;
    if request.modifier() != 0 {
        return Err(Refusal::Modifier);
    }
    if request.is_set() {
        let asked: SwitchInfo = request.smp.attribute()?;
        if asked.linear_fdb_top.bits() >= current.linear_fdb_cap.max(1) {
            return Err(Refusal::Field);
        }
        let wanted = SwitchInfo {
            linear_fdb_top: asked.linear_fdb_top,
            default_port: asked.default_port,
            default_multicast_primary_port: asked.default_multicast_primary_port,
            default_multicast_not_primary_port: asked.default_multicast_not_primary_port,
            life_time: asked.life_time,
            // IBA 14.2.5.4: writing 1 clears it.
            port_state_change: current.port_state_change && !asked.port_state_change,
            multicast_fdb_top: asked.multicast_fdb_top,
            ..current
        };
        node.set_switch_info(request.now, &wanted)?;
    }
    node.switch_info()
        .map(|info| data(&info))
        .ok_or(Refusal::Attribute)
}

fn guid_info(node: &mut dyn ManagedNode, request: &Request<'_>, port: u8) -> Result<Data, Refusal> {
    let block = u8::try_from(request.modifier()).map_err(|_| Refusal::Modifier)?;
    let current = node.guid_block(port, block).ok_or(Refusal::Modifier)?;
    if request.is_set() {
        let mut wanted: GuidBlock = request.smp.attribute()?;
        if block == 0 {
            // IBA 14.2.5.5: the first is the port's own.
            wanted[0] = current[0];
        }
        node.set_guid_block(request.now, port, block, &wanted)?;
    }
    node.guid_block(port, block)
        .map(|guids| data(&guids))
        .ok_or(Refusal::Modifier)
}

fn data<A: Attribute>(attribute: &A) -> Data {
    let mut data = [0; 64];
    attribute.emit(&mut data);
    data
}
