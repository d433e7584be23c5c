//! A capture in progress: a bounded queue from the worker to whoever writes the file.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

/// Packets that may wait for the reader of a capture.
const QUEUE: usize = 8192;

/// A packet as it was on the wire, from LRH to VCRC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedPacket {
    /// When, since 1970.
    pub timestamp: Duration,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The worker's end: it never waits.
#[derive(Debug, Clone)]
pub struct Tap {
    queue: mpsc::Sender<CapturedPacket>,
    dropped: Arc<AtomicU64>,
}

/// The reader's end. Dropping it ends the capture.
#[derive(Debug)]
pub struct Capture {
    queue: mpsc::Receiver<CapturedPacket>,
    dropped: Arc<AtomicU64>,
}

/// Makes the two ends of a capture.
pub(crate) fn channel() -> (Tap, Capture) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let dropped = Arc::new(AtomicU64::new(0));
    (
        Tap {
            queue: sender,
            dropped: Arc::clone(&dropped),
        },
        Capture {
            queue: receiver,
            dropped,
        },
    )
}

impl Tap {
    /// Passes a packet on; drops and counts it when the reader is too slow. `false`: nobody reads
    /// any more.
    #[must_use]
    pub fn offer(&self, packet: CapturedPacket) -> bool {
        match self.queue.try_send(packet) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        }
    }

    /// Whether somebody still reads.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.queue.is_closed()
    }
}

impl Capture {
    /// The next packet; `None`: the lab is gone.
    pub async fn next(&mut self) -> Option<CapturedPacket> {
        self.queue.recv().await
    }

    /// A packet that waits already.
    pub fn try_next(&mut self) -> Option<CapturedPacket> {
        self.queue.try_recv().ok()
    }

    /// Packets lost because the reader was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_loses_packets_and_is_told() {
        let (tap, mut capture) = channel();
        for _ in 0..QUEUE + 3 {
            assert!(tap.offer(CapturedPacket {
                timestamp: Duration::ZERO,
                bytes: vec![1]
            }));
        }
        assert_eq!(capture.dropped(), 3);
        assert!(capture.try_next().is_some());
        drop(capture);
        assert!(!tap.is_open());
        assert!(!tap.offer(CapturedPacket {
            timestamp: Duration::ZERO,
            bytes: vec![1]
        }));
    }
}
