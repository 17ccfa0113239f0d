//! `yabby config`: reading and changing the configuration (`cli.md` §11).

mod validate;

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use yabby_config::extras;
use yabby_config::issue::Issue;
use yabby_config::key_path::KeyPath;
use yabby_config::redaction;
use yabby_config::schema;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::secrets::is_secret_key;
use yabby_domain::text;
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, Edit, EditError};

use super::gateway::run::reload;
use super::gateway::service::holder;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  yabby config get gateway.port
  yabby config set agents.list[0].name Mia
  yabby config set tools.allow '[\"read\", \"exec\"]' --json
  yabby config unset ui.seamColor
  yabby config validate"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a value, or with --all everything
    #[command(after_help = "Examples:
  yabby config get --all
  yabby config get gateway.port
  yabby config get agents.list[1] --json
  yabby config get 'agents.defaults.models.openai/gpt-5\\.2'")]
    Get {
        /// The way to the value: keys parted by dots, indexes in brackets, `\.` for a dot in a key
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        path: Option<String>,
        /// Print everything
        #[arg(long)]
        all: bool,
        /// Print JSON, texts in quotes
        #[arg(long)]
        json: bool,
        /// Print the secrets in it on a terminal, too; one that PATH names itself is always printed
        #[arg(long)]
        show_secrets: bool,
    },
    /// Change a value; comments and everything else stay as they are
    #[command(after_help = "Examples:
  yabby config set gateway.port 18789
  yabby config set ui.seamColor '#445566'
  yabby config set agents.defaults.model '{primary: \"anthropic/claude-opus-4-5\"}' --json
  yabby config set gateway.auth.token '${GATEWAY_TOKEN}'")]
    Set {
        /// The way to the value: keys parted by dots, indexes in brackets, `\.` for a dot in a key
        path: String,
        /// JSON5; what is not is taken as a text
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Insist on JSON5
        #[arg(long)]
        json: bool,
    },
    /// Remove a value
    #[command(
        after_help = "Examples:\n  yabby config unset ui.seamColor\n  yabby config unset agents.list[1]"
    )]
    Unset {
        /// The way to the value: keys parted by dots, indexes in brackets, `\.` for a dot in a key
        path: String,
    },
    /// Say what is wrong with the configuration, and on which line
    #[command(
        after_help = "Examples:\n  yabby config validate\n  yabby config validate --json | jq '.issues[].path'"
    )]
    Validate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of the configuration
    #[command(
        after_help = "Examples:\n  yabby config schema > yabby.schema.json\n  yabby config schema --extras"
    )]
    Schema {
        /// That of yabby-extras.json, which holds the settings that only yabby knows
        #[arg(long)]
        extras: bool,
    },
    /// Print where the configuration is
    #[command(after_help = "Examples:\n  yabby config path\n  $EDITOR \"$(yabby config path)\"")]
    Path {
        /// Print JSON, with what else is known about the file
        #[arg(long)]
        json: bool,
    },
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Get { path, json, show_secrets, .. } => get(setting, path.as_deref(), *json, *show_secrets),
        Command::Set { path, value, json } => set(setting, path, value, *json),
        Command::Unset { path } => unset(setting, path),
        Command::Validate { json } => validate::run(setting, *json),
        Command::Schema { extras: false } => print(&json::stringify_pretty(&schema::schema())),
        Command::Schema { extras: true } => print(&json::stringify_pretty(&extras::schema())),
        Command::Path { json } => print_path(setting, *json),
    }
}

fn get(setting: &Setting, path: Option<&str>, as_json: bool, shows_secrets: bool) -> Result<()> {
    let snapshot = setting.snapshot()?;
    let all = snapshot.with_extras();
    let find = |root| match path {
        None => Ok(root),
        Some(raw) => KeyPath::parse(raw)?.get(root).ok_or_else(|| anyhow::Error::from(not_found(raw))),
    };
    let value = find(all.raw())?;
    // Who names a secret wants it; who names what is around it need not think of it. Programs read what the reference
    // prints.
    let is_part = value.is_object() || value.is_array();
    let is_shown = std::io::stdout().is_terminal() && !shows_secrets;
    let masked = (is_part && is_shown).then(|| redaction::redacted(all.raw()));
    let value = masked.as_ref().map_or(Ok(value), find)?;
    match value {
        Value::String(text) if !as_json => print(&text::to_outside(text)),
        value => print(&json::stringify_pretty(value)),
    }
}

fn set(setting: &Setting, raw_path: &str, raw: &str, must_be_json: bool) -> Result<()> {
    let before = setting.snapshot()?;
    let path = KeyPath::parse(raw_path)?;
    let value = match json::read_json5(text::trim(raw)) {
        Ok(value) => value,
        Err(fault) if must_be_json => {
            return Err(anyhow!("Failed to parse JSON5 value: SyntaxError: {fault}"));
        }
        Err(_) => Value::String(text::from_outside(raw).into_owned()),
    };
    let edited = ConfigFile::of(&setting.place).edit(&path, &Edit::Set(value.clone()));
    if let (Err(EditError::Refused(issue)), false) = (&edited, setting.keeps_reference_text()) {
        return Err(anyhow!("{}", refused(issue, &path, &value)));
    }
    report(setting, edited, raw_path)?;
    print(&format!("Updated {raw_path}.{}", when_applied(setting, &before)))
}

fn unset(setting: &Setting, raw_path: &str) -> Result<()> {
    let before = setting.snapshot()?;
    let path = KeyPath::parse(raw_path)?;
    let edited = ConfigFile::of(&setting.place).edit(&path, &Edit::Unset);
    report(setting, edited, raw_path)?;
    print(&format!("Removed {raw_path}.{}", when_applied(setting, &before)))
}

/// When a change is in force: whether a gateway that runs applies it, or has to be started again.
fn when_applied(setting: &Setting, before: &Snapshot) -> &'static str {
    const RESTART: &str = " Restart the gateway to apply.";
    if setting.keeps_reference_text() {
        return RESTART;
    }
    let after = Snapshot::read(&setting.place);
    match (holder(setting), reload::outcome(setting, &before.for_run(), &after.for_run())) {
        (None, _) => "",
        (Some(_), reload::Outcome::Unchanged) => " Nothing changes for the running gateway.",
        (Some(_), reload::Outcome::Live) => " The running gateway applies it now.",
        (Some(_), reload::Outcome::Restart) => " The running gateway restarts itself to apply it.",
        (Some(_), reload::Outcome::ByHand) => RESTART,
    }
}

/// A value that may not stand where somebody wanted to put it, and what may.
fn refused(issue: &Issue, path: &KeyPath, value: &Value) -> String {
    let shown = match path.segments().iter().any(|key| is_secret_key(key)) {
        true => "the value".to_owned(),
        false => terminal::short(&json::stringify(value), 60),
    };
    let allowed = issue.allowed.as_ref().map(|allowed| format!(" (allowed: {allowed})")).unwrap_or_default();
    let is_about_key = issue.message.starts_with("Unrecognized key");
    match (is_about_key, issue.path.as_str()) {
        // It is the key that is wrong, whatever the value.
        (true, "") => format!("{}{allowed}", issue.message),
        (true, path) => format!("{path}: {}{allowed}", issue.message),
        (false, path) => format!("{path}: {shown} is not allowed: {}{allowed}", issue.message),
    }
}

/// What an edit says besides that it is done.
pub(super) fn report(setting: &Setting, edited: Result<Snapshot, EditError>, raw_path: &str) -> Result<()> {
    match edited {
        Ok(snapshot) => {
            for warning in &snapshot.warnings {
                anstream::eprintln!("warning: {warning}");
            }
            Ok(())
        }
        Err(EditError::NotFound(_)) => Err(not_found(raw_path).into()),
        Err(EditError::Invalid(snapshot)) => Err(setting.refusal(&snapshot).into()),
        Err(error) => Err(error.into()),
    }
}

fn not_found(raw: &str) -> Failure {
    Failure::bare(format!("Config path not found: {raw}"))
}

fn print_path(setting: &Setting, as_json: bool) -> Result<()> {
    let place = &setting.place;
    if !as_json {
        return print(&place.config.display().to_string());
    }
    let snapshot = Snapshot::read(place);
    let mut known = Object::new();
    known.insert("path".to_owned(), place.config.display().to_string().into());
    known.insert("exists".to_owned(), snapshot.exists.into());
    known.insert("valid".to_owned(), snapshot.is_valid().into());
    known.insert("hash".to_owned(), snapshot.hash.into());
    known.insert("extrasPath".to_owned(), snapshot.extras.path.display().to_string().into());
    known.insert("extrasExists".to_owned(), snapshot.extras.exists.into());
    known.insert("stateDir".to_owned(), place.folder.path().display().to_string().into());
    print(&json::stringify_pretty(&Value::Object(known)))
}

fn print(text: &str) -> Result<()> {
    writeln!(anstream::stdout(), "{text}")?;
    Ok(())
}
