//! The keeper of commands alone. The yabby program is its own keeper; this one is for tests of the tools.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    yabby_tools::keep_command(&arguments).unwrap_or_else(|| ExitCode::from(2))
}
