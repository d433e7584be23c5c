//! What an IP stack leaves to the adapter: the transport checksum, and cutting a large send.
//!
//! The same facts as a `virtio_net_hdr` holds, counted from the start of the IP packet.

/// What is left to do for an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offload {
    /// The transport checksum field holds only the sum over the pseudo header.
    pub needs_checksum: bool,
    /// Where the checksum's coverage begins: the transport header.
    pub checksum_start: u16,
    /// Where, behind `checksum_start`, the checksum is stored.
    pub checksum_offset: u16,
    /// The packet is a large send, to be cut.
    pub gso: Option<Gso>,
}

/// How a large send is to be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gso {
    /// What it is.
    pub kind: GsoKind,
    /// Payload octets of each segment but the last.
    pub size: u16,
    /// Octets of IP and transport headers, which every segment repeats.
    pub header_len: u16,
    /// The segments may carry congestion marks.
    pub ecn: bool,
}

/// Protocols that can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GsoKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4, one datagram a segment.
    Udp4,
    /// UDP over IPv6, one datagram a segment.
    Udp6,
}

impl GsoKind {
    /// Whether it is IPv6.
    #[must_use]
    pub const fn is_ipv6(self) -> bool {
        matches!(self, Self::Tcp6 | Self::Udp6)
    }

    /// Whether it is TCP.
    #[must_use]
    pub const fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp4 | Self::Tcp6)
    }

    /// The IP protocol number.
    pub(super) const fn protocol(self) -> u8 {
        if self.is_tcp() { 6 } else { 17 }
    }

    /// Octets of the shortest transport header.
    pub(super) const fn transport_len(self) -> usize {
        if self.is_tcp() { 20 } else { 8 }
    }

    /// Where in the transport header the checksum is.
    pub(super) const fn checksum_offset(self) -> usize {
        if self.is_tcp() { 16 } else { 6 }
    }
}
