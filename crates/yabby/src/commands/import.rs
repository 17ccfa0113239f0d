//! `yabby import`: adopt the folder of another program. The source is only read.

use std::io::Write as _;
use std::path::PathBuf;

use anstyle::Style;
use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueEnum};
use yabby_config::key_path::KeyPath;
use yabby_config::redaction;
use yabby_domain::access::session_owner::is_owner;
use yabby_domain::agent;
use yabby_domain::config::text::TextOrNumber;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::secrets::HIDDEN;
use yabby_domain::session::adopt::Program;
use yabby_domain::session::key::default_agent;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, Edit, EditError};
use yabby_store::files::transcripts::Adopted;
use yabby_store::import::{self, Mode, Outcome, Source, Target};

use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    /// Whose folder it is
    program: Which,
    /// The folder to adopt, such as ~/.openbot
    dir: PathBuf,
    /// Who you are there, such as telegram:42: what was said to you is yours to find
    #[arg(long, value_name = "CHANNEL:ID")]
    owner: Option<String>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Openbot,
    Openclaudecode,
}

/// A setting, and what became of it.
struct Applied {
    from: String,
    path: String,
    value: Value,
    /// The person had set it already; theirs stays.
    was_set: bool,
}

impl Applied {
    /// The value as it is shown: a token is hidden.
    fn shown(&self) -> Value {
        let mut whole = Value::Object(Object::new());
        let Ok(key) = KeyPath::parse(&self.path) else { return HIDDEN.into() };
        if key.set(&mut whole, self.value.clone()).is_err() {
            return HIDDEN.into();
        }
        // A reference to a variable is no secret.
        match redaction::secrets(&whole).is_empty() {
            true => self.value.clone(),
            false => HIDDEN.into(),
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let program = match arguments.program {
        Which::Openbot => Program::OpenBot,
        Which::Openclaudecode => Program::OpenClaudeCode,
    };
    let mode = if arguments.dry_run { Mode::DryRun } else { Mode::Real };
    // Before anything is adopted.
    let owner = arguments.owner.as_deref().map(owner_address).transpose()?;
    let book = Book::open(setting)?;
    let mut source = import::read(program, &arguments.dir)?;
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    let target = Target {
        default_agent: default_agent(book.config()),
        store: &|agent| book.store_path(agent),
        workspace: &|id: &AgentId| {
            let known = agents.iter().find(|agent| agent.id == *id).or(agents.first());
            known.map(|agent| agent.workspace.clone()).unwrap_or_default()
        },
    };
    let outcomes = import::adopt(program, &source, &target, mode)?;
    let applied = apply_settings(setting, &mut source, &outcomes, owner.as_deref(), mode)?;
    if arguments.json {
        print_json(arguments, &source, &outcomes, &applied)
    } else {
        print_text(setting, arguments, &source, &outcomes, &applied)
    }
}

/// Writes the settings that nobody has set here yet.
fn apply_settings(
    setting: &Setting,
    source: &mut Source,
    outcomes: &[Outcome],
    owner: Option<&str>,
    mode: Mode,
) -> Result<Vec<Applied>> {
    let known = setting.snapshot()?;
    let defaults = Snapshot::of_text(&setting.place, "{}".to_owned()).config.raw().clone();
    let mut applied: Vec<Applied> = Vec::new();
    let mut wanted: Vec<(String, String, Value)> = source
        .settings
        .iter()
        .map(|setting| (setting.from.clone(), setting.path.to_owned(), setting.value.clone()))
        .collect();
    // People were kept apart there, and have sessions of their own; so let them stay apart here.
    if outcomes.iter().any(|outcome| outcome.key.as_str().contains(":dm:")) {
        let scope = Value::from("per-channel-peer");
        wanted.push(("a session for each person".to_owned(), "session.dmScope".to_owned(), scope));
    }
    if let Some(owner) = owner {
        let known = known.config.commands.owner_allow_from.iter().flatten();
        let mut owners: Vec<Value> = known.map(TextOrNumber::to_value).collect();
        if !owners.iter().any(|known| known.as_str() == Some(owner)) {
            owners.push(owner.into());
            let key = KeyPath::parse(OWNERS)?;
            if mode == Mode::Real {
                ConfigFile::of(&setting.place).edit(&key, &Edit::Set(owners.clone().into()))?;
            }
            let (from, path) = ("--owner".to_owned(), OWNERS.to_owned());
            applied.push(Applied { from, path, value: owners.into(), was_set: false });
        }
    }
    for (from, path, value) in wanted {
        let key = KeyPath::parse(&path).with_context(|| format!("no setting is called {path}"))?;
        // Every edit writes defaults down, too: what is one was set by nobody.
        let is_set = |known: &Value| key.get(known).is_some_and(|value| key.get(&defaults) != Some(value));
        let was_set = is_set(&known.parsed) || key.get(&known.extras.value).is_some();
        if !was_set && mode == Mode::Real {
            match ConfigFile::of(&setting.place).edit(&key, &Edit::Set(value.clone())) {
                // What was odd there must not keep the rest from being told.
                Err(EditError::Refused(issue)) => {
                    source.left.push(format!("{from}: {issue}"));
                    continue;
                }
                edited => drop(edited?),
            }
        }
        applied.push(Applied { from, path, value, was_set });
    }
    Ok(applied)
}

/// `telegram:42` of `agent:main:telegram:dm:42`.
fn person_of(key: &str) -> Option<String> {
    let (before, peer) = key.split_once(":dm:")?;
    let channel = before.split(':').nth(2)?;
    Some(format!("{channel}:{peer}"))
}

/// The setting that says who the owner is.
const OWNERS: &str = "commands.ownerAllowFrom";

/// `telegram:42`: a channel, and who the owner is there.
fn owner_address(raw: &str) -> Result<String> {
    match raw.trim().split_once(':') {
        Some((channel, id)) if !channel.trim().is_empty() && !id.trim().is_empty() => {
            Ok(format!("{}:{}", channel.trim().to_lowercase(), id.trim()))
        }
        _ => Err(anyhow!("--owner must be a channel and an id, such as telegram:42")),
    }
}

fn word(adopted: Adopted) -> &'static str {
    match adopted {
        Adopted::New => "new",
        Adopted::Grown => "grown",
        Adopted::Known => "known",
        Adopted::GoneOnHere => "changed here, left alone",
    }
}

fn print_json(
    arguments: &Arguments,
    source: &Source,
    outcomes: &[Outcome],
    applied: &[Applied],
) -> Result<()> {
    let mut out = Object::new();
    out.insert("source".to_owned(), arguments.dir.display().to_string().into());
    out.insert("dryRun".to_owned(), arguments.dry_run.into());
    let session = |outcome: &Outcome| {
        let mut row = Object::new();
        row.insert("from".to_owned(), outcome.from.as_str().into());
        row.insert("key".to_owned(), outcome.key.as_str().into());
        row.insert("sessionId".to_owned(), outcome.session_id.as_str().into());
        row.insert("messages".to_owned(), outcome.messages.into());
        row.insert("outcome".to_owned(), word(outcome.adopted).into());
        Value::Object(row)
    };
    out.insert("sessions".to_owned(), outcomes.iter().map(session).collect());
    let setting = |applied: &Applied| {
        let mut row = Object::new();
        row.insert("from".to_owned(), applied.from.as_str().into());
        row.insert("path".to_owned(), applied.path.as_str().into());
        row.insert("value".to_owned(), applied.shown());
        row.insert("alreadySet".to_owned(), applied.was_set.into());
        Value::Object(row)
    };
    out.insert("settings".to_owned(), applied.iter().map(setting).collect());
    out.insert("left".to_owned(), source.left.iter().map(String::as_str).collect());
    terminal::print_json(&Value::Object(out))
}

fn print_text(
    setting: &Setting,
    arguments: &Arguments,
    source: &Source,
    outcomes: &[Outcome],
    applied: &[Applied],
) -> Result<()> {
    const FAINT: Style = Style::new().dimmed();
    let mut out = std::io::BufWriter::new(anstream::stdout().lock());
    for outcome in outcomes {
        let messages = terminal::counted(outcome.messages, "message");
        let line = format!("{} ← {}", outcome.key, outcome.from);
        writeln!(
            out,
            "{} {FAINT}({messages}, {}){FAINT:#}",
            terminal::harmless(&line),
            word(outcome.adopted)
        )?;
    }
    for applied in applied {
        let kept = if applied.was_set { " (set here already, left alone)" } else { "" };
        let line = format!("{} = {} ← {}", applied.path, json::stringify(&applied.shown()), applied.from);
        writeln!(out, "{}{FAINT}{kept}{FAINT:#}", terminal::harmless(&line))?;
    }
    for left in &source.left {
        writeln!(out, "{FAINT}not taken over: {}{FAINT:#}", terminal::harmless(left))?;
    }
    let new = outcomes.iter().filter(|outcome| outcome.adopted == Adopted::New).count();
    let grown = outcomes.iter().filter(|outcome| outcome.adopted == Adopted::Grown).count();
    let folder = setting.place.shortened(setting.place.folder.path());
    let would = if arguments.dry_run { "Would adopt" } else { "Adopted" };
    writeln!(
        out,
        "{would} {} into {folder}: {new} new, {grown} grown.",
        terminal::counted(outcomes.len(), "session")
    )?;
    if !arguments.dry_run && new + grown > 0 {
        writeln!(out, "Read them with `yabby sessions --agent all` and `yabby history`.")?;
    }
    let config = setting.config()?;
    let is_stranger = |person: &String| !is_owner(person, &config);
    let people = outcomes.iter().filter_map(|outcome| person_of(outcome.key.as_str())).filter(is_stranger);
    let people: Vec<String> = people.collect();
    if let (None, [first, ..]) = (&arguments.owner, people.as_slice()) {
        let first = terminal::harmless(first);
        writeln!(
            out,
            "Conversations with one person are that person's: a search of yours does not find them. If one of them is you, add `--owner {first}`."
        )?;
    }
    out.flush()?;
    Ok(())
}
