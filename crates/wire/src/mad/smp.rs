//! Subnet management packets, LID-routed and directed-route (IBA 14.2.1).

use crate::ParseError;
use crate::addr::{Lid, MKey};
use crate::mad::attribute::Attribute;
use crate::mad::class;
use crate::mad::header::MadHeader;
use crate::mad::method;
use crate::mad::status::MadStatus;

layout! {
    /// A LID-routed SMP. Of a directed-route one it reads what both have, too.
    pub struct LidSmp [256] {
        /// The MAD header.
        header: MadHeader = 0, 192;
        /// Management key.
        m_key: MKey = 192, 64;
        /// The attribute.
        data: [u8; 64] = 512, 512;
    }
}

impl LidSmp {
    /// A request with nothing in the attribute: a Get.
    #[must_use]
    pub const fn request(
        method: u8,
        attribute_id: u16,
        modifier: u32,
        transaction_id: u64,
        m_key: MKey,
    ) -> Self {
        let header = MadHeader::request(
            class::SUBN_LID,
            method,
            attribute_id,
            modifier,
            transaction_id,
        );
        Self {
            header,
            m_key,
            data: [0; 64],
        }
    }

    /// The same MAD with an attribute in it.
    #[must_use]
    pub fn with<A: Attribute>(mut self, attribute: &A) -> Self {
        self.data = [0; 64];
        attribute.emit(&mut self.data);
        self
    }

    /// The answer, with what the request carried.
    #[must_use]
    pub const fn response_to(&self, status: MadStatus) -> Self {
        Self {
            header: self.header.response_to(status),
            ..*self
        }
    }

    /// The attribute that the MAD carries.
    ///
    /// # Errors
    /// A field holds an undefined value.
    pub fn attribute<A: Attribute>(&self) -> Result<A, ParseError> {
        A::parse(&self.data)
    }
}

layout! {
    /// A directed-route SMP.
    pub struct DirectedSmp [256] {
        /// 1.
        base_version: u8 = 0, 8;
        /// 0x81.
        class: u8 = 8, 8;
        /// 1.
        class_version: u8 = 16, 8;
        /// Method.
        method: u8 = 24, 8;
        /// Direction: false on the way out, true on the way back.
        returning: bool = 32, 1;
        /// Status.
        status: MadStatus = 33, 15;
        /// Where in the path the packet is.
        hop_pointer: u8 = 48, 8;
        /// Hops of the path.
        hop_count: u8 = 56, 8;
        /// Names the transaction.
        transaction_id: u64 = 64, 64;
        /// Attribute.
        attribute_id: u16 = 128, 16;
        /// Attribute modifier.
        attribute_modifier: u32 = 160, 32;
        /// Management key.
        m_key: MKey = 192, 64;
        /// LID-routed part before the directed one; permissive: none.
        dr_slid: Lid = 256, 16;
        /// LID-routed part behind the directed one; permissive: none.
        dr_dlid: Lid = 272, 16;
        /// The attribute.
        data: [u8; 64] = 512, 512;
        /// Ports to leave by; entry 0 is not used.
        initial_path: [u8; 64] = 1024, 512;
        /// Ports come in by.
        return_path: [u8; 64] = 1536, 512;
    }
}

impl DirectedSmp {
    /// A request with nothing in the attribute, directed all the way.
    #[must_use]
    pub const fn request(
        method: u8,
        attribute_id: u16,
        modifier: u32,
        transaction_id: u64,
        m_key: MKey,
        path: &HopPath,
    ) -> Self {
        Self {
            base_version: 1,
            class: class::SUBN_DIRECTED,
            class_version: 1,
            method,
            returning: false,
            status: MadStatus::OK,
            hop_pointer: 0,
            hop_count: path.count,
            transaction_id,
            attribute_id,
            attribute_modifier: modifier,
            m_key,
            dr_slid: Lid::PERMISSIVE,
            dr_dlid: Lid::PERMISSIVE,
            data: [0; 64],
            initial_path: path.ports,
            return_path: [0; 64],
        }
    }

    /// The same MAD with an attribute in it.
    #[must_use]
    pub fn with<A: Attribute>(mut self, attribute: &A) -> Self {
        self.data = [0; 64];
        attribute.emit(&mut self.data);
        self
    }

    /// The answer, with what the request carried, pointed back the way it came. DrSLID stays the
    /// requester's and the hop pointer is the SMI's to move (IBA 14.2.2.3, 14.2.2.4).
    #[must_use]
    pub const fn response_to(&self, status: MadStatus) -> Self {
        Self {
            method: method::response(self.method),
            returning: true,
            status,
            ..*self
        }
    }

    /// The attribute that the MAD carries.
    ///
    /// # Errors
    /// A field holds an undefined value.
    pub fn attribute<A: Attribute>(&self) -> Result<A, ParseError> {
        A::parse(&self.data)
    }
}

/// A directed route: the ports to leave by, one a hop, at most 63.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HopPath {
    /// As in the initial path of an SMP: entry 0 is not used.
    ports: [u8; 64],
    count: u8,
}

impl HopPath {
    /// To the node itself.
    pub const LOCAL: Self = Self {
        ports: [0; 64],
        count: 0,
    };
    /// Hops of the longest route.
    pub const MAX: usize = 63;

    /// A route by these ports, if it is not too long.
    #[must_use]
    pub fn new(ports: &[u8]) -> Option<Self> {
        ports
            .iter()
            .try_fold(Self::LOCAL, |path, &port| path.then(port))
    }

    /// This route and one hop more, if it is not too long.
    #[must_use]
    pub const fn then(mut self, port: u8) -> Option<Self> {
        if self.count as usize == Self::MAX {
            return None;
        }
        self.count += 1;
        self.ports[self.count as usize] = port;
        Some(self)
    }

    /// The route of an SMP, if its hop count is valid.
    #[must_use]
    pub fn of(smp: &DirectedSmp) -> Option<Self> {
        Self::new(smp.initial_path.get(1..=usize::from(smp.hop_count))?)
    }

    /// The ports, the first hop first.
    #[must_use]
    pub fn ports(&self) -> &[u8] {
        &self.ports[1..=usize::from(self.count)]
    }
}

impl core::fmt::Display for HopPath {
    /// As the stock tools write routes: `0,1,3`, the leading 0 being the node itself.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("0")?;
        self.ports()
            .iter()
            .try_for_each(|port| write!(f, ",{port}"))
    }
}

impl core::fmt::Debug for HopPath {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Guid;
    use crate::mad::attribute::SM_INFO;
    use crate::mad::sm_info::{SmInfo, SmState};
    use crate::mad::tests::{DR_SM_INFO_GET, DR_SM_INFO_RESP};

    #[test]
    fn a_captured_request() {
        let smp = DirectedSmp::parse(&DR_SM_INFO_GET).unwrap();
        let path = HopPath::new(&[2, 3]).unwrap();
        assert_eq!(HopPath::of(&smp), Some(path));
        assert_eq!(path.to_string(), "0,2,3");
        let mut built = DirectedSmp::request(
            method::GET,
            SM_INFO,
            0,
            0x0001_509c_0001_25c8,
            MKey::NONE,
            &path,
        );
        // It has made its first hop already.
        built.hop_pointer = 1;
        assert_eq!(built, smp);
    }

    #[test]
    fn its_captured_answer() {
        let request = DirectedSmp::parse(&DR_SM_INFO_GET).unwrap();
        let answer = DirectedSmp::parse(&DR_SM_INFO_RESP).unwrap();
        let info = SmInfo {
            guid: Guid::new(0x0002_c902_0020_b4dd),
            sm_key: 0,
            activity_count: 0x923a,
            priority: 0,
            state: SmState::Master,
        };
        assert_eq!(answer.attribute(), Ok(info));
        let mut built = request.response_to(MadStatus::OK).with(&info);
        built.hop_pointer = answer.hop_pointer;
        built.return_path = answer.return_path;
        assert_eq!(built, answer);
        assert_eq!(built.to_bytes(), DR_SM_INFO_RESP);
    }

    #[test]
    fn both_kinds_of_smp_have_their_attribute_in_one_place() {
        let lid_routed = LidSmp::parse(&DR_SM_INFO_RESP).unwrap();
        assert_eq!(
            lid_routed.attribute::<SmInfo>().unwrap().activity_count,
            0x923a
        );
        assert!(lid_routed.header.is_response() && lid_routed.header.status.is_ok());
    }

    #[test]
    fn a_path_has_63_hops_at_most() {
        assert_eq!(HopPath::new(&[1; 63]).unwrap().ports().len(), 63);
        assert_eq!(HopPath::new(&[1; 64]), None);
        assert_eq!(HopPath::LOCAL.ports(), []);
        let mut smp = DirectedSmp::parse(&DR_SM_INFO_GET).unwrap();
        smp.hop_count = 64;
        assert_eq!(HopPath::of(&smp), None);
        smp.hop_count = 255;
        assert_eq!(HopPath::of(&smp), None);
    }
}
