//! `yabby approvals`: which programs agents may run (`exec-approvals.json`).

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::leash::approvals::{Approvals, EVERYBODY, pattern_of};
use yabby_domain::seam::approvals::ApprovalBook as _;
use yabby_domain::text;
use yabby_store::clock::SystemClock;
use yabby_store::disk::LocalDisk;
use yabby_store::files::exec_approvals::ExecApprovalsFile;

use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby approvals get\n  yabby approvals set --file ./exec-approvals.json\n  yabby approvals allowlist add \"~/Projects/**/bin/rg\"\n  yabby approvals allowlist add --agent main /usr/bin/uptime\n  yabby approvals allowlist remove \"~/Projects/**/bin/rg\""
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what is allowed
    #[command(after_help = "Examples:\n  yabby approvals get\n  yabby approvals get --json")]
    Get(Shape),
    /// Put other approvals in the place of these
    #[command(
        after_help = "Examples:\n  yabby approvals set --file ./exec-approvals.json\n  cat exec-approvals.json | yabby approvals set --stdin"
    )]
    Set {
        /// A file with approvals, in JSON
        #[arg(long, value_name = "PATH")]
        file: Option<PathBuf>,
        /// Read them from the standard input
        #[arg(long)]
        stdin: bool,
        #[command(flatten)]
        shape: Shape,
    },
    /// Allow a program, or no longer
    #[command(
        subcommand,
        after_help = "Examples:\n  yabby approvals allowlist add \"~/Projects/**/bin/rg\"\n  yabby approvals allowlist add --agent main /usr/bin/uptime\n  yabby approvals allowlist remove \"~/Projects/**/bin/rg\""
    )]
    Allowlist(Allowlist),
}

#[derive(Subcommand)]
enum Allowlist {
    /// Allow the programs that a pattern stands for
    #[command(
        after_help = "Examples:\n  yabby approvals allowlist add \"~/Projects/**/bin/rg\"\n  yabby approvals allowlist add --agent \"*\" /usr/bin/uname"
    )]
    Add(Entry),
    /// Allow them no longer
    #[command(after_help = "Examples:\n  yabby approvals allowlist remove /usr/bin/uptime")]
    Remove(Entry),
}

#[derive(Args)]
struct Entry {
    /// A path of a program; `*` is anything but a slash, `**` anything, `~` the home folder
    pattern: String,
    /// The agent that may run it
    #[arg(long, value_name = "ID", default_value = EVERYBODY)]
    agent: String,
    #[command(flatten)]
    shape: Shape,
}

#[derive(Args)]
struct Shape {
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let file = ExecApprovalsFile::of(&setting.place, Arc::new(LocalDisk));
    match &arguments.command {
        Command::Get(shape) => show(&file, shape),
        Command::Set { file: source, stdin, shape } => {
            let source = match (source, stdin) {
                (None, false) => return Err(Failure::bare("Provide --file or --stdin.").into()),
                (Some(_), true) => {
                    return Err(Failure::bare("Use either --file or --stdin (not both).").into());
                }
                (source, _) => source.as_ref(),
            };
            replace(&file, source)?;
            show(&file, shape)
        }
        Command::Allowlist(Allowlist::Add(entry)) => {
            let (agent, pattern) = entry.checked()?;
            if !pattern.contains('/') && !pattern.contains('~') {
                bail!(
                    "A pattern has to be a path, such as /usr/bin/{pattern}: a bare name stands for nothing."
                );
            }
            let id = uuid::Uuid::new_v4().to_string();
            let now = yabby_domain::seam::Clock::now(&SystemClock).as_millisecond();
            let mut is_new = false;
            file.update(&mut |approvals| is_new = approvals.allow(agent, pattern, id.clone(), now))?;
            if !is_new {
                return Ok(writeln!(anstream::stdout(), "Already allowlisted.")?);
            }
            show(&file, &entry.shape)
        }
        Command::Allowlist(Allowlist::Remove(entry)) => {
            let (agent, pattern) = entry.checked()?;
            // A file that has nothing to forget is not even begun.
            let mut was_there = file.read()?.forget(agent, pattern);
            if was_there {
                file.update(&mut |approvals| was_there = approvals.forget(agent, pattern))?;
            }
            if !was_there {
                return Ok(writeln!(anstream::stdout(), "Pattern not found.")?);
            }
            show(&file, &entry.shape)
        }
    }
}

impl Entry {
    fn checked(&self) -> Result<(&str, &str)> {
        let Some(pattern) = text::non_blank(&self.pattern) else {
            return Err(Failure::bare("Pattern required.").into());
        };
        let agent = text::non_blank(&self.agent).map_or(EVERYBODY, text::trim);
        Ok((agent, text::trim(pattern)))
    }
}

fn replace(file: &ExecApprovalsFile, source: Option<&PathBuf>) -> Result<()> {
    let written = match source {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => {
            let mut written = String::new();
            std::io::stdin().read_to_string(&mut written).context("cannot read the standard input")?;
            written
        }
    };
    let Some(Value::Object(object)) = json::parse_json5(&written) else {
        bail!("That is no JSON object with approvals. Nothing was changed.");
    };
    Ok(file.replace(object)?)
}

fn show(file: &ExecApprovalsFile, shape: &Shape) -> Result<()> {
    let text = file.text()?;
    let approvals = file.read()?;
    let hash = file.hash()?;
    let path = file.path().to_string_lossy();
    if shape.json {
        let shown = json!({
            "path": path,
            "exists": text.is_some(),
            "hash": hash,
            "file": approvals.without_token(),
        });
        return Ok(writeln!(std::io::stdout(), "{}", json::stringify(&shown))?);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "Approvals")?;
    let rows = [
        ("Path", terminal::harmless(&path)),
        ("Exists", if text.is_some() { "yes" } else { "no" }.to_owned()),
        ("Hash", hash),
        ("Defaults", defaults(&approvals)),
        ("Agents", approvals.agents().count().to_string()),
        ("Allowlist", entries(&approvals).len().to_string()),
    ];
    for (name, value) in rows {
        writeln!(out, "  {name:<10} {value}")?;
    }
    let entries = entries(&approvals);
    if !entries.is_empty() {
        writeln!(out, "\nAllowlist")?;
        let width = entries.iter().map(|(agent, _, _)| terminal::columns(agent)).max().unwrap_or(0);
        for (agent, pattern, used) in entries {
            let gap = " ".repeat(width - terminal::columns(&agent));
            writeln!(out, "  {agent}{gap}  {pattern}  ({used})")?;
        }
    }
    Ok(())
}

fn defaults(approvals: &Approvals) -> String {
    let defaults = approvals.object().get("defaults").and_then(Value::as_object);
    let said = |name: &str| match defaults?.get(name)? {
        Value::String(word) => Some(format!("{name}={}", terminal::harmless(word))),
        Value::Bool(flag) => Some(format!("{name}={}", if *flag { "on" } else { "off" })),
        _ => None,
    };
    let said: Vec<String> =
        ["security", "ask", "askFallback", "autoAllowSkills"].into_iter().filter_map(said).collect();
    if said.is_empty() { "none".to_owned() } else { said.join(", ") }
}

/// Agent, pattern, and when it was used.
fn entries(approvals: &Approvals) -> Vec<(String, String, String)> {
    let now = yabby_domain::seam::Clock::now(&SystemClock).as_millisecond();
    let mut entries = Vec::new();
    for (agent, settings) in approvals.agents() {
        let list = settings.get("allowlist").and_then(Value::as_array);
        for entry in list.into_iter().flatten() {
            let Some(pattern) = pattern_of(entry) else { continue };
            let used = entry.get("lastUsedAt").and_then(Value::as_i64).map_or_else(
                || "not used yet".to_owned(),
                |at| format!("used {} ago", age((now - at).max(0) / 1000)),
            );
            entries.push((terminal::harmless(agent), terminal::harmless(pattern), used));
        }
    }
    entries
}

fn age(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    }
}
