//! InfiniBand formats: every header, management datagram and attribute that softib reads or
//! writes, as plain values.
//!
//! This crate never allocates while parsing, never panics on received bytes, and knows no clock,
//! socket, thread or file. Every format is declared once, as a table of fields with their bit
//! offsets in the specification ([`layout`]), from which its `parse` and `emit` are made.
//!
//! Read first: [`layout`] (how a format is declared), [`addr`] (LID, GID, QPN, P_Key …) and
//! [`packet`] (a whole packet, from LRH to VCRC).
#![forbid(unsafe_code)]

#[macro_use]
pub mod layout;

pub mod addr;
pub mod bth;
pub mod crc;
pub mod error;
pub mod ext;
pub mod grh;
pub mod ipoib;
pub mod lrh;
pub mod mad;
pub mod opcode;
pub mod packet;
pub mod reasons;
pub mod time;
pub mod units;

pub use error::ParseError;
