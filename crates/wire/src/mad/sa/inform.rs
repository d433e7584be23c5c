//! InformInfo: subscriptions to notices (IBA 13.4.8.3, 15.2.5.12).

use crate::addr::{Gid, Lid, Qpn};

layout! {
    /// InformInfo: a subscription to notices (IBA 13.4.8.3).
    #[derive(Default)]
    pub struct InformInfo [36] {
        /// Only notices about this port; zero: see lid_range_begin.
        gid: Gid = 0, 128;
        /// First LID; permissive: all.
        lid_range_begin: Lid = 128, 16;
        /// Last LID.
        lid_range_end: Lid = 144, 16;
        /// Generic notices.
        generic: bool = 176, 8;
        /// Subscribe, or end the subscription.
        subscribe: bool = 184, 8;
        /// Type; all ones: all.
        notice_type: u16 = 192, 16;
        /// Trap; all ones: all.
        trap_number: u16 = 208, 16;
        /// Where reports go.
        qpn: Qpn = 224, 24;
        /// How long the subscriber takes to answer.
        resp_time_value: u8 = 251, 5;
        /// Kind of node; all ones: all.
        producer_type: u32 = 264, 24;
    }
}

impl InformInfo {
    /// notice_type and trap_number: all there are.
    pub const ALL: u16 = 0xFFFF;
    /// producer_type: all there are.
    pub const ALL_PRODUCERS: u32 = 0xFF_FFFF;
}

layout! {
    /// InformInfoRecord: a subscription as the subnet administrator keeps it.
    pub struct InformInfoRecord [60] {
        /// Who subscribed.
        subscriber_gid: Gid = 0, 128;
        /// Which of his subscriptions.
        number: u16 = 128, 16;
        /// The subscription.
        inform_info: InformInfo = 192, 288;
    }
}

attributes! {
    InformInfo = crate::mad::attribute::INFORM_INFO;
    InformInfoRecord = crate::mad::attribute::INFORM_INFO_RECORD;
}
