//! How requests find their answers: transaction IDs, time-outs, retries, cancellation, and a bound
//! on how many are under way at once (IBA 13.4.6.4).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use softib_wire::mad::header::MadHeader;
use softib_wire::time::{Duration, Instant};

use super::Mad;

/// Names a transaction: the low half of its transaction ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId(u32);

/// How long to wait for an answer, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How long to wait after each attempt.
    pub timeout: Duration,
    /// How often to send, the first time included.
    pub attempts: u32,
}

/// A request that nobody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired<D, T> {
    /// Which transaction.
    pub id: TransactionId,
    /// Where the request went.
    pub destination: D,
    /// The request as it was sent last.
    pub mad: Mad,
    /// What the caller kept with it.
    pub context: T,
}

/// Requests under way, of one owner.
///
/// `D` is where a request goes (an [`Endpoint`](super::Endpoint), a directed route); `T` is what
/// the caller wants back with the answer.
///
/// Call [`Self::send`], then [`Self::poll_transmit`] until there is nothing to send; hand
/// answers to [`Self::handle_response`]; call [`Self::handle_timeout`] at [`Self::poll_timeout`], then
/// `poll_transmit` and [`Self::poll_expired`] again.
#[derive(Debug)]
pub struct Transactions<D, T> {
    retry: Retry,
    max_outstanding: usize,
    /// The high half of all transaction IDs: tells the answers of one owner from those of another.
    owner: u32,
    next: u32,
    pending: BTreeMap<TransactionId, Pending<D, T>>,
    /// Transactions to send, in order.
    queue: VecDeque<TransactionId>,
    /// Transactions that wait for an answer, by when they are due.
    due: BTreeSet<(Instant, TransactionId)>,
    expired: VecDeque<Expired<D, T>>,
}

#[derive(Debug)]
struct Pending<D, T> {
    destination: D,
    mad: Mad,
    context: T,
    retry: Retry,
    attempts_left: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    /// Sent; due at this time.
    Waiting(Instant),
}

impl<D: Clone, T> Transactions<D, T> {
    /// No requests yet. `owner` is the high half of the transaction IDs: draw it at random, so that
    /// late answers to an earlier life are not taken for answers to this one.
    #[must_use]
    pub const fn new(owner: u32, retry: Retry, max_outstanding: usize) -> Self {
        Self {
            retry,
            max_outstanding,
            owner,
            next: 1,
            pending: BTreeMap::new(),
            queue: VecDeque::new(),
            due: BTreeSet::new(),
            expired: VecDeque::new(),
        }
    }

    /// Sends a request, as soon as there is room for it. Its transaction ID is filled in.
    pub fn send(&mut self, destination: D, mad: Mad, context: T) -> TransactionId {
        self.send_with(self.retry, destination, mad, context)
    }

    /// Sends a request that waits in its own way.
    pub fn send_with(
        &mut self,
        retry: Retry,
        destination: D,
        mut mad: Mad,
        context: T,
    ) -> TransactionId {
        let id = self.new_id();
        mad[8..16].copy_from_slice(&self.transaction_id(id).to_be_bytes());
        let pending = Pending {
            destination,
            mad,
            context,
            retry,
            attempts_left: retry.attempts.max(1),
            state: State::Queued,
        };
        self.pending.insert(id, pending);
        self.queue.push_back(id);
        id
    }

    /// The answer is no longer wanted. What the caller kept with the request, if it was under way.
    pub fn cancel(&mut self, id: TransactionId) -> Option<T> {
        self.remove(id).map(|pending| pending.context)
    }

    /// No answer is wanted any more: what the caller kept with all the requests.
    pub fn cancel_all(&mut self) -> impl Iterator<Item = T> + use<D, T> {
        self.queue.clear();
        self.due.clear();
        core::mem::take(&mut self.pending)
            .into_values()
            .map(|pending| pending.context)
    }

    /// Takes an answer in, and gives back what the caller kept with the request, or `None` if this
    /// answers none: by transaction ID, class, attribute and method, and by where it came from.
    pub fn handle_response(
        &mut self,
        mad: &Mad,
        is_from: impl FnOnce(&D) -> bool,
    ) -> Option<(TransactionId, T)> {
        let id = self.find(mad, is_from)?;
        self.remove(id).map(|pending| (id, pending.context))
    }

    /// The transaction that this MAD answers, which stays under way.
    pub fn find(&self, mad: &Mad, is_from: impl FnOnce(&D) -> bool) -> Option<TransactionId> {
        let response = MadHeader::parse(mad).ok()?;
        let [high, low] = [
            response.transaction_id >> 32,
            response.transaction_id & 0xFFFF_FFFF,
        ];
        if high != u64::from(self.owner) || !response.is_response() {
            return None;
        }
        let id = TransactionId(u32::try_from(low).ok()?);
        let pending = self.pending.get(&id)?;
        let request = MadHeader::parse(&pending.mad).ok()?;
        // Before it is sent for the first time nothing can answer it.
        let sent = matches!(pending.state, State::Waiting(_))
            || pending.attempts_left < pending.retry.attempts.max(1);
        let answers = response.class == request.class
            && response.attribute_id == request.attribute_id
            && response.method == request.response_to(request.status).method;
        (sent && answers && is_from(&pending.destination)).then_some(id)
    }

    /// The requests under way and where they go, for one who wants to redirect them.
    pub fn destinations_mut(&mut self) -> impl Iterator<Item = &mut D> {
        self.pending
            .values_mut()
            .map(|pending| &mut pending.destination)
    }

    /// The answer has begun to arrive: waits until `until` and asks no more.
    pub fn extend(&mut self, id: TransactionId, until: Instant) {
        let Some(pending) = self.pending.get_mut(&id) else {
            return;
        };
        match pending.state {
            State::Waiting(due) => {
                self.due.remove(&(due, id));
            }
            State::Queued => self.queue.retain(|&queued| queued != id),
        }
        pending.attempts_left = 0;
        pending.state = State::Waiting(until);
        self.due.insert((until, id));
    }

    /// The next request to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(D, Mad)> {
        if self.due.len() >= self.max_outstanding {
            return None;
        }
        let id = self.queue.pop_front()?;
        let pending = self.pending.get_mut(&id)?;
        pending.attempts_left = pending.attempts_left.saturating_sub(1);
        let due = now + pending.retry.timeout;
        pending.state = State::Waiting(due);
        self.due.insert((due, id));
        Some((pending.destination.clone(), pending.mad))
    }

    /// When [`Self::handle_timeout`] wants to be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.due.first().map(|&(due, _)| due)
    }

    /// Sends again what was not answered in time, or gives it up.
    pub fn handle_timeout(&mut self, now: Instant) {
        let mut again = Vec::new();
        while let Some(&(due, id)) = self.due.first()
            && due <= now
        {
            self.due.pop_first();
            let Some(pending) = self.pending.get_mut(&id) else {
                continue;
            };
            if pending.attempts_left > 0 {
                pending.state = State::Queued;
                again.push(id);
            } else if let Some(pending) = self.pending.remove(&id) {
                self.expired.push_back(Expired {
                    id,
                    destination: pending.destination,
                    mad: pending.mad,
                    context: pending.context,
                });
            }
        }
        // Before what was never sent: they are older.
        for id in again.into_iter().rev() {
            self.queue.push_front(id);
        }
    }

    /// The next request that nobody answered.
    pub fn poll_expired(&mut self) -> Option<Expired<D, T>> {
        self.expired.pop_front()
    }

    /// Requests under way, those included that still wait to be sent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether no request is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Requests sent that wait for their answer.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.due.len()
    }

    /// The transaction ID that a request goes by on the wire.
    #[must_use]
    pub fn transaction_id(&self, id: TransactionId) -> u64 {
        u64::from(self.owner) << 32 | u64::from(id.0)
    }

    fn new_id(&mut self) -> TransactionId {
        loop {
            let id = TransactionId(self.next);
            // 0 is left out: some agents take it for "none".
            self.next = self.next.checked_add(1).unwrap_or(1);
            if !self.pending.contains_key(&id) {
                return id;
            }
        }
    }

    fn remove(&mut self, id: TransactionId) -> Option<Pending<D, T>> {
        let pending = self.pending.remove(&id)?;
        match pending.state {
            State::Waiting(due) => {
                self.due.remove(&(due, id));
            }
            State::Queued => self.queue.retain(|&queued| queued != id),
        }
        Some(pending)
    }
}

#[cfg(test)]
mod tests;
