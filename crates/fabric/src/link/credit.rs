//! Credit-based flow control of one lane in one direction (IBA 7.9).
//!
//! Both sides count blocks modulo 4096. The sender counts what it sent (FCTBS), the receiver what
//! arrived (ABR); the receiver says up to where the sender may go (FCCL), which is as far as its
//! buffer has room. A block is 64 octets; on long links more, so that what is under way fits.

/// Blocks of a receiver's buffer: all that a limit can announce.
pub(super) const BUFFER: u16 = 2048;
const MODULUS: u16 = 4096;

/// What the sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sender {
    /// FCTBS: blocks sent.
    sent: u16,
    /// FCCL: up to where it may send.
    limit: u16,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self {
            sent: 0,
            limit: BUFFER,
        }
    }

    /// Whether a packet of `blocks` may be sent.
    pub(super) const fn may_send(&self, blocks: u16) -> bool {
        self.limit.wrapping_sub(self.sent.wrapping_add(blocks)) % MODULUS <= BUFFER
    }

    pub(super) const fn sent(&mut self, blocks: u16) {
        self.sent = self.sent.wrapping_add(blocks) % MODULUS;
    }

    /// A flow control packet came.
    pub(super) const fn set_limit(&mut self, limit: u16) {
        self.limit = limit;
    }
}

/// What the receiver knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receiver {
    /// ABR: blocks that arrived.
    arrived: u16,
    /// Blocks in the buffer.
    buffered: u16,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self {
            arrived: 0,
            buffered: 0,
        }
    }

    /// A packet arrived and is in the buffer.
    pub(super) const fn arrived(&mut self, blocks: u16) {
        self.arrived = self.arrived.wrapping_add(blocks) % MODULUS;
        self.buffered = self.buffered.saturating_add(blocks);
    }

    /// A packet was lost on the way. The next flow control packet, with the sender's FCTBS, says so.
    pub(super) const fn lost(&mut self, blocks: u16) {
        self.arrived = self.arrived.wrapping_add(blocks) % MODULUS;
    }

    /// A packet left the buffer.
    pub(super) const fn freed(&mut self, blocks: u16) {
        self.buffered = self.buffered.saturating_sub(blocks);
    }

    /// The limit to announce.
    pub(super) const fn limit(&self) -> u16 {
        (self.arrived + BUFFER.saturating_sub(self.buffered)) % MODULUS
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_full_buffer_stops_the_sender() {
        let mut sender = Sender::new();
        let mut receiver = Receiver::new();
        let mut sent = 0;
        while sender.may_send(33) {
            sender.sent(33);
            receiver.arrived(33);
            sent += 33;
        }
        assert_eq!(sent, 2046);
        sender.set_limit(receiver.limit());
        assert!(sender.may_send(2) && !sender.may_send(3));
        receiver.freed(33);
        sender.set_limit(receiver.limit());
        assert!(sender.may_send(35) && !sender.may_send(36));
    }

    proptest! {
        /// However packets are sent, lost and taken: the buffer never overflows, and once all is
        /// taken there is full credit again.
        #[test]
        fn never_overrun(steps in prop::collection::vec((1_u16..67, 0_u8..4), 1..2000)) {
            let mut sender = Sender::new();
            let mut receiver = Receiver::new();
            let mut buffer = std::collections::VecDeque::new();
            for (blocks, action) in steps {
                if action == 3 {
                    if let Some(blocks) = buffer.pop_front() {
                        receiver.freed(blocks);
                    }
                } else if sender.may_send(blocks) {
                    sender.sent(blocks);
                    if action == 2 {
                        receiver.lost(blocks);
                    } else {
                        receiver.arrived(blocks);
                        buffer.push_back(blocks);
                    }
                }
                sender.set_limit(receiver.limit());
                prop_assert!(buffer.iter().sum::<u16>() <= BUFFER);
            }
            for blocks in buffer {
                receiver.freed(blocks);
            }
            sender.set_limit(receiver.limit());
            prop_assert!(sender.may_send(BUFFER));
        }
    }
}
