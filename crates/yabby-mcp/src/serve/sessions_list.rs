//! `sessions_list`: the conversations that can be seen.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::text;
use yabby_memory::recall::{Filter, Listed};
use yabby_memory::shown;

use super::arguments::Arguments;
use super::{Look, Spec};

const USUAL: usize = 50;
const MOST: usize = 200;

/// What a record says about a session, under the names of the reference.
const FIELDS: [&str; 7] =
    ["label", "displayName", "subject", "model", "contextTokens", "totalTokens", "spawnedBy"];

pub(super) fn spec() -> Spec {
    (
        "List conversations",
        "List the conversations that can be seen, the latest first, with their keys, channels and times.",
        json!({
            "type": "object",
            "properties": {
                "limit": {"type": "number", "description": "How many (default 50)"},
                "activeMinutes": {"type": "number", "description": "Only those in which something was said so many minutes ago or later"},
                "channel": {"type": "string", "description": "Only those of this channel (telegram, whatsapp, discord)"},
            },
        }),
    )
}

pub(super) async fn call(look: &Look<'_>, arguments: Arguments<'_>) -> Result<Value, String> {
    let limit = arguments.count("limit", USUAL, MOST)?;
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let since = arguments
        .number("activeMinutes")?
        .map(|minutes| Timestamp::now().as_millisecond().saturating_sub((minutes * 60_000.0) as i64));
    let filter = Filter { channel: arguments.text("channel")?.map(text::lower), ..Filter::default() };
    let (mut listed, unread) = look.conversations(filter).await?;
    // A session that began anew has older transcripts, too; those with no key stand for themselves.
    let mut seen = HashSet::new();
    listed.retain(|one| one.session_key.as_ref().is_none_or(|key| seen.insert(key.clone())));
    listed.retain(|one| since.is_none_or(|since| one.last_at.is_some_and(|at| at >= since)));
    listed.truncate(limit);
    let records = look.opened.sessions.list().await.map_err(|error| error.to_string())?;
    let records: HashMap<&str, &SessionEntry> =
        records.iter().map(|(key, record)| (key.as_str(), record)).collect();
    let policy = KeyPolicy::from_config(&look.opened.config);
    let record_of = |one: &Listed| records.get(one.session_key.as_deref()?).copied();
    let rows: Vec<Value> = listed.iter().map(|one| row(one, record_of(one), &policy)).collect();
    Ok(look.with_unread(json!({"count": rows.len(), "sessions": rows}), unread))
}

fn row(listed: &Listed, record: Option<&SessionEntry>, policy: &KeyPolicy) -> Value {
    let mut row = json!({
        "key": listed.session_key,
        "sessionId": listed.session_id,
        "channel": listed.channel.as_deref().unwrap_or("unknown"),
        "messages": listed.messages,
    });
    if let Some(key) = &listed.session_key {
        row["kind"] = policy.kind(&SessionKey::new(key.as_str())).into();
    }
    if let Some(kind) = &listed.chat_type {
        row["chatType"] = kind.as_str().into();
    }
    let updated = record.and_then(|record| record.get("updatedAt")).filter(|at| at.is_number()).cloned();
    if let Some(at) = updated.or_else(|| listed.last_at.map(Value::from)) {
        row["updatedAt"] = at;
    }
    for (name, at) in [("firstMessageAt", listed.first_at), ("lastMessageAt", listed.last_at)] {
        if let Some(at) = at.and_then(shown::stamp) {
            row[name] = at.into();
        }
    }
    for name in FIELDS {
        if let Some(value) = record.and_then(|record| record.get(name)).filter(|value| !value.is_null()) {
            row[name] = value.clone();
        }
    }
    row
}
