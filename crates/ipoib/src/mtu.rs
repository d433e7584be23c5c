//! How long a packet may be.
//!
//! The group MTU (that of the broadcast group) is what the link carries. The administrator may ask
//! for less at any time, and for more up to what the port can do: that takes effect when the group
//! grows. An MTU equal to the group's is taken to mean "the group's", and follows it.

use softib_fabric::frame::Frame;
use softib_wire::ipoib::Encapsulation;
use softib_wire::units::Mtu;
use thiserror::Error;

use crate::counters::DropReason;

/// The smallest MTU that can be asked for: that of IPv4 and the encapsulation header, as Linux has it.
pub const MIN_MTU: u32 = 72;

/// An MTU that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("MTU {mtu} is out of range: {MIN_MTU} to {max} is possible in datagram mode")]
pub struct MtuError {
    /// What was asked for.
    pub mtu: u32,
    /// The largest that the port could carry.
    pub max: u32,
}

/// The MTUs of an interface.
#[derive(Debug)]
pub(crate) struct MtuState {
    /// The largest that the port can do, without the encapsulation header.
    max: u32,
    admin: Option<u32>,
    /// 2044 until a broadcast group says otherwise: what every IPoIB link has to carry
    /// (RFC 4391 §7).
    group: u32,
    /// A group has said so.
    is_granted: bool,
    announced: Option<u32>,
}

impl MtuState {
    pub(crate) fn new(port: Mtu, admin: Option<u32>) -> Result<Self, MtuError> {
        let max = ip_mtu(port);
        let group = ip_mtu(Mtu::B2048).min(max);
        let mut state = Self {
            max,
            admin: None,
            group,
            is_granted: false,
            announced: None,
        };
        state.set_admin(admin)?;
        Ok(state)
    }

    /// What the administrator wants. `None`: whatever the group has.
    pub(crate) fn set_admin(&mut self, admin: Option<u32>) -> Result<(), MtuError> {
        if let Some(mtu) = admin
            && !(MIN_MTU..=self.max).contains(&mtu)
        {
            return Err(MtuError { mtu, max: self.max });
        }
        self.admin = admin;
        Ok(())
    }

    /// The broadcast group has this MTU.
    pub(crate) fn set_group(&mut self, group: Mtu) {
        let old = self.group;
        self.group = ip_mtu(group).min(self.max);
        if self.is_granted && self.admin == Some(old) {
            self.admin = None;
        }
        self.is_granted = true;
    }

    pub(crate) const fn group(&self) -> u32 {
        self.group
    }

    /// What the interface's MTU is.
    pub(crate) fn effective(&self) -> u32 {
        self.admin.map_or(self.group, |admin| admin.min(self.group))
    }

    /// The MTU to tell the host, if it does not know it yet.
    pub(crate) fn take_news(&mut self) -> Option<u32> {
        let mtu = self.effective();
        (self.announced != Some(mtu)).then(|| {
            self.announced = Some(mtu);
            mtu
        })
    }

    /// Whether the link carries the packet, or every segment of it.
    #[inline]
    pub(crate) fn check(&self, frame: &Frame) -> Result<(), DropReason> {
        let longest = frame.largest_payload(0);
        if let Some(gso) = frame.offload().and_then(|offload| offload.gso)
            && (gso.size == 0 || usize::from(gso.header_len) >= frame.len())
        {
            return Err(DropReason::BadSegmentation);
        }
        if longest > self.group as usize {
            Err(DropReason::TooLong)
        } else {
            Ok(())
        }
    }
}

/// What IP has of an InfiniBand MTU.
#[expect(clippy::cast_possible_truncation, reason = "an MTU is at most 4096")]
const fn ip_mtu(mtu: Mtu) -> u32 {
    (mtu.octets() - Encapsulation::LEN) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_group_unless_told_otherwise() {
        let mut mtu = MtuState::new(Mtu::B4096, None).unwrap();
        assert_eq!(mtu.effective(), 2044);
        mtu.set_group(Mtu::B4096);
        assert_eq!(mtu.effective(), 4092);
        mtu.set_admin(Some(1500)).unwrap();
        mtu.set_group(Mtu::B2048);
        assert_eq!(mtu.effective(), 1500);
        // Larger than the group's: accepted, and in force once the group has grown.
        mtu.set_admin(Some(3000)).unwrap();
        assert_eq!(mtu.effective(), 2044);
        mtu.set_group(Mtu::B4096);
        assert_eq!(mtu.effective(), 3000);
        // Equal to the group's: follows it.
        mtu.set_admin(Some(4092)).unwrap();
        mtu.set_group(Mtu::B2048);
        mtu.set_group(Mtu::B4096);
        assert_eq!(mtu.effective(), 4092);
    }

    #[test]
    fn every_mtu_code() {
        let of = |code| {
            let mut mtu = MtuState::new(Mtu::B4096, None).unwrap();
            mtu.set_group(code);
            mtu.effective()
        };
        let codes = [Mtu::B256, Mtu::B512, Mtu::B1024, Mtu::B2048, Mtu::B4096];
        assert_eq!(codes.map(of), [252, 508, 1020, 2044, 4092]);
    }

    #[test]
    fn refuses_what_no_port_can_do() {
        let mut mtu = MtuState::new(Mtu::B2048, None).unwrap();
        assert_eq!(
            mtu.set_admin(Some(71)),
            Err(MtuError { mtu: 71, max: 2044 })
        );
        assert_eq!(
            mtu.set_admin(Some(2045)),
            Err(MtuError {
                mtu: 2045,
                max: 2044
            })
        );
        assert_eq!(mtu.set_admin(Some(72)), Ok(()));
        let text = mtu.set_admin(Some(9000)).unwrap_err().to_string();
        assert_eq!(
            text,
            "MTU 9000 is out of range: 72 to 2044 is possible in datagram mode"
        );
    }
}
