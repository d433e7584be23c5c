//! What a node has to say of itself: port states, changed settings, key violations.

use softib_wire::addr::{Gid, Lid, PKey, QKey, Qpn, Sl};
use softib_wire::packet::Packet;

use crate::hca::CqId;

/// Something happened at a node that its agents, its interfaces or its links should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// The port went Down.
    PortDown {
        /// The port.
        port: u8,
    },
    /// The link is trained: the port is in Init.
    PortInit {
        /// The port.
        port: u8,
    },
    /// The port is Armed.
    PortArmed {
        /// The port.
        port: u8,
    },
    /// The port is Active.
    PortActive {
        /// The port.
        port: u8,
    },
    /// The port has another LID or LMC.
    LidChanged {
        /// The port.
        port: u8,
    },
    /// The LID or SL of the master subnet manager changed.
    SmChanged {
        /// The port.
        port: u8,
    },
    /// The P_Key table changed.
    PKeysChanged {
        /// The port.
        port: u8,
    },
    /// The subnet prefix or a GUID changed.
    GidChanged {
        /// The port.
        port: u8,
    },
    /// The subnet manager asks clients to register again.
    ClientReregister {
        /// The port.
        port: u8,
    },
    /// A packet with a P_Key that does not match (traps 257 and 259).
    PKeyViolation {
        /// The port.
        port: u8,
        /// What the packet said.
        violation: KeyViolation<PKey>,
    },
    /// A packet with a Q_Key that does not match (trap 258).
    QKeyViolation {
        /// The port.
        port: u8,
        /// What the packet said.
        violation: KeyViolation<QKey>,
    },
    /// A completion queue was full when something completed; what completed is lost.
    CqOverrun {
        /// The queue.
        cq: CqId,
    },
    /// For the link: what management wants of the port's physical side.
    Physical {
        /// The port.
        port: u8,
        /// What it wants.
        command: PhysicalCommand,
    },
    /// For the link: the lanes on which the node has room for more packets changed.
    Flow {
        /// The port.
        port: u8,
        /// The lanes that it takes packets on.
        open: VlMask,
    },
}

impl NodeEvent {
    /// The port that it is about.
    #[must_use]
    pub const fn port(&self) -> Option<u8> {
        match *self {
            Self::PortDown { port }
            | Self::PortInit { port }
            | Self::PortArmed { port }
            | Self::PortActive { port }
            | Self::LidChanged { port }
            | Self::SmChanged { port }
            | Self::PKeysChanged { port }
            | Self::GidChanged { port }
            | Self::ClientReregister { port }
            | Self::PKeyViolation { port, .. }
            | Self::QKeyViolation { port, .. }
            | Self::Physical { port, .. }
            | Self::Flow { port, .. } => Some(port),
            Self::CqOverrun { .. } => None,
        }
    }
}

/// A set of virtual lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlMask(pub u16);

impl VlMask {
    /// All lanes.
    pub const ALL: Self = Self(0xFFFF);
    /// No lane.
    pub const NONE: Self = Self(0);

    /// Whether `vl` is in it.
    #[inline]
    #[must_use]
    pub const fn contains(self, vl: u8) -> bool {
        self.0 >> (vl & 15) & 1 != 0
    }

    /// Puts `vl` in or takes it out.
    #[inline]
    pub const fn set(&mut self, vl: u8, member: bool) {
        let bit = 1 << (vl & 15);
        if member {
            self.0 |= bit;
        } else {
            self.0 &= !bit;
        }
    }
}

/// What management wants of a port's physical side (IBA 14.2.5.6, PortPhysicalState).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhysicalCommand {
    /// Take the link down and train it anew.
    Retrain,
    /// Switch the port off until it is told to poll.
    Disable,
    /// Look for a peer.
    Enable,
}

/// What a packet with a wrong key said of itself: the contents of traps 257, 258 and 259.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyViolation<K> {
    /// Source LID.
    pub slid: Lid,
    /// Destination LID.
    pub dlid: Lid,
    /// The key.
    pub key: K,
    /// Service level.
    pub sl: Sl,
    /// Source queue pair, if the packet names one.
    pub src_qpn: Qpn,
    /// Destination queue pair.
    pub dest_qpn: Qpn,
    /// Source and destination GID, if the packet has a GRH.
    pub gids: Option<(Gid, Gid)>,
}

impl<K> KeyViolation<K> {
    /// What `packet` says of itself.
    pub(crate) fn of(packet: &Packet<'_>, key: K) -> Self {
        Self {
            slid: packet.lrh.slid,
            dlid: packet.lrh.dlid,
            key,
            sl: packet.lrh.sl,
            src_qpn: packet
                .ext
                .deth()
                .map_or_else(Qpn::default, |deth| deth.src_qpn),
            dest_qpn: packet.bth.dest_qpn,
            gids: packet.grh.map(|grh| (grh.sgid, grh.dgid)),
        }
    }
}
