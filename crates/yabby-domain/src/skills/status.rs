//! What a skill needs, and what of it is missing: for people (`sessions.md` §20).

use super::{ReadSkill, SkillFile, SkillSource, Surroundings, gives_variable, merged, names};
use crate::json::Value;
use crate::text;

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
    pub install: Vec<Install>,
}

/// A way to get what is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    pub id: String,
    /// `brew`, `node`, `go`, `uv` or `download`.
    pub kind: String,
    pub label: String,
    pub programs: Vec<String>,
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
        !self.disabled && !self.blocked_by_allowlist && self.missing == Needs::default()
    }
}

/// Every skill that lies somewhere, and how it is.
pub fn statuses(files: &[SkillFile], here: &Surroundings<'_>) -> Vec<SkillStatus> {
    merged(files).iter().map(|skill| status(skill, here)).collect()
}

fn status(read: &ReadSkill, here: &Surroundings<'_>) -> SkillStatus {
    let needs = &read.requirements;
    let key = needs.key.as_deref().unwrap_or(&read.skill.name);
    let own = here.entry(key);
    let is_set =
        |name: &&String| (here.has_variable)(name) || own.is_some_and(|own| gives_variable(own, needs, name));
    let has_any = needs.any_program.iter().any(|name| (here.has_program)(name));
    let runs_here = needs.platforms.is_empty() || needs.platforms.iter().any(|name| name == here.platform);
    let missing = Needs {
        programs: needs.programs.iter().filter(|name| !(here.has_program)(name)).cloned().collect(),
        any_program: if has_any { Vec::new() } else { needs.any_program.clone() },
        variables: needs.variables.iter().filter(|name| !is_set(name)).cloned().collect(),
        config: needs.config.iter().filter(|path| !here.config.is_on(path)).cloned().collect(),
        platforms: if runs_here { Vec::new() } else { needs.platforms.clone() },
    };
    let checks = needs.config.iter().map(|path| (path.clone(), here.config.is_on(path)));
    SkillStatus {
        name: read.skill.name.clone(),
        description: read.skill.description.clone(),
        source: read.skill.source,
        path: read.skill.path.clone(),
        folder: read.skill.folder.clone(),
        key: key.to_owned(),
        primary_variable: needs.primary_variable.clone(),
        emoji: needs.emoji.clone().or_else(|| read.front.get("emoji").map(str::to_owned)),
        homepage: homepage(read),
        always: needs.always,
        disabled: own.is_some_and(|own| own.enabled == Some(false)),
        blocked_by_allowlist: !read.is_allowed(here.config, key),
        config_checks: checks.collect(),
        install: installs(&needs.install, here),
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

fn homepage(read: &ReadSkill) -> Option<String> {
    let written = ["homepage", "website", "url"].into_iter().find_map(|field| read.front.get(field));
    read.requirements.homepage.as_deref().or(written).and_then(text::non_blank).map(str::to_owned)
}

/// The ways that a skill tells, for this system. Of several the most suitable; all of them if they are all
/// there is to download.
fn installs(told: &[Value], here: &Surroundings<'_>) -> Vec<Install> {
    let is_for_here = |way: &&Value| {
        let systems = names(way.get("os"));
        systems.is_empty() || systems.iter().any(|name| name == here.platform)
    };
    let kind = |way: &Value| way.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    let ways: Vec<&Value> = told.iter().filter(is_for_here).collect();
    let ways: Vec<(usize, &Value)> = ways.into_iter().enumerate().collect();
    let install = |(index, way): &(usize, &Value)| install(*index, way, &kind(way), here);
    if ways.iter().all(|(_, way)| kind(way) == "download") {
        return ways.iter().map(install).collect();
    }
    let prefers_brew = here.config.skills.install.prefer_brew() && (here.has_program)("brew");
    let order = prefers_brew.then_some("brew").into_iter().chain(["uv", "node", "brew", "go"]);
    let best = order.into_iter().find_map(|wanted| ways.iter().find(|(_, way)| kind(way) == wanted));
    best.or(ways.first()).map(install).into_iter().collect()
}

fn install(index: usize, way: &Value, kind: &str, here: &Surroundings<'_>) -> Install {
    let said =
        |name: &str| way.get(name).and_then(Value::as_str).and_then(text::non_blank).map(str::to_owned);
    let manager = here.config.skills.install.node_manager().word();
    let from = |field: &str, manager: &str| said(field).map(|what| format!("Install {what} ({manager})"));
    let label = match kind {
        "node" => from("package", manager).or_else(|| said("label")),
        "brew" => said("label").or_else(|| from("formula", "brew")),
        "go" => said("label").or_else(|| from("module", "go")),
        "uv" => said("label").or_else(|| from("package", "uv")),
        "download" => said("label").or_else(|| {
            let address = said("url")?;
            let file = address.rsplit('/').next().filter(|file| !file.is_empty()).unwrap_or(&address);
            Some(format!("Download {file}"))
        }),
        _ => said("label"),
    };
    Install {
        id: said("id").unwrap_or_else(|| format!("{kind}-{index}")),
        kind: kind.to_owned(),
        label: label.unwrap_or_else(|| "Run installer".to_owned()),
        programs: names(way.get("bins")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use serde_json::json;

    fn statuses_of(front: &str, config: Value) -> SkillStatus {
        let text = format!("---\nname: k\ndescription: K.\n{front}\n---\n");
        let file = SkillFile { source: SkillSource::Workspace, path: "/ws/k/SKILL.md".to_owned(), text };
        let here = Surroundings {
            config: &Config::new(config),
            platform: "linux",
            has_program: &|name| name == "sh",
            has_variable: &|_| false,
        };
        statuses(&[file], &here).remove(0)
    }

    #[test]
    fn a_status_agrees_with_what_the_agent_gets() {
        //  metadata                                         eligible
        let table = [
            (r#"{"requires":{"bins":["sh"]}}"#, true),
            (r#"{"requires":{"bins":["zz"]}}"#, false),
            (r#"{"always":true,"requires":{"bins":["zz"]}}"#, true),
            (r#"{"os":["plan9"]}"#, false),
            (r#"{"always":true,"os":["plan9"]}"#, false),
        ];
        for (needs, eligible) in table {
            let status = statuses_of(&format!("metadata: {{\"openclaw\":{needs}}}"), json!({}));
            assert_eq!(status.is_eligible(), eligible, "{needs}");
        }
    }

    #[test]
    fn the_most_suitable_way_to_install_is_told() {
        let front = |ways: &str| format!("metadata: {{\"openclaw\":{{\"install\":{ways}}}}}");
        let brew = r#"{"kind":"brew","formula":"jq","bins":["jq"]}"#;
        let node = r#"{"id":"n","kind":"node","package":"jqjs","label":"ignored"}"#;
        let mac = r#"{"kind":"uv","package":"m","os":["darwin"]}"#;
        let load = r#"{"kind":"download","url":"https://x.example/a/b.tgz"}"#;
        let table = [
            (format!("[{brew}]"), vec!["brew-0 Install jq (brew)"]),
            (format!("[{mac},{brew},{node}]"), vec!["n Install jqjs (pnpm)"]),
            (format!("[{mac}]"), vec![]),
            (format!("[{load},{load}]"), vec!["download-0 Download b.tgz", "download-1 Download b.tgz"]),
        ];
        for (ways, expected) in table {
            let config = json!({"skills": {"install": {"nodeManager": "pnpm"}}});
            let told = statuses_of(&front(&ways), config).install;
            let told: Vec<String> = told.iter().map(|way| format!("{} {}", way.id, way.label)).collect();
            assert_eq!(told, expected, "{ways}");
        }
    }
}
