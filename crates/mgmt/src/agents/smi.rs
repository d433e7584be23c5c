//! The subnet management interface: where a directed-route SMP goes from here (IBA 14.2.2).
//!
//! Such an SMP names its way by the ports to leave by; each node on it writes down the port that the
//! SMP came in by, and so the answer finds back. Hop pointer and hop count say how far it has come:
//!
//! ```text
//!            LID-routed      directed: hop pointer counts     LID-routed
//! manager ── to DrSLID's ── 0 ─ 1 ─ 2 ─ … ─ hop count ─ +1 ── to DrDLID ── agent
//!            (permissive: none)                       (permissive: none)
//! ```
//!
//! [`receive`] is for an SMP that arrived at a port, [`send`] for one that this node itself made: a
//! request of its manager, or an answer of its agent. Both move the hop pointer in place.

use softib_wire::addr::Lid;
use softib_wire::mad::{attribute, class, method};
use softib_wire::units::NodeType;

use crate::mad::Mad;

/// What to do with an SMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is for this node's subnet management agent.
    Agent,
    /// It is for the subnet manager at this node.
    Manager,
    /// Send it out by this port, LIDs permissive.
    Forward(u8),
    /// The directed part of its way ends here: send it to this LID.
    LidRoute(Lid),
    /// Its way begins with a LID-routed part: send it to the LID that whoever made it named (of an
    /// answer: the SLID of the request).
    AsAddressed,
    /// Drop it.
    Discard(SmiDrop),
}

softib_wire::reasons! {
    /// Why the subnet management interface drops an SMP.
    pub enum SmiDrop, SmiDrops {
        /// The hop count is above 63.
        HopCount = "smi-hop-count";
        /// The hop pointer cannot be here: too large, or not advanced by the sender.
        HopPointer = "smi-hop-pointer";
        /// It would have to be passed on, and this is no switch.
        NotASwitch = "smi-not-a-switch";
        /// The port to leave by is not there.
        NoSuchPort = "smi-no-such-port";
        /// It came back by another port than the one that it left by.
        WrongPort = "smi-wrong-port";
    }
}

/// Decides on a directed-route SMP that arrived at port `arrival` of a node with `ports` external
/// ports. The switch's own port 0 is no arrival port of a directed route.
pub fn receive(mad: &mut Mad, node: NodeType, arrival: u8, ports: u8) -> Decision {
    let is_switch = node == NodeType::Switch;
    let (pointer, count) = (mad[HOP_POINTER], mad[HOP_COUNT]);
    if count > MAX_HOPS {
        return Decision::Discard(SmiDrop::HopCount);
    }
    if !is_returning(mad) {
        match pointer {
            // C14-9:1: at the source, or where the LID-routed part before the directed one ends.
            0 if count > 0 => {
                if !is_switch || dr_slid(mad) == Lid::PERMISSIVE {
                    return Decision::Discard(SmiDrop::HopPointer);
                }
                advance(mad, ports)
            }
            // C14-9:2: on the way.
            _ if pointer < count => {
                if !is_switch {
                    return Decision::Discard(SmiDrop::NotASwitch);
                }
                mad[RETURN_PATH + usize::from(pointer)] = arrival;
                advance(mad, ports)
            }
            // C14-9:3: the directed part ends here.
            _ if pointer == count => {
                if !is_switch && dr_dlid(mad) != Lid::PERMISSIVE {
                    return Decision::Discard(SmiDrop::NotASwitch);
                }
                if count > 0 {
                    mad[RETURN_PATH + usize::from(pointer)] = arrival;
                }
                end_outbound(mad)
            }
            // C14-9:4: it came LID-routed from where the directed part ended.
            _ if pointer == count + 1 => consumer(mad),
            // C14-9:5.
            _ => Decision::Discard(SmiDrop::HopPointer),
        }
    } else {
        match pointer {
            // C14-13:4: it came LID-routed from where the directed part ended.
            0 => Decision::Manager,
            // C14-13:3: the directed part ends here.
            1 => {
                if !is_switch && dr_slid(mad) != Lid::PERMISSIVE {
                    return Decision::Discard(SmiDrop::NotASwitch);
                }
                // The way out began by this port. Of a LID-routed beginning the port is any.
                if count > 0 && dr_slid(mad) == Lid::PERMISSIVE && mad[INITIAL_PATH + 1] != arrival
                {
                    return Decision::Discard(SmiDrop::WrongPort);
                }
                end_returning(mad)
            }
            // C14-13:1 and 2: on the way, or where the LID-routed part of the way back ends.
            2.. if pointer <= count || pointer == count + 1 && dr_dlid(mad) != Lid::PERMISSIVE => {
                if !is_switch {
                    return Decision::Discard(SmiDrop::NotASwitch);
                }
                go_back(mad, ports)
            }
            // C14-13:5.
            _ => Decision::Discard(SmiDrop::HopPointer),
        }
    }
}

/// Decides on a directed-route SMP that this node made, a request with hop pointer 0 or an answer
/// to a request that its agent got.
pub fn send(mad: &mut Mad, node: NodeType, ports: u8) -> Decision {
    let (pointer, count) = (mad[HOP_POINTER], mad[HOP_COUNT]);
    if count > MAX_HOPS {
        return Decision::Discard(SmiDrop::HopCount);
    }
    if !is_returning(mad) {
        // IBA 14.2.2.1: a LID-routed part comes first, and leaves the hop pointer alone.
        if dr_slid(mad) != Lid::PERMISSIVE {
            return Decision::AsAddressed;
        }
        match pointer {
            0 if count > 0 => advance(mad, ports),
            0 if node == NodeType::Switch || dr_dlid(mad) == Lid::PERMISSIVE => end_outbound(mad),
            0 => Decision::Discard(SmiDrop::NotASwitch),
            _ => Decision::Discard(SmiDrop::HopPointer),
        }
    } else {
        if dr_dlid(mad) != Lid::PERMISSIVE {
            return Decision::AsAddressed;
        }
        match pointer {
            // C14-13:1.
            _ if count > 0 && pointer == count + 1 => go_back(mad, ports),
            // C14-13:3, of an SMP that never left the node.
            1 if count == 0 => end_returning(mad),
            _ => Decision::Discard(SmiDrop::HopPointer),
        }
    }
}

/// Whose a MAD of the subnet management class is that has arrived: the agent's or the manager's.
///
/// IBA 14.2.4, 14.4.1: SMInfo, traps and all answers are the manager's; the agent gets the rest, and
/// TrapRepress, which answers it.
#[must_use]
pub fn consumer(mad: &Mad) -> Decision {
    let attribute_id = u16::from_be_bytes([mad[16], mad[17]]);
    let method = mad[3];
    let for_manager = method == method::TRAP
        || method & method::RESPONSE != 0
        || attribute_id == attribute::SM_INFO && method != method::TRAP_REPRESS;
    if for_manager {
        Decision::Manager
    } else {
        Decision::Agent
    }
}

/// Whether a MAD is a directed-route SMP.
#[must_use]
pub const fn is_directed(mad: &Mad) -> bool {
    mad[1] == class::SUBN_DIRECTED
}

const HOP_POINTER: usize = 6;
const HOP_COUNT: usize = 7;
const INITIAL_PATH: usize = 128;
const RETURN_PATH: usize = 192;
const MAX_HOPS: u8 = 63;

/// The next hop of the way out.
fn advance(mad: &mut Mad, ports: u8) -> Decision {
    let pointer = mad[HOP_POINTER] + 1;
    let port = mad[INITIAL_PATH + usize::from(pointer)];
    if !(1..=ports).contains(&port) {
        return Decision::Discard(SmiDrop::NoSuchPort);
    }
    mad[HOP_POINTER] = pointer;
    Decision::Forward(port)
}

/// The next hop of the way back.
fn go_back(mad: &mut Mad, ports: u8) -> Decision {
    let pointer = mad[HOP_POINTER] - 1;
    let port = mad[RETURN_PATH + usize::from(pointer)];
    if !(1..=ports).contains(&port) {
        return Decision::Discard(SmiDrop::NoSuchPort);
    }
    mad[HOP_POINTER] = pointer;
    Decision::Forward(port)
}

fn end_outbound(mad: &mut Mad) -> Decision {
    mad[HOP_POINTER] += 1;
    match dr_dlid(mad) {
        Lid::PERMISSIVE => consumer(mad),
        lid => Decision::LidRoute(lid),
    }
}

fn end_returning(mad: &mut Mad) -> Decision {
    mad[HOP_POINTER] -= 1;
    match dr_slid(mad) {
        Lid::PERMISSIVE => Decision::Manager,
        lid => Decision::LidRoute(lid),
    }
}

const fn is_returning(mad: &Mad) -> bool {
    mad[4] & 0x80 != 0
}

const fn dr_slid(mad: &Mad) -> Lid {
    Lid::new(u16::from_be_bytes([mad[32], mad[33]]))
}

const fn dr_dlid(mad: &Mad) -> Lid {
    Lid::new(u16::from_be_bytes([mad[34], mad[35]]))
}

#[cfg(test)]
mod tests;
