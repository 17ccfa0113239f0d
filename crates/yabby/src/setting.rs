//! Where a command works and with which configuration.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use yabby_config::issue::Issue;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};
use yabby_domain::secrets::is_secret_key;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::ConfigFile;
use yabby_store::paths::Place;

use crate::failure::Failure;
use crate::logs;
use crate::terminal;
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

    /// What stops a command on an invalid configuration: each issue with its line, its value and what is allowed, and
    /// what to do about it. Scripts on a folder of the reference also get its note (`config.md` §3).
    pub fn refusal(&self, snapshot: &Snapshot) -> Failure {
        let located: Vec<String> =
            snapshot.issues.iter().map(|issue| located(self, snapshot, issue)).collect();
        let located = located.join("\n");
        Failure::bare(match self.keeps_reference_text() {
            true => format!("{located}\n{}", note(snapshot, self)),
            false => format!("The configuration is invalid:\n{located}\n{}", self.remedy(snapshot)),
        })
    }

    /// What helps: a repair takes care of keys that nobody knows and of those of earlier releases, and of nothing else.
    fn remedy(&self, snapshot: &Snapshot) -> String {
        let file = self.place.shortened(&snapshot.path);
        match ConfigFile::of(&self.place).can_be_repaired() {
            true => format!("Run: {}", self.command("doctor --fix")),
            false => format!("Correct it in {file}; `{}` checks it.", self.command("config validate")),
        }
    }
}

/// An issue with the file and the line that it is about, and with what is allowed there.
pub fn located(setting: &Setting, snapshot: &Snapshot, issue: &Issue) -> String {
    let spot = match snapshot.line_of(issue) {
        Some(spot) => format!("{}:{}", setting.place.shortened(&spot.file), spot.line),
        None => setting.place.shortened(&snapshot.path),
    };
    let found = value_at(snapshot, issue).map(|value| format!("; found {value}")).unwrap_or_default();
    match &issue.allowed {
        Some(allowed) => format!("{spot}: {issue}{found} (allowed: {allowed})"),
        None => format!("{spot}: {issue}{found}"),
    }
}

/// The value that an issue is about, if it is a single one and no secret.
fn value_at(snapshot: &Snapshot, issue: &Issue) -> Option<String> {
    const LONGEST: usize = 60;
    let mut value = &snapshot.parsed;
    let mut rest = issue.path.as_str();
    while !rest.is_empty() {
        // A key may hold dots: the longest one that is there is meant.
        let mut ends: Vec<usize> = rest.match_indices('.').map(|(at, _)| at).chain([rest.len()]).collect();
        ends.reverse();
        let inner = |end: usize| match value {
            Value::Array(items) => items.get(rest[..end].parse::<usize>().ok()?),
            value => value.get(&rest[..end]),
        };
        let (inner, end) = ends.into_iter().find_map(|end| Some((inner(end)?, end)))?;
        if is_secret_key(&rest[..end]) {
            return None;
        }
        (value, rest) = (inner, rest[end..].trim_start_matches('.'));
    }
    let is_single = !issue.path.is_empty() && !value.is_object() && !value.is_array();
    is_single.then(|| terminal::short(&json::stringify(value), LONGEST))
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
