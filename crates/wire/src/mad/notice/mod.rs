//! Notices and their traps (IBA 13.4.8, 14.2.5.1).

pub mod details;

use crate::ParseError;
use crate::addr::{Gid, Lid};
use crate::units::NodeType;

pub use details::Details;

layout! {
    /// Notice: what a trap carries.
    pub struct Notice [64] {
        /// A generic notice, not a maker's.
        generic: bool = 0, 1;
        /// How serious it is.
        notice_type: NoticeType = 1, 7;
        /// What kind of node sent it; of a maker's notice his OUI.
        producer_type: ProducerType = 8, 24;
        /// The trap; of a maker's notice his device number.
        trap_number: TrapNumber = 32, 16;
        /// Who sent it.
        issuer_lid: Lid = 48, 16;
        /// For notices that are kept.
        toggle: bool = 64, 1;
        /// For notices that are kept.
        count: u16 = 65, 15;
        /// What it is about, by trap number: see [`Notice::details`].
        data: [u8; 54] = 80, 432;
    }
}

impl Notice {
    /// A generic notice, of the type that the specification gives to its trap.
    #[must_use]
    pub fn new(details: &Details, producer_type: ProducerType, issuer_lid: Lid) -> Self {
        let trap_number = details.trap_number();
        Self {
            generic: true,
            notice_type: trap_number.notice_type(),
            producer_type,
            trap_number,
            issuer_lid,
            toggle: false,
            count: 0,
            data: details.to_bytes(),
        }
    }

    /// What the notice is about.
    ///
    /// # Errors
    /// A field of the details holds an undefined value.
    pub fn details(&self) -> Result<Details, ParseError> {
        if self.generic {
            Details::parse(self.trap_number, &self.data)
        } else {
            Ok(Details::Other(self.trap_number, self.data))
        }
    }
}

layout! {
    /// A notice as the subnet administrator reports it to subscribers.
    pub struct ReportedNotice [80] {
        /// The notice.
        notice: Notice = 0, 512;
        /// GID of the port that sent it.
        issuer_gid: Gid = 512, 128;
    }
}

attributes! {
    Notice = super::attribute::NOTICE;
    ReportedNotice = super::attribute::NOTICE;
}

open_codes! {
    /// How serious a notice is.
    pub struct NoticeType(u8) {
        /// Fatal.
        FATAL = 0, "fatal";
        /// Urgent.
        URGENT = 1, "urgent";
        /// Security.
        SECURITY = 2, "security";
        /// Subnet management.
        SUBNET_MANAGEMENT = 3, "subnet management";
        /// Informational.
        INFORMATIONAL = 4, "informational";
        /// No notice: what a Get(Notice) returns when none is kept.
        EMPTY = 0x7F, "empty";
    }
}

open_codes! {
    /// What kind of node sent a notice.
    pub struct ProducerType(u32) {
        /// Channel adapter.
        CHANNEL_ADAPTER = 1, "channel adapter";
        /// Switch.
        SWITCH = 2, "switch";
        /// Router.
        ROUTER = 3, "router";
        /// Class manager: the subnet manager.
        CLASS_MANAGER = 4, "class manager";
    }
}

impl From<NodeType> for ProducerType {
    fn from(node_type: NodeType) -> Self {
        Self::from_bits_truncate(u32::from(node_type.code()))
    }
}

open_codes! {
    /// What happened.
    pub struct TrapNumber(u16) {
        /// A port is in service.
        GID_IN_SERVICE = 64, "GID in service";
        /// A port is out of service.
        GID_OUT_OF_SERVICE = 65, "GID out of service";
        /// A multicast group was created.
        GROUP_CREATED = 66, "multicast group created";
        /// A multicast group was deleted.
        GROUP_DELETED = 67, "multicast group deleted";
        /// Paths are no longer valid.
        UNPATH = 68, "paths no longer valid";
        /// Paths have changed.
        REPATH = 69, "paths changed";
        /// A port of a switch changed its state.
        LINK_STATE_CHANGE = 128, "link state change";
        /// Local link integrity threshold reached.
        LINK_INTEGRITY = 129, "local link integrity";
        /// Excessive buffer overrun threshold reached.
        BUFFER_OVERRUN = 130, "excessive buffer overrun";
        /// Flow control update watchdog ran out.
        FLOW_CONTROL_WATCHDOG = 131, "flow control update watchdog";
        /// Capabilities, description, speed, width or priority changed.
        LOCAL_CHANGES = 144, "local changes";
        /// The system image GUID changed.
        SYSTEM_IMAGE_GUID_CHANGE = 145, "system image GUID change";
        /// An SMP with a wrong M_Key.
        BAD_M_KEY = 256, "bad M_Key";
        /// A packet with a wrong P_Key.
        BAD_P_KEY = 257, "bad P_Key";
        /// A packet with a wrong Q_Key.
        BAD_Q_KEY = 258, "bad Q_Key";
        /// A packet with a wrong P_Key at a port of a switch.
        SWITCH_BAD_P_KEY = 259, "bad P_Key at a switch";
    }
}

impl TrapNumber {
    /// The type that the specification gives to the trap (IBA 14.2.5.1).
    #[must_use]
    pub const fn notice_type(self) -> NoticeType {
        match self {
            Self::GID_IN_SERVICE
            | Self::GID_OUT_OF_SERVICE
            | Self::GROUP_CREATED
            | Self::GROUP_DELETED
            | Self::UNPATH
            | Self::REPATH => NoticeType::SUBNET_MANAGEMENT,
            Self::LINK_STATE_CHANGE
            | Self::LINK_INTEGRITY
            | Self::BUFFER_OVERRUN
            | Self::FLOW_CONTROL_WATCHDOG => NoticeType::URGENT,
            Self::BAD_M_KEY | Self::BAD_P_KEY | Self::BAD_Q_KEY | Self::SWITCH_BAD_P_KEY => {
                NoticeType::SECURITY
            }
            _ => NoticeType::INFORMATIONAL,
        }
    }
}
