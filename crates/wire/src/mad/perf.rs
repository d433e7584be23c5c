//! Performance management attributes: PortCounters and PortCountersExtended (IBA 16.1.3.5, 16.1.4.11).

layout! {
    /// PortCounters: saturating counters.
    pub struct PortCounters [44] {
        /// Port; 255: all.
        port_select: u8 = 8, 8;
        /// In a Set: which counters.
        counter_select: u16 = 16, 16;
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
        counter_select2: u8 = 144, 8;
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
    /// PortCountersExtended: 64-bit counters.
    pub struct PortCountersExtended [72] {
        /// Port; 255: all.
        port_select: u8 = 8, 8;
        /// In a Set: which counters.
        counter_select: u16 = 16, 16;
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
