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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_do() {
        assert!(JoinState::FULL.receives() && JoinState::FULL.sustains());
        assert!(JoinState::NON.receives() && !JoinState::NON.sustains());
        assert!(!JoinState::SEND_ONLY_NON.receives() && !JoinState::SEND_ONLY_NON.sustains());
        assert!(!JoinState::SEND_ONLY_FULL.receives() && JoinState::SEND_ONLY_FULL.sustains());
    }

    /// The broadcast group of IPoIB as the stock subnet manager makes it.
    #[test]
    fn the_broadcast_group() {
        let mgid = [
            0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
        ];
        let record = McMemberRecord {
            mgid: Gid::new(mgid),
            qkey: QKey::new(0x0b1b),
            mlid: Lid::new(0xC000),
            mtu_selector: Selector::Exactly,
            mtu: Some(Mtu::B2048),
            pkey: PKey::DEFAULT_FULL,
            rate_selector: Selector::Exactly,
            rate: Some(Rate::Gbps10),
            life_time_selector: Selector::Exactly,
            life_time: 18,
            scope: 2,
            join_state: JoinState::FULL,
            ..McMemberRecord::default()
        };
        let mut bytes = [0xa5; 52];
        record.emit(&mut bytes);
        assert_eq!(bytes[..16], mgid);
        assert_eq!(
            bytes[32..44],
            [0, 0, 0x0b, 0x1b, 0xC0, 0, 0x84, 0, 0xFF, 0xFF, 0x83, 0x92]
        );
        assert_eq!(bytes[44..], [0, 0, 0, 0, 0x21, 0, 0, 0]);
        assert_eq!(McMemberRecord::parse(&bytes), Ok(record));
    }
}
