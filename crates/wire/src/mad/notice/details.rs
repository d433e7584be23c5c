//! What notices are about: the details of each trap (IBA 14.2.5.1, 15.3.8).

use crate::ParseError;
use crate::addr::{Gid, Guid, Lid, MKey, PKey, QKey, Qpn, Sl};
use crate::mad::notice::TrapNumber;
use crate::mad::port_info::{PortCapabilities, PortCapabilities2};

layout! {
    /// Traps 64 to 67: the port or the multicast group.
    pub struct GidDetails [54] {
        /// Which.
        gid: Gid = 48, 128;
    }
}

layout! {
    /// Trap 128: the switch of which a port changed.
    pub struct LinkStateDetails [54] {
        /// LID of the switch.
        lid: Lid = 0, 16;
    }
}

layout! {
    /// Traps 129 to 131: the port that has errors.
    pub struct PortDetails [54] {
        /// Its node.
        lid: Lid = 16, 16;
        /// Its number.
        port: u8 = 32, 8;
    }
}

layout! {
    /// Trap 144: what changed at a port.
    pub struct LocalChangesDetails [54] {
        /// LID of the port.
        lid: Lid = 16, 16;
        /// The flags say what changed; otherwise only the capability mask did.
        other_local_changes: bool = 47, 1;
        /// The capability mask as it is now.
        capability_mask: PortCapabilities = 48, 32;
        /// What changed.
        changes: LocalChanges = 80, 16;
        /// The second capability mask as it is now.
        capability_mask2: PortCapabilities2 = 96, 16;
    }
}

bitflags::bitflags! {
    /// What trap 144 can tell besides a change of the capability mask.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct LocalChanges: u16 {
        /// NodeDescription.
        const NODE_DESCRIPTION = 0x01;
        /// LinkWidthEnabled.
        const LINK_WIDTH_ENABLED = 0x02;
        /// LinkSpeedEnabled.
        const LINK_SPEED_ENABLED = 0x04;
        /// Priority of the subnet manager at the port.
        const SM_PRIORITY = 0x08;
        /// HierarchyInfo.
        const HIERARCHY_INFO = 0x10;
        /// The second capability mask.
        const CAPABILITY_MASK2 = 0x20;
        const _ = !0;
    }
}
newtype_field!(LocalChanges(u16));

layout! {
    /// Trap 145: a new system image GUID.
    pub struct SystemImageGuidDetails [54] {
        /// LID of the port.
        lid: Lid = 16, 16;
        /// The GUID as it is now.
        system_image_guid: Guid = 48, 64;
    }
}

layout! {
    /// Trap 256: the SMP that had a wrong M_Key.
    pub struct BadMKeyDetails [54] {
        /// LID that it came from.
        lid: Lid = 16, 16;
        /// Its DrSLID.
        dr_slid: Lid = 32, 16;
        /// Its method.
        method: u8 = 48, 8;
        /// Its attribute.
        attribute_id: u16 = 64, 16;
        /// Its attribute modifier.
        attribute_modifier: u32 = 80, 32;
        /// Its key.
        m_key: MKey = 112, 64;
        /// It was a directed-route SMP.
        directed: bool = 184, 1;
        /// The return path is longer than the room for it.
        path_truncated: bool = 185, 1;
        /// Entries of the return path.
        hop_count: u8 = 186, 6;
        /// The return path.
        return_path: [u8; 30] = 192, 240;
    }
}

layout! {
    /// Traps 257 and 258: the packet that had a wrong P_Key or Q_Key.
    pub struct BadKeyDetails [54] {
        /// Its SLID.
        lid1: Lid = 16, 16;
        /// Its DLID.
        lid2: Lid = 32, 16;
        /// Its Q_Key; of trap 257 its P_Key, in the low 16 bits.
        key: QKey = 48, 32;
        /// Its SL.
        sl: Sl = 80, 4;
        /// Its source QP.
        qp1: Qpn = 88, 24;
        /// Its destination QP.
        qp2: Qpn = 120, 24;
        /// Its SGID; zero: it had no GRH.
        gid1: Gid = 144, 128;
        /// Its DGID.
        gid2: Gid = 272, 128;
    }
}

layout! {
    /// Trap 259: the packet that had a wrong P_Key at a port of a switch.
    pub struct SwitchBadPKeyDetails [54] {
        /// Which of the fields below are known.
        data_valid: u16 = 0, 16;
        /// Its SLID.
        lid1: Lid = 16, 16;
        /// Its DLID.
        lid2: Lid = 32, 16;
        /// Its P_Key.
        pkey: PKey = 48, 16;
        /// Its SL.
        sl: Sl = 64, 4;
        /// Its source QP.
        qp1: Qpn = 72, 24;
        /// Its destination QP.
        qp2: Qpn = 104, 24;
        /// Its SGID.
        gid1: Gid = 128, 128;
        /// Its DGID.
        gid2: Gid = 256, 128;
        /// LID of the switch.
        switch_lid: Lid = 384, 16;
        /// The port of the switch.
        port: u8 = 400, 8;
    }
}

macro_rules! details {
    ($( $(#[$meta:meta])* $variant:ident($ty:ty) = $trap:ident; )*) => {
        /// What a notice is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Details {
            $( $(#[$meta])* $variant($ty), )*
            /// A trap whose details have no format here.
            Other(TrapNumber, [u8; 54]),
        }

        impl Details {
            /// The trap that carries these details.
            #[must_use]
            pub const fn trap_number(&self) -> TrapNumber {
                match self {
                    $( Self::$variant(_) => TrapNumber::$trap, )*
                    Self::Other(trap, _) => *trap,
                }
            }

            /// Reads the details of a trap.
            ///
            /// # Errors
            /// A field holds an undefined value.
            pub fn parse(trap: TrapNumber, bytes: &[u8; 54]) -> Result<Self, ParseError> {
                Ok(match trap {
                    $( TrapNumber::$trap => Self::$variant(<$ty>::parse(bytes)?), )*
                    other => Self::Other(other, *bytes),
                })
            }

            /// The details as their octets.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; 54] {
                match self {
                    $( Self::$variant(details) => details.to_bytes(), )*
                    Self::Other(_, bytes) => *bytes,
                }
            }
        }
    };
}

details! {
    /// A port is in service.
    GidInService(GidDetails) = GID_IN_SERVICE;
    /// A port is out of service.
    GidOutOfService(GidDetails) = GID_OUT_OF_SERVICE;
    /// A multicast group was created.
    GroupCreated(GidDetails) = GROUP_CREATED;
    /// A multicast group was deleted.
    GroupDeleted(GidDetails) = GROUP_DELETED;
    /// A port of a switch changed its state.
    LinkStateChange(LinkStateDetails) = LINK_STATE_CHANGE;
    /// Local link integrity threshold reached.
    LinkIntegrity(PortDetails) = LINK_INTEGRITY;
    /// Excessive buffer overrun threshold reached.
    BufferOverrun(PortDetails) = BUFFER_OVERRUN;
    /// Flow control update watchdog ran out.
    FlowControlWatchdog(PortDetails) = FLOW_CONTROL_WATCHDOG;
    /// Capabilities, description, speed, width or priority changed.
    LocalChanges(LocalChangesDetails) = LOCAL_CHANGES;
    /// The system image GUID changed.
    SystemImageGuidChange(SystemImageGuidDetails) = SYSTEM_IMAGE_GUID_CHANGE;
    /// An SMP with a wrong M_Key.
    BadMKey(BadMKeyDetails) = BAD_M_KEY;
    /// A packet with a wrong P_Key.
    BadPKey(BadKeyDetails) = BAD_P_KEY;
    /// A packet with a wrong Q_Key.
    BadQKey(BadKeyDetails) = BAD_Q_KEY;
    /// A packet with a wrong P_Key at a port of a switch.
    SwitchBadPKey(SwitchBadPKeyDetails) = SWITCH_BAD_P_KEY;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mad::notice::{Notice, NoticeType, ProducerType};

    /// The one trap that stock tools cannot read, and so cannot vouch for.
    #[test]
    fn a_bad_p_key_at_a_switch() {
        let details = SwitchBadPKeyDetails {
            data_valid: 0x00FF,
            lid1: Lid::new(0x0102),
            lid2: Lid::new(0x0304),
            pkey: PKey::new(0x7FFE),
            sl: Sl::from_bits_truncate(5),
            qp1: Qpn::from_bits_truncate(0x06_0708),
            qp2: Qpn::from_bits_truncate(0x09_0a0b),
            gid1: Gid::new([0x11; 16]),
            gid2: Gid::new([0x22; 16]),
            switch_lid: Lid::new(0x0c0d),
            port: 14,
        };
        let notice = Notice::new(
            &Details::SwitchBadPKey(details),
            ProducerType::SWITCH,
            Lid::new(9),
        );
        let mut bytes = [0xa5; 64];
        notice.emit(&mut bytes);
        assert_eq!(bytes[..10], [0x82, 0, 0, 2, 1, 3, 0, 9, 0, 0]);
        assert_eq!(bytes[10..18], [0, 0xFF, 1, 2, 3, 4, 0x7F, 0xFE]);
        assert_eq!(bytes[18..26], [0x50, 6, 7, 8, 0, 9, 0x0a, 0x0b]);
        assert_eq!(bytes[26..42], [0x11; 16]);
        assert_eq!(bytes[42..58], [0x22; 16]);
        assert_eq!(bytes[58..], [0x0c, 0x0d, 14, 0, 0, 0]);
        assert_eq!(notice.notice_type, NoticeType::SECURITY);
    }

    #[test]
    fn a_makers_notice_is_left_alone() {
        let mut notice = Notice::new(
            &Details::LinkStateChange(LinkStateDetails { lid: Lid::new(7) }),
            ProducerType::SWITCH,
            Lid::new(7),
        );
        notice.generic = false;
        let details = notice.details().unwrap();
        assert_eq!(
            details,
            Details::Other(TrapNumber::LINK_STATE_CHANGE, notice.data)
        );
    }

    #[test]
    fn a_person_can_read_a_trap() {
        assert_eq!(
            TrapNumber::LINK_STATE_CHANGE.to_string(),
            "link state change"
        );
        assert_eq!(TrapNumber::from_bits_truncate(999).to_string(), "code 999");
    }
}
