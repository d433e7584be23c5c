#![no_main]

#[allow(dead_code, reason = "its seeds are written by another program")]
#[path = "../bodies/lab_file.rs"]
mod lab_file;

libfuzzer_sys::fuzz_target!(|data: &[u8]| lab_file::run(data));
