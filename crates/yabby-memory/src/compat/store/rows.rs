//! What is written into the tables, and read from them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use jiff::Timestamp;
use rusqlite::types::{Value as Column, ValueRef};
use rusqlite::{Connection, Row, ToSql, params, params_from_iter};
use yabby_domain::json::Value;
use yabby_domain::text;

use super::{Store, StoreError, schema, sorted};
use crate::compat::files::{Document, Source};
use crate::compat::hybrid::Found;
use crate::compat::{chunking::Chunk, fts_query, keys, snippet, vectors};

/// So many hashes are looked up at once.
const LOOKUP: usize = 400;

/// Whose vectors: those of two models are never mixed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheKey {
    pub provider: String,
    pub model: String,
    pub provider_key: String,
}

/// A chunk, and its vector; an empty one if it has none.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedChunk {
    pub chunk: Chunk,
    pub vector: Vec<f64>,
}

/// Where is looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Within {
    /// Everything if none is named.
    pub sources: Vec<Source>,
    /// Only these transcripts, by their names in the index.
    pub transcripts: Option<Vec<String>>,
}

/// How much of a source is indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub files: u64,
    pub chunks: u64,
}

impl Store {
    /// The files of a source that are indexed, with their hashes.
    pub fn files(&self, source: Source) -> Result<HashMap<String, String>, StoreError> {
        self.rows("SELECT path, hash FROM files WHERE source = ?1", [source.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .map(|rows: Vec<(String, String)>| rows.into_iter().collect())
    }

    pub fn counts(&self, source: Source) -> Result<Counts, StoreError> {
        let count = |table: &str| {
            self.connection
                .query_row(
                    &format!("SELECT count(*) FROM {table} WHERE source = ?1"),
                    [source.as_str()],
                    |row| count_in(row, 0),
                )
                .map_err(|source| self.sorted(source))
        };
        Ok(Counts { files: count("files")?, chunks: count("chunks")? })
    }

    pub fn cache_entries(&self) -> Result<u64, StoreError> {
        self.connection
            .query_row("SELECT count(*) FROM embedding_cache", [], |row| count_in(row, 0))
            .map_err(|source| self.sorted(source))
    }

    /// The vectors of these chunks that were asked for before.
    pub fn cached(&self, key: &CacheKey, hashes: &[String]) -> Result<HashMap<String, Vec<f64>>, StoreError> {
        let mut known = HashMap::new();
        for hashes in hashes.chunks(LOOKUP) {
            let marks = vec!["?"; hashes.len()].join(", ");
            let sql = format!(
                "SELECT hash, embedding FROM embedding_cache \
                 WHERE provider = ? AND model = ? AND provider_key = ? AND hash IN ({marks})"
            );
            let key = [&key.provider, &key.model, &key.provider_key];
            let found: Vec<(String, String)> =
                self.rows(&sql, params_from_iter(key.into_iter().chain(hashes)), |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            let read = found.into_iter().map(|(hash, vector)| (hash, vectors::parsed(&vector)));
            known.extend(read.filter(|(_, vector)| !vector.is_empty()));
        }
        Ok(known)
    }

    /// Keeps vectors for the next time.
    pub fn remember(&mut self, key: &CacheKey, fresh: &[(String, Vec<f64>)]) -> Result<(), StoreError> {
        self.all_or_nothing(|connection| {
            let mut insert = connection.prepare_cached(
                "INSERT INTO embedding_cache \
                   (provider, model, provider_key, hash, embedding, dims, updated_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
                 ON CONFLICT(provider, model, provider_key, hash) DO UPDATE SET \
                   embedding = excluded.embedding, dims = excluded.dims, updated_at = excluded.updated_at",
            )?;
            for (hash, vector) in fresh {
                insert.execute(params![
                    key.provider,
                    key.model,
                    key.provider_key,
                    hash,
                    vectors::written(vector),
                    counted(vector.len()),
                    now(),
                ])?;
            }
            Ok(())
        })
    }

    /// Takes over what another index has cached and this one has not.
    pub fn take_cache_of(&mut self, other: &Path) -> Result<(), StoreError> {
        let at = |source| sorted(other, source);
        self.connection.execute("ATTACH DATABASE ?1 AS other", [other.to_string_lossy()]).map_err(at)?;
        let taken = self.connection.execute_batch(
            "INSERT OR IGNORE INTO main.embedding_cache \
               (provider, model, provider_key, hash, embedding, dims, updated_at) \
             SELECT provider, model, provider_key, hash, embedding, dims, updated_at \
             FROM other.embedding_cache",
        );
        self.connection.execute_batch("DETACH DATABASE other").map_err(at)?;
        taken.map_err(at)
    }

    /// Forgets the oldest vectors beyond so many.
    pub fn prune_cache(&mut self, most: u64) -> Result<(), StoreError> {
        let beyond = self.cache_entries()?.saturating_sub(most);
        if beyond == 0 {
            return Ok(());
        }
        self.all_or_nothing(|connection| {
            connection.execute(
                "DELETE FROM embedding_cache WHERE rowid IN \
                   (SELECT rowid FROM embedding_cache ORDER BY updated_at ASC LIMIT ?1)",
                [counted(beyond)],
            )?;
            Ok(())
        })
    }

    /// Puts a file into the index, in the place of what was there of it.
    pub fn put_file(
        &mut self,
        document: &Document,
        chunks: &[IndexedChunk],
        model: &str,
    ) -> Result<(), StoreError> {
        let with_vectors = self.prepare_vectors(chunks)?;
        let with_words = self.words.is_ready();
        let dims = self.dims;
        self.all_or_nothing(|connection| {
            remove_rows(connection, &document.path, document.source, with_vectors, with_words)?;
            let (path, source) = (&document.path, document.source.as_str());
            for IndexedChunk { chunk, vector } in chunks {
                let Chunk { start_line, end_line, hash, text } = chunk;
                let id = keys::chunk_id(document.source, path, *start_line, *end_line, hash, model);
                let text = text::to_outside(text);
                connection
                    .prepare_cached(
                        "INSERT INTO chunks (id, path, source, start_line, end_line, hash, model, text, \
                           embedding, updated_at) \
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
                         ON CONFLICT(id) DO UPDATE SET hash = excluded.hash, model = excluded.model, \
                           text = excluded.text, embedding = excluded.embedding, \
                           updated_at = excluded.updated_at",
                    )?
                    .execute(params![
                        id,
                        path,
                        source,
                        counted(*start_line),
                        counted(*end_line),
                        hash,
                        model,
                        text,
                        vectors::written(vector),
                        now()
                    ])?;
                if with_vectors && !vector.is_empty() && Some(vector.len()) == dims {
                    put_vector(connection, &id, vector)?;
                }
                if with_words {
                    connection
                        .prepare_cached(
                            "INSERT INTO chunks_fts (text, id, path, source, model, start_line, end_line) \
                             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                        )?
                        .execute(params![
                            text,
                            id,
                            path,
                            source,
                            model,
                            counted(*start_line),
                            counted(*end_line)
                        ])?;
                }
            }
            connection
                .prepare_cached(
                    "INSERT INTO files (path, source, hash, mtime, size) VALUES (?1, ?2, ?3, ?4, ?5) \
                     ON CONFLICT(path) DO UPDATE SET source = excluded.source, hash = excluded.hash, \
                       mtime = excluded.mtime, size = excluded.size",
                )?
                .execute(params![path, source, document.hash, document.mtime, counted(document.size)])?;
            Ok(())
        })?;
        self.note_dims()
    }

    /// Takes a file out of the index.
    pub fn remove_file(&mut self, path: &str, source: Source) -> Result<(), StoreError> {
        let with_vectors = self.vectors.is_ready() && self.dims.is_some();
        let with_words = self.words.is_ready();
        self.all_or_nothing(|connection| {
            remove_rows(connection, path, source, with_vectors, with_words)?;
            connection
                .execute("DELETE FROM files WHERE path = ?1 AND source = ?2", [path, source.as_str()])?;
            Ok(())
        })?;
        self.note_dims()
    }

    /// Makes sure that nothing is left of what is in no chunk: no cached vector but those of `kept`, no
    /// vector, no word, no page of the file that was used before.
    pub fn shred(&mut self, kept: &HashSet<String>) -> Result<(), StoreError> {
        let unused: Vec<String> = self.rows(
            "SELECT DISTINCT hash FROM embedding_cache WHERE hash NOT IN (SELECT hash FROM chunks)",
            [],
            |row| row.get(0),
        )?;
        self.all_or_nothing(|connection| {
            for hash in unused.iter().filter(|hash| !kept.contains(*hash)) {
                connection.execute("DELETE FROM embedding_cache WHERE hash = ?1", [hash])?;
            }
            Ok(())
        })?;
        if let Some(dims) = self.dims.filter(|_| self.vectors.is_ready()) {
            self.begin_vectors(dims)?;
        }
        let with_words = self.words.is_ready();
        let emptied = || {
            if with_words {
                // Rows of models that were asked before stay behind in the reference's index, and words that
                // were deleted in the segments of the table.
                self.connection.execute_batch(
                    "DELETE FROM chunks_fts WHERE id NOT IN (SELECT id FROM chunks); \
                     INSERT INTO chunks_fts(chunks_fts) VALUES ('rebuild')",
                )?;
            }
            let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
            self.connection.query_row(checkpoint, [], |_| Ok(()))?;
            self.connection.execute_batch("VACUUM")?;
            self.connection.query_row(checkpoint, [], |_| Ok(()))
        };
        emptied().map_err(|source| self.sorted(source))
    }

    /// Makes `chunks_vec` fit the vectors of a file. Returns whether there is such a table.
    fn prepare_vectors(&mut self, chunks: &[IndexedChunk]) -> Result<bool, StoreError> {
        if !self.vectors.is_ready() {
            return Ok(false);
        }
        let length = chunks.iter().map(|chunk| chunk.vector.len()).find(|length| *length > 0);
        match length {
            Some(length) if self.dims != Some(length) => self.begin_vectors(length)?,
            _ => {}
        }
        Ok(self.dims.is_some())
    }

    /// Begins `chunks_vec` anew with the chunks whose vectors have this length.
    fn begin_vectors(&mut self, dims: usize) -> Result<(), StoreError> {
        self.all_or_nothing(|connection| {
            schema::recreate_vectors(connection, dims)?;
            fill_vectors(connection, dims)
        })?;
        self.dims = Some(dims);
        Ok(())
    }

    /// Makes `chunks_vec` say what `chunks` says: a program without the extension leaves it out of date.
    pub fn mend_vectors(&mut self, dims: Option<usize>) -> Result<(), StoreError> {
        if !self.vectors.is_ready() {
            return Ok(());
        }
        match dims {
            Some(dims) if self.dims != Some(dims) => return self.begin_vectors(dims),
            None if self.dims.is_none() => return Ok(()),
            _ => {}
        }
        let Some(dims) = self.dims else { return Ok(()) };
        let ids = |sql: &str| -> Result<HashSet<String>, StoreError> {
            self.rows(sql, [], |row| row.get(0)).map(|ids: Vec<String>| ids.into_iter().collect())
        };
        let there = ids("SELECT id FROM chunks_vec")?;
        let wanted = ids("SELECT id FROM chunks WHERE embedding <> '[]'")?;
        let orphans: Vec<String> = there.difference(&wanted).cloned().collect();
        if orphans.is_empty() && wanted.is_subset(&there) {
            return Ok(());
        }
        self.all_or_nothing(|connection| {
            for id in orphans {
                connection.execute("DELETE FROM chunks_vec WHERE id = ?1", [id])?;
            }
            fill_vectors(connection, dims)
        })
    }

    /// The chunks that hold all words, the best first.
    pub fn by_words(
        &self,
        query: &str,
        model: &str,
        within: &Within,
        most: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let sql = format!(
            "SELECT id, path, source, start_line, end_line, text, bm25(chunks_fts) AS rank \
             FROM chunks_fts WHERE chunks_fts MATCH ? AND model = ?{} ORDER BY rank ASC LIMIT ?",
            within.condition("source", "path")
        );
        let given = given([text_of(query), text_of(model)], within, most);
        self.rows(&sql, params_from_iter(given), |row| {
            let rank = row.get::<_, Option<f64>>(6)?.unwrap_or(f64::NAN);
            found(row, fts_query::text_score(rank))
        })
    }

    /// The chunks whose vectors are nearest.
    pub fn by_meaning(
        &self,
        query: &[f64],
        model: &str,
        within: &Within,
        most: usize,
    ) -> Result<Vec<Found>, StoreError> {
        if !self.vectors.is_ready() || self.dims != Some(query.len()) {
            return self.by_comparing(query, model, within, most);
        }
        let sql = format!(
            "SELECT c.id, c.path, c.source, c.start_line, c.end_line, c.text, \
               vec_distance_cosine(v.embedding, ?) AS dist \
             FROM chunks_vec v JOIN chunks c ON c.id = v.id \
             WHERE c.model = ?{} ORDER BY dist ASC LIMIT ?",
            within.condition("c.source", "c.path")
        );
        let given = given([Column::Blob(vectors::blob(query)), text_of(model)], within, most);
        self.rows(&sql, params_from_iter(given), |row| {
            // A vector of zeros is near to nothing.
            let distance = row.get::<_, Option<f64>>(6)?.unwrap_or(1.0);
            found(row, 1.0 - distance)
        })
    }

    /// The same without the extension: every vector is looked at.
    fn by_comparing(
        &self,
        query: &[f64],
        model: &str,
        within: &Within,
        most: usize,
    ) -> Result<Vec<Found>, StoreError> {
        let sql = format!(
            "SELECT id, path, source, start_line, end_line, text, embedding FROM chunks WHERE model = ?{}",
            within.condition("source", "path")
        );
        let given = [text_of(model)].into_iter().chain(within.given());
        let mut all = self.rows(&sql, params_from_iter(given), |row| {
            let vector = vectors::parsed(&row.get::<_, String>(6)?);
            found(row, vectors::cosine(query, &vector))
        })?;
        crate::compat::hybrid::sort_best_first(&mut all, |found| found.score);
        all.truncate(most);
        Ok(all)
    }

    fn rows<T>(
        &self,
        sql: &str,
        given: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection
            .prepare(sql)
            .and_then(|mut statement| statement.query_map(given, read)?.collect())
            .map_err(|source| self.sorted(source))
    }
}

impl Within {
    /// ` AND <source> IN (?, …)`, and which transcripts.
    fn condition(&self, source: &str, path: &str) -> String {
        let among = match self.sources.len() {
            0 => String::new(),
            count => format!(" AND {source} IN ({})", vec!["?"; count].join(", ")),
        };
        match self.transcripts {
            None => among,
            Some(_) => {
                format!("{among} AND ({source} = 'memory' OR {path} IN (SELECT value FROM json_each(?)))")
            }
        }
    }

    fn given(&self) -> impl Iterator<Item = Column> {
        let transcripts =
            self.transcripts.as_ref().map(|paths| text_of(&Value::from(paths.clone()).to_string()));
        self.sources.iter().map(|source| text_of(source.as_str())).chain(transcripts)
    }
}

/// A count as SQLite has it.
fn counted(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// A count in a row. Node writes every number as a real one, and where a column has no type of its own, as
/// in `chunks_fts`, it stays one.
fn count_in(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    row.get_ref(column).map(|value| match value {
        ValueRef::Integer(count) => u64::try_from(count).unwrap_or(0),
        ValueRef::Real(count) => count as u64,
        ValueRef::Null | ValueRef::Text(_) | ValueRef::Blob(_) => 0,
    })
}

fn text_of(text: &str) -> Column {
    Column::Text(text.to_owned())
}

fn given(first: [Column; 2], within: &Within, most: usize) -> Vec<Column> {
    let most = Column::Integer(counted(most));
    first.into_iter().chain(within.given()).chain([most]).collect()
}

fn found(row: &Row<'_>, score: f64) -> rusqlite::Result<Found> {
    let source: String = row.get(2)?;
    let text: String = row.get(5)?;
    let text = text::from_outside(&text);
    Ok(Found {
        id: row.get(0)?,
        path: row.get(1)?,
        source: Source::parse(&source).unwrap_or(Source::Memory),
        start_line: count_in(row, 3)?,
        end_line: count_in(row, 4)?,
        snippet: snippet::truncated(&text, snippet::LENGTH),
        score,
    })
}

/// What is there of a file but its own row. Looking for words of a file means to look at all of them, so a
/// file that is new is not looked for.
fn remove_rows(
    connection: &Connection,
    path: &str,
    source: Source,
    with_vectors: bool,
    with_words: bool,
) -> rusqlite::Result<()> {
    let this: [&dyn ToSql; 2] = [&path, &source.as_str()];
    let is_known = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM chunks WHERE path = ?1 AND source = ?2) \
               OR EXISTS (SELECT 1 FROM files WHERE path = ?1)",
        )?
        .query_row(this, |row| row.get::<_, bool>(0))?;
    if !is_known {
        return Ok(());
    }
    if with_vectors {
        connection
            .prepare_cached("SELECT id FROM chunks WHERE path = ?1 AND source = ?2")?
            .query_map(this, |row| row.get::<_, String>(0))?
            .try_for_each(|id| {
                connection.prepare_cached("DELETE FROM chunks_vec WHERE id = ?1")?.execute([id?]).map(|_| ())
            })?;
    }
    if with_words {
        connection.execute("DELETE FROM chunks_fts WHERE path = ?1 AND source = ?2", this)?;
    }
    connection.execute("DELETE FROM chunks WHERE path = ?1 AND source = ?2", this)?;
    Ok(())
}

fn put_vector(connection: &Connection, id: &str, vector: &[f64]) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM chunks_vec WHERE id = ?1")?.execute([id])?;
    connection
        .prepare_cached("INSERT INTO chunks_vec (id, embedding) VALUES (?1, ?2)")?
        .execute(params![id, vectors::blob(vector)])?;
    Ok(())
}

/// Adds the chunks that `chunks_vec` lacks, if their vectors have its length.
fn fill_vectors(connection: &Connection, dims: usize) -> rusqlite::Result<()> {
    let missing: Vec<(String, String)> = connection
        .prepare("SELECT id, embedding FROM chunks WHERE id NOT IN (SELECT id FROM chunks_vec)")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, vector) in missing {
        let vector = vectors::parsed(&vector);
        if vector.len() == dims {
            put_vector(connection, &id, &vector)?;
        }
    }
    Ok(())
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}
