//! What a port counts: the standard counters (IBA 16.1), and every drop by its reason.

use softib_wire::mad::perf::{
    self, CounterSelect, CounterSelect2, ExtendedCounterSelect, PortCountersExtended,
};
use softib_wire::time::Duration;

use crate::drop::{DropCounts, DropReason, StandardCounter};
use crate::frame::Frame;

/// Counters of a port, 64 bits wide inside. A clear by the performance agent leaves `drops` alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// PortXmitData, in 4 octets.
    pub transmit_data: u64,
    /// PortRcvData, in 4 octets.
    pub receive_data: u64,
    /// PortXmitPkts.
    pub transmit_packets: u64,
    /// PortRcvPkts.
    pub receive_packets: u64,
    /// PortUnicastXmitPkts.
    pub unicast_transmit_packets: u64,
    /// PortUnicastRcvPkts.
    pub unicast_receive_packets: u64,
    /// PortMulticastXmitPkts.
    pub multicast_transmit_packets: u64,
    /// PortMulticastRcvPkts.
    pub multicast_receive_packets: u64,
    /// SymbolErrorCounter.
    pub symbol_errors: u64,
    /// LinkErrorRecoveryCounter.
    pub link_error_recoveries: u64,
    /// LinkDownedCounter.
    pub link_downed: u64,
    /// PortRcvErrors.
    pub receive_errors: u64,
    /// PortRcvRemotePhysicalErrors.
    pub receive_remote_physical_errors: u64,
    /// PortRcvSwitchRelayErrors.
    pub receive_switch_relay_errors: u64,
    /// PortXmitDiscards.
    pub transmit_discards: u64,
    /// PortXmitConstraintErrors.
    pub transmit_constraint_errors: u64,
    /// PortRcvConstraintErrors.
    pub receive_constraint_errors: u64,
    /// LocalLinkIntegrityErrors.
    pub local_link_integrity_errors: u64,
    /// ExcessiveBufferOverrunErrors.
    pub excessive_buffer_overruns: u64,
    /// QP1Dropped.
    pub qp1_dropped: u64,
    /// VL15Dropped.
    pub vl15_dropped: u64,
    /// PortXmitWait, in nanoseconds.
    pub transmit_wait: u64,
    /// Drops by reason.
    pub drops: DropCounts,
}

impl PortCounters {
    #[inline]
    pub(crate) fn received(&mut self, frame: &Frame, multicast: bool) {
        let packets = frame.wire_packets();
        add(&mut self.receive_packets, packets);
        add(&mut self.receive_data, frame.wire_octets() / 4);
        if multicast {
            add(&mut self.multicast_receive_packets, packets);
        } else {
            add(&mut self.unicast_receive_packets, packets);
        }
    }

    #[inline]
    pub(crate) fn transmitted(&mut self, frame: &Frame, multicast: bool) {
        let packets = frame.wire_packets();
        add(&mut self.transmit_packets, packets);
        add(&mut self.transmit_data, frame.wire_octets() / 4);
        if multicast {
            add(&mut self.multicast_transmit_packets, packets);
        } else {
            add(&mut self.unicast_transmit_packets, packets);
        }
    }

    /// Something waited this long for credit.
    pub(crate) fn waited(&mut self, time: Duration) {
        add(
            &mut self.transmit_wait,
            u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
        );
    }

    /// Counts a dropped frame, under its reason and under the standard counter for it.
    pub(crate) fn dropped(&mut self, reason: DropReason, packets: u64) {
        self.drops.add_many(reason, packets);
        // PortRcvErrors counts the packets that came with local physical errors too (IBA 16.1.3.5).
        if reason == DropReason::VcrcError {
            add(&mut self.symbol_errors, packets);
        }
        let counter = match reason.standard_counter() {
            StandardCounter::ReceiveErrors => &mut self.receive_errors,
            StandardCounter::SwitchRelayErrors => &mut self.receive_switch_relay_errors,
            StandardCounter::ReceiveConstraintErrors => &mut self.receive_constraint_errors,
            StandardCounter::TransmitConstraintErrors => &mut self.transmit_constraint_errors,
            StandardCounter::TransmitDiscards => &mut self.transmit_discards,
            StandardCounter::Vl15Dropped => &mut self.vl15_dropped,
            StandardCounter::Qp1Dropped => &mut self.qp1_dropped,
            StandardCounter::None => return,
        };
        add(counter, packets);
    }
}

/// The tables of the performance agent: which counter is which field, how wide, and how a Set
/// selects it.
macro_rules! attributes {
    (
        narrow { $( $narrow:ident: $width:literal = $select:ident; )* }
        narrow2 { $( $narrow2:ident: $width2:literal = $select2:ident; )* }
        extended { $( $extended:ident = $extended_select:ident; )* }
    ) => {
        impl PortCounters {
            /// The PortCounters attribute, each counter saturating. Port and selection are empty.
            #[must_use]
            pub fn attribute(&self) -> perf::PortCounters {
                perf::PortCounters {
                    $( $narrow: saturate(self.$narrow, $width).try_into().unwrap_or_default(), )*
                    $( $narrow2: saturate(self.$narrow2, $width2).try_into().unwrap_or_default(), )*
                    ..Default::default()
                }
            }

            /// Writes the counters that a Set of PortCounters selects.
            pub fn set(&mut self, values: &perf::PortCounters) {
                $( if values.counter_select.contains(CounterSelect::$select) {
                    self.$narrow = values.$narrow.into();
                } )*
                $( if values.counter_select2.contains(CounterSelect2::$select2) {
                    self.$narrow2 = values.$narrow2.into();
                } )*
            }

            /// The PortCountersExtended attribute. Port and selection are empty.
            #[must_use]
            pub fn extended_attribute(&self) -> PortCountersExtended {
                PortCountersExtended {
                    $( $extended: self.$extended, )*
                    ..Default::default()
                }
            }

            /// Writes the counters that a Set of PortCountersExtended selects.
            pub fn set_extended(&mut self, values: &PortCountersExtended) {
                $( if values.counter_select.contains(ExtendedCounterSelect::$extended_select) {
                    self.$extended = values.$extended;
                } )*
            }
        }
    };
}

attributes! {
    narrow {
        symbol_errors: 16 = SYMBOL_ERRORS;
        link_error_recoveries: 8 = LINK_ERROR_RECOVERIES;
        link_downed: 8 = LINK_DOWNED;
        receive_errors: 16 = RECEIVE_ERRORS;
        receive_remote_physical_errors: 16 = RECEIVE_REMOTE_PHYSICAL_ERRORS;
        receive_switch_relay_errors: 16 = RECEIVE_SWITCH_RELAY_ERRORS;
        transmit_discards: 16 = TRANSMIT_DISCARDS;
        transmit_constraint_errors: 8 = TRANSMIT_CONSTRAINT_ERRORS;
        receive_constraint_errors: 8 = RECEIVE_CONSTRAINT_ERRORS;
        local_link_integrity_errors: 4 = LOCAL_LINK_INTEGRITY_ERRORS;
        excessive_buffer_overruns: 4 = EXCESSIVE_BUFFER_OVERRUNS;
        vl15_dropped: 16 = VL15_DROPPED;
        transmit_data: 32 = TRANSMIT_DATA;
        receive_data: 32 = RECEIVE_DATA;
        transmit_packets: 32 = TRANSMIT_PACKETS;
        receive_packets: 32 = RECEIVE_PACKETS;
    }
    narrow2 {
        transmit_wait: 32 = TRANSMIT_WAIT;
        qp1_dropped: 16 = QP1_DROPPED;
    }
    extended {
        transmit_data = TRANSMIT_DATA;
        receive_data = RECEIVE_DATA;
        transmit_packets = TRANSMIT_PACKETS;
        receive_packets = RECEIVE_PACKETS;
        unicast_transmit_packets = UNICAST_TRANSMIT_PACKETS;
        unicast_receive_packets = UNICAST_RECEIVE_PACKETS;
        multicast_transmit_packets = MULTICAST_TRANSMIT_PACKETS;
        multicast_receive_packets = MULTICAST_RECEIVE_PACKETS;
    }
}

/// IBA 16.1.3.5: counters stop at their largest value, they do not wrap.
const fn saturate(counter: u64, bits: u32) -> u64 {
    let largest = (1 << bits) - 1;
    if counter < largest { counter } else { largest }
}

#[inline]
const fn add(counter: &mut u64, amount: u64) {
    *counter = counter.saturating_add(amount);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_saturate_and_clear_alone() {
        let mut counters = PortCounters {
            symbol_errors: 70_000,
            link_downed: 3,
            local_link_integrity_errors: 99,
            transmit_data: 1 << 40,
            transmit_wait: 1 << 33,
            ..PortCounters::default()
        };
        let attribute = counters.attribute();
        assert_eq!(attribute.symbol_errors, 0xFFFF);
        assert_eq!(attribute.link_downed, 3);
        assert_eq!(attribute.local_link_integrity_errors, 15);
        assert_eq!(attribute.transmit_data, u32::MAX);
        assert_eq!(attribute.transmit_wait, u32::MAX);
        assert_eq!(counters.extended_attribute().transmit_data, 1 << 40);

        counters.set(&perf::PortCounters {
            counter_select: CounterSelect::LINK_DOWNED,
            counter_select2: CounterSelect2::TRANSMIT_WAIT,
            ..Default::default()
        });
        assert_eq!((counters.link_downed, counters.transmit_wait), (0, 0));
        assert_eq!(counters.symbol_errors, 70_000);

        counters.set_extended(&PortCountersExtended {
            counter_select: ExtendedCounterSelect::TRANSMIT_DATA,
            ..Default::default()
        });
        assert_eq!(counters.transmit_data, 0);
    }

    #[test]
    fn a_drop_counts_under_reason_and_standard_counter() {
        let mut counters = PortCounters::default();
        for &reason in DropReason::ALL {
            counters.dropped(reason, 1);
        }
        assert_eq!(counters.drops.total(), DropReason::ALL.len() as u64);
        assert_eq!(counters.vl15_dropped, 1);
        assert_eq!(counters.qp1_dropped, 1);
        assert!(counters.receive_errors > 0 && counters.transmit_discards > 0);
    }
}
