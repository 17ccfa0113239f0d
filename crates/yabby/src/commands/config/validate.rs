//! `yabby config validate`: everything that is wrong, with its line.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use yabby_config::issue::Issue;
use yabby_domain::json::{self, Object, Value};
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::ConfigFile;

use crate::failure::Failure;
use crate::setting::{Setting, located};

const GOOD: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
const BAD: Style = Style::new().bold().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
const DOUBTFUL: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));

pub fn run(setting: &Setting, as_json: bool) -> Result<()> {
    let snapshot = Snapshot::read(&setting.place);
    if as_json {
        writeln!(anstream::stdout(), "{}", json::stringify_pretty(&report(setting, &snapshot)))?;
    } else {
        print(setting, &snapshot)?;
    }
    if snapshot.is_valid() { Ok(()) } else { Err(Failure::silent().into()) }
}

fn print(setting: &Setting, snapshot: &Snapshot) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let file = setting.place.shortened(&snapshot.path);
    let is_valid = snapshot.issues.len() == snapshot.extras.issues.len();
    match (snapshot.exists, is_valid) {
        (false, _) => writeln!(out, "{GOOD}valid{GOOD:#}  {file} (not there: all defaults)")?,
        (true, true) => writeln!(out, "{GOOD}valid{GOOD:#}  {file}")?,
        (true, false) => writeln!(out, "{BAD}invalid{BAD:#}  {file}")?,
    }
    if snapshot.extras.exists {
        let extras = setting.place.shortened(&snapshot.extras.path);
        match snapshot.extras.issues.is_empty() {
            true => writeln!(out, "{GOOD}valid{GOOD:#}  {extras}")?,
            false => writeln!(out, "{BAD}invalid{BAD:#}  {extras}")?,
        }
    }
    for issue in &snapshot.issues {
        writeln!(out, "  {BAD}-{BAD:#} {}", located(setting, snapshot, issue))?;
    }
    for warning in &snapshot.warnings {
        writeln!(out, "  {DOUBTFUL}warning{DOUBTFUL:#} {}", located(setting, snapshot, warning))?;
    }
    for notice in &snapshot.notices {
        writeln!(out, "  {DOUBTFUL}warning{DOUBTFUL:#} {notice}")?;
    }
    let unknown = snapshot.unknown_keys();
    let help = if !snapshot.legacy.is_empty() {
        "gives old keys their present names"
    } else if !unknown.is_empty() {
        writeln!(out, "Unknown keys: {}", unknown.join(", "))?;
        "makes those that are not allowed into comments"
    } else {
        return Ok(());
    };
    let file = ConfigFile::of(&setting.place);
    if file.can_be_repaired() {
        writeln!(out, "`yabby doctor --fix` {help}.")?;
        return Ok(());
    }
    // Old keys hide what else is wrong, and a repair waits for it.
    let left = file.left_by_repair();
    if !left.is_empty() {
        writeln!(out, "`yabby doctor --fix` {help}, once this is corrected:")?;
    }
    for issue in &left {
        writeln!(out, "  {BAD}-{BAD:#} {}", located(setting, snapshot, issue))?;
    }
    Ok(())
}

fn report(setting: &Setting, snapshot: &Snapshot) -> Value {
    let issues = |issues: &[Issue]| issues.iter().map(|issue| described(snapshot, issue)).collect::<Value>();
    let mut report = Object::new();
    report.insert("path".to_owned(), setting.place.config.display().to_string().into());
    report.insert("exists".to_owned(), snapshot.exists.into());
    report.insert("extrasPath".to_owned(), snapshot.extras.path.display().to_string().into());
    report.insert("extrasExists".to_owned(), snapshot.extras.exists.into());
    report.insert("valid".to_owned(), snapshot.is_valid().into());
    report.insert("issues".to_owned(), issues(&snapshot.issues));
    report.insert("warnings".to_owned(), issues(&snapshot.warnings));
    report.insert("legacyIssues".to_owned(), issues(&snapshot.legacy));
    report.insert("unknownKeys".to_owned(), snapshot.unknown_keys().into());
    report.insert("notices".to_owned(), snapshot.notices.clone().into());
    Value::Object(report)
}

fn described(snapshot: &Snapshot, issue: &Issue) -> Value {
    let mut described = Object::new();
    described.insert("path".to_owned(), issue.path.clone().into());
    described.insert("message".to_owned(), issue.message.clone().into());
    if let Some(allowed) = &issue.allowed {
        described.insert("allowed".to_owned(), allowed.clone().into());
    }
    if let Some(spot) = snapshot.line_of(issue) {
        described.insert("file".to_owned(), spot.file.display().to_string().into());
        described.insert("line".to_owned(), spot.line.into());
    }
    Value::Object(described)
}
