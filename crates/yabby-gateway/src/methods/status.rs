//! `status`: what goes on, in a few lines (`gateway.md` §7).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::json;
use yabby_domain::channel::status::ConfiguredChannel;
use yabby_domain::flush::DEFAULT_CONTEXT_TOKENS;
use yabby_domain::heartbeat::Heartbeat;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::Newest;
use yabby_domain::session::key::{KeyPolicy, parse_agent_key};
use yabby_domain::session::listing;

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::Answer;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "status",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "Heartbeats, channels, notices and the sessions that changed last.",
    answer: |call| Box::pin(answer(call)),
};

const MOST: usize = 10;

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let config = gateway.config();
    let policy = KeyPolicy::from_config(&config);
    let agents = gateway.listed_agents();
    let heartbeats = agents.iter().map(|agent| {
        let mut told = Object::from_iter([("agentId".to_owned(), Value::from(agent.as_str()))]);
        told.extend(Heartbeat::of(&config, agent).schedule());
        Value::Object(told)
    });
    let heartbeats: Vec<Value> = heartbeats.collect();
    let table = Table::new(gateway.clone());
    let mut by_agent = Vec::new();
    let mut all: Vec<(f64, Value)> = Vec::new();
    let mut paths: Vec<String> = Vec::new();
    let mut count = 0;
    for agent in &agents {
        let path = gateway.store_path(agent);
        let found = gateway.recent(agent, MOST).await;
        let mut told = json!({"agentId": agent.as_str(), "path": path, "count": found.count});
        told["recent"] = table.rows(&found, Some(agent)).into();
        by_agent.push(told);
        // One store may serve all agents.
        if !paths.contains(&path) {
            count += found.count;
            let times = found.entries.iter().map(|(_, entry)| entry.updated_at().unwrap_or(0.0));
            all.extend(times.zip(table.rows(&found, None)));
            paths.push(path);
        }
    }
    all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let recent: Vec<Value> = all.into_iter().take(MOST).map(|(_, row)| row).collect();
    let channels = gateway.channels();
    let mut told = json!({
        "heartbeat": {"defaultAgentId": policy.default_agent.as_str(), "agents": heartbeats},
        "channelSummary": channels.iter().flat_map(ConfiguredChannel::lines).collect::<Vec<_>>(),
        "queuedSystemEvents": gateway.engine.waiting_notices(&policy.main_session()),
        "sessions": {
            "paths": paths,
            "count": count,
            "defaults": {"model": table.model, "contextTokens": yabby_domain::json::number(table.window)},
        },
    });
    // Not within the macro, which would copy all of them.
    told["sessions"]["recent"] = recent.into();
    told["sessions"]["byAgent"] = by_agent.into();
    if let Some(link) = channels.iter().find_map(ConfiguredChannel::link) {
        told["linkChannel"] = link;
    }
    Ok(told)
}

/// What the rows depend on.
struct Table {
    gateway: Arc<Gateway>,
    model: String,
    window: f64,
    /// By the names of models; most records say it themselves.
    windows: OnceLock<HashMap<String, f64>>,
    now: f64,
}

impl Table {
    fn new(gateway: Arc<Gateway>) -> Self {
        let common = gateway.engine.common_model();
        Self {
            window: gateway.window_of(&common),
            model: common.model,
            windows: OnceLock::new(),
            now: gateway.now_ms(),
            gateway,
        }
    }

    fn windows(&self) -> &HashMap<String, f64> {
        self.windows.get_or_init(|| {
            let known = self.gateway.engine.known_models().into_iter();
            #[expect(clippy::cast_precision_loss, reason = "no model reads that much")]
            known.map(|(model, info)| (model.model, info.context_window as f64)).collect()
        })
    }

    fn rows(&self, found: &Newest, agent: Option<&AgentId>) -> Vec<Value> {
        let window = |model: &str| {
            self.windows().get(model).copied().unwrap_or(match model == self.model {
                true => self.window,
                false => DEFAULT_CONTEXT_TOKENS,
            })
        };
        let row = |(key, entry): &(_, _)| {
            let own = || {
                let key: &yabby_domain::session::key::SessionKey = key;
                parse_agent_key(key.as_str()).map(|_| key.agent_id())
            };
            let agent = agent.cloned().or_else(own);
            Value::Object(listing::status_row(agent.as_ref(), key, entry, &self.model, &window, self.now))
        };
        found.entries.iter().map(row).collect()
    }
}
