//! Places of a lab as people write them: a port, `s1[3]`, and an interface, `h1:ib0`.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// `NAME` or `NAME[PORT]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PortPlace {
    /// Host or switch.
    pub node: String,
    /// Port; none when the name alone says enough.
    pub port: Option<u8>,
}

/// `HOST` or `HOST:INTERFACE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfacePlace {
    /// Host.
    pub host: String,
    /// Interface; none: the host's first.
    pub interface: Option<String>,
}

/// Something that names no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadPlace {
    /// Not `NAME` or `NAME[PORT]`.
    #[error("{0:?} names no port; write a node, such as h1, or a node and a port, such as s1[3]")]
    Port(String),
    /// Not `HOST` or `HOST:INTERFACE`.
    #[error("{0:?} names no interface; write a host, such as h1, or h1:ib0")]
    Interface(String),
}

/// Whether `name` can be a node's or a lab's: what a host name and a folder can be.
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// How names are written, for errors.
pub const NAME_RULE: &str =
    "use up to 63 letters, digits, '-', '_' and '.', the first a letter or a digit";

impl FromStr for PortPlace {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let bad = || BadPlace::Port(text.to_owned());
        let (node, port) = match text.split_once('[') {
            Some((node, rest)) => {
                let number = rest.strip_suffix(']').ok_or_else(bad)?;
                (node, Some(number.trim().parse().map_err(|_| bad())?))
            }
            None => (text, None),
        };
        let node = node.trim();
        if is_name(node) {
            Ok(Self {
                node: node.to_owned(),
                port,
            })
        } else {
            Err(bad())
        }
    }
}

impl TryFrom<String> for PortPlace {
    type Error = BadPlace;

    fn try_from(text: String) -> Result<Self, BadPlace> {
        text.parse()
    }
}

impl From<PortPlace> for String {
    fn from(place: PortPlace) -> Self {
        place.to_string()
    }
}

impl fmt::Display for PortPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.node)?;
        self.port.map_or(Ok(()), |port| write!(f, "[{port}]"))
    }
}

impl FromStr for InterfacePlace {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let (host, interface) = match text.split_once([':', '/']) {
            Some((host, interface)) => (host, Some(interface)),
            None => (text, None),
        };
        if !is_name(host) || interface.is_some_and(|name| !is_name(name)) {
            return Err(BadPlace::Interface(text.to_owned()));
        }
        Ok(Self {
            host: host.to_owned(),
            interface: interface.map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        let place = |node: &str, port| PortPlace {
            node: node.to_owned(),
            port,
        };
        assert_eq!("h1".parse(), Ok(place("h1", None)));
        assert_eq!("s1[3]".parse(), Ok(place("s1", Some(3))));
        for text in [
            "", "[1]", "s1[", "s1[]", "s1[x]", "s1[256]", "s1[1]x", "a b", "-h",
        ] {
            assert!(text.parse::<PortPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn interfaces() {
        let place: InterfacePlace = "h1:ib0".parse().unwrap();
        assert_eq!(
            (place.host.as_str(), place.interface.as_deref()),
            ("h1", Some("ib0"))
        );
        for text in ["", ":ib0", "h1:", "h1:ib 0"] {
            assert!(text.parse::<InterfacePlace>().is_err(), "{text}");
        }
    }
}
