//! The receiving end of one transfer (IBA 13.6.6.2).

use std::collections::BTreeMap;

use softib_wire::mad::rmpp::{RmppFlags, RmppHeader, RmppStatus, RmppType};
use softib_wire::time::{Duration, Instant};

use super::{BODY, RmppError, SEGMENT_LEN, control, header};
use crate::mad::Mad;

/// What a receiver puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Octets of the longest message.
    pub message: usize,
    /// Segments that may be under way.
    pub window: u32,
    /// How long the sender may be silent.
    pub idle: Duration,
    /// How long the whole transfer may take.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // All PortInfoRecords of 16,000 ports and more.
            message: 16 << 20,
            window: 64,
            idle: Duration::from_secs(10),
            total: Duration::from_secs(40),
        }
    }
}

/// A message that arrived whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The first segment: the MAD header and class header are the message's.
    pub first: Mad,
    /// The data of all segments.
    pub data: Vec<u8>,
}

/// A message being received.
///
/// Hand it the MADs of the transaction with [`Self::handle_mad`] until [`Self::outcome`] says that
/// the transfer is over, and send what [`Self::poll_transmit`] gives. Keep it a while after that: if
/// the last ACK is lost the sender sends again, and the receiver acknowledges again.
#[derive(Debug)]
pub struct Receiver {
    limits: Limits,
    class_header: usize,
    deadline: Instant,
    idle_until: Instant,

    first: Option<Mad>,
    /// Data of the segments up to `received`.
    pub(super) data: Vec<u8>,
    /// Segments that came before one in front of them.
    pub(super) ahead: BTreeMap<u32, Vec<u8>>,
    /// All segments up to this one are here.
    received: u32,
    /// The last segment that there is room for.
    window_last: u32,
    /// The number of the last segment, once it is known.
    last: Option<u32>,
    /// What the first segment said of the length, class headers included.
    announced: Option<usize>,

    /// A MAD of the sender that wants an ACK.
    unacknowledged: Option<Mad>,
    /// The last MAD of the sender: to answer if it goes silent.
    recent: Option<Mad>,
    farewell: Option<Mad>,
    outcome: Option<Result<Message, RmppError>>,
    finished: bool,
}

impl Receiver {
    /// Waits for the segments of a message whose class header is `class_header` octets.
    ///
    /// # Panics
    /// There is no room for data behind the class header: `class_header` is not below
    /// [`SEGMENT_LEN`].
    #[must_use]
    pub fn new(now: Instant, class_header: usize, limits: Limits) -> Self {
        assert!(
            class_header < SEGMENT_LEN,
            "a segment must have room for data"
        );
        Self {
            limits,
            class_header,
            deadline: now + limits.total,
            idle_until: now + limits.idle,
            first: None,
            data: Vec::new(),
            ahead: BTreeMap::new(),
            received: 0,
            window_last: 1,
            last: None,
            announced: None,
            unacknowledged: None,
            recent: None,
            farewell: None,
            outcome: None,
            finished: false,
        }
    }

    /// Takes in a MAD of the other end: a segment, STOP or ABORT.
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) {
        let Ok(header) = header(mad) else { return };
        if !header.is_active() {
            return;
        }
        if self.finished {
            // The sender does not know yet: the last ACK was lost.
            if header.rmpp_type == RmppType::DATA && self.is_whole() {
                self.unacknowledged = Some(*mad);
            }
            return;
        }
        self.recent = Some(*mad);
        self.idle_until = now + self.limits.idle;
        if header.version != RmppHeader::VERSION {
            return self.abort(mad, RmppStatus::UNSUPPORTED_VERSION);
        }
        match header.rmpp_type {
            RmppType::DATA => self.handle_segment(mad, &header),
            RmppType::STOP => self.finish(Err(RmppError::Stopped(header.status))),
            RmppType::ABORT => self.finish(Err(RmppError::Aborted(header.status))),
            // Of the transfer the other way, in which this end sends.
            RmppType::ACK => {}
            _ => self.abort(mad, RmppStatus::BAD_TYPE),
        }
    }

    /// The next MAD to send.
    pub fn poll_transmit(&mut self) -> Option<Mad> {
        if let Some(farewell) = self.farewell.take() {
            return Some(farewell);
        }
        let theirs = self.unacknowledged.take()?;
        Some(control(
            &theirs,
            RmppType::ACK,
            RmppStatus::NORMAL,
            self.received,
            self.window_last,
        ))
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        (!self.finished).then(|| self.deadline.min(self.idle_until))
    }

    /// Gives up a sender that went silent.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.finished || now < self.deadline.min(self.idle_until) {
            return;
        }
        let status = RmppStatus::TOTAL_TIME_TOO_LONG;
        self.farewell = self
            .recent
            .as_ref()
            .map(|theirs| control(theirs, RmppType::ABORT, status, 0, 0));
        self.finish(Err(RmppError::Silent(status)));
    }

    /// How the transfer ended, once it did; only once.
    pub fn outcome(&mut self) -> Option<Result<Message, RmppError>> {
        self.outcome.take()
    }

    /// Whether the transfer is over.
    #[must_use]
    pub const fn is_finished(&self) -> bool {
        self.finished
    }

    fn handle_segment(&mut self, mad: &Mad, header: &RmppHeader) {
        let number = header.data1;
        let is_first = header.flags.contains(RmppFlags::FIRST);
        let is_last = header.flags.contains(RmppFlags::LAST);
        if header.status != RmppStatus::NORMAL {
            return self.abort(mad, RmppStatus::ILLEGAL_STATUS);
        }
        if number == 0 || is_first != (number == 1) {
            return self.abort(mad, RmppStatus::INCONSISTENT_FIRST);
        }
        if number <= self.received {
            self.unacknowledged = Some(*mad);
            return;
        }
        if number > self.window_last || self.ahead.contains_key(&number) {
            return; // There is no room for it; or it is here already.
        }

        let announced = usize::try_from(header.data2).unwrap_or(usize::MAX);
        let length = if is_last { announced } else { SEGMENT_LEN };
        if !(self.class_header..=SEGMENT_LEN).contains(&length) {
            return self.abort(mad, RmppStatus::INCONSISTENT_LENGTH);
        }
        if is_last {
            let beyond = self
                .ahead
                .last_key_value()
                .is_some_and(|(&n, _)| n > number);
            if self.last.is_some() || beyond {
                return self.abort(mad, RmppStatus::INCONSISTENT_LENGTH);
            }
            self.last = Some(number);
        } else if self.last.is_some_and(|last| number > last) {
            return self.abort(mad, RmppStatus::INCONSISTENT_LENGTH);
        }
        if number == 1 {
            self.first = Some(*mad);
            // IBA 13.6.2.2: 0 says that the length is not known yet.
            self.announced = (announced != 0 && !is_last).then_some(announced);
            if self.announced.is_some_and(|length| !self.fits(length)) {
                return self.stop(mad);
            }
        }

        let payload = &mad[BODY + self.class_header..BODY + length];
        self.ahead.insert(number, payload.to_vec());
        self.advance(mad);
    }

    /// Takes over the segments that are next.
    fn advance(&mut self, mad: &Mad) {
        while let Some(payload) = self.ahead.remove(&(self.received + 1)) {
            if self.data.len() + payload.len() > self.limits.message {
                return self.stop(mad);
            }
            self.received += 1;
            self.data.extend_from_slice(&payload);
        }
        if self.is_whole() {
            let Some(first) = self.first else { return };
            let length = self.data.len() + self.received as usize * self.class_header;
            if self.announced.is_some_and(|announced| announced != length) {
                return self.abort(mad, RmppStatus::INCONSISTENT_LENGTH);
            }
            self.unacknowledged = Some(*mad);
            let data = core::mem::take(&mut self.data);
            self.finish(Ok(Message { first, data }));
        } else if self.received == self.window_last {
            self.window_last = self.window_last.saturating_add(self.limits.window.max(1));
            self.unacknowledged = Some(*mad);
        }
    }

    fn is_whole(&self) -> bool {
        self.last == Some(self.received)
    }

    /// Whether a message of this length, class headers included, can be taken.
    fn fits(&self, length: usize) -> bool {
        let segments = length.div_ceil(SEGMENT_LEN);
        length.saturating_sub(segments * self.class_header) <= self.limits.message
    }

    fn stop(&mut self, theirs: &Mad) {
        let status = RmppStatus::RESOURCES_EXHAUSTED;
        self.farewell = Some(control(theirs, RmppType::STOP, status, 0, 0));
        self.finish(Err(RmppError::TooLong {
            limit: self.limits.message,
        }));
    }

    fn abort(&mut self, theirs: &Mad, status: RmppStatus) {
        self.farewell = Some(control(theirs, RmppType::ABORT, status, 0, 0));
        self.finish(Err(RmppError::Protocol(status)));
    }

    fn finish(&mut self, outcome: Result<Message, RmppError>) {
        if outcome.is_err() {
            self.unacknowledged = None;
            self.last = None;
        }
        self.outcome = Some(outcome);
        self.finished = true;
        self.data = Vec::new();
        self.ahead = BTreeMap::new();
    }
}
