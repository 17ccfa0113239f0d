//! `vectors DIR...`: runs recorded cases against our rules; exit 1 if any fails.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use std::path::PathBuf;
use std::process::ExitCode;

use yabby_testkit::vectors;

fn main() -> ExitCode {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() || folders.iter().any(|f| f.as_os_str() == "--help" || f.as_os_str() == "-h") {
        eprintln!(
            "usage: vectors DIR...\n\nRuns the recorded cases of each folder (the layout of vectors/) against yabby's rules."
        );
        return if folders.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    // A rule that panics is reported with its case; the default hook would print it twice.
    std::panic::set_hook(Box::new(|_| {}));
    let mut reports = Vec::new();
    for folder in folders {
        match vectors::run(&folder) {
            Ok(of_folder) => reports.extend(of_folder),
            Err(error) => {
                eprintln!("{}: {error}; give a folder with the layout of vectors/", folder.display());
                return ExitCode::from(2);
            }
        }
    }
    print!("{}", vectors::print_report(&reports));
    if vectors::totals(&reports).failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
