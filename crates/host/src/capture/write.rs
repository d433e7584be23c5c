//! Writes pcap files: from LRH to VCRC, with nanosecond timestamps.
//!
//! pcap has a link type of its own for InfiniBand (247), but Wireshark 4.0, which many people
//! have, refuses it. So the file has link type ERF (197), and each packet stands behind an ERF
//! header that says InfiniBand, as in captures of real fabrics.
//!
//! ```text
//!  0                                 8      9       10             12      14
//! | time: fraction, seconds (LE)    | type | flags | length (BE)  | lost  | length on the wire |
//! ```

use std::io::{self, Write};

use super::CapturedPacket;

/// `LINKTYPE_ERF`.
const LINK_TYPE: u32 = 197;
/// ERF record type of InfiniBand.
pub(super) const ERF_TYPE_INFINIBAND: u8 = 21;
/// Length of an ERF header without extensions.
pub(super) const ERF_HEADER: usize = 16;
/// Records vary in length.
const ERF_VARYING: u8 = 0x04;
/// Timestamps count nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Longest record a file can hold by default: more than any InfiniBand packet needs.
pub const DEFAULT_SNAPLEN: u32 = 65_536;

/// The head of a file.
#[must_use]
pub fn file_header(snaplen: u32) -> [u8; 24] {
    let mut header = [0; 24];
    header[..4].copy_from_slice(&MAGIC_NANOSECONDS.to_le_bytes());
    // Version 2.4; time zone and accuracy, which nobody uses, are 0.
    header[4..6].copy_from_slice(&2_u16.to_le_bytes());
    header[6..8].copy_from_slice(&4_u16.to_le_bytes());
    header[16..20].copy_from_slice(&snaplen.to_le_bytes());
    header[20..24].copy_from_slice(&LINK_TYPE.to_le_bytes());
    header
}

/// Appends a packet to `out` as a file has it, the record cut to `snaplen` octets.
pub fn push_record(out: &mut Vec<u8>, packet: &CapturedPacket, snaplen: u32) {
    let length = u32::try_from(ERF_HEADER + packet.bytes.len()).unwrap_or(u32::MAX);
    let kept = length.min(snaplen);
    // The format ends in 2106.
    let seconds = u32::try_from(packet.timestamp.as_secs()).unwrap_or(u32::MAX);
    let nanos = packet.timestamp.subsec_nanos();
    for field in [seconds, nanos, kept, length] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    let end = out.len() + kept as usize;
    let fraction = (u64::from(nanos) << 32) / 1_000_000_000;
    out.extend_from_slice(&(u64::from(seconds) << 32 | fraction).to_le_bytes());
    out.extend_from_slice(&[ERF_TYPE_INFINIBAND, ERF_VARYING]);
    // Records are a multiple of 8 octets long in ERF's own files; the padding is not in ours.
    let record = length.checked_next_multiple_of(8).map(u16::try_from);
    let record = record.and_then(Result::ok).unwrap_or(u16::MAX);
    out.extend_from_slice(&record.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    let wire = u16::try_from(packet.bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&wire.to_be_bytes());
    out.extend_from_slice(&packet.bytes);
    out.truncate(end);
}

/// A pcap file, or a pipe to a program that reads one.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    snaplen: u32,
    buffer: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn new(mut sink: W, snaplen: u32) -> io::Result<Self> {
        sink.write_all(&file_header(snaplen))?;
        Ok(Self {
            sink,
            snaplen,
            buffer: Vec::new(),
        })
    }

    /// Writes a packet, in one call to the sink.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn write(&mut self, packet: &CapturedPacket) -> io::Result<()> {
        self.buffer.clear();
        push_record(&mut self.buffer, packet, self.snaplen);
        self.sink.write_all(&self.buffer)
    }

    /// Pushes on what the sink holds back.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
