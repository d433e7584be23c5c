//! Names of protection domains, memory regions and memory windows, and what may be done with them
//! (IBA 10.2.3, 10.6).

use std::fmt;

use bitflags::bitflags;

/// Names a protection domain of an adapter (IBA 10.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PdId(pub(in crate::hca) u32);

/// Declares a key: 24 bits of index, and below them 8 bits that change whenever the index is used
/// again, so that a key that outlived its memory opens nothing.
macro_rules! key {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u32);

        impl $name {
            /// A key of its 32 bits, such as a packet carries. It need not open anything.
            #[must_use]
            pub const fn new(bits: u32) -> Self {
                Self(bits)
            }

            /// The 32 bits.
            #[must_use]
            pub const fn bits(self) -> u32 {
                self.0
            }

            /// Which region or window: the upper 24 bits.
            #[must_use]
            pub const fn index(self) -> u32 {
                self.0 >> 8
            }

            /// Which of those that the index has named one after the other: the lower 8 bits.
            #[must_use]
            pub const fn variant(self) -> u8 {
                self.0.to_be_bytes()[3]
            }

            /// The same index with another variant.
            #[must_use]
            pub const fn with_variant(self, variant: u8) -> Self {
                Self(self.0 & !0xFF | variant as u32)
            }

            pub(in crate::hca) const fn of(index: u32, variant: u8) -> Self {
                Self(index << 8 | variant as u32)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "0x{:08x}", self.0)
            }
        }
    };
}

key! {
    /// Local key: what a work request shows for memory of its own side.
    LKey
}

key! {
    /// Remote key: what a packet shows for memory of the other side.
    RKey
}

/// Both keys of a memory region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// For the owner's own work requests.
    pub lkey: LKey,
    /// For the other side. It opens nothing when the region gives no remote access.
    pub rkey: RKey,
}

bitflags! {
    /// What may be done with a region, through a window, or by way of a queue pair. Reading by the
    /// owner's own work requests is always allowed.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct Access: u8 {
        /// The owner's work requests write: receives, the answers of reads and atomics.
        const LOCAL_WRITE = 1;
        /// RDMA WRITE.
        const REMOTE_WRITE = 1 << 1;
        /// RDMA READ.
        const REMOTE_READ = 1 << 2;
        /// Compare-and-swap and fetch-and-add.
        const REMOTE_ATOMIC = 1 << 3;
        /// Windows can be bound to it.
        const WINDOW_BIND = 1 << 4;
    }
}

impl Access {
    /// Whether it is one that can be given: remote writes and atomics need the local write
    /// (IBA 10.6.3.1, 11.2.8.2).
    #[must_use]
    pub const fn is_consistent(self) -> bool {
        !self.intersects(Self::REMOTE_WRITE.union(Self::REMOTE_ATOMIC))
            || self.contains(Self::LOCAL_WRITE)
    }
}

/// A piece of local memory in a gather or scatter list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sge {
    /// The region.
    pub lkey: LKey,
    /// Where in it, in the addresses that it was registered with.
    pub address: u64,
    /// Octets. A piece of 0 octets is not looked at (IBA 10.6.3.2).
    pub length: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_index_and_variant() {
        let key = RKey::of(0x12_3456, 0x78);
        assert_eq!(key, RKey::new(0x1234_5678));
        assert_eq!((key.index(), key.variant()), (0x12_3456, 0x78));
        assert_eq!(key.with_variant(0xff).bits(), 0x1234_56ff);
        assert_eq!(key.to_string(), "0x12345678");
    }

    // IBA 10.6.3.1.
    #[test]
    fn remote_writes_need_the_local_write() {
        for access in (0..32).map(Access::from_bits_truncate) {
            let remote = access.intersects(Access::REMOTE_WRITE | Access::REMOTE_ATOMIC);
            let refused = remote && !access.contains(Access::LOCAL_WRITE);
            assert_eq!(access.is_consistent(), !refused, "{access:?}");
        }
    }
}
