//! The agents that every port has: they answer for the node to whoever manages the subnet.
//!
//! - [`smi`]: where a directed-route SMP goes from here.
//! - [`sma`]: the subnet management agent, and the traps that it sends.
//! - [`pma`]: the performance management agent.
//!
//! They know a node only as a [`ManagedNode`].

#[cfg(test)]
mod fake;
pub mod pma;
pub mod sma;
pub mod smi;

use softib_wire::error::InvalidField;
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::tables::{
    GuidBlock, LinearBlock, MulticastBlock, PKeyBlock, SlToVl, VlArbBlock,
};
use softib_wire::time::Instant;

pub use pma::{Counters, Pma};
pub use sma::{Sma, SmaEvent, Trap};

/// What the agents need of a node: a channel adapter or a switch, whose port 0 answers for it.
///
/// Readers give `None` for a port, block or table that the node does not have. Writers get whole
/// values: what a Set left as it is, and what cannot be written, holds what the reader gave.
///
/// M_Key, its protection, lease and violations in PortInfo are the agent's: [`Sma`] keeps them, and
/// fills them in when it answers. So does it fill in `local_port`.
pub trait ManagedNode {
    /// NodeInfo, as asked through this port (0: through port 0 of a switch).
    fn node_info(&self, port: u8) -> NodeInfo;
    /// NodeDescription.
    fn description(&self) -> NodeDescription;

    /// PortInfo of a port.
    fn port_info(&self, port: u8) -> Option<PortInfo>;
    /// Takes over what a Set(PortInfo) asks for: `port_state` and `phys_state` hold what is asked
    /// for, or `NoChange`; `client_reregister` is set when it is asked for.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_port_info(
        &mut self,
        now: Instant,
        port: u8,
        info: &PortInfo,
    ) -> Result<(), InvalidField>;

    /// SwitchInfo, if this is a switch.
    fn switch_info(&self) -> Option<SwitchInfo>;
    /// Takes over what a Set(SwitchInfo) asks for; `port_state_change` holds what it shall be.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_switch_info(&mut self, now: Instant, info: &SwitchInfo) -> Result<(), InvalidField>;

    /// A block of 8 GUIDs.
    fn guid_block(&self, port: u8, block: u8) -> Option<GuidBlock>;
    /// Writes a block of 8 GUIDs. Entry 0 of block 0 holds the GUID that it always holds.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_guid_block(
        &mut self,
        now: Instant,
        port: u8,
        block: u8,
        guids: &GuidBlock,
    ) -> Result<(), InvalidField>;

    /// A block of 32 P_Keys.
    fn pkey_block(&self, port: u8, block: u16) -> Option<PKeyBlock>;
    /// Writes a block of 32 P_Keys.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_pkey_block(
        &mut self,
        now: Instant,
        port: u8,
        block: u16,
        pkeys: &PKeyBlock,
    ) -> Result<(), InvalidField>;

    /// VLs of the SLs, by the ports that packets come in and leave by. Of a channel adapter both
    /// are the same port.
    fn sl_to_vl(&self, input: u8, output: u8) -> Option<SlToVl>;
    /// Writes the VLs of the SLs.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_sl_to_vl(
        &mut self,
        now: Instant,
        input: u8,
        output: u8,
        lanes: &SlToVl,
    ) -> Result<(), InvalidField>;

    /// A block of VL arbitration: 1 and 2 low priority, 3 and 4 high.
    fn vl_arb(&self, port: u8, block: u8) -> Option<VlArbBlock>;
    /// Writes a block of VL arbitration.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_vl_arb(
        &mut self,
        now: Instant,
        port: u8,
        block: u8,
        weights: &VlArbBlock,
    ) -> Result<(), InvalidField>;

    /// A block of 64 entries of the linear forwarding table.
    fn linear_block(&self, block: u16) -> Option<LinearBlock>;
    /// Writes a block of the linear forwarding table.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_linear_block(
        &mut self,
        now: Instant,
        block: u16,
        ports: &LinearBlock,
    ) -> Result<(), InvalidField>;

    /// A block of 32 entries of the multicast forwarding table, at one position of 16 ports.
    fn multicast_block(&self, block: u16, position: u8) -> Option<MulticastBlock>;
    /// Writes a block of the multicast forwarding table.
    ///
    /// # Errors
    /// The node cannot do this.
    fn set_multicast_block(
        &mut self,
        now: Instant,
        block: u16,
        position: u8,
        masks: &MulticastBlock,
    ) -> Result<(), InvalidField>;

    /// What a port has counted since it exists. The counters that management sees, which can be
    /// cleared, are kept by [`Pma`].
    fn counters(&self, port: u8) -> Option<Counters>;
}
