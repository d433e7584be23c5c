//! Reliable multi-packet protocol: messages longer than one MAD (IBA 13.6).

layout! {
    /// RMPP header: behind the MAD header in classes that use it.
    pub struct RmppHeader [12] {
        /// 1; 0: no RMPP.
        version: u8 = 0, 8;
        /// What the packet is.
        rmpp_type: RmppType = 8, 8;
        /// How long the receiver takes, 4.096 µs × 2^n; 31: not given.
        resp_time: u8 = 16, 5;
        /// Flags.
        flags: RmppFlags = 21, 3;
        /// Status of a stop or an abort.
        status: RmppStatus = 24, 8;
        /// Data and ACK: segment number, from 1.
        data1: u32 = 32, 32;
        /// Data: payload length of the first segment (the whole message) and of the last. ACK: new window last.
        data2: u32 = 64, 32;
    }
}

impl RmppHeader {
    /// The header of a MAD that does not use the protocol.
    pub const NONE: Self = Self {
        version: 0,
        rmpp_type: RmppType::NONE,
        resp_time: 0,
        flags: RmppFlags::empty(),
        status: RmppStatus::NORMAL,
        data1: 0,
        data2: 0,
    };
    /// The version of the protocol.
    pub const VERSION: u8 = 1;
    /// resp_time that says nothing about the receiver.
    pub const NO_RESP_TIME: u8 = 31;

    /// Whether the MAD is part of a multi-packet transfer.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.flags.contains(RmppFlags::ACTIVE)
    }
}

bitflags::bitflags! {
    /// RMPPFlags.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct RmppFlags: u8 {
        /// RMPP is in use.
        const ACTIVE = 1;
        /// The first segment.
        const FIRST = 2;
        /// The last segment.
        const LAST = 4;
    }
}
newtype_field!(RmppFlags(u8));

open_codes! {
    /// RMPPType.
    pub struct RmppType(u8) {
        /// No RMPP packet.
        NONE = 0, "no RMPP";
        /// A segment.
        DATA = 1, "DATA";
        /// Segments have arrived.
        ACK = 2, "ACK";
        /// The transfer ends for want of resources.
        STOP = 3, "STOP";
        /// The transfer ends because of an error.
        ABORT = 4, "ABORT";
    }
}

open_codes! {
    /// RMPPStatus: why a transfer ends.
    pub struct RmppStatus(u8) {
        /// No error.
        NORMAL = 0, "normal";
        /// STOP: resources are exhausted.
        RESOURCES_EXHAUSTED = 1, "resources exhausted";
        /// ABORT: the transfer takes too long.
        TOTAL_TIME_TOO_LONG = 118, "total time too long";
        /// ABORT: the last segment's length disagrees with the first one's.
        INCONSISTENT_LENGTH = 119, "inconsistent first and last PayloadLength";
        /// ABORT: the FIRST flag and the segment number disagree.
        INCONSISTENT_FIRST = 120, "inconsistent First and SegmentNumber";
        /// ABORT: unknown type.
        BAD_TYPE = 121, "bad RMPPType";
        /// ABORT: the new window ends before the segment acknowledged.
        WINDOW_TOO_SMALL = 122, "NewWindowLast too small";
        /// ABORT: an ACK for a segment that was not sent.
        SEGMENT_TOO_BIG = 123, "SegmentNumber too big";
        /// ABORT: an invalid status.
        ILLEGAL_STATUS = 124, "illegal status";
        /// ABORT: unknown version.
        UNSUPPORTED_VERSION = 125, "unsupported version";
        /// ABORT: too many retries.
        TOO_MANY_RETRIES = 126, "too many retries";
        /// ABORT: no reason given.
        UNSPECIFIED = 127, "unspecified";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_segment() {
        let header = RmppHeader {
            version: 1,
            rmpp_type: RmppType::DATA,
            resp_time: RmppHeader::NO_RESP_TIME,
            flags: RmppFlags::ACTIVE | RmppFlags::FIRST,
            status: RmppStatus::NORMAL,
            data1: 1,
            data2: 672,
        };
        let bytes = [0x01, 0x01, 0xFB, 0x00, 0, 0, 0, 1, 0, 0, 0x02, 0xA0];
        let mut out = [0xa5; 12];
        header.emit(&mut out);
        assert_eq!(out, bytes);
        assert_eq!(RmppHeader::parse(&bytes), Ok(header));
        assert!(header.is_active() && !RmppHeader::NONE.is_active());
    }

    #[test]
    fn codes_without_a_name_are_kept() {
        let status = RmppStatus::from_bits_truncate(200);
        assert_eq!(status.bits(), 200);
        assert_eq!(status.to_string(), "code 200");
        assert_eq!(format!("{:?}", RmppStatus::BAD_TYPE), "121 (bad RMPPType)");
    }
}
