//! Where a command works and with which configuration.

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
}

impl Setting {
    /// The configuration to run with; an invalid one stops the command, and says what is wrong.
    pub fn config(&self) -> Result<Config> {
        Ok(self.snapshot()?.for_run())
    }

    /// The configuration as a person sees it, if it is valid.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let snapshot = Snapshot::read(&self.place);
        logs::hide(secrets(&self.place, &snapshot.with_extras(), &snapshot.environment));
        for notice in &snapshot.notices {
            anstream::eprintln!("{notice}");
        }
        if snapshot.is_valid() { Ok(snapshot) } else { Err(self.refusal(&snapshot).into()) }
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
