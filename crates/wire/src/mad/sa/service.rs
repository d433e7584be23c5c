//! ServiceRecord: a service that a port offers (IBA 15.2.5.14).

use crate::addr::{Gid, PKey};

layout! {
    /// ServiceRecord (IBA 15.2.5.14).
    pub struct ServiceRecord [176] {
        /// Service.
        service_id: u64 = 0, 64;
        /// Port that offers it.
        service_gid: Gid = 64, 128;
        /// Partition that it is offered in.
        service_pkey: PKey = 192, 16;
        /// Seconds that the record lasts; all ones: for ever.
        lease: u32 = 224, 32;
        /// Who registered it.
        key: [u8; 16] = 256, 128;
        /// Name, UTF-8, ended by a zero.
        name: [u8; 64] = 384, 512;
        /// Service data, 8-bit.
        data8: [u8; 16] = 896, 128;
        /// Service data, 16-bit, in wire order.
        data16: [u8; 16] = 1024, 128;
        /// Service data, 32-bit, in wire order.
        data32: [u8; 16] = 1152, 128;
        /// Service data, 64-bit, in wire order.
        data64: [u8; 16] = 1280, 128;
    }
}

attributes! { ServiceRecord = crate::mad::attribute::SERVICE_RECORD; }

impl ServiceRecord {
    /// The lease that never ends.
    pub const LEASE_FOR_EVER: u32 = u32::MAX;
}

/// Nothing asked, nothing known: what a query or a registration fills in.
impl Default for ServiceRecord {
    fn default() -> Self {
        Self {
            service_id: 0,
            service_gid: Gid::NONE,
            service_pkey: PKey::default(),
            lease: 0,
            key: [0; 16],
            name: [0; 64],
            data8: [0; 16],
            data16: [0; 16],
            data32: [0; 16],
            data64: [0; 16],
        }
    }
}
