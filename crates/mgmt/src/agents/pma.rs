//! The performance management agent: what ports have counted (IBA 16.1).
//!
//! A node counts with 64 bits and never backwards ([`Counters`]). What management reads, clears and
//! sets are narrower counters that stop at their largest value. The agent keeps what each counted
//! when it was last set; PortCounters and PortCountersExtended are set independently.

use std::collections::BTreeMap;

use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::class;
use softib_wire::mad::class_port_info::{ClassPortInfo, PmaCapabilities};
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::method;
use softib_wire::mad::perf::{
    ALL_PORTS, CounterSelect, CounterSelect2, ExtendedCounterSelect, PerfMad, PortCounters,
    PortCountersExtended,
};
use softib_wire::mad::status::MadStatus;

use crate::agents::ManagedNode;
use crate::mad::Mad;

softib_wire::reasons! {
    /// Why the agent drops a MAD.
    pub enum PmaDrop, PmaDrops {
        /// The class is not performance management.
        WrongClass = "pma-wrong-class";
        /// Answers are for managers.
        NotARequest = "pma-not-a-request";
    }
}

/// The agent of one node.
#[derive(Debug, Default)]
pub struct Pma {
    /// What a port had counted when PortCounters was set, less what it was set to.
    classic: BTreeMap<u8, Counters>,
    /// The same of PortCountersExtended.
    extended: BTreeMap<u8, Counters>,
    drops: PmaDrops,
}

impl Pma {
    /// The agent of a node whose counters were never set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a MAD and gives back the answer to it, if there is one. `ports` are the node's
    /// external ports.
    pub fn handle_mad(&mut self, node: &dyn ManagedNode, ports: u8, mad: &Mad) -> Option<Mad> {
        let request = PerfMad::parse(mad).ok()?;
        let header = request.header;
        if header.class != class::PERF_MGT {
            self.drops.add(PmaDrop::WrongClass);
            return None;
        }
        if header.is_response() {
            self.drops.add(PmaDrop::NotARequest);
            return None;
        }
        let (status, data) = self.perform(node, ports, &header, &request);
        let answer = PerfMad {
            header: header.response_to(status),
            data,
        };
        Some(answer.to_bytes())
    }

    /// PortCounters of a port, as management sees them.
    #[must_use]
    pub fn port_counters(&self, node: &dyn ManagedNode, port: u8) -> Option<PortCounters> {
        let counted = counted(&self.classic, node, port)?;
        Some(counted.classic(port))
    }

    /// PortCountersExtended of a port, as management sees them.
    #[must_use]
    pub fn port_counters_extended(
        &self,
        node: &dyn ManagedNode,
        port: u8,
    ) -> Option<PortCountersExtended> {
        let counted = counted(&self.extended, node, port)?;
        Some(counted.extended(port))
    }

    /// What was dropped, and why.
    #[must_use]
    pub const fn drops(&self) -> &PmaDrops {
        &self.drops
    }

    fn perform(
        &mut self,
        node: &dyn ManagedNode,
        ports: u8,
        header: &MadHeader,
        request: &PerfMad,
    ) -> (MadStatus, [u8; 192]) {
        let refuse = |status| (status, request.data);
        if header.base_version != 1 || header.class_version != 1 {
            return refuse(MadStatus::BAD_VERSION);
        }
        let is_set = match header.method {
            method::GET => false,
            method::SET => true,
            _ => return refuse(MadStatus::BAD_METHOD),
        };
        match header.attribute_id {
            attribute::CLASS_PORT_INFO if !is_set => (MadStatus::OK, data(&class_port_info())),
            attribute::PORT_COUNTERS => {
                let Ok(asked) = PortCounters::parse(&request.data) else {
                    return refuse(MadStatus::BAD_FIELD);
                };
                let Some(selected) = select(node, ports, asked.port_select) else {
                    return refuse(MadStatus::BAD_FIELD);
                };
                if is_set {
                    for &(port, raw) in &selected {
                        self.classic.entry(port).or_default().set(&raw, &asked);
                    }
                }
                let mut counters = sum(&self.classic, &selected).classic(asked.port_select);
                counters.counter_select = asked.counter_select;
                counters.counter_select2 = asked.counter_select2;
                (MadStatus::OK, data(&counters))
            }
            attribute::PORT_COUNTERS_EXTENDED => {
                let Ok(asked) = PortCountersExtended::parse(&request.data) else {
                    return refuse(MadStatus::BAD_FIELD);
                };
                let Some(selected) = select(node, ports, asked.port_select) else {
                    return refuse(MadStatus::BAD_FIELD);
                };
                if is_set {
                    for &(port, raw) in &selected {
                        let base = self.extended.entry(port).or_default();
                        base.set_extended(&raw, &asked);
                    }
                }
                let mut counters = sum(&self.extended, &selected).extended(asked.port_select);
                counters.counter_select = asked.counter_select;
                (MadStatus::OK, data(&counters))
            }
            _ => refuse(MadStatus::BAD_METHOD_ATTRIBUTE),
        }
    }
}

/// The ports that PortSelect means, with what they have counted.
fn select(node: &dyn ManagedNode, ports: u8, port_select: u8) -> Option<Vec<(u8, Counters)>> {
    let counted = |port: u8| node.counters(port).map(|counters| (port, counters));
    if port_select == ALL_PORTS {
        return Some((0..=ports).filter_map(counted).collect());
    }
    (port_select <= ports)
        .then(|| counted(port_select))?
        .map(|one| vec![one])
}

fn sum(bases: &BTreeMap<u8, Counters>, ports: &[(u8, Counters)]) -> Counters {
    let none = Counters::default();
    let mut total = Counters::default();
    for (port, raw) in ports {
        total.add(&raw.since(bases.get(port).unwrap_or(&none)));
    }
    total
}

fn counted(bases: &BTreeMap<u8, Counters>, node: &dyn ManagedNode, port: u8) -> Option<Counters> {
    node.counters(port).map(|raw| sum(bases, &[(port, raw)]))
}

fn class_port_info() -> ClassPortInfo {
    let capabilities = PmaCapabilities::ALL_PORT_SELECT
        | PmaCapabilities::EXTENDED_WIDTH
        | PmaCapabilities::TRANSMIT_WAIT
        | PmaCapabilities::QP1_DROPPED;
    ClassPortInfo {
        base_version: 1,
        class_version: 1,
        capability_mask: capabilities.bits(),
        // 1 s: nobody should ask twice because this machine is busy.
        resp_time_value: 18,
        ..ClassPortInfo::default()
    }
}

fn data<A: Attribute>(attribute: &A) -> [u8; 192] {
    let mut data = [0; 192];
    attribute.emit(&mut data);
    data
}

macro_rules! counters {
    (
        classic { $( $(#[$meta:meta])* $field:ident: $ty:ty, $max:expr, $select:ident, $flags:ident, $flag:ident; )* }
        both { $( $(#[$both_meta:meta])* $both:ident: $both_flag:ident; )* }
        extended { $( $(#[$ext_meta:meta])* $ext:ident: $ext_flag:ident; )* }
    ) => {
        /// What a port has counted since it exists. Data are counted in 4 octets.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct Counters {
            $( $(#[$meta])* pub $field: u64, )*
            $( $(#[$both_meta])* pub $both: u64, )*
            $( $(#[$ext_meta])* pub $ext: u64, )*
        }

        impl Counters {
            /// What was counted since `base`.
            const fn since(&self, base: &Self) -> Self {
                Self {
                    $( $field: self.$field.wrapping_sub(base.$field), )*
                    $( $both: self.$both.wrapping_sub(base.$both), )*
                    $( $ext: self.$ext.wrapping_sub(base.$ext), )*
                }
            }

            const fn add(&mut self, other: &Self) {
                $( self.$field = self.$field.saturating_add(other.$field); )*
                $( self.$both = self.$both.saturating_add(other.$both); )*
                $( self.$ext = self.$ext.saturating_add(other.$ext); )*
            }

            /// C16-8: counters stop at their largest value.
            fn classic(&self, port_select: u8) -> PortCounters {
                PortCounters {
                    port_select,
                    $( $field: <$ty>::try_from(self.$field.min($max)).unwrap_or(<$ty>::MAX), )*
                    $( $both: u32::try_from(self.$both).unwrap_or(u32::MAX), )*
                    ..PortCounters::default()
                }
            }

            fn extended(&self, port_select: u8) -> PortCountersExtended {
                PortCountersExtended {
                    port_select,
                    $( $both: self.$both, )*
                    $( $ext: self.$ext, )*
                    ..PortCountersExtended::default()
                }
            }

            /// Makes the counters that a Set selects read what it says.
            fn set(&mut self, raw: &Self, asked: &PortCounters) {
                $( if asked.$select.contains($flags::$flag) {
                    self.$field = raw.$field.wrapping_sub(u64::from(asked.$field));
                } )*
                $( if asked.counter_select.contains(CounterSelect::$both_flag) {
                    self.$both = raw.$both.wrapping_sub(u64::from(asked.$both));
                } )*
            }

            const fn set_extended(&mut self, raw: &Self, asked: &PortCountersExtended) {
                $( if asked.counter_select.contains(ExtendedCounterSelect::$both_flag) {
                    self.$both = raw.$both.wrapping_sub(asked.$both);
                } )*
                $( if asked.counter_select.contains(ExtendedCounterSelect::$ext_flag) {
                    self.$ext = raw.$ext.wrapping_sub(asked.$ext);
                } )*
            }
        }
    };
}

counters! {
    classic {
        /// SymbolErrorCounter.
        symbol_errors: u16, 0xFFFF, counter_select, CounterSelect, SYMBOL_ERRORS;
        /// LinkErrorRecoveryCounter.
        link_error_recoveries: u8, 0xFF, counter_select, CounterSelect, LINK_ERROR_RECOVERIES;
        /// LinkDownedCounter.
        link_downed: u8, 0xFF, counter_select, CounterSelect, LINK_DOWNED;
        /// PortRcvErrors.
        receive_errors: u16, 0xFFFF, counter_select, CounterSelect, RECEIVE_ERRORS;
        /// PortRcvRemotePhysicalErrors.
        receive_remote_physical_errors: u16, 0xFFFF, counter_select, CounterSelect, RECEIVE_REMOTE_PHYSICAL_ERRORS;
        /// PortRcvSwitchRelayErrors.
        receive_switch_relay_errors: u16, 0xFFFF, counter_select, CounterSelect, RECEIVE_SWITCH_RELAY_ERRORS;
        /// PortXmitDiscards.
        transmit_discards: u16, 0xFFFF, counter_select, CounterSelect, TRANSMIT_DISCARDS;
        /// PortXmitConstraintErrors.
        transmit_constraint_errors: u8, 0xFF, counter_select, CounterSelect, TRANSMIT_CONSTRAINT_ERRORS;
        /// PortRcvConstraintErrors.
        receive_constraint_errors: u8, 0xFF, counter_select, CounterSelect, RECEIVE_CONSTRAINT_ERRORS;
        /// LocalLinkIntegrityErrors.
        local_link_integrity_errors: u8, 0xF, counter_select, CounterSelect, LOCAL_LINK_INTEGRITY_ERRORS;
        /// ExcessiveBufferOverrunErrors.
        excessive_buffer_overruns: u8, 0xF, counter_select, CounterSelect, EXCESSIVE_BUFFER_OVERRUNS;
        /// VL15Dropped.
        vl15_dropped: u16, 0xFFFF, counter_select, CounterSelect, VL15_DROPPED;
        /// QP1Dropped.
        qp1_dropped: u16, 0xFFFF, counter_select2, CounterSelect2, QP1_DROPPED;
        /// PortXmitWait.
        transmit_wait: u32, 0xFFFF_FFFF, counter_select2, CounterSelect2, TRANSMIT_WAIT;
    }
    both {
        /// PortXmitData.
        transmit_data: TRANSMIT_DATA;
        /// PortRcvData.
        receive_data: RECEIVE_DATA;
        /// PortXmitPkts.
        transmit_packets: TRANSMIT_PACKETS;
        /// PortRcvPkts.
        receive_packets: RECEIVE_PACKETS;
    }
    extended {
        /// PortUnicastXmitPkts.
        unicast_transmit_packets: UNICAST_TRANSMIT_PACKETS;
        /// PortUnicastRcvPkts.
        unicast_receive_packets: UNICAST_RECEIVE_PACKETS;
        /// PortMulticastXmitPkts.
        multicast_transmit_packets: MULTICAST_TRANSMIT_PACKETS;
        /// PortMulticastRcvPkts.
        multicast_receive_packets: MULTICAST_RECEIVE_PACKETS;
    }
}

#[cfg(test)]
mod tests;
