//! The `softib` command. All of it is in the library beside it, so that tests and fuzz targets
//! reach it too.

use std::process::ExitCode;

fn main() -> ExitCode {
    softib::cli::main()
}
