//! LoCoMo: conversations become transcripts of groups, questions become searches, hits become predictions.
//!
//! `locomo DATA OUT [MODEL]`: DATA holds `conversations/*.json`; OUT gets a line per question for
//! `score.py`; MODEL is the package of the local model.

mod common;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use yabby_domain::seam::SessionStore as _;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_memory::memory::{Meaning, Memory, Search};
use yabby_memory::recall::Filter;
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::remembering;

use common::{Local, Outcome};

/// The scorer looks at so many.
const MOST: usize = 50;

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (data, out, package) = match words.as_slice() {
        [data, out] => (data, out, None),
        [data, out, package] => (data, out, Some(Path::new(package))),
        _ => return Err("usage: locomo DATA OUT [MODEL]".into()),
    };
    let meaning = package
        .map(common::model)
        .transpose()?
        .map(|model| Meaning { embedder: Arc::new(Local(model)), sees_sessions: true });
    let mut files: Vec<_> = fs::read_dir(Path::new(data).join("conversations"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    let mut out = std::io::BufWriter::new(fs::File::create(out)?);
    for file in files {
        let conversation: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        let folder = tempfile::tempdir()?;
        let memory = remember(&conversation, folder.path(), meaning.clone()).await?;
        let viewer = memory.viewer(&SessionKey::new("agent:main:main"), true).await?;
        for question in list(&conversation, "questions") {
            let found = memory
                .search(Search {
                    text: text(question, "question").to_owned(),
                    viewer: viewer.clone(),
                    filter: Filter::default(),
                    most: MOST,
                    least: 0.0,
                    around: 0,
                    now: Timestamp::now(),
                    zone: TimeZone::UTC,
                })
                .await?;
            if let Some(problem) = found.unread.first() {
                return Err(problem.clone().into());
            }
            let ranked: Vec<String> = found.hits.into_iter().filter_map(|hit| hit.unit.entry).collect();
            writeln!(out, "{}", json!({"question_id": text(question, "question_id"), "ranked": ranked}))?;
        }
    }
    Ok(out.flush()?)
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What was said as the transcripts of groups, one for each session, in a memory whose owner sees groups.
async fn remember(conversation: &Value, folder: &Path, meaning: Option<Meaning>) -> Outcome<Memory> {
    let sessions = MemorySessions::default();
    let transcripts = folder.join("sessions");
    fs::create_dir_all(&transcripts)?;
    for session in list(conversation, "sessions") {
        let id = format!("s{}", session.get("session").and_then(Value::as_u64).unwrap_or(0));
        fs::write(transcripts.join(format!("{id}.jsonl")), transcript(session, &id)?)?;
        let record = json!({"sessionId": id, "chatType": "group", "channel": "whatsapp"});
        let record = SessionEntry::new(record.as_object().cloned().unwrap_or_default());
        let key = SessionKey::new(format!("agent:main:whatsapp:group:{id}"));
        sessions.update(&key, Box::new(move |entry| *entry = Some(record))).await?;
    }
    let config = json!({"memory": {"share": {"groups": true}}});
    let memory = remembering::memory(remembering::places(folder), &sessions, config, meaning)?;
    memory.sync(&|_| {}).await?;
    memory.embed(&|_| {}).await?;
    Ok(memory)
}

fn transcript(session: &Value, id: &str) -> Outcome<String> {
    let begins: DateTime = text(session, "date_iso").parse()?;
    let begins = begins.to_zoned(TimeZone::UTC)?.timestamp();
    let mut lines = format!("{}\n", json!({"type": "session", "version": 3, "id": id}));
    for (seconds, turn) in (0..).zip(list(session, "turns")) {
        let time = begins + SignedDuration::from_secs(seconds);
        let caption = text(turn, "image_caption");
        let media = if caption.is_empty() { String::new() } else { format!("\n[Image] {caption}") };
        let said = format!(
            "[WhatsApp Friends {}] {}: {}{media}",
            time.strftime("%Y-%m-%d %H:%M"),
            text(turn, "speaker"),
            text(turn, "text")
        );
        let entry = json!({
            "type": "message", "id": text(turn, "dia_id"), "timestamp": time.to_string(),
            "message": {"role": "user", "content": [{"type": "text", "text": said}]},
        });
        lines.push_str(&format!("{entry}\n"));
    }
    Ok(lines)
}
