//! `yabby agents`: who there is to talk to; adding somebody, and letting somebody go (`cli.md` §6).

mod add;
mod delete;

use std::io::Write as _;
use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde::Serialize;
use yabby_config::key_path::KeyPath;
use yabby_domain::agent::{self, Agent};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_store::config_file::edit::{ConfigFile, Edit};

use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
}

impl Arguments {
    /// Whether nothing is to change.
    pub fn only_lists(&self) -> bool {
        matches!(self.command, None | Some(Command::List(_)))
    }
}

#[derive(Subcommand)]
enum Command {
    /// List the agents
    #[command(after_help = "Examples:\n  yabby agents list\n  yabby agents list --json --bindings")]
    List(List),
    /// Add an agent, with a workspace of its own
    #[command(
        after_help = "Examples:\n  yabby agents add\n  yabby agents add ops --workspace ~/ops --model anthropic/claude-opus-4-5\n  yabby agents add work --workspace ~/work --bind telegram:work --json"
    )]
    Add(add::Arguments),
    /// Take an agent out of the configuration, and put what it has into the trash
    #[command(
        after_help = "Nothing is deleted: its workspace, keys and conversations are in the folder `trash` afterwards.\n\nExamples:\n  yabby agents delete ops\n  yabby agents delete ops --force --json"
    )]
    Delete(delete::Arguments),
}

#[derive(Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show every routing rule
    #[arg(long)]
    bindings: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        // As the reference: `agents` alone lists.
        None => list(setting, &arguments.list),
        Some(Command::List(arguments)) => list(setting, arguments),
        Some(Command::Add(arguments)) => add::run(setting, arguments),
        Some(Command::Delete(arguments)) => delete::run(setting, arguments),
    }
}

/// An agent as it is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_emoji: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity_source: Option<&'static str>,
    workspace: String,
    agent_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    bindings: usize,
    is_default: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    binding_details: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<&'static str>,
}

fn list(setting: &Setting, arguments: &List) -> Result<()> {
    let book = Book::open(setting)?;
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    let entries = &book.config().agents.list;
    if entries.iter().filter(|entry| entry.default == Some(true)).count() > 1 {
        anstream::eprintln!("Multiple agents marked default=true; using the first entry as default.");
    }
    let summaries: Vec<Summary> =
        agents.into_iter().map(|agent| summary(agent, arguments.bindings)).collect();
    if arguments.json {
        return terminal::print_json(&serde_json::to_value(&summaries)?);
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "Agents:")?;
    for summary in &summaries {
        for line in lines(summary, setting) {
            writeln!(out, "{}", terminal::harmless(&line))?;
        }
    }
    writeln!(out, "Routing rules map channel/account/peer to an agent. Use --bindings for full rules.")?;
    writeln!(
        out,
        "Channel status reflects local config/creds. For live health: yabby channels status --probe."
    )?;
    Ok(())
}

/// Writes edits of the configuration, all or none.
fn edit(setting: &Setting, edits: &[(KeyPath, Edit)]) -> Result<()> {
    super::config::report(setting, ConfigFile::of(&setting.place).edit_all(edits), "")
}

/// The entry of an agent in the configuration's list.
fn position(config: &Config, agent: &AgentId) -> Option<usize> {
    config.agents.list.iter().position(|entry| AgentId::normalize(&entry.id) == *agent)
}

/// Says which agent is meant by a name that was written otherwise; beside what is printed for programs, which is one
/// value.
fn tell_normalized(id: &AgentId, as_json: bool) -> Result<()> {
    let told = format!("Normalized agent id to \"{id}\".");
    match as_json {
        true => anstream::eprintln!("{told}"),
        false => writeln!(anstream::stdout(), "{told}")?,
    }
    Ok(())
}

fn summary(agent: Agent, bindings: bool) -> Summary {
    let written = yabby_gateway::identity_in(Path::new(&agent.workspace));
    let stated = [&agent.identity.name, &agent.identity.emoji];
    let configured = stated.into_iter().flatten().any(|text| !text.is_empty());
    let source = match &written {
        Some(_) => Some("identity"),
        None if configured => Some("config"),
        None => None,
    };
    let written = written.unwrap_or_default();
    Summary {
        id: agent.id.to_string(),
        name: agent.name,
        identity_name: written.name.or(agent.identity.name),
        identity_emoji: written.emoji.or(agent.identity.emoji),
        identity_source: source,
        workspace: agent.workspace,
        agent_dir: agent.folder,
        model: agent.model,
        bindings: agent.bindings.len(),
        is_default: agent.is_default,
        binding_details: if bindings { agent.bindings } else { Vec::new() },
        routes: if agent.is_default { vec!["default (no explicit rules)"] } else { Vec::new() },
    }
}

fn lines(summary: &Summary, setting: &Setting) -> Vec<String> {
    let default = if summary.is_default { " (default)" } else { "" };
    let name = summary.name.as_ref().filter(|name| **name != summary.id);
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    let mut lines = vec![format!("- {}{default}{name}", summary.id)];
    let identity: Vec<&str> = [&summary.identity_emoji, &summary.identity_name]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    if !identity.is_empty() {
        let source = match summary.identity_source {
            Some("identity") => " (IDENTITY.md)",
            Some(_) => " (config)",
            None => "",
        };
        lines.push(format!("  Identity: {}{source}", identity.join(" ")));
    }
    let shortened = |path: &str| setting.place.shortened(Path::new(path));
    lines.push(format!("  Workspace: {}", shortened(&summary.workspace)));
    lines.push(format!("  Agent dir: {}", shortened(&summary.agent_dir)));
    lines.extend(summary.model.as_ref().map(|model| format!("  Model: {model}")));
    lines.push(format!("  Routing rules: {}", summary.bindings));
    if !summary.routes.is_empty() {
        lines.push(format!("  Routing: {}", summary.routes.join(", ")));
    }
    if !summary.binding_details.is_empty() {
        lines.push("  Routing rules:".to_owned());
        lines.extend(summary.binding_details.iter().map(|rule| format!("    - {rule}")));
    }
    lines
}
