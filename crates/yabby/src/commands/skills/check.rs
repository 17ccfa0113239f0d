//! `yabby skills check`

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::skills::status::SkillStatus;

use super::{find, install_json, missing_line, needs_json, shown};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Check {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Check) -> Result<()> {
    let skills = find(setting)?.skills;
    let pick =
        |wanted: fn(&SkillStatus) -> bool| skills.iter().filter(|skill| wanted(skill)).collect::<Vec<_>>();
    let eligible = pick(SkillStatus::is_eligible);
    let disabled = pick(|skill| skill.disabled);
    let blocked = pick(|skill| skill.blocked_by_allowlist && !skill.disabled);
    let missing = pick(|skill| !skill.is_eligible() && !skill.disabled && !skill.blocked_by_allowlist);
    if arguments.json {
        let names =
            |skills: &[&SkillStatus]| skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
        let lacking = |skill: &&SkillStatus| json!({"name": skill.name, "missing": needs_json(&skill.missing), "install": install_json(skill)});
        return terminal::print_json(&json!({
            "summary": {
                "total": skills.len(),
                "eligible": eligible.len(),
                "disabled": disabled.len(),
                "blocked": blocked.len(),
                "missingRequirements": missing.len(),
            },
            "eligible": names(&eligible),
            "disabled": names(&disabled),
            "blocked": names(&blocked),
            "missingRequirements": missing.iter().map(lacking).collect::<Vec<_>>(),
        }));
    }
    let mut out = anstream::stdout().lock();
    writeln!(out, "Skills Status Check\n\nTotal: {}", skills.len())?;
    writeln!(out, "✓ Eligible: {}\n⏸ Disabled: {}", eligible.len(), disabled.len())?;
    writeln!(out, "🚫 Blocked by allowlist: {}\n✗ Missing requirements: {}", blocked.len(), missing.len())?;
    if !eligible.is_empty() {
        writeln!(out, "\nReady to use:")?;
        eligible.iter().try_for_each(|skill| writeln!(out, "  {}", shown(skill)))?;
    }
    if !missing.is_empty() {
        writeln!(out, "\nMissing requirements:")?;
        missing
            .iter()
            .try_for_each(|skill| writeln!(out, "  {} ({})", shown(skill), missing_line(&skill.missing)))?;
    }
    Ok(())
}
