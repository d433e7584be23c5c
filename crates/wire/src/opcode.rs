//! Transport opcodes: service in the upper three bits, operation in the lower five (IBA 9.2, table 38).

codes! {
    /// BTH.OpCode.
    pub enum Opcode: u8, "a transport opcode" {
        /// Unreliable datagram, SEND only.
        UdSendOnly = 0x64,
        /// Unreliable datagram, SEND only with immediate.
        UdSendOnlyImmediate = 0x65,
    }
}
