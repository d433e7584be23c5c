//! Reliable multi-packet protocol: messages longer than one MAD (IBA 13.6).

layout! {
    /// RMPP header: behind the MAD header in classes that use it.
    pub struct RmppHeader [12] {
        /// 1; 0: no RMPP.
        version: u8 = 0, 8;
        /// 0 none, 1 data, 2 ACK, 3 stop, 4 abort.
        rmpp_type: u8 = 8, 8;
        /// How long the receiver takes; 31: not given.
        resp_time: u8 = 16, 5;
        /// Flags.
        flags: RmppFlags = 21, 3;
        /// Status of a stop or an abort.
        status: u8 = 24, 8;
        /// Data and ACK: segment number, from 1.
        data1: u32 = 32, 32;
        /// Data: payload length of the first segment (the whole message) and of the last. ACK: new window last.
        data2: u32 = 64, 32;
    }
}

bitflags::bitflags! {
    /// RMPPFlags.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct RmppFlags: u8 {
        /// RMPP is in use.
        const ACTIVE = 1;
        /// The first segment.
        const FIRST = 2;
        /// The last segment.
        const LAST = 4;
    }
}
newtype_field!(RmppFlags(u8));
