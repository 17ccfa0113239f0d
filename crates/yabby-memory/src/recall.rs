//! Our own index: what was said and noted, found by words and by meaning.
//!
//! One file of SQLite that can be deleted at any time. Turns are documents of their own; postings and facts
//! are packed in blocks, so that a question costs what its words cost, and a new message what its own do.

mod document;
mod forget;
mod messages;
mod postings;
mod rank;
mod reader;
mod schema;
mod sources;
mod vectors;
mod writer;

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::{Connection, ErrorCode};

use crate::audience::Viewer;
use crate::question::Question;
use crate::unit::{Role, Unit};
pub use forget::Gone;
pub use messages::{Listed, Message, Totals, Wanted};
pub use rank::Why;
pub use sources::{Conversation, Indexed, Known, Note, Outcome, Work};
pub use vectors::{Embedded, Unembedded, Unseen};

/// An index in a file.
pub struct Recall {
    path: PathBuf,
    /// Which file was opened, as another program may put another one in its place.
    opened: Mutex<Option<Identity>>,
    writer: Mutex<Connection>,
    /// Connections for those who look, as many as looked at once.
    readers: Mutex<Vec<Connection>>,
}

/// The device and the number of a file.
type Identity = (u64, u64);

/// Where a document stands: in which source, and at which place of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    source: u32,
    position: u32,
}

/// What is looked for, by whom.
#[derive(Clone, Debug)]
pub struct Query {
    pub text: String,
    pub viewer: Viewer,
    pub filter: Filter,
    pub most: usize,
    /// How many neighbours come with a hit, on each side.
    pub around: u32,
    /// What the question means to a model, where there is one.
    pub meaning: Option<Meant>,
    pub now: Timestamp,
    pub zone: TimeZone,
}

/// The vector of a question, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Meant {
    pub model: String,
    pub vector: Vec<f32>,
    /// What is less alike has nothing to do with it, unless it has words of the question or stands beside them.
    pub least: f32,
}

/// Where is looked, beyond what may be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub session_key: Option<String>,
    pub channel: Option<String>,
    /// `memory` or `sessions`.
    pub kind: Option<String>,
    /// The conversation that the question is asked in: what has no answer yet is not found.
    pub current_session: Option<String>,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// `memory` or `sessions`.
    pub kind: String,
    /// As the reference names it: `memory/x.md`, `sessions/<file>`.
    pub path: String,
    pub session_key: Option<String>,
    pub session_id: Option<String>,
    pub unit: Unit,
    /// From 0 to 1, see [`sources::part_of`].
    pub score: f32,
    pub why: Why,
    /// Its place in the source.
    pub position: u32,
    /// Where in its text the first word of the question is, in bytes.
    pub near: usize,
    /// What was said before and after it.
    pub before: Vec<Unit>,
    pub after: Vec<Unit>,
}

#[derive(Debug, thiserror::Error)]
pub enum RecallError {
    #[error("the memory index {path} cannot be used: {source}")]
    Index { path: String, source: rusqlite::Error },
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
}

impl Recall {
    /// Opens an index, or begins one. A file that is damaged is set aside.
    pub fn open(path: &Path) -> Result<Self, RecallError> {
        let writer = open_or_replace(path, false).map_err(|source| wrong(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            opened: Mutex::new(identity(path)),
            writer: Mutex::new(writer),
            readers: Mutex::default(),
        })
    }

    /// Makes sure that this is the file that others see, too: one that was deleted is begun anew. Returns
    /// whether it was another one.
    pub(crate) fn follow(&self) -> Result<bool, RecallError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_some() && *opened == identity(&self.path) {
            return Ok(false);
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        *writer = open_or_replace(&self.path, false).map_err(|source| wrong(&self.path, source))?;
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *opened = identity(&self.path);
        Ok(true)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What answers a question, the best first.
    pub fn search(&self, query: &Query) -> Result<Vec<Hit>, RecallError> {
        let today = query.zone.to_datetime(query.now).date();
        let question = Question::new(&query.text, today);
        self.read(|connection| {
            let mut reader = reader::Reader::new(connection, &query.viewer, &query.filter)?;
            let meaning = match &query.meaning {
                // A day means nothing but itself.
                _ if question.asks_for_a_time() => rank::Meaning::default(),
                Some(meant) => vectors::most_alike(connection, &mut reader, &meant.model, &meant.vector)?,
                None => rank::Meaning::default(),
            };
            let least_alike = query.meaning.as_ref().map_or(0.0, |meant| meant.least);
            let (ranked, ideal) = rank::rank(
                &mut reader,
                &question,
                (&meaning, least_alike),
                &query.zone,
                // Some are shown beside better ones, and some are the same.
                query.most * (2 * query.around as usize + 2),
            )?;
            let best = ranked.first().map_or(0.0, |best| best.score);
            // Without a word of the question anywhere, a hit is as good as it is alike.
            let most_alike = meaning.values().copied().fold(0.0, f32::max);
            let whole = match ideal > 0.0 {
                true => ideal,
                false if most_alike > 0.0 => best / most_alike,
                false => best,
            };
            let mut hits = Vec::with_capacity(ranked.len());
            let mut shown: HashSet<Place> = HashSet::new();
            // A fork, or somebody who says a thing twice, repeats words, and no hit.
            let mut texts: HashSet<[u8; 32]> = HashSet::new();
            for found in ranked {
                let Place { source, position } = found.place();
                // What stands beside a better hit is seen there.
                if hits.len() >= query.most || !shown.insert(found.place()) {
                    continue;
                }
                if let Some(mut hit) = sources::hit(connection, &reader, found, whole)? {
                    if !texts.insert(writer::hash_of(&hit.unit.text.trim().to_lowercase())) {
                        continue;
                    }
                    // The parts of a note stand for themselves.
                    let around = if hit.unit.role == Role::Note { 0 } else { query.around };
                    let (first, last) = (position.saturating_sub(around), position.saturating_add(around));
                    hit.near = question.first_in(&hit.unit.text);
                    hit.before = reader.units(source, first, position)?;
                    hit.after = reader.units(source, position + 1, last.saturating_add(1))?;
                    shown.extend((first..=last).map(|position| Place { source, position }));
                    hits.push(hit);
                }
            }
            Ok(hits)
        })
    }

    /// Takes over from another index whose conversations are whose, and what shall never be found again: what
    /// no file says.
    pub(crate) fn inherit(&self, other: &Path) -> Result<(), RecallError> {
        self.with_other(other, |connection| {
            connection.execute_batch(
                "INSERT OR IGNORE INTO yabby_forgotten SELECT hash FROM other.yabby_forgotten;
                 INSERT OR IGNORE INTO yabby_sources
                    (kind, path, agent, session_key, session_id, channel, chat_type, audience, size)
                 SELECT kind, path, agent, session_key, session_id, channel, chat_type, audience, -1
                 FROM other.yabby_sources;",
            )
        })
    }

    /// Puts what another index has found in the place of everything here, all at once. What models said about
    /// texts stays, as it holds for texts wherever they stand.
    pub(crate) fn become_like(&self, other: &Path) -> Result<(), RecallError> {
        const TABLES: [&str; 6] = ["totals", "sources", "units", "speakers", "facts", "postings"];
        self.with_other(other, |connection| {
            for table in TABLES {
                connection.execute_batch(&format!(
                    "DELETE FROM main.yabby_{table};
                     INSERT INTO main.yabby_{table} SELECT * FROM other.yabby_{table};"
                ))?;
            }
            connection.execute_batch("DELETE FROM main.yabby_vectors; DELETE FROM main.yabby_models")
        })
    }

    /// Writes with another index at hand, under the name `other`.
    fn with_other(
        &self,
        other: &Path,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), RecallError> {
        let path = other.to_string_lossy();
        let attach = |connection: &Connection| connection.execute("ATTACH DATABASE ?1 AS other", [&path]);
        let wrong = |source| wrong(&self.path, source);
        attach(&self.writer.lock().unwrap_or_else(PoisonError::into_inner)).map_err(wrong)?;
        let done = self.write(work);
        let detach = "DETACH DATABASE other";
        let detached = self.writer.lock().unwrap_or_else(PoisonError::into_inner).execute_batch(detach);
        done.and(detached.map_err(wrong))
    }

    /// Runs with a connection that sees one state of the index.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RecallError> {
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let wrong = |source| wrong(&self.path, source);
        let connection = idle.map_or_else(|| schema::open_reader(&self.path), Ok).map_err(wrong)?;
        let result = connection.unchecked_transaction().and_then(|_state| work(&connection));
        match &result {
            Ok(_) => self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(connection),
            Err(error) if is_damage(error) => {
                drop(connection);
                self.replace(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner));
            }
            Err(_) => {}
        }
        result.map_err(wrong)
    }

    /// Begins the index anew after damage; what it was made of is read again.
    fn replace(&self, writer: &mut Connection) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        // The file may be let go of only when nobody of us has it open.
        if let Ok(nowhere) = Connection::open_in_memory() {
            *writer = nowhere;
        }
        match open_or_replace(&self.path, true) {
            Ok(new) => *writer = new,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "the memory index cannot be built anew")
            }
        }
    }

    /// Runs with the connection that writes; all of it happens or nothing.
    fn write<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, RecallError> {
        let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let immediate = rusqlite::TransactionBehavior::Immediate;
        let done = rusqlite::Transaction::new_unchecked(&connection, immediate).and_then(|transaction| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        if let Err(error) = &done
            && is_damage(error)
        {
            self.replace(&mut connection);
        }
        done.map_err(|source| wrong(&self.path, source))
    }
}

impl RecallError {
    /// Whether the index was damaged, and begun anew.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Index { source, .. } if is_damage(source))
    }
}

/// Opens an index. One that is damaged is set aside; with doubts about it, all of it is looked at: another
/// program may have replaced it already.
fn open_or_replace(path: &Path, has_doubts: bool) -> rusqlite::Result<Connection> {
    let sound = |connection: Connection| {
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        match !has_doubts || connection.query_row("PRAGMA quick_check(1)", [], check)? == "ok" {
            true => Ok(Some(connection)),
            false => Ok(None),
        }
    };
    match schema::open(path).and_then(sound) {
        Ok(Some(connection)) => Ok(connection),
        Err(error) if !is_damage(&error) => Err(error),
        Ok(None) | Err(_) => {
            set_aside(path);
            schema::open(path)
        }
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

fn wrong(path: &Path, source: rusqlite::Error) -> RecallError {
    RecallError::Index { path: path.display().to_string(), source }
}

/// Whether a file is no index, or no longer one.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt))
}

/// Keeps a damaged file under another name. What it was made of is still there.
fn set_aside(path: &Path) {
    let now = Timestamp::now().as_millisecond();
    for ending in ["", "-wal", "-shm"] {
        let named = |tail: &str| PathBuf::from(format!("{}{tail}", path.display()));
        let _ = std::fs::rename(named(ending), named(&format!(".damaged-{now}{ending}")));
    }
}
