//! Cases, the capture file made of them, and the run of tshark over it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::Ipv6Addr;
use std::process::{Command, Stdio};

use softib_wire::addr::Gid;
use softib_wire::crc;

/// What tshark must say of one field: all occurrences of it, in order.
pub(crate) enum Expected {
    Numbers(Vec<u64>),
    Text(String),
}

/// A MAD and what tshark must say of it.
pub(crate) struct Case {
    name: &'static str,
    mad: Vec<u8>,
    fields: Vec<(&'static str, Expected)>,
}

/// What tshark says of a packet.
pub(crate) type Read = BTreeMap<&'static str, String>;

/// Fields that must not be there: tshark found something wrong.
const COMPLAINTS: [&str; 2] = ["_ws.malformed", "_ws.expert.message"];

impl Case {
    pub(crate) fn new(name: &'static str, mad: [u8; 256]) -> Self {
        Self {
            name,
            mad: mad.to_vec(),
            fields: Vec::new(),
        }
    }

    /// A field with this one value.
    pub(crate) fn is(self, field: &'static str, value: impl Into<u64>) -> Self {
        self.are(field, [value.into()])
    }

    /// A field that is there several times.
    pub(crate) fn are(
        mut self,
        field: &'static str,
        values: impl IntoIterator<Item = u64>,
    ) -> Self {
        self.fields
            .push((field, Expected::Numbers(values.into_iter().collect())));
        self
    }

    /// A field that is a GID.
    pub(crate) fn gid(self, field: &'static str, gid: Gid) -> Self {
        self.text(field, &Ipv6Addr::from(gid.octets()).to_string())
    }

    /// A field that is shown like this.
    pub(crate) fn text(mut self, field: &'static str, text: &str) -> Self {
        self.fields.push((field, Expected::Text(text.to_owned())));
        self
    }

    /// What tshark says otherwise.
    pub(crate) fn check(&self, read: &Read) -> Vec<String> {
        let complaints = COMPLAINTS.iter().filter(|&&field| !read[field].is_empty());
        let mut wrong: Vec<String> = complaints
            .map(|field| format!("{}: {field}: {}", self.name, read[field]))
            .collect();
        for (field, expected) in &self.fields {
            let got = &read[field];
            let (right, expected) = match expected {
                Expected::Text(text) => (got == text, text.clone()),
                Expected::Numbers(values) => (
                    got.split(',')
                        .map(number)
                        .collect::<Option<Vec<_>>>()
                        .as_ref()
                        == Some(values),
                    values
                        .iter()
                        .map(|value| format!("{value:#x}"))
                        .collect::<Vec<_>>()
                        .join(","),
                ),
            };
            if !right {
                wrong.push(format!(
                    "{}: {field} is {got:?}, expected {expected}",
                    self.name
                ));
            }
        }
        wrong
    }

    /// The MAD in a UD packet, from LRH to VCRC.
    fn packet(&self) -> Vec<u8> {
        let subnet_management = matches!(self.mad[1], 0x01 | 0x81);
        let (vl, queue, qkey) = if subnet_management {
            (0xF0, 0, [0; 4])
        } else {
            (0x00, 1, [0x80, 1, 0, 0])
        };
        // LRH: LNH 2, DLID 2, 72 words, SLID 4. BTH: UD SEND only, default P_Key. DETH.
        let mut packet = vec![vl, 0x02, 0, 2, 0, 72, 0, 4];
        packet.extend([0x64, 0x00, 0xFF, 0xFF, 0, 0, 0, queue, 0, 0, 0, 0]);
        packet.extend(qkey);
        packet.extend([0, 0, 0, queue]);
        packet.extend(&self.mad);
        let trailer = crc::trailer(&packet);
        packet.extend(trailer);
        packet
    }
}

/// What tshark shows of a number: `0x..`, decimal, or octets with colons.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        _ if text.contains(':') => u64::from_str_radix(&text.replace(':', ""), 16).ok(),
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => match text {
            "True" => Some(1),
            "False" => Some(0),
            _ => text.parse().ok(),
        },
    }
}

/// Octet number `i` of a field that counts upwards.
pub(crate) fn octet(i: usize) -> u8 {
    u8::try_from(i).expect("no field is longer than a MAD")
}

/// What tshark shows of octets.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A pcap file of link type ERF with records of type InfiniBand: the one way to InfiniBand that
/// tshark has (it does not know link type 247).
fn capture(cases: &[Case]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0002_0004, 0, 0, 65535, 197] {
        file.extend(word.to_be_bytes());
    }
    for (second, packet) in (0_u32..).zip(cases.iter().map(Case::packet)) {
        let wire_len = u16::try_from(packet.len()).expect("a packet is short");
        let record_len = wire_len + 16;
        for word in [second, 0, record_len.into(), record_len.into()] {
            file.extend(word.to_be_bytes());
        }
        // Time stamp, in units of 2^-32 s, little-endian; type 21; varying length.
        file.extend((u64::from(second) << 32).to_le_bytes());
        file.extend([21, 0x04]);
        file.extend(record_len.to_be_bytes());
        file.extend([0, 0]);
        file.extend(wire_len.to_be_bytes());
        file.extend(packet);
    }
    file
}

/// What tshark says of each case; `None`: there is no tshark.
pub(crate) fn read(cases: &[Case]) -> Option<Vec<Read>> {
    let asked = cases
        .iter()
        .flat_map(|case| case.fields.iter().map(|&(field, _)| field));
    let fields: Vec<&'static str> = asked
        .chain(COMPLAINTS)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();

    let mut tshark = Command::new("tshark");
    tshark.args([
        "-n",
        "-r",
        "-",
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-E",
        "occurrence=a",
    ]);
    for field in &fields {
        tshark.args(["-e", field]);
    }
    let spawned = tshark
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = spawned.ok()?;
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let file = capture(cases);
    let writer = std::thread::Builder::new()
        .spawn(move || stdin.write_all(&file))
        .expect("a thread");
    let output = child.wait_with_output().expect("tshark runs to its end");
    writer
        .join()
        .expect("the writer does not panic")
        .expect("tshark reads its input");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {complaint}");

    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines.len(),
        cases.len(),
        "tshark reads another number of packets: {complaint}"
    );
    let row = |line: &&str| {
        fields
            .iter()
            .copied()
            .zip(line.split('|').map(str::to_owned))
            .collect()
    };
    Some(lines.iter().map(row).collect())
}
