//! Connected mode's part in connection management (RFC 4755 §3.5, §6).

use crate::addr::Qpn;

layout! {
    /// Private data of a REQ and of a REP. Its first octet is reserved.
    pub struct PrivateData [8] {
        /// The unreliable datagram queue pair of the interface.
        qpn: Qpn = 8, 24;
        /// The longest message that the interface takes, encapsulation header included.
        receive_mtu: u32 = 32, 32;
    }
}

/// Which of two layouts a service ID has. An interface listens to both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceIdForm {
    /// That of Linux and of nearly all others: first octet 0x10.
    Deployed,
    /// That of RFC 4755 §3.5: first octet 0x01.
    Rfc,
}

impl ServiceIdForm {
    const fn prefix(self) -> u64 {
        match self {
            Self::Deployed => 0x10 << 56,
            Self::Rfc => 0x01 << 56,
        }
    }
}

/// The service ID that an interface with this datagram queue pair listens to.
#[must_use]
pub const fn service_id(form: ServiceIdForm, qpn: Qpn) -> u64 {
    form.prefix() | qpn.bits() as u64
}

/// The interface that a service ID names; none when it is not IPoIB's.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low 24 bits are what is asked for"
)]
pub const fn parse_service_id(service_id: u64) -> Option<(ServiceIdForm, Qpn)> {
    let qpn = Qpn::from_bits_truncate(service_id as u32);
    match service_id & !0xFF_FFFF {
        prefix if prefix == ServiceIdForm::Deployed.prefix() => {
            Some((ServiceIdForm::Deployed, qpn))
        }
        prefix if prefix == ServiceIdForm::Rfc.prefix() => Some((ServiceIdForm::Rfc, qpn)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a REQ between real adapters.
    const BYTES: [u8; 8] = [0x00, 0x00, 0x04, 0x05, 0x00, 0x00, 0xff, 0xf4];

    fn private_data() -> PrivateData {
        PrivateData {
            qpn: Qpn::from_bits_truncate(0x405),
            receive_mtu: 65524,
        }
    }

    #[test]
    fn test_parse() {
        assert_eq!(PrivateData::parse(&BYTES), Ok(private_data()));
    }

    #[test]
    fn test_emit() {
        let mut bytes = [0xa5; 8];
        private_data().emit(&mut bytes);
        assert_eq!(bytes, BYTES);
    }

    #[test]
    fn service_ids() {
        let qpn = Qpn::from_bits_truncate(0x404);
        assert_eq!(
            service_id(ServiceIdForm::Deployed, qpn),
            0x1000_0000_0000_0404
        );
        assert_eq!(service_id(ServiceIdForm::Rfc, qpn), 0x0100_0000_0000_0404);
        for form in [ServiceIdForm::Deployed, ServiceIdForm::Rfc] {
            assert_eq!(parse_service_id(service_id(form, qpn)), Some((form, qpn)));
        }
        assert_eq!(parse_service_id(0x1000_0000_0100_0404), None);
        assert_eq!(parse_service_id(0x0000_0000_0106_0404), None);
    }
}
