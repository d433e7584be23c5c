//! Where a datagram is to go (IBA 11.2.2.1): what an address handle holds.

use softib_wire::addr::{Gid, Lid, Sl};
use softib_wire::grh::Grh;
use softib_wire::units::Rate;

use crate::port::Port;

/// An address vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressVector {
    /// Destination LID.
    pub dlid: Lid,
    /// Service level.
    pub sl: Sl,
    /// Which of the port's own LIDs is the source: added to the base LID, below 2^LMC.
    pub path_bits: u8,
    /// Static rate of the path. Links pace packets themselves here, so it is only kept.
    pub rate: Option<Rate>,
    /// Global route; multicast needs one.
    pub global: Option<GlobalRoute>,
}

/// What goes into the GRH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GlobalRoute {
    /// Destination GID.
    pub dgid: Gid,
    /// Which GID of the port is the source.
    pub sgid_index: u8,
    /// Flow label.
    pub flow_label: u32,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
}

impl GlobalRoute {
    /// The header, if the port has the source GID. Its length is filled in later.
    #[inline]
    pub(crate) fn header(&self, port: &Port) -> Option<Grh> {
        Some(Grh {
            ip_version: Grh::IP_VERSION,
            traffic_class: self.traffic_class,
            flow_label: self.flow_label,
            payload_length: 0,
            next_header: Grh::NEXT_HEADER_BTH,
            hop_limit: self.hop_limit,
            sgid: port.gid(self.sgid_index)?,
            dgid: self.dgid,
        })
    }
}
