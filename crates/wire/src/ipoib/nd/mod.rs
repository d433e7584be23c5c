//! Neighbour discovery for IPv6: solicitations and advertisements (RFC 4861, RFC 4391 §9.3).
//!
//! A link-layer address option holds two zero octets before the address:
//!
//! ```text
//!  0      1      2      4                        24
//! | type | 3    | 0    | hardware address 20     |
//! ```
//!
//! Some stacks put the two octets behind the address. That form is understood where it can be told
//! from the right one, and never sent.

use core::net::Ipv6Addr;

use thiserror::Error;

use crate::ipoib::HardwareAddress;
use crate::ipoib::checksum::Checksum;
use crate::ipoib::ip::{IpError, IpHeader, Ipv6Header, protocol, solicited_node};

/// ICMPv6 type of a router solicitation.
pub const ROUTER_SOLICITATION: u8 = 133;
/// ICMPv6 type of a router advertisement.
pub const ROUTER_ADVERTISEMENT: u8 = 134;
/// ICMPv6 type of a neighbour solicitation.
pub const NEIGHBOUR_SOLICITATION: u8 = 135;
/// ICMPv6 type of a neighbour advertisement.
pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

layout! {
    /// What both messages begin with (RFC 4861 §4.3, §4.4), their options following.
    pub struct Fixed [24] {
        /// [`NEIGHBOUR_SOLICITATION`] or [`NEIGHBOUR_ADVERTISEMENT`].
        kind: u8 = 0, 8;
        /// 0.
        code: u8 = 8, 8;
        /// Checksum of the message and a pseudo header.
        checksum: u16 = 16, 16;
        /// In an advertisement: R.
        router: bool = 32, 1;
        /// In an advertisement: S.
        solicited: bool = 33, 1;
        /// In an advertisement: O.
        overrides: bool = 34, 1;
        /// The address that it is about.
        target: Ipv6Addr = 64, 128;
    }
}

/// A neighbour discovery message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Message {
    /// Who has the target address?
    Solicitation {
        /// The address.
        target: Ipv6Addr,
        /// Hardware address of who asks; none while it makes sure that its address is its own.
        source: Option<HardwareAddress>,
    },
    /// Who has it.
    Advertisement {
        /// The address.
        target: Ipv6Addr,
        /// Hardware address of who has it.
        address: Option<HardwareAddress>,
        /// The sender is a router.
        router: bool,
        /// It answers a solicitation.
        solicited: bool,
        /// It replaces what the receiver knows.
        overrides: bool,
    },
}

/// A message and the addresses that it travels with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NeighbourPacket {
    /// IPv6 source.
    pub source: Ipv6Addr,
    /// IPv6 destination.
    pub destination: Ipv6Addr,
    /// The message.
    pub message: Message,
}

/// Why a packet is no neighbour discovery message that may be believed: RFC 4861 §7.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NdError {
    /// It is no IP packet.
    #[error(transparent)]
    NotIp(#[from] IpError),
    /// It is no solicitation or advertisement.
    #[error("the packet is no neighbour solicitation or advertisement")]
    Other,
    /// It has come through a router.
    #[error("hop limit is {hop_limit}, expected 255")]
    HopLimit {
        /// What it says.
        hop_limit: u8,
    },
    /// It is too short.
    #[error("the message needs 24 octets, only {have} are there")]
    Short {
        /// Octets that are there.
        have: usize,
    },
    /// ICMPv6 checksum.
    #[error("the ICMPv6 checksum is wrong")]
    Checksum,
    /// ICMPv6 code.
    #[error("ICMPv6 code is {code}, expected 0")]
    Code {
        /// What it says.
        code: u8,
    },
    /// The target is a multicast address.
    #[error("target {target} is a multicast address")]
    MulticastTarget {
        /// The target.
        target: Ipv6Addr,
    },
    /// An option of no length, or longer than the message.
    #[error("an option says it has {said} octets, {have} are there")]
    OptionLength {
        /// What it says.
        said: usize,
        /// Octets that are there.
        have: usize,
    },
    /// A link-layer address that is not of InfiniBand's length.
    #[error("a link-layer address option has {octets} octets, expected 24")]
    AddressLength {
        /// Its octets.
        octets: usize,
    },
    /// From the unspecified address only to the solicited-node address, and without a link-layer
    /// address.
    #[error(
        "a solicitation from :: must go to the solicited-node address, without a link-layer address"
    )]
    UnspecifiedSource,
    /// An answer goes to one receiver.
    #[error("an advertisement to a multicast address must not have the solicited flag")]
    SolicitedMulticast,
}

/// Octets of a link-layer address option.
const OPTION_LEN: usize = 24;
const SOURCE_OPTION: u8 = 1;
const TARGET_OPTION: u8 = 2;

impl NeighbourPacket {
    /// Octets of the longest packet that [`emit`](Self::emit) writes.
    pub const LEN_MAX: usize = Ipv6Header::LEN + Fixed::LEN + OPTION_LEN;

    /// Whether an IPv6 packet carries a neighbour solicitation or advertisement, right or wrong.
    #[must_use]
    pub fn is_one(ip: &[u8]) -> bool {
        // An extension header in between is not allowed for: RFC 6980 §5 forbids fragments, and
        // nobody sends others.
        ip.first().is_some_and(|first| first >> 4 == 6)
            && ip.get(6) == Some(&protocol::ICMPV6)
            && matches!(
                ip.get(Ipv6Header::LEN),
                Some(&(NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT))
            )
    }

    /// Reads a whole IPv6 packet, with all checks of RFC 4861 §7.1.
    ///
    /// # Errors
    /// It is no such message, or a check fails.
    pub fn parse(ip: &[u8]) -> Result<Self, NdError> {
        Self::parse_with(ip, true)
    }

    /// As [`parse`](Self::parse), for a packet of the own host, whose checksum is yet to be
    /// completed.
    ///
    /// # Errors
    /// It is no such message, or a check fails.
    pub fn parse_unsummed(ip: &[u8]) -> Result<Self, NdError> {
        Self::parse_with(ip, false)
    }

    fn parse_with(ip: &[u8], summed: bool) -> Result<Self, NdError> {
        let header = IpHeader::parse(ip)?;
        let len = header.total_len();
        let IpHeader::V6(Ipv6Header {
            source,
            destination,
            hop_limit,
            ..
        }) = header
        else {
            return Err(NdError::Other);
        };
        if !Self::is_one(&ip[..len]) {
            return Err(NdError::Other);
        }
        if hop_limit != 255 {
            return Err(NdError::HopLimit { hop_limit });
        }
        let body = &ip[Ipv6Header::LEN..len];
        let fixed = Fixed::parse(body).map_err(|_| NdError::Short { have: body.len() })?;
        let sum = Checksum::ipv6(source, destination, protocol::ICMPV6, body.len()).with(body);
        if summed && sum.finish() != 0 {
            return Err(NdError::Checksum);
        }
        if fixed.code != 0 {
            return Err(NdError::Code { code: fixed.code });
        }
        let target = fixed.target;
        if target.is_multicast() {
            return Err(NdError::MulticastTarget { target });
        }
        let options = &body[Fixed::LEN..];
        let message = if fixed.kind == NEIGHBOUR_SOLICITATION {
            let address = find_address(options, SOURCE_OPTION)?;
            // RFC 4861 §7.1.1.
            if source.is_unspecified()
                && (destination != solicited_node(target) || address.is_some())
            {
                return Err(NdError::UnspecifiedSource);
            }
            Message::Solicitation {
                target,
                source: address,
            }
        } else {
            // RFC 4861 §7.1.2.
            if destination.is_multicast() && fixed.solicited {
                return Err(NdError::SolicitedMulticast);
            }
            Message::Advertisement {
                target,
                address: find_address(options, TARGET_OPTION)?,
                router: fixed.router,
                solicited: fixed.solicited,
                overrides: fixed.overrides,
            }
        };
        Ok(Self {
            source,
            destination,
            message,
        })
    }

    /// Writes the packet, from the IPv6 header on, and returns its length.
    ///
    /// # Panics
    /// `out` is shorter than [`Self::LEN_MAX`].
    pub fn emit(&self, out: &mut [u8]) -> usize {
        let (fixed, option, address) = match self.message {
            Message::Solicitation { target, source } => {
                let kind = NEIGHBOUR_SOLICITATION;
                let fixed = Fixed {
                    kind,
                    code: 0,
                    checksum: 0,
                    router: false,
                    solicited: false,
                    overrides: false,
                    target,
                };
                (fixed, SOURCE_OPTION, source)
            }
            Message::Advertisement {
                target,
                address,
                router,
                solicited,
                overrides,
            } => {
                let kind = NEIGHBOUR_ADVERTISEMENT;
                (
                    Fixed {
                        kind,
                        code: 0,
                        checksum: 0,
                        router,
                        solicited,
                        overrides,
                        target,
                    },
                    TARGET_OPTION,
                    address,
                )
            }
        };
        let body_len = if address.is_some() {
            Fixed::LEN + OPTION_LEN
        } else {
            Fixed::LEN
        };
        let len = Ipv6Header::LEN + body_len;
        let out = &mut out[..len];
        Ipv6Header {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_length: if address.is_some() { 48 } else { 24 },
            next_header: protocol::ICMPV6,
            hop_limit: 255,
            source: self.source,
            destination: self.destination,
        }
        .emit(out);
        let body = &mut out[Ipv6Header::LEN..];
        fixed.emit(body);
        if let Some(address) = address {
            emit_address_option(option, &address, &mut body[Fixed::LEN..]);
        }
        let sum = Checksum::ipv6(self.source, self.destination, protocol::ICMPV6, body_len)
            .with(body)
            .finish();
        body[2..4].copy_from_slice(&sum.to_be_bytes());
        len
    }
}

fn emit_address_option(kind: u8, address: &HardwareAddress, out: &mut [u8]) {
    out[..4].copy_from_slice(&[kind, 3, 0, 0]);
    address.emit(&mut out[4..]);
}

/// The first link-layer address option of a kind, 1 (source) or 2 (target), in the options of any
/// neighbour discovery message.
///
/// # Errors
/// RFC 4861 §4.6: an option of length 0 makes the whole message invalid; so does one that does not
/// fit.
pub fn find_address(mut options: &[u8], wanted: u8) -> Result<Option<HardwareAddress>, NdError> {
    let mut found = None;
    while !options.is_empty() {
        let have = options.len();
        let said = options.get(1).map_or(0, |&units| usize::from(units) * 8);
        if said == 0 || have < said {
            return Err(NdError::OptionLength { said, have });
        }
        let (option, rest) = options.split_at(said);
        if option[0] == wanted && found.is_none() {
            let option = option
                .try_into()
                .map_err(|_| NdError::AddressLength { octets: said })?;
            found = Some(read_address(option));
        }
        options = rest;
    }
    Ok(found)
}

fn read_address(option: &[u8; OPTION_LEN]) -> HardwareAddress {
    // Both forms, apart from the type and length that they share.
    let [_, _, padded @ ..] = option;
    let [p0, p1, right @ ..] = padded;
    let [unfixed @ .., u0, u1] = padded;
    let padding_may_be_behind = [*u0, *u1] == [0, 0];
    let padding_is_before = [*p0, *p1] == [0, 0];
    // Where both ends are zero, only the GID's place tells them apart.
    let gid_is_early = unfixed[4..6] == [0xFE, 0x80] && right[4..6] != [0xFE, 0x80];
    if padding_may_be_behind && (!padding_is_before || gid_is_early) {
        HardwareAddress::from(*unfixed)
    } else {
        HardwareAddress::from(*right)
    }
}

#[cfg(test)]
mod tests;
