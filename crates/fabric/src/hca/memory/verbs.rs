//! The verbs of memory: protection domains, regions, windows (IBA 11.2.1, 11.2.8).

use super::{Access, Keys, LKey, Memory, PdId, RKey};
use crate::hca::Hca;
use crate::hca::qp::VerbError;

impl Hca {
    /// Makes a protection domain: what holds together queues and the memory that they may touch.
    pub fn create_pd(&mut self) -> PdId {
        self.memories.create_pd()
    }

    /// Takes a protection domain away.
    ///
    /// # Errors
    /// It does not exist, or queues, regions or windows are in it.
    pub fn destroy_pd(&mut self, pd: PdId) -> Result<(), VerbError> {
        self.memories.destroy_pd(pd)
    }

    /// Registers memory: from here on work requests reach it by the L_Key, packets by the R_Key, as
    /// far as `access` says. Its first octet has the address `address`.
    ///
    /// # Errors
    /// There is no such domain, the addresses do not fit 64 bits, `access` gives remote writes or
    /// atomics without [`Access::LOCAL_WRITE`], or all keys are in use.
    pub fn register_memory(
        &mut self,
        pd: PdId,
        address: u64,
        memory: Box<dyn Memory>,
        access: Access,
    ) -> Result<Keys, VerbError> {
        self.memories.register(pd, address, memory, access)
    }

    /// Ends it, and gives the memory back. Its keys open nothing any more.
    ///
    /// # Errors
    /// It is not registered, or windows are bound to it.
    pub fn deregister_memory(&mut self, lkey: LKey) -> Result<Box<dyn Memory>, VerbError> {
        self.memories.deregister(lkey)
    }

    /// Registered memory, to look at.
    #[must_use]
    pub fn memory(&self, lkey: LKey) -> Option<&dyn Memory> {
        self.memories.memory(lkey)
    }

    /// Registered memory, to change.
    pub fn memory_mut(&mut self, lkey: LKey) -> Option<&mut dyn Memory> {
        self.memories.memory_mut(lkey)
    }

    /// Makes a memory window of type 2, bound to nothing. Its key is that of a bound window only
    /// after a bind has been done by a queue pair of the same domain.
    ///
    /// # Errors
    /// There is no such domain, or all keys are in use.
    pub fn create_window(&mut self, pd: PdId) -> Result<RKey, VerbError> {
        self.memories.create_window(pd)
    }

    /// Takes a window away, bound or not.
    ///
    /// # Errors
    /// The key is not the present one of a window.
    pub fn destroy_window(&mut self, window: RKey) -> Result<(), VerbError> {
        self.memories.destroy_window(window)
    }
}
