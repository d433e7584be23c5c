//! What tshark reads in MADs that this crate writes: a second opinion on every offset.
//!
//! A case is a MAD and what tshark must say of its fields, by the names of its dissector. All
//! cases go through one run of tshark. Skipped, and says so, where tshark is not installed.

mod cm;
mod oracle;
mod perf;
mod sa;
mod smp;

use oracle::Case;

#[test]
fn tshark_agrees() {
    let mut cases: Vec<Case> = Vec::new();
    cases.extend(smp::cases());
    cases.extend(sa::cases());
    cases.extend(perf::cases());
    cases.extend(cm::cases());

    let Some(read) = oracle::read(&cases) else {
        eprintln!("skipped: tshark is not installed (Debian package tshark)");
        return;
    };
    let wrong: Vec<String> = cases
        .iter()
        .zip(&read)
        .flat_map(|(case, read)| case.check(read))
        .collect();
    assert!(wrong.is_empty(), "tshark disagrees:\n{}", wrong.join("\n"));
}
