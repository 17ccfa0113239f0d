//! Forgetting: what is taken out leaves nothing behind, neither in a table nor in a page of the file that is
//! no longer used.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::vectors::{self, BLOCK};
use super::writer::{Writer, hash_of};
use super::{Recall, RecallError, wrong};
use crate::unit::Role;

/// Something that shall not be found any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Lines of a note, from 1.
    Lines { path: String, first: u32, last: u32 },
    /// What an entry of a transcript says.
    Entry { path: String, entry: String },
}

/// A shorter text is said by many, and says nothing by itself: it may be indexed again elsewhere.
const SHORTEST: usize = 20;

impl Recall {
    /// Takes units out of the index, and has their files read anew by the next look at them; how many. What
    /// was said in them comes back from no copy.
    pub fn forget(&self, gone: &[Gone]) -> Result<usize, RecallError> {
        self.write(|connection| {
            let mut units: HashSet<u32> = HashSet::new();
            for gone in gone {
                let (Gone::Lines { path, .. } | Gone::Entry { path, .. }) = gone;
                let select = "SELECT id FROM yabby_sources WHERE path = ?";
                let source: Option<u32> =
                    connection.prepare_cached(select)?.query_row([path], |row| row.get(0)).optional()?;
                let Some(source) = source else { continue };
                let found = match gone {
                    Gone::Lines { first, last, .. } => {
                        let overlapping = "SELECT id FROM yabby_units WHERE source = ? AND first_line <= ? AND last_line >= ?";
                        ids(connection, overlapping, params![source, last, first])?
                    }
                    Gone::Entry { entry, .. } => {
                        let of_entry = "SELECT id FROM yabby_units WHERE source = ? AND entry = ?";
                        ids(connection, of_entry, params![source, entry])?
                    }
                };
                units.extend(found);
                let unread = "UPDATE yabby_sources SET size = -1, mark = 'forgotten' WHERE id = ?";
                connection.prepare_cached(unread)?.execute([source])?;
            }
            let units: Vec<u32> = units.into_iter().collect();
            for id in &units {
                let select = "SELECT role, text FROM yabby_units WHERE id = ?";
                let (role, text): (String, String) = connection
                    .prepare_cached(select)?
                    .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                // A note may be written again by whoever wants it.
                if Role::of_str(&role) != Role::Note && text.chars().count() >= SHORTEST {
                    let insert = "INSERT OR IGNORE INTO yabby_forgotten (hash) VALUES (?)";
                    connection.prepare_cached(insert)?.execute([&hash_of(&text)[..]])?;
                }
            }
            let mut writer = Writer::new(connection)?;
            writer.remove_units(&units)?;
            writer.flush()?;
            Ok(units.len())
        })
    }

    /// Makes sure that nothing of what is not in the index any more is left in its file: no vector, no name,
    /// no page that was used before.
    pub fn shred(&self) -> Result<(), RecallError> {
        self.write(|connection| {
            drop_vectors(connection)?;
            vectors::drop_unknown(connection)?;
            let unused = "DELETE FROM yabby_speakers WHERE name NOT IN (SELECT speaker FROM yabby_units)";
            connection.execute(unused, [])?;
            Ok(())
        })?;
        // Whoever looks at an older state would keep it in the file.
        self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        let connection = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let emptied = || {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            connection.execute_batch("VACUUM")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        };
        emptied().map_err(|source| wrong(&self.path, source))
    }
}

fn ids(
    connection: &Connection,
    select: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<u32>> {
    connection.prepare_cached(select)?.query_map(parameters, |row| row.get(0))?.collect()
}

/// Takes the vectors of documents that are gone out of their blocks.
fn drop_vectors(connection: &Connection) -> rusqlite::Result<()> {
    let live: HashSet<u32> = ids(connection, "SELECT id FROM yabby_units", [])?.into_iter().collect();
    let blocks: Vec<(String, u32)> = connection
        .prepare("SELECT model, block FROM yabby_vectors")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (model, block) in blocks {
        let select = "SELECT data FROM yabby_vectors WHERE model = ? AND block = ?";
        let data: Vec<u8> =
            connection.prepare_cached(select)?.query_row(params![model, block], |row| row.get(0))?;
        let mut kept = data.clone();
        let width = kept.len() / BLOCK as usize;
        for (id, vector) in (block * BLOCK..).zip(kept.chunks_exact_mut(width.max(1))) {
            if !live.contains(&id) {
                vector.fill(0);
            }
        }
        if kept.iter().all(|byte| *byte == 0) {
            let delete = "DELETE FROM yabby_vectors WHERE model = ? AND block = ?";
            connection.prepare_cached(delete)?.execute(params![model, block])?;
        } else if kept != data {
            let update = "UPDATE yabby_vectors SET data = ? WHERE model = ? AND block = ?";
            connection.prepare_cached(update)?.execute(params![kept, model, block])?;
        }
    }
    Ok(())
}
