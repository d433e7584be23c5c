//! Why a packet is refused: one reason for each check.

use thiserror::Error;

use crate::addr::{Gid, Lid, Qpn};
use crate::opcode::Opcode;

macro_rules! packet_errors {
    ($( $(#[$meta:meta])* $variant:ident $({ $( $(#[$field_meta:meta])* $field:ident: $ty:ty, )* })? = $index:literal $name:literal, $message:literal; )*) => {
        /// Why a packet is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
        pub enum PacketError {
            $(
                $(#[$meta])*
                #[error($message)]
                $variant $({ $( $(#[$field_meta])* $field: $ty, )* })?,
            )*
        }

        impl PacketError {
            /// A short name for each, by its [`index`](Self::index).
            pub const NAMES: &'static [&'static str] = &[$( $name, )*];

            /// A small number for each kind of error, to count them by.
            #[must_use]
            pub const fn index(&self) -> usize {
                match self {
                    $( Self::$variant { .. } => $index, )*
                }
            }

            /// The short name, e.g. `grh-version`.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                Self::NAMES[self.index()]
            }
        }

        const _: () = {
            let indices = [$( $index, )*];
            let mut i = 0;
            while i < indices.len() {
                assert!(indices[i] == i);
                i += 1;
            }
        };
    };
}

packet_errors! {
    /// No whole LRH.
    LrhShort {
        /// Octets that are there.
        have: usize,
    } = 0 "lrh-short", "the LRH needs 8 octets, only {have} are there";
    /// LRH.LVer.
    LinkVersion {
        /// What it says.
        version: u8,
    } = 1 "link-version", "LRH.LVer is {version}, expected 0";
    /// Not whole 4-octet words.
    Unaligned {
        /// Octets from LRH to padding.
        have: usize,
    } = 2 "unaligned", "{have} octets from LRH to padding are not whole 4-octet words";
    /// LRH.PktLen.
    PacketLength {
        /// Octets that it says.
        said: usize,
        /// Octets that are there.
        have: usize,
    } = 3 "packet-length", "LRH.PktLen says {said} octets, {have} are there";
    /// The headers that LRH.LNH announces do not fit.
    HeadersShort {
        /// Octets that they need.
        need: usize,
        /// Octets that are there.
        have: usize,
    } = 4 "headers-short", "the headers that LRH.LNH announces need {need} octets, only {have} are there";
    /// LRH.DLID.
    DestinationLid = 5 "destination-lid", "LRH.DLID is 0, which is reserved";
    /// LRH.SLID.
    SourceLid {
        /// What it says.
        slid: Lid,
    } = 6 "source-lid", "LRH.SLID is {slid}, a multicast LID";
    /// LRH.LNH.
    Raw {
        /// What it says.
        next_header: u8,
    } = 7 "raw", "LRH.LNH is {next_header}, a raw packet, expected 2 (BTH) or 3 (GRH)";
    /// GRH.IPVer.
    GrhVersion {
        /// What it says.
        version: u8,
    } = 8 "grh-version", "GRH.IPVer is {version}, expected 6";
    /// GRH.NxtHdr.
    GrhNextHeader {
        /// What it says.
        next_header: u8,
    } = 9 "grh-next-header", "GRH.NxtHdr is {next_header:#x}, expected 0x1b";
    /// GRH.PayLen.
    GrhPayloadLength {
        /// Octets that it says.
        said: usize,
        /// Octets that are there.
        have: usize,
    } = 10 "grh-payload-length", "GRH.PayLen says {said} octets, {have} are there";
    /// BTH.OpCode.
    Opcode {
        /// What it says.
        code: u8,
    } = 11 "opcode", "BTH.OpCode is {code:#x}, which is reserved";
    /// BTH.TVer.
    TransportVersion {
        /// What it says.
        version: u8,
    } = 12 "transport-version", "BTH.TVer is {version}, expected 0";
    /// A multicast destination, but no GRH.
    MulticastWithoutGrh {
        /// LRH.DLID.
        dlid: Lid,
        /// BTH.DestQP.
        dest_qpn: Qpn,
    } = 13 "multicast-without-grh", "a packet to LID {dlid}, QP {dest_qpn} needs a GRH";
    /// One of DLID and DGID is multicast.
    MulticastGid {
        /// LRH.DLID.
        dlid: Lid,
        /// GRH.DGID.
        dgid: Gid,
    } = 14 "multicast-gid", "LRH.DLID is {dlid}, GRH.DGID is {dgid}: both or neither must be multicast";
    /// Multicast asks for QP 0xFFFFFF, and the other way round.
    MulticastQpn {
        /// LRH.DLID.
        dlid: Lid,
        /// BTH.DestQP.
        dest_qpn: Qpn,
    } = 15 "multicast-qpn", "LRH.DLID is {dlid}, BTH.DestQP is {dest_qpn}: QP 0xffffff goes with multicast";
    /// The extended headers that the opcode asks for do not fit.
    ExtendedHeadersShort {
        /// BTH.OpCode.
        opcode: Opcode,
        /// Octets that they need.
        need: usize,
        /// Octets that are there.
        have: usize,
    } = 16 "extended-headers-short", "{opcode} needs {need} octets of extended headers, only {have} are there";
    /// BTH.PadCnt.
    PadCount {
        /// What it says.
        pad: u8,
        /// Octets behind the headers.
        have: usize,
    } = 17 "pad-count", "BTH.PadCnt is {pad}, only {have} octets follow the headers";
    /// Invariant CRC.
    Icrc {
        /// What the packet carries.
        found: u32,
        /// What would be right.
        computed: u32,
    } = 18 "icrc", "the ICRC is {found:#010x}, expected {computed:#010x}";
    /// Variant CRC.
    Vcrc {
        /// What the packet carries.
        found: u16,
        /// What would be right.
        computed: u16,
    } = 19 "vcrc", "the VCRC is {found:#06x}, expected {computed:#06x}";
}
