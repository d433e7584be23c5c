//! Who has to be called when: one deadline a node, link or other party, the earliest first.

use std::collections::BTreeSet;

use softib_wire::time::Instant;

/// Deadlines of parties that are numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    queue: BTreeSet<(Instant, usize)>,
    /// The deadline of each party that is in `queue`.
    of: Vec<Option<Instant>>,
}

impl Deadlines {
    /// No deadline for any of `parties`.
    pub(crate) fn new(parties: usize) -> Self {
        Self {
            queue: BTreeSet::new(),
            of: vec![None; parties],
        }
    }

    /// Replaces a party's deadline.
    #[inline]
    pub(crate) fn set(&mut self, party: usize, deadline: Option<Instant>) {
        let old = self.of[party];
        if old == deadline {
            return;
        }
        if let Some(old) = old {
            self.queue.remove(&(old, party));
        }
        if let Some(deadline) = deadline {
            self.queue.insert((deadline, party));
        }
        self.of[party] = deadline;
    }

    /// The earliest deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.queue.first().map(|&(deadline, _)| deadline)
    }

    /// Takes the party whose deadline is the earliest, if that is not after `now`.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<usize> {
        let &(deadline, party) = self.queue.first()?;
        if deadline > now {
            return None;
        }
        self.queue.pop_first();
        self.of[party] = None;
        Some(party)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earliest_first_and_replaced() {
        let at = Instant::from_nanos;
        let mut deadlines = Deadlines::new(3);
        deadlines.set(0, Some(at(30)));
        deadlines.set(1, Some(at(20)));
        deadlines.set(2, Some(at(10)));
        deadlines.set(2, Some(at(40)));
        deadlines.set(0, None);
        assert_eq!(deadlines.next(), Some(at(20)));
        assert_eq!(deadlines.pop_due(at(19)), None);
        assert_eq!(deadlines.pop_due(at(20)), Some(1));
        assert_eq!(deadlines.pop_due(at(50)), Some(2));
        assert_eq!(deadlines.next(), None);
    }
}
