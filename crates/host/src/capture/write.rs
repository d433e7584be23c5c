//! Writes pcap files: link type INFINIBAND, from LRH to VCRC, nanosecond timestamps.

use std::io::{self, Write};

use super::CapturedPacket;

/// `LINKTYPE_INFINIBAND`.
const LINK_TYPE: u32 = 247;
/// Timestamps count nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Longest packet a file can hold by default: more than any InfiniBand packet has.
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

/// Appends a packet to `out` as a file has it, cut to `snaplen` octets.
pub fn push_record(out: &mut Vec<u8>, packet: &CapturedPacket, snaplen: u32) {
    let length = u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX);
    let kept = length.min(snaplen);
    // The format ends in 2106.
    let seconds = u32::try_from(packet.timestamp.as_secs()).unwrap_or(u32::MAX);
    for field in [seconds, packet.timestamp.subsec_nanos(), kept, length] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(packet.bytes.get(..kept as usize).unwrap_or(&packet.bytes));
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
