//! Communication management: how queue pairs of two ports find each other (IBA 12.6).
//!
//! A message is what a MAD carries behind its header. [`CmMessage`] is any of them;
//! [`CmMad::new`] wraps it, [`CmMad::message`] takes it out.

pub mod connect;
pub mod disconnect;
pub mod migrate;
pub mod reject;
pub mod sidr;

use crate::ParseError;
use crate::mad::class;
use crate::mad::header::MadHeader;
use crate::mad::method;

pub use connect::{Mra, PathInfo, Rep, Req, Rtu, TransportService};
pub use disconnect::{Drep, Dreq};
pub use migrate::{Apr, AprStatus, Lap};
pub use reject::{Rej, RejectReason};
pub use sidr::{SidrRep, SidrReq, SidrStatus};

layout! {
    /// A communication management MAD.
    pub struct CmMad [256] {
        /// MAD header. The attribute ID is the kind of message.
        header: MadHeader = 0, 192;
        /// The message.
        data: [u8; 232] = 192, 1856;
    }
}

impl CmMad {
    /// The MAD of a message. All are Sends (IBA 16.7.1): an answer is a Send of its own, with the
    /// transaction ID of what it answers.
    #[must_use]
    pub fn new(transaction_id: u64, message: &CmMessage) -> Self {
        let id = message.attribute_id();
        Self {
            header: MadHeader::request(class::COM_MGT, method::SEND, id, 0, transaction_id),
            data: message.to_bytes(),
        }
    }

    /// The message that the MAD carries; `None`: the attribute is none of them.
    ///
    /// # Errors
    /// A field holds an undefined value.
    pub fn message(&self) -> Result<Option<CmMessage>, ParseError> {
        CmMessage::parse(self.header.attribute_id, &self.data)
    }
}

codes! {
    /// Which message a MRA or a REJ answers.
    pub enum Answered: u8, "a message code from 0 to 2" {
        /// The REQ.
        Req = 0,
        /// The REP.
        Rep = 1,
        /// MRA: the LAP. REJ: no message, but a time-out of one.
        Other = 2,
    }
}

macro_rules! messages {
    ($( $(#[$meta:meta])* $name:ident = $id:literal; )*) => {
        /// Any message.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::large_enum_variant, reason = "all fill the same MAD")]
        pub enum CmMessage {
            $( $(#[$meta])* $name($name), )*
        }

        impl CmMessage {
            /// The attribute ID that the message travels under.
            #[must_use]
            pub const fn attribute_id(&self) -> u16 {
                match self {
                    $( Self::$name(_) => $id, )*
                }
            }

            /// Reads the message of an attribute ID; `None`: there is none.
            ///
            /// # Errors
            /// A field holds an undefined value.
            pub fn parse(attribute_id: u16, bytes: &[u8; 232]) -> Result<Option<Self>, ParseError> {
                Ok(Some(match attribute_id {
                    $( $id => Self::$name($name::parse(bytes)?), )*
                    _ => return Ok(None),
                }))
            }

            /// The message as its octets.
            #[must_use]
            pub fn to_bytes(&self) -> [u8; 232] {
                match self {
                    $( Self::$name(message) => message.to_bytes(), )*
                }
            }
        }

        $(
            impl $name {
                /// The attribute ID that the message travels under.
                pub const ATTRIBUTE_ID: u16 = $id;
            }

            impl From<$name> for CmMessage {
                fn from(message: $name) -> Self {
                    Self::$name(message)
                }
            }
        )*
    };
}

messages! {
    /// Request for communication.
    Req = 0x0010;
    /// Message receipt acknowledgement.
    Mra = 0x0011;
    /// Reject.
    Rej = 0x0012;
    /// Reply to a request.
    Rep = 0x0013;
    /// Ready to use.
    Rtu = 0x0014;
    /// Request to disconnect.
    Dreq = 0x0015;
    /// Reply to a disconnect.
    Drep = 0x0016;
    /// Service ID resolution request.
    SidrReq = 0x0017;
    /// Service ID resolution response.
    SidrRep = 0x0018;
    /// Load alternate path.
    Lap = 0x0019;
    /// Alternate path response.
    Apr = 0x001A;
}

#[cfg(test)]
mod tests;
