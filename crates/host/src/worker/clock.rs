//! The worker's time: nanoseconds of `CLOCK_MONOTONIC` since the worker began.

use rustix::time::{ClockId, Timespec, clock_gettime};
use softib_wire::time::Instant;

const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    origin: u64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            origin: monotonic(),
        }
    }

    pub(super) fn now(self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.origin))
    }

    /// `at` as the kernel's timers take it.
    pub(super) fn absolute(self, at: Instant) -> Timespec {
        let nanos = self.origin.saturating_add(at.as_nanos());
        Timespec {
            tv_sec: i64::try_from(nanos / SECOND).unwrap_or(i64::MAX),
            // Below a thousand million.
            tv_nsec: i64::try_from(nanos % SECOND).unwrap_or(0),
        }
    }
}

fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock begins with 0 at boot.
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds
        .saturating_mul(SECOND)
        .saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}
