//! Packets that wait for an address, a path or a connection.
//!
//! Linux lets three packets wait for a neighbour and drops the rest. So do we, but count datagrams:
//! the fragments of one datagram wait together, since a datagram that lost a fragment is lost whole.

use std::collections::VecDeque;

use softib_fabric::frame::Frame;

/// Datagrams that may wait.
pub(crate) const MAX_DATAGRAMS: usize = 3;
/// Frames that may wait, whatever they belong to: three datagrams of 64 KiB at the smallest MTU of
/// IPv6, with room to spare.
const MAX_FRAMES: usize = 192;

/// The waiting packets, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    frames: VecDeque<Frame>,
    datagrams: usize,
    last: Option<Datagram>,
}

impl Pending {
    /// Takes a packet to wait, or gives it back when there is no room.
    pub(crate) fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.frames.len() >= MAX_FRAMES {
            return Err(frame);
        }
        let fragment = Fragment::of(frame.bytes());
        let belongs_to_last = match (fragment, self.last) {
            (Some(fragment), Some(last)) => fragment.datagram == last,
            _ => false,
        };
        if !belongs_to_last {
            // A later fragment whose first one found no room would be of no use to anybody.
            let headless = fragment.is_some_and(|fragment| !fragment.first);
            if self.datagrams >= MAX_DATAGRAMS || headless {
                return Err(frame);
            }
            self.datagrams += 1;
            self.last = fragment.map(|fragment| fragment.datagram);
        }
        self.frames.push_back(frame);
        Ok(())
    }

    /// Takes them all out, oldest first.
    pub(crate) fn take(&mut self) -> VecDeque<Frame> {
        self.datagrams = 0;
        self.last = None;
        std::mem::take(&mut self.frames)
    }

    /// Packets that wait.
    pub(crate) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

/// What makes fragments belong together, source and destination apart, which are those of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Datagram {
    identification: u32,
    protocol: u8,
}

#[derive(Debug, Clone, Copy)]
struct Fragment {
    datagram: Datagram,
    first: bool,
}

impl Fragment {
    /// `None` when the packet is whole.
    fn of(packet: &[u8]) -> Option<Self> {
        const IPV6_FRAGMENT: u8 = 44;
        match packet.first()? >> 4 {
            4 => {
                let header = packet.first_chunk::<20>()?;
                let flags_and_offset = u16::from_be_bytes([header[6], header[7]]) & 0x3FFF;
                (flags_and_offset != 0).then(|| Self {
                    datagram: Datagram {
                        identification: u16::from_be_bytes([header[4], header[5]]).into(),
                        protocol: header[9],
                    },
                    first: flags_and_offset & 0x1FFF == 0,
                })
            }
            6 => {
                let header = packet.first_chunk::<48>()?;
                (header[6] == IPV6_FRAGMENT).then(|| Self {
                    datagram: Datagram {
                        identification: u32::from_be_bytes([
                            header[44], header[45], header[46], header[47],
                        ]),
                        protocol: header[40],
                    },
                    first: u16::from_be_bytes([header[42], header[43]]) & 0xFFF8 == 0,
                })
            }
            _ => None,
        }
    }
}
