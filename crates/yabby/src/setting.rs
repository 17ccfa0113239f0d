//! Where a command works and with which configuration.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use yabby_config::issue::Issue;
use yabby_domain::config::Config;
use yabby_store::config_file::Snapshot;
use yabby_store::paths::Place;

use crate::failure::Failure;
use crate::logs;
use crate::wire::secrets::secrets;

/// What every command is given.
pub struct Setting {
    pub place: Place,
    /// The options that chose the place, to be given again.
    pub chosen_by: String,
    pub when_invalid: WhenInvalid,
}

/// What a command does about an invalid configuration.
pub enum WhenInvalid {
    /// It stops, and says what is wrong.
    Stop,
    /// It says so, once, and goes on with what can be read: whoever looks why something does not work is helped.
    GoOn { said: AtomicBool },
}

impl WhenInvalid {
    pub fn go_on() -> Self {
        Self::GoOn { said: AtomicBool::new(false) }
    }
}

impl Setting {
    /// The configuration to run with; an invalid one stops most commands, and says what is wrong.
    pub fn config(&self) -> Result<Config> {
        let snapshot = self.snapshot()?;
        Ok(if snapshot.is_valid() { snapshot.for_run() } else { snapshot.with_extras() })
    }

    /// The configuration as a person sees it, if it is valid, or if the command goes on all the same.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let snapshot = Snapshot::read(&self.place);
        logs::hide(secrets(&self.place, &snapshot.with_extras(), &snapshot.environment));
        for notice in &snapshot.notices {
            anstream::eprintln!("{notice}");
        }
        if snapshot.is_valid() {
            return Ok(snapshot);
        }
        match &self.when_invalid {
            WhenInvalid::Stop => Err(self.refusal(&snapshot).into()),
            WhenInvalid::GoOn { said } => {
                if !said.swap(true, Ordering::Relaxed) {
                    anstream::eprintln!("{}", crate::failure::text(&self.refusal(&snapshot).into()));
                }
                Ok(snapshot)
            }
        }
    }

    /// Whether a script that was written for the reference may read what is printed: the folder is the reference's, and
    /// nobody sits at a terminal. It gets the reference's words, where people get plainer ones.
    pub fn keeps_reference_text(&self) -> bool {
        !self.is_own_folder() && !std::io::stderr().is_terminal()
    }

    /// Whether the folder was begun by yabby; others are the reference's.
    pub fn is_own_folder(&self) -> bool {
        self.place.config.file_name().is_some_and(|name| name == "yabby.json")
    }

    /// A command as a person has to type it to work in the same place.
    pub fn command(&self, words: &str) -> String {
        format!("yabby{} {words}", self.chosen_by)
    }

    /// What stops a command on an invalid configuration: first each issue with its line and what is
    /// allowed, then the note of the reference (`config.md` §3).
    pub fn refusal(&self, snapshot: &Snapshot) -> Failure {
        let located: Vec<String> =
            snapshot.issues.iter().map(|issue| located(self, snapshot, issue)).collect();
        Failure::bare(format!("{}\n{}", located.join("\n"), note(snapshot, self)))
    }
}

/// An issue with the file and the line that it is about, and with what is allowed there.
pub fn located(setting: &Setting, snapshot: &Snapshot, issue: &Issue) -> String {
    let spot = match snapshot.line_of(issue) {
        Some(spot) => format!("{}:{}", setting.place.shortened(&spot.file), spot.line),
        None => setting.place.shortened(&snapshot.path),
    };
    match &issue.allowed {
        Some(allowed) => format!("{spot}: {issue} (allowed: {allowed})"),
        None => format!("{spot}: {issue}"),
    }
}

fn note(snapshot: &Snapshot, setting: &Setting) -> String {
    let list = |issues: &[Issue]| -> String { issues.iter().map(|issue| format!("  - {issue}\n")).collect() };
    let legacy = match snapshot.legacy.is_empty() {
        true => String::new(),
        false => format!("Legacy config keys detected:\n{}", list(&snapshot.legacy)),
    };
    let file = setting.place.shortened(&snapshot.path);
    let problems = list(&snapshot.issues);
    let command = setting.command("doctor --fix");
    format!("Config invalid\nFile: {file}\nProblem:\n{problems}{legacy}\nRun: {command}")
}
