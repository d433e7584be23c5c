//! Deadlines by name: one at most for each thing that waits, the earliest first.

use std::collections::{BTreeMap, BTreeSet};

use softib_wire::time::Instant;

/// Named deadlines. Setting one again moves it.
#[derive(Debug)]
pub(crate) struct Timers<K> {
    at: BTreeMap<K, Instant>,
    order: BTreeSet<(Instant, K)>,
}

impl<K: Ord + Copy> Timers<K> {
    pub(crate) const fn new() -> Self {
        Self {
            at: BTreeMap::new(),
            order: BTreeSet::new(),
        }
    }

    pub(crate) fn set(&mut self, key: K, at: Instant) {
        self.cancel(key);
        self.at.insert(key, at);
        self.order.insert((at, key));
    }

    pub(crate) fn cancel(&mut self, key: K) {
        if let Some(at) = self.at.remove(&key) {
            self.order.remove(&(at, key));
        }
    }

    /// Cancels every deadline whose name satisfies `which`.
    pub(crate) fn cancel_all(&mut self, which: impl Fn(&K) -> bool) {
        self.at.retain(|key, _| !which(key));
        self.order.retain(|(_, key)| !which(key));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        self.order.first().map(|&(at, _)| at)
    }

    /// Takes the earliest deadline that has been reached.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<K> {
        let &(at, key) = self.order.first()?;
        if at > now {
            return None;
        }
        self.order.pop_first();
        self.at.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_and_cancels() {
        let mut timers = Timers::new();
        let at = Instant::from_nanos;
        timers.set('a', at(10));
        timers.set('b', at(5));
        timers.set('b', at(20));
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.pop_due(at(9)), None);
        assert_eq!(timers.pop_due(at(30)), Some('a'));
        timers.cancel('b');
        assert_eq!((timers.pop_due(at(30)), timers.next()), (None, None));
    }
}
