#![no_main]

#[allow(dead_code, reason = "its seeds are written by another program")]
#[path = "../bodies/rmpp.rs"]
mod rmpp;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rmpp::run(data));
