//! Completion queues (IBA 10.8).

use std::collections::VecDeque;

use softib_wire::addr::{Lid, Qpn, Sl};
use softib_wire::grh::Grh;

use super::QpId;
use crate::frame::Frame;

/// Names a completion queue of an adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CqId(pub(super) u32);

/// A work request is done.
#[derive(Debug, Clone)]
pub struct Completion {
    /// What the request was posted with; of a receive its number, counted from 0.
    pub wr_id: u64,
    /// The queue pair.
    pub qp: QpId,
    /// How it went.
    pub status: Status,
    /// What it was.
    pub kind: CompletionKind,
}

/// How a work request went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// As it should.
    Success,
    /// Not done: the queue pair went to the error state first.
    Flushed,
}

/// What was completed.
#[derive(Debug, Clone)]
pub enum CompletionKind {
    /// A send: the packet left.
    Send,
    /// A receive.
    Receive(Received),
}

/// A datagram that came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// Source queue pair.
    pub src_qpn: Qpn,
    /// Source LID.
    pub slid: Lid,
    /// Destination LID: the port's, or that of a multicast group.
    pub dlid: Lid,
    /// Service level.
    pub sl: Sl,
    /// Index of the P_Key that let it in.
    pub pkey_index: u16,
    /// Global route header, if it has one.
    pub grh: Option<Grh>,
    /// Immediate data, if it brings any.
    pub immediate: Option<u32>,
    /// What stands behind the headers, without padding. An offload that the sender left undone
    /// is still to be done.
    pub payload: Frame,
}

#[derive(Debug)]
pub(super) struct Cq {
    depth: usize,
    queue: VecDeque<Completion>,
    /// Queue pairs that complete here.
    pub(super) users: u32,
}

impl Cq {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            depth: usize::try_from(depth).unwrap_or(usize::MAX),
            queue: VecDeque::new(),
            users: 0,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.queue.len() < self.depth
    }

    /// Whether there was room for it.
    pub(super) fn push(&mut self, completion: Completion) -> bool {
        let room = self.has_room();
        if room {
            self.queue.push_back(completion);
        }
        room
    }

    pub(super) fn pop(&mut self) -> Option<Completion> {
        self.queue.pop_front()
    }
}
