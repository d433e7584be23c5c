//! SMInfo: how subnet managers know each other (IBA 14.2.5.13).

use crate::addr::Guid;

codes! {
    /// State of a subnet manager.
    pub enum SmState: u8, "a subnet manager state from 0 to 3" {
        /// Told to stay quiet.
        NotActive = 0,
        /// Finding out what the subnet is.
        Discovering = 1,
        /// Watching the master.
        Standby = 2,
        /// In charge.
        Master = 3,
    }
}

layout! {
    /// SMInfo.
    pub struct SmInfo [21] {
        /// Port GUID of the manager.
        guid: Guid = 0, 64;
        /// Its SM_Key.
        sm_key: u64 = 64, 64;
        /// Grows while the manager is alive.
        activity_count: u32 = 128, 32;
        /// 0 to 15, the highest wins.
        priority: u8 = 160, 4;
        /// Its state.
        state: SmState = 164, 4;
    }
}

attributes! { SmInfo = super::attribute::SM_INFO; }

/// What a Set(SMInfo) asks for, in its attribute modifier (IBA 14.4.1).
pub mod control {
    /// To the winner: be master, I hand over.
    pub const HANDOVER: u32 = 1;
    /// To the former master: I have taken over.
    pub const ACKNOWLEDGE: u32 = 2;
    /// To a standby: stay quiet.
    pub const DISABLE: u32 = 3;
    /// To a quiet one: be standby.
    pub const STANDBY: u32 = 4;
    /// To a standby: discover the subnet again.
    pub const DISCOVER: u32 = 5;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mad::tests::DR_SM_INFO_RESP;

    #[test]
    fn a_captured_manager() {
        let bytes = &DR_SM_INFO_RESP[64..];
        let info = SmInfo::parse(bytes).unwrap();
        assert_eq!(info.guid, Guid::new(0x0002_c902_0020_b4dd));
        assert_eq!((info.priority, info.state), (0, SmState::Master));
        let mut out = [0xa5; 64];
        info.emit(&mut out);
        assert_eq!(out[..21], bytes[..21]);
    }
}
