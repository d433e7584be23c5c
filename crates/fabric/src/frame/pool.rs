//! Where frames' buffers come from and return to.
//!
//! Last in, first out, and no more buffers kept than a cache holds: a pool that cycles through
//! fresh memory makes every copy several times slower.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Frame, HEADROOM};

/// Octets behind what was asked for: padding, both CRCs, and some.
pub(super) const TAILROOM: usize = 16;

/// What one packet of the largest MTU needs.
const SMALL: usize = 4096 + 256;
/// What a whole large send needs.
const LARGE: usize = 65536 + 256;
/// Buffers kept for reuse.
const SMALL_KEPT: usize = 1024;
const LARGE_KEPT: usize = 48;

/// A pool of buffers. Clones are handles to the same pool.
#[derive(Clone, Default)]
pub struct Pool(Arc<Shelves>);

impl Pool {
    /// An empty pool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty frame with [`HEADROOM`] in front and room for `capacity` octets, and some tail
    /// room, behind.
    #[must_use]
    pub fn alloc(&self, capacity: usize) -> Frame {
        Frame::empty(self.buffer(HEADROOM + capacity + TAILROOM))
    }

    /// A frame with these bytes.
    #[must_use]
    pub fn frame_from(&self, bytes: &[u8]) -> Frame {
        let mut frame = self.alloc(bytes.len());
        frame.push_back(bytes);
        frame
    }

    /// A buffer of at least `octets`. What it holds is left over from its last use.
    fn buffer(&self, octets: usize) -> Arc<Buffer> {
        if octets > LARGE {
            return Arc::new(Buffer::unpooled(octets));
        }
        let (shelf, size) = if octets <= SMALL {
            (&self.0.small, SMALL)
        } else {
            (&self.0.large, LARGE)
        };
        lock(shelf).pop().unwrap_or_else(|| {
            Arc::new(Buffer {
                data: zeroed(size),
                home: Arc::downgrade(&self.0),
            })
        })
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("small", &lock(&self.0.small).len())
            .field("large", &lock(&self.0.large).len())
            .finish()
    }
}

#[derive(Default)]
struct Shelves {
    small: Mutex<Vec<Arc<Buffer>>>,
    large: Mutex<Vec<Arc<Buffer>>>,
}

/// A frame's memory.
pub(super) struct Buffer {
    pub(super) data: Box<[u8]>,
    home: Weak<Shelves>,
}

impl Buffer {
    /// A buffer that belongs to no pool.
    pub(super) fn unpooled(octets: usize) -> Self {
        Self {
            data: zeroed(octets),
            home: Weak::new(),
        }
    }

    /// Another buffer of the same kind that holds the same octets at the same places.
    pub(super) fn duplicate(&self, used: std::ops::Range<usize>) -> Arc<Self> {
        let mut copy = match self.home.upgrade() {
            Some(shelves) => Pool(shelves).buffer(self.data.len()),
            None => Arc::new(Self::unpooled(self.data.len())),
        };
        // A buffer from a shelf has no other owner.
        if let Some(fresh) = Arc::get_mut(&mut copy) {
            fresh.data[used.clone()].copy_from_slice(&self.data[used]);
        }
        copy
    }

    /// Back to the shelf, when this was the last handle.
    pub(super) fn release(mut buffer: Arc<Self>) {
        if Arc::get_mut(&mut buffer).is_none() {
            return;
        }
        let Some(shelves) = buffer.home.upgrade() else {
            return;
        };
        let (shelf, kept) = match buffer.data.len() {
            SMALL => (&shelves.small, SMALL_KEPT),
            _ => (&shelves.large, LARGE_KEPT),
        };
        let mut shelf = lock(shelf);
        if shelf.len() < kept {
            shelf.push(buffer);
        }
    }
}

fn zeroed(octets: usize) -> Box<[u8]> {
    vec![0; octets].into_boxed_slice()
}

/// A shelf is a plain list: whoever panicked while holding it left it whole.
fn lock(shelf: &Mutex<Vec<Arc<Buffer>>>) -> std::sync::MutexGuard<'_, Vec<Arc<Buffer>>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_buffer_returned_is_the_next_given() {
        let pool = Pool::new();
        let first = pool.frame_from(b"first");
        let place = first.bytes().as_ptr();
        let second = pool.frame_from(b"second");
        let clone = first.clone();
        drop(first);
        assert_ne!(
            pool.frame_from(b"third").bytes().as_ptr(),
            place,
            "a clone still holds it"
        );
        drop(clone);
        assert_eq!(pool.frame_from(b"fourth").bytes().as_ptr(), place);
        drop(second);
    }

    #[test]
    fn sizes() {
        let pool = Pool::new();
        for capacity in [0, 1, 4096, 5000, 65536, 200_000] {
            let mut frame = pool.alloc(capacity);
            assert!(frame.spare_mut().len() >= capacity + TAILROOM, "{capacity}");
            assert!(frame.is_empty());
        }
        assert_eq!(lock(&pool.0.small).len(), 1);
        assert_eq!(lock(&pool.0.large).len(), 1);
    }

    #[test]
    fn frames_outlive_their_pool() {
        let pool = Pool::new();
        let mut frame = pool.frame_from(b"alive");
        let clone = frame.clone();
        drop(pool);
        frame.bytes_mut()[0] = b'A';
        assert_eq!(frame.bytes(), b"Alive");
        assert_eq!(clone.bytes(), b"alive");
    }

    #[test]
    fn no_more_is_kept_than_the_limit() {
        let pool = Pool::new();
        let frames: Vec<_> = (0..SMALL_KEPT + 10).map(|_| pool.alloc(1)).collect();
        drop(frames);
        assert_eq!(lock(&pool.0.small).len(), SMALL_KEPT);
    }
}
