//! Sessions as clients list them (`gateway.md` §6 `sessions.list`, §7 `health` and `status`).

use crate::delivery::DeliveryContext;
use crate::id::AgentId;
use crate::json::{self, Object, Value};
use crate::model::ModelRef;
use crate::session::entry::SessionEntry;
use crate::session::glance::{Field, Glance};
use crate::session::group::{self, GroupNames};
use crate::session::key::SessionKey;
use crate::text;

/// Which sessions somebody wants to see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    pub global: bool,
    pub unknown: bool,
    pub agent: Option<AgentId>,
    pub spawned_by: Option<String>,
    /// Exactly this label.
    pub label: Option<String>,
    /// This text in any of their names.
    pub search: Option<String>,
    /// Those that changed since, in milliseconds since 1970.
    pub since: Option<f64>,
}

impl Wanted {
    /// By its key alone, which is that of `agent`'s store.
    pub fn keeps_key(&self, agent: &AgentId, key: &SessionKey) -> bool {
        let is_agents =
            || self.agent.as_ref().is_none_or(|wanted| *wanted == listed_key(agent, key).agent_id());
        match key.as_str() {
            "global" => self.global && self.agent.is_none() && self.spawned_by.is_none(),
            "unknown" => self.unknown && self.agent.is_none() && self.spawned_by.is_none(),
            _ => is_agents(),
        }
    }

    /// Whether the record has to be looked at, too.
    pub fn looks_at_records(&self) -> bool {
        self.spawned_by.is_some() || self.label.is_some() || self.search.is_some() || self.since.is_some()
    }

    pub fn keeps(&self, agent: &AgentId, key: &SessionKey, glance: &Glance) -> bool {
        let says = |field, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| glance.text(field).as_deref() == Some(wanted))
        };
        let is_recent =
            self.since.is_none_or(|since| glance.number(Field::UpdatedAt).unwrap_or(0.0) >= since);
        is_recent
            && says(Field::Label, &self.label)
            && self.is_child(agent, glance)
            && self.is_found(agent, key, glance)
    }

    fn is_child(&self, agent: &AgentId, glance: &Glance) -> bool {
        self.spawned_by.as_ref().is_none_or(|parent| {
            let own = glance.text(Field::SpawnedBy);
            own.as_deref().and_then(text::non_blank).is_some_and(|own| below(agent, own).as_str() == parent)
        })
    }

    fn is_found(&self, agent: &AgentId, key: &SessionKey, glance: &Glance) -> bool {
        let Some(search) = self.search.as_deref().and_then(text::lower_non_blank) else { return true };
        let says = |said: &str| text::lower(said).contains(&search);
        let fields = [Field::Label, Field::Subject, Field::SessionId];
        let key = listed_key(agent, key);
        fields.into_iter().any(|field| glance.text(field).is_some_and(|said| says(&said)))
            || says(key.as_str())
            || display_name(&key, &Names::of_glance(glance)).is_some_and(|name| says(&name))
    }
}

/// The key of a record in the store of an agent, as clients see it.
pub fn listed_key(agent: &AgentId, key: &SessionKey) -> SessionKey {
    below(agent, key.as_str())
}

fn below(agent: &AgentId, key: &str) -> SessionKey {
    match key {
        "global" | "unknown" => SessionKey::new(key),
        key if key.starts_with("agent:") => SessionKey::new(key),
        key => SessionKey::new(format!("agent:{agent}:{key}")),
    }
}

/// What a session may be called by.
#[derive(Clone, Debug, Default)]
struct Names {
    display_name: Option<String>,
    label: Option<String>,
    origin: Option<String>,
    channel: Option<String>,
    subject: Option<String>,
    group_channel: Option<String>,
    space: Option<String>,
}

impl Names {
    fn of_glance(glance: &Glance) -> Self {
        let said = |field| glance.text(field).map(|said| said.into_owned());
        let origin = glance.value(Field::Origin);
        Self {
            display_name: said(Field::DisplayName),
            label: said(Field::Label),
            origin: origin.and_then(|origin| Some(origin.get("label")?.as_str()?.to_owned())),
            channel: said(Field::Channel),
            subject: said(Field::Subject),
            group_channel: said(Field::GroupChannel),
            space: said(Field::Space),
        }
    }

    fn of_entry(entry: &SessionEntry) -> Self {
        let owned = |said: Option<&str>| said.map(str::to_owned);
        Self {
            display_name: owned(entry.display_name()),
            label: owned(entry.label()),
            origin: owned(entry.origin().and_then(|origin| origin.get("label")?.as_str())),
            channel: owned(entry.channel()),
            subject: owned(entry.subject()),
            group_channel: owned(entry.group_channel()),
            space: owned(entry.space()),
        }
    }
}

/// Its own name, else that of its group if it has a channel, else its label, else where it came from.
fn display_name(key: &SessionKey, names: &Names) -> Option<String> {
    let parsed = key.group();
    let channel = names.channel.as_deref().or(parsed.as_ref().map(|group| group.channel.as_str()));
    let of_group = || {
        let names = GroupNames {
            channel: Some(channel?),
            group_channel: names.group_channel.as_deref(),
            subject: names.subject.as_deref(),
            space: names.space.as_deref(),
            id: parsed.as_ref().map(|group| group.id.as_str()),
            key: key.as_str(),
        };
        Some(group::display_name(&names))
    };
    names
        .display_name
        .clone()
        .or_else(of_group)
        .or_else(|| names.label.clone())
        .or_else(|| names.origin.clone())
}

/// A row of `sessions.list`; `model` is who answers in it.
pub fn row(key: &SessionKey, entry: &SessionEntry, model: &ModelRef) -> Object {
    let stated = |field: &str| entry.get(field).filter(|value| !value.is_null()).cloned();
    let names = Names::of_entry(entry);
    let delivery = DeliveryContext::of_entry(entry);
    let tokens = entry
        .total_tokens()
        .unwrap_or_else(|| entry.input_tokens().unwrap_or(0.0) + entry.output_tokens().unwrap_or(0.0));
    let of_delivery = |told: Option<&String>| told.map(|told| Value::from(told.as_str()));
    let last = |told: Option<&String>, field: &str| of_delivery(told).or_else(|| stated(field));
    let (channel, to, account) = match &delivery {
        Some(delivery) => (delivery.channel.as_ref(), delivery.to.as_ref(), delivery.account.as_ref()),
        None => (None, None, None),
    };
    let grouped = key.group();
    let own_channel = stated("channel").or_else(|| grouped.map(|group| group.channel.into()));
    let members = [
        ("key", Some(key.as_str().into())),
        ("kind", Some(key.kind(entry.chat_type_text()).as_str().into())),
        ("label", stated("label")),
        ("displayName", display_name(key, &names).map(Value::from)),
        ("channel", own_channel),
        ("subject", stated("subject")),
        ("groupChannel", stated("groupChannel")),
        ("space", stated("space")),
        ("chatType", stated("chatType")),
        ("origin", stated("origin")),
        ("updatedAt", Some(stated("updatedAt").unwrap_or(Value::Null))),
        ("sessionId", stated("sessionId")),
        ("systemSent", stated("systemSent")),
        ("abortedLastRun", stated("abortedLastRun")),
        ("thinkingLevel", stated("thinkingLevel")),
        ("verboseLevel", stated("verboseLevel")),
        ("reasoningLevel", stated("reasoningLevel")),
        ("elevatedLevel", stated("elevatedLevel")),
        ("sendPolicy", stated("sendPolicy")),
        ("inputTokens", stated("inputTokens")),
        ("outputTokens", stated("outputTokens")),
        ("totalTokens", Some(json::number(tokens))),
        ("responseUsage", stated("responseUsage")),
        ("modelProvider", Some(model.provider.as_str().into())),
        ("model", Some(model.model.as_str().into())),
        ("contextTokens", stated("contextTokens")),
        ("deliveryContext", delivery.as_ref().map(|delivery| Value::Object(delivery.to_object()))),
        ("lastChannel", last(channel, "lastChannel")),
        ("lastTo", last(to, "lastTo")),
        ("lastAccountId", last(account, "lastAccountId")),
    ];
    present(members)
}

/// Who answers in a session: the model that it was switched to, else the usual one.
pub fn model_of(entry: Option<&SessionEntry>, usual: &ModelRef) -> ModelRef {
    let Some(model) = entry.and_then(|entry| entry.model_override().and_then(text::non_blank)) else {
        return usual.clone();
    };
    let provider = entry.and_then(|entry| entry.provider_override().and_then(text::non_blank));
    ModelRef::new(provider.unwrap_or(&usual.provider), model)
}

/// A row of `status`. `window` tells how much a model reads at once, by its name.
pub fn status_row(
    agent: Option<&AgentId>,
    key: &SessionKey,
    entry: &SessionEntry,
    usual_model: &str,
    window: &dyn Fn(&str) -> f64,
    now: f64,
) -> Object {
    let stated = |field: &str| entry.get(field).filter(|value| !value.is_null()).cloned();
    let model = entry.model().unwrap_or(usual_model);
    let window = entry.context_tokens().unwrap_or_else(|| window(model));
    let tokens = entry
        .total_tokens()
        .unwrap_or_else(|| entry.input_tokens().unwrap_or(0.0) + entry.output_tokens().unwrap_or(0.0));
    let used = (window > 0.0).then(|| (tokens / window * 100.0 + 0.5).floor().min(999.0));
    let number_or_null = |number: Option<f64>| Some(number.map_or(Value::Null, json::number));
    let members = [
        ("agentId", agent.map(|agent| agent.as_str().into())),
        ("key", Some(key.as_str().into())),
        ("kind", Some(key.kind(entry.chat_type_text()).as_str().into())),
        ("sessionId", stated("sessionId")),
        ("updatedAt", Some(stated("updatedAt").unwrap_or(Value::Null))),
        ("age", number_or_null(age(entry.updated_at(), now))),
        ("thinkingLevel", stated("thinkingLevel")),
        ("verboseLevel", stated("verboseLevel")),
        ("reasoningLevel", stated("reasoningLevel")),
        ("elevatedLevel", stated("elevatedLevel")),
        ("systemSent", stated("systemSent")),
        ("abortedLastRun", stated("abortedLastRun")),
        ("inputTokens", stated("inputTokens")),
        ("outputTokens", stated("outputTokens")),
        ("totalTokens", Some(json::number(tokens))),
        ("remainingTokens", Some(json::number((window - tokens).max(0.0)))),
        ("percentUsed", number_or_null(used)),
        ("model", Some(model.into())),
        ("contextTokens", Some(json::number(window))),
        ("flags", Some(flags(entry).into())),
    ];
    present(members)
}

/// What `health` tells of a session.
pub fn recent_row(key: &SessionKey, entry: &SessionEntry, now: f64) -> Object {
    let updated = entry.updated_at().filter(|at| *at != 0.0);
    let or_null = |number: Option<f64>| number.map_or(Value::Null, json::number);
    let members = [
        ("key", Some(key.as_str().into())),
        ("updatedAt", Some(or_null(updated))),
        ("age", Some(or_null(age(updated, now)))),
    ];
    present(members)
}

fn age(updated_at: Option<f64>, now: f64) -> Option<f64> {
    updated_at.filter(|at| *at != 0.0).map(|at| now - at)
}

fn flags(entry: &SessionEntry) -> Vec<String> {
    let levels = [
        ("think", entry.thinking_level()),
        ("verbose", entry.verbose_level()),
        ("reasoning", entry.reasoning_level()),
        ("elevated", entry.elevated_level()),
    ];
    let named = |name: &str, said: Option<&str>| {
        said.filter(|said| !said.is_empty()).map(|said| format!("{name}:{said}"))
    };
    let is_set = |field: &str| entry.get(field).is_some_and(json::truthy);
    let marks = [("systemSent", "system"), ("abortedLastRun", "aborted")];
    let levels = levels.into_iter().filter_map(|(name, said)| named(name, said));
    let marks = marks.into_iter().filter(|(field, _)| is_set(field)).map(|(_, mark)| mark.to_owned());
    levels.chain(marks).chain(named("id", entry.session_id())).collect()
}

fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Object {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(value: Value) -> SessionEntry {
        SessionEntry::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn every_wish_is_granted() {
        let main = AgentId::default();
        let record =
            entry(json!({"updatedAt": 100, "label": "Crab", "spawnedBy": "main", "sessionId": "abc",
            "origin": {"label": "Alice"}}));
        let glance = Glance::of(&record);
        let text = |text: &str| Some(text.to_owned());
        let table = [
            (Wanted::default(), true),
            (Wanted { label: text("Crab"), ..Wanted::default() }, true),
            (Wanted { label: text("crab"), ..Wanted::default() }, false),
            (Wanted { spawned_by: text("agent:main:main"), ..Wanted::default() }, true),
            (Wanted { spawned_by: text("agent:main:other"), ..Wanted::default() }, false),
            (Wanted { search: text(" CRAB "), ..Wanted::default() }, true),
            // A label is the name, so that where it came from is not.
            (Wanted { search: text("alice"), ..Wanted::default() }, false),
            (Wanted { search: text("AGENT:main:x"), ..Wanted::default() }, true),
            (Wanted { since: Some(100.0), ..Wanted::default() }, true),
            (Wanted { since: Some(101.0), ..Wanted::default() }, false),
        ];
        for (wanted, kept) in table {
            assert_eq!(wanted.keeps(&main, &SessionKey::new("x"), &glance), kept, "{wanted:?}");
        }
    }

    #[test]
    fn shared_sessions_are_listed_only_for_those_who_ask() {
        let (main, ops) = (AgentId::default(), AgentId::normalize("ops"));
        let wanted = |global, agent| Wanted { global, agent, ..Wanted::default() };
        let table = [
            (wanted(false, None), "global", false),
            (wanted(true, None), "global", true),
            (wanted(true, Some(main.clone())), "global", false),
            (wanted(false, Some(main.clone())), "x", true),
            (wanted(false, Some(ops.clone())), "x", false),
            (wanted(false, Some(ops)), "agent:ops:x", true),
        ];
        for (wanted, key, kept) in table {
            assert_eq!(wanted.keeps_key(&main, &SessionKey::new(key)), kept, "{wanted:?} {key}");
        }
    }

    #[test]
    fn a_row_tells_what_the_record_says() {
        let record = entry(json!({"sessionId": "s", "updatedAt": 5, "inputTokens": 3, "outputTokens": 4,
            "lastChannel": "telegram", "lastTo": "telegram:1", "subject": "Crabs"}));
        let row = row(&SessionKey::new("agent:main:telegram:group:7"), &record, &ModelRef::new("p", "m"));
        let expected = json!({"key": "agent:main:telegram:group:7", "kind": "group", "displayName": "telegram:g-crabs",
            "channel": "telegram", "subject": "Crabs", "updatedAt": 5, "sessionId": "s", "inputTokens": 3,
            "outputTokens": 4, "totalTokens": 7, "modelProvider": "p", "model": "m",
            "deliveryContext": {"channel": "telegram", "to": "telegram:1"}, "lastChannel": "telegram",
            "lastTo": "telegram:1"});
        assert_eq!(json::stringify_object(&row), json::stringify(&expected));
    }

    #[test]
    fn a_status_row_tells_how_full_a_session_is() {
        let record =
            entry(json!({"sessionId": "s", "updatedAt": 90, "totalTokens": 50, "thinkingLevel": "low",
            "systemSent": true}));
        let key = SessionKey::new("agent:main:main");
        let row = status_row(Some(&AgentId::default()), &key, &record, "m", &|_| 200.0, 100.0);
        assert_eq!(row["percentUsed"], json!(25));
        assert_eq!(row["remainingTokens"], json!(150));
        assert_eq!(row["age"], json!(10));
        assert_eq!(row["flags"], json!(["think:low", "system", "id:s"]));
    }
}
