#![no_main]

#[allow(dead_code, reason = "its seeds are written by another program")]
#[path = "../bodies/mad.rs"]
mod mad;

libfuzzer_sys::fuzz_target!(|data: &[u8]| mad::run(data));
