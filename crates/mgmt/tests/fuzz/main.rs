//! The fuzzer's bodies on the stable toolchain, so that every change runs them: see `fuzz/README.md`.

#[path = "../../../../fuzz/bodies/rmpp.rs"]
mod rmpp;
#[path = "../../../../fuzz/bodies/smoke.rs"]
mod smoke;

#[test]
fn transfers() {
    smoke::run(&rmpp::seeds(), 20_000, rmpp::run);
}
