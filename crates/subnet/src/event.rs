//! What happens in a subnet, as typed events: logs, tests and people's screens are made of them.

use core::net::IpAddr;

use softib_mgmt::sm::SmEvent;
use softib_wire::ipoib::HardwareAddress;
use softib_wire::units::PortState;

use crate::spec::{IfaceRef, NodeId, PortRef};

/// Something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A port changed its state.
    Port {
        /// The port.
        port: PortRef,
        /// Its state now.
        state: PortState,
    },
    /// An interface got or lost carrier.
    Carrier {
        /// The interface.
        interface: IfaceRef,
        /// Whether it has carrier now.
        up: bool,
    },
    /// An interface has another MTU.
    Mtu {
        /// The interface.
        interface: IfaceRef,
        /// Its MTU now, in octets.
        mtu: u32,
    },
    /// An interface has another hardware address.
    HardwareAddress {
        /// The interface.
        interface: IfaceRef,
        /// Its address now.
        address: HardwareAddress,
    },
    /// Somebody else has an address of an interface.
    DuplicateAddress {
        /// The interface.
        interface: IfaceRef,
        /// The address.
        ip: IpAddr,
        /// Who has it, if it said so.
        owner: Option<HardwareAddress>,
    },
    /// A completion queue of an adapter was full; what completed is lost.
    CompletionsLost {
        /// The node.
        node: NodeId,
    },
    /// The subnet manager has something to tell.
    Manager(Box<SmEvent>),
}

/// The same, before it is said at which node.
#[derive(Debug)]
pub(crate) enum NodeChange {
    Port {
        port: u8,
        state: PortState,
    },
    Carrier {
        interface: u16,
        up: bool,
    },
    Mtu {
        interface: u16,
        mtu: u32,
    },
    HardwareAddress {
        interface: u16,
        address: HardwareAddress,
    },
    DuplicateAddress {
        interface: u16,
        ip: IpAddr,
        owner: Option<HardwareAddress>,
    },
    CompletionsLost,
    Manager(Box<SmEvent>),
}

impl NodeChange {
    pub(crate) fn at(self, node: NodeId) -> Event {
        let interface = |index| IfaceRef { node, index };
        match self {
            Self::Port { port, state } => Event::Port {
                port: PortRef { node, port },
                state,
            },
            Self::Carrier {
                interface: index,
                up,
            } => Event::Carrier {
                interface: interface(index),
                up,
            },
            Self::Mtu {
                interface: index,
                mtu,
            } => Event::Mtu {
                interface: interface(index),
                mtu,
            },
            Self::HardwareAddress {
                interface: index,
                address,
            } => Event::HardwareAddress {
                interface: interface(index),
                address,
            },
            Self::DuplicateAddress {
                interface: index,
                ip,
                owner,
            } => Event::DuplicateAddress {
                interface: interface(index),
                ip,
                owner,
            },
            Self::CompletionsLost => Event::CompletionsLost { node },
            Self::Manager(event) => Event::Manager(event),
        }
    }
}
