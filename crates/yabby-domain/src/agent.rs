//! The agents that a configuration names (`cli.md` §6, `config.md` §9).

pub mod identity;

use crate::collation;
use crate::config::Config;
use crate::config::agents::entry::{AgentEntry, Identity};
use crate::config::agents::model_choice::ModelReference;
use crate::config::bindings::BindingMatch;
use crate::id::{AgentId, MainKey};
use crate::session::key::default_agent;
use crate::session::path::{Folders, user_path};
use crate::text;
use crate::unique::unique;

/// One agent, with what it inherits filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub name: Option<String>,
    pub workspace: String,
    /// Where its credentials and models are.
    pub folder: String,
    /// `provider/model`, as it was written.
    pub model: Option<String>,
    pub is_default: bool,
    /// Its routing rules, a line each.
    pub bindings: Vec<String>,
    /// What the configuration calls it; a file in the workspace wins over it.
    pub identity: identity::Identity,
}

/// All agents, in the order of the file; without any, the one there always is.
pub fn agents(config: &Config, folders: &Folders<'_>) -> Vec<Agent> {
    let entries = &config.agents.list;
    let default = default_agent(config);
    let ids: Vec<AgentId> = match entries.is_empty() {
        true => vec![default.clone()],
        false => unique(entries.iter().map(id_of)),
    };
    let agent = |id: AgentId| {
        let entry = entries.iter().find(|entry| id_of(entry) == id);
        Agent {
            name: entry.and_then(|entry| said(&entry.name)).map(str::to_owned),
            workspace: workspace(config, entry, &id, id == default, folders),
            folder: match entry.and_then(|entry| said(&entry.agent_dir)) {
                Some(folder) => user_path(folder, folders.home, folders.current),
                None => format!("{}/agents/{id}/agent", folders.state.trim_end_matches('/')),
            },
            model: model(config, entry),
            is_default: id == default,
            bindings: bindings(config, &id),
            identity: entry.and_then(|entry| entry.identity.as_ref()).map(configured).unwrap_or_default(),
            id,
        }
    };
    ids.into_iter().map(agent).collect()
}

/// The agents that clients may talk to: the default one, then the others by name; where the configuration
/// names none, those that have a folder (`on_disk`). As in the reference, an agent called like the main session
/// is always among them.
pub fn listed(config: &Config, on_disk: &[AgentId]) -> Vec<AgentId> {
    let default = default_agent(config);
    let named: Vec<AgentId> =
        config.agents.list.iter().filter(|entry| !entry.id.is_empty()).map(id_of).collect();
    let mut ids = if named.is_empty() { on_disk.to_vec() } else { named };
    ids.sort_by(|a, b| collation::compare(a.as_str(), b.as_str()));
    let main = MainKey::normalize(config.session.main_key.as_deref().unwrap_or_default());
    unique([default].into_iter().chain(ids).chain([AgentId::normalize(main.as_str())]))
}

fn id_of(entry: &AgentEntry) -> AgentId {
    AgentId::normalize(&entry.id)
}

fn said(written: &Option<String>) -> Option<&str> {
    text::non_blank(written.as_deref()?)
}

/// Its own, else for the default agent the common one, else one beside it.
fn workspace(
    config: &Config,
    entry: Option<&AgentEntry>,
    id: &AgentId,
    is_default: bool,
    folders: &Folders<'_>,
) -> String {
    if let Some(own) = entry.and_then(|entry| said(&entry.workspace)) {
        return user_path(own, folders.home, folders.current);
    }
    let common = said(&config.agents.defaults.workspace);
    match (is_default, common) {
        (true, Some(common)) => user_path(common, folders.home, folders.current),
        (true, None) => match folder_name(folders).strip_prefix(".openclaw-") {
            // The folder of a profile; its workspace is beside the others all the same.
            Some(profile) => format!("{}/workspace-{profile}", workspaces(folders)),
            None => format!("{}/workspace", workspaces(folders)),
        },
        (false, _) => format!("{}/workspace-{id}", workspaces(folders)),
    }
}

/// The folder that workspaces are in: always the one of the home folder, unless a folder is ours.
fn workspaces(folders: &Folders<'_>) -> String {
    if folder_name(folders).starts_with(".yabby") {
        return folders.state.trim_end_matches('/').to_owned();
    }
    format!("{}/.openclaw", folders.home.trim_end_matches('/'))
}

fn folder_name<'f>(folders: &Folders<'f>) -> &'f str {
    folders.state.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

fn model(config: &Config, entry: Option<&AgentEntry>) -> Option<String> {
    let named = |model: &ModelReference| model.primary().and_then(text::non_blank).map(str::to_owned);
    let own = entry.and_then(|entry| entry.model.as_ref()).and_then(named);
    own.or_else(|| config.agents.defaults.model.as_ref().and_then(named))
}

/// The routing rules that lead to an agent, as `telegram accountId=work peer=group:-100`.
fn bindings(config: &Config, id: &AgentId) -> Vec<String> {
    let rules = config.bindings.iter().filter(|rule| AgentId::normalize(&rule.agent_id) == *id);
    rules.map(|rule| described(&rule.r#match)).collect()
}

fn described(place: &BindingMatch) -> String {
    let said = |name: &str, id: &Option<String>| {
        id.as_deref().filter(|id| !id.is_empty()).map(|id| format!("{name}={id}"))
    };
    let mut parts = vec![place.channel.clone()];
    parts.extend(said("accountId", &place.account_id));
    parts.extend(place.peer.as_ref().map(|peer| format!("peer={}:{}", peer.kind.as_str(), peer.id)));
    parts.extend(said("guild", &place.guild_id));
    parts.extend(said("team", &place.team_id));
    parts.join(" ")
}

fn configured(identity: &Identity) -> identity::Identity {
    let trimmed = |written: &Option<String>| written.as_deref().map(text::trim).map(str::to_owned);
    identity::Identity {
        name: trimmed(&identity.name),
        emoji: trimmed(&identity.emoji),
        theme: trimmed(&identity.theme),
        avatar: trimmed(&identity.avatar),
        ..identity::Identity::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_agent_is_listed_first_and_the_main_one_always() {
        let ids = |config: serde_json::Value, on_disk: &[&str]| -> Vec<String> {
            let on_disk: Vec<AgentId> = on_disk.iter().map(|id| AgentId::normalize(id)).collect();
            listed(&Config::new(config), &on_disk).iter().map(ToString::to_string).collect()
        };
        let named = serde_json::json!({"agents": {"list": [{"id": "zoe"}, {"id": "ops", "default": true}, {"id": "abe"}]}});
        assert_eq!(ids(named, &["gone"]), ["ops", "abe", "zoe", "main"]);
        assert_eq!(ids(serde_json::json!({}), &["ops", "main"]), ["main", "ops"]);
    }
    use serde_json::json;

    const FOLDERS: Folders<'_> = Folders { state: "/h/.openclaw", home: "/h", current: "/" };

    #[test]
    fn without_a_list_there_is_one_agent() {
        let [main] = <[Agent; 1]>::try_from(agents(&Config::default(), &FOLDERS)).unwrap();
        assert_eq!((main.id.as_str(), main.is_default, main.model), ("main", true, None));
        assert_eq!(main.workspace, "/h/.openclaw/workspace");
        assert_eq!(main.folder, "/h/.openclaw/agents/main/agent");
    }

    #[test]
    fn an_agent_inherits_what_it_does_not_say() {
        let config = Config::new(json!({
            "agents": {
                "defaults": {"model": {"primary": "a/b"}, "workspace": "~/ws"},
                "list": [
                    {"id": "Main", "default": true, "identity": {"name": " Yab ", "emoji": "🦀"}},
                    {"id": "ops", "name": "Ops", "model": "c/d", "agentDir": "~/dir"},
                    {"id": "main", "name": "again"},
                ],
            },
            "bindings": [
                {"agentId": "OPS", "match": {"channel": "telegram", "accountId": "w", "peer": {"kind": "group", "id": "-1"}}},
                {"agentId": "ops", "match": {"channel": "discord", "guildId": "9"}},
            ],
        }));
        let [main, ops] = <[Agent; 2]>::try_from(agents(&config, &FOLDERS)).unwrap();
        assert_eq!((main.workspace.as_str(), main.model.as_deref()), ("/h/ws", Some("a/b")));
        assert_eq!(main.identity.name.as_deref(), Some("Yab"));
        assert_eq!((ops.workspace.as_str(), ops.folder.as_str()), ("/h/.openclaw/workspace-ops", "/h/dir"));
        assert_eq!(ops.model.as_deref(), Some("c/d"));
        assert_eq!(ops.bindings, ["telegram accountId=w peer=group:-1", "discord guild=9"]);
    }

    #[test]
    fn the_state_folder_tells_where_workspaces_are() {
        let table = [
            ("/h/.openclaw/", "/h/.openclaw/workspace"),
            ("/elsewhere", "/h/.openclaw/workspace"),
            ("/h/.openclaw-work", "/h/.openclaw/workspace-work"),
            ("/h/.yabby", "/h/.yabby/workspace"),
            ("/h/.yabby-dev", "/h/.yabby-dev/workspace"),
        ];
        for (state, workspace) in table {
            let folders = Folders { state, ..FOLDERS };
            assert_eq!(agents(&Config::default(), &folders)[0].workspace, workspace, "{state}");
        }
    }
}
