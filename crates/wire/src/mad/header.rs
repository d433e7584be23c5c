//! The header that every management datagram begins with (IBA 13.4.2).

use crate::mad::status::MadStatus;
use crate::mad::{class, method};

layout! {
    /// MAD header.
    pub struct MadHeader [24] {
        /// 1.
        base_version: u8 = 0, 8;
        /// Management class: see [`class`].
        class: u8 = 8, 8;
        /// Version of the class: 1, for subnet administration and communication management 2.
        class_version: u8 = 16, 8;
        /// Method, response bit (0x80) included: see [`method`].
        method: u8 = 24, 8;
        /// Status. In a directed-route SMP bit 15 is the direction.
        status: MadStatus = 32, 16;
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

impl MadHeader {
    /// A request of a class, with the class version that goes with it.
    #[must_use]
    pub const fn request(
        class: u8,
        method: u8,
        attribute_id: u16,
        attribute_modifier: u32,
        transaction_id: u64,
    ) -> Self {
        Self {
            base_version: 1,
            class,
            class_version: class::version(class),
            method,
            status: MadStatus::OK,
            class_specific: 0,
            transaction_id,
            attribute_id,
            attribute_modifier,
        }
    }

    /// The answer to this request: the same header with the method of the answer and a status.
    ///
    /// Everything else is the requester's and goes back as it came, directed-route counters included.
    #[must_use]
    pub const fn response_to(&self, status: MadStatus) -> Self {
        Self {
            method: method::response(self.method),
            status,
            ..*self
        }
    }

    /// Whether it answers a request. TrapRepress is one too, though its method lacks the bit.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.method & method::RESPONSE != 0 || self.method == method::TRAP_REPRESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mad::tests::SA_PATH_GET;

    #[test]
    fn a_captured_header() {
        let header = MadHeader::parse(&SA_PATH_GET).unwrap();
        let built = MadHeader::request(
            class::SUBN_ADM,
            method::GET,
            0x0035,
            0,
            0x0000_000b_b964_7f9e,
        );
        assert_eq!(header, built);
        let mut out = [0xa5; 24];
        built.emit(&mut out);
        assert_eq!(out[..], SA_PATH_GET[..24]);
    }

    #[test]
    fn an_answer_keeps_what_the_requester_sent() {
        let mut request = MadHeader::request(class::SUBN_LID, method::SET, 0x0015, 7, 42);
        request.class_specific = 0x0102;
        let answer = request.response_to(MadStatus::BAD_FIELD);
        assert!(answer.is_response() && !request.is_response());
        assert_eq!(
            answer,
            MadHeader {
                method: method::GET_RESP,
                status: MadStatus::BAD_FIELD,
                ..request
            }
        );
    }
}
