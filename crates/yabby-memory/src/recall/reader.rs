//! Reading the index.

use std::collections::HashMap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::document::Document;
use super::postings::{self, Posting};
use super::schema::FACT_BLOCK;
use super::{Filter, Place};
use crate::audience::Viewer;
use crate::unit::{Role, Unit};

/// One look at the index. Holds what it has read.
///
/// How rare a word is depends on what may be seen and on nothing else: who could tell by a score that a word
/// is somewhere would know what others say.
pub(super) struct Reader<'c> {
    connection: &'c Connection,
    pub(super) documents: f32,
    pub(super) mean_length: f32,
    pub(super) next: u32,
    facts: HashMap<u32, Vec<u8>>,
    /// The sources that may be seen and are looked at.
    visible: Vec<Option<Visible>>,
    /// The sources that may be seen.
    permitted: Vec<bool>,
    /// There are no others.
    sees_everything: bool,
}

/// So many terms are looked at one by one.
const MOST_TERMS: usize = 100_000;

/// A source that may be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visible {
    pub(super) units: u32,
    /// From here on nothing is found.
    pub(super) end: u32,
    /// Its parts stand for themselves.
    pub(super) is_note: bool,
}

impl<'c> Reader<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        viewer: &Viewer,
        filter: &Filter,
    ) -> rusqlite::Result<Self> {
        let totals = "SELECT next_document, documents, length FROM yabby_totals";
        let (next, documents, length): (u32, f32, f32) =
            connection.prepare_cached(totals)?.query_row([], |row| {
                Ok((row.get(0)?, row.get::<_, f64>(1)? as f32, row.get::<_, f64>(2)? as f32))
            })?;
        let mut reader = Self {
            connection,
            documents,
            mean_length: (length / documents.max(1.0)).max(1.0),
            next,
            facts: HashMap::new(),
            visible: Vec::new(),
            permitted: Vec::new(),
            sees_everything: false,
        };
        reader.look(viewer, filter)?;
        Ok(reader)
    }

    /// What may be seen is decided here, and nowhere else.
    fn look(&mut self, viewer: &Viewer, filter: &Filter) -> rusqlite::Result<()> {
        let (condition, parameters) = viewer.condition();
        let wanted =
            [("session_key", &filter.session_key), ("channel", &filter.channel), ("kind", &filter.kind)];
        let mut is_wanted = "1".to_owned();
        let mut given: Vec<Value> = Vec::new();
        for (column, wanted) in wanted {
            if let Some(wanted) = wanted {
                is_wanted.push_str(&format!(" AND {column} IS ?"));
                given.push(Value::Text(wanted.clone()));
            }
        }
        given.extend(parameters.into_iter().map(Value::Text));
        let select = format!(
            "SELECT id, units, session_id, kind = 'memory', {is_wanted} FROM yabby_sources WHERE {condition}"
        );
        let mut statement = self.connection.prepare_cached(&select)?;
        let mut rows = statement.query(params_from_iter(given))?;
        let (mut sources, mut documents) = (0_i64, 0.0);
        while let Some(row) = rows.next()? {
            let (source, units): (u32, u32) = (row.get(0)?, row.get(1)?);
            let id = source as usize;
            if self.visible.len() <= id {
                self.visible.resize(id + 1, None);
                self.permitted.resize(id + 1, false);
            }
            self.permitted[id] = true;
            sources += 1;
            documents += units as f32;
            if !row.get::<_, bool>(4)? {
                continue;
            }
            let is_current = filter.current_session.is_some()
                && row.get_ref(2)?.as_str_or_null()? == filter.current_session.as_deref();
            let end = if is_current { self.question_begins(source, units)? } else { units };
            self.visible[id] = Some(Visible { units, end, is_note: row.get(3)? });
        }
        let all = "SELECT count(*) FROM yabby_sources";
        self.sees_everything =
            self.connection.prepare_cached(all)?.query_row([], |row| row.get::<_, i64>(0))? == sources;
        if !self.sees_everything {
            self.documents = documents;
        }
        Ok(())
    }

    /// Where the messages begin that have no answer yet: a question would find itself.
    fn question_begins(&self, source: u32, units: u32) -> rusqlite::Result<u32> {
        let select = "SELECT id, position FROM yabby_units WHERE source = ? ORDER BY position DESC LIMIT 200";
        let mut statement = self.connection.prepare_cached(select)?;
        let mut rows = statement.query([source])?;
        let mut begins = units;
        while let Some(row) = rows.next()? {
            let unit: Option<Document> = self.document_uncached(row.get(0)?)?;
            let Some(unit) = unit else { continue };
            if unit.marks.has(super::document::Marks::AGENT)
                && !unit.marks.has(super::document::Marks::UNFINISHED)
            {
                break;
            }
            begins = row.get(1)?;
        }
        Ok(begins)
    }

    pub(super) fn visible(&self, source: u32) -> Option<Visible> {
        self.visible.get(source as usize).copied().flatten()
    }

    pub(super) fn may_see(&self, document: &Document) -> bool {
        self.visible(document.source).is_some_and(|source| document.position < source.end)
    }

    /// Where a term is, as far as that may be known.
    pub(super) fn postings(&mut self, term: &str) -> rusqlite::Result<Vec<Posting>> {
        let mut found = Vec::new();
        {
            let select = "SELECT block, data FROM yabby_postings WHERE term = ?";
            let mut statement = self.connection.prepare_cached(select)?;
            let mut rows = statement.query([term])?;
            while let Some(row) = rows.next()? {
                let data = row.get_ref(1)?.as_blob().unwrap_or_default();
                found.extend(postings::read(row.get(0)?, data));
            }
        }
        if !self.sees_everything {
            let mut permitted = Vec::with_capacity(found.len());
            for posting in found {
                let source = self.document(posting.document)?.map(|document| document.source as usize);
                if source.is_some_and(|source| self.permitted.get(source) == Some(&true)) {
                    permitted.push(posting);
                }
            }
            return Ok(permitted);
        }
        Ok(found)
    }

    /// Terms that go on after these letters, the first ones by their letters.
    pub(super) fn longer_terms(&self, letters: &str, most: usize) -> rusqlite::Result<Vec<String>> {
        let select = "SELECT DISTINCT term FROM yabby_postings WHERE term > ? AND term < ? LIMIT ?";
        let end = format!("{letters}\u{10FFFF}");
        let mut statement = self.connection.prepare_cached(select)?;
        statement
            .query_map(rusqlite::params![letters, end, i64::try_from(most).unwrap_or(i64::MAX)], |row| {
                row.get(0)
            })?
            .collect()
    }

    /// Terms that end with these letters, behind so many others; none where there are too many terms to look at.
    pub(super) fn terms_ending(
        &self,
        letters: &str,
        rest: usize,
        most: usize,
    ) -> rusqlite::Result<Vec<String>> {
        let select = "SELECT min(term) FROM yabby_postings WHERE term > ?";
        let mut statement = self.connection.prepare_cached(select)?;
        let (mut found, mut last) = (Vec::new(), String::new());
        for _ in 0..MOST_TERMS {
            let next: Option<String> = statement.query_row([&last], |row| row.get(0))?;
            let Some(term) = next else { return Ok(found) };
            let begins = term.strip_suffix(letters).map_or(0, |begins| begins.chars().count());
            if begins >= rest {
                found.push(term.clone());
                if found.len() >= most {
                    return Ok(found);
                }
            }
            last = term;
        }
        Ok(Vec::new())
    }

    /// How many documents have a term.
    pub(super) fn frequency(&mut self, term: &str) -> rusqlite::Result<f32> {
        if !self.sees_everything {
            return Ok(self.postings(term)?.len() as f32);
        }
        let select = "SELECT coalesce(sum(length(data)), 0) / 2 FROM yabby_postings WHERE term = ?";
        self.connection.prepare_cached(select)?.query_row([term], |row| Ok(row.get::<_, f64>(0)? as f32))
    }

    pub(super) fn document(&mut self, id: u32) -> rusqlite::Result<Option<Document>> {
        let block = id / FACT_BLOCK;
        if !self.facts.contains_key(&block) {
            let facts = self.fact_block(block)?;
            self.facts.insert(block, facts);
        }
        Ok(self.facts.get(&block).and_then(|facts| Document::read(facts, (id % FACT_BLOCK) as usize)))
    }

    fn document_uncached(&self, id: u32) -> rusqlite::Result<Option<Document>> {
        Ok(Document::read(&self.fact_block(id / FACT_BLOCK)?, (id % FACT_BLOCK) as usize))
    }

    fn fact_block(&self, block: u32) -> rusqlite::Result<Vec<u8>> {
        let select = "SELECT data FROM yabby_facts WHERE block = ?";
        let known: Option<Vec<u8>> =
            self.connection.prepare_cached(select)?.query_row([block], |row| row.get(0)).optional()?;
        Ok(known.unwrap_or_default())
    }

    /// Who has spoken: the ids of everybody whose name has one of these words in it.
    pub(super) fn speakers(&self, words: &[String]) -> rusqlite::Result<Vec<(u32, String)>> {
        let mut statement = self.connection.prepare_cached("SELECT id, name FROM yabby_speakers")?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(1)?;
            let parts = crate::analysis::words(&name);
            if let Some(part) = parts.iter().find(|part| words.contains(&part.folded))
                && (self.sees_everything || self.may_know(&name)?)
            {
                found.push((row.get(0)?, part.folded.clone()));
            }
        }
        Ok(found)
    }

    /// Whether somebody of this name speaks in what may be seen.
    fn may_know(&self, name: &str) -> rusqlite::Result<bool> {
        let select = "SELECT id FROM yabby_sources WHERE instr(people, ?)";
        let quoted = serde_json::Value::from(name).to_string();
        let mut statement = self.connection.prepare_cached(select)?;
        let mut rows = statement.query([quoted])?;
        while let Some(row) = rows.next()? {
            if self.permitted.get(row.get::<_, u32>(0)? as usize) == Some(&true) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What was said between two times, milliseconds since 1970, the latest first.
    pub(super) fn said_between(&self, first: i64, last: i64, most: u32) -> rusqlite::Result<Vec<Place>> {
        let select =
            "SELECT source, position FROM yabby_units WHERE at BETWEEN ? AND ? ORDER BY at DESC LIMIT ?";
        let mut statement = self.connection.prepare_cached(select)?;
        let rows = statement.query_map([first, last, i64::from(most)], |row| {
            Ok(Place { source: row.get(0)?, position: row.get(1)? })
        })?;
        rows.collect()
    }

    pub(super) fn id_at(&self, place: Place) -> rusqlite::Result<Option<u32>> {
        let select = "SELECT id FROM yabby_units WHERE source = ? AND position = ?";
        self.connection
            .prepare_cached(select)?
            .query_row([place.source, place.position], |row| row.get(0))
            .optional()
    }

    /// What a source says from one place up to another, as far as it may be seen.
    pub(super) fn units(&self, source: u32, first: u32, end: u32) -> rusqlite::Result<Vec<Unit>> {
        let end = end.min(self.visible(source).map_or(0, |visible| visible.end));
        let select = "SELECT entry, first_line, last_line, role, speaker, at, heading, text FROM yabby_units
            WHERE source = ? AND position >= ? AND position < ? ORDER BY position";
        self.connection.prepare_cached(select)?.query_map([source, first, end], unit)?.collect()
    }

    pub(super) fn unit(&self, id: u32) -> rusqlite::Result<Option<Unit>> {
        let select = "SELECT entry, first_line, last_line, role, speaker, at, heading, text FROM yabby_units WHERE id = ?";
        self.connection.prepare_cached(select)?.query_row([id], unit).optional()
    }
}

fn unit(row: &Row<'_>) -> rusqlite::Result<Unit> {
    Ok(Unit {
        entry: row.get(0)?,
        first_line: row.get(1)?,
        last_line: row.get(2)?,
        role: Role::of_str(row.get_ref(3)?.as_str().unwrap_or_default()),
        speaker: row.get(4)?,
        at: row.get(5)?,
        heading: row.get(6)?,
        text: row.get(7)?,
        is_unfinished: false,
        is_echo: false,
    })
}
