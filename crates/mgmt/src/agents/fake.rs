//! A node for the tests of the agents: keeps what it is told.

use std::collections::BTreeMap;

use softib_wire::addr::{Gid, Guid, Lid, MKey, PKey, Sl, Vl};
use softib_wire::error::InvalidField;
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::{PortCapabilities, PortCapabilities2, PortInfo};
use softib_wire::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, NO_PORT, PKeyBlock, SlToVl, VlArbBlock, VlWeight,
};
use softib_wire::time::Instant;
use softib_wire::units::{Mtu, NodeType, PhysState, PortState};

use super::{Counters, ManagedNode};

#[derive(Debug)]
pub(crate) struct FakeNode {
    pub(crate) node_type: NodeType,
    pub(crate) ports: BTreeMap<u8, PortInfo>,
    pub(crate) switch: Option<SwitchInfo>,
    pub(crate) guids: BTreeMap<u8, GuidBlock>,
    pub(crate) pkeys: BTreeMap<(u8, u16), PKeyBlock>,
    pub(crate) lanes: BTreeMap<(u8, u8), SlToVl>,
    pub(crate) arbitration: BTreeMap<(u8, u8), VlArbBlock>,
    pub(crate) linear: BTreeMap<u16, LinearBlock>,
    pub(crate) multicast: BTreeMap<(u16, u8), MulticastBlock>,
    pub(crate) counters: BTreeMap<u8, Counters>,
    /// What Set(PortInfo) handed down last, by port.
    pub(crate) last_set: BTreeMap<u8, PortInfo>,
}

impl FakeNode {
    /// An adapter of two ports.
    pub(crate) fn adapter() -> Self {
        Self::new(NodeType::ChannelAdapter, &[1, 2])
    }

    /// A switch of four ports, and port 0.
    pub(crate) fn switch() -> Self {
        let mut node = Self::new(NodeType::Switch, &[0, 1, 2, 3, 4]);
        node.switch = Some(SwitchInfo {
            linear_fdb_cap: 128,
            random_fdb_cap: 0,
            multicast_fdb_cap: 32,
            linear_fdb_top: Lid::NONE,
            default_port: 0,
            default_multicast_primary_port: 0,
            default_multicast_not_primary_port: 0,
            life_time: 18,
            port_state_change: true,
            optimized_sl_to_vl: 0,
            lids_per_port: 0,
            partition_enforcement_cap: 32,
            inbound_enforcement_cap: true,
            outbound_enforcement_cap: true,
            filter_raw_inbound_cap: false,
            filter_raw_outbound_cap: false,
            enhanced_port_0: false,
            multicast_fdb_top: Lid::NONE,
        });
        node
    }

    fn new(node_type: NodeType, ports: &[u8]) -> Self {
        let is_switch = node_type == NodeType::Switch;
        let blocks = |ports: &[u8]| -> BTreeMap<(u8, u16), PKeyBlock> {
            let mut block = [PKey::default(); 32];
            block[0] = PKey::DEFAULT_FULL;
            ports.iter().map(|&port| ((port, 0), block)).collect()
        };
        let lanes = [Vl::default(); 16];
        Self {
            node_type,
            ports: ports.iter().map(|&port| (port, port_info(port))).collect(),
            switch: None,
            guids: ports
                .iter()
                .filter(|&&port| !is_switch || port == 0)
                .map(|&port| {
                    let mut block = [Guid::default(); 8];
                    block[0] = guid(port);
                    (port, block)
                })
                .collect(),
            pkeys: blocks(ports),
            lanes: ports
                .iter()
                .flat_map(|&input| ports.iter().map(move |&output| ((input, output), lanes)))
                .filter(|((input, output), _)| is_switch || input == output)
                .collect(),
            arbitration: ports
                .iter()
                .flat_map(|&port| [1, 3].map(|block| ((port, block), [VlWeight::default(); 32])))
                .collect(),
            linear: (0..if is_switch { 2 } else { 0 })
                .map(|block| (block, [NO_PORT; 64]))
                .collect(),
            multicast: if is_switch {
                BTreeMap::from([((0, 0), [0; 32])])
            } else {
                BTreeMap::new()
            },
            counters: ports
                .iter()
                .map(|&port| (port, Counters::default()))
                .collect(),
            last_set: BTreeMap::new(),
        }
    }
}

/// The port is in Init.
fn port_info(port: u8) -> PortInfo {
    PortInfo {
        m_key: MKey::NONE,
        gid_prefix: Gid::DEFAULT_PREFIX,
        lid: Lid::NONE,
        master_sm_lid: Lid::NONE,
        capability_mask: PortCapabilities::TRAP | PortCapabilities::CLIENT_REREGISTRATION,
        diag_code: 0,
        m_key_lease_period: 0,
        local_port: port,
        link_width_enabled: 3,
        link_width_supported: 3,
        link_width_active: 2,
        link_speed_supported: 7,
        port_state: PortState::Init,
        phys_state: PhysState::LinkUp,
        link_down_default: 2,
        m_key_protect: 0,
        lmc: 0,
        link_speed_active: 4,
        link_speed_enabled: 7,
        neighbor_mtu: Some(Mtu::B2048),
        master_sm_sl: Sl::default(),
        vl_cap: 3,
        init_type: 0,
        vl_high_limit: 0,
        vl_arb_high_cap: 8,
        vl_arb_low_cap: 8,
        init_type_reply: 0,
        mtu_cap: Some(Mtu::B4096),
        vl_stall_count: 0,
        hoq_life: 0,
        operational_vls: 1,
        partition_enforcement_inbound: false,
        partition_enforcement_outbound: false,
        filter_raw_inbound: false,
        filter_raw_outbound: false,
        m_key_violations: 0,
        p_key_violations: 3,
        q_key_violations: 4,
        guid_cap: 8,
        client_reregister: false,
        multicast_pkey_trap_suppression: 0,
        subnet_timeout: 18,
        resp_time_value: 16,
        local_phy_errors: 0,
        overrun_errors: 0,
        max_credit_hint: 0,
        link_round_trip_latency: 0,
        capability_mask2: PortCapabilities2::empty(),
        link_speed_ext_active: 2,
        link_speed_ext_supported: 3,
        link_speed_ext_enabled: 3,
    }
}

fn guid(port: u8) -> Guid {
    Guid::new(0x0002_c903_0000_1000 + u64::from(port))
}

fn no_such(attribute: &'static str) -> InvalidField {
    InvalidField::new(attribute, 0, "one that is there")
}

/// Writes to what is there.
fn write<K: Ord, V: Copy>(
    table: &mut BTreeMap<K, V>,
    key: K,
    value: &V,
) -> Result<(), InvalidField> {
    let entry = table.get_mut(&key).ok_or_else(|| no_such("table"))?;
    *entry = *value;
    Ok(())
}

impl ManagedNode for FakeNode {
    fn node_info(&self, port: u8) -> NodeInfo {
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: self.node_type,
            port_count: *self.ports.keys().last().expect("has ports"),
            system_image_guid: guid(0),
            node_guid: guid(0),
            port_guid: if self.switch.is_some() {
                guid(0)
            } else {
                guid(port)
            },
            partition_cap: 32,
            device_id: 1,
            revision: 2,
            local_port: 0,
            vendor_id: 3,
        }
    }

    fn description(&self) -> NodeDescription {
        NodeDescription::from("fake")
    }

    fn port_info(&self, port: u8) -> Option<PortInfo> {
        self.ports.get(&port).copied()
    }

    fn set_port_info(
        &mut self,
        _now: Instant,
        port: u8,
        info: &PortInfo,
    ) -> Result<(), InvalidField> {
        let current = self
            .ports
            .get_mut(&port)
            .ok_or_else(|| no_such("PortInfo"))?;
        let (port_state, phys_state) = (current.port_state, current.phys_state);
        *current = *info;
        current.phys_state = phys_state;
        if info.port_state == PortState::NoChange {
            current.port_state = port_state;
        }
        self.last_set.insert(port, *info);
        Ok(())
    }

    fn switch_info(&self) -> Option<SwitchInfo> {
        self.switch
    }

    fn set_switch_info(&mut self, _now: Instant, info: &SwitchInfo) -> Result<(), InvalidField> {
        self.switch = Some(*info);
        Ok(())
    }

    fn guid_block(&self, port: u8, block: u8) -> Option<GuidBlock> {
        if block > 0 {
            return None;
        }
        self.guids.get(&port).copied()
    }

    fn set_guid_block(
        &mut self,
        _now: Instant,
        port: u8,
        _block: u8,
        guids: &GuidBlock,
    ) -> Result<(), InvalidField> {
        write(&mut self.guids, port, guids)
    }

    fn pkey_block(&self, port: u8, block: u16) -> Option<PKeyBlock> {
        self.pkeys.get(&(port, block)).copied()
    }

    fn set_pkey_block(
        &mut self,
        _now: Instant,
        port: u8,
        block: u16,
        pkeys: &PKeyBlock,
    ) -> Result<(), InvalidField> {
        write(&mut self.pkeys, (port, block), pkeys)
    }

    fn sl_to_vl(&self, input: u8, output: u8) -> Option<SlToVl> {
        self.lanes.get(&(input, output)).copied()
    }

    fn set_sl_to_vl(
        &mut self,
        _now: Instant,
        input: u8,
        output: u8,
        lanes: &SlToVl,
    ) -> Result<(), InvalidField> {
        write(&mut self.lanes, (input, output), lanes)
    }

    fn vl_arb(&self, port: u8, block: u8) -> Option<VlArbBlock> {
        self.arbitration.get(&(port, block)).copied()
    }

    fn set_vl_arb(
        &mut self,
        _now: Instant,
        port: u8,
        block: u8,
        weights: &VlArbBlock,
    ) -> Result<(), InvalidField> {
        write(&mut self.arbitration, (port, block), weights)
    }

    fn linear_block(&self, block: u16) -> Option<LinearBlock> {
        self.linear.get(&block).copied()
    }

    fn set_linear_block(
        &mut self,
        _now: Instant,
        block: u16,
        ports: &LinearBlock,
    ) -> Result<(), InvalidField> {
        write(&mut self.linear, block, ports)
    }

    fn multicast_block(&self, block: u16, position: u8) -> Option<MulticastBlock> {
        self.multicast.get(&(block, position)).copied()
    }

    fn set_multicast_block(
        &mut self,
        _now: Instant,
        block: u16,
        position: u8,
        masks: &MulticastBlock,
    ) -> Result<(), InvalidField> {
        write(&mut self.multicast, (block, position), masks)
    }

    fn counters(&self, port: u8) -> Option<Counters> {
        self.counters.get(&port).copied()
    }
}
