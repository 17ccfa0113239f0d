//! `history.json`: sequences of operations on one history book.

use serde_json::json;
use yabby_domain::history::{self, HistoryBook, HistoryEntry, with_history};
use yabby_domain::json::{self as js, Object, Value};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "history.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    match case.rule.as_str() {
        "constants" => Some(json!({
            "HISTORY_CONTEXT_MARKER": history::CONTEXT_MARKER,
            "CURRENT_MESSAGE_MARKER": history::CURRENT_MESSAGE_MARKER,
            "DEFAULT_GROUP_HISTORY_LIMIT": history::DEFAULT_GROUP_LIMIT,
            "MAX_HISTORY_KEYS": history::MAX_CONVERSATIONS,
        })),
        "historyOps" => operations(case),
        "historyKeyCap" => Some(many_conversations(case)),
        _ => None,
    }
}

fn operations(case: &Case) -> Option<Value> {
    let initial = case.arg("initial").as_object().map(js::in_js_order).unwrap_or_default();
    let mut book: HistoryBook = initial.into_iter().map(|(key, list)| (key.clone(), entries(list))).collect();
    let operations = case.arg("ops").as_array()?;
    let results = operations.iter().map(|op| apply(&mut book, op)).collect::<Option<Vec<Value>>>()?;
    let state: Vec<Value> = book.conversations().map(|(key, list)| json!([key, recorded(list)])).collect();
    Some(json!({ "results": results, "state": state }))
}

fn apply(book: &mut HistoryBook, op: &Value) -> Option<Value> {
    let text = |field: &str| op[field].as_str().unwrap_or_default();
    let (key, current) = (text("key"), text("currentMessage"));
    let limit = limit(&op["limit"]);
    let line_break = op["lineBreak"].as_str().unwrap_or("\n");
    let before = |entries: &[HistoryEntry]| {
        let lines: Vec<String> = entries.iter().map(|e| format!("{}: {}", e.sender, e.body)).collect();
        Value::from(with_history(&lines.join(line_break), current, line_break))
    };
    // The last entry may be the message itself.
    let up_to_last =
        |entries: &[HistoryEntry]| before(entries.split_last().map_or(&[], |(_, earlier)| earlier));
    Some(match op["op"].as_str()? {
        "append" | "record" | "recordIfEnabled" => match entry(&op["entry"]) {
            Some(entry) => recorded(book.append(key, entry, limit)),
            None => json!([]),
        },
        "evict" => {
            let most = op["maxKeys"].as_u64().and_then(|most| usize::try_from(most).ok());
            book.evict(most.unwrap_or(history::MAX_CONVERSATIONS));
            Value::Null
        }
        "clear" => {
            book.clear(key);
            Value::Null
        }
        "clearIfEnabled" => {
            if limit > 0 {
                book.clear(key);
            }
            Value::Null
        }
        "build" => with_history(text("historyText"), current, line_break).into(),
        "buildFromEntries" if op["excludeLast"] == false => before(&entries(&op["entries"])),
        "buildFromEntries" => up_to_last(&entries(&op["entries"])),
        "buildPending" => before(book.pending(key, limit)),
        "buildFromMap" => {
            if let Some(entry) = entry(&op["entry"]) {
                book.append(key, entry, limit);
            }
            match op["excludeLast"] == false {
                true => before(book.pending(key, limit)),
                false => up_to_last(book.pending(key, limit)),
            }
        }
        _ => return None,
    })
}

fn many_conversations(case: &Case) -> Value {
    let limit = limit(case.arg("limit"));
    let mut book = HistoryBook::default();
    let numbered = (0..case.arg("appendKeysCount").as_u64().unwrap_or(0)).map(|n| format!("k{n}"));
    let refreshed = case.text("refresh").map(str::to_owned);
    let then = case.arg("then").as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    for key in numbered.chain(refreshed).chain(then) {
        let entry = HistoryEntry { sender: "s".into(), body: key.clone(), timestamp: None, message_id: None };
        book.append(&key, entry, limit);
    }
    let keys: Vec<&str> = book.conversations().map(|(key, _)| key).collect();
    let mut answer = json!({ "size": keys.len(), "first": keys.first(), "last": keys.last() });
    if case.arg("then").is_array() {
        answer["hasK0"] = keys.contains(&"k0").into();
        answer["hasK1"] = keys.contains(&"k1").into();
    }
    answer
}

/// No limit is no bound; one that is negative is as good as none at all.
fn limit(value: &Value) -> usize {
    if value.is_null() {
        return usize::MAX;
    }
    value.as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0)
}

fn entries(list: &Value) -> Vec<HistoryEntry> {
    list.as_array().into_iter().flatten().filter_map(entry).collect()
}

fn entry(value: &Value) -> Option<HistoryEntry> {
    value.as_object().map(|entry| HistoryEntry {
        sender: entry.get("sender").and_then(Value::as_str).unwrap_or_default().to_owned(),
        body: entry.get("body").and_then(Value::as_str).unwrap_or_default().to_owned(),
        timestamp: entry.get("timestamp").and_then(Value::as_f64),
        message_id: entry.get("messageId").and_then(Value::as_str).map(str::to_owned),
    })
}

fn recorded(entries: &[HistoryEntry]) -> Value {
    let one = |entry: &HistoryEntry| {
        let mut object = Object::new();
        object.insert("sender".into(), entry.sender.clone().into());
        object.insert("body".into(), entry.body.clone().into());
        if let Some(timestamp) = entry.timestamp {
            object.insert("timestamp".into(), js::number(timestamp));
        }
        if let Some(id) = &entry.message_id {
            object.insert("messageId".into(), id.clone().into());
        }
        Value::Object(object)
    };
    entries.iter().map(one).collect()
}
