//! What agents have been taught, as clients are told (`gateway.md` §7, `skills.*`).

use serde_json::json;
use yabby_domain::agent::Agent;
use yabby_domain::json::Value;
use yabby_domain::skills::status::{Install, Needs, SkillStatus, statuses};
use yabby_domain::skills::{SkillSource, Surroundings, platform};

use crate::Gateway;
use crate::frames::Refusal;

/// The skills of an agent, ready or not.
pub(super) async fn of(gateway: &Gateway, agent: &Agent) -> Result<Vec<SkillStatus>, Refusal> {
    let home = gateway.engine.home(&agent.id)?;
    let config = gateway.config();
    let files = home.shelf.skills(&config).await;
    let shelf = &home.shelf;
    let here = Surroundings {
        config: &config,
        platform: platform(std::env::consts::OS),
        has_program: &|name| shelf.has_program(name),
        has_variable: &|name| shelf.has_variable(name),
    };
    Ok(statuses(&files, &here))
}

pub(super) fn told(skill: &SkillStatus) -> Value {
    let checks = skill.config_checks.iter().map(|(path, is_on)| json!({"path": path, "satisfied": is_on}));
    let mut told = json!({
        "name": skill.name,
        "description": skill.description,
        "source": skill.source.as_str(),
        "bundled": skill.source == SkillSource::Bundled,
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
        "requirements": needs(&skill.needs),
        "missing": needs(&skill.missing),
        "configChecks": checks.collect::<Vec<_>>(),
        "install": skill.install.iter().map(way).collect::<Vec<_>>(),
    });
    if let Some(fields) = told.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    told
}

fn needs(needs: &Needs) -> Value {
    json!({
        "bins": needs.programs,
        "anyBins": needs.any_program,
        "env": needs.variables,
        "config": needs.config,
        "os": needs.platforms,
    })
}

fn way(way: &Install) -> Value {
    json!({"id": way.id, "kind": way.kind, "label": way.label, "bins": way.programs})
}
