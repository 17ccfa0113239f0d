//! Adding documents to the index, and taking them out.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::document::{self, Document, Marks};
use super::postings::{self, Posting};
use super::schema::{FACT_BLOCK, POSTING_BLOCK};
use crate::analysis;
use crate::unit::{Role, Unit};

/// Changes of the index that are written together; the caller's transaction makes them one.
pub(super) struct Writer<'c> {
    connection: &'c Connection,
    next: u32,
    documents: i64,
    length: i64,
    /// By term and block.
    postings: HashMap<(String, u32), Vec<u8>>,
    facts: HashMap<u32, Vec<u8>>,
    speakers: HashMap<String, u32>,
}

impl<'c> Writer<'c> {
    pub(super) fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        let totals = "SELECT next_document, documents, length FROM yabby_totals";
        let (next, documents, length) =
            connection.query_row(totals, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(Self {
            connection,
            next,
            documents,
            length,
            postings: HashMap::new(),
            facts: HashMap::new(),
            speakers: HashMap::new(),
        })
    }

    /// Adds something that can be found, at a place of a source.
    pub(super) fn add(&mut self, source: u32, position: u32, unit: &Unit) -> rusqlite::Result<()> {
        if self.is_forgotten(unit)? {
            return Ok(());
        }
        let id = self.next;
        self.next += 1;
        let terms = terms_of(unit);
        self.connection
            .prepare_cached(
                "INSERT INTO yabby_units (id, source, position, entry, first_line, last_line, role, speaker, at, heading, text)
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                id, source, position, unit.entry, unit.first_line, unit.last_line, unit.role.as_str(),
                unit.speaker, unit.at, unit.heading, unit.text
            ])?;
        let minute = unit.at.and_then(|at| u32::try_from(at / 60_000).ok()).unwrap_or(0);
        let marks = Marks::default()
            .with(Marks::QUESTION, unit.text.trim_end().ends_with(['?', '？', '؟']))
            .with(Marks::TIME, document::says_when(&unit.text))
            .with(Marks::USER, unit.role == Role::User)
            .with(Marks::AGENT, unit.role == Role::Assistant)
            .with(Marks::UNFINISHED, unit.is_unfinished)
            .with(Marks::ECHO, unit.is_echo);
        // A document without words has a length, too: it is there.
        let length = u16::try_from(terms.len()).unwrap_or(u16::MAX).max(1);
        let speaker = self.speaker(&unit.speaker)?;
        self.put(id, &Document { source, position, speaker, minute, length, marks })?;
        for (term, count) in counted(terms) {
            let posting = Posting { document: id, count };
            self.postings.entry((term, posting.block())).or_default().extend(posting.bytes());
        }
        self.documents += 1;
        self.length += i64::from(length);
        Ok(())
    }

    /// Takes everything out that a source said from a place on.
    pub(super) fn remove(&mut self, source: u32, from: u32) -> rusqlite::Result<()> {
        let places = "SELECT id FROM yabby_units WHERE source = ? AND position >= ?";
        let ids: Vec<u32> = self
            .connection
            .prepare_cached(places)?
            .query_map([source, from], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        self.remove_units(&ids)
    }

    /// Takes documents out.
    pub(super) fn remove_units(&mut self, ids: &[u32]) -> rusqlite::Result<()> {
        // What was only added is written first, so that all of it is in one place.
        self.flush()?;
        let mut blocks: HashMap<(String, u32), Vec<u32>> = HashMap::new();
        for id in ids {
            let unit = self
                .connection
                .prepare_cached("SELECT heading, text FROM yabby_units WHERE id = ?")?
                .query_row([id], |row| {
                    Ok(Unit { heading: row.get(0)?, text: row.get(1)?, ..Unit::default() })
                })
                .optional()?;
            let Some(unit) = unit else { continue };
            for (term, _) in counted(terms_of(&unit)) {
                blocks.entry((term, id / POSTING_BLOCK)).or_default().push(*id);
            }
            if let Some(known) = self.document(*id)? {
                self.documents -= 1;
                self.length -= i64::from(known.length);
            }
            self.put(*id, &Document::default())?;
            self.connection.prepare_cached("DELETE FROM yabby_units WHERE id = ?")?.execute([id])?;
        }
        for ((term, block), gone) in blocks {
            let select = "SELECT data FROM yabby_postings WHERE term = ? AND block = ?";
            let data: Option<Vec<u8>> = self
                .connection
                .prepare_cached(select)?
                .query_row(params![term, block], |row| row.get(0))
                .optional()?;
            let left = postings::without(block, &data.unwrap_or_default(), &|id| gone.contains(&id));
            if left.is_empty() {
                let delete = "DELETE FROM yabby_postings WHERE term = ? AND block = ?";
                self.connection.prepare_cached(delete)?.execute(params![term, block])?;
            } else {
                let update = "UPDATE yabby_postings SET data = ? WHERE term = ? AND block = ?";
                self.connection.prepare_cached(update)?.execute(params![left, term, block])?;
            }
        }
        Ok(())
    }

    /// How many documents wait to be written.
    pub(super) fn is_full(&self) -> bool {
        const MOST: usize = 400_000;
        self.postings.len() >= MOST
    }

    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        let mut postings: Vec<((String, u32), Vec<u8>)> = self.postings.drain().collect();
        // In the order of the table, pages are written once.
        postings.sort_unstable();
        let insert = "INSERT INTO yabby_postings (term, block, data) VALUES (?, ?, ?)
            ON CONFLICT (term, block) DO UPDATE SET data = CAST(data || excluded.data AS BLOB)";
        let mut insert = self.connection.prepare_cached(insert)?;
        for ((term, block), data) in &postings {
            insert.execute(params![term, block, data])?;
        }
        let replace = "INSERT OR REPLACE INTO yabby_facts (block, data) VALUES (?, ?)";
        let mut replace = self.connection.prepare_cached(replace)?;
        for (block, data) in self.facts.drain() {
            replace.execute(params![block, data])?;
        }
        let totals = "UPDATE yabby_totals SET next_document = ?, documents = ?, length = ?";
        self.connection.prepare_cached(totals)?.execute(params![self.next, self.documents, self.length])?;
        Ok(())
    }

    fn is_forgotten(&self, unit: &Unit) -> rusqlite::Result<bool> {
        let select = "SELECT 1 FROM yabby_forgotten WHERE hash = ?";
        let hash = hash_of(&unit.text);
        Ok(self.connection.prepare_cached(select)?.query_row([&hash[..]], |_| Ok(())).optional()?.is_some())
    }

    fn speaker(&mut self, name: &str) -> rusqlite::Result<u32> {
        if let Some(id) = self.speakers.get(name) {
            return Ok(*id);
        }
        self.connection
            .prepare_cached("INSERT OR IGNORE INTO yabby_speakers (name) VALUES (?)")?
            .execute([name])?;
        let id = self
            .connection
            .prepare_cached("SELECT id FROM yabby_speakers WHERE name = ?")?
            .query_row([name], |row| row.get(0))?;
        self.speakers.insert(name.to_owned(), id);
        Ok(id)
    }

    fn facts(&mut self, block: u32) -> rusqlite::Result<&mut Vec<u8>> {
        if !self.facts.contains_key(&block) {
            let select = "SELECT data FROM yabby_facts WHERE block = ?";
            let known: Option<Vec<u8>> =
                self.connection.prepare_cached(select)?.query_row([block], |row| row.get(0)).optional()?;
            self.facts.insert(block, known.unwrap_or_default());
        }
        Ok(self.facts.entry(block).or_default())
    }

    fn put(&mut self, id: u32, document: &Document) -> rusqlite::Result<()> {
        let (block, at) = (id / FACT_BLOCK, (id % FACT_BLOCK) as usize * document::BYTES);
        let facts = self.facts(block)?;
        if facts.len() < at + document::BYTES {
            facts.resize(at + document::BYTES, 0);
        }
        document.write(&mut facts[at..at + document::BYTES]);
        Ok(())
    }

    fn document(&mut self, id: u32) -> rusqlite::Result<Option<Document>> {
        let at = (id % FACT_BLOCK) as usize;
        Ok(Document::read(self.facts(id / FACT_BLOCK)?, at))
    }
}

/// What a unit is found by.
pub(super) fn terms_of(unit: &Unit) -> Vec<String> {
    let mut terms = analysis::terms(&unit.text);
    if !unit.heading.is_empty() {
        terms.extend(analysis::terms(&unit.heading));
    }
    terms
}

/// By which a text is known again, wherever it stands.
pub(super) fn hash_of(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

fn counted(terms: Vec<String>) -> HashMap<String, u8> {
    let mut counts: HashMap<String, u8> = HashMap::new();
    for term in terms {
        let count = counts.entry(term).or_default();
        *count = count.saturating_add(1);
    }
    counts
}
