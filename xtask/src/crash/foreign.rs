//! What other programs have in the folder. None of it may change.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

use super::model::{Known, Model, SHARED};
use crate::snapshot::Item;

/// Files of other programs, some with names that look like ours.
const FILES: [(&str, &str); 8] = [
    ("notes.txt", "remember the milk"),
    ("plugin-state.json", "{ \"a\" : 1 }"),
    ("other.json.4711.tmp", "half a fil"),
    ("unrelated.lock", "4711"),
    (
        "of-someone-else.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"else\",\"timestamp\":\"2026-01-15T09:30:00.000Z\",\"cwd\":\"/\"}\n{\"type\":\"cust",
    ),
    ("not-a-transcript.jsonl", "\u{0}\u{1}garbage\n\n"),
    ("older.jsonl.bak.2026-01-15T09-30-00.000Z", "{}\n"),
    ("sub/sessions.json", "not even JSON"),
];

/// Lines that stand in a conversation of ours.
const HEADER: &str =
    r#"{"type":"session","version":3,"id":"planted","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
const LINES: [&str; 6] = [
    r#"{"type":"message","id":"p1","parentId":null,"timestamp":"2026-01-15T09:30:01.000Z","message":{"role":"user","content":"hi","timestamp":1}}"#,
    r#"{ "type": "from_the_future", "id": "p2", "parentId": "p1", "big": 12345678901234567890, "half": "\ud83d" }"#,
    "this is no JSON",
    "null",
    r#"{"type":"message","id":"p3","parentId":"p2","timestamp":"2026-01-15T09:30:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hello"}],"timestamp":2}}"#,
    r#"{"type":"custom","customType":"theirs","data":1.0,"id":"p4","parentId":"p3","timestamp":"2026-01-15T09:30:03.000Z"}"#,
];

pub struct Foreign {
    files: Vec<(&'static str, Item)>,
    records: Map<String, Value>,
}

impl Foreign {
    /// A folder with what others have in it, and what we know of it.
    pub fn sow(folder: &Path) -> Result<(Self, Model)> {
        fs::create_dir_all(folder.join("sub"))?;
        for (name, text) in FILES {
            fs::write(folder.join(name), text)?;
        }
        let records = Map::from_iter([
            ("plugin:thing".to_owned(), json!({ "any": [1, 2.5, null, { "z": 1, "a": 2 }], "sessionId": 5 })),
            ("nothing".to_owned(), Value::Null),
            ("number".to_owned(), json!(5)),
            (
                "agent:main:of-openclaw".to_owned(),
                json!({ "sessionId": "o", "updatedAt": 1, "unknown": { "x": "ünï 🦀" } }),
            ),
        ]);
        let mut model = Model::default();
        let shared = json!({ "sessionId": "shared", "updatedAt": 1, "theirs": { "deep": [[]] } });
        let planted = json!({ "sessionId": "planted", "updatedAt": 2, "theirs": [null, "\u{2028}"] });
        for (key, record) in [
            (SHARED.to_owned(), shared),
            (super::own_key(0, 0, 0), planted.clone()),
            (super::own_key(1, 1, 1), planted),
        ] {
            model.plant_record(key, record);
        }
        let store: Map<String, Value> = records.clone().into_iter().chain(model.records()).collect();
        fs::write(folder.join("sessions.json"), serde_json::to_string_pretty(&store)?)?;
        // One ends as it should, one without a line feed, one has the line ends of another system.
        let text = std::iter::once(HEADER).chain(LINES).map(|line| format!("{line}\n")).collect::<String>();
        let texts = [text.clone(), text.trim_end().to_owned(), text.replace('\n', "\r\n")];
        for (thread, text) in texts.iter().enumerate() {
            let name = format!("planted-{thread}");
            fs::write(folder.join(format!("{name}.jsonl")), text)?;
            let entries =
                [(0, "p1", None), (1, "p2", Some("p1")), (4, "p3", Some("p2")), (5, "p4", Some("p3"))];
            let known = entries.map(|(line, id, parent)| Known::planted(id, parent, LINES[line]));
            model.plant_conversation(name, thread, known.into());
        }
        let files = FILES.iter().map(|(name, _)| Ok((*name, Item::of(&folder.join(name))?)));
        Ok((Self { files: files.collect::<Result<_>>()?, records }, model))
    }

    /// Whether a line of a transcript was never one of ours.
    pub fn is_planted(line: &str) -> bool {
        LINES.contains(&line.trim_end_matches('\r'))
    }

    pub fn is_file(name: &str) -> bool {
        FILES.iter().any(|(planted, _)| *planted == name)
    }

    pub fn ensure_untouched(&self, folder: &Path) -> Result<()> {
        for (name, item) in &self.files {
            ensure!(Item::of(&folder.join(name))? == *item, "{name} was touched");
        }
        Ok(())
    }

    pub fn ensure_in_store(&self, saved: &Map<String, Value>) -> Result<()> {
        for (key, record) in &self.records {
            let now = saved.get(key).map(Value::to_string);
            ensure!(now.as_deref() == Some(&record.to_string()), "the foreign record {key} is now {now:?}");
        }
        Ok(())
    }

    /// The records of others that are objects, which yabby lists as well.
    pub fn listed(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.records.iter().filter(|(_, record)| record.is_object())
    }
}
