//! How we are (`gateway.md` §7, `health`): looked at when somebody comes, when somebody asks, and now and then.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use yabby_domain::channel;
use yabby_domain::channel::status::ConfiguredChannel;
use yabby_domain::heartbeat::Heartbeat;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::session::key::default_agent;
use yabby_domain::session::listing;

use crate::coalesced::Coalesced;
use crate::hub::Weight;
use crate::{Gateway, unpoisoned};

/// How long it is good enough what was seen.
const LASTS_MS: i64 = 60_000;

/// Why nobody can say how a channel is.
pub(crate) const NO_CHANNELS: &str = "channels are not served yet; this is what the configuration says";

pub(crate) struct Health {
    last: Mutex<Value>,
    version: AtomicU64,
    looks: Coalesced,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            last: Mutex::new(Value::Object(Object::new())),
            version: AtomicU64::new(1),
            looks: Coalesced::default(),
        }
    }
}

impl Health {
    /// What was seen last; nothing before anybody looked.
    pub(crate) fn last(&self) -> Value {
        unpoisoned(&self.last).clone()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    fn seen(&self, health: Value) {
        *unpoisoned(&self.last) = health;
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

impl Gateway {
    /// Looks, and tells everybody what was seen.
    pub(crate) async fn look_at_health(&self) -> Value {
        let health = self.examine().await;
        self.health.seen(health.clone());
        self.tell_state("health", &health, Weight::Needed);
        health
    }

    /// Looks how we are, and tells everybody; nobody waits for it. Those who come at once are told by one look.
    pub(crate) fn refresh_health(self: &Arc<Self>) {
        let gateway = self.clone();
        tokio::spawn(async move {
            gateway.health.looks.announce(|| async { drop(gateway.look_at_health().await) }).await;
        });
    }

    /// What was seen last, if that was not long ago.
    pub(crate) fn lately_seen(&self) -> Option<Value> {
        let last = self.health.last();
        let at = last.get("ts").and_then(Value::as_i64)?;
        (self.now().saturating_sub(at) < LASTS_MS).then_some(last)
    }

    async fn examine(&self) -> Value {
        let started = Instant::now();
        let config = self.config();
        let now = self.now_ms();
        let mut agents = Vec::new();
        let mut sessions = Value::Null;
        let mut seconds = 0;
        for agent in self.agents() {
            let heartbeat = Heartbeat::of(&config, &agent.id);
            let recent = self.recent_sessions(&agent.id, now).await;
            if agent.is_default {
                sessions = recent.clone();
                seconds = heartbeat.every_ms.map_or(0, |ms| (ms + 500) / 1000);
            }
            let mut told = Object::new();
            told.insert("agentId".to_owned(), agent.id.as_str().into());
            if let Some(name) = &agent.name {
                told.insert("name".to_owned(), name.clone().into());
            }
            told.insert("isDefault".to_owned(), agent.is_default.into());
            told.insert("heartbeat".to_owned(), Value::Object(heartbeat.to_object()));
            told.insert("sessions".to_owned(), recent);
            agents.push(Value::Object(told));
        }
        let channels = self.channels();
        let told =
            |channel: &ConfiguredChannel| Value::Object(channel.health(NO_CHANNELS, json::number(now)));
        let by_id = |tell: &dyn Fn(&ConfiguredChannel) -> Value| -> Object {
            channels.iter().map(|channel| (channel.about.id.to_owned(), tell(channel))).collect()
        };
        serde_json::json!({
            "ok": true,
            "ts": self.now(),
            "durationMs": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "channels": by_id(&told),
            "channelOrder": channels.iter().map(|channel| channel.about.id).collect::<Vec<_>>(),
            "channelLabels": by_id(&|channel| channel.about.label.into()),
            "heartbeatSeconds": seconds,
            "defaultAgentId": default_agent(&config).as_str(),
            "agents": agents,
            "sessions": sessions,
        })
    }

    async fn recent_sessions(&self, agent: &AgentId, now: f64) -> Value {
        const MOST: usize = 5;
        let found = self.recent(agent, MOST).await;
        let rows = found.entries.iter().map(|(key, entry)| listing::recent_row(key, entry, now));
        serde_json::json!({
            "path": self.store_path(agent),
            "count": found.count,
            "recent": rows.collect::<Vec<_>>(),
        })
    }

    /// The channels that are set up.
    pub(crate) fn channels(&self) -> Vec<ConfiguredChannel> {
        let environment = &self.place.environment;
        channel::status::configured(&self.config(), |name| environment.get(name))
    }
}
