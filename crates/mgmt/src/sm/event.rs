//! What a subnet manager tells about its work.

use core::fmt;

use softib_wire::addr::{Gid, Guid, Lid};
use softib_wire::mad::description::NodeDescription;
use softib_wire::mad::notice::TrapNumber;
use softib_wire::mad::sm_info::SmState;
use softib_wire::time::Duration;

/// Something happened. [`fmt::Display`] gives the line for a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SmEvent {
    /// The manager's state changed.
    StateChanged {
        /// From.
        from: SmState,
        /// To.
        to: SmState,
    },
    /// A sweep began.
    SweepStarted {
        /// Which kind.
        kind: SweepKind,
        /// Its number.
        number: u64,
    },
    /// A sweep ended, and the subnet is as it should be unless `errors` says otherwise.
    SweepDone {
        /// Which kind.
        kind: SweepKind,
        /// Its number.
        number: u64,
        /// How long it took.
        took: Duration,
        /// SMPs sent.
        smps: u64,
        /// SMPs that nobody answered, or that were refused.
        errors: u64,
    },
    /// All links that can be are Active, for the first time or again after a change.
    SubnetUp,
    /// A node was found.
    NodeFound {
        /// Node GUID.
        guid: Guid,
        /// What it calls itself.
        description: NodeDescription,
    },
    /// A node is gone.
    NodeGone {
        /// Node GUID.
        guid: Guid,
        /// What it called itself.
        description: NodeDescription,
    },
    /// A link came up: node GUID and port of both ends.
    LinkFound((Guid, u8), (Guid, u8)),
    /// A link is gone.
    LinkGone((Guid, u8), (Guid, u8)),
    /// Two nodes have one GUID: the second one is left out.
    DuplicateGuid {
        /// The GUID.
        guid: Guid,
        /// Where the second one was met: node GUID and port.
        behind: (Guid, u8),
    },
    /// A port got a LID.
    LidAssigned {
        /// Port GUID.
        port_guid: Guid,
        /// LID.
        lid: Lid,
    },
    /// The link of an end port is Active: its GID can be reached.
    PortInService(Gid),
    /// An end port is gone.
    PortOutOfService(Gid),
    /// There are not enough LIDs.
    OutOfLids {
        /// The port that got none.
        port_guid: Guid,
    },
    /// A trap came in.
    Trap {
        /// Which.
        number: TrapNumber,
        /// From which LID.
        issuer: Lid,
    },
    /// An SMP was never answered.
    NoAnswer {
        /// Node GUID, if known.
        node: Guid,
        /// Attribute asked for or set.
        attribute: u16,
    },
    /// An SMP was refused.
    Refused {
        /// Node GUID.
        node: Guid,
        /// Attribute.
        attribute: u16,
        /// MAD status.
        status: u16,
    },
    /// Another subnet manager was found.
    OtherManager {
        /// Its port GUID.
        guid: Guid,
        /// Its state.
        state: SmState,
        /// Its priority.
        priority: u8,
    },
    /// A multicast group was created.
    GroupCreated(Gid),
    /// A multicast group was deleted.
    GroupDeleted(Gid),
    /// There is no forwarding entry left for a multicast group.
    OutOfMlids(Gid),
}

/// Kinds of sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SweepKind {
    /// Every switch is asked whether something changed.
    Light,
    /// Only switches that reported a change are read again.
    Partial,
    /// Everything is discovered anew.
    Heavy,
}

impl fmt::Display for SweepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Light => "light",
            Self::Partial => "partial",
            Self::Heavy => "heavy",
        })
    }
}

impl fmt::Display for SmEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StateChanged { from, to } => write!(f, "manager: {from:?} to {to:?}"),
            Self::SweepStarted { kind, number } => write!(f, "{kind} sweep {number} begins"),
            Self::SweepDone {
                kind,
                number,
                took,
                smps,
                errors,
            } => {
                let ms = took.as_secs_f64() * 1e3;
                write!(
                    f,
                    "{kind} sweep {number} done in {ms:.3} ms, {smps} SMPs, {errors} errors"
                )
            }
            Self::SubnetUp => f.write_str("subnet up"),
            Self::NodeFound { guid, description } => write!(f, "node {guid} {description} found"),
            Self::NodeGone { guid, description } => write!(f, "node {guid} {description} gone"),
            Self::LinkFound(a, b) => {
                write!(f, "link {}[{}] to {}[{}] found", a.0, a.1, b.0, b.1)
            }
            Self::LinkGone(a, b) => write!(f, "link {}[{}] to {}[{}] gone", a.0, a.1, b.0, b.1),
            Self::DuplicateGuid { guid, behind } => write!(
                f,
                "GUID {guid} met a second time, behind {}[{}]: that node is left out",
                behind.0, behind.1
            ),
            Self::LidAssigned { port_guid, lid } => write!(f, "port {port_guid} has LID {lid}"),
            Self::PortInService(gid) => write!(f, "{gid} in service"),
            Self::PortOutOfService(gid) => write!(f, "{gid} out of service"),
            Self::OutOfLids { port_guid } => write!(f, "no LID left for port {port_guid}"),
            Self::Trap { number, issuer } => {
                write!(f, "trap {} ({number}) from LID {issuer}", number.bits())
            }
            Self::NoAnswer { node, attribute } => {
                write!(
                    f,
                    "node {node} does not answer about attribute {attribute:#06x}"
                )
            }
            Self::Refused {
                node,
                attribute,
                status,
            } => write!(
                f,
                "node {node} refuses attribute {attribute:#06x} with status {status:#06x}"
            ),
            Self::OtherManager {
                guid,
                state,
                priority,
            } => write!(f, "other manager {guid}, {state:?}, priority {priority}"),
            Self::GroupCreated(mgid) => write!(f, "multicast group {mgid} created"),
            Self::GroupDeleted(mgid) => write!(f, "multicast group {mgid} deleted"),
            Self::OutOfMlids(mgid) => write!(f, "no multicast LID left for group {mgid}"),
        }
    }
}
