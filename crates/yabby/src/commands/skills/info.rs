//! `yabby skills info`

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use yabby_domain::skills::status::SkillStatus;

use super::{find, install_json, is_bundled, needs_json, place, shown};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Info {
    /// The name of the skill
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Info) -> Result<()> {
    let found = find(setting)?;
    let is_it = |skill: &&SkillStatus| skill.name == arguments.name || skill.key == arguments.name;
    let Some(skill) = found.skills.iter().find(is_it) else {
        let list = setting.command("skills list");
        return Err(Failure::bare(format!(
            "Skill \"{}\" not found. Run `{list}` to see available skills.",
            terminal::harmless(&arguments.name)
        ))
        .into());
    };
    if arguments.json {
        return terminal::print_json(&to_json(skill));
    }
    let mut out = anstream::stdout().lock();
    let state = match () {
        () if skill.disabled => "⏸ Disabled",
        () if skill.blocked_by_allowlist => "🚫 Blocked by allowlist",
        () if skill.is_eligible() => "✓ Ready",
        () => "✗ Missing requirements",
    };
    writeln!(out, "{} {state}\n\n{}\n", shown(skill), terminal::harmless(&skill.description))?;
    writeln!(out, "Details:\n  Source: {}\n  Path: {}", skill.source.as_str(), place(setting, &skill.path))?;
    if let Some(homepage) = &skill.homepage {
        writeln!(out, "  Homepage: {}", terminal::harmless(homepage))?;
    }
    if let Some(variable) = &skill.primary_variable {
        writeln!(out, "  Primary env: {}", terminal::harmless(variable))?;
    }
    let groups = [
        ("Binaries", &skill.needs.programs, &skill.missing.programs),
        ("Any binaries", &skill.needs.any_program, &skill.missing.any_program),
        ("Environment", &skill.needs.variables, &skill.missing.variables),
        ("Config", &skill.needs.config, &skill.missing.config),
        ("OS", &skill.needs.platforms, &skill.missing.platforms),
    ];
    if groups.iter().any(|(_, needed, _)| !needed.is_empty()) {
        writeln!(out, "\nRequirements:")?;
    }
    for (title, needed, missing) in groups.into_iter().filter(|(_, needed, _)| !needed.is_empty()) {
        let marked = |name: &String| format!("{} {name}", if missing.contains(name) { "✗" } else { "✓" });
        let names: Vec<String> = needed.iter().map(marked).collect();
        writeln!(out, "  {title}: {}", terminal::harmless(&names.join(", ")))?;
    }
    Ok(())
}

fn to_json(skill: &SkillStatus) -> Value {
    let mut info = json!({
        "name": skill.name,
        "description": skill.description,
        "source": skill.source.as_str(),
        "bundled": is_bundled(skill),
        "filePath": skill.path,
        "baseDir": skill.folder,
        "skillKey": skill.key,
        "primaryEnv": skill.primary_variable,
        "emoji": skill.emoji,
        "homepage": skill.homepage,
        "always": skill.always,
        "disabled": skill.disabled,
        "blockedByAllowlist": skill.blocked_by_allowlist,
        "eligible": skill.is_eligible(),
        "requirements": needs_json(&skill.needs),
        "missing": needs_json(&skill.missing),
        "configChecks": skill.config_checks.iter().map(|(path, satisfied)| json!({"path": path, "satisfied": satisfied})).collect::<Vec<_>>(),
        "install": install_json(skill),
    });
    if let Some(fields) = info.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    info
}
