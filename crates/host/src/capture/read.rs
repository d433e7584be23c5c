//! Reads capture files: pcap and pcapng with link type INFINIBAND, and ERF records that hold
//! InfiniBand.

use std::io::Read;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::CapturedPacket;
use super::write::{ERF_HEADER, ERF_TYPE_INFINIBAND};
use crate::error::HostError;

/// Length of an ERF extension header. The highest bit of the type octet, and of each extension
/// header, says that another one follows.
const ERF_EXTENSION: usize = 8;

/// Packets of a file in their order. A record that is no InfiniBand packet is an error that does
/// not end the file.
pub struct Reader<R: Read> {
    format: Format<R>,
    finished: bool,
}

enum Format<R: Read> {
    Pcap {
        reader: PcapReader<Prefixed<R>>,
        link: DataLink,
    },
    PcapNg {
        reader: PcapNgReader<Prefixed<R>>,
        links: Vec<DataLink>,
    },
}

/// The first four octets, looked at to tell the formats apart, and the rest.
type Prefixed<R> = std::io::Chain<std::io::Cursor<[u8; 4]>, R>;

impl<R: Read> Reader<R> {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// When it is not a capture file, or one of another kind of network.
    pub fn new(mut source: R) -> Result<Self, HostError> {
        let mut magic = [0; 4];
        source.read_exact(&mut magic).map_err(|error| {
            HostError::CaptureFile(format!(
                "this is no capture file: it cannot be read: {error}"
            ))
        })?;
        let source = std::io::Cursor::new(magic).chain(source);
        let bad = |error| {
            HostError::CaptureFile(format!(
                "this is no capture file: softib reads pcap and pcapng ({error})"
            ))
        };
        let format = if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            Format::PcapNg {
                reader: PcapNgReader::new(source).map_err(bad)?,
                links: Vec::new(),
            }
        } else {
            let reader = PcapReader::new(source).map_err(bad)?;
            let link = reader.header().datalink;
            check_link(link)?;
            Format::Pcap { reader, link }
        };
        Ok(Self {
            format,
            finished: false,
        })
    }
}

impl<R: Read> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("finished", &self.finished)
            .finish_non_exhaustive()
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<CapturedPacket, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let record = match &mut self.format {
            Format::Pcap { reader, link } => {
                let link = *link;
                reader.next_packet().map(|packet| {
                    packet
                        .map_err(broken)
                        .map(|packet| (packet.timestamp, link, packet.data.into_owned()))
                })
            }
            Format::PcapNg { reader, links } => next_block(reader, links),
        };
        match record? {
            Ok((timestamp, link, data)) => Some(unwrap(timestamp, link, data)),
            Err(error) => {
                self.finished = true;
                Some(Err(error))
            }
        }
    }
}

type Record = (Duration, DataLink, Vec<u8>);

/// The next packet of a pcapng file; other blocks are skipped.
fn next_block<R: Read>(
    reader: &mut PcapNgReader<R>,
    links: &mut Vec<DataLink>,
) -> Option<Result<Record, HostError>> {
    loop {
        let block = match reader.next_block()? {
            Ok(block) => block,
            Err(error) => return Some(Err(broken(error))),
        };
        let (interface, timestamp, data) = match block {
            Block::SectionHeader(_) => {
                links.clear();
                continue;
            }
            Block::InterfaceDescription(description) => {
                links.push(description.linktype);
                continue;
            }
            Block::EnhancedPacket(packet) => (
                packet.interface_id as usize,
                packet.timestamp,
                packet.data.into_owned(),
            ),
            Block::SimplePacket(packet) => (0, Duration::ZERO, packet.data.into_owned()),
            _ => continue,
        };
        let Some(link) = links.get(interface).copied() else {
            return Some(Err(HostError::CaptureFile(format!(
                "a packet names interface {interface}, which the file does not describe"
            ))));
        };
        if let Err(error) = check_link(link) {
            return Some(Err(error));
        }
        return Some(Ok((timestamp, link, data)));
    }
}

fn check_link(link: DataLink) -> Result<(), HostError> {
    match link {
        DataLink::INFINIBAND | DataLink::ERF => Ok(()),
        other => Err(HostError::CaptureFile(format!(
            "the capture's link type is {other:?} ({}); softib reads INFINIBAND (247) and ERF (197)",
            u32::from(other)
        ))),
    }
}

fn broken(error: impl std::fmt::Display) -> HostError {
    HostError::CaptureFile(format!("the capture file is damaged here: {error}"))
}

/// Takes a packet out of what its link type puts around it.
fn unwrap(
    timestamp: Duration,
    link: DataLink,
    mut data: Vec<u8>,
) -> Result<CapturedPacket, HostError> {
    if link != DataLink::ERF {
        return Ok(CapturedPacket {
            timestamp,
            bytes: data,
        });
    }
    let short = || {
        HostError::CaptureFile(format!(
            "an ERF record of {} octets is too short for its header",
            data.len()
        ))
    };
    let kind = *data.get(8).ok_or_else(short)?;
    if kind & 0x7f != ERF_TYPE_INFINIBAND {
        return Err(HostError::CaptureFile(format!(
            "an ERF record of type {}; InfiniBand is {ERF_TYPE_INFINIBAND}",
            kind & 0x7f
        )));
    }
    let mut start = ERF_HEADER;
    let mut more = kind & 0x80 != 0;
    while more {
        more = data.get(start).ok_or_else(short)? & 0x80 != 0;
        start += ERF_EXTENSION;
    }
    // The length on the wire tells the packet from the padding behind it.
    let wire = usize::from(u16::from_be_bytes([
        *data.get(14).ok_or_else(short)?,
        *data.get(15).ok_or_else(short)?,
    ]));
    if start > data.len() {
        return Err(short());
    }
    data.drain(..start);
    data.truncate(wire);
    Ok(CapturedPacket {
        timestamp,
        bytes: data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::write::Writer;

    #[test]
    fn reads_what_was_written() {
        let packets = [
            CapturedPacket {
                timestamp: Duration::new(1_700_000_000, 123_456_789),
                bytes: vec![1, 2, 3, 4, 5],
            },
            CapturedPacket {
                timestamp: Duration::new(1_700_000_001, 7),
                bytes: vec![9; 2074],
            },
        ];
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, 65_536).unwrap();
        for packet in &packets {
            writer.write(packet).unwrap();
        }
        let read: Vec<_> = Reader::new(file.as_slice())
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(read, packets);
    }

    #[test]
    fn a_snap_length_cuts_packets_but_not_their_length() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, 8).unwrap();
        writer
            .write(&CapturedPacket {
                timestamp: Duration::ZERO,
                bytes: vec![7; 20],
            })
            .unwrap();
        assert_eq!(file.len(), 24 + 16 + 8);
        assert_eq!(file[24 + 8..24 + 16], [8, 0, 0, 0, 16 + 20, 0, 0, 0]);
    }

    #[test]
    fn erf_records_lose_their_headers_and_padding() {
        let mut record = vec![0; 16];
        record[8] = 0x80 | ERF_TYPE_INFINIBAND;
        record[15] = 5;
        record.extend([0; 8]);
        record.extend([1, 2, 3, 4, 5, 0xee, 0xee, 0xee]);
        let packet = unwrap(Duration::ZERO, DataLink::ERF, record.clone()).unwrap();
        assert_eq!(packet.bytes, [1, 2, 3, 4, 5]);
        for length in 0..24 {
            assert!(
                unwrap(Duration::ZERO, DataLink::ERF, record[..length].to_vec()).is_err(),
                "{length}"
            );
        }
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let mut ethernet = crate::capture::write::file_header(1000);
        ethernet[20] = 1;
        let error = Reader::new(ethernet.as_slice()).unwrap_err().to_string();
        assert!(
            error.contains("ETHERNET") && error.contains("247"),
            "{error}"
        );
        assert!(Reader::new([0x7f, b'E', b'L', b'F', 0, 0, 0, 0].as_slice()).is_err());
        assert!(Reader::new([].as_slice()).is_err());
    }

    #[test]
    fn a_damaged_file_ends_in_an_error_and_not_in_a_panic() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, 65_536).unwrap();
        writer
            .write(&CapturedPacket {
                timestamp: Duration::ZERO,
                bytes: vec![7; 20],
            })
            .unwrap();
        for length in 0..file.len() {
            if let Ok(reader) = Reader::new(&file[..length]) {
                assert!(
                    reader.take(3).all(|packet| length <= 24 || packet.is_err()),
                    "{length}"
                );
            }
        }
    }
}
