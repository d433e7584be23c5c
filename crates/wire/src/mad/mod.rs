//! Management datagrams: 256 octets, a header and an attribute (IBA 13 to 16).
//!
//! Whole datagrams are [`smp::LidSmp`], [`smp::DirectedSmp`], [`sa::SaMad`], [`perf::PerfMad`] and
//! [`cm::CmMad`]; what they carry are the types that implement [`Attribute`], and the messages of
//! [`cm`].

#[macro_use]
mod codes;
#[macro_use]
pub mod attribute;

pub mod class;
pub mod class_port_info;
pub mod cm;
pub mod description;
pub mod header;
pub mod method;
pub mod node;
pub mod notice;
pub mod perf;
pub mod port_info;
pub mod rmpp;
pub mod sa;
pub mod sm_info;
pub mod smp;
pub mod status;
pub mod tables;

#[cfg(test)]
mod tests;

pub use attribute::Attribute;

/// Octets of every MAD.
pub const MAD_LEN: usize = 256;
