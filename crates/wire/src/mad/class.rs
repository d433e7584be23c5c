//! Management classes (IBA 13.4.4).

/// Subnet management, LID-routed.
pub const SUBN_LID: u8 = 0x01;
/// Subnet administration.
pub const SUBN_ADM: u8 = 0x03;
/// Performance management.
pub const PERF_MGT: u8 = 0x04;
/// Communication management.
pub const COM_MGT: u8 = 0x07;
/// Subnet management, directed-route.
pub const SUBN_DIRECTED: u8 = 0x81;

/// The class version that goes with a class.
#[must_use]
pub const fn version(class: u8) -> u8 {
    match class {
        SUBN_ADM | COM_MGT => 2,
        _ => 1,
    }
}
