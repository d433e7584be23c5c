//! The header that every management datagram begins with (IBA 13.4.2).


layout! {
    /// MAD header.
    pub struct MadHeader [24] {
        /// 1.
        base_version: u8 = 0, 8;
        /// Management class: see [`class`](super::class).
        class: u8 = 8, 8;
        /// Version of the class: 1, for subnet administration and communication management 2.
        class_version: u8 = 16, 8;
        /// Method, response bit (0x80) included: see [`method`](super::method).
        method: u8 = 24, 8;
        /// Status. In a directed-route SMP bit 15 is the direction.
        status: u16 = 32, 16;
        /// In a directed-route SMP hop pointer and hop count.
        class_specific: u16 = 48, 16;
        /// Names the transaction.
        transaction_id: u64 = 64, 64;
        /// Attribute: see [`attribute`](super::attribute).
        attribute_id: u16 = 128, 16;
        /// Which part or instance of the attribute.
        attribute_modifier: u32 = 160, 32;
    }
}
