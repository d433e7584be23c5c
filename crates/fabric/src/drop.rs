//! Why a packet was not passed on: one reason for each check, each with a counter.

use softib_wire::packet::PacketError;
use softib_wire::reasons;

/// The standard counter that a drop goes to as well (IBA 16.1.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StandardCounter {
    /// PortRcvErrors.
    ReceiveErrors,
    /// PortRcvSwitchRelayErrors.
    SwitchRelayErrors,
    /// PortRcvConstraintErrors.
    ReceiveConstraintErrors,
    /// PortXmitConstraintErrors.
    TransmitConstraintErrors,
    /// PortXmitDiscards.
    TransmitDiscards,
    /// VL15Dropped.
    Vl15Dropped,
    /// QP1Dropped.
    Qp1Dropped,
    /// None: what a queue pair silently drops shows in no standard counter.
    None,
}

reasons! {
    /// Why a packet was dropped.
    pub enum DropReason, DropCounts,
    /// The standard counter that counts it as well.
    standard_counter -> StandardCounter {
        // What no port takes (IBA 7.8, 7.7).
        /// Fewer octets than the headers need.
        TooShort = "too-short", ReceiveErrors;
        /// LRH.LVer is not 0.
        LinkVersion = "link-version", ReceiveErrors;
        /// LRH.PktLen and the octets that came disagree.
        PacketLength = "packet-length", ReceiveErrors;
        /// The variant CRC is wrong.
        VcrcError = "vcrc-error", ReceiveErrors;
        /// The invariant CRC is wrong.
        IcrcError = "icrc-error", ReceiveErrors;
        /// A data packet at a port that is Down or Init.
        PortNotReady = "port-not-ready", ReceiveErrors;
        /// A data packet on VL15.
        DataOnVl15 = "data-on-vl15", ReceiveErrors;
        /// A packet for QP0 on a data lane.
        SmpOnDataVl = "smp-on-data-vl", ReceiveErrors;
        /// A lane above the operational ones.
        VlNotOperational = "vl-not-operational", ReceiveErrors;
        /// More payload than the MTU of the port that it came in by.
        ReceiveMtu = "receive-mtu", ReceiveErrors;
        /// SLID is a multicast LID.
        SourceLid = "source-lid", ReceiveErrors;
        /// DLID 0.
        DlidZero = "dlid-zero", ReceiveErrors;
        /// The permissive DLID on a packet that is not for QP0.
        DlidPermissive = "dlid-permissive", ReceiveErrors;
        /// A multicast packet on VL15.
        SmpMulticast = "smp-multicast", ReceiveErrors;

        // Switch relay (IBA 18.2).
        /// DLID above SwitchInfo.LinearFDBTop, or above the multicast table.
        DlidAboveTop = "dlid-above-top", SwitchRelayErrors;
        /// The forwarding table has no port for the DLID.
        NoRoute = "no-route", SwitchRelayErrors;
        /// The forwarding table names a port that the switch does not have.
        NoSuchPort = "no-such-port", SwitchRelayErrors;
        /// The packet would leave by the port that it came in by.
        Loop = "loop", SwitchRelayErrors;
        /// No other port is in the multicast group.
        NoMember = "no-member", SwitchRelayErrors;
        /// A raw packet, and PortInfo.FilterRawInbound is set.
        RawInbound = "raw-inbound", ReceiveConstraintErrors;
        /// A raw packet, and PortInfo.FilterRawOutbound is set.
        RawOutbound = "raw-outbound", TransmitConstraintErrors;
        /// P_Key not in the table of the port that it came in by.
        PKeyInbound = "pkey-inbound", ReceiveConstraintErrors;
        /// P_Key not in the table of the port that it would leave by.
        PKeyOutbound = "pkey-outbound", TransmitConstraintErrors;
        /// The port to leave by does not send: it is Down, or not yet Active.
        OutInactive = "out-inactive", TransmitDiscards;
        /// More payload than the NeighborMTU of the port to leave by.
        OutMtu = "out-mtu", TransmitDiscards;
        /// SLtoVL maps the SL to VL15: discard.
        SlToVl15 = "sl-to-vl15", TransmitDiscards;
        /// SLtoVL maps the SL to a lane that does not work on the port to leave by.
        OutVlNotOperational = "out-vl-not-operational", TransmitDiscards;
        /// Longer in the switch than SwitchInfo.LifeTimeValue.
        LifeTime = "life-time", TransmitDiscards;
        /// Longer at the head of its queue than PortInfo.HOQLife.
        HeadOfQueue = "head-of-queue", TransmitDiscards;
        /// The lane is stalled after PortInfo.VLStallCount drops in a row.
        VlStalled = "vl-stalled", TransmitDiscards;
        /// The buffer of VL15, which has no flow control, is full.
        Vl15Overrun = "vl15-overrun", Vl15Dropped;
        /// The queue of general management packets is full.
        Qp1Overrun = "qp1-overrun", Qp1Dropped;

        // Channel adapter (IBA 9.6).
        /// A raw packet: this adapter has no raw queue pairs.
        Raw = "raw", None;
        /// DLID is none of the port's LIDs.
        NotMine = "not-mine", None;
        /// GRH.IPVer is not 6.
        GrhVersion = "grh-version", None;
        /// GRH.NxtHdr is not 0x1B.
        GrhNextHeader = "grh-next-header", None;
        /// GRH.PayLen and the octets that came disagree.
        GrhLength = "grh-length", None;
        /// DGID is none of the port's GIDs.
        GidMismatch = "gid-mismatch", None;
        /// A multicast packet without GRH, or with a unicast DGID.
        MulticastNoGid = "multicast-no-gid", None;
        /// A multicast packet that is not for QP 0xffffff.
        MulticastQpn = "multicast-qpn", None;
        /// No queue pair is attached to the multicast group.
        NotAttached = "not-attached", None;
        /// BTH.OpCode is not defined.
        Opcode = "opcode", None;
        /// BTH.TVer is not 0.
        TransportVersion = "transport-version", None;
        /// BTH.PadCnt is more than there is payload.
        Padding = "padding", None;
        /// No queue pair with this number.
        NoSuchQp = "no-such-qp", None;
        /// The queue pair is on another port.
        QpOtherPort = "qp-other-port", None;
        /// The queue pair does not receive in its state.
        QpState = "qp-state", None;
        /// The opcode is of another service than the queue pair.
        QpService = "qp-service", None;
        /// P_Key does not match.
        PKeyMismatch = "pkey-mismatch", None;
        /// Q_Key does not match.
        QKeyMismatch = "qkey-mismatch", None;
        /// No receive was posted.
        NoReceive = "no-receive", None;
        /// The completion queue is full.
        CqFull = "cq-full", None;

        // Links.
        /// The link is down.
        LinkDown = "link-down", None;
        /// Lost on purpose, as the link was told to.
        LinkLoss = "link-loss", None;
    }
}

impl From<PacketError> for DropReason {
    fn from(error: PacketError) -> Self {
        match error {
            PacketError::LrhShort { .. }
            | PacketError::HeadersShort { .. }
            | PacketError::ExtendedHeadersShort { .. } => Self::TooShort,
            PacketError::LinkVersion { .. } => Self::LinkVersion,
            PacketError::Unaligned { .. } | PacketError::PacketLength { .. } => Self::PacketLength,
            PacketError::DestinationLid => Self::DlidZero,
            PacketError::SourceLid { .. } => Self::SourceLid,
            PacketError::Raw { .. } => Self::Raw,
            PacketError::GrhVersion { .. } => Self::GrhVersion,
            PacketError::GrhNextHeader { .. } => Self::GrhNextHeader,
            PacketError::GrhPayloadLength { .. } => Self::GrhLength,
            PacketError::Opcode { .. } => Self::Opcode,
            PacketError::TransportVersion { .. } => Self::TransportVersion,
            PacketError::MulticastWithoutGrh { .. } | PacketError::MulticastGid { .. } => {
                Self::MulticastNoGid
            }
            PacketError::MulticastQpn { .. } => Self::MulticastQpn,
            PacketError::PadCount { .. } => Self::Padding,
            PacketError::Icrc { .. } => Self::IcrcError,
            PacketError::Vcrc { .. } => Self::VcrcError,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<_> = DropReason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), DropReason::ALL.len());
    }
}
