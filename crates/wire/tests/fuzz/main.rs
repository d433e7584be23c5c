//! The fuzzer's bodies on the stable toolchain, so that every change runs them: see `fuzz/README.md`.

#[path = "../../../../fuzz/bodies/mad.rs"]
mod mad;
#[path = "../../../../fuzz/bodies/packet.rs"]
mod packet;
#[path = "../../../../fuzz/bodies/smoke.rs"]
mod smoke;

#[test]
fn packets() {
    smoke::run(&packet::seeds(), 200_000, packet::run);
}

#[test]
fn mads() {
    smoke::run(&mad::seeds(), 10_000, mad::run);
}
