//! What is to be forgotten, and where it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::session::path::absolute;
use yabby_domain::text;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::forget::{FORGOTTEN, Which, forget, has_words};
use yabby_memory::compat::files;
use yabby_memory::compat::reading::{self, Lines, ReadError};

use crate::terminal::counted;
use crate::wire::memory::AgentMemory;

/// Fewer characters are in too many texts.
const SHORTEST_MATCH: usize = 3;

pub(super) struct Plan {
    pub(super) notes: Vec<Note>,
    pub(super) turns: Vec<Turn>,
    /// What must not be found anywhere afterwards.
    pub(super) needles: Vec<String>,
    /// Of messages only the texts with these words, and not all.
    words: Option<String>,
}

/// Lines of a note.
pub(super) struct Note {
    /// As the index names it.
    pub(super) path: String,
    pub(super) file: PathBuf,
    /// By number, from 1.
    pub(super) lines: BTreeMap<u32, String>,
}

/// A message of a conversation.
pub(super) struct Turn {
    /// As the index names it.
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) entry: Option<String>,
    pub(super) line_text: String,
    who: String,
    words: Vec<String>,
}

impl Plan {
    /// `<path>:<line>` or `<path>:<line>-<line>`.
    pub(super) fn of_place(kept: &AgentMemory, place: &str) -> Result<Self> {
        let parsed = place.rsplit_once(':').and_then(|(path, lines)| {
            let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
            Some((path, first.parse::<u32>().ok()?, last.parse::<u32>().ok()?))
        });
        let Some((path, first, last)) = parsed.filter(|(_, first, last)| (1..=*last).contains(first)) else {
            bail!("{place} is no place; it has to be like memory/2026-02-03.md:3 or MEMORY.md:3-5");
        };
        let path = text::trim(path);
        if path.starts_with("sessions/") {
            let all = turns(kept, path, Which::All)?;
            let turns: Vec<Turn> =
                all.into_iter().filter(|turn| (first..=last).contains(&turn.line)).collect();
            return Ok(Self::of_turns(turns));
        }
        let note = note(kept, path)?;
        let count = note.lines.len();
        let lines: BTreeMap<u32, String> =
            note.lines.into_iter().filter(|(number, _)| (first..=last).contains(number)).collect();
        if lines.is_empty() {
            bail!("{path} has {} only", counted(count, "line"));
        }
        let needles = lines.values().map(|line| needle(line)).collect();
        Ok(Self { notes: vec![Note { lines, ..note }], turns: Vec::new(), needles, words: None })
    }

    /// `<session id>/<entry id>`; the name of the transcript's file will do as well.
    pub(super) fn of_message(kept: &AgentMemory, message: &str) -> Result<Self> {
        let Some((session, entry)) = message.rsplit_once('/') else {
            bail!("{message} is no message; it has to be <session id>/<entry id>");
        };
        let session = session.trim_start_matches("sessions/").trim_end_matches(".jsonl");
        let name = format!("sessions/{session}.jsonl");
        let turns: Vec<Turn> = turns(kept, &name, Which::All)?
            .into_iter()
            .filter(|turn| turn.entry.as_deref() == Some(entry))
            .collect();
        if turns.is_empty() {
            bail!("{name} has no message {entry}, or it says nothing");
        }
        Ok(Self::of_turns(turns))
    }

    /// Everything that has these words.
    pub(super) fn of_words(kept: &AgentMemory, words: &str) -> Result<Self> {
        let words = text::trim(words);
        if words.chars().count() < SHORTEST_MATCH {
            bail!("{words:?} is in too many texts; give at least {SHORTEST_MATCH} characters");
        }
        let mut notes = Vec::new();
        for file in files::memory_files(&kept.workspace, &kept.settings.extra_paths) {
            let path = files::memory_name(&file, &kept.workspace);
            let mut lines = lines_of(&file)?;
            lines.retain(|_, line| has_words(line, words));
            if !lines.is_empty() {
                notes.push(Note { path, file, lines });
            }
        }
        let mut found = Vec::new();
        for name in conversations(&kept.transcripts) {
            found.extend(turns(kept, &name, Which::With(words))?);
        }
        Ok(Self { notes, turns: found, needles: vec![words.to_owned()], words: Some(words.to_owned()) })
    }

    fn of_turns(turns: Vec<Turn>) -> Self {
        // Line by line: whoever quotes somebody seldom quotes everything.
        let lines = turns.iter().flat_map(|turn| turn.words.iter().flat_map(|words| words.lines()));
        let needles = lines.map(needle).collect();
        Self { notes: Vec::new(), turns, needles, words: None }
    }

    /// Which words of its messages go.
    pub(super) fn which(&self) -> Which<'_> {
        self.words.as_deref().map_or(Which::All, Which::With)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.turns.is_empty()
    }

    /// `2 lines of notes and 1 message`
    pub(super) fn summary(&self) -> String {
        let lines: usize = self.notes.iter().map(|note| note.lines.len()).sum();
        let parts = [(lines, "line of notes", "lines of notes"), (self.turns.len(), "message", "messages")];
        let told = parts.into_iter().filter(|(count, ..)| *count > 0);
        told.map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
            .collect::<Vec<_>>()
            .join(" and ")
    }

    /// A line for each.
    pub(super) fn lines(&self) -> Vec<String> {
        let notes = self.notes.iter().flat_map(|note| {
            note.lines.iter().map(move |(number, line)| format!("{}:{number} {line}", note.path))
        });
        let turns = self
            .turns
            .iter()
            .map(|turn| format!("{}:{} {}: {}", turn.path, turn.line, turn.who, turn.words.join(" ")));
        notes.chain(turns).collect()
    }

    pub(super) fn json(&self) -> Value {
        let notes = self.notes.iter().flat_map(|note| {
            note.lines
                .keys()
                .map(move |number| json!({"path": note.path, "line": number, "source": "memory"}))
        });
        let turns = self.turns.iter().map(|turn| {
            json!({
                "path": turn.path, "line": turn.line, "source": "sessions", "messageId": turn.entry,
                "role": turn.who,
            })
        });
        notes.chain(turns).collect()
    }
}

/// A note, with all of its lines. What `memory get` does not show cannot be forgotten, either.
fn note(kept: &AgentMemory, path: &str) -> Result<Note> {
    let read = reading::read(&kept.workspace, &kept.settings.extra_paths, path, Lines::default()).map_err(
        |error| match error {
            ReadError::Refused if !path.is_empty() => anyhow!("{path} is not part of the memory"),
            other => anyhow!("{path}: {other}"),
        },
    )?;
    let file = PathBuf::from(absolute(path, &kept.workspace.to_string_lossy()));
    let lines = lines_of(&file)?;
    Ok(Note { path: read.path, file, lines })
}

fn lines_of(file: &Path) -> Result<BTreeMap<u32, String>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok((1..).zip(bytes.split_inclusive(|byte| *byte == b'\n').map(text_of)).collect())
}

/// A line as it is compared.
pub(super) fn text_of(line: &[u8]) -> String {
    text::lossy(line).trim_end_matches(['\n', '\r']).to_owned()
}

/// The names of all conversations, those included that nobody has answered yet.
fn conversations(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let name = name.strip_suffix(".journal").unwrap_or(&name).to_owned();
        (name.ends_with(".jsonl") && entry.file_type().is_ok_and(|kind| kind.is_file())).then_some(name)
    });
    let mut names: Vec<String> = names.map(|name| format!("sessions/{name}")).collect();
    names.sort();
    names.dedup();
    names
}

/// The messages of a conversation that say something to be forgotten.
fn turns(kept: &AgentMemory, path: &str, which: Which<'_>) -> Result<Vec<Turn>> {
    let name = path.trim_start_matches("sessions/");
    if name.contains('/') || !name.ends_with(".jsonl") {
        bail!("{path} is no conversation");
    }
    let file = kept.transcripts.join(name);
    let journal = kept.transcripts.join(format!("{name}.journal"));
    let mut found: Vec<Turn> = Vec::new();
    let mut is_there = false;
    for file in [file, journal] {
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", file.display())),
        };
        is_there = true;
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let Some(entry) = Entry::parse(&text::lossy(line)) else { continue };
            let Some(forgotten) = forget(&entry, which) else { continue };
            // What is in both files is one message.
            if found.iter().any(|turn| turn.line_text == entry.line()) {
                continue;
            }
            found.push(Turn {
                path: path.to_owned(),
                line: number,
                entry: entry.id().map(str::to_owned),
                line_text: entry.line().to_owned(),
                who: who(&entry),
                words: forgotten.words,
            });
        }
    }
    if !is_there {
        bail!("there is no {path}");
    }
    Ok(found)
}

/// As what somebody spoke.
fn who(entry: &Entry) -> String {
    let message = entry.message();
    message
        .and_then(|message| message.text_field("role").map(str::to_owned))
        .unwrap_or_else(|| "note".to_owned())
}

/// What is looked for afterwards: the words of a line, without what makes it a bullet or a heading.
fn needle(line: &str) -> String {
    let words = line.trim().trim_start_matches(['#', '-', '*', '+', '>']).trim();
    if words == FORGOTTEN { String::new() } else { words.to_owned() }
}
