//! `memory-flush.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::flush::{self, FlushBudget, FlushSettings, flush_is_due, with_silent_hint};
use yabby_domain::json::{Value, number};
use yabby_domain::session::entry::SessionEntry;

use yabby_domain::reply::tokens::{HEARTBEAT_TOKEN, SILENT_TOKEN};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "memory-flush.json", cases: rows, answer, differences: &[] };

pub fn answer(case: &Case) -> Option<Value> {
    let tokens = |field: &str| case.arg(field).as_f64().unwrap_or(0.0);
    Some(match case.rule.as_str() {
        "constants" => json!({
            "DEFAULT_MEMORY_FLUSH_PROMPT": flush::DEFAULT_PROMPT,
            "DEFAULT_MEMORY_FLUSH_SYSTEM_PROMPT": flush::DEFAULT_SYSTEM_PROMPT,
            "DEFAULT_MEMORY_FLUSH_SOFT_TOKENS": number(flush::DEFAULT_SOFT_TOKENS),
            "DEFAULT_PI_COMPACTION_RESERVE_TOKENS_FLOOR": number(flush::DEFAULT_RESERVE_FLOOR),
            "DEFAULT_CONTEXT_TOKENS": number(flush::DEFAULT_CONTEXT_TOKENS),
            "SILENT_REPLY_TOKEN": SILENT_TOKEN,
            "HEARTBEAT_TOKEN": HEARTBEAT_TOKEN,
        }),
        "shouldRunMemoryFlush" => {
            let entry = SessionEntry::new(case.arg("entry").as_object().cloned().unwrap_or_default());
            json!(flush_is_due(
                &entry,
                entry.total_tokens().unwrap_or(0.0),
                &FlushBudget {
                    context_window: tokens("contextWindowTokens"),
                    reserve: tokens("reserveTokensFloor"),
                    soft_margin: tokens("softThresholdTokens"),
                }
            ))
        }
        "resolveMemoryFlushSettings" => {
            match FlushSettings::from_config(&Config::new(case.arg("cfg").clone())) {
                None => Value::Null,
                Some(settings) => json!({
                    "enabled": true,
                    "softThresholdTokens": number(settings.soft_tokens),
                    "prompt": settings.prompt,
                    "systemPrompt": settings.system_prompt,
                    "reserveTokensFloor": number(settings.reserve_floor),
                }),
            }
        }
        "ensureNoReplyHint" => json!(with_silent_hint(case.text("text").unwrap_or(""))),
        _ => return None,
    })
}
