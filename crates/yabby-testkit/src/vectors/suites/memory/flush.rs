//! `memory-flush.json` of the folder: the rules are those of the file of the same name beside it.

use serde_json::json;
use yabby_domain::json::Value;

use crate::vectors::Case;
use crate::vectors::suites::memory_flush;

pub fn answer(case: &Case) -> Option<Value> {
    if case.rule != "resolveMemoryFlushSettings" {
        return memory_flush::answer(case);
    }
    // What is configured is given without its place in the configuration.
    let mut compaction = json!({});
    for field in ["memoryFlush", "reserveTokensFloor"] {
        if !case.arg(field).is_null() {
            compaction[field] = case.arg(field).clone();
        }
    }
    let input = json!({"cfg": {"agents": {"defaults": {"compaction": compaction}}}});
    memory_flush::answer(&Case { input, ..case.clone() })
}
