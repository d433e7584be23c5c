//! Writes each body's seeds where the fuzzer looks for its corpus.

#[allow(dead_code, reason = "only the seeds are wanted here")]
#[path = "bodies/lab_file.rs"]
mod lab_file;
#[allow(dead_code, reason = "only the seeds are wanted here")]
#[path = "bodies/mad.rs"]
mod mad;
#[allow(dead_code, reason = "only the seeds are wanted here")]
#[path = "bodies/packet.rs"]
mod packet;
#[allow(dead_code, reason = "only the seeds are wanted here")]
#[path = "bodies/rmpp.rs"]
mod rmpp;

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    for (name, seeds) in [
        ("packet", packet::seeds()),
        ("mad", mad::seeds()),
        ("rmpp", rmpp::seeds()),
        ("lab_file", lab_file::seeds()),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
