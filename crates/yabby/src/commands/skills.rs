//! `yabby skills`: what the agent has been taught, and what is missing for the rest.

mod check;
mod info;
mod list;

use std::path::Path;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use yabby_domain::agent;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::skills::status::{Install, Needs, SkillStatus, statuses};
use yabby_domain::skills::{SkillSource, Surroundings, platform};

use crate::book::Book;
use crate::setting::Setting;
use crate::{terminal, wire};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Subcommand)]
enum Command {
    /// List the skills
    #[command(
        after_help = "Examples:\n  yabby skills list\n  yabby skills list --eligible\n  yabby skills list --json"
    )]
    List(list::List),
    /// Show one skill, and what it needs
    #[command(after_help = "Examples:\n  yabby skills info weather\n  yabby skills info weather --json")]
    Info(info::Info),
    /// Show which skills are ready, and what the others lack
    #[command(after_help = "Examples:\n  yabby skills check\n  yabby skills check --json")]
    Check(check::Check),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => list::run(setting, &arguments.list),
        Some(Command::List(arguments)) => list::run(setting, arguments),
        Some(Command::Info(arguments)) => info::run(setting, arguments),
        Some(Command::Check(arguments)) => check::run(setting, arguments),
    }
}

/// The skills of an agent, and where they were looked for.
struct Found {
    workspace: String,
    managed: String,
    skills: Vec<SkillStatus>,
}

fn find(setting: &Setting) -> Result<Found> {
    let book = Book::open(setting)?;
    let config = book.config();
    let agents = book.with_folders(|folders| agent::agents(config, folders));
    let default = agents.iter().find(|agent| agent.is_default).or_else(|| agents.first());
    let workspace = default.map(|agent| agent.workspace.clone()).unwrap_or_default();
    let managed = wire::managed_skills(&setting.place).to_string_lossy().into_owned();
    let (shelf, files) = wire::skill_files(&setting.place, workspace.clone().into(), config);
    let here = Surroundings {
        config,
        platform: platform(std::env::consts::OS),
        has_program: &|name| shelf.has_program(name),
        has_variable: &|name| shelf.has_variable(name),
    };
    Ok(Found { workspace, managed, skills: statuses(&files, &here) })
}

fn shown(skill: &SkillStatus) -> String {
    terminal::harmless(&format!("{} {}", skill.emoji.as_deref().unwrap_or("📦"), skill.name))
}

fn place(setting: &Setting, path: &str) -> String {
    terminal::harmless(&setting.place.shortened(Path::new(path)))
}

/// As the reference writes it.
fn needs_json(needs: &Needs) -> Value {
    json!({
        "bins": needs.programs,
        "anyBins": needs.any_program,
        "env": needs.variables,
        "config": needs.config,
        "os": needs.platforms,
    })
}

/// What is missing, in a line.
fn missing_line(needs: &Needs) -> String {
    let parts = [
        ("bins", &needs.programs),
        ("anyBins", &needs.any_program),
        ("env", &needs.variables),
        ("config", &needs.config),
        ("os", &needs.platforms),
    ];
    let told = parts.into_iter().filter(|(_, names)| !names.is_empty());
    terminal::harmless(
        &told.map(|(kind, names)| format!("{kind}: {}", names.join(", "))).collect::<Vec<_>>().join("; "),
    )
}

fn install_json(skill: &SkillStatus) -> Value {
    let way =
        |way: &Install| json!({"id": way.id, "kind": way.kind, "label": way.label, "bins": way.programs});
    skill.install.iter().map(way).collect()
}

fn is_bundled(skill: &SkillStatus) -> bool {
    skill.source == SkillSource::Bundled
}
