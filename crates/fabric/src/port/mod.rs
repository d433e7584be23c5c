//! A port of a channel adapter or switch: its state machine, all that PortInfo says of it, its
//! tables and its counters.
//!
//! The node that owns the port moves packets; the port knows the rules that hold for them.

mod counters;
mod info;
pub(crate) mod output;
mod pkeys;
mod state;

use softib_wire::addr::{Gid, Guid, Lid, PKey, QKey, Sl, Vl};
use softib_wire::error::InvalidField;
use softib_wire::mad::port_info::{PortCapabilities, PortInfo};
use softib_wire::mad::tables::{GuidBlock, PKeyBlock, SlToVl};
use softib_wire::time::Duration;
use softib_wire::units::{self, Mtu};
use std::collections::VecDeque;

pub use counters::PortCounters;
pub use pkeys::PKeyTable;
pub use state::{LinkEvent, LinkState, Transition};

use crate::drop::DropReason;
use crate::event::{KeyViolation, NodeEvent, PhysicalCommand};
use crate::frame::Frame;
use output::Limits;

/// What a port is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    /// GUID of the port; of a switch only port 0 has one.
    pub guid: Guid,
    /// The largest MTU that it can do.
    pub mtu: Mtu,
    /// What its link can do.
    pub speed: LinkSpeed,
    /// Data lanes that it has, as PortInfo.VLCap codes them: 1, 2, 3, 4, 5 for 1, 2, 4, 8, 15.
    pub vl_cap: u8,
    /// P_Keys that it can hold.
    pub pkeys: u16,
    /// GUIDs that it can hold.
    pub guids: u8,
    /// Capabilities. Those that every port here has are added.
    pub capabilities: PortCapabilities,
}

impl PortConfig {
    /// A port with everything usual: MTU 4096, 100 Gb/s, 8 data lanes.
    #[must_use]
    pub const fn new(guid: Guid) -> Self {
        Self {
            guid,
            mtu: Mtu::B4096,
            speed: LinkSpeed::EDR_4X,
            vl_cap: 4,
            pkeys: 128,
            guids: 32,
            capabilities: PortCapabilities::empty(),
        }
    }
}

/// Width and speed of a link, as PortInfo codes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpeed {
    /// 1 (1x), 2 (4x), 4 (8x), 8 (12x), 16 (2x).
    pub width: u8,
    /// 1 (2.5), 2 (5), 4 (10 Gb/s a lane).
    pub speed: u8,
    /// 0 (none), 1 (FDR), 2 (EDR), 4 (HDR), 8 (NDR).
    pub extended: u8,
}

impl LinkSpeed {
    /// 100 Gb/s.
    pub const EDR_4X: Self = Self {
        width: 2,
        speed: 4,
        extended: 2,
    };
}

/// Which rules hold for a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of a channel adapter.
    Adapter,
    /// Port 0 of a switch: no link of its own.
    SwitchManagement,
    /// An external port of a switch: no LID of its own.
    SwitchExternal,
}

/// A port.
#[derive(Debug)]
pub struct Port {
    number: u8,
    role: Role,
    state: LinkState,
    /// PortInfo, but for the states, which `state` holds.
    info: PortInfo,
    guids: Vec<Guid>,
    pkeys: PKeyTable,
    /// Adapters, and packets of a switch's own: lane of each SL.
    sl_to_vl: SlToVl,
    /// Counters.
    pub counters: PortCounters,
    /// The logical state changed since someone last took note: SwitchInfo.PortStateChange.
    pub(crate) state_changed: bool,
    events: VecDeque<NodeEvent>,
}

impl Port {
    pub(crate) fn new(number: u8, role: Role, config: &PortConfig) -> Self {
        let mut guids = vec![Guid::default(); usize::from(config.guids.max(1))];
        guids[0] = config.guid;
        Self {
            number,
            role,
            // Port 0 has no link that could be down (IBA 18.2.4.2 leaves it Active always).
            state: if role == Role::SwitchManagement {
                LinkState::Active
            } else {
                LinkState::Polling
            },
            info: info::initial(role, config),
            guids,
            pkeys: PKeyTable::new(config.pkeys),
            sl_to_vl: [Vl::default(); 16],
            counters: PortCounters::default(),
            state_changed: false,
            events: VecDeque::new(),
        }
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// Its state.
    #[inline]
    #[must_use]
    pub const fn state(&self) -> LinkState {
        self.state
    }

    /// Whether it wants a link: management did not switch it off.
    #[must_use]
    pub const fn wants_link(&self) -> bool {
        !matches!(self.state, LinkState::Disabled)
    }

    /// Its base LID.
    #[inline]
    #[must_use]
    pub const fn lid(&self) -> Lid {
        self.info.lid
    }

    /// LID mask control: it owns 2^lmc LIDs from its base LID on.
    #[must_use]
    pub const fn lmc(&self) -> u8 {
        self.info.lmc
    }

    /// LID and SL of the master subnet manager.
    #[must_use]
    pub const fn master_sm(&self) -> (Lid, Sl) {
        (self.info.master_sm_lid, self.info.master_sm_sl)
    }

    /// Its GUID.
    #[must_use]
    pub fn guid(&self) -> Guid {
        self.guids[0]
    }

    /// Subnet prefix of its GIDs.
    #[must_use]
    pub const fn gid_prefix(&self) -> u64 {
        self.info.gid_prefix
    }

    /// The GID at `index`, if there is one.
    #[inline]
    #[must_use]
    pub fn gid(&self, index: u8) -> Option<Gid> {
        let guid = *self.guids.get(usize::from(index))?;
        (guid != Guid::default()).then(|| Gid::from_prefix_guid(self.info.gid_prefix, guid))
    }

    /// Whether `gid` is one of its own. A GID with the default prefix is, whatever the subnet's
    /// prefix (IBA 4.1.1).
    #[must_use]
    pub fn owns_gid(&self, gid: Gid) -> bool {
        (gid.prefix() == self.info.gid_prefix || gid.prefix() == Gid::DEFAULT_PREFIX)
            && gid.guid() != Guid::default()
            && self.guids.contains(&gid.guid())
    }

    /// Whether `lid` is one of its own.
    #[inline]
    #[must_use]
    pub const fn owns_lid(&self, lid: Lid) -> bool {
        lid.is_unicast() && (lid.bits() ^ self.info.lid.bits()) >> self.info.lmc == 0
    }

    /// The largest payload that it sends: PortInfo.NeighborMTU.
    #[inline]
    #[must_use]
    pub fn mtu(&self) -> Mtu {
        self.info
            .neighbor_mtu
            .or(self.info.mtu_cap)
            .unwrap_or(Mtu::B256)
    }

    /// The largest payload that it takes.
    #[inline]
    #[must_use]
    pub fn mtu_cap(&self) -> Mtu {
        self.info.mtu_cap.unwrap_or(Mtu::B256)
    }

    /// The P_Key table.
    #[inline]
    #[must_use]
    pub const fn pkeys(&self) -> &PKeyTable {
        &self.pkeys
    }

    /// Writes a block of the P_Key table.
    ///
    /// # Errors
    /// The table has no such block.
    pub fn set_pkey_block(&mut self, block: u16, values: &PKeyBlock) -> Result<(), InvalidField> {
        match self.pkeys.set_block(block, values) {
            None => Err(InvalidField::new(
                "P_KeyTable block",
                block.into(),
                "a block of the table",
            )),
            Some(changed) => {
                if changed {
                    self.events
                        .push_back(NodeEvent::PKeysChanged { port: self.number });
                }
                Ok(())
            }
        }
    }

    /// A block of 8 GUIDs; GUIDs beyond the table are 0.
    #[must_use]
    pub fn guid_block(&self, block: u8) -> Option<GuidBlock> {
        let guids = self.guids.chunks(8).nth(block.into())?;
        let mut out = GuidBlock::default();
        out[..guids.len()].copy_from_slice(guids);
        Some(out)
    }

    /// Writes a block of GUIDs. The first GUID of the port is its own and stays.
    ///
    /// # Errors
    /// The table has no such block.
    pub fn set_guid_block(&mut self, block: u8, values: &GuidBlock) -> Result<(), InvalidField> {
        let own = self.guids[0];
        let Some(guids) = self.guids.chunks_mut(8).nth(block.into()) else {
            return Err(InvalidField::new(
                "GUIDInfo block",
                block.into(),
                "a block of the table",
            ));
        };
        let before = guids.to_vec();
        guids.copy_from_slice(&values[..before.len()]);
        if block == 0 {
            guids[0] = own;
        }
        if before != guids {
            self.events
                .push_back(NodeEvent::GidChanged { port: self.number });
        }
        Ok(())
    }

    /// The lane of each SL.
    #[must_use]
    pub const fn sl_to_vl(&self) -> &SlToVl {
        &self.sl_to_vl
    }

    /// Sets the lane of each SL. Of a switch's external port: those for packets from port 0.
    pub const fn set_sl_to_vl(&mut self, table: SlToVl) {
        self.sl_to_vl = table;
    }

    /// Whether data may be on this lane (PortInfo.OperationalVLs).
    #[inline]
    #[must_use]
    pub const fn is_operational(&self, vl: Vl) -> bool {
        let lanes = match self.info.operational_vls {
            0 | 1 => 1,
            2 => 2,
            3 => 4,
            4 => 8,
            _ => 15,
        };
        vl.bits() < lanes
    }

    /// The lane that data of this SL leaves on, by `table`.
    #[inline]
    pub(crate) fn lane(&self, table: &SlToVl, sl: Sl) -> Result<Vl, DropReason> {
        let vl = table[usize::from(sl.bits())];
        if vl == Vl::MANAGEMENT {
            Err(DropReason::SlToVl15)
        } else if self.is_operational(vl) {
            Ok(vl)
        } else {
            Err(DropReason::OutVlNotOperational)
        }
    }

    /// Whether packets that come in must have a P_Key of the table.
    #[inline]
    pub(crate) const fn enforces_inbound(&self) -> bool {
        self.info.partition_enforcement_inbound
    }

    /// Whether packets that leave must have a P_Key of the table.
    #[inline]
    pub(crate) const fn enforces_outbound(&self) -> bool {
        self.info.partition_enforcement_outbound
    }

    /// Whether raw packets that come in are dropped.
    pub(crate) const fn filters_raw_inbound(&self) -> bool {
        self.info.filter_raw_inbound
    }

    /// Whether raw packets that leave are dropped.
    pub(crate) const fn filters_raw_outbound(&self) -> bool {
        self.info.filter_raw_outbound
    }

    /// PortInfo.VLHighLimit.
    pub(crate) const fn vl_high_limit(&self) -> u8 {
        self.info.vl_high_limit
    }

    /// How long packets may wait to leave. `life_time`: of the switch, 5 bits.
    pub(crate) const fn limits(&self, life_time: u8) -> Limits {
        Limits {
            life: time_limit(life_time),
            head: time_limit(self.info.hoq_life),
            stall_count: self.info.vl_stall_count,
        }
    }

    /// Announces a capability, or ceases to; such as that a subnet manager runs here.
    pub fn set_capability(&mut self, capability: PortCapabilities, present: bool) {
        self.info.capability_mask.set(capability, present);
    }

    /// Counts a dropped frame.
    #[inline]
    pub(crate) fn drop_frame(&mut self, frame: &Frame, reason: DropReason) {
        self.counters.dropped(reason, frame.wire_packets());
    }

    pub(crate) fn pkey_violation(&mut self, violation: KeyViolation<PKey>) {
        // A switch's external ports have no violation counter of their own (IBA 14.2.5.6).
        if self.role != Role::SwitchExternal {
            self.info.p_key_violations = self.info.p_key_violations.saturating_add(1);
        }
        self.events.push_back(NodeEvent::PKeyViolation {
            port: self.number,
            violation,
        });
    }

    pub(crate) fn qkey_violation(&mut self, violation: KeyViolation<QKey>) {
        self.info.q_key_violations = self.info.q_key_violations.saturating_add(1);
        self.events.push_back(NodeEvent::QKeyViolation {
            port: self.number,
            violation,
        });
    }

    /// The link trained, or went away.
    pub(crate) fn handle_link(&mut self, up: bool) {
        if up {
            self.apply(LinkEvent::LinkUp);
        } else {
            if self.state.passes_smps() || self.state == LinkState::ActiveDefer {
                self.counters.link_downed = self.counters.link_downed.saturating_add(1);
            }
            self.apply(LinkEvent::LinkDown);
            if self.state == LinkState::Polling && self.info.link_down_default == 1 {
                self.apply(LinkEvent::SetSleep);
            }
        }
    }

    /// Link error recovery begins, or has succeeded. Links of this crate need none; one that stands
    /// for a real cable may.
    pub fn handle_recovery(&mut self, recovering: bool) {
        if recovering {
            self.apply(LinkEvent::Recovering);
        } else if self.state == LinkState::ActiveDefer {
            self.counters.link_error_recoveries += 1;
            self.apply(LinkEvent::Recovered);
        }
    }

    /// A data packet came in: an Armed port learns from it that its peer is Active.
    #[inline]
    pub(crate) fn data_arrived(&mut self) {
        if self.state == LinkState::Armed {
            self.apply(LinkEvent::Data);
        }
    }

    /// Makes the state machine's step; whether management may make it.
    fn apply(&mut self, event: LinkEvent) -> bool {
        let to = match self.state.on(event) {
            Transition::Refuse => return false,
            Transition::Stay => return true,
            Transition::To(to) => to,
        };
        let port = self.number;
        let from = std::mem::replace(&mut self.state, to);
        if from.logical() != to.logical() {
            self.state_changed = true;
            self.events.push_back(match to {
                LinkState::Disabled | LinkState::Sleep | LinkState::Polling => {
                    NodeEvent::PortDown { port }
                }
                LinkState::Init => NodeEvent::PortInit { port },
                LinkState::Armed => NodeEvent::PortArmed { port },
                LinkState::Active | LinkState::ActiveDefer => NodeEvent::PortActive { port },
            });
        }
        let command = match (event, from) {
            (LinkEvent::SetDisabled, LinkState::Disabled) => None,
            (LinkEvent::SetDisabled, _) => Some(PhysicalCommand::Disable),
            (LinkEvent::SetPolling | LinkEvent::SetSleep, LinkState::Disabled) => {
                Some(PhysicalCommand::Enable)
            }
            (LinkEvent::SetDown | LinkEvent::SetPolling | LinkEvent::SetSleep, _) => {
                Some(PhysicalCommand::Retrain)
            }
            _ => None,
        };
        if let Some(command) = command {
            self.events.push_back(NodeEvent::Physical { port, command });
        }
        true
    }

    pub(crate) fn poll_event(&mut self) -> Option<NodeEvent> {
        self.events.pop_front()
    }
}

/// IBA 14.2.5.4, 14.2.5.6: codes above 19 are no limit.
const fn time_limit(code: u8) -> Option<Duration> {
    if code > 19 {
        None
    } else {
        Some(units::timeout(code))
    }
}

#[cfg(test)]
mod tests;
