//! Stores and transcripts to measure with. The same arguments make the same bytes.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_testkit::torture::{self, Damage};

use crate::Result;
use crate::serve::object;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Whole,
    /// A compaction near the end leaves 500 entries in the context.
    Compacted,
}

/// A store with records of two kilobytes each.
pub fn make_store(file: &Path, sessions: &str) -> Result<()> {
    let mut words = Words(1);
    let mut store = Object::new();
    for number in 0..sessions.parse::<usize>()? {
        store.insert(session_key(number), record(number, &mut words));
    }
    Ok(std::fs::write(file, json::stringify_pretty(&Value::Object(store)))?)
}

/// A state folder in which everything is damaged.
pub fn make_torture(folder: &Path, sessions: &str, damage: Damage) -> Result<()> {
    Ok(torture::build(folder, damage, sessions.parse()?).map(drop)?)
}

pub fn session_key(number: usize) -> String {
    format!("agent:main:telegram:dm:{number}")
}

fn record(number: usize, words: &mut Words) -> Value {
    let peer = format!("telegram:{number}");
    json!({
        "sessionId": session_id(number),
        "updatedAt": 1_768_469_400_000_u64 + number as u64,
        "systemSent": true,
        "chatType": "direct",
        "thinkingLevel": "low",
        "inputTokens": 12_345,
        "outputTokens": 678,
        "totalTokens": 13_023,
        "contextTokens": 200_000,
        "modelProvider": "anthropic",
        "model": "claude-opus-4-5",
        "origin": { "label": words.text(30), "provider": "telegram", "from": peer, "to": peer, "accountId": "default" },
        "skillsSnapshot": {
            "prompt": words.text(1100),
            "skills": [{ "name": "weather" }, { "name": "notes", "primaryEnv": "NOTES_KEY" }],
            "version": 1,
        },
        "channel": "telegram",
        "deliveryContext": { "channel": "telegram", "to": peer, "accountId": "default" },
        "lastChannel": "telegram",
        "lastTo": peer,
        "lastAccountId": "default",
    })
}

fn session_id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// A transcript of some 500 bytes per entry: turns of a user and an assistant.
pub fn make_transcript(file: &Path, entries: &str, shape: Shape) -> Result<()> {
    /// How many entries stand before the compaction that it keeps, and after it.
    const KEPT: (usize, usize) = (200, 299);
    let entries: usize = entries.parse()?;
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    let mut words = Words(1);
    let mut put = |line: Value| -> Result<()> { Ok(writeln!(out, "{}", json::stringify(&line))?) };
    put(
        json!({ "type": "session", "version": 3, "id": session_id(0), "timestamp": "2026-01-15T09:30:00.000Z", "cwd": "/work" }),
    )?;
    for number in 0..entries {
        let parent = number.checked_sub(1).map(entry_id);
        let mut entry = object(
            json!({ "type": "message", "id": entry_id(number), "parentId": parent, "timestamp": time(number) }),
        );
        let is_compaction = shape == Shape::Compacted && number + KEPT.1 + 1 == entries;
        let more = match number {
            0 => json!({ "type": "model_change", "provider": "anthropic", "modelId": "claude-opus-4-5" }),
            1 => json!({ "type": "thinking_level_change", "thinkingLevel": "low" }),
            _ if is_compaction => json!({
                "type": "compaction", "summary": "What happened before.",
                "firstKeptEntryId": entry_id(number - KEPT.0), "tokensBefore": 100_000,
            }),
            _ if number % 2 == 0 => json!({ "message": {
                "role": "user", "content": [{ "type": "text", "text": words.text(300) }], "timestamp": millis(number),
            } }),
            _ => json!({ "message": {
                "role": "assistant", "content": [{ "type": "text", "text": words.text(130) }],
                "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-4-5",
                "usage": { "input": 10, "output": 20, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 30,
                    "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } },
                "stopReason": "stop", "timestamp": millis(number),
            } }),
        };
        entry.extend(object(more));
        put(Value::Object(entry))?;
    }
    Ok(out.flush()?)
}

fn entry_id(number: usize) -> String {
    format!("{:08x}", number * 7919 + 12_345)
}

fn millis(number: usize) -> u64 {
    1_768_469_400_000 + number as u64
}

fn time(number: usize) -> String {
    format!(
        "2026-01-15T{:02}:{:02}:{:02}.{:03}Z",
        number / 3_600_000 % 24,
        number / 60_000 % 60,
        number / 1000 % 60,
        number % 1000
    )
}

/// Text that is not all the same.
struct Words(u64);

impl Words {
    fn text(&mut self, length: usize) -> String {
        const WORDS: [&str; 20] = [
            "the", "kitchen", "window", "was", "open", "and", "nobody", "had", "noticed", "how", "quiet",
            "it", "became", "after", "lunch", "today", "crab", "walks", "sideways", "home",
        ];
        let mut text = String::with_capacity(length + 10);
        while text.len() < length {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(WORDS[usize::try_from(self.0 >> 33).unwrap_or_default() % WORDS.len()]);
            text.push(' ');
        }
        text.truncate(length);
        text
    }
}
