//! Transport opcodes: service in the upper three bits, operation in the lower five (IBA 9.2, table 38).
//!
//! One table says of every opcode what it does, where in a message it stands and which extended
//! headers follow the BTH. Everything else here is read from that table.

use core::fmt;

use bitflags::bitflags;

/// Transport services: what the upper three bits of an opcode say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification (IBA annex A10): no service of its own.
    Cnp,
    /// Extended reliable connection (IBA annex A14).
    Xrc,
}

/// What a packet does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Brings a message to a posted receive.
    Send,
    /// Writes to the receiver's memory.
    RdmaWrite,
    /// Asks for the receiver's memory.
    ReadRequest,
    /// Answers a read.
    ReadResponse,
    /// Positive or negative acknowledge.
    Acknowledge,
    /// Answers an atomic operation.
    AtomicAcknowledge,
    /// Atomic compare and swap.
    CompareSwap,
    /// Atomic fetch and add.
    FetchAdd,
    /// Reliable datagram: brings sequence numbers together again.
    Resync,
    /// Tells a sender of congestion.
    CongestionNotification,
}

/// Where in its message a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// The first of several.
    First,
    /// Neither first nor last.
    Middle,
    /// The last of several.
    Last,
    /// The message is this one packet.
    Only,
}

impl Position {
    /// Whether a message begins here.
    #[must_use]
    pub const fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether a message ends here.
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

bitflags! {
    /// Extended transport headers. Those that a packet has follow its BTH in the order of the bits
    /// here, lowest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Headers: u16 {
        /// Reliable datagram extended transport header, 4 octets.
        const RDETH = 1;
        /// Datagram extended transport header, 8 octets.
        const DETH = 1 << 1;
        /// XRC extended transport header, 4 octets.
        const XRCETH = 1 << 2;
        /// RDMA extended transport header, 16 octets.
        const RETH = 1 << 3;
        /// Atomic extended transport header, 28 octets.
        const ATOMIC = 1 << 4;
        /// ACK extended transport header, 4 octets.
        const AETH = 1 << 5;
        /// Atomic acknowledge extended transport header, 8 octets.
        const ATOMIC_ACK = 1 << 6;
        /// Immediate data, 4 octets.
        const IMMEDIATE = 1 << 7;
        /// Invalidate extended transport header, 4 octets.
        const IETH = 1 << 8;
    }
}

/// Octets of each header, by its bit in [`Headers`].
const HEADER_LEN: [usize; 9] = [4, 8, 4, 16, 28, 4, 8, 4, 4];

impl Headers {
    /// Octets of all headers in the set together.
    #[must_use]
    pub const fn octets(self) -> usize {
        let mut octets = 0;
        let mut bit = 0;
        while bit < HEADER_LEN.len() {
            if self.bits() & 1 << bit != 0 {
                octets += HEADER_LEN[bit];
            }
            bit += 1;
        }
        octets
    }

    /// Octets between the BTH and `header` in a packet with this set of headers; none when the
    /// packet does not have it.
    #[must_use]
    pub const fn offset_of(self, header: Self) -> Option<usize> {
        if !self.contains(header) || header.is_empty() {
            return None;
        }
        let before = Self::from_bits_truncate((1 << header.bits().trailing_zeros()) - 1);
        Some(self.intersection(before).octets())
    }
}

/// What the table says of one opcode.
#[derive(Debug, Clone, Copy)]
struct Row {
    service: Service,
    operation: Operation,
    position: Position,
    headers: Headers,
    headers_len: usize,
    name: &'static str,
}

macro_rules! opcodes {
    ($( $service:ident { $(
        $variant:ident = $code:literal $name:literal $operation:ident $position:ident [$($header:ident)*];
    )* } )*) => {
        codes! {
            /// BTH.OpCode.
            pub enum Opcode: u8, "a transport opcode" {
                $( $( #[doc = $name] $variant = $code, )* )*
            }
        }

        impl Opcode {
            const fn row(self) -> &'static Row {
                match self {
                    $( $( Self::$variant => const { &Row {
                        service: Service::$service,
                        operation: Operation::$operation,
                        position: Position::$position,
                        headers: Headers::empty()$( .union(Headers::$header) )*,
                        headers_len: Headers::empty()$( .union(Headers::$header) )*.octets(),
                        name: $name,
                    } }, )* )*
                }
            }
        }
    };
}

opcodes! {
    Rc {
        RcSendFirst            = 0x00 "RC SEND First" Send First [];
        RcSendMiddle           = 0x01 "RC SEND Middle" Send Middle [];
        RcSendLast             = 0x02 "RC SEND Last" Send Last [];
        RcSendLastImmediate    = 0x03 "RC SEND Last with Immediate" Send Last [IMMEDIATE];
        RcSendOnly             = 0x04 "RC SEND Only" Send Only [];
        RcSendOnlyImmediate    = 0x05 "RC SEND Only with Immediate" Send Only [IMMEDIATE];
        RcWriteFirst           = 0x06 "RC RDMA WRITE First" RdmaWrite First [RETH];
        RcWriteMiddle          = 0x07 "RC RDMA WRITE Middle" RdmaWrite Middle [];
        RcWriteLast            = 0x08 "RC RDMA WRITE Last" RdmaWrite Last [];
        RcWriteLastImmediate   = 0x09 "RC RDMA WRITE Last with Immediate" RdmaWrite Last [IMMEDIATE];
        RcWriteOnly            = 0x0a "RC RDMA WRITE Only" RdmaWrite Only [RETH];
        RcWriteOnlyImmediate   = 0x0b "RC RDMA WRITE Only with Immediate" RdmaWrite Only [RETH IMMEDIATE];
        RcReadRequest          = 0x0c "RC RDMA READ Request" ReadRequest Only [RETH];
        RcReadResponseFirst    = 0x0d "RC RDMA READ response First" ReadResponse First [AETH];
        RcReadResponseMiddle   = 0x0e "RC RDMA READ response Middle" ReadResponse Middle [];
        RcReadResponseLast     = 0x0f "RC RDMA READ response Last" ReadResponse Last [AETH];
        RcReadResponseOnly     = 0x10 "RC RDMA READ response Only" ReadResponse Only [AETH];
        RcAcknowledge          = 0x11 "RC Acknowledge" Acknowledge Only [AETH];
        RcAtomicAcknowledge    = 0x12 "RC ATOMIC Acknowledge" AtomicAcknowledge Only [AETH ATOMIC_ACK];
        RcCompareSwap          = 0x13 "RC CmpSwap" CompareSwap Only [ATOMIC];
        RcFetchAdd             = 0x14 "RC FetchAdd" FetchAdd Only [ATOMIC];
        RcSendLastInvalidate   = 0x16 "RC SEND Last with Invalidate" Send Last [IETH];
        RcSendOnlyInvalidate   = 0x17 "RC SEND Only with Invalidate" Send Only [IETH];
    }
    Uc {
        UcSendFirst            = 0x20 "UC SEND First" Send First [];
        UcSendMiddle           = 0x21 "UC SEND Middle" Send Middle [];
        UcSendLast             = 0x22 "UC SEND Last" Send Last [];
        UcSendLastImmediate    = 0x23 "UC SEND Last with Immediate" Send Last [IMMEDIATE];
        UcSendOnly             = 0x24 "UC SEND Only" Send Only [];
        UcSendOnlyImmediate    = 0x25 "UC SEND Only with Immediate" Send Only [IMMEDIATE];
        UcWriteFirst           = 0x26 "UC RDMA WRITE First" RdmaWrite First [RETH];
        UcWriteMiddle          = 0x27 "UC RDMA WRITE Middle" RdmaWrite Middle [];
        UcWriteLast            = 0x28 "UC RDMA WRITE Last" RdmaWrite Last [];
        UcWriteLastImmediate   = 0x29 "UC RDMA WRITE Last with Immediate" RdmaWrite Last [IMMEDIATE];
        UcWriteOnly            = 0x2a "UC RDMA WRITE Only" RdmaWrite Only [RETH];
        UcWriteOnlyImmediate   = 0x2b "UC RDMA WRITE Only with Immediate" RdmaWrite Only [RETH IMMEDIATE];
    }
    Rd {
        RdSendFirst            = 0x40 "RD SEND First" Send First [RDETH DETH];
        RdSendMiddle           = 0x41 "RD SEND Middle" Send Middle [RDETH DETH];
        RdSendLast             = 0x42 "RD SEND Last" Send Last [RDETH DETH];
        RdSendLastImmediate    = 0x43 "RD SEND Last with Immediate" Send Last [RDETH DETH IMMEDIATE];
        RdSendOnly             = 0x44 "RD SEND Only" Send Only [RDETH DETH];
        RdSendOnlyImmediate    = 0x45 "RD SEND Only with Immediate" Send Only [RDETH DETH IMMEDIATE];
        RdWriteFirst           = 0x46 "RD RDMA WRITE First" RdmaWrite First [RDETH DETH RETH];
        RdWriteMiddle          = 0x47 "RD RDMA WRITE Middle" RdmaWrite Middle [RDETH DETH];
        RdWriteLast            = 0x48 "RD RDMA WRITE Last" RdmaWrite Last [RDETH DETH];
        RdWriteLastImmediate   = 0x49 "RD RDMA WRITE Last with Immediate" RdmaWrite Last [RDETH DETH IMMEDIATE];
        RdWriteOnly            = 0x4a "RD RDMA WRITE Only" RdmaWrite Only [RDETH DETH RETH];
        RdWriteOnlyImmediate   = 0x4b "RD RDMA WRITE Only with Immediate" RdmaWrite Only [RDETH DETH RETH IMMEDIATE];
        RdReadRequest          = 0x4c "RD RDMA READ Request" ReadRequest Only [RDETH DETH RETH];
        RdReadResponseFirst    = 0x4d "RD RDMA READ response First" ReadResponse First [RDETH AETH];
        RdReadResponseMiddle   = 0x4e "RD RDMA READ response Middle" ReadResponse Middle [RDETH];
        RdReadResponseLast     = 0x4f "RD RDMA READ response Last" ReadResponse Last [RDETH AETH];
        RdReadResponseOnly     = 0x50 "RD RDMA READ response Only" ReadResponse Only [RDETH AETH];
        RdAcknowledge          = 0x51 "RD Acknowledge" Acknowledge Only [RDETH AETH];
        RdAtomicAcknowledge    = 0x52 "RD ATOMIC Acknowledge" AtomicAcknowledge Only [RDETH AETH ATOMIC_ACK];
        RdCompareSwap          = 0x53 "RD CmpSwap" CompareSwap Only [RDETH DETH ATOMIC];
        RdFetchAdd             = 0x54 "RD FetchAdd" FetchAdd Only [RDETH DETH ATOMIC];
        RdResync               = 0x55 "RD RESYNC" Resync Only [RDETH DETH];
    }
    Ud {
        UdSendOnly             = 0x64 "UD SEND Only" Send Only [DETH];
        UdSendOnlyImmediate    = 0x65 "UD SEND Only with Immediate" Send Only [DETH IMMEDIATE];
    }
    Cnp {
        Cnp                    = 0x81 "CNP" CongestionNotification Only [];
    }
    Xrc {
        XrcSendFirst           = 0xa0 "XRC SEND First" Send First [XRCETH];
        XrcSendMiddle          = 0xa1 "XRC SEND Middle" Send Middle [XRCETH];
        XrcSendLast            = 0xa2 "XRC SEND Last" Send Last [XRCETH];
        XrcSendLastImmediate   = 0xa3 "XRC SEND Last with Immediate" Send Last [XRCETH IMMEDIATE];
        XrcSendOnly            = 0xa4 "XRC SEND Only" Send Only [XRCETH];
        XrcSendOnlyImmediate   = 0xa5 "XRC SEND Only with Immediate" Send Only [XRCETH IMMEDIATE];
        XrcWriteFirst          = 0xa6 "XRC RDMA WRITE First" RdmaWrite First [XRCETH RETH];
        XrcWriteMiddle         = 0xa7 "XRC RDMA WRITE Middle" RdmaWrite Middle [XRCETH];
        XrcWriteLast           = 0xa8 "XRC RDMA WRITE Last" RdmaWrite Last [XRCETH];
        XrcWriteLastImmediate  = 0xa9 "XRC RDMA WRITE Last with Immediate" RdmaWrite Last [XRCETH IMMEDIATE];
        XrcWriteOnly           = 0xaa "XRC RDMA WRITE Only" RdmaWrite Only [XRCETH RETH];
        XrcWriteOnlyImmediate  = 0xab "XRC RDMA WRITE Only with Immediate" RdmaWrite Only [XRCETH RETH IMMEDIATE];
        XrcReadRequest         = 0xac "XRC RDMA READ Request" ReadRequest Only [XRCETH RETH];
        XrcReadResponseFirst   = 0xad "XRC RDMA READ response First" ReadResponse First [AETH];
        XrcReadResponseMiddle  = 0xae "XRC RDMA READ response Middle" ReadResponse Middle [];
        XrcReadResponseLast    = 0xaf "XRC RDMA READ response Last" ReadResponse Last [AETH];
        XrcReadResponseOnly    = 0xb0 "XRC RDMA READ response Only" ReadResponse Only [AETH];
        XrcAcknowledge         = 0xb1 "XRC Acknowledge" Acknowledge Only [AETH];
        XrcAtomicAcknowledge   = 0xb2 "XRC ATOMIC Acknowledge" AtomicAcknowledge Only [AETH ATOMIC_ACK];
        XrcCompareSwap         = 0xb3 "XRC CmpSwap" CompareSwap Only [XRCETH ATOMIC];
        XrcFetchAdd            = 0xb4 "XRC FetchAdd" FetchAdd Only [XRCETH ATOMIC];
        XrcSendLastInvalidate  = 0xb6 "XRC SEND Last with Invalidate" Send Last [XRCETH IETH];
        XrcSendOnlyInvalidate  = 0xb7 "XRC SEND Only with Invalidate" Send Only [XRCETH IETH];
    }
}

impl Opcode {
    /// The transport service that it belongs to.
    #[must_use]
    pub const fn service(self) -> Service {
        self.row().service
    }

    /// What it does.
    #[must_use]
    pub const fn operation(self) -> Operation {
        self.row().operation
    }

    /// Where in its message it stands.
    #[must_use]
    pub const fn position(self) -> Position {
        self.row().position
    }

    /// The extended headers that follow the BTH.
    #[must_use]
    pub const fn headers(self) -> Headers {
        self.row().headers
    }

    /// Octets of the extended headers.
    #[must_use]
    pub const fn headers_len(self) -> usize {
        self.row().headers_len
    }

    /// Whether immediate data comes with it.
    #[must_use]
    pub const fn has_immediate(self) -> bool {
        self.headers().contains(Headers::IMMEDIATE)
    }

    /// Whether it goes from requester to responder.
    #[must_use]
    pub const fn is_request(self) -> bool {
        !matches!(
            self.operation(),
            Operation::ReadResponse
                | Operation::Acknowledge
                | Operation::AtomicAcknowledge
                | Operation::CongestionNotification
        )
    }

    /// Whether it goes from responder to requester.
    #[must_use]
    pub const fn is_response(self) -> bool {
        matches!(
            self.operation(),
            Operation::ReadResponse | Operation::Acknowledge | Operation::AtomicAcknowledge
        )
    }

    /// Whether payload can follow the headers.
    #[must_use]
    pub const fn has_payload(self) -> bool {
        matches!(
            self.operation(),
            Operation::Send
                | Operation::RdmaWrite
                | Operation::ReadResponse
                // 16 reserved octets (IBA annex A10), which are nobody's message.
                | Operation::CongestionNotification
        )
    }

    /// The specification's name, e.g. `UD SEND Only`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_itself_and_in_its_service() {
        assert_eq!(Opcode::ALL.len(), 23 + 12 + 22 + 2 + 1 + 23);
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_code(opcode.code()), Some(opcode));
            let service = match opcode.code() >> 5 {
                0 => Service::Rc,
                1 => Service::Uc,
                2 => Service::Rd,
                3 => Service::Ud,
                4 => Service::Cnp,
                _ => Service::Xrc,
            };
            assert_eq!(opcode.service(), service, "{}", opcode.name());
        }
    }

    #[test]
    fn reserved_codes_are_refused() {
        for code in [
            0x15, 0x18, 0x1f, 0x2c, 0x56, 0x60, 0x63, 0x66, 0x80, 0x82, 0xb5, 0xb8, 0xc0, 0xff,
        ] {
            assert_eq!(Opcode::from_code(code), None, "{code:#x}");
        }
    }

    /// One operation has the same code, position and own headers in each service that has it.
    #[test]
    fn services_agree_on_operations() {
        let own = Headers::RDETH | Headers::DETH | Headers::XRCETH;
        for &opcode in Opcode::ALL {
            if opcode.service() == Service::Cnp {
                continue;
            }
            let Some(rc) = Opcode::from_code(opcode.code() & 0x1f) else {
                assert_eq!(opcode, Opcode::RdResync);
                continue;
            };
            assert_eq!(opcode.operation(), rc.operation(), "{}", opcode.name());
            assert_eq!(opcode.position(), rc.position(), "{}", opcode.name());
            assert_eq!(opcode.headers() - own, rc.headers(), "{}", opcode.name());
        }
    }

    #[test]
    fn header_lengths() {
        assert_eq!(Opcode::RcSendOnly.headers_len(), 0);
        assert_eq!(Opcode::RcWriteOnlyImmediate.headers_len(), 20);
        assert_eq!(Opcode::RcAtomicAcknowledge.headers_len(), 12);
        assert_eq!(Opcode::UdSendOnly.headers_len(), 8);
        assert_eq!(Opcode::UdSendOnlyImmediate.headers_len(), 12);
        // The longest of all: RDETH, DETH and AtomicETH.
        assert_eq!(Opcode::RdCompareSwap.headers_len(), 40);
        assert_eq!(
            Opcode::ALL.iter().map(|opcode| opcode.headers_len()).max(),
            Some(40)
        );
    }

    #[test]
    fn header_offsets() {
        let headers = Opcode::RdWriteOnlyImmediate.headers();
        assert_eq!(headers.offset_of(Headers::RDETH), Some(0));
        assert_eq!(headers.offset_of(Headers::DETH), Some(4));
        assert_eq!(headers.offset_of(Headers::RETH), Some(12));
        assert_eq!(headers.offset_of(Headers::IMMEDIATE), Some(28));
        assert_eq!(headers.offset_of(Headers::AETH), None);
        assert_eq!(headers.offset_of(Headers::empty()), None);
    }

    #[test]
    fn directions() {
        assert!(Opcode::RcReadRequest.is_request() && !Opcode::RcReadRequest.has_payload());
        assert!(Opcode::RcReadResponseMiddle.is_response());
        assert!(Opcode::XrcAcknowledge.is_response());
        assert!(!Opcode::Cnp.is_request() && !Opcode::Cnp.is_response());
        assert!(
            Opcode::UdSendOnlyImmediate.has_immediate() && Opcode::UdSendOnlyImmediate.is_request()
        );
    }
}
