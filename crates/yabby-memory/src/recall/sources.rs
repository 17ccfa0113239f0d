//! Files and what the index has read of them.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};
use yabby_domain::secrets::Secrets;
use yabby_domain::text;

use super::rank::Ranked;
use super::reader::Reader;
use super::writer::Writer;
use super::{Hit, Recall, RecallError};
use crate::audience::Audience;
use crate::compat::files;
use crate::note;
use crate::said;
use crate::unit::Unit;

/// A transcript and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub file: PathBuf,
    /// `sessions/<file>`.
    pub path: String,
    pub agent: String,
    pub session_key: Option<String>,
    pub session_id: Option<String>,
    pub channel: Option<String>,
    pub chat_type: Option<String>,
    pub audience: Audience,
}

/// A note of the owner's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub file: PathBuf,
    /// From the workspace on, with `/`.
    pub path: String,
    pub agent: String,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Indexed {
    /// How many units were added.
    pub added: usize,
    /// It was read from its beginning.
    pub anew: bool,
}

/// What the index knows of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub kind: String,
    pub size: i64,
    pub modified: i64,
    pub units: u32,
    pub audience: String,
    pub session_key: Option<String>,
    pub channel: Option<String>,
    pub chat_type: Option<String>,
}

impl Known {
    /// Whether a file is as it was when it was read.
    pub(crate) fn is_as(&self, file: &Path) -> bool {
        let look = std::fs::metadata(file).and_then(|facts| look_of(&facts));
        look.is_ok_and(|look| look.size == self.size && look.modified == self.modified)
    }
}

/// A file as it was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    size: i64,
    /// Nanoseconds since 1970.
    modified: i64,
}

/// How far a transcript was read.
#[derive(Clone, Debug, Default)]
struct State {
    id: u32,
    look: Option<Look>,
    read: u64,
    lines: u32,
    mark: String,
    units: u32,
    people: Vec<String>,
    is_same: bool,
}

/// So much of what was read is looked at again, to see that the file has only grown.
const MARK: u64 = 512;

/// More of one note is not read, in bytes.
const LONGEST_NOTE: u64 = 8 * 1024 * 1024;

impl Recall {
    /// What is known of every file.
    pub fn known(&self) -> Result<HashMap<String, Known>, RecallError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("SELECT {KNOWN} FROM yabby_sources"))?;
            statement.query_map([], known)?.collect()
        })
    }

    /// What is known of some files.
    pub fn known_of(&self, paths: &[String]) -> Result<HashMap<String, Known>, RecallError> {
        self.read(|connection| {
            let select = format!("SELECT {KNOWN} FROM yabby_sources WHERE path = ?");
            let mut statement = connection.prepare_cached(&select)?;
            let found = paths.iter().map(|path| statement.query_row([path], known).optional());
            found.filter_map(Result::transpose).collect()
        })
    }

    /// Reads what is new in files, all of it in one step: half of it is never found. What cannot be read is
    /// left as it was.
    pub fn index(&self, work: &[Work], secrets: &Secrets) -> Result<Vec<Outcome>, RecallError> {
        self.write(|connection| {
            let mut writer = Writer::new(connection)?;
            let mut outcomes = Vec::with_capacity(work.len());
            for work in work {
                let outcome = match work {
                    Work::Conversation(conversation) => {
                        index_conversation(connection, &mut writer, conversation, secrets)?
                    }
                    Work::Note(note) => index_note(connection, &mut writer, note, secrets)?,
                    Work::Gone(path) => {
                        remove(connection, &mut writer, path)?;
                        Ok(Indexed::default())
                    }
                };
                outcomes.push(outcome);
            }
            writer.flush()?;
            Ok(outcomes)
        })
    }
}

/// A file that is to be read, or is there no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    Note(Note),
    Conversation(Conversation),
    Gone(String),
}

/// What became of a file, or why it cannot be read.
pub type Outcome = Result<Indexed, String>;

/// Reads what a transcript has said since the last time.
fn index_conversation(
    connection: &Connection,
    writer: &mut Writer<'_>,
    conversation: &Conversation,
    secrets: &Secrets,
) -> rusqlite::Result<Outcome> {
    let opened = File::open(&conversation.file).and_then(|file| Ok((look(&file)?, file)));
    let (look, mut file) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove(connection, writer, &conversation.path)?;
            return Ok(Ok(Indexed::default()));
        }
        Err(error) => return Ok(Err(unreadable(&conversation.file, &error))),
    };
    let facts = Facts::of(conversation);
    let mut state = state(connection, &conversation.path, &facts)?;
    if state.is_same && state.look == Some(look) {
        return Ok(Ok(Indexed::default()));
    }
    let has_grown = state.read <= u64::try_from(look.size).unwrap_or(0)
        && mark_of(&mut file, state.read).is_ok_and(|mark| mark == state.mark);
    let anew = state.read > 0 && !has_grown;
    if anew {
        writer.remove(state.id, 0)?;
        (state.read, state.lines, state.units) = (0, 0, 0);
        state.people.clear();
    }
    let in_room = matches!(conversation.audience, Audience::Room(_));
    let (added, failure) = read_on(&mut file, &mut state, in_room, secrets, writer)?;
    state.mark = mark_of(&mut file, state.read).unwrap_or_default();
    save(connection, &state, look, &facts)?;
    Ok(match failure {
        Some(error) => Err(unreadable(&conversation.file, &error)),
        None => Ok(Indexed { added, anew }),
    })
}

/// Reads a note, if it has changed.
fn index_note(
    connection: &Connection,
    writer: &mut Writer<'_>,
    note: &Note,
    secrets: &Secrets,
) -> rusqlite::Result<Outcome> {
    let read = || -> io::Result<(Look, Vec<u8>)> {
        let file = files::open(&note.file)?;
        let look = look(&file)?;
        let mut bytes = Vec::new();
        file.take(LONGEST_NOTE).read_to_end(&mut bytes)?;
        Ok((look, bytes))
    };
    let (look, bytes) = match read() {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            remove(connection, writer, &note.path)?;
            return Ok(Ok(Indexed::default()));
        }
        Err(error) => return Ok(Err(unreadable(&note.file, &error))),
    };
    let words = text::lossy(&bytes);
    let words = text::from_outside(&words);
    let words = secrets.redact(&words);
    let facts = Facts { kind: "memory", agent: &note.agent, ..Facts::default() };
    let mut state = state(connection, &note.path, &facts)?;
    let mark = hex(&Sha256::digest(words.as_bytes()));
    let is_known = state.mark == mark && state.look.is_some();
    let mut added = 0;
    if !is_known {
        if state.look.is_some() {
            writer.remove(state.id, 0)?;
        }
        let units = note::units(&note.path, &words);
        for (position, unit) in (0..).zip(&units) {
            writer.add(state.id, position, unit)?;
        }
        added = units.len();
        state.units = u32::try_from(added).unwrap_or(u32::MAX);
    }
    state.mark = mark;
    save(connection, &state, look, &facts)?;
    Ok(Ok(Indexed { added, anew: !is_known }))
}

/// Takes a file out of the index.
fn remove(connection: &Connection, writer: &mut Writer<'_>, path: &str) -> rusqlite::Result<()> {
    let select = "SELECT id FROM yabby_sources WHERE path = ?";
    let id: Option<u32> =
        connection.prepare_cached(select)?.query_row([path], |row| row.get(0)).optional()?;
    if let Some(id) = id {
        writer.remove(id, 0)?;
        connection.execute("DELETE FROM yabby_sources WHERE id = ?", [id])?;
    }
    Ok(())
}

const KNOWN: &str = "path, kind, size, modified, units, audience, session_key, channel, chat_type";

fn known(row: &Row<'_>) -> rusqlite::Result<(String, Known)> {
    let known = Known {
        kind: row.get(1)?,
        size: row.get(2)?,
        modified: row.get(3)?,
        units: row.get(4)?,
        audience: row.get(5)?,
        session_key: row.get(6)?,
        channel: row.get(7)?,
        chat_type: row.get(8)?,
    };
    Ok((row.get(0)?, known))
}

/// What the index is told about a source.
#[derive(Clone, Copy, Debug, Default)]
struct Facts<'s> {
    kind: &'static str,
    agent: &'s str,
    session_key: Option<&'s str>,
    session_id: Option<&'s str>,
    channel: Option<&'s str>,
    chat_type: Option<&'s str>,
    audience: Option<&'s Audience>,
}

impl<'s> Facts<'s> {
    fn of(conversation: &'s Conversation) -> Self {
        Self {
            kind: "sessions",

            agent: &conversation.agent,
            session_key: conversation.session_key.as_deref(),
            session_id: conversation.session_id.as_deref(),
            channel: conversation.channel.as_deref(),
            chat_type: conversation.chat_type.as_deref(),
            audience: Some(&conversation.audience),
        }
    }

    fn audience(&self) -> String {
        self.audience.unwrap_or(&Audience::Owner).text()
    }
}

fn state(connection: &Connection, path: &str, facts: &Facts<'_>) -> rusqlite::Result<State> {
    let select =
        "SELECT id, size, modified, read, lines, mark, units, people, audience, session_key, session_id
        FROM yabby_sources WHERE path = ?";
    let known = connection
        .prepare_cached(select)?
        .query_row([path], |row| {
            let same = row.get::<_, String>(8)? == facts.audience()
                && row.get::<_, Option<String>>(9)?.as_deref() == facts.session_key
                && row.get::<_, Option<String>>(10)?.as_deref() == facts.session_id;
            Ok(State {
                id: row.get(0)?,
                look: Some(Look { size: row.get(1)?, modified: row.get(2)? }),
                read: row.get::<_, i64>(3)?.unsigned_abs(),
                lines: row.get(4)?,
                mark: row.get(5)?,
                units: row.get(6)?,
                people: serde_json::from_str(&row.get::<_, String>(7)?).unwrap_or_default(),
                is_same: same,
            })
        })
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    let insert = "INSERT INTO yabby_sources (kind, path, agent, audience) VALUES (?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![facts.kind, path, facts.agent, facts.audience()])?;
    let id = u32::try_from(connection.last_insert_rowid()).unwrap_or(u32::MAX);
    Ok(State { id, ..State::default() })
}

fn save(connection: &Connection, state: &State, look: Look, facts: &Facts<'_>) -> rusqlite::Result<()> {
    let update = "UPDATE yabby_sources SET agent = ?2, session_key = ?3, session_id = ?4, channel = ?5, chat_type = ?6,
        audience = ?7, people = ?8, size = ?9, modified = ?10, read = ?11, lines = ?12, mark = ?13, units = ?14,
        first_at = (SELECT min(at) FROM yabby_units WHERE source = ?1 AND position < 4),
        last_at = (SELECT max(at) FROM yabby_units WHERE source = ?1 AND position > ?14 - 4) WHERE id = ?1";
    let people = serde_json::to_string(&state.people).unwrap_or_default();
    let read = i64::try_from(state.read).unwrap_or(i64::MAX);
    connection.prepare_cached(update)?.execute(params![
        state.id,
        facts.agent,
        facts.session_key,
        facts.session_id,
        facts.channel,
        facts.chat_type,
        facts.audience(),
        people,
        look.size,
        look.modified,
        read,
        state.lines,
        state.mark,
        state.units
    ])?;
    Ok(())
}

/// Adds every whole line from where the last reading ended: how many units, and what kept it from more.
fn read_on(
    file: &mut File,
    state: &mut State,
    in_room: bool,
    secrets: &Secrets,
    writer: &mut Writer<'_>,
) -> rusqlite::Result<(usize, Option<io::Error>)> {
    let mut added = 0;
    if let Err(error) = file.seek(SeekFrom::Start(state.read)) {
        return Ok((added, Some(error)));
    }
    let mut lines = BufReader::with_capacity(256 * 1024, &*file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = match lines.read_until(b'\n', &mut line) {
            Ok(length) => length,
            Err(error) => return Ok((added, Some(error))),
        };
        // A line without an end is still being written.
        if length == 0 || line.last() != Some(&b'\n') {
            return Ok((added, None));
        }
        state.read += length as u64;
        state.lines += 1;
        for unit in said::units(&text::lossy(&line), state.lines, in_room, secrets) {
            writer.add(state.id, state.units, &unit)?;
            if !state.people.contains(&unit.speaker) {
                state.people.push(unit.speaker.clone());
            }
            state.units += 1;
            added += 1;
        }
        if writer.is_full() {
            writer.flush()?;
        }
    }
}

/// The end of what was read, by which it is known again.
fn mark_of(file: &mut File, read: u64) -> io::Result<String> {
    let from = read.saturating_sub(MARK);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(read - from).read_to_end(&mut bytes)?;
    Ok(hex(&Sha256::digest(&bytes)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn look(file: &File) -> io::Result<Look> {
    look_of(&file.metadata()?)
}

fn look_of(facts: &Metadata) -> io::Result<Look> {
    let modified = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    Ok(Look {
        size: i64::try_from(facts.len()).unwrap_or(i64::MAX),
        modified: i64::try_from(modified).unwrap_or(i64::MAX),
    })
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// What is told about a document that was found.
pub(super) fn hit(
    connection: &Connection,
    reader: &Reader<'_>,
    found: Ranked,
    whole: f32,
) -> rusqlite::Result<Option<Hit>> {
    let Some(unit): Option<Unit> = reader.unit(found.id)? else { return Ok(None) };
    let select = "SELECT kind, path, session_key, session_id FROM yabby_sources WHERE id = ?";
    connection
        .prepare_cached(select)?
        .query_row([found.document.source], |row| {
            Ok(Hit {
                kind: row.get(0)?,
                path: row.get(1)?,
                session_key: row.get(2)?,
                session_id: row.get(3)?,
                unit,
                score: part_of(found.score / whole.max(f32::MIN_POSITIVE)),
                why: found.why,
                position: found.document.position,
                near: 0,
                before: Vec::new(),
                after: Vec::new(),
            })
        })
        .optional()
}

/// A score from 0 to 1. Up to most of what a document with every word of the question would have it is that part; from
/// there on it comes nearer to 1 and never reaches it, so that what is better has a better score.
fn part_of(share: f32) -> f32 {
    const STRAIGHT: f32 = 0.8;
    match share - STRAIGHT {
        over if over > 0.0 => STRAIGHT + (1.0 - STRAIGHT) * over / (over + 1.0),
        _ => share,
    }
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn what_is_better_has_a_better_score() {
        let scores = [0.0, 0.3, 0.8, 0.9, 1.0, 1.5, 2.0, 6.0].map(part_of);
        assert!(scores.windows(2).all(|pair| pair[0] < pair[1] && pair[1] < 1.0), "{scores:?}");
        assert_eq!(scores[1], 0.3);
    }
}
