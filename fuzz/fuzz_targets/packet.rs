#![no_main]

#[allow(dead_code, reason = "its seeds are written by another program")]
#[path = "../bodies/packet.rs"]
mod packet;

libfuzzer_sys::fuzz_target!(|data: &[u8]| packet::run(data));
