//! The tables, as the reference creates them.

use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use super::Part;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS meta (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS files (
      path TEXT PRIMARY KEY,
      source TEXT NOT NULL DEFAULT 'memory',
      hash TEXT NOT NULL,
      mtime INTEGER NOT NULL,
      size INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS chunks (
      id TEXT PRIMARY KEY,
      path TEXT NOT NULL,
      source TEXT NOT NULL DEFAULT 'memory',
      start_line INTEGER NOT NULL,
      end_line INTEGER NOT NULL,
      hash TEXT NOT NULL,
      model TEXT NOT NULL,
      text TEXT NOT NULL,
      embedding TEXT NOT NULL,
      updated_at INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS embedding_cache (
      provider TEXT NOT NULL,
      model TEXT NOT NULL,
      provider_key TEXT NOT NULL,
      hash TEXT NOT NULL,
      embedding TEXT NOT NULL,
      dims INTEGER,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (provider, model, provider_key, hash)
    );
    CREATE INDEX IF NOT EXISTS idx_embedding_cache_updated_at ON embedding_cache(updated_at);";

const WORDS: &str = "
    CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(
      text,
      id UNINDEXED,
      path UNINDEXED,
      source UNINDEXED,
      model UNINDEXED,
      start_line UNINDEXED,
      end_line UNINDEXED
    );";

const INDEXES: &str = "
    CREATE INDEX IF NOT EXISTS idx_chunks_path ON chunks(path);
    CREATE INDEX IF NOT EXISTS idx_chunks_source ON chunks(source);";

/// Creates what is not there yet, and says whether words can be searched.
pub(super) fn create(connection: &Connection, words: bool) -> rusqlite::Result<Part> {
    connection.execute_batch(TABLES)?;
    let words = match words {
        false => Part::Off,
        true => match connection.execute_batch(WORDS).and_then(|()| probe_words(connection)) {
            Ok(()) => Part::Ready,
            Err(damage) if damage.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                return Err(damage);
            }
            Err(problem) => Part::Unavailable(problem.to_string()),
        },
    };
    for table in ["files", "chunks"] {
        add_source(connection, table)?;
    }
    connection.execute_batch(INDEXES)?;
    Ok(words)
}

/// A table of that name need not be one that can be asked.
fn probe_words(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH 'a' AND model = ''").map(|_| ())
}

/// Indexes of before there were sources are of notes only.
fn add_source(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    let has_source = connection
        .prepare(&format!("PRAGMA table_info({table})"))?
        .query_map([], |row| row.get::<_, String>("name"))?
        .collect::<rusqlite::Result<Vec<_>>>()?
        .iter()
        .any(|name| name == "source");
    match has_source {
        true => Ok(()),
        false => connection
            .execute_batch(&format!("ALTER TABLE {table} ADD COLUMN source TEXT NOT NULL DEFAULT 'memory'")),
    }
}

/// The length of the vectors in `chunks_vec`, told by how it was created: without the extension the table
/// itself cannot be asked.
pub(super) fn vector_dims(connection: &Connection) -> rusqlite::Result<Option<usize>> {
    let sql = connection
        .query_row("SELECT sql FROM sqlite_master WHERE name = 'chunks_vec'", [], |row| {
            row.get::<_, Option<String>>(0)
        })
        .optional()?
        .flatten();
    let dims = |sql: String| {
        let sql = sql.to_ascii_uppercase();
        let (_, rest) = sql.split_once("FLOAT[")?;
        rest.split(']').next()?.trim().parse().ok()
    };
    Ok(sql.and_then(dims))
}

/// Begins `chunks_vec` anew, for vectors of this length.
pub(super) fn recreate_vectors(connection: &Connection, dims: usize) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS chunks_vec;
         CREATE VIRTUAL TABLE chunks_vec USING vec0(
           id TEXT PRIMARY KEY,
           embedding FLOAT[{dims}]
         );"
    ))
}
