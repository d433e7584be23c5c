//! Tables of ports and switches, a block a MAD: GUIDs, P_Keys, SLtoVL, VL arbitration, forwarding
//! (IBA 14.2.5.5, 14.2.5.7 to 14.2.5.12).

use crate::addr::{Guid, PKey, Vl};

/// A block of 8 GUIDs of a port (GUIDInfo). The attribute modifier is the block.
pub type GuidBlock = [Guid; 8];
/// A block of 32 P_Keys of a port (P_KeyTable). Modifier: port << 16 | block (channel adapters: block).
pub type PKeyBlock = [PKey; 32];
/// VL of each SL (SLtoVLMappingTable). Modifier: input port << 8 | output port.
pub type SlToVl = [Vl; 16];
/// Output ports of 64 LIDs (LinearForwardingTable); 255: none. Modifier: block.
pub type LinearBlock = [u8; 64];
/// Output port masks, 16 ports wide, of 32 multicast LIDs (MulticastForwardingTable).
/// Modifier: position << 28 | block.
pub type MulticastBlock = [u16; 32];

/// An entry of a VL arbitration table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VlWeight {
    /// The virtual lane.
    pub vl: Vl,
    /// How much it may send in a turn, in 64 octets; 0: skip.
    pub weight: u8,
}

/// A block of 32 entries of a VL arbitration table. Modifier: block << 16 | port; blocks 1 and 2
/// are the low-priority table, 3 and 4 the high-priority one.
pub type VlArbBlock = [VlWeight; 32];
