//! What a skill needs, and what of it is missing: for people (`sessions.md` §20).

use super::{ReadSkill, SkillFile, SkillSource, Surroundings, is_switched_on, merged};
use crate::json::{self, Value};

/// A skill, whether or not it can work here.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillStatus {
    pub name: String,
    pub description: String,
    pub source: SkillSource,
    pub path: String,
    pub folder: String,
    /// The name of its settings.
    pub key: String,
    pub primary_variable: Option<String>,
    pub emoji: Option<String>,
    pub homepage: Option<String>,
    pub always: bool,
    /// Switched off in the configuration.
    pub disabled: bool,
    pub blocked_by_allowlist: bool,
    pub needs: Needs,
    pub missing: Needs,
    /// The settings it looks at, and whether each is on.
    pub config_checks: Vec<(String, bool)>,
    /// How it says that what is missing can be had.
    pub install: Vec<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    pub programs: Vec<String>,
    pub any_program: Vec<String>,
    pub variables: Vec<String>,
    pub config: Vec<String>,
    pub platforms: Vec<String>,
}

impl SkillStatus {
    pub fn is_eligible(&self) -> bool {
        !self.disabled && !self.blocked_by_allowlist && (self.always || self.missing == Needs::default())
    }
}

/// Every skill that lies somewhere, and how it is.
pub fn statuses(files: &[SkillFile], here: &Surroundings<'_>) -> Vec<SkillStatus> {
    merged(files).iter().map(|skill| status(skill, here)).collect()
}

fn status(read: &ReadSkill, here: &Surroundings<'_>) -> SkillStatus {
    let needs = &read.requirements;
    let key = needs.key.as_deref().unwrap_or(&read.skill.name);
    let own = here.config.get(&["skills", "entries", key]);
    let setting = |name: &str| own.and_then(|own| own.get(name));
    let is_set = |name: &&String| {
        let configured = setting("env").and_then(|env| env.get(name.as_str())).is_some_and(json::truthy);
        let has_key =
            needs.primary_variable.as_ref() == Some(name) && setting("apiKey").is_some_and(json::truthy);
        (here.has_variable)(name) || configured || has_key
    };
    let has_any = needs.any_program.iter().any(|name| (here.has_program)(name));
    let runs_here = needs.platforms.is_empty() || needs.platforms.iter().any(|name| name == here.platform);
    let missing = Needs {
        programs: needs.programs.iter().filter(|name| !(here.has_program)(name)).cloned().collect(),
        any_program: if has_any { Vec::new() } else { needs.any_program.clone() },
        variables: needs.variables.iter().filter(|name| !is_set(name)).cloned().collect(),
        config: needs.config.iter().filter(|path| !is_switched_on(here.config, path)).cloned().collect(),
        platforms: if runs_here { Vec::new() } else { needs.platforms.clone() },
    };
    let checks = needs.config.iter().map(|path| (path.clone(), is_switched_on(here.config, path)));
    SkillStatus {
        name: read.skill.name.clone(),
        description: read.skill.description.clone(),
        source: read.skill.source,
        path: read.skill.path.clone(),
        folder: read.skill.folder.clone(),
        key: key.to_owned(),
        primary_variable: needs.primary_variable.clone(),
        emoji: needs.emoji.clone(),
        homepage: needs.homepage.clone().or_else(|| read.front.get("homepage").map(str::to_owned)),
        always: needs.always,
        disabled: setting("enabled") == Some(&Value::Bool(false)),
        blocked_by_allowlist: !read.is_allowed(here.config, key),
        config_checks: checks.collect(),
        install: needs.install.clone(),
        needs: Needs {
            programs: needs.programs.clone(),
            any_program: needs.any_program.clone(),
            variables: needs.variables.clone(),
            config: needs.config.clone(),
            platforms: needs.platforms.clone(),
        },
        missing: if needs.always {
            Needs { platforms: missing.platforms, ..Needs::default() }
        } else {
            missing
        },
    }
}
