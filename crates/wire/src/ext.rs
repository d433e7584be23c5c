//! Extended transport headers: what the opcode says follows the BTH (IBA 9.3).
//!
//! | header | octets | fields |
//! | --- | --- | --- |
//! | RDETH | 4 | reserved 8, end-to-end context 24 |
//! | DETH | 8 | Q_Key 32, reserved 8, source QP 24 |
//! | XRCETH | 4 | reserved 8, shared receive queue 24 |
//! | RETH | 16 | virtual address 64, R_Key 32, DMA length 32 |
//! | AtomicETH | 28 | virtual address 64, R_Key 32, swap or add 64, compare 64 |
//! | AETH | 4 | syndrome 8, message sequence number 24 |
//! | AtomicAckETH | 8 | original data 64 |
//! | ImmDt | 4 | immediate data 32 |
//! | IETH | 4 | R_Key 32 |
//!
//! Where a packet has several of them is a matter of its [opcode](crate::opcode).

use crate::addr::{QKey, Qpn};

layout! {
    /// Datagram extended transport header.
    pub struct Deth [8] {
        /// The destination QP takes the packet only with its own Q_Key.
        qkey: QKey = 0, 32;
        /// Source queue pair.
        src_qpn: Qpn = 40, 24;
    }
}

layout! {
    /// RDMA extended transport header.
    pub struct Reth [16] {
        /// Where in the remote memory.
        virtual_address: u64 = 0, 64;
        /// R_Key of the memory region.
        remote_key: u32 = 64, 32;
        /// Octets of the whole message.
        dma_length: u32 = 96, 32;
    }
}

layout! {
    /// ACK extended transport header.
    pub struct Aeth [4] {
        /// ACK, RNR NAK or NAK, with credits, timer or reason.
        syndrome: u8 = 0, 8;
        /// Message sequence number.
        msn: u32 = 8, 24;
    }
}

layout! {
    /// Atomic extended transport header.
    pub struct AtomicEth [28] {
        /// Where in the remote memory.
        virtual_address: u64 = 0, 64;
        /// R_Key of the memory region.
        remote_key: u32 = 64, 32;
        /// What to put there, or to add.
        swap_or_add: u64 = 96, 64;
        /// What must be there for the swap.
        compare: u64 = 160, 64;
    }
}

layout! {
    /// Atomic acknowledge extended transport header.
    pub struct AtomicAckEth [8] {
        /// What was in the remote memory before.
        original: u64 = 0, 64;
    }
}

layout! {
    /// Immediate data.
    pub struct ImmDt [4] {
        /// The four octets, as a number.
        data: u32 = 0, 32;
    }
}

layout! {
    /// Invalidate extended transport header.
    pub struct Ieth [4] {
        /// The R_Key to invalidate.
        remote_key: u32 = 0, 32;
    }
}

layout! {
    /// Reliable datagram extended transport header.
    pub struct Rdeth [4] {
        /// End-to-end context.
        ee_context: u32 = 8, 24;
    }
}

layout! {
    /// XRC extended transport header (IBA annex A14).
    pub struct XrcEth [4] {
        /// Shared receive queue that the message is for.
        srq: u32 = 8, 24;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::opcode::Headers;

    /// Octets that count up, so that a field at a wrong place shows.
    const BYTES: [u8; 28] = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
        0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c,
    ];

    #[test]
    fn test_parse() {
        let deth = Deth {
            qkey: QKey::new(0x0102_0304),
            src_qpn: Qpn::from_bits_truncate(0x06_0708),
        };
        assert_eq!(Deth::parse(&BYTES), Ok(deth));
        let reth = Reth {
            virtual_address: 0x0102_0304_0506_0708,
            remote_key: 0x090a_0b0c,
            dma_length: 0x0d0e_0f10,
        };
        assert_eq!(Reth::parse(&BYTES), Ok(reth));
        assert_eq!(
            Aeth::parse(&BYTES),
            Ok(Aeth {
                syndrome: 1,
                msn: 0x02_0304
            })
        );
        let atomic = AtomicEth {
            virtual_address: 0x0102_0304_0506_0708,
            remote_key: 0x090a_0b0c,
            swap_or_add: 0x0d0e_0f10_1112_1314,
            compare: 0x1516_1718_191a_1b1c,
        };
        assert_eq!(AtomicEth::parse(&BYTES), Ok(atomic));
        assert_eq!(
            AtomicAckEth::parse(&BYTES),
            Ok(AtomicAckEth {
                original: 0x0102_0304_0506_0708
            })
        );
        assert_eq!(ImmDt::parse(&BYTES), Ok(ImmDt { data: 0x0102_0304 }));
        assert_eq!(
            Ieth::parse(&BYTES),
            Ok(Ieth {
                remote_key: 0x0102_0304
            })
        );
        assert_eq!(
            Rdeth::parse(&BYTES),
            Ok(Rdeth {
                ee_context: 0x02_0304
            })
        );
        assert_eq!(XrcEth::parse(&BYTES), Ok(XrcEth { srq: 0x02_0304 }));
    }

    #[test]
    fn lengths_agree_with_the_opcodes() {
        for (header, len) in [
            (Headers::RDETH, Rdeth::LEN),
            (Headers::DETH, Deth::LEN),
            (Headers::XRCETH, XrcEth::LEN),
            (Headers::RETH, Reth::LEN),
            (Headers::ATOMIC, AtomicEth::LEN),
            (Headers::AETH, Aeth::LEN),
            (Headers::ATOMIC_ACK, AtomicAckEth::LEN),
            (Headers::IMMEDIATE, ImmDt::LEN),
            (Headers::IETH, Ieth::LEN),
        ] {
            assert_eq!(header.octets(), len, "{header:?}");
        }
    }

    proptest! {
        /// What is parsed is emitted over dirty octets, but for reserved ones.
        #[test]
        fn test_emit(bytes: [u8; 28]) {
            macro_rules! round_trip {
                ($($format:ident, reserved $reserved:expr;)*) => { $(
                    let mut expected = bytes;
                    for octet in $reserved {
                        let octet: usize = octet;
                        expected[octet] = 0;
                    }
                    let mut emitted = [0xa5; 28];
                    $format::parse(&bytes).unwrap().emit(&mut emitted);
                    prop_assert_eq!(&emitted[..$format::LEN], &expected[..$format::LEN]);
                    prop_assert!(emitted[$format::LEN..].iter().all(|&octet| octet == 0xa5));
                )* };
            }
            round_trip! {
                Deth, reserved [4];
                Reth, reserved [];
                Aeth, reserved [];
                AtomicEth, reserved [];
                AtomicAckEth, reserved [];
                ImmDt, reserved [];
                Ieth, reserved [];
                Rdeth, reserved [0];
                XrcEth, reserved [0];
            }
        }
    }
}
