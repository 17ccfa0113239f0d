//! The tables of our own index. Everything in them can be built again.

use std::path::Path;
use std::time::Duration;

use crate::private_file::make_private;
use rusqlite::{Connection, OpenFlags};

/// Another number: the index is built anew. Changes with the tables and with how texts become terms.
pub(super) const VERSION: i64 = 3;

/// How long one process waits while another writes.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many documents share a row of postings; an offset and a count fit into two bytes.
pub(super) const POSTING_BLOCK: u32 = 4096;

/// How many documents share a row of facts.
pub(super) const FACT_BLOCK: u32 = 256;

const TABLES: &str = "
CREATE TABLE yabby_totals (
    version INTEGER NOT NULL, next_document INTEGER NOT NULL, documents INTEGER NOT NULL, length INTEGER NOT NULL);
INSERT INTO yabby_totals VALUES (0, 0, 0, 0);
CREATE TABLE yabby_sources (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL, session_key TEXT, session_id TEXT, channel TEXT, chat_type TEXT, audience TEXT NOT NULL,
    people TEXT NOT NULL DEFAULT '[]',
    size INTEGER NOT NULL DEFAULT 0, modified INTEGER NOT NULL DEFAULT 0,
    read INTEGER NOT NULL DEFAULT 0, lines INTEGER NOT NULL DEFAULT 0, mark TEXT NOT NULL DEFAULT '',
    units INTEGER NOT NULL DEFAULT 0, first_at INTEGER, last_at INTEGER);
CREATE INDEX yabby_sources_audience ON yabby_sources(audience);
CREATE INDEX yabby_sources_session ON yabby_sources(session_key);
CREATE TABLE yabby_units (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL, position INTEGER NOT NULL, entry TEXT,
    first_line INTEGER NOT NULL, last_line INTEGER NOT NULL, role TEXT NOT NULL, speaker TEXT NOT NULL,
    at INTEGER, heading TEXT NOT NULL DEFAULT '', text TEXT NOT NULL);
CREATE UNIQUE INDEX yabby_units_place ON yabby_units(source, position);
CREATE INDEX yabby_units_at ON yabby_units(at);
CREATE INDEX yabby_units_entry ON yabby_units(entry);
CREATE TABLE yabby_speakers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE yabby_facts (block INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE yabby_postings (
    term TEXT NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (term, block)) WITHOUT ROWID;
CREATE TABLE yabby_vectors (
    model TEXT NOT NULL, block INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, block)) WITHOUT ROWID;
CREATE TABLE yabby_embeddings (
    model TEXT NOT NULL, hash BLOB NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, hash)) WITHOUT ROWID;
CREATE TABLE yabby_models (model TEXT PRIMARY KEY, upto INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS yabby_forgotten (hash BLOB PRIMARY KEY) WITHOUT ROWID;
";

/// A connection that writes; the tables are there afterwards.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    make_private(path);
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // What a crash takes away is built again.
    connection.pragma_update(None, "synchronous", "normal")?;
    let transaction =
        rusqlite::Transaction::new_unchecked(&connection, rusqlite::TransactionBehavior::Immediate)?;
    if version(&transaction)? != Some(VERSION) {
        clear(&transaction)?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("UPDATE yabby_totals SET version = ?", [VERSION])?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let known = "SELECT count(*) FROM sqlite_master WHERE name = 'yabby_totals'";
    if connection.query_row(known, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    connection.query_row("SELECT version FROM yabby_totals", [], |row| row.get(0)).map(Some)
}

/// Drops our tables, and nobody else's. What was to be forgotten stays so: no file says it again.
fn clear(connection: &Connection) -> rusqlite::Result<()> {
    let ours = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'yabby\\_%' ESCAPE '\\'
        AND name <> 'yabby_forgotten'";
    let names: Vec<String> =
        connection.prepare(ours)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    names.iter().try_for_each(|name| connection.execute_batch(&format!("DROP TABLE {name}")))
}
