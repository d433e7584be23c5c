//! Which multicast groups the programs of a host have joined, read from the kernel's own tables.
//!
//! Kernels before 6.14 do not tell of joins by netlink, and no kernel tells of them in a form that
//! survives a lost notice. The tables in `/proc` are the whole truth on every kernel; notices, IGMP
//! and MLD packets only say when to look.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::FileExt;

/// The tables of one network namespace.
#[derive(Debug)]
pub(crate) struct Memberships {
    v4: File,
    /// `None`: this kernel has no IPv6.
    v6: Option<File>,
    buffer: Vec<u8>,
}

impl Memberships {
    /// Opens the tables of the current network namespace, to which they belong from then on.
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self {
            v4: File::open("/proc/thread-self/net/igmp")?,
            v6: File::open("/proc/thread-self/net/igmp6").ok(),
            buffer: Vec::new(),
        })
    }

    /// The groups joined on interface `index`, in order.
    pub(crate) fn read(&mut self, index: u32) -> io::Result<Vec<IpAddr>> {
        let mut groups = Vec::new();
        read_whole(&self.v4, &mut self.buffer)?;
        parse_igmp(&String::from_utf8_lossy(&self.buffer), index, &mut groups);
        if let Some(v6) = &self.v6 {
            read_whole(v6, &mut self.buffer)?;
            parse_igmp6(&String::from_utf8_lossy(&self.buffer), index, &mut groups);
        }
        groups.sort_unstable();
        groups.dedup();
        Ok(groups)
    }
}

fn read_whole(file: &File, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    let mut chunk = [0; 4096];
    loop {
        let read = file.read_at(&mut chunk, buffer.len() as u64)?;
        if read == 0 {
            return Ok(());
        }
        buffer.extend_from_slice(chunk.get(..read).unwrap_or_default());
    }
}

/// ```text
/// Idx     Device    : Count Querier       Group    Users Timer    Reporter
/// 2       ib0       :     1      V3
///                                 010000E0     1 0:00000000               0
/// ```
fn parse_igmp(text: &str, index: u32, groups: &mut Vec<IpAddr>) {
    let mut ours = false;
    for line in text.lines().skip(1) {
        let Some(first) = line.split_ascii_whitespace().next() else {
            continue;
        };
        if !line.starts_with('\t') {
            ours = first.parse() == Ok(index);
        } else if ours && let Ok(group) = u32::from_str_radix(first, 16) {
            // The kernel prints the address in network order as if it were a number.
            groups.push(IpAddr::V4(Ipv4Addr::from(group.to_ne_bytes())));
        }
    }
}

/// ```text
/// 2    ib0             ff020000000000000000000000000001     1 0000000C 0
/// ```
fn parse_igmp6(text: &str, index: u32, groups: &mut Vec<IpAddr>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(on), Some(group)) = (words.next(), words.nth(1)) else {
            continue;
        };
        if on.parse() == Ok(index)
            && group.len() == 32
            && let Ok(group) = u128::from_str_radix(group, 16)
        {
            groups.push(IpAddr::V6(Ipv6Addr::from(group)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_tables() {
        let igmp = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
            1\tlo        :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n\
            2\tib0       :     2      V3\n\t\t\t\tFB0000E0     1 0:00000000\t\t0\n\t\t\t\t010000E0     1 0:00000000\t\t0\n";
        let igmp6 = "1    lo              ff020000000000000000000000000001     1 0000000C 0\n\
            2    ib0             ff0200000000000000000001ff000001     1 00000004 0\n";
        let mut groups = Vec::new();
        parse_igmp(igmp, 2, &mut groups);
        parse_igmp6(igmp6, 2, &mut groups);
        if cfg!(target_endian = "little") {
            let expected: Vec<IpAddr> = ["224.0.0.251", "224.0.0.1", "ff02::1:ff00:1"]
                .map(|text| text.parse().unwrap())
                .to_vec();
            assert_eq!(groups, expected);
        }
    }

    #[test]
    fn the_own_machine_has_tables() {
        let mut memberships = Memberships::open().unwrap();
        // Interface 1 is lo, and the kernel joins 224.0.0.1 on it as soon as it is up.
        let first = memberships.read(1).unwrap();
        assert_eq!(memberships.read(1).unwrap(), first);
        assert!(memberships.read(4_000_000).unwrap().is_empty());
    }
}
