//! Why memory was not touched.

use thiserror::Error;

use super::{Access, LKey, RKey};

/// Why an access to memory was refused (IBA 10.6.3, 9.7.4.1.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MemoryFault {
    /// The L_Key opens no region.
    #[error("L_Key {lkey} is that of no memory region")]
    LocalKey {
        /// The key.
        lkey: LKey,
    },
    /// The R_Key opens neither a region nor a bound window.
    #[error("R_Key {rkey} is that of no memory region and of no bound window")]
    RemoteKey {
        /// The key.
        rkey: RKey,
    },
    /// The memory belongs to another protection domain than the queue.
    #[error("memory with key 0x{key:08x} is in another protection domain than the queue")]
    ProtectionDomain {
        /// The key.
        key: u32,
    },
    /// The window was bound by way of another queue pair.
    #[error("window {rkey} is bound to another queue pair")]
    QueuePair {
        /// Its key.
        rkey: RKey,
    },
    /// The range is not wholly inside.
    #[error(
        "{length} octets at {address:#x} are not all within the {have} octets from {base:#x} on"
    )]
    Bounds {
        /// Where the access begins.
        address: u64,
        /// Its octets.
        length: u64,
        /// Where the region or window begins.
        base: u64,
        /// Its octets.
        have: u64,
    },
    /// The right was not given.
    #[error("the access needs {wanted:?}, the memory gives {given:?}")]
    Right {
        /// What the access needs.
        wanted: Access,
        /// What there is.
        given: Access,
    },
    /// An atomic operation not at a multiple of 8 (IBA 9.4.5).
    #[error("an atomic operation at {address:#x}, expected a multiple of 8")]
    Alignment {
        /// Where.
        address: u64,
    },
    /// The window is bound already: it must be invalidated first (IBA 10.6.7.2.2).
    #[error("window {rkey} is bound already; invalidate it first")]
    Bound {
        /// Its key.
        rkey: RKey,
    },
    /// Not a window, so that it can be neither bound nor invalidated.
    #[error("R_Key {rkey} is that of no memory window")]
    NoWindow {
        /// The key.
        rkey: RKey,
    },
}
