//! Lists and exact searches: conversations, what was said in one, and every message with certain words.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::reader::Reader;
use super::{Filter, Recall, RecallError};
use crate::analysis;
use crate::audience::Viewer;
use crate::unit::{Role, Unit};

/// More messages are not looked through for words that are in every text.
const MOST_SCANNED: i64 = 200_000;

/// Messages with certain words.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Every word must be in a message, and what is in quotes as it is. Without words, every message counts.
    pub words: String,
    pub viewer: Viewer,
    pub filter: Filter,
    pub role: Option<Role>,
    /// Milliseconds since 1970.
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub most: usize,
    pub skip: usize,
}

/// A message and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub path: String,
    pub session_key: Option<String>,
    pub session_id: Option<String>,
    pub unit: Unit,
}

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    pub path: String,
    pub session_key: Option<String>,
    pub session_id: Option<String>,
    pub channel: Option<String>,
    pub chat_type: Option<String>,
    pub messages: u32,
    pub first_at: Option<i64>,
    pub last_at: Option<i64>,
}

/// What is in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub notes: u32,
    pub note_units: u32,
    pub conversations: u32,
    pub messages: u32,
    /// Different session keys.
    pub sessions: u32,
}

impl Recall {
    /// Messages with certain words, the latest first.
    pub fn messages(&self, wanted: &Wanted) -> Result<Vec<Message>, RecallError> {
        self.read(|connection| {
            let mut reader = Reader::new(connection, &wanted.viewer, &wanted.filter)?;
            let test = Test::new(&wanted.words);
            let mut found = Vec::new();
            let mut skipped = 0;
            let mut take = |unit: Unit, source: u32| -> rusqlite::Result<bool> {
                let fits = wanted.role.is_none_or(|role| role == unit.role)
                    && wanted.since.is_none_or(|since| unit.at.is_some_and(|at| at >= since))
                    && wanted.until.is_none_or(|until| unit.at.is_some_and(|at| at < until))
                    && test.holds(&unit.text);
                if fits && skipped < wanted.skip {
                    skipped += 1;
                } else if fits {
                    found.extend(message(connection, unit, source)?);
                }
                Ok(found.len() < wanted.most)
            };
            match candidates(&mut reader, &wanted.words)? {
                Some(candidates) => {
                    for id in candidates {
                        let Some(document) = reader.document(id)?.filter(|document| reader.may_see(document))
                        else {
                            continue;
                        };
                        if let Some(unit) = reader.unit(id)?
                            && !take(unit, document.source)?
                        {
                            break;
                        }
                    }
                }
                None => {
                    for (id, source) in latest(connection, wanted)? {
                        let is_seen = reader.document(id)?.is_some_and(|document| reader.may_see(&document));
                        if let Some(unit) = reader.unit(id)?.filter(|_| is_seen)
                            && !take(unit, source)?
                        {
                            break;
                        }
                    }
                }
            }
            Ok(found)
        })
    }

    /// What a source says around a line, as far as it may be seen: so many before it and from it on.
    pub fn around_line(
        &self,
        viewer: &Viewer,
        path: &str,
        line: u32,
        before: u32,
        count: u32,
    ) -> Result<Option<Vec<Unit>>, RecallError> {
        self.around(
            viewer,
            "path = ?",
            path,
            "first_line >= ?",
            Value::Integer(i64::from(line)),
            before,
            count,
        )
    }

    /// What a session says around an entry, as far as it may be seen.
    pub fn around_entry(
        &self,
        viewer: &Viewer,
        session_id: &str,
        entry: &str,
        before: u32,
        count: u32,
    ) -> Result<Option<Vec<Unit>>, RecallError> {
        self.around(
            viewer,
            "session_id = ?",
            session_id,
            "entry = ?",
            Value::Text(entry.to_owned()),
            before,
            count,
        )
    }

    /// The last things that a source says, as far as it may be seen.
    pub fn last(&self, viewer: &Viewer, path: &str, count: u32) -> Result<Option<Vec<Unit>>, RecallError> {
        self.read(|connection| {
            let reader = Reader::new(connection, viewer, &Filter::default())?;
            let select = "SELECT id FROM yabby_sources WHERE path = ?";
            let id: Option<u32> =
                connection.prepare_cached(select)?.query_row([path], |row| row.get(0)).optional()?;
            let Some((id, seen)) = id.and_then(|id| Some((id, reader.visible(id)?))) else { return Ok(None) };
            reader.units(id, seen.end.saturating_sub(count), seen.end).map(Some)
        })
    }

    #[expect(clippy::too_many_arguments, reason = "two ways to name one place")]
    fn around(
        &self,
        viewer: &Viewer,
        of_source: &str,
        source: &str,
        of_unit: &str,
        unit: Value,
        before: u32,
        count: u32,
    ) -> Result<Option<Vec<Unit>>, RecallError> {
        self.read(|connection| {
            let reader = Reader::new(connection, viewer, &Filter::default())?;
            let select = format!("SELECT id FROM yabby_sources WHERE {of_source}");
            let id: Option<u32> =
                connection.prepare_cached(&select)?.query_row([source], |row| row.get(0)).optional()?;
            let Some(id) = id.filter(|id| reader.visible(*id).is_some()) else { return Ok(None) };
            let select = format!("SELECT min(position) FROM yabby_units WHERE source = ? AND {of_unit}");
            let place: Option<u32> = connection
                .prepare_cached(&select)?
                .query_row(params_from_iter([Value::Integer(i64::from(id)), unit]), |row| row.get(0))?;
            let Some(place) = place else { return Ok(None) };
            reader.units(id, place.saturating_sub(before), place.saturating_add(count)).map(Some)
        })
    }

    /// The names of the transcripts that may be seen.
    pub(crate) fn transcripts_for(&self, viewer: &Viewer) -> Result<Vec<String>, RecallError> {
        self.read(|connection| {
            let (condition, parameters) = viewer.condition();
            let select = format!("SELECT path FROM yabby_sources WHERE kind = 'sessions' AND {condition}");
            let mut statement = connection.prepare_cached(&select)?;
            statement.query_map(params_from_iter(parameters), |row| row.get(0))?.collect()
        })
    }

    /// The conversations that may be seen, the latest first.
    pub fn conversations(
        &self,
        viewer: &Viewer,
        filter: &Filter,
        most: usize,
    ) -> Result<Vec<Listed>, RecallError> {
        self.read(|connection| {
            let (mut condition, parameters) = viewer.condition();
            let mut parameters: Vec<Value> = parameters.into_iter().map(Value::Text).collect();
            for (column, wanted) in [("session_key", &filter.session_key), ("channel", &filter.channel)] {
                if let Some(wanted) = wanted {
                    condition.push_str(&format!(" AND {column} = ?"));
                    parameters.push(Value::Text(wanted.clone()));
                }
            }
            let select = format!(
                "SELECT path, session_key, session_id, channel, chat_type, units, first_at, last_at FROM yabby_sources
                 WHERE kind = 'sessions' AND {condition} ORDER BY last_at DESC LIMIT ?"
            );
            parameters.push(Value::Integer(i64::try_from(most).unwrap_or(i64::MAX)));
            let mut statement = connection.prepare_cached(&select)?;
            let rows = statement.query_map(params_from_iter(parameters), |row| {
                Ok(Listed {
                    path: row.get(0)?,
                    session_key: row.get(1)?,
                    session_id: row.get(2)?,
                    channel: row.get(3)?,
                    chat_type: row.get(4)?,
                    messages: row.get(5)?,
                    first_at: row.get(6)?,
                    last_at: row.get(7)?,
                })
            })?;
            rows.collect()
        })
    }

    pub fn totals(&self) -> Result<Totals, RecallError> {
        self.read(|connection| {
            let select =
                "SELECT coalesce(sum(kind = 'memory'), 0), coalesce(sum((kind = 'memory') * units), 0),
                coalesce(sum(kind = 'sessions'), 0), coalesce(sum((kind = 'sessions') * units), 0),
                count(DISTINCT session_key) FROM yabby_sources";
            connection.query_row(select, [], |row| {
                Ok(Totals {
                    notes: row.get(0)?,
                    note_units: row.get(1)?,
                    conversations: row.get(2)?,
                    messages: row.get(3)?,
                    sessions: row.get(4)?,
                })
            })
        })
    }
}

/// The documents that have every term of some words, the latest first; `None` if the words have none.
fn candidates(reader: &mut Reader<'_>, words: &str) -> rusqlite::Result<Option<Vec<u32>>> {
    let mut terms = analysis::terms(words);
    terms.sort_unstable();
    terms.dedup();
    let mut common: Option<Vec<u32>> = None;
    for term in terms {
        let mut having: Vec<u32> =
            reader.postings(&term)?.into_iter().map(|posting| posting.document).collect();
        having.sort_unstable();
        common = Some(match common {
            Some(known) => known.into_iter().filter(|id| having.binary_search(id).is_ok()).collect(),
            None => having,
        });
    }
    Ok(common.map(|mut ids| {
        ids.reverse();
        ids
    }))
}

fn latest(connection: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<(u32, u32)>> {
    let select = "SELECT id, source FROM yabby_units WHERE at >= ? AND at < ? ORDER BY at DESC LIMIT ?";
    let bounds = [wanted.since.unwrap_or(i64::MIN), wanted.until.unwrap_or(i64::MAX), MOST_SCANNED];
    let mut statement = connection.prepare_cached(select)?;
    statement.query_map(bounds, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn message(connection: &Connection, unit: Unit, source: u32) -> rusqlite::Result<Option<Message>> {
    let select = "SELECT path, session_key, session_id FROM yabby_sources WHERE id = ?";
    connection
        .prepare_cached(select)?
        .query_row([source], |row| {
            Ok(Message { path: row.get(0)?, session_key: row.get(1)?, session_id: row.get(2)?, unit })
        })
        .optional()
}

/// Whether a text has all words, and what was in quotes as it stands.
struct Test {
    phrases: Vec<String>,
}

impl Test {
    fn new(words: &str) -> Self {
        let mut phrases = Vec::new();
        for (at, part) in words.split('"').enumerate() {
            if at % 2 == 1 {
                phrases.push(folded(part));
            }
        }
        phrases.retain(|phrase| !phrase.is_empty());
        Self { phrases }
    }

    fn holds(&self, text: &str) -> bool {
        if self.phrases.is_empty() {
            return true;
        }
        let text = folded(text);
        self.phrases.iter().all(|phrase| {
            format!(" {text} ").contains(&format!(" {phrase} "))
                || is_unspaced(phrase) && text.contains(phrase.as_str())
        })
    }
}

/// The words of a text with one space between them.
fn folded(text: &str) -> String {
    analysis::words(text).into_iter().map(|word| word.folded).collect::<Vec<_>>().join(" ")
}

fn is_unspaced(phrase: &str) -> bool {
    phrase.chars().any(|c| u32::from(c) >= 0xE00)
}
