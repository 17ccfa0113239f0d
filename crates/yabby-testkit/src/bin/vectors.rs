//! `vectors DIR...`: runs recorded cases against our rules; exit 1 if any fails.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use yabby_testkit::vectors;
use yabby_testkit::vectors::cli::Program;
use yabby_testkit::vectors::gateway::Replay;
use yabby_testkit::vectors::ratchet::{self, Ratchet};

const USAGE: &str = "usage: vectors [--gateway COMMAND] [--at-once N] [--recordings DIR] [--judge DIR] [--ratchet [--lower]] DIR...

Runs the recorded cases of each folder (the layout of vectors/) against yabby's rules, and those of commands and
of the gateway against the program that YABBY_BIN names, or the one that is built.

  --gateway COMMAND  play scenarios against `COMMAND gateway run`, and hold it to the recordings alone
  --at-once N        play so many scenarios at the same time (8)
  --recordings DIR   keep what was recorded while they were played, for compare.py
  --ratchet          write how many cases pass to crates/yabby-testkit/tests/ratchet.txt, which tests are held to,
                     unless some are lost; with --lower also then
  --judge DIR        compare the recordings in DIR, which were kept so, and play nothing";

fn main() -> ExitCode {
    let wishes = match Wishes::read(std::env::args().skip(1)) {
        Ok(Some(wishes)) => wishes,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    // A rule that panics is reported with its case; the default hook would print it twice.
    std::panic::set_hook(Box::new(|_| {}));
    let needs_program = wishes.folders.iter().any(|folder| holds_commands(folder));
    let program = needs_program.then(|| wishes.program());
    let (ratchets, lowers) = (wishes.ratchets, wishes.lowers);
    let mut reports = Vec::new();
    for folder in wishes.folders {
        match vectors::run(&folder, program.as_ref()) {
            Ok(of_folder) => reports.extend(of_folder),
            Err(error) => {
                eprintln!("{}: {error}; give a folder with the layout of vectors/", folder.display());
                return ExitCode::from(2);
            }
        }
    }
    print!("{}", vectors::print_report(&reports));
    if ratchets && let Err(problem) = write_ratchet(&Ratchet::of(&reports), lowers) {
        eprintln!("{problem}");
        return ExitCode::FAILURE;
    }
    if vectors::totals(&reports).failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Writes the numbers that tests are held to; fewer only if that is wanted.
fn write_ratchet(numbers: &Ratchet, lowers: bool) -> Result<(), String> {
    let file = ratchet::file();
    let written = match fs::read_to_string(&file) {
        Ok(text) => Ratchet::parse(&text)?,
        Err(_) => Ratchet::default(),
    };
    let lost = numbers.lost(&written);
    if !lost.is_empty() && !lowers {
        return Err(format!("cases are lost, so that nothing is written:\n{}", lost.join("\n")));
    }
    fs::write(&file, numbers.text()).map_err(|e| format!("{}: {e}", file.display()))
}

/// What was asked for.
#[derive(Default)]
struct Wishes {
    folders: Vec<PathBuf>,
    gateway: Option<String>,
    at_once: Option<usize>,
    recordings: Option<PathBuf>,
    kept: Option<PathBuf>,
    /// Whether the numbers of what passes are written, and also if they are lower.
    ratchets: bool,
    lowers: bool,
}

impl Wishes {
    /// `None` if only help was asked for.
    fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut wishes = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--help" | "-h" => return Ok(None),
                "--gateway" => wishes.gateway = Some(value()?),
                "--at-once" => {
                    let count = value()?;
                    wishes.at_once = Some(count.parse().map_err(|_| format!("{count} is no number"))?);
                }
                "--recordings" => wishes.recordings = Some(value()?.into()),
                "--ratchet" => wishes.ratchets = true,
                "--lower" => wishes.lowers = true,
                "--judge" => wishes.kept = Some(value()?.into()),
                option if option.starts_with("--") => return Err(format!("{option} is no option")),
                folder => wishes.folders.push(folder.into()),
            }
        }
        if wishes.folders.is_empty() {
            return Err("name a folder".to_owned());
        }
        Ok(Some(wishes))
    }

    fn program(&self) -> Program {
        let mut program = match &self.gateway {
            Some(words) => {
                // Nothing of ours is run.
                let mut program = Program::new(PathBuf::new(), PathBuf::new());
                program.replay = Some(Replay::foreign(words));
                program
            }
            None => program(),
        };
        if self.at_once.is_some() || self.recordings.is_some() || self.kept.is_some() {
            let mut replay = program.replay.take().unwrap_or_else(|| Replay::yabby(&program.path));
            replay.at_once = self.at_once.unwrap_or(replay.at_once);
            replay.recordings = self.recordings.clone();
            replay.kept = self.kept.clone();
            program.replay = Some(replay);
        }
        program
    }
}

/// Whether there is anything to run a program for.
fn holds_commands(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_default();
    let is_meant = |path: &Path| path.file_name().is_some_and(|name| name == "cli" || name == "gateway");
    let inner = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_lines = |path: &Path| path.extension().is_some_and(|end| end == "jsonl");
    let mut inside = inner.filter(|path| is_meant(path) || is_lines(path));
    inside.next().is_some() || is_lines(&folder) || is_meant(&folder) || folder.parent().is_some_and(is_meant)
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
    Program::new(path, project.join("vectors/cli/homes"))
}
