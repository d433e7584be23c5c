//! PathRecord: how to reach a port (IBA 15.2.5.16).

use crate::addr::{Gid, Lid, PKey, Sl};
use crate::units::{Mtu, Rate, Selector};

layout! {
    /// PathRecord (IBA 15.2.5.16).
    pub struct PathRecord [64] {
        /// Service that the path is for.
        service_id: u64 = 0, 64;
        /// Destination.
        dgid: Gid = 64, 128;
        /// Source.
        sgid: Gid = 192, 128;
        /// Destination LID.
        dlid: Lid = 320, 16;
        /// Source LID.
        slid: Lid = 336, 16;
        /// For raw packets.
        raw_traffic: bool = 352, 1;
        /// Flow label.
        flow_label: u32 = 356, 20;
        /// Hop limit.
        hop_limit: u8 = 376, 8;
        /// Traffic class.
        traffic_class: u8 = 384, 8;
        /// The way back is the same.
        reversible: bool = 392, 1;
        /// NumbPath: how many paths a query wants.
        path_count: u8 = 393, 7;
        /// Partition.
        pkey: PKey = 400, 16;
        /// Quality-of-service class.
        qos_class: u16 = 416, 12;
        /// Service level.
        sl: Sl = 428, 4;
        /// How mtu is meant.
        mtu_selector: Selector = 432, 2;
        /// Path MTU.
        mtu: Option<Mtu> = 434, 6;
        /// How rate is meant.
        rate_selector: Selector = 440, 2;
        /// Path rate.
        rate: Option<Rate> = 442, 6;
        /// How life_time is meant.
        life_time_selector: Selector = 448, 2;
        /// Packet life time, 4.096 µs × 2^n.
        life_time: u8 = 450, 6;
        /// Order among several paths.
        preference: u8 = 456, 8;
    }
}

attributes! { PathRecord = crate::mad::attribute::PATH_RECORD; }

/// Nothing asked, nothing known: what a query fills in.
impl Default for PathRecord {
    fn default() -> Self {
        Self {
            service_id: 0,
            dgid: Gid::NONE,
            sgid: Gid::NONE,
            dlid: Lid::NONE,
            slid: Lid::NONE,
            raw_traffic: false,
            flow_label: 0,
            hop_limit: 0,
            traffic_class: 0,
            reversible: false,
            path_count: 0,
            pkey: PKey::default(),
            qos_class: 0,
            sl: Sl::default(),
            mtu_selector: Selector::Greater,
            mtu: None,
            rate_selector: Selector::Greater,
            rate: None,
            life_time_selector: Selector::Greater,
            life_time: 0,
            preference: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stock tools do not show, and so cannot vouch for.
    #[test]
    fn service_and_quality() {
        let record = PathRecord {
            service_id: 0x0102_0304_0506_0708,
            qos_class: 0x123,
            sl: Sl::from_bits_truncate(4),
            ..PathRecord::default()
        };
        let bytes = record.to_bytes();
        assert_eq!(bytes[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(bytes[52..54], [0x12, 0x34]);
        assert_eq!(PathRecord::parse(&bytes), Ok(record));
    }

    #[test]
    fn an_undefined_rate_is_refused() {
        let mut bytes = PathRecord::default().to_bytes();
        bytes[55] = 0x81;
        let error = PathRecord::parse(&bytes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "PathRecord.rate is 0x1, expected a rate code from 2 to 24"
        );
    }
}
