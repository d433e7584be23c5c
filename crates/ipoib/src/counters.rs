//! What an interface counts: Linux's eight figures, and one counter for every reason to drop.
//!
//! Packets are counted as a wire would see them: a super-frame of n segments is n packets.

/// Which of Linux's figures a dropped packet moves, besides the counter of its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// `tx_dropped`.
    TxDropped,
    /// `tx_dropped` and `tx_errors`, as Linux does for packets longer than the path carries.
    TxDroppedAndErrors,
    /// `tx_errors`.
    TxErrors,
    /// `rx_dropped`.
    RxDropped,
    /// None: the packet was not meant for the host's IP stack.
    Nothing,
}

softib_wire::reasons! {
    /// Why a packet went no further.
    pub enum DropReason, DropCounts,
    /// Which of Linux's figures it moves.
    moves -> Moves {
        /// Sent while the interface had no carrier.
        NoCarrier = "tx-no-carrier", TxDropped;
        /// Sent with neither 4 nor 6 as IP version.
        NotIp = "tx-not-ip", TxDropped;
        /// Sent with fewer octets than an IP header has.
        IpHeaderCut = "tx-ip-header-cut", TxDropped;
        /// Longer than the group MTU, or its segments are.
        TooLong = "tx-too-long", TxDroppedAndErrors;
        /// Asks for segmentation into segments without payload, or with headers beyond its end.
        BadSegmentation = "tx-bad-segmentation", TxDropped;
        /// Sent to an address of this interface itself.
        OwnDestination = "tx-own-destination", TxDropped;
        /// Sent to an address that no peer can have, such as 0.0.0.0.
        NoSuchDestination = "tx-no-such-destination", TxDropped;
        /// Three packets already waited for the neighbour's hardware address or path.
        NeighbourQueueFull = "tx-neighbour-queue-full", TxDropped;
        /// Three packets already waited for the path to a GID.
        PathQueueFull = "tx-path-queue-full", TxDropped;
        /// Nobody answered the address resolution.
        NeighbourUnreachable = "tx-neighbour-unreachable", TxDropped;
        /// The subnet administration knows no path, or did not answer.
        NoPath = "tx-no-path", TxDropped;
        /// The neighbour table is full of entries in use.
        NeighbourTableFull = "tx-neighbour-table-full", TxDropped;
        /// 64 packets already waited for the multicast group's join.
        GroupQueueFull = "tx-group-queue-full", TxDropped;
        /// The send-only join failed twice.
        GroupJoinFailed = "tx-group-join-failed", TxDropped;
        /// The table of send-only groups is full of groups in use.
        GroupTableFull = "tx-group-table-full", TxDropped;
        /// Waited for a neighbour, path or group when the interface was flushed.
        Flushed = "tx-flushed", TxDropped;
        /// The queue pair did not take the send, or completed it with an error.
        SendFailed = "tx-send-failed", TxErrors;

        /// Arrived while the interface was down.
        InterfaceDown = "rx-interface-down", RxDropped;
        /// Our own multicast, which the adapter or a switch gave back.
        OwnMulticast = "rx-own-multicast", Nothing;
        /// Shorter than the encapsulation header.
        EncapsulationCut = "rx-encapsulation-cut", RxDropped;
        /// An EtherType other than IPv4, ARP, RARP and IPv6.
        UnknownEtherType = "rx-unknown-ethertype", RxDropped;
        /// Reverse ARP, which nobody here serves.
        ReverseArp = "rx-reverse-arp", Nothing;
        /// The IP version is not the one that the EtherType says.
        VersionMismatch = "rx-version-mismatch", RxDropped;
        /// Shorter than an IP header.
        RxIpHeaderCut = "rx-ip-header-cut", RxDropped;
        /// ARP shorter than 56 octets, or of another kind than InfiniBand and IPv4.
        BadArp = "rx-bad-arp", RxDropped;
        /// ARP that is neither request nor reply.
        UnknownArpOperation = "rx-unknown-arp-operation", RxDropped;
        /// ARP or neighbour discovery with a hardware address that no interface can have.
        BadHardwareAddress = "rx-bad-hardware-address", RxDropped;
        /// ARP from or about an address that no host can have.
        BadArpAddress = "rx-bad-arp-address", RxDropped;
        /// ARP or neighbour discovery of somebody who has an address of ours.
        DuplicateAddress = "rx-duplicate-address", RxDropped;
        /// ARP reply from an address that nobody asked for.
        UnsolicitedArp = "rx-unsolicited-arp", Nothing;
        /// Neighbour discovery through a router (hop limit below 255).
        NdHopLimit = "rx-nd-hop-limit", RxDropped;
        /// Neighbour discovery with a wrong checksum.
        NdChecksum = "rx-nd-checksum", RxDropped;
        /// Neighbour discovery too short, or with a code other than 0.
        NdMalformed = "rx-nd-malformed", RxDropped;
        /// Neighbour discovery with an option of length zero or beyond its end.
        NdBadOption = "rx-nd-bad-option", RxDropped;
        /// Neighbour discovery from, to or about an address that the RFC forbids there.
        NdBadAddress = "rx-nd-bad-address", RxDropped;
        /// Neighbour solicitation for an address that is not ours.
        NdNotOurs = "rx-nd-not-ours", Nothing;
        /// Neighbour advertisement for an address that nobody asked for.
        NdUnsolicited = "rx-nd-unsolicited", Nothing;
        /// Redirect, which is not followed.
        NdRedirect = "rx-nd-redirect", RxDropped;
        /// An answer to a peer that could not be sent, as the neighbour table was full.
        RxNeighbourTableFull = "rx-neighbour-table-full", RxDropped;
    }
}

/// An interface's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counters {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Octets received, from the IP header on.
    pub rx_bytes: u64,
    /// Octets sent, with the encapsulation header.
    pub tx_bytes: u64,
    /// Sends that failed.
    pub tx_errors: u64,
    /// Received packets that were dropped.
    pub rx_dropped: u64,
    /// Packets to send that were dropped.
    pub tx_dropped: u64,
    /// Multicast packets received.
    pub multicast: u64,
    /// Dropped packets by reason, sent and received.
    pub drops: DropCounts,
}

impl Counters {
    pub(crate) const fn new() -> Self {
        Self {
            rx_packets: 0,
            tx_packets: 0,
            rx_bytes: 0,
            tx_bytes: 0,
            tx_errors: 0,
            rx_dropped: 0,
            tx_dropped: 0,
            multicast: 0,
            drops: DropCounts::new(),
        }
    }

    pub(crate) const fn drop(&mut self, reason: DropReason) {
        self.drops.add(reason);
        match reason.moves() {
            Moves::TxDropped => self.tx_dropped += 1,
            Moves::TxDroppedAndErrors => {
                self.tx_dropped += 1;
                self.tx_errors += 1;
            }
            Moves::TxErrors => self.tx_errors += 1,
            Moves::RxDropped => self.rx_dropped += 1,
            Moves::Nothing => {}
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_reason_has_a_name_of_its_own_and_moves_what_it_says() {
        let names: BTreeSet<_> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), DropReason::ALL.len());
        for &reason in DropReason::ALL {
            let mut counters = Counters::new();
            counters.drop(reason);
            let direction = [
                ("tx-", counters.tx_dropped + counters.tx_errors),
                ("rx-", counters.rx_dropped),
            ];
            for (prefix, moved) in direction {
                let expected =
                    reason.name().starts_with(prefix) && reason.moves() != Moves::Nothing;
                assert_eq!(moved > 0, expected, "{reason:?}");
            }
            assert_eq!(counters.drops.count(reason), 1);
            assert!(reason.meaning().ends_with('.'), "{:?}", reason.meaning());
        }
    }
}
