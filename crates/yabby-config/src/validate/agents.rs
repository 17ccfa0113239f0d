//! Checks of agents against each other and against their folders (`config.md` §3).

use serde_json::Value;
use yabby_base::id::AgentId;
use yabby_base::{json, text};

use super::World;
use crate::issue::Issue;

/// Agents that would share one folder for their state.
pub fn shared_folders(config: &Value, world: &World<'_>) -> Vec<Issue> {
    let mut folders: Vec<(String, Vec<String>)> = Vec::new();
    for agent in referenced_agents(config) {
        let folder = agent_folder(config, &agent, world);
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, agents)) => agents.push(format!("\"{agent}\"")),
            None => folders.push((folder, vec![format!("\"{agent}\"")])),
        }
    }
    let conflicts: Vec<_> = folders
        .into_iter()
        .filter(|(_, agents)| agents.len() > 1)
        .map(|(folder, agents)| format!("- {folder}: {}", agents.join(", ")))
        .collect();
    if conflicts.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "Duplicate agentDir detected (multi-agent config).\n\
         Each agent must have a unique agentDir; sharing it causes auth/session state collisions and \
         token invalidation.\n\n\
         Conflicts:\n{}\n\n\
         Fix: remove the shared agents.list[].agentDir override (or give each agent its own directory).\n\
         If you want to share credentials, copy auth-profiles.json instead of sharing the entire agentDir.",
        conflicts.join("\n")
    );
    vec![Issue::new("agents.list", message)]
}

/// Avatars that are neither addresses nor inside the agent's workspace.
pub fn avatars(config: &Value, world: &World<'_>) -> Vec<Issue> {
    let agents = listed_agents(config).iter().enumerate();
    agents
        .filter_map(|(index, agent)| {
            let avatar = text::non_blank(json::at(agent, &["identity", "avatar"])?.as_str()?)?;
            let message = wrong_avatar(avatar, || workspace(config, agent, world))?;
            Some(Issue::new(format!("agents.list.{index}.identity.avatar"), message))
        })
        .collect()
}

fn wrong_avatar(avatar: &str, workspace: impl FnOnce() -> String) -> Option<&'static str> {
    let starts_with = |prefix| text::starts_with_ignoring_ascii_case(avatar, prefix);
    if ["data:", "http://", "https://"].into_iter().any(starts_with) {
        return None;
    }
    if avatar.starts_with('~') || has_scheme(avatar) {
        return Some("identity.avatar must be a workspace-relative path, http(s) URL, or data URI.");
    }
    let workspace = workspace();
    let resolved = resolve(&workspace, avatar);
    let below =
        resolved.strip_prefix(workspace.trim_end_matches('/')).map(|rest| rest.trim_start_matches('/'));
    let stays = resolved == workspace
        || below
            .is_some_and(|below| !below.starts_with("..") && resolved.starts_with(&with_slash(&workspace)));
    (!stays).then_some("identity.avatar must stay within the agent workspace.")
}

/// `ftp:` and the like, but not the drive of a Windows path.
fn has_scheme(avatar: &str) -> bool {
    let Some((scheme, rest)) = avatar.split_once(':') else { return false };
    let mut letters = scheme.chars();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    let is_drive = scheme.len() == 1 && rest.starts_with(['/', '\\']);
    is_scheme && !is_drive
}

fn listed_agents(config: &Value) -> &[Value] {
    json::at(config, &["agents", "list"]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn default_agent(config: &Value) -> AgentId {
    let agents = listed_agents(config);
    let chosen =
        agents.iter().find(|agent| agent.get("default").is_some_and(json::truthy)).or(agents.first());
    AgentId::normalize(chosen.and_then(|agent| agent["id"].as_str()).unwrap_or_default())
}

/// All agents that the configuration speaks of, in the order it does.
fn referenced_agents(config: &Value) -> Vec<String> {
    let listed = listed_agents(config).iter().filter_map(|agent| agent["id"].as_str());
    let bindings = config["bindings"].as_array().into_iter().flatten();
    let bound = bindings.filter_map(|binding| binding["agentId"].as_str()).filter_map(text::non_blank);
    let mut agents = vec![default_agent(config).as_str().to_owned()];
    for id in listed.filter(|id| !id.is_empty()).chain(bound) {
        let id = AgentId::normalize(id).as_str().to_owned();
        if !agents.contains(&id) {
            agents.push(id);
        }
    }
    agents
}

fn entry<'c>(config: &'c Value, id: &str) -> Option<&'c Value> {
    let has_id = |agent: &&Value| AgentId::normalize(agent["id"].as_str().unwrap_or_default()).as_str() == id;
    listed_agents(config).iter().find(has_id)
}

fn agent_folder(config: &Value, id: &str, world: &World<'_>) -> String {
    let chosen = entry(config, id).and_then(|agent| agent["agentDir"].as_str()).and_then(text::non_blank);
    match chosen {
        Some(folder) => user_path(folder, world),
        None => resolve(world.working_folder, &format!("{}/agents/{id}/agent", world.state)),
    }
}

fn workspace(config: &Value, agent: &Value, world: &World<'_>) -> String {
    let id = AgentId::normalize(agent["id"].as_str().unwrap_or_default());
    let chosen =
        |value: Option<&Value>| value.and_then(Value::as_str).and_then(text::non_blank).map(str::to_owned);
    if let Some(folder) = chosen(entry(config, id.as_str()).and_then(|agent| agent.get("workspace"))) {
        return user_path(&folder, world);
    }
    if id.as_str() != default_agent(config).as_str() {
        return format!("{}/.openclaw/workspace-{}", world.home, id.as_str());
    }
    if let Some(folder) = chosen(json::at(config, &["agents", "defaults", "workspace"])) {
        return user_path(&folder, world);
    }
    let profile = (world.env)("OPENCLAW_PROFILE");
    let profile = profile.as_deref().and_then(text::non_blank);
    match profile.filter(|profile| text::lower(profile) != "default") {
        Some(profile) => format!("{}/.openclaw/workspace-{profile}", world.home),
        None => format!("{}/.openclaw/workspace", world.home),
    }
}

/// A path as a person writes it, made absolute.
pub fn user_path(written: &str, world: &World<'_>) -> String {
    let written = text::trim(written);
    let home = written.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    match home {
        Some(rest) => resolve(world.working_folder, &format!("{}{rest}", world.home)),
        None => resolve(world.working_folder, written),
    }
}

/// The path seen from the folder, without `.` and `..`.
fn resolve(folder: &str, path: &str) -> String {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut steps = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

fn with_slash(folder: &str) -> String {
    format!("{}/", folder.trim_end_matches('/'))
}
