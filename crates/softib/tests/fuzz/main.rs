//! The fuzzer's bodies on the stable toolchain, so that every change runs them: see `fuzz/README.md`.

#[path = "../../../../fuzz/bodies/lab_file.rs"]
mod lab_file;
#[path = "../../../../fuzz/bodies/smoke.rs"]
mod smoke;

#[test]
fn lab_files() {
    smoke::run(&lab_file::seeds(), 20_000, lab_file::run);
}
