//! What an index costs: `measure FOLDER MESSAGES [MODEL]` makes so many messages, indexes and searches them,
//! and prints what it took, in seconds, as JSON.
//!
//! Words are drawn as in real texts: few are frequent, most are rare. With a model, questions are embedded for
//! real; the vectors of the messages are made up, since looking through them costs the same.

#![allow(clippy::print_stdout, reason = "a command prints")]

mod common;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_memory::audience::Viewer;
use yabby_memory::memory::{Meaning, Memory, Search};
use yabby_memory::recall::Filter;
use yabby_memory::settings::SyncSettings;
use yabby_memory::upkeep::Upkeep;
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::remembering;

use common::{Local, Outcome};

/// Messages of a conversation.
const LONG: usize = 200;
const QUESTIONS: usize = 300;
const NEW_MESSAGES: usize = 50;

#[tokio::main]
async fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (folder, messages, package) = match words.as_slice() {
        [folder, messages] => (Path::new(folder), messages.parse()?, None),
        [folder, messages, package] => (Path::new(folder), messages.parse()?, Some(Path::new(package))),
        _ => return Err("usage: measure FOLDER MESSAGES [MODEL]".into()),
    };
    let mut dice = Dice(42);
    write(folder, messages, &mut dice)?;
    let model = package.map(common::model).transpose()?;
    let memory = opened(folder, None)?;
    let begun = Instant::now();
    memory.sync(&|_| {}).await?;
    let indexing = begun.elapsed().as_secs_f64();
    let upkeep = Upkeep::begin(&memory, SyncSettings::default(), None);
    let questions: Vec<String> =
        (0..QUESTIONS).map(|at| format!("What about {}?", dice.sentence(3 + at % 6))).collect();
    let by_words = times(&memory, &questions).await?;
    let until_found = until_found(&memory, folder).await?;
    let size = fs::metadata(folder.join("recall/main.sqlite"))?.len();
    drop(upkeep);
    let by_meaning = match model {
        Some(model) => {
            let meaning = Meaning { embedder: Arc::new(MadeUp(Local(model))), sees_sessions: true };
            let memory = opened(folder, Some(meaning))?;
            memory.embed(&|_| {}).await?;
            let _upkeep = Upkeep::begin(&memory, SyncSettings::default(), None);
            times(&memory, &questions).await?
        }
        None => Vec::new(),
    };
    let told = json!({
        "messages": messages,
        "indexing": indexing,
        "byWords": by_words,
        "untilFound": until_found,
        "size": size,
        "byMeaning": by_meaning,
        "mostMemory": most_memory(),
    });
    println!("{told}");
    Ok(())
}

fn opened(folder: &Path, meaning: Option<Meaning>) -> Outcome<Memory> {
    Ok(remembering::memory(remembering::places(folder), &MemorySessions::default(), json!({}), meaning)?)
}

/// Conversations with so many messages in all.
fn write(folder: &Path, messages: usize, dice: &mut Dice) -> Outcome<()> {
    let sessions = folder.join("sessions");
    fs::create_dir_all(&sessions)?;
    let mut left = messages;
    for session in 0.. {
        if left == 0 {
            break;
        }
        let mut file = std::io::BufWriter::new(fs::File::create(sessions.join(format!("s{session}.jsonl")))?);
        writeln!(file, "{}", json!({"type": "session", "version": 3, "id": format!("s{session}")}))?;
        for at in 0..left.min(LONG) {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            let length = 8 + dice.roll(24);
            writeln!(file, "{}", entry(&format!("{session}-{at}"), role, &dice.sentence(length)))?;
        }
        left -= left.min(LONG);
        file.flush()?;
    }
    Ok(())
}

fn entry(id: &str, role: &str, text: &str) -> String {
    json!({
        "type": "message", "id": id, "timestamp": "2026-02-03T12:00:00.000Z",
        "message": {"role": role, "content": [{"type": "text", "text": text}]},
    })
    .to_string()
}

async fn times(memory: &Memory, questions: &[String]) -> Outcome<Vec<f64>> {
    let mut times = Vec::with_capacity(questions.len());
    for question in questions {
        let begun = Instant::now();
        let found = memory.search(search(question)).await?;
        times.push(begun.elapsed().as_secs_f64());
        if found.hits.is_empty() {
            return Err(format!("nothing was found for {question:?}").into());
        }
    }
    Ok(times)
}

fn search(question: &str) -> Search {
    Search {
        text: question.to_owned(),
        viewer: Viewer::owner(),
        filter: Filter::default(),
        most: 10,
        least: 0.0,
        around: 1,
        now: Timestamp::now(),
        zone: TimeZone::UTC,
    }
}

/// From the moment when a message is in its file until a search finds it.
async fn until_found(memory: &Memory, folder: &Path) -> Outcome<Vec<f64>> {
    let id = TranscriptId::new("s0", None)?;
    let mut times = Vec::new();
    for at in 0..NEW_MESSAGES {
        let word = format!("cormorant{at}x");
        let mut file = fs::OpenOptions::new().append(true).open(folder.join("sessions/s0.jsonl"))?;
        writeln!(file, "{}", entry(&format!("new-{at}"), "user", &format!("a {word} was seen")))?;
        let begun = Instant::now();
        memory.grew(&id);
        loop {
            let found = memory.search(search(&word)).await?;
            if found.hits.first().is_some_and(|hit| hit.unit.text.contains(&word)) {
                break;
            }
            if begun.elapsed() > Duration::from_secs(20) {
                return Err(format!("{word} was not found").into());
            }
        }
        times.push(begun.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// The most memory that this process ever had, in bytes.
fn most_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    /// A word of a language with some sixty thousand of them, the first the most frequent.
    fn word(&mut self) -> String {
        const WORDS: f64 = 60_000.0;
        let chance = self.roll(1 << 30) as f64 / f64::from(1 << 30);
        let rank = WORDS.powf(chance) as usize;
        let syllables = [
            "ba", "ko", "ri", "ne", "tu", "sha", "lo", "mi", "ver", "dan", "pe", "gol", "fi", "ra", "zu",
            "wen",
        ];
        let mut left = rank.wrapping_mul(2_654_435_761) % 1_048_573;
        let mut word = String::new();
        for _ in 0..4 {
            word.push_str(syllables[left % 16]);
            left /= 16;
        }
        word
    }

    fn sentence(&mut self, length: usize) -> String {
        (0..length).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// The real model for questions, made up vectors for everything else.
struct MadeUp(Local);

#[async_trait]
impl Embedder for MadeUp {
    fn provider(&self) -> &str {
        self.0.provider()
    }

    fn model(&self) -> &str {
        self.0.model()
    }

    fn provider_key(&self) -> String {
        self.0.provider_key()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        self.0.query(text).await
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let vector = |text: &String| {
            let mut dice =
                Dice(text.bytes().fold(7, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte))));
            (0..384).map(|_| dice.roll(2001) as f64 / 1000.0 - 1.0).collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}
