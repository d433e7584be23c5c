//! Performance management attributes: PortCounters and PortCountersExtended (IBA 16.1.3.5, 16.1.4.11).

use crate::ParseError;
use crate::mad::attribute::{self, Attribute};
use crate::mad::class;
use crate::mad::header::MadHeader;
use crate::mad::status::MadStatus;

layout! {
    /// A performance management MAD.
    pub struct PerfMad [256] {
        /// MAD header.
        header: MadHeader = 0, 192;
        /// The attribute.
        data: [u8; 192] = 512, 1536;
    }
}

impl PerfMad {
    /// A request about an attribute. The port is named in the attribute, not in the modifier.
    #[must_use]
    pub fn request<A: Attribute>(method: u8, transaction_id: u64, attribute: &A) -> Self {
        let mut mad = Self {
            header: MadHeader::request(class::PERF_MGT, method, A::ID, 0, transaction_id),
            data: [0; 192],
        };
        attribute.emit(&mut mad.data);
        mad
    }

    /// The answer that carries an attribute.
    #[must_use]
    pub fn response<A: Attribute>(&self, attribute: &A) -> Self {
        let mut mad = self.refusal(MadStatus::OK);
        mad.data = [0; 192];
        attribute.emit(&mut mad.data);
        mad
    }

    /// The answer that refuses; the attribute goes back as it came.
    #[must_use]
    pub const fn refusal(&self, status: MadStatus) -> Self {
        Self {
            header: self.header.response_to(status),
            ..*self
        }
    }

    /// The attribute that the MAD carries.
    ///
    /// # Errors
    /// A field holds an undefined value.
    pub fn attribute<A: Attribute>(&self) -> Result<A, ParseError> {
        A::parse(&self.data)
    }
}

layout! {
    /// PortCounters: saturating counters. A Set writes the counters that it selects.
    #[derive(Default)]
    pub struct PortCounters [44] {
        /// Port; 255: all.
        port_select: u8 = 8, 8;
        /// In a Set: which counters.
        counter_select: CounterSelect = 16, 16;
        /// SymbolErrorCounter.
        symbol_errors: u16 = 32, 16;
        /// LinkErrorRecoveryCounter.
        link_error_recoveries: u8 = 48, 8;
        /// LinkDownedCounter.
        link_downed: u8 = 56, 8;
        /// PortRcvErrors.
        receive_errors: u16 = 64, 16;
        /// PortRcvRemotePhysicalErrors.
        receive_remote_physical_errors: u16 = 80, 16;
        /// PortRcvSwitchRelayErrors.
        receive_switch_relay_errors: u16 = 96, 16;
        /// PortXmitDiscards.
        transmit_discards: u16 = 112, 16;
        /// PortXmitConstraintErrors.
        transmit_constraint_errors: u8 = 128, 8;
        /// PortRcvConstraintErrors.
        receive_constraint_errors: u8 = 136, 8;
        /// In a Set: which counters, continued.
        counter_select2: CounterSelect2 = 144, 8;
        /// LocalLinkIntegrityErrors.
        local_link_integrity_errors: u8 = 152, 4;
        /// ExcessiveBufferOverrunErrors.
        excessive_buffer_overruns: u8 = 156, 4;
        /// QP1Dropped.
        qp1_dropped: u16 = 160, 16;
        /// VL15Dropped.
        vl15_dropped: u16 = 176, 16;
        /// PortXmitData, in 4 octets.
        transmit_data: u32 = 192, 32;
        /// PortRcvData, in 4 octets.
        receive_data: u32 = 224, 32;
        /// PortXmitPkts.
        transmit_packets: u32 = 256, 32;
        /// PortRcvPkts.
        receive_packets: u32 = 288, 32;
        /// PortXmitWait.
        transmit_wait: u32 = 320, 32;
    }
}

layout! {
    /// PortCountersExtended: 64-bit counters. A Set writes the counters that it selects.
    #[derive(Default)]
    pub struct PortCountersExtended [72] {
        /// Port; 255: all.
        port_select: u8 = 8, 8;
        /// In a Set: which counters.
        counter_select: ExtendedCounterSelect = 16, 16;
        /// PortXmitData, in 4 octets.
        transmit_data: u64 = 64, 64;
        /// PortRcvData, in 4 octets.
        receive_data: u64 = 128, 64;
        /// PortXmitPkts.
        transmit_packets: u64 = 192, 64;
        /// PortRcvPkts.
        receive_packets: u64 = 256, 64;
        /// PortUnicastXmitPkts.
        unicast_transmit_packets: u64 = 320, 64;
        /// PortUnicastRcvPkts.
        unicast_receive_packets: u64 = 384, 64;
        /// PortMulticastXmitPkts.
        multicast_transmit_packets: u64 = 448, 64;
        /// PortMulticastRcvPkts.
        multicast_receive_packets: u64 = 512, 64;
    }
}

attributes! {
    PortCounters = attribute::PORT_COUNTERS;
    PortCountersExtended = attribute::PORT_COUNTERS_EXTENDED;
}

/// PortSelect: all ports together.
pub const ALL_PORTS: u8 = 0xFF;

bitflags::bitflags! {
    /// PortCounters.CounterSelect.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct CounterSelect: u16 {
        /// SymbolErrorCounter.
        const SYMBOL_ERRORS = 1 << 0;
        /// LinkErrorRecoveryCounter.
        const LINK_ERROR_RECOVERIES = 1 << 1;
        /// LinkDownedCounter.
        const LINK_DOWNED = 1 << 2;
        /// PortRcvErrors.
        const RECEIVE_ERRORS = 1 << 3;
        /// PortRcvRemotePhysicalErrors.
        const RECEIVE_REMOTE_PHYSICAL_ERRORS = 1 << 4;
        /// PortRcvSwitchRelayErrors.
        const RECEIVE_SWITCH_RELAY_ERRORS = 1 << 5;
        /// PortXmitDiscards.
        const TRANSMIT_DISCARDS = 1 << 6;
        /// PortXmitConstraintErrors.
        const TRANSMIT_CONSTRAINT_ERRORS = 1 << 7;
        /// PortRcvConstraintErrors.
        const RECEIVE_CONSTRAINT_ERRORS = 1 << 8;
        /// LocalLinkIntegrityErrors.
        const LOCAL_LINK_INTEGRITY_ERRORS = 1 << 9;
        /// ExcessiveBufferOverrunErrors.
        const EXCESSIVE_BUFFER_OVERRUNS = 1 << 10;
        /// VL15Dropped.
        const VL15_DROPPED = 1 << 11;
        /// PortXmitData.
        const TRANSMIT_DATA = 1 << 12;
        /// PortRcvData.
        const RECEIVE_DATA = 1 << 13;
        /// PortXmitPkts.
        const TRANSMIT_PACKETS = 1 << 14;
        /// PortRcvPkts.
        const RECEIVE_PACKETS = 1 << 15;
    }
}
newtype_field!(CounterSelect(u16));

bitflags::bitflags! {
    /// PortCounters.CounterSelect2.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct CounterSelect2: u8 {
        /// PortXmitWait.
        const TRANSMIT_WAIT = 1 << 0;
        /// QP1Dropped.
        const QP1_DROPPED = 1 << 1;
        const _ = !0;
    }
}
newtype_field!(CounterSelect2(u8));

bitflags::bitflags! {
    /// PortCountersExtended.CounterSelect.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct ExtendedCounterSelect: u16 {
        /// PortXmitData.
        const TRANSMIT_DATA = 1 << 0;
        /// PortRcvData.
        const RECEIVE_DATA = 1 << 1;
        /// PortXmitPkts.
        const TRANSMIT_PACKETS = 1 << 2;
        /// PortRcvPkts.
        const RECEIVE_PACKETS = 1 << 3;
        /// PortUnicastXmitPkts.
        const UNICAST_TRANSMIT_PACKETS = 1 << 4;
        /// PortUnicastRcvPkts.
        const UNICAST_RECEIVE_PACKETS = 1 << 5;
        /// PortMulticastXmitPkts.
        const MULTICAST_TRANSMIT_PACKETS = 1 << 6;
        /// PortMulticastRcvPkts.
        const MULTICAST_RECEIVE_PACKETS = 1 << 7;
        const _ = !0;
    }
}
newtype_field!(ExtendedCounterSelect(u16));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mad::method;

    /// What stock tools do not show, and so cannot vouch for.
    #[test]
    fn the_younger_counters() {
        let counters = PortCounters {
            port_select: 1,
            counter_select2: CounterSelect2::TRANSMIT_WAIT | CounterSelect2::QP1_DROPPED,
            qp1_dropped: 0x0102,
            transmit_wait: 0x0304_0506,
            ..PortCounters::default()
        };
        let mut bytes = [0xa5; 44];
        counters.emit(&mut bytes);
        let mut expected = [0; 44];
        expected[1] = 1;
        expected[18] = 3;
        expected[20..22].copy_from_slice(&[1, 2]);
        expected[40..].copy_from_slice(&[3, 4, 5, 6]);
        assert_eq!(bytes, expected);
        assert_eq!(PortCounters::parse(&bytes), Ok(counters));
    }

    #[test]
    fn an_answer_replaces_the_attribute_and_a_refusal_returns_it() {
        let asked = PortCountersExtended {
            port_select: 3,
            ..PortCountersExtended::default()
        };
        let request = PerfMad::request(method::GET, 7, &asked);
        assert_eq!(request.attribute(), Ok(asked));
        let refusal = request.refusal(MadStatus::BAD_FIELD);
        assert_eq!(refusal.attribute(), Ok(asked));
        assert_eq!(refusal.header.status, MadStatus::BAD_FIELD);
        let counted = PortCountersExtended {
            transmit_data: u64::MAX,
            ..asked
        };
        let answer = request.response(&counted);
        assert_eq!(answer.attribute(), Ok(counted));
        assert_eq!(answer.header.method, method::GET_RESP);
        assert_eq!(answer.to_bytes()[64..68], [0, 3, 0, 0]);
    }
}
