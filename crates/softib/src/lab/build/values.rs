//! What can be said of each value of a lab file by itself, or within its host.

use core::net::IpAddr;
use core::ops::Range;
use std::collections::BTreeMap;

use softib_subnet::spec::{InterfaceSpec, NodeId};
use softib_wire::addr::{Gid, PKey};
use softib_wire::units::Mtu;
use toml::Spanned;

use super::Result;
use crate::lab::error::Source;
use crate::lab::file::{Host, Interface, Scalar};
use crate::lab::place::{NAME_RULE, is_name};
use crate::lab::quantity::{self, BadQuantity};
use crate::lab::{LabError, MOST_HOST_PORTS};
use crate::text;

/// Addresses of an interface, each with its place in the file.
pub(super) type Addresses = Vec<((IpAddr, u8), Range<usize>)>;

impl Source<'_> {
    pub(super) fn quantity<T>(
        &self,
        scalar: &Spanned<Scalar>,
        key: &str,
        read: fn(&str) -> core::result::Result<T, BadQuantity>,
    ) -> Result<T> {
        read(&scalar.get_ref().0).map_err(|bad| self.bad(scalar.span(), key, &bad))
    }

    pub(super) fn optional<T>(
        &self,
        scalar: Option<&Spanned<Scalar>>,
        key: &str,
        read: fn(&str) -> core::result::Result<T, BadQuantity>,
    ) -> Result<Option<T>> {
        scalar
            .map(|scalar| self.quantity(scalar, key, read))
            .transpose()
    }

    fn bad(&self, span: Range<usize>, key: &str, bad: &BadQuantity) -> LabError {
        self.error(
            span,
            key,
            format!("{:?} is not {}", bad.value, bad.what),
            bad.help,
        )
    }

    /// A number from `least` to `most`.
    pub(super) fn within(
        &self,
        scalar: &Spanned<Scalar>,
        key: &str,
        what: &str,
        range: core::ops::RangeInclusive<u64>,
    ) -> Result<u64> {
        quantity::number(&scalar.get_ref().0)
            .filter(|n| range.contains(n))
            .ok_or_else(|| {
                self.error(
                    scalar.span(),
                    key,
                    format!("{:?} is not {what}", scalar.get_ref().0),
                    format!("write a number from {} to {}", range.start(), range.end()),
                )
            })
    }

    pub(super) fn port(&self, scalar: &Spanned<Scalar>, key: &str, most: u8) -> Result<u8> {
        let number = self.within(scalar, key, "a number of ports", 1..=u64::from(most))?;
        Ok(u8::try_from(number).unwrap_or(most))
    }

    pub(super) fn name(&self, name: &Spanned<String>, key: &str) -> Result<String> {
        if is_name(name.get_ref()) {
            Ok(name.get_ref().clone())
        } else {
            let problem = format!("{:?} can't be a name", name.get_ref());
            Err(self.error(name.span(), key, problem, NAME_RULE))
        }
    }

    pub(super) fn lab_name(&self, name: &Spanned<String>) -> Result<String> {
        // It becomes part of the path of a Unix socket, which must be short.
        const LONGEST: usize = 48;
        let text = self.name(name, "name")?;
        if text.len() > LONGEST {
            let problem = format!("{text:?} is too long for the name of a lab");
            let help = format!("use up to {LONGEST} characters");
            return Err(self.error(name.span(), "name", problem, help));
        }
        Ok(text)
    }

    pub(super) fn prefix(&self, text: &Spanned<String>) -> Result<u64> {
        let address = text
            .get_ref()
            .trim_end_matches("/64")
            .parse::<core::net::Ipv6Addr>()
            .ok();
        address
            .map(|address| Gid::new(address.octets()))
            .filter(|gid| gid.guid().bits() == 0 && gid.prefix() != 0 && !gid.is_multicast())
            .map(Gid::prefix)
            .ok_or_else(|| {
                self.error(
                    text.span(),
                    "prefix",
                    format!("{:?} is not a subnet prefix", text.get_ref()),
                    "write 64 bits as an IPv6 prefix, such as \"fe80::\" or \"fec0:0:0:1::\"",
                )
            })
    }

    pub(super) fn node(
        &self,
        names: &BTreeMap<String, NodeId>,
        name: &str,
        span: Range<usize>,
        key: &str,
    ) -> Result<NodeId> {
        names.get(name).copied().ok_or_else(|| {
            self.error(
                span,
                key,
                format!("the lab has no node {name:?}"),
                format!("it has {}", text::some_of(names.keys())),
            )
        })
    }

    /// Ports of a host: as many as it says, else as its own cables and interfaces need.
    pub(super) fn host_ports(&self, host: &Host) -> Result<u8> {
        if let Some(ports) = &host.ports {
            return self.port(ports, "host.ports", MOST_HOST_PORTS);
        }
        let cables = host.switch.0.len().min(usize::from(MOST_HOST_PORTS));
        let mut ports = u8::try_from(cables).unwrap_or(MOST_HOST_PORTS).max(1);
        for interface in host.interfaces.iter().flatten() {
            if let Some(port) = &interface.get_ref().port {
                ports = ports.max(self.port(port, "host.interface.port", MOST_HOST_PORTS)?);
            }
        }
        Ok(ports)
    }

    pub(super) fn interfaces(
        &self,
        host: &Host,
        ports: u8,
        mtu: Mtu,
    ) -> Result<(Vec<InterfaceSpec>, Vec<Addresses>)> {
        let Some(listed) = &host.interfaces else {
            let first = InterfaceSpec {
                name: "ib0".to_owned(),
                port: 1,
                pkey: None,
                mtu: None,
            };
            let list = host
                .addresses
                .as_ref()
                .map_or(&[][..], |list| list.get_ref());
            return Ok((vec![first], vec![self.addresses(list, "host.addresses")?]));
        };
        if let Some(addresses) = &host.addresses {
            return Err(self.error(
                addresses.span(),
                "host.addresses",
                "the host lists its interfaces, so it is not clear whose addresses these are",
                "move them into one of the [[host.interface]] tables",
            ));
        }
        let mut interfaces: Vec<InterfaceSpec> = Vec::new();
        let mut addresses = Vec::new();
        for (index, spanned) in listed.iter().enumerate() {
            let interface = self.interface(spanned.get_ref(), index, ports, mtu)?;
            if interfaces.iter().any(|other| other.name == interface.name) {
                return Err(self.error(
                    spanned
                        .get_ref()
                        .name
                        .as_ref()
                        .map_or_else(|| spanned.span(), Spanned::span),
                    "host.interface.name",
                    format!(
                        "another interface of the host is named {:?}",
                        interface.name
                    ),
                    "give each interface of a host a name of its own",
                ));
            }
            interfaces.push(interface);
            addresses
                .push(self.addresses(&spanned.get_ref().addresses, "host.interface.addresses")?);
        }
        Ok((interfaces, addresses))
    }

    fn interface(
        &self,
        interface: &Interface,
        index: usize,
        ports: u8,
        mtu: Mtu,
    ) -> Result<InterfaceSpec> {
        let name = match &interface.name {
            Some(name) => {
                let text = self.name(name, "host.interface.name")?;
                if text.len() > 15 {
                    return Err(self.error(
                        name.span(),
                        "host.interface.name",
                        format!("{text:?} is too long"),
                        "use up to 15 characters, as on Linux",
                    ));
                }
                text
            }
            None => format!("ib{index}"),
        };
        let port = match &interface.port {
            Some(port) => {
                let number = self.port(port, "host.interface.port", MOST_HOST_PORTS)?;
                if number > ports {
                    return Err(self.error(
                        port.span(),
                        "host.interface.port",
                        format!("the host has {}, not {number}", text::ports(ports)),
                        "name one of them, or set `ports` of the host",
                    ));
                }
                number
            }
            None => 1,
        };
        // RFC 4391 §4: the 4-octet IPoIB header counts towards the link's MTU.
        let most = mtu.octets() as u64 - 4;
        let mtu = interface.mtu.as_ref().map(|scalar| {
            self.within(
                scalar,
                "host.interface.mtu",
                "an MTU of an interface here",
                68..=most,
            )
        });
        Ok(InterfaceSpec {
            name,
            port,
            pkey: self.optional(
                interface.pkey.as_ref(),
                "host.interface.pkey",
                quantity::pkey,
            )?,
            mtu: mtu.transpose()?.and_then(|mtu| u32::try_from(mtu).ok()),
        })
    }

    fn addresses(&self, list: &[Spanned<String>], key: &str) -> Result<Addresses> {
        list.iter()
            .map(|text| {
                quantity::address(text.get_ref())
                    .map(|address| (address, text.span()))
                    .map_err(|bad| self.bad(text.span(), key, &bad))
            })
            .collect()
    }

    /// Notes whose the addresses are; in one partition an address belongs to one interface.
    pub(super) fn claim(
        &self,
        owners: &mut BTreeMap<(IpAddr, Option<PKey>), String>,
        host: &Host,
        interfaces: &[InterfaceSpec],
        addresses: &[Addresses],
    ) -> Result<()> {
        for (interface, addresses) in interfaces.iter().zip(addresses) {
            for ((address, _), span) in addresses {
                let owner = format!("{}:{}", host.name.get_ref(), interface.name);
                let key = (*address, interface.pkey.map(PKey::full));
                if let Some(other) = owners.insert(key, owner) {
                    return Err(self.error(
                        span.clone(),
                        if host.interfaces.is_some() {
                            "host.interface.addresses"
                        } else {
                            "host.addresses"
                        },
                        format!("{address} is the address of {other} already"),
                        "give each interface addresses of its own",
                    ));
                }
            }
        }
        Ok(())
    }
}
