//! What the files of this machine tell, where no gateway does.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::json;
use yabby_domain::agent::{self, Agent};
use yabby_domain::channel::status::{ConfiguredChannel, configured};
use yabby_domain::config::Config;
use yabby_domain::heartbeat::Heartbeat;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Choice, Newest, SessionStore as _};
use yabby_domain::session::key::{SessionKey, default_agent};
use yabby_domain::session::listing;

use crate::book::{self, Book};
use crate::commands::sessions::defaults;
use crate::failure;
use crate::setting::Setting;
use crate::wire::models::{main_folder, offered};

/// How many sessions are told.
const MOST: usize = 10;

/// The sessions of every agent.
pub(super) struct Stores {
    config: Config,
    agents: Vec<AgentStore>,
    default: AgentId,
    channels: Vec<ConfiguredChannel>,
    model: String,
    window: f64,
    /// By the names of models.
    windows: HashMap<String, f64>,
    now: f64,
}

struct AgentStore {
    id: AgentId,
    agent: Option<Agent>,
    path: String,
    found: Newest,
}

impl Stores {
    pub(super) async fn read(setting: &Setting, config: &Config) -> Result<Self> {
        let book = Book::open(setting)?;
        let known = book.with_folders(|folders| agent::agents(config, folders));
        let mut agents = Vec::new();
        for id in agent::listed(config, &setting.place.folder.agents()?) {
            let path = book.store_path(&id);
            let keys = |key: &SessionKey| !matches!(key.as_str(), "global" | "unknown");
            let choice = Choice { keys: Box::new(keys), records: None, most: MOST };
            let found = match book::open(&path) {
                Ok(store) => store.newest(choice).await.map_err(anyhow::Error::from),
                Err(error) => Err(error),
            };
            // The rest is worth knowing all the same.
            let found = found.unwrap_or_else(|error| {
                anstream::eprintln!("note: the sessions of {id} cannot be read: {}", failure::told(&error));
                Newest { count: 0, entries: Vec::new() }
            });
            let agent = known.iter().find(|agent| agent.id == id).cloned();
            agents.push(AgentStore { id, agent, path: path.display().to_string(), found });
        }
        let usual = defaults(config);
        let models = offered(&setting.place, &Arc::new(config.clone()), &main_folder(&setting.place));
        #[expect(clippy::cast_precision_loss, reason = "no model reads that much")]
        let windows: HashMap<String, f64> =
            models.into_iter().map(|known| (known.model.model, known.context_window as f64)).collect();
        let stated = config.agents.defaults.context_tokens.map(f64::from);
        let own = windows.get(&usual.model).copied();
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let now = jiff::Timestamp::now().as_millisecond() as f64;
        Ok(Self {
            config: config.clone(),
            agents,
            default: default_agent(config),
            channels: configured(config, |name| setting.place.environment.get(name)),
            window: stated.or(own).unwrap_or(usual.context_tokens),
            model: usual.model,
            windows,
            now,
        })
    }

    /// What the gateway's `status` would tell, but for what it alone knows.
    pub(super) fn summary(&self) -> Object {
        let heartbeats = self.agents.iter().map(|store| {
            let mut told = Object::from_iter([("agentId".to_owned(), Value::from(store.id.as_str()))]);
            told.extend(Heartbeat::of(&self.config, &store.id).schedule());
            Value::Object(told)
        });
        let by_agent = self.agents.iter().map(|store| {
            let rows: Vec<Value> = self.rows(store).collect();
            json!({"agentId": store.id.as_str(), "path": store.path, "count": store.found.count, "recent": rows})
        });
        let each = self.each_store();
        let at = |row: &Value| row.get("updatedAt").and_then(Value::as_f64).unwrap_or(0.0);
        let mut recent: Vec<Value> = each.iter().flat_map(|store| self.rows(store)).collect();
        recent.sort_by(|a, b| at(b).total_cmp(&at(a)));
        recent.truncate(MOST);
        let members = [
            (
                "heartbeat",
                json!({"defaultAgentId": self.default.as_str(), "agents": heartbeats.collect::<Vec<_>>()}),
            ),
            (
                "channelSummary",
                self.channels.iter().flat_map(ConfiguredChannel::lines).collect::<Vec<_>>().into(),
            ),
            ("queuedSystemEvents", json!([])),
            (
                "sessions",
                json!({
                    "paths": each.iter().map(|store| store.path.as_str()).collect::<Vec<_>>(),
                    "count": each.iter().map(|store| store.found.count).sum::<usize>(),
                    "defaults": {"model": self.model, "contextTokens": json::number(self.window)},
                    "recent": recent,
                    "byAgent": by_agent.collect::<Vec<_>>(),
                }),
            ),
        ];
        let link = self.channels.iter().find_map(ConfiguredChannel::link).map(|link| ("linkChannel", link));
        members.into_iter().chain(link).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Every store once: one may serve all agents.
    fn each_store(&self) -> Vec<&AgentStore> {
        let mut each: Vec<&AgentStore> = Vec::new();
        for store in &self.agents {
            if each.iter().all(|known| known.path != store.path) {
                each.push(store);
            }
        }
        each
    }

    fn rows<'s>(&'s self, store: &'s AgentStore) -> impl Iterator<Item = Value> + 's {
        let window = |model: &str| self.windows.get(model).copied().unwrap_or(self.window);
        store.found.entries.iter().map(move |(key, entry)| {
            Value::Object(listing::status_row(Some(&store.id), key, entry, &self.model, &window, self.now))
        })
    }

    pub(super) fn agents(&self) -> Value {
        let is_new = |agent: &Agent| Path::new(&agent.workspace).join("BOOTSTRAP.md").exists();
        let pending = self.agents.iter().filter(|store| store.agent.as_ref().is_some_and(is_new)).count();
        let agents = self.agents.iter().map(|store| {
            let mut told = Object::from_iter([("id".to_owned(), Value::from(store.id.as_str()))]);
            if let Some(agent) = &store.agent {
                if let Some(name) = &agent.name {
                    told.insert("name".to_owned(), name.clone().into());
                }
                told.insert("workspaceDir".to_owned(), agent.workspace.clone().into());
            }
            let last =
                store.found.entries.first().and_then(|(_, entry)| entry.updated_at()).filter(|at| *at > 0.0);
            let or_null = |number: Option<f64>| number.map_or(Value::Null, json::number);
            told.insert("bootstrapPending".to_owned(), store.agent.as_ref().is_some_and(is_new).into());
            told.insert("sessionsPath".to_owned(), store.path.clone().into());
            told.insert("sessionsCount".to_owned(), store.found.count.into());
            told.insert("lastUpdatedAt".to_owned(), or_null(last));
            told.insert("lastActiveAgeMs".to_owned(), or_null(last.map(|at| self.now - at)));
            Value::Object(told)
        });
        json!({
            "defaultId": self.default.as_str(),
            "agents": agents.collect::<Vec<_>>(),
            "totalSessions": self.each_store().iter().map(|store| store.found.count).sum::<usize>(),
            "bootstrapPendingCount": pending,
        })
    }
}
