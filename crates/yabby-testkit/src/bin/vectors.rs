//! `vectors DIR...`: runs recorded cases against our rules; exit 1 if any fails.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use yabby_testkit::vectors;
use yabby_testkit::vectors::cli::Program;

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
    let program = folders.iter().any(|folder| holds_command_lines(folder)).then(program);
    let mut reports = Vec::new();
    for folder in folders {
        match vectors::run(&folder, program.as_ref()) {
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

/// Whether there is anything to run a program for.
fn holds_command_lines(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_default();
    let is_cli = |path: &Path| path.file_name().is_some_and(|name| name == "cli");
    folder.join("cli").is_dir() || is_cli(&folder) || folder.parent().is_some_and(is_cli)
}

/// The program whose command lines were recorded: the one that `YABBY_BIN` names, else the one beside
/// this one, built anew where cargo is at hand.
fn program() -> Program {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = std::env::var_os("YABBY_BIN").map(PathBuf::from).unwrap_or_else(|| {
        if let Some(cargo) = std::env::var_os("CARGO") {
            let built = Command::new(cargo)
                .args(["build", "--quiet", "--locked", "--package", "yabby"])
                .current_dir(&project)
                .status();
            if !built.is_ok_and(|status| status.success()) {
                eprintln!("yabby could not be built; its recorded command lines will fail");
            }
        }
        std::env::current_exe().unwrap_or_default().with_file_name("yabby")
    });
    Program { path, homes: project.join("vectors/cli/homes") }
}
