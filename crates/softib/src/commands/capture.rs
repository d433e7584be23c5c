//! `softib capture`: the packets of a port, as a pcap file that grows.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use http_body_util::BodyExt;

use crate::args::Capture;
use crate::client::{Client, block_on, find, query_value};
use crate::failure::{Failure, Outcome};
use crate::launch::interruptible;
use crate::text::note;

pub(crate) fn capture(name: Option<&str>, args: &Capture) -> Outcome {
    let client = Client::new(&find(name)?);
    let to_stdout = args.write == Path::new("-");
    if to_stdout && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "a capture is no text for a terminal; write it to a file, or pipe it: \
             softib capture h1 -w - | wireshark -k -i -"
                .to_owned(),
        ));
    }
    let mut path = format!("/capture?node={}", query_value(&args.place.node));
    if let Some(port) = args.place.port {
        path.push_str(&format!("&port={port}"));
    }
    let mut counter = Records::default();
    let outcome = block_on(interruptible(async {
        let mut body = client.stream(&path).await?;
        let mut sink: Box<dyn Write> = if to_stdout {
            Box::new(std::io::stdout())
        } else {
            let file = args.write.display();
            Box::new(File::create(&args.write).with_context(|| format!("{file} can't be written"))?)
        };
        while let Some(frame) = body.frame().await {
            // The lab going down ends the capture; what came until then is whole.
            let Ok(frame) = frame else { break };
            let Ok(octets) = frame.into_data() else {
                continue;
            };
            let wanted = counter.take(&octets, args.count);
            sink.write_all(&octets[..wanted])
                .context("the capture can't be written")?;
            sink.flush().context("the capture can't be written")?;
            if args.count.is_some_and(|count| counter.packets >= count) {
                break;
            }
        }
        Ok(())
    }));
    match outcome {
        // Interrupting it is how a capture ends.
        Ok(()) | Err(Failure::Interrupted) => {
            if !to_stdout {
                note(format_args!(
                    "{} packets in {}",
                    counter.packets,
                    args.write.display()
                ));
            }
            Ok(())
        }
        Err(failure) => Err(failure),
    }
}

/// Octets of the head of a pcap file, and of each packet's.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// Counts packets in a pcap file that comes in pieces.
#[derive(Debug, Default)]
struct Records {
    packets: u64,
    /// Octets of the file header or of the record under way that have been seen.
    seen_header: usize,
    header: [u8; RECORD_HEADER],
    in_record: usize,
    file_header_done: bool,
}

impl Records {
    /// How many of the octets to keep so that there are no more than `most` packets.
    fn take(&mut self, octets: &[u8], most: Option<u64>) -> usize {
        let mut at = 0;
        while at < octets.len() {
            if !self.file_header_done {
                let part = (FILE_HEADER - self.seen_header).min(octets.len() - at);
                self.seen_header += part;
                at += part;
                if self.seen_header == FILE_HEADER {
                    self.file_header_done = true;
                    self.seen_header = 0;
                }
            } else if self.in_record > 0 {
                let part = self.in_record.min(octets.len() - at);
                self.in_record -= part;
                at += part;
                if self.in_record == 0 {
                    self.packets += 1;
                }
            } else {
                if most.is_some_and(|most| self.packets >= most) {
                    return at;
                }
                let part = (RECORD_HEADER - self.seen_header).min(octets.len() - at);
                self.header[self.seen_header..self.seen_header + part]
                    .copy_from_slice(&octets[at..at + part]);
                self.seen_header += part;
                at += part;
                if self.seen_header == RECORD_HEADER {
                    self.seen_header = 0;
                    let [.., a, b, c, d, _, _, _, _] = self.header;
                    self.in_record = u32::from_le_bytes([a, b, c, d]) as usize;
                    if self.in_record == 0 {
                        self.packets += 1;
                    }
                }
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use softib_host::capture::{CapturedPacket, write};

    use super::*;

    fn file(packets: usize) -> Vec<u8> {
        let mut file = write::file_header(write::DEFAULT_SNAPLEN).to_vec();
        for length in 0..packets {
            let packet = CapturedPacket {
                timestamp: std::time::Duration::ZERO,
                bytes: vec![7; length * 3],
            };
            write::push_record(&mut file, &packet, write::DEFAULT_SNAPLEN);
        }
        file
    }

    #[test]
    fn packets_are_counted_however_they_come() {
        let file = file(10);
        for size in [1, 3, 16, 50, file.len()] {
            let mut records = Records::default();
            let kept: usize = file
                .chunks(size)
                .map(|piece| records.take(piece, None))
                .sum();
            assert_eq!(
                (records.packets, kept),
                (10, file.len()),
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn a_count_ends_behind_a_packet() {
        let whole = file(10);
        let mut records = Records::default();
        assert_eq!(records.take(&whole, Some(4)), file(4).len());
    }
}
