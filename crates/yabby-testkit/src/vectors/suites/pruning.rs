//! `pruning.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};
use yabby_domain::message::Message;
use yabby_domain::pruning::{self, HardClear, Settings, SoftTrim, ToolPatterns};
use yabby_domain::text;
use yabby_domain::transcript::entry::Entry;

use super::list_rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "pruning.json", cases, answer, differences: &[] };

fn cases(document: &Value) -> Vec<Case> {
    list_rows(document, &[("conversation", "conversations")], |rule, row| match rule {
        "prune" => json!({"unchanged": row["unchanged"], "changes": row["changes"]}),
        _ => row["expected"].clone(),
    })
}

fn answer(case: &Case) -> Option<Value> {
    Some(match case.rule.as_str() {
        "effectiveSettings" => {
            let config = json!({"agents": {"defaults": {"contextPruning": case.arg("config")}}});
            Settings::from_config(&Config::new(config)).map_or(Value::Null, settings_value)
        }
        "toolPrunable" => tool_patterns(case.arg("match")).allows(case.text("tool")?).into(),
        "cacheTtlEligible" => pruning::is_eligible(case.text("provider")?, case.text("model")?).into(),
        "lastCacheTtlTimestamp" => {
            let entries = case.arg("entries").as_array()?.iter();
            let entries: Vec<Entry> =
                entries.filter_map(Value::as_object).cloned().map(Entry::from_object).collect();
            pruning::last_cache_touch(&entries).map_or(Value::Null, json::number)
        }
        "prune" => {
            let stored = case.arg("conversation").as_array()?.iter();
            let mut messages: Vec<Message> = stored.cloned().filter_map(Message::from_value).collect();
            let window = case.arg("contextWindowTokens").as_f64().map(|tokens| tokens as u64);
            let replacements = pruning::prune(&messages, &settings(case.arg("settings"))?, window);
            pruning::apply(&mut messages, &replacements);
            let change = |index: usize| {
                // The recorded texts show half a surrogate pair as U+FFFD.
                let mut content = messages[index].get("content").cloned().unwrap_or_default();
                for block in content.as_array_mut().into_iter().flatten() {
                    let shown = text::to_outside(block["text"].as_str().unwrap_or_default()).into_owned();
                    block["text"] = shown.into();
                }
                json!({"index": index, "content": content})
            };
            let changes: Vec<Value> = replacements.iter().map(|change_at| change(change_at.index)).collect();
            json!({"unchanged": changes.is_empty(), "changes": changes})
        }
        _ => return None,
    })
}

/// Settings as a `prune` row gives them: all fields are there.
fn settings(value: &Value) -> Option<Settings> {
    let count = |value: &Value| value.as_f64().map(|number| number as usize);
    Some(Settings {
        ttl_ms: value["ttlMs"].as_u64()?,
        keep_last_assistants: count(&value["keepLastAssistants"])?,
        soft_trim_ratio: value["softTrimRatio"].as_f64()?,
        hard_clear_ratio: value["hardClearRatio"].as_f64()?,
        min_prunable_tool_chars: count(&value["minPrunableToolChars"])?,
        tools: tool_patterns(&value["tools"]),
        soft_trim: SoftTrim {
            max_chars: count(&value["softTrim"]["maxChars"])?,
            head_chars: count(&value["softTrim"]["headChars"])?,
            tail_chars: count(&value["softTrim"]["tailChars"])?,
        },
        hard_clear: HardClear {
            enabled: value["hardClear"]["enabled"].as_bool()?,
            placeholder: value["hardClear"]["placeholder"].as_str()?.to_owned(),
        },
    })
}

fn tool_patterns(value: &Value) -> ToolPatterns {
    let list = |name: &str| -> Option<Vec<String>> {
        let patterns = value.get(name)?.as_array()?;
        Some(patterns.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    };
    ToolPatterns { allow: list("allow"), deny: list("deny") }
}

fn settings_value(settings: Settings) -> Value {
    let ToolPatterns { allow, deny } = settings.tools;
    let tools: Value = [("allow", allow), ("deny", deny)]
        .into_iter()
        .filter_map(|(name, list)| Some((name.to_owned(), Value::from(list?))))
        .collect();
    json!({
        "mode": "cache-ttl",
        "ttlMs": settings.ttl_ms,
        "keepLastAssistants": settings.keep_last_assistants,
        "softTrimRatio": settings.soft_trim_ratio,
        "hardClearRatio": settings.hard_clear_ratio,
        "minPrunableToolChars": settings.min_prunable_tool_chars,
        "tools": tools,
        "softTrim": {
            "maxChars": settings.soft_trim.max_chars,
            "headChars": settings.soft_trim.head_chars,
            "tailChars": settings.soft_trim.tail_chars,
        },
        "hardClear": {"enabled": settings.hard_clear.enabled, "placeholder": settings.hard_clear.placeholder},
    })
}
