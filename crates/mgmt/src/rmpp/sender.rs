//! The sending end of one transfer (IBA 13.6.6.1).

use softib_wire::mad::MAD_LEN;
use softib_wire::mad::rmpp::{RmppFlags, RmppHeader, RmppStatus, RmppType};
use softib_wire::time::{Duration, Instant};

use super::{BODY, RmppError, SEGMENT_LEN, control, header, set_header};
use crate::mad::Mad;

/// How patient a sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long to wait for an ACK before sending again.
    pub timeout: Duration,
    /// How often in a row to send again before giving up.
    pub retries: u32,
    /// How long the whole transfer may take.
    pub total: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            timeout: Duration::from_millis(250),
            retries: 10,
            total: Duration::from_secs(40),
        }
    }
}

/// A message being sent.
///
/// Fetch MADs with [`Self::poll_transmit`] until there is none, hand it the other end's MADs of
/// this transaction with [`Self::handle_mad`], call [`Self::handle_timeout`] at
/// [`Self::poll_timeout`]. [`Self::outcome`] says when it is over; a last MAD may be left to send.
#[derive(Debug)]
pub struct Sender {
    /// Every segment's MAD header and class header.
    head: Mad,
    class_header: usize,
    data: Vec<u8>,
    pace: Pace,
    deadline: Instant,

    /// All segments up to this one have arrived.
    pub(super) acknowledged: u32,
    /// The last segment that the receiver has room for.
    pub(super) window_last: u32,
    /// The last segment sent since the last time-out.
    sent: u32,
    /// The last segment ever sent.
    highest: u32,
    retries_left: u32,
    /// When the receiver is late.
    due: Option<Instant>,

    outcome: Option<Result<(), RmppError>>,
    /// The MAD that ends the transfer, still to be sent.
    farewell: Option<Mad>,
}

impl Sender {
    /// Begins to send `data`, with the MAD header and the class header of `head` in front of each
    /// segment. The class header is `class_header` octets behind the RMPP header.
    ///
    /// # Panics
    /// There is no room for data behind the class header: `class_header` is not below
    /// [`SEGMENT_LEN`].
    #[must_use]
    pub fn new(now: Instant, head: &Mad, class_header: usize, data: Vec<u8>, pace: Pace) -> Self {
        assert!(
            class_header < SEGMENT_LEN,
            "a segment must have room for data"
        );
        Self {
            head: *head,
            class_header,
            data,
            pace,
            deadline: now + pace.total,
            acknowledged: 0,
            // IBA 13.6.6.1: one segment, until the receiver says for how many it has room.
            window_last: 1,
            sent: 0,
            highest: 0,
            retries_left: pace.retries,
            due: None,
            outcome: None,
            farewell: None,
        }
    }

    /// Takes in a MAD of the other end: ACK, STOP or ABORT.
    pub fn handle_mad(&mut self, now: Instant, mad: &Mad) {
        let Ok(header) = header(mad) else { return };
        if self.outcome.is_some() || !header.is_active() {
            return;
        }
        if header.version != RmppHeader::VERSION {
            return self.abort(mad, RmppStatus::UNSUPPORTED_VERSION);
        }
        match header.rmpp_type {
            RmppType::ACK => self.handle_ack(now, mad, &header),
            RmppType::STOP => self.finish(Err(RmppError::Stopped(header.status))),
            RmppType::ABORT => self.finish(Err(RmppError::Aborted(header.status))),
            // A segment: of the answer, if this transfer was a request. Not about this one.
            RmppType::DATA => {}
            _ => self.abort(mad, RmppStatus::BAD_TYPE),
        }
    }

    /// The next MAD to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        if let Some(farewell) = self.farewell.take() {
            return Some(farewell);
        }
        if self.outcome.is_some() || self.sent >= self.window_last.min(self.segments()) {
            return None;
        }
        self.sent += 1;
        self.highest = self.highest.max(self.sent);
        self.due = Some(now + self.pace.timeout);
        Some(self.segment(self.sent))
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        if self.outcome.is_some() {
            return None;
        }
        Some(self.due.map_or(self.deadline, |due| due.min(self.deadline)))
    }

    /// Sends again what was not acknowledged in time, or gives up.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.outcome.is_some() {
            return;
        }
        if now >= self.deadline {
            return self.give_up(RmppStatus::TOTAL_TIME_TOO_LONG);
        }
        if self.due.is_none_or(|due| due > now) {
            return;
        }
        let Some(left) = self.retries_left.checked_sub(1) else {
            return self.give_up(RmppStatus::TOO_MANY_RETRIES);
        };
        self.retries_left = left;
        self.sent = self.acknowledged;
        self.due = None;
    }

    /// How the transfer ended, once it did.
    #[must_use]
    pub const fn outcome(&self) -> Option<Result<(), RmppError>> {
        self.outcome
    }

    fn handle_ack(&mut self, now: Instant, mad: &Mad, ack: &RmppHeader) {
        let (segment, window_last) = (ack.data1, ack.data2);
        if ack.status != RmppStatus::NORMAL {
            return self.abort(mad, RmppStatus::ILLEGAL_STATUS);
        }
        if segment > self.highest {
            return self.abort(mad, RmppStatus::SEGMENT_TOO_BIG);
        }
        // The last segment may be acknowledged with any window: there is nothing left to send.
        let done = segment == self.segments();
        if window_last < segment && !done {
            return self.abort(mad, RmppStatus::WINDOW_TOO_SMALL);
        }
        if segment < self.acknowledged || window_last < self.window_last && !done {
            return; // Overtaken by a later one.
        }
        if done {
            return self.finish(Ok(()));
        }
        if segment > self.acknowledged || window_last > self.window_last {
            self.retries_left = self.pace.retries;
            self.due = (self.sent > segment).then(|| now + self.pace.timeout);
        }
        self.acknowledged = segment;
        self.window_last = window_last;
        self.sent = self.sent.max(segment);
        if self.due.is_none() && self.window_last == self.acknowledged {
            // The receiver has all and no room for more: it must say when it has.
            self.due = Some(now + self.pace.timeout);
        }
    }

    fn abort(&mut self, theirs: &Mad, status: RmppStatus) {
        self.farewell = Some(control(theirs, RmppType::ABORT, status, 0, 0));
        self.finish(Err(RmppError::Protocol(status)));
    }

    fn give_up(&mut self, status: RmppStatus) {
        let mut mad = self.head;
        mad[BODY + self.class_header..].fill(0);
        set_header(
            &mut mad,
            &RmppHeader {
                version: RmppHeader::VERSION,
                rmpp_type: RmppType::ABORT,
                resp_time: RmppHeader::NO_RESP_TIME,
                flags: RmppFlags::ACTIVE,
                status,
                data1: 0,
                data2: 0,
            },
        );
        self.farewell = Some(mad);
        self.finish(Err(RmppError::Silent(status)));
    }

    fn finish(&mut self, outcome: Result<(), RmppError>) {
        self.outcome = Some(outcome);
        self.due = None;
        self.data = Vec::new();
    }

    /// Octets of data in a segment.
    const fn room(&self) -> usize {
        SEGMENT_LEN - self.class_header
    }

    /// Segments of the message: at least one, though it may be empty.
    fn segments(&self) -> u32 {
        let segments = self.data.len().div_ceil(self.room()).max(1);
        u32::try_from(segments).unwrap_or(u32::MAX)
    }

    fn segment(&self, number: u32) -> Mad {
        let last = number == self.segments();
        let mut flags = RmppFlags::ACTIVE;
        flags.set(RmppFlags::FIRST, number == 1);
        flags.set(RmppFlags::LAST, last);

        let begin = (number as usize - 1) * self.room();
        let end = (begin + self.room()).min(self.data.len());
        let payload = &self.data[begin..end];
        // IBA 13.6.2.2: PayloadLength counts the class header of each segment. The first segment
        // tells the whole length, the last one its own; one that is both is told by the two alike.
        let payload_length = if last {
            self.class_header + payload.len()
        } else if number == 1 {
            self.data.len() + self.segments() as usize * self.class_header
        } else {
            0
        };

        let mut mad = [0; MAD_LEN];
        let data_at = BODY + self.class_header;
        mad[..data_at].copy_from_slice(&self.head[..data_at]);
        mad[data_at..data_at + payload.len()].copy_from_slice(payload);
        set_header(
            &mut mad,
            &RmppHeader {
                version: RmppHeader::VERSION,
                rmpp_type: RmppType::DATA,
                resp_time: RmppHeader::NO_RESP_TIME,
                flags,
                status: RmppStatus::NORMAL,
                data1: number,
                // 0 says "not known".
                data2: u32::try_from(payload_length).unwrap_or(0),
            },
        );
        mad
    }
}
