//! What happened, and when.

use softib_fabric::frame::{Frame, Offload};
use softib_subnet::Event;
use softib_subnet::spec::IfaceRef;
use softib_wire::time::Instant;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// The subnet said so.
    Event(Event),
    /// An IP packet came to a host. Kept only while [`Log::keep_packets`] says so.
    Packet(Packet),
}

/// An IP packet that came to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The interface that it came by.
    pub interface: IfaceRef,
    /// Its octets.
    pub bytes: Vec<u8>,
    /// What is left to do about it.
    pub offload: Option<Offload>,
}

/// Everything that happened, oldest first. Two runs with one seed have equal logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    entries: Vec<(Instant, Happening)>,
    /// Whether packets that come to hosts are kept.
    pub keep_packets: bool,
}

impl Log {
    /// All entries.
    #[must_use]
    pub fn entries(&self) -> &[(Instant, Happening)] {
        &self.entries
    }

    /// The events among them.
    pub fn events(&self) -> impl Iterator<Item = (Instant, &Event)> {
        self.entries.iter().filter_map(|(at, entry)| match entry {
            Happening::Event(event) => Some((*at, event)),
            Happening::Packet(_) => None,
        })
    }

    /// The packets that came by an interface.
    pub fn packets(&self, interface: IfaceRef) -> impl Iterator<Item = (Instant, &Packet)> {
        self.entries
            .iter()
            .filter_map(move |(at, entry)| match entry {
                Happening::Packet(packet) if packet.interface == interface => Some((*at, packet)),
                Happening::Packet(_) | Happening::Event(_) => None,
            })
    }

    /// Forgets what happened so far.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn event(&mut self, at: Instant, event: Event) {
        self.entries.push((at, Happening::Event(event)));
    }

    pub(crate) fn packet(&mut self, at: Instant, interface: IfaceRef, frame: &Frame) {
        if self.keep_packets {
            let packet = Packet {
                interface,
                bytes: frame.bytes().to_vec(),
                offload: frame.offload(),
            };
            self.entries.push((at, Happening::Packet(packet)));
        }
    }
}
