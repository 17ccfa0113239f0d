//! `yabby skills list`

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use yabby_domain::skills::status::SkillStatus;

use super::{find, is_bundled, missing_line, needs_json, shown};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only those that are ready
    #[arg(long)]
    eligible: bool,
    /// Also tell what is missing
    #[arg(short, long)]
    verbose: bool,
}

const READY: Style = AnsiColor::Green.on_default();
const NOT: Style = AnsiColor::Yellow.on_default();
const FAINT: Style = Style::new().dimmed();

pub fn run(setting: &Setting, arguments: &List) -> Result<()> {
    let found = find(setting)?;
    let ready = found.skills.iter().filter(|skill| skill.is_eligible()).count();
    let skills: Vec<&SkillStatus> =
        found.skills.iter().filter(|skill| !arguments.eligible || skill.is_eligible()).collect();
    if arguments.json {
        return terminal::print_json(&json!({
            "workspaceDir": found.workspace,
            "managedSkillsDir": found.managed,
            "skills": skills.into_iter().map(to_json).collect::<Vec<_>>(),
        }));
    }
    let mut out = anstream::stdout().lock();
    if skills.is_empty() {
        let all = setting.command("skills list");
        match arguments.eligible && !found.skills.is_empty() {
            true => writeln!(out, "No eligible skills found. Run `{all}` to see all skills.")?,
            false => writeln!(out, "No skills found.")?,
        }
        return Ok(());
    }
    writeln!(out, "Skills ({ready}/{} ready)", found.skills.len())?;
    let most = skills.iter().map(|skill| terminal::columns(&shown(skill))).max().unwrap_or(0);
    let room = terminal::width().map(|width| width.saturating_sub(most + 14).max(20));
    for skill in skills {
        let (style, state) = state(skill);
        let name = shown(skill);
        let pad = most.saturating_sub(terminal::columns(&name));
        let about = terminal::harmless(&skill.description);
        let about = room.map_or_else(|| about.clone(), |room| terminal::short(&about, room));
        writeln!(out, "{style}{state:<10}{style:#}  {name}{:pad$}  {about}", "")?;
        let missing = missing_line(&skill.missing);
        if arguments.verbose && !missing.is_empty() {
            writeln!(out, "{:12}{FAINT}{missing}{FAINT:#}", "")?;
        }
    }
    Ok(())
}

fn state(skill: &SkillStatus) -> (Style, &'static str) {
    match () {
        () if skill.disabled => (FAINT, "⏸ disabled"),
        () if skill.blocked_by_allowlist => (NOT, "🚫 blocked"),
        () if skill.is_eligible() => (READY, "✓ ready"),
        () => (NOT, "✗ missing"),
    }
}

fn to_json(skill: &SkillStatus) -> Value {
    let mut row = json!({
        "name": skill.name,
        "description": skill.description,
        "emoji": skill.emoji,
        "eligible": skill.is_eligible(),
        "disabled": skill.disabled,
        "blockedByAllowlist": skill.blocked_by_allowlist,
        "source": skill.source.as_str(),
        "bundled": is_bundled(skill),
        "primaryEnv": skill.primary_variable,
        "homepage": skill.homepage,
        "missing": needs_json(&skill.missing),
    });
    if let Some(fields) = row.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    row
}
