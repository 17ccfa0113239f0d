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
    let session = main_session(gateway);
    if !said.starts_with("Node:") {
        gateway.engine.notice(&session, said);
    } else if let Some(news) = News::of(&before, &told.fields) {
        gateway.engine.notice_about(&session, &told.key, |is_named| news.told(is_named));
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
        let named = [params.get("deviceId"), params.get("instanceId"), fields.get("host"), fields.get("ip")];
        let key = named.into_iter().flatten().find_map(|name| text::non_blank(name.as_str()?));
        let key = key.map_or_else(|| text::head(said, 64).into_owned(), str::to_owned);
        let given = |name: &str| params.get(name).filter(|value| value.is_string()).cloned();
        let texts = TEXTS.into_iter().chain(["reason"]);
        fields.extend(texts.filter_map(|name| Some((name.to_owned(), given(name)?))));
        if let Some(seconds) = params.get("lastInputSeconds").filter(|value| value.is_number()) {
            fields.insert("lastInputSeconds".to_owned(), seconds.clone());
        }
        let is_texts =
            |value: &&Value| value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        for name in ["roles", "scopes"] {
            if let Some(texts) = params.get(name).filter(is_texts) {
                fields.insert(name.to_owned(), texts.clone());
            }
        }
        fields.insert("text".to_owned(), said.into());
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
        if host.trim().contains(' ') {
            return None;
        }
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

/// What is new about a node.
struct News {
    /// Who it is, and where.
    who: String,
    is_elsewhere: bool,
    rest: Vec<String>,
}

impl News {
    /// Nothing if it only says that it is still there.
    fn of(before: &Object, told: &Object) -> Option<Self> {
        let word = |of: &Object, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let next = |name: &str| word(told, name).or_else(|| word(before, name));
        let is_new = |name: &str| next(name) != word(before, name);
        let lowered = text::lower(&next("reason").unwrap_or_default());
        let is_routine = lowered.starts_with("periodic") || lowered == "heartbeat";
        let or = |name: &str, other: &str| {
            let said = next(name);
            said.as_deref().and_then(text::non_blank).unwrap_or(other).to_owned()
        };
        let rest = [
            is_new("version").then(|| format!("app {}", or("version", "unknown"))),
            is_new("mode").then(|| format!("mode {}", or("mode", "unknown"))),
            (is_new("reason") && !is_routine).then(|| format!("reason {}", or("reason", "event"))),
        ];
        let ip = next("ip").as_deref().and_then(text::non_blank).map(|ip| format!(" ({ip})"));
        let news = Self {
            who: format!("Node: {}{}", or("host", "Unknown"), ip.unwrap_or_default()),
            is_elsewhere: is_new("host") || is_new("ip"),
            rest: rest.into_iter().flatten().collect(),
        };
        (news.is_elsewhere || !news.rest.is_empty()).then_some(news)
    }

    /// In a line. Who it is need not be said if the line before was about them, too.
    fn told(self, is_named: bool) -> String {
        let who = (!is_named || self.is_elsewhere).then_some(self.who);
        who.into_iter().chain(self.rest).collect::<Vec<_>>().join(" · ")
    }
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
        let elsewhere = Told::of(&json!({"host": "phone", "tags": ["a"]}), "hello");
        assert_eq!((elsewhere.key.as_str(), elsewhere.fields.get("tags")), ("hello", None));
        let news =
            |before: &Object, now: &Object, is_named| News::of(before, now).map(|news| news.told(is_named));
        let first = news(&Object::new(), &told.fields, false);
        assert_eq!(first.as_deref(), Some("Node: mac (10.0.0.2) · app 1.2 · mode local"));
        assert_eq!(news(&told.fields, &told.fields, false), None);
        let mut later = told.fields.clone();
        later.insert("mode".to_owned(), "remote".into());
        assert_eq!(news(&told.fields, &later, false).as_deref(), Some("Node: mac (10.0.0.2) · mode remote"));
        assert_eq!(news(&told.fields, &later, true).as_deref(), Some("mode remote"));
        assert_eq!(parsed("Node: test · mode local"), Object::new());
        assert_eq!(parsed(&said.replace("mac", "my mac")), Object::new());
    }
}
