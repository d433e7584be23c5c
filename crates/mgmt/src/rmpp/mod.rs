//! The reliable multi-packet protocol: messages longer than one MAD (IBA 13.6).
//!
//! A message is cut into segments, each a MAD with the message's MAD header and class header in
//! front. The receiver says with each ACK up to which segment it has all, and up to which it has
//! room: the window. What is not acknowledged in time is sent again. Either end can end the
//! transfer: for want of room with a STOP, because of an error with an ABORT that names it.
//!
//! [`Sender`] and [`Receiver`] are one transfer each; [`Senders`] keeps many, to many peers.

mod receiver;
mod sender;
mod senders;
#[cfg(test)]
mod tests;

use softib_wire::ParseError;
use softib_wire::mad::MAD_LEN;
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::method;
use softib_wire::mad::rmpp::{RmppFlags, RmppHeader, RmppStatus, RmppType};
use softib_wire::mad::status::MadStatus;
use thiserror::Error;

use crate::mad::Mad;

pub use receiver::{Limits, Message, Receiver};
pub use sender::{Pace, Sender};
pub use senders::{Finished, Senders, TooManyTransfers};

/// Octets of a segment behind the RMPP header: class header and data.
pub const SEGMENT_LEN: usize = MAD_LEN - MadHeader::LEN - RmppHeader::LEN;
/// Octets of the class header of subnet administration, which every segment repeats.
pub const SA_CLASS_HEADER_LEN: usize = 20;

/// Why a transfer failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RmppError {
    /// The other end has no room.
    #[error("the other end stopped the transfer: {0}")]
    Stopped(RmppStatus),
    /// The other end found an error.
    #[error("the other end aborted the transfer: {0}")]
    Aborted(RmppStatus),
    /// This end has no room for the message.
    #[error("the message is longer than {limit} octets")]
    TooLong {
        /// The longest message that is taken.
        limit: usize,
    },
    /// This end found an error in what the other one sent.
    #[error("the other end broke the protocol: {0}")]
    Protocol(RmppStatus),
    /// The other end went silent.
    #[error("the other end went silent: {0}")]
    Silent(RmppStatus),
}

/// The RMPP header of a MAD of a class that has one.
///
/// # Errors
/// Never for a whole MAD; the formats read any bits.
pub fn header(mad: &Mad) -> Result<RmppHeader, ParseError> {
    RmppHeader::parse(&mad[MadHeader::LEN..])
}

/// Whether this MAD is about a transfer that its receiver *sends*: ACK, STOP or ABORT.
#[must_use]
pub fn is_control(mad: &Mad) -> bool {
    header(mad).is_ok_and(|header| header.is_active() && header.rmpp_type != RmppType::DATA)
}

/// Where the RMPP header is in a MAD.
const RMPP: usize = MadHeader::LEN;
/// Where the class header is, or the data if there is none.
const BODY: usize = MadHeader::LEN + RmppHeader::LEN;

/// Writes the RMPP header of a MAD.
fn set_header(mad: &mut Mad, header: &RmppHeader) {
    header.emit(&mut mad[RMPP..BODY]);
}

/// A MAD to the other end of the transfer that `theirs` (one of its MADs) belongs to.
fn control(
    theirs: &Mad,
    kind: RmppType,
    status: RmppStatus,
    segment: u32,
    window_last: u32,
) -> Mad {
    let mut mad = [0; MAD_LEN];
    mad[..BODY + SA_CLASS_HEADER_LEN].copy_from_slice(&theirs[..BODY + SA_CLASS_HEADER_LEN]);
    reverse(&mut mad);
    set_header(
        &mut mad,
        &RmppHeader {
            version: RmppHeader::VERSION,
            rmpp_type: kind,
            resp_time: RmppHeader::NO_RESP_TIME,
            flags: RmppFlags::ACTIVE,
            status,
            data1: segment,
            data2: window_last,
        },
    );
    mad
}

/// Turns a MAD header into one that goes the other way: IBA 13.6.2: the response bit tells the two
/// ends of a transaction apart.
fn reverse(mad: &mut Mad) {
    mad[3] ^= method::RESPONSE;
    // The status is one of a MAD that answers; of control packets it has no meaning.
    mad[4..6].copy_from_slice(&MadStatus::OK.bits().to_be_bytes());
}
