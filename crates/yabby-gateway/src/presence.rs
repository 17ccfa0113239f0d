//! Who is there, and who was a moment ago (`gateway.md` §4, "Presence").

use std::sync::Mutex;

use indexmap::IndexMap;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

use crate::unpoisoned;

/// How long somebody who left is still told of.
const LIFETIME_MS: f64 = 5.0 * 60_000.0;
const MOST: usize = 200;

/// The machine that we run on.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) host: String,
    pub(crate) ip: String,
    pub(crate) version: String,
    /// The system and its release.
    pub(crate) platform: String,
    pub(crate) family: String,
    pub(crate) model: String,
}

pub(crate) struct Presence {
    machine: Machine,
    others: Mutex<IndexMap<String, Object>>,
}

impl Presence {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, others: Mutex::default() }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Notes something about somebody. Roles and scopes add up.
    pub(crate) fn note(&self, key: &str, told: Object, now: f64) {
        let mut others = unpoisoned(&self.others);
        let entry = others.entry(text::lower(key.trim())).or_default();
        for (name, value) in told {
            let value = match name.as_str() {
                "roles" | "scopes" => joined(entry.get(&name), &value),
                _ => Some(value),
            };
            if let Some(value) = value {
                entry.insert(name, value);
            }
        }
        entry.insert("ts".to_owned(), json::number(now));
        if !entry.contains_key("text") {
            let word = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("unknown");
            let said = format!("Node: {} · mode {}", word("host"), word("mode"));
            entry.insert("text".to_owned(), said.into());
        }
    }

    /// What is known about somebody.
    pub(crate) fn get(&self, key: &str) -> Option<Object> {
        unpoisoned(&self.others).get(&text::lower(key.trim())).cloned()
    }

    /// Everybody, the newest first; we are always there.
    pub(crate) fn list(&self, now: f64) -> Value {
        let at = |entry: &Object| entry.get("ts").and_then(Value::as_f64).unwrap_or(0.0);
        let mut others = unpoisoned(&self.others);
        others.retain(|_, entry| now - at(entry) <= LIFETIME_MS);
        let mut entries: Vec<&Object> = others.values().collect();
        entries.sort_by(|a, b| at(b).total_cmp(&at(a)));
        entries.truncate(MOST);
        let entries = entries.into_iter().cloned().map(Value::Object);
        [self.ourselves(now)].into_iter().chain(entries).collect()
    }

    fn ourselves(&self, now: f64) -> Value {
        let Machine { host, ip, version, platform, family, model } = &self.machine;
        serde_json::json!({
            "host": host,
            "ip": ip,
            "version": version,
            "platform": platform,
            "deviceFamily": family,
            "modelIdentifier": model,
            "mode": "gateway",
            "reason": "self",
            "text": format!("Gateway: {host} ({ip}) · app {version} · mode gateway · reason self"),
            "ts": json::number(now),
        })
    }
}

/// Two lists of names as one, each name once; `None` if there are no names.
fn joined(known: Option<&Value>, more: &Value) -> Option<Value> {
    let mut all: Vec<&str> = Vec::new();
    let names = known.into_iter().chain([more]).filter_map(Value::as_array).flatten();
    for name in names.filter_map(|name| text::non_blank(name.as_str()?)) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    (!all.is_empty()).then(|| all.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn presence() -> Presence {
        let text = |text: &str| text.to_owned();
        Presence::new(Machine {
            host: text("box"),
            ip: text("192.0.2.1"),
            version: text("1"),
            platform: text("linux 6"),
            family: text("Linux"),
            model: text("x64"),
        })
    }

    fn told(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn whoever_left_is_told_of_for_five_minutes() {
        let presence = presence();
        presence.note(
            "A",
            told(json!({"host": "phone", "mode": "ui", "reason": "connect", "roles": ["operator"], "scopes": []})),
            1.0,
        );
        presence.note("a", told(json!({"reason": "disconnect", "roles": [" node ", ""]})), 2.0);
        let list = presence.list(3.0);
        assert_eq!(list[0]["text"], "Gateway: box (192.0.2.1) · app 1 · mode gateway · reason self");
        assert_eq!(list[1]["text"], "Node: phone · mode ui");
        assert_eq!(list[1]["reason"], "disconnect");
        assert_eq!(list[1]["roles"], json!(["operator", "node"]));
        assert_eq!(list[1].get("scopes"), None, "no scopes are not told");
        assert_eq!(presence.list(LIFETIME_MS + 3.0).as_array().unwrap().len(), 1);
    }
}
