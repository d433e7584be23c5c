//! Small pieces of wording.

use core::fmt::Display;
use std::io::{self, Write};

/// Prints a line of a command's result.
///
/// # Errors
/// Nobody reads any more: the caller stops then, without complaint.
pub(crate) fn say(line: impl Display) -> io::Result<()> {
    writeln!(io::stdout().lock(), "{line}")
}

/// Prints a line about what was done to standard error, if somebody reads that.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Names in a sentence: all when they are few, else the first ones and how many more there are.
pub(crate) fn some_of<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    const FEW: usize = 12;
    let mut names = names.into_iter();
    let shown: Vec<_> = names
        .by_ref()
        .take(FEW)
        .map(|name| name.to_string())
        .collect();
    let more = names.count();
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, _) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A number with what it counts: `1 switch`, `2 switches`.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// The ports that a node has, in a sentence: `port 1` or `ports 1 to 8`.
pub(crate) fn ports(most: u8) -> String {
    if most == 1 {
        "port 1".to_owned()
    } else {
        format!("ports 1 to {most}")
    }
}
