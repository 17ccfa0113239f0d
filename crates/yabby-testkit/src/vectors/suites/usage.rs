//! `usage.json`.

use serde_json::json;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::usage::{RunUsage, Usage, compacted, usage_patch};

use super::{context, rows};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "usage.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let usage = || case.arg("usage").as_object().and_then(normalized);
    Some(match case.rule.as_str() {
        "normalizeUsage" => {
            case.arg("raw").as_object().and_then(Usage::normalize).map_or(Value::Null, usage_value)
        }
        "derivePromptTokens" => usage().and_then(|usage| usage.prompt_tokens()).map_or(Value::Null, number),
        "hasNonzeroUsage" => json!(usage().is_some_and(|usage| usage.is_nonzero())),
        "persistSessionUsageUpdate" => after_run(case),
        "incrementCompactionCount" => after_compaction(case),
        _ => return None,
    })
}

/// A usage that is already in our fields; the recorded rule takes it as it is.
fn normalized(usage: &Object) -> Option<Usage> {
    let part = |field: &str| usage.get(field).and_then(Value::as_f64);
    Some(Usage {
        input: part("input"),
        output: part("output"),
        cache_read: part("cacheRead"),
        cache_write: part("cacheWrite"),
        total: part("total"),
    })
}

fn usage_value(usage: Usage) -> Value {
    let parts = [
        ("input", usage.input),
        ("output", usage.output),
        ("cacheRead", usage.cache_read),
        ("cacheWrite", usage.cache_write),
        ("total", usage.total),
    ];
    Value::Object(
        parts.into_iter().filter_map(|(name, part)| Some((name.to_owned(), number(part?)))).collect(),
    )
}

fn after_run(case: &Case) -> Value {
    let params = case.arg("params");
    let text = |field: &str| params.get(field).and_then(Value::as_str);
    let run = RunUsage {
        usage: params.get("usage").and_then(Value::as_object).and_then(normalized),
        model: text("modelUsed"),
        provider: text("providerUsed"),
        context_tokens: params.get("contextTokensUsed").and_then(Value::as_f64),
        system_prompt_report: params.get("systemPromptReport").and_then(Value::as_object),
        cli_session_id: text("cliSessionId"),
    };
    let now = case.arg("now").as_f64().unwrap_or(0.0);
    let (key, mut store) = (case.text("sessionKey").unwrap_or(""), context::stored(case.arg("store")));
    let Some(entry) = entry(&store, key) else {
        return case.arg("store").clone();
    };
    let Some(patch) = usage_patch(&entry, &run, now) else {
        return case.arg("store").clone();
    };
    let merged = SessionEntry::merged(Some(&entry), &patch, now, &mut || "$UUID1".to_owned());
    store.insert(key.to_owned(), Value::Object(merged.into_object()));
    json!(context::rewritten(&store))
}

fn after_compaction(case: &Case) -> Value {
    let (key, mut store) = (case.text("sessionKey").unwrap_or(""), context::stored(case.arg("store")));
    let Some(mut entry) = entry(&store, key) else {
        // Nothing to return is left out of an object.
        return json!({"store": case.arg("store")});
    };
    let patch = compacted(&entry, case.arg("now").as_f64().unwrap_or(0.0), case.arg("tokensAfter").as_f64());
    entry.apply(&patch);
    let count = entry.compaction_count().map_or(Value::Null, number);
    store.insert(key.to_owned(), Value::Object(entry.into_object()));
    json!({"result": count, "store": context::rewritten(&store)})
}

fn entry(store: &Object, key: &str) -> Option<SessionEntry> {
    store.get(key).and_then(Value::as_object).cloned().map(SessionEntry::new)
}
