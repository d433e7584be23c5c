//! Quantities as people write them: `1%`, `2ms`, `10G`, `0x8001`. The same in lab files and on the
//! command line.

use core::net::IpAddr;
use core::time::Duration;

use softib_wire::addr::{Guid, PKey};
use softib_wire::units::Mtu;
use thiserror::Error;

/// A value that is not what its place asks for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{value:?} is not {what}; {help}")]
pub struct BadQuantity {
    /// What was written.
    pub value: String,
    /// What it should have been: `a loss`.
    pub what: &'static str,
    /// How that is written.
    pub help: &'static str,
}

type Result<T> = core::result::Result<T, BadQuantity>;

/// A part of the packets: `1%`, `0.5%`, `0%`.
///
/// # Errors
/// It is no percentage from 0 to 100.
pub fn loss(text: &str) -> Result<f64> {
    text.strip_suffix('%')
        .and_then(|number| decimal(number.trim_end()))
        .filter(|percent| *percent <= 100.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            bad(
                text,
                "a part of the packets",
                "write a percentage such as \"1%\"",
            )
        })
}

/// A time: `2ms`, `10us`, `1.5s`, `250ns`.
///
/// # Errors
/// It is no such time, or one above an hour.
pub fn time(text: &str) -> Result<Duration> {
    const UNITS: [(&str, f64); 6] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("min", 60.0),
        ("s", 1.0),
    ];
    const MOST: f64 = 3600.0;

    UNITS
        .iter()
        .find_map(|(unit, seconds)| Some(decimal(text.strip_suffix(unit)?.trim_end())? * seconds))
        .or_else(|| (text == "0").then_some(0.0))
        .filter(|seconds| *seconds <= MOST)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| {
            bad(
                text,
                "a time",
                "write one up to an hour, such as \"2ms\" or \"10us\"",
            )
        })
}

/// Bits a second: `10G`, `2.5G`, `100M`; `Gbit` and `bit/s` may follow.
///
/// # Errors
/// It is no such rate, or not between 1 kbit/s and 10 Tbit/s.
pub fn rate(text: &str) -> Result<u64> {
    const UNITS: [(char, f64); 4] = [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];

    let short = ["bit/s", "bps", "bit", "b/s"]
        .iter()
        .find_map(|suffix| text.strip_suffix(suffix))
        .unwrap_or(text);
    UNITS
        .iter()
        .find_map(|(unit, factor)| Some(decimal(short.strip_suffix(*unit)?.trim_end())? * factor))
        .filter(|bits| (1e3..=1e13).contains(bits))
        .map(whole)
        .ok_or_else(|| {
            bad(
                text,
                "a rate",
                "write bits a second such as \"10G\" or \"500M\"",
            )
        })
}

/// Octets of a subnet's MTU.
///
/// # Errors
/// It is not 256, 512, 1024, 2048 or 4096.
pub fn mtu(text: &str) -> Result<Mtu> {
    text.parse()
        .ok()
        .and_then(Mtu::from_octets)
        .filter(|mtu| *mtu >= Mtu::B2048)
        .ok_or_else(|| bad(text, "an MTU of a subnet", "write 2048 or 4096"))
}

/// A P_Key that names a partition.
///
/// # Errors
/// It is no 16-bit number, or 0x0000 or 0x8000.
pub fn pkey(text: &str) -> Result<PKey> {
    number(text)
        .and_then(|bits| u16::try_from(bits).ok())
        .map(PKey::new)
        .filter(|pkey| pkey.is_valid())
        .ok_or_else(|| {
            bad(
                text,
                "a P_Key of a partition",
                "write one from 0x0001 to 0x7fff (limited member) or from 0x8001 to 0xffff (full \
                 member); 0x0000 and 0x8000 name no partition",
            )
        })
}

/// A GUID: `0x0002c90100000000` or `0002:c901:0000:0000`.
///
/// # Errors
/// It is no 64-bit number, or zero.
pub fn guid(text: &str) -> Result<Guid> {
    let groups: Vec<_> = text.split(':').collect();
    let bits = if groups.len() == 4 && groups.iter().all(|group| group.len() == 4) {
        u64::from_str_radix(&groups.concat(), 16).ok()
    } else {
        number(text)
    };
    bits.filter(|bits| *bits != 0)
        .map(Guid::new)
        .ok_or_else(|| {
            bad(
                text,
                "a GUID",
                "write 16 hexadecimal digits such as \"0x0002c90100000000\"",
            )
        })
}

/// An IP address with prefix length: `10.0.0.1/24`.
///
/// # Errors
/// It is none, or no host could have it.
pub fn address(text: &str) -> Result<(IpAddr, u8)> {
    text.split_once('/')
        .and_then(|(address, length)| {
            Some((address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?))
        })
        .filter(|(address, length)| *length <= if address.is_ipv4() { 32 } else { 128 })
        .filter(|(address, _)| !address.is_unspecified() && !address.is_multicast())
        .ok_or_else(|| {
            bad(
                text,
                "an IP address of a host with its prefix length",
                "write one such as \"10.0.0.1/24\" or \"fd00:1b::1/64\"",
            )
        })
}

/// A decimal or, behind `0x`, hexadecimal number.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number of digits with a point at most: not `inf`, `nan`, `1e9` or `-1`, which `f64` also reads.
fn decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| plain)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 1e3 to 1e13: checked by the caller"
)]
fn whole(bits: f64) -> u64 {
    bits.round() as u64
}

fn bad(value: &str, what: &'static str, help: &'static str) -> BadQuantity {
    BadQuantity {
        value: value.to_owned(),
        what,
        help,
    }
}

#[cfg(test)]
mod tests {
    use softib_subnet::spec::Impairment;

    use super::*;

    #[test]
    fn read() {
        assert_eq!(loss("1%"), Ok(0.01));
        assert_eq!(loss("0.5 %"), Ok(0.005));
        assert_eq!(time("2ms"), Ok(Duration::from_millis(2)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("10us"), Ok(Duration::from_micros(10)));
        assert_eq!(rate("10G"), Ok(10_000_000_000));
        assert_eq!(rate("2.5Gbit"), Ok(2_500_000_000));
        assert_eq!(pkey("0x8001"), Ok(PKey::new(0x8001)));
        assert_eq!(
            guid("0002:c901:0000:0010"),
            Ok(Guid::new(0x0002_c901_0000_0010))
        );
        assert_eq!(address("10.0.0.1/24"), Ok(([10, 0, 0, 1].into(), 24)));
    }

    #[test]
    fn refused() {
        for text in ["", "1", "101%", "-1%", "nan%", "inf%", "1e1%"] {
            assert!(loss(text).is_err(), "{text}");
        }
        for text in ["", "5", "2 hours", "-1ms", "1e9s", "ms", "infs"] {
            assert!(time(text).is_err(), "{text}");
        }
        for text in ["", "10", "G", "0G", "-1G", "20T"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["0", "0x0000", "0x8000", "0x10000", "x"] {
            assert!(pkey(text).is_err(), "{text}");
        }
        for text in [
            "10.0.0.1",
            "10.0.0.1/33",
            "10.0.0.256/24",
            "224.0.0.1/4",
            "::/0",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
        for text in ["0", "1500", "8192", ""] {
            assert!(mtu(text).is_err(), "{text}");
        }
    }

    /// What shows a cable's settings writes them in this spelling.
    #[test]
    fn shown_as_read() {
        for (key, texts) in [
            ("loss", &["1%", "7%", "0.5%", "12.345%", "100%"][..]),
            ("delay", &["2ms", "10us", "1s", "250ns", "1500ms"]),
            ("rate", &["10G", "2500M", "100M", "3k", "1.5k"]),
        ] {
            for text in texts {
                let mut impairment = Impairment::default();
                match key {
                    "loss" => impairment.loss = loss(text).unwrap(),
                    "delay" => impairment.delay = time(text).unwrap(),
                    _ => impairment.rate = Some(rate(text).unwrap()),
                }
                assert_eq!(impairment.settings(), [(key, (*text).to_owned())]);
            }
        }
    }
}
