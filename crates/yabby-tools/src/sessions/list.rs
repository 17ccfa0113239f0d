//! `sessions_list`: the sessions there are.

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::text;

use super::{Seen, agents, as_json, messages, overheard, shown, sight};
use crate::arguments::Arguments;

pub(crate) struct SessionsList;

const USUAL: usize = 50;
const MOST: usize = 200;
const MOST_MESSAGES: usize = 20;

#[async_trait]
impl Tool for SessionsList {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "sessions_list".to_owned(),
            description: "List sessions, the latest first, with optional filters and last messages."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "kinds": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Any of main, group, cron, hook, node, other",
                    },
                    "limit": {"type": "number", "minimum": 1},
                    "activeMinutes": {"type": "number", "minimum": 1},
                    "messageLimit": {"type": "number", "minimum": 0},
                },
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let kinds: Vec<String> = arguments.texts("kinds").into_iter().map(text::lower).collect();
        let kinds: Vec<String> = kinds.into_iter().filter(|kind| KINDS.contains(&kind.as_str())).collect();
        let limit = arguments.count("limit", 1).unwrap_or(USUAL).min(MOST);
        let last = arguments.count("messageLimit", 0).unwrap_or(0).min(MOST_MESSAGES);
        #[expect(clippy::cast_precision_loss, reason = "nobody asks for so many minutes")]
        let since = arguments
            .count("activeMinutes", 1)
            .map(|minutes| context.now.as_millisecond() as f64 - minutes as f64 * 60_000.0);
        let mut found = match seen(context).await {
            Ok(found) => found,
            Err(error) => return ToolOutput::error(&error),
        };
        found.retain(|seen| {
            let kind = kind(context, &seen.key);
            let is_recent = since.is_none_or(|since| seen.entry.updated_at().is_some_and(|at| at >= since));
            is_recent && (kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind))
        });
        found.truncate(limit);
        let mut rows = Vec::new();
        for seen in &found {
            let mut row = row(context, seen);
            if last > 0
                && let Ok(said) = messages(seen, last, false).await
            {
                row["messages"] = said.into();
            }
            rows.push(row);
        }
        let listed = json!({"count": rows.len(), "sessions": rows});
        if last > 0 { overheard(&listed) } else { as_json(&listed) }
    }
}

const KINDS: [&str; 6] = ["main", "group", "cron", "hook", "node", "other"];

/// What may be seen, the latest first.
async fn seen(context: &ToolContext) -> Result<Vec<Seen>, String> {
    let sight = sight(context);
    let mut found = Vec::new();
    for agent in agents(context) {
        let Ok(conversations) = context.office.conversations(&agent) else { continue };
        for (key, entry) in conversations.sessions.list().await.map_err(|error| error.to_string())? {
            let is_reserved = matches!(key.as_str(), "unknown" | "global");
            if !is_reserved && sight.shows(context, &key, &entry) {
                found.push(Seen { key, entry, conversations: conversations.clone() });
            }
        }
    }
    let age = |seen: &Seen| seen.entry.updated_at().unwrap_or(0.0);
    found.sort_by(|one, other| age(other).total_cmp(&age(one)));
    Ok(found)
}

fn kind(context: &ToolContext, key: &SessionKey) -> &'static str {
    KeyPolicy::from_config(&context.config).kind(key)
}

fn row(context: &ToolContext, seen: &Seen) -> Value {
    let Seen { key, entry, .. } = seen;
    let delivery = entry.delivery();
    let last_channel =
        delivery.as_ref().and_then(|to| to.channel.as_deref()).or_else(|| said(entry, "lastChannel"));
    let kind = kind(context, key);
    let channel = match kind {
        "cron" | "hook" | "node" => "internal",
        _ => said(entry, "channel").or(last_channel).unwrap_or("unknown"),
    };
    let mut row = json!({"key": shown(&context.config, key), "kind": kind, "channel": channel});
    for field in [
        "label",
        "displayName",
        "updatedAt",
        "sessionId",
        "model",
        "contextTokens",
        "totalTokens",
        "thinkingLevel",
        "verboseLevel",
        "systemSent",
        "abortedLastRun",
        "sendPolicy",
        "spawnedBy",
    ] {
        if let Some(value) = entry.get(field).filter(|value| !value.is_null()) {
            row[field] = value.clone();
        }
    }
    if let Some(to) = &delivery {
        let parts = [("channel", &to.channel), ("to", &to.to), ("accountId", &to.account)];
        let told = parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), part.clone()?.into())));
        row["deliveryContext"] = Value::Object(told.collect());
        for (name, part) in [("lastTo", &to.to), ("lastAccountId", &to.account)] {
            if let Some(part) = part {
                row[name] = part.as_str().into();
            }
        }
    }
    if let Some(channel) = last_channel {
        row["lastChannel"] = channel.into();
    }
    row
}

fn said<'e>(entry: &'e SessionEntry, field: &str) -> Option<&'e str> {
    text::non_blank(entry.get(field)?.as_str()?)
}
