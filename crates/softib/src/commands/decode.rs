//! `softib decode`: a line for each packet of a capture file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Context;
use softib_host::capture::read::Reader;

use crate::args::Decode;
use crate::decode::Decoder;
use crate::failure::{Failure, Outcome};

pub(crate) fn decode(args: &Decode) -> Outcome {
    let file = args.file.display().to_string();
    let source: Box<dyn Read> = if args.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).with_context(|| format!("{file} can't be opened"))?)
    };
    let packets = Reader::new(BufReader::new(source)).with_context(|| file.clone())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut decoder = Decoder::default();
    let mut damaged = 0_u64;
    for (index, packet) in packets.enumerate() {
        let number = index + 1;
        match packet {
            Ok(packet) => {
                let line = decoder.line(packet.timestamp, &packet.bytes);
                writeln!(out, "{number} {line}")?;
            }
            Err(error) => {
                damaged += 1;
                writeln!(out, "{number} {error}")?;
            }
        }
    }
    out.flush()?;
    if damaged > 0 {
        return Err(Failure::Failed(anyhow::anyhow!(
            "{file}: {damaged} of its records hold no packet that can be read"
        )));
    }
    Ok(())
}
