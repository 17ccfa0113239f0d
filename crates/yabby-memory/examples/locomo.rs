//! LoCoMo: conversations become transcripts, questions become searches, hits become predictions.
//!
//! `locomo DATA OUT [MODEL]`: DATA holds `conversations/*.json`; OUT gets a line per question for `score.py`; MODEL is the folder of
//! the local model.

#![allow(clippy::print_stderr, reason = "a command prints")]

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use yabby_domain::secrets::Secrets;
use yabby_memory::audience::{Audience, Viewer};
use yabby_memory::recall::{Conversation, Filter, Meant, Query, Recall};

/// The scorer looks at so many.
const MOST: usize = 50;

const MODEL: &str = "all-MiniLM-L6-v2";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (data, out, model) = match words.as_slice() {
        [data, out] => (data, out, None),
        [data, out, model] => (data, out, Some(yabby_minilm::Model::load(Path::new(model))?)),
        _ => return Err("usage: locomo DATA OUT [MODEL]".into()),
    };
    let mut files: Vec<_> = fs::read_dir(Path::new(data).join("conversations"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    let room = "agent:main:whatsapp:group:friends".to_owned();
    let viewer = Viewer { audience: Audience::Room(room), is_owner_alone: false, ..Viewer::owner() };
    let mut out = std::io::BufWriter::new(fs::File::create(out)?);
    for file in files {
        let conversation: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        let folder = tempfile::tempdir()?;
        let recall = remember(&conversation, folder.path())?;
        if let Some(model) = &model {
            loop {
                let batch = recall.unembedded(MODEL, 512, false)?;
                if batch.is_empty() {
                    break;
                }
                let texts: Vec<&str> = batch.iter().map(|document| document.text.as_str()).collect();
                let vectors = model.embed_all(&texts);
                recall.embed(MODEL, &batch.into_iter().zip(vectors).collect::<Vec<_>>())?;
            }
        }
        for question in list(&conversation, "questions") {
            let hits = recall.search(&Query {
                text: text(question, "question").to_owned(),
                viewer: viewer.clone(),
                filter: Filter::default(),
                most: MOST,
                around: 0,
                meaning: model.as_ref().map(|model| Meant {
                    model: MODEL.to_owned(),
                    vector: model.embed(text(question, "question")),
                }),
                now: Timestamp::now(),
                zone: TimeZone::UTC,
            })?;
            let ranked: Vec<String> = hits.into_iter().filter_map(|hit| hit.unit.entry).collect();
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

/// Writes what was said as the transcripts of a group, one for each session, and indexes them.
fn remember(conversation: &Value, folder: &Path) -> Outcome<Recall> {
    let recall = Recall::open(&folder.join("index.sqlite"))?;
    for session in list(conversation, "sessions") {
        let number = session.get("session").and_then(Value::as_u64).unwrap_or(0);
        let begins: DateTime = text(session, "date_iso").parse()?;
        let mut lines = json!({"type": "session", "version": 3, "id": format!("s{number}")}).to_string();
        lines.push('\n');
        for (at, turn) in list(session, "turns").iter().enumerate() {
            let time =
                begins.to_zoned(TimeZone::UTC)?.timestamp() + jiff::SignedDuration::from_secs(at as i64);
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
            lines.push_str(&entry.to_string());
            lines.push('\n');
        }
        let file = folder.join(format!("s{number}.jsonl"));
        fs::write(&file, lines)?;
        let room = "agent:main:whatsapp:group:friends".to_owned();
        recall.index_conversation(
            &Conversation {
                path: format!("sessions/s{number}.jsonl"),
                file,
                agent: "main".to_owned(),
                session_key: Some(room.clone()),
                session_id: Some(format!("s{number}")),
                channel: Some("whatsapp".to_owned()),
                chat_type: Some("group".to_owned()),
                audience: Audience::Room(room),
            },
            &Secrets::default(),
        )?;
    }
    Ok(recall)
}
