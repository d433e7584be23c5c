//! The subnet management agent: answers the subnet manager for a node (IBA 14.2, 14.3).

mod keys;
mod port_info;
mod tables;
#[cfg(test)]
mod tests;
mod traps;

use std::collections::VecDeque;

use softib_wire::addr::{Lid, Sl};
use softib_wire::mad::class;
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::method;
use softib_wire::mad::notice::Details;
use softib_wire::mad::notice::details::BadMKeyDetails;
use softib_wire::mad::smp::{DirectedSmp, LidSmp};
use softib_wire::mad::status::MadStatus;
use softib_wire::time::Instant;
use softib_wire::units::NodeType;

use self::keys::{Access, Keys};
use self::traps::Traps;
use crate::agents::{ManagedNode, smi};
use crate::mad::Mad;

pub use traps::Trap;

/// How an SMP came to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The port that it came in by; of a switch also 0, when its own manager asks.
    pub port: u8,
    /// Its SLID.
    pub slid: Lid,
}

/// What a Set did that others on the node want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmaEvent {
    /// The manager wants all clients of subnet administration to register again.
    ClientReregister {
        /// The port.
        port: u8,
    },
    /// The port has another subnet manager now, or reaches it by another service level.
    ManagerChanged {
        /// The port.
        port: u8,
        /// LID of the manager; 0: none.
        lid: Lid,
        /// Service level to it.
        sl: Sl,
    },
}

softib_wire::reasons! {
    /// Why the agent drops an SMP, or a notice of its own.
    pub enum SmaDrop, SmaDrops {
        /// The class is not subnet management.
        WrongClass = "sma-wrong-class";
        /// Answers and traps are for managers.
        NotARequest = "sma-not-a-request";
        /// The M_Key is wrong.
        MKeyViolation = "sma-m-key-violation";
        /// It represses a trap that was not sent, or not lately.
        UnknownRepress = "sma-unknown-repress";
        /// The port has no manager, or is not active: nobody would hear the trap.
        NobodyToTell = "sma-nobody-to-tell";
        /// A newer notice of the same kind took its place before it was sent.
        Superseded = "sma-superseded";
        /// The manager never said that it heard.
        NeverRepressed = "sma-never-repressed";
    }
}

/// The agent of one node.
///
/// Hand it the SMPs that [`smi`] says are for the agent with [`Self::handle_smp`], and
/// send the answers (a directed one through [`smi::send`]). Tell it of what happens to the node with
/// [`Self::notify`]; fetch traps with [`Self::poll_transmit`], and call [`Self::handle_timeout`] and
/// `poll_transmit` again at [`Self::poll_timeout`].
#[derive(Debug)]
pub struct Sma {
    node_type: NodeType,
    /// By port; a switch has one, of port 0.
    keys: Vec<Keys>,
    traps: Traps,
    events: VecDeque<SmaEvent>,
    drops: SmaDrops,
}

/// Events that may wait to be fetched: managers can cause as many as they like.
const MAX_EVENTS: usize = 256;

impl Sma {
    /// The agent of a node with so many external ports. `owner` is the high half of its traps'
    /// transaction IDs: draw it at random.
    #[must_use]
    pub fn new(node_type: NodeType, ports: u8, owner: u32) -> Self {
        Self {
            node_type,
            keys: vec![Keys::default(); usize::from(ports) + 1],
            traps: Traps::new(node_type, owner),
            events: VecDeque::new(),
            drops: SmaDrops::default(),
        }
    }

    /// Takes in an SMP and gives back the answer to it, if there is one. The hop pointer is left for
    /// [`smi::send`] to move.
    pub fn handle_smp(
        &mut self,
        now: Instant,
        node: &mut dyn ManagedNode,
        arrival: Arrival,
        mad: &Mad,
    ) -> Option<Mad> {
        // Both parse whole MADs of any bits.
        let smp = LidSmp::parse(mad).ok()?;
        let header = smp.header;
        if !matches!(header.class, class::SUBN_LID | class::SUBN_DIRECTED) {
            self.drops.add(SmaDrop::WrongClass);
            return None;
        }
        if header.is_response() && header.method != method::TRAP_REPRESS
            || header.method == method::TRAP
        {
            self.drops.add(SmaDrop::NotARequest);
            return None;
        }
        if header.base_version != 1 || header.class_version != 1 {
            return Some(answer(mad, MadStatus::BAD_VERSION, &smp.data));
        }
        let is_known = matches!(
            header.method,
            method::GET | method::SET | method::TRAP_REPRESS
        );
        if !is_known {
            return Some(answer(mad, MadStatus::BAD_METHOD, &smp.data));
        }
        let access = self.check_key(now, node, arrival, arrival.port, mad, &smp)?;
        if header.method == method::TRAP_REPRESS {
            if !self.traps.repress(now, header.transaction_id) {
                self.drops.add(SmaDrop::UnknownRepress);
            }
            return None;
        }
        let request = Request {
            now,
            arrival,
            access,
            mad,
            smp: &smp,
        };
        let (status, data) = self.perform(node, &request)?;
        Some(answer(mad, status, &data))
    }

    /// Something happened at a port that the subnet manager wants to know: a trap goes out for it,
    /// and again until the manager represses it. Addresses of the node itself are filled in.
    ///
    /// The port is the one that the trap leaves by: 0 of a switch.
    pub fn notify(&mut self, now: Instant, node: &dyn ManagedNode, port: u8, details: Details) {
        self.traps.notify(now, node, &mut self.drops, port, details);
    }

    /// The next trap to send.
    pub fn poll_transmit(&mut self, now: Instant, node: &dyn ManagedNode) -> Option<Trap> {
        self.traps.poll_transmit(now, node, &mut self.drops)
    }

    /// What a Set did.
    pub fn poll_event(&mut self) -> Option<SmaEvent> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] and [`Self::poll_transmit`] want to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let leases = self.keys.iter().filter_map(Keys::poll_timeout);
        leases.chain(self.traps.poll_timeout()).min()
    }

    /// Ends leases of M_Keys.
    pub fn handle_timeout(&mut self, now: Instant) {
        for keys in &mut self.keys {
            keys.handle_timeout(now);
        }
    }

    /// What was dropped, and why.
    #[must_use]
    pub const fn drops(&self) -> &SmaDrops {
        &self.drops
    }

    fn tell(&mut self, event: SmaEvent) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front(); // Nobody listens.
        }
        self.events.push_back(event);
    }

    /// The port whose M_Key protects `port`: a switch has one for all, that of port 0.
    const fn key_port(&self, port: u8) -> u8 {
        match self.node_type {
            NodeType::Switch => 0,
            NodeType::ChannelAdapter | NodeType::Router => port,
        }
    }

    fn keys(&mut self, port: u8) -> Option<&mut Keys> {
        let port = self.key_port(port);
        self.keys.get_mut(usize::from(port))
    }

    /// Checks the M_Key of an SMP for one port; `None` if it must not be answered (C14-16).
    fn check_key(
        &mut self,
        now: Instant,
        node: &dyn ManagedNode,
        arrival: Arrival,
        port: u8,
        mad: &Mad,
        smp: &LidSmp,
    ) -> Option<Access> {
        let method = smp.header.method;
        let access = self.keys(port)?.check(now, method, smp.m_key);
        if access != Access::Violation {
            return Some(access);
        }
        self.drops.add(SmaDrop::MKeyViolation);
        let details = Details::BadMKey(bad_m_key(arrival.slid, mad, &smp.header));
        let port = self.key_port(port);
        self.notify(now, node, port, details);
        None
    }
}

/// A request that passed the checks that all have in common.
struct Request<'a> {
    now: Instant,
    arrival: Arrival,
    access: Access,
    mad: &'a Mad,
    smp: &'a LidSmp,
}

impl Request<'_> {
    fn is_set(&self) -> bool {
        self.smp.header.method == method::SET
    }

    fn modifier(&self) -> u32 {
        self.smp.header.attribute_modifier
    }
}

/// The answer to an SMP: everything is the requester's, but method, status and attribute.
fn answer(mad: &Mad, status: MadStatus, data: &[u8; 64]) -> Mad {
    let mut answer = *mad;
    answer[3] = method::GET_RESP;
    let direction = if smi::is_directed(mad) {
        MadStatus::DIRECTION
    } else {
        0
    };
    answer[4..6].copy_from_slice(&(status.bits() | direction).to_be_bytes());
    answer[64..128].copy_from_slice(data);
    answer
}

/// IBA 14.2.5.1: what trap 256 tells of an SMP.
fn bad_m_key(slid: Lid, mad: &Mad, header: &MadHeader) -> BadMKeyDetails {
    let mut details = BadMKeyDetails {
        lid: slid,
        dr_slid: Lid::NONE,
        method: header.method,
        attribute_id: header.attribute_id,
        attribute_modifier: header.attribute_modifier,
        m_key: softib_wire::addr::MKey::NONE,
        directed: false,
        path_truncated: false,
        hop_count: 0,
        return_path: [0; 30],
    };
    if let Ok(smp) = LidSmp::parse(mad) {
        details.m_key = smp.m_key;
    }
    if smi::is_directed(mad)
        && let Ok(smp) = DirectedSmp::parse(mad)
    {
        let room = details.return_path.len();
        let hops = usize::from(smp.hop_count).min(room);
        details.dr_slid = smp.dr_slid;
        details.directed = true;
        details.path_truncated = usize::from(smp.hop_count) > room;
        details.hop_count = smp.hop_count.min(30);
        details.return_path[..hops].copy_from_slice(&smp.return_path[..hops]);
    }
    details
}
