//! MCMemberRecord: a multicast group and a member of it (IBA 15.2.5.17).

use crate::addr::{Gid, Lid, PKey, QKey, Sl};
use crate::units::{Mtu, Rate, Selector};

layout! {
    /// MCMemberRecord (IBA 15.2.5.17).
    pub struct McMemberRecord [52] {
        /// Group.
        mgid: Gid = 0, 128;
        /// Member.
        port_gid: Gid = 128, 128;
        /// Q_Key of the group.
        qkey: QKey = 256, 32;
        /// Multicast LID.
        mlid: Lid = 288, 16;
        /// How mtu is meant.
        mtu_selector: Selector = 304, 2;
        /// MTU of the group.
        mtu: Option<Mtu> = 306, 6;
        /// Traffic class.
        traffic_class: u8 = 312, 8;
        /// Partition.
        pkey: PKey = 320, 16;
        /// How rate is meant.
        rate_selector: Selector = 336, 2;
        /// Rate of the group.
        rate: Option<Rate> = 338, 6;
        /// How life_time is meant.
        life_time_selector: Selector = 344, 2;
        /// Packet life time.
        life_time: u8 = 346, 6;
        /// Service level.
        sl: Sl = 352, 4;
        /// Flow label.
        flow_label: u32 = 356, 20;
        /// Hop limit.
        hop_limit: u8 = 376, 8;
        /// Scope of the MGID.
        scope: u8 = 384, 4;
        /// How the port is a member.
        join_state: JoinState = 388, 4;
        /// Joined for another port.
        proxy_join: bool = 392, 1;
    }
}

bitflags::bitflags! {
    /// MCMemberRecord.JoinState.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct JoinState: u8 {
        /// Sends and receives; keeps the group alive.
        const FULL = 1;
        /// Sends and receives; does not keep the group alive.
        const NON = 2;
        /// Only sends; does not keep the group alive.
        const SEND_ONLY_NON = 4;
        /// Only sends; keeps the group alive, can create it.
        const SEND_ONLY_FULL = 8;
    }
}
newtype_field!(JoinState(u8));

attributes! { McMemberRecord = crate::mad::attribute::MC_MEMBER_RECORD; }

impl JoinState {
    /// Whether the port receives the group's packets.
    #[must_use]
    pub const fn receives(self) -> bool {
        self.intersects(Self::FULL.union(Self::NON))
    }

    /// Whether the membership keeps the group alive, and may create it.
    #[must_use]
    pub const fn sustains(self) -> bool {
        self.intersects(Self::FULL.union(Self::SEND_ONLY_FULL))
    }
}

/// Nothing asked, nothing known: what a join fills in.
impl Default for McMemberRecord {
    fn default() -> Self {
        Self {
            mgid: Gid::NONE,
            port_gid: Gid::NONE,
            qkey: QKey::default(),
            mlid: Lid::NONE,
            mtu_selector: Selector::Greater,
            mtu: None,
            traffic_class: 0,
            pkey: PKey::default(),
            rate_selector: Selector::Greater,
            rate: None,
            life_time_selector: Selector::Greater,
            life_time: 0,
            sl: Sl::default(),
            flow_label: 0,
            hop_limit: 0,
            scope: 0,
            join_state: JoinState::empty(),
            proxy_join: false,
        }
    }
}
