//! `system-event`: somebody tells that they are there, or leaves a notice for the main session (`gateway.md` §7).

use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::{Answer, Refusal};
use crate::hub::Weight;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "system-event",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "Tells that somebody is there, or leaves a notice for the main session.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let said =
        call.text("text").and_then(text::non_blank).ok_or_else(|| Refusal::invalid("text required"))?;
    let told = Told::of(&call.params, said);
    let before = gateway.presence.get(&told.key).unwrap_or_default();
    let now = gateway.now_ms();
    gateway.presence.note(&told.key, told.fields.clone(), now);
    let notice = match said.starts_with("Node:") {
        true => difference(&before, &told.fields),
        false => Some(said.to_owned()),
    };
    if let Some(notice) = notice {
        gateway.engine.notice(&main_session(gateway), &notice);
    }
    gateway.presence_changed();
    let payload = json!({"presence": gateway.presence.list(now)});
    gateway.tell_state("presence", &payload, Weight::Droppable);
    Ok(json!({"ok": true}))
}

fn main_session(gateway: &Gateway) -> yabby_domain::session::key::SessionKey {
    KeyPolicy::from_config(&gateway.config()).main_session()
}

/// What is told of somebody, and the name under which others see it.
struct Told {
    key: String,
    fields: Object,
}

impl Told {
    fn of(params: &Value, said: &str) -> Self {
        const TEXTS: [&str; 9] = [
            "deviceId",
            "instanceId",
            "host",
            "ip",
            "mode",
            "version",
            "platform",
            "deviceFamily",
            "modelIdentifier",
        ];
        let mut fields = parsed(said);
        let given = |name: &str| params.get(name).filter(|value| value.is_string()).cloned();
        let texts = TEXTS.into_iter().chain(["reason"]);
        fields.extend(texts.filter_map(|name| Some((name.to_owned(), given(name)?))));
        if let Some(seconds) = params.get("lastInputSeconds").filter(|value| value.is_number()) {
            fields.insert("lastInputSeconds".to_owned(), seconds.clone());
        }
        let is_texts =
            |value: &&Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        for name in ["roles", "scopes", "tags"] {
            if let Some(texts) = params.get(name).filter(is_texts) {
                fields.insert(name.to_owned(), texts.clone());
            }
        }
        fields.insert("text".to_owned(), said.into());
        let word = |name: &str| fields.get(name).and_then(Value::as_str).and_then(text::non_blank);
        let named = word("deviceId").or(word("instanceId")).or(word("host")).or(word("ip"));
        let key = named.map_or_else(|| text::head(said, 64).into_owned(), str::to_owned);
        Self { key, fields }
    }
}

/// `Node: host (ip) · app 1.0 · last input 5s ago · mode local · reason periodic`, taken apart; nothing of a text
/// that says something else.
fn parsed(said: &str) -> Object {
    let parse = || {
        let parts: Vec<&str> = said.split('·').map(str::trim).collect();
        let [node, app, input, mode, reason] = parts.as_slice() else { return None };
        let (host, ip) = text::strip_prefix_ignoring_ascii_case(node, "Node:")?.trim().split_once('(')?;
        let after = |part: &str, word: &str| {
            Some(text::strip_prefix_ignoring_ascii_case(part, word)?.trim().to_owned())
        };
        let seconds: u64 = after(input, "last input")?.strip_suffix("s ago")?.trim().parse().ok()?;
        Some(Object::from_iter([
            ("host".to_owned(), host.trim().into()),
            ("ip".to_owned(), ip.trim().strip_suffix(')')?.into()),
            ("version".to_owned(), after(app, "app")?.into()),
            ("lastInputSeconds".to_owned(), seconds.into()),
            ("mode".to_owned(), after(mode, "mode")?.into()),
            ("reason".to_owned(), after(reason, "reason")?.into()),
        ]))
    };
    parse().unwrap_or_default()
}

/// What is new about a node, in a line; nothing if it only says that it is still there.
fn difference(before: &Object, told: &Object) -> Option<String> {
    let word = |of: &Object, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let next = |name: &str| word(told, name).or_else(|| word(before, name));
    let is_new = |name: &str| next(name) != word(before, name);
    let reason = next("reason").unwrap_or_default();
    let lowered = text::lower(&reason);
    let is_routine = lowered.starts_with("periodic") || lowered == "heartbeat";
    let tells_reason = is_new("reason") && !is_routine;
    let news = ["host", "ip", "version", "mode"].map(is_new);
    if !news.contains(&true) && !tells_reason {
        return None;
    }
    let or = |name: &str, other: &str| {
        next(name).filter(|said| !said.trim().is_empty()).unwrap_or_else(|| other.to_owned())
    };
    let ip = next("ip").map(|ip| format!(" ({ip})")).unwrap_or_default();
    let parts = [
        Some(format!("Node: {}{ip}", or("host", "Unknown"))),
        news[2].then(|| format!("app {}", or("version", "unknown"))),
        news[3].then(|| format!("mode {}", or("mode", "unknown"))),
        tells_reason.then(|| format!("reason {}", or("reason", "event"))),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_tells_where_it_is_and_only_news_are_noticed() {
        let said = "Node: mac (10.0.0.2) · app 1.2 · last input 5s ago · mode local · reason periodic";
        let told = Told::of(&json!({"instanceId": "I", "tags": [1], "roles": ["node"]}), said);
        assert_eq!(told.key, "I");
        assert_eq!(told.fields["lastInputSeconds"], 5);
        assert_eq!(told.fields["roles"], json!(["node"]));
        assert_eq!(told.fields.get("tags"), None);
        let news = difference(&Object::new(), &told.fields);
        assert_eq!(news.as_deref(), Some("Node: mac (10.0.0.2) · app 1.2 · mode local"));
        assert_eq!(difference(&told.fields, &told.fields), None);
        assert_eq!(parsed("Node: test · mode local"), Object::new());
    }
}
