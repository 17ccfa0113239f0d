//! Likeness of meaning: a vector for every document, a byte a number, in blocks that are read in one go.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension as _, params};

use super::rank::Meaning;
use super::reader::Reader;
use super::writer::hash_of;
use super::{Recall, RecallError};
use crate::unit::{Role, Unit};

/// How many documents share a row.
pub(super) const BLOCK: u32 = 64;

/// So many of the most alike count.
const MOST_ALIKE: usize = 1000;

/// A document that has no vector yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    id: u32,
    hash: [u8; 32],
    pub text: String,
}

/// The next documents for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    pub documents: Vec<Unembedded>,
    /// So many before them have the vector of the same text elsewhere.
    pub filled_in: u32,
}

impl Unseen {
    /// The model was given everything.
    pub fn is_nothing(&self) -> bool {
        self.documents.is_empty() && self.filled_in == 0
    }
}

/// How far a model has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedded {
    /// Documents that were given to it, and all that there are.
    pub done: u32,
    pub all: u32,
}

impl Recall {
    /// The next documents that the model has not been given, the oldest first. Those it knows from elsewhere
    /// are filled in.
    pub fn unembedded(&self, model: &str, most: usize, notes_only: bool) -> Result<Unseen, RecallError> {
        self.write(|connection| {
            let upto = upto(connection, model)?;
            let mut found = Vec::new();
            each_text(connection, upto, notes_only, most, |document| found.push(document))?;
            let (mut known, mut unknown) = (Vec::new(), Vec::new());
            for document in found {
                let select = "SELECT vector FROM yabby_embeddings WHERE model = ? AND hash = ?";
                let vector: Option<Vec<u8>> = connection
                    .prepare_cached(select)?
                    .query_row(params![model, &document.hash[..]], |row| row.get(0))
                    .optional()?;
                match vector {
                    Some(vector) if unknown.is_empty() => known.push((document.id, vector)),
                    _ => unknown.push(document),
                }
            }
            put(connection, model, &known)?;
            Ok(Unseen { documents: unknown, filled_in: u32::try_from(known.len()).unwrap_or(u32::MAX) })
        })
    }

    /// Keeps the vectors of documents. An empty one says that there is none.
    pub fn embed(&self, model: &str, vectors: &[(Unembedded, Vec<f32>)]) -> Result<(), RecallError> {
        self.write(|connection| {
            let insert = "INSERT OR REPLACE INTO yabby_embeddings (model, hash, vector) VALUES (?, ?, ?)";
            let mut statement = connection.prepare_cached(insert)?;
            let mut packed = Vec::with_capacity(vectors.len());
            for (document, vector) in vectors {
                let bytes = pack(vector);
                statement.execute(params![model, &document.hash[..], bytes])?;
                packed.push((document.id, bytes));
            }
            put(connection, model, &packed)
        })
    }

    /// Whether a model has seen anything.
    pub fn has_embedded(&self, model: &str) -> Result<bool, RecallError> {
        self.read(|connection| Ok(upto(connection, model)? > 0))
    }

    /// How many vectors are kept for texts that come up again.
    pub fn kept_vectors(&self) -> Result<u64, RecallError> {
        self.read(|connection| {
            connection.query_row("SELECT count(*) FROM yabby_embeddings", [], |row| row.get::<_, i64>(0))
        })
        .map(i64::unsigned_abs)
    }

    /// How far a model has come with everything, or with notes only.
    pub fn embedded(&self, model: &str, notes_only: bool) -> Result<Embedded, RecallError> {
        self.read(|connection| {
            let count =
                "SELECT count(*), coalesce(sum(id < ?), 0) FROM yabby_units WHERE role = 'note' OR NOT ?";
            let upto = upto(connection, model)?;
            connection.query_row(count, params![upto, notes_only], |row| {
                Ok(Embedded { all: row.get(0)?, done: row.get(1)? })
            })
        })
    }
}

/// The documents from one on, as a model is told them.
fn each_text(
    connection: &Connection,
    from: u32,
    notes_only: bool,
    most: usize,
    mut take: impl FnMut(Unembedded),
) -> rusqlite::Result<()> {
    let select =
        "SELECT unit.id, unit.role, unit.speaker, unit.heading, unit.text, before.speaker, before.text
        FROM yabby_units unit LEFT JOIN yabby_units before
        ON before.source = unit.source AND before.position = unit.position - 1
        WHERE unit.id >= ? AND (unit.role = 'note' OR NOT ?) ORDER BY unit.id LIMIT ?";
    let mut statement = connection.prepare_cached(select)?;
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![from, notes_only, limit])?;
    while let Some(row) = rows.next()? {
        let unit = Unit {
            role: Role::of_str(row.get_ref(1)?.as_str().unwrap_or_default()),
            speaker: row.get(2)?,
            heading: row.get(3)?,
            text: row.get(4)?,
            ..Unit::default()
        };
        let before: Option<(String, String)> = row.get::<_, Option<String>>(5)?.zip(row.get(6)?);
        let text = embedded_text(&unit, before);
        take(Unembedded { id: row.get(0)?, hash: hash_of(&text), text });
    }
    Ok(())
}

/// Drops the vectors of texts that are nowhere any more.
pub(super) fn drop_unknown(connection: &Connection) -> rusqlite::Result<()> {
    let mut known: HashSet<[u8; 32]> = HashSet::new();
    each_text(connection, 0, false, usize::MAX, |document| {
        known.insert(document.hash);
    })?;
    let hashes: Vec<Vec<u8>> = connection
        .prepare("SELECT DISTINCT hash FROM yabby_embeddings")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut delete = connection.prepare_cached("DELETE FROM yabby_embeddings WHERE hash = ?")?;
    for hash in hashes {
        let is_known = <[u8; 32]>::try_from(hash.as_slice()).is_ok_and(|hash| known.contains(&hash));
        if !is_known {
            delete.execute([hash])?;
        }
    }
    Ok(())
}

/// What a model is told of a unit: who speaks matters to what is meant, and what was said before it.
fn embedded_text(unit: &Unit, before: Option<(String, String)>) -> String {
    match unit.role {
        Role::Note if unit.heading.is_empty() => unit.text.clone(),
        Role::Note => format!("{}: {}", unit.heading, unit.text),
        Role::User | Role::Assistant => {
            let before = before.map(|(speaker, text)| format!("{speaker}: {}\n", end_of(&text)));
            format!("{}{}: {}", before.unwrap_or_default(), unit.speaker, unit.text)
        }
    }
}

/// The last words of a text: a long one before it would drown a short answer.
fn end_of(text: &str) -> &str {
    const MOST: usize = 400;
    let count = text.chars().count();
    text.char_indices().nth(count.saturating_sub(MOST)).map_or("", |(at, _)| &text[at..])
}

/// The first document that a model has not seen.
fn upto(connection: &Connection, model: &str) -> rusqlite::Result<u32> {
    let select = "SELECT upto FROM yabby_models WHERE model = ?";
    let known = connection.prepare_cached(select)?.query_row([model], |row| row.get(0)).optional()?;
    Ok(known.unwrap_or(0))
}

fn put(connection: &Connection, model: &str, vectors: &[(u32, Vec<u8>)]) -> rusqlite::Result<()> {
    let Some(width) = vectors.iter().map(|(_, vector)| vector.len()).max() else { return Ok(()) };
    let mut blocks: HashMap<u32, Vec<u8>> = HashMap::new();
    for (id, vector) in vectors {
        let block = id / BLOCK;
        let data = match blocks.entry(block) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let select = "SELECT data FROM yabby_vectors WHERE model = ? AND block = ?";
                let known: Option<Vec<u8>> = connection
                    .prepare_cached(select)?
                    .query_row(params![model, block], |row| row.get(0))
                    .optional()?;
                place.insert(known.unwrap_or_else(|| vec![0; width * BLOCK as usize]))
            }
        };
        let at = (id % BLOCK) as usize * width;
        if let Some(place) = data.get_mut(at..at + vector.len()) {
            place.copy_from_slice(vector);
        }
    }
    let insert = "INSERT OR REPLACE INTO yabby_vectors (model, block, data) VALUES (?, ?, ?)";
    let mut statement = connection.prepare_cached(insert)?;
    for (block, data) in blocks {
        statement.execute(params![model, block, data])?;
    }
    let next = vectors.iter().map(|(id, _)| id + 1).max().unwrap_or(0);
    let save = "INSERT INTO yabby_models (model, upto) VALUES (?, ?)
        ON CONFLICT (model) DO UPDATE SET upto = max(upto, excluded.upto)";
    connection.prepare_cached(save)?.execute(params![model, next])?;
    Ok(())
}

/// Four bytes of scale, then a byte for each number. A vector of nothing is all zeros.
fn pack(vector: &[f32]) -> Vec<u8> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    let most = vector.iter().fold(0.0_f32, |most, number| most.max(number.abs()));
    let mut bytes = Vec::with_capacity(vector.len() + 4);
    let is_something = most > 0.0 && length.is_finite();
    let scale = if is_something { most / 127.0 / length } else { 0.0 };
    bytes.extend(scale.to_le_bytes());
    #[expect(clippy::cast_possible_truncation, reason = "between -127 and 127")]
    let small = |number: &f32| if is_something { (number / most * 127.0).round() as i8 } else { 0 };
    bytes.extend(vector.iter().map(|number| small(number).to_le_bytes()[0]));
    bytes
}

/// How alike two packed vectors are, the question's of unit length.
fn likeness(question: &[f32], packed: &[u8]) -> f32 {
    let (scale, numbers) = packed.split_at(4);
    let scale = f32::from_le_bytes([scale[0], scale[1], scale[2], scale[3]]);
    let mut sums = [0.0_f32; 16];
    let mut questions = question.chunks_exact(16);
    let mut numbers_of = numbers.chunks_exact(16);
    for (question, numbers) in (&mut questions).zip(&mut numbers_of) {
        for at in 0..16 {
            sums[at] += question[at] * f32::from(numbers[at].cast_signed());
        }
    }
    let rest = questions.remainder().iter().zip(numbers_of.remainder());
    let rest: f32 = rest.map(|(question, number)| question * f32::from(number.cast_signed())).sum();
    (sums.iter().sum::<f32>() + rest) * scale
}

/// The documents that are most like a question, among those that may be seen.
pub(super) fn most_alike(
    connection: &Connection,
    reader: &mut Reader<'_>,
    model: &str,
    question: &[f32],
) -> rusqlite::Result<Meaning> {
    let length = question.iter().map(|number| number * number).sum::<f32>().sqrt();
    if length == 0.0 || !length.is_finite() {
        return Ok(Meaning::default());
    }
    let question: Vec<f32> = question.iter().map(|number| number / length).collect();
    let width = question.len() + 4;
    let mut statement = connection.prepare_cached("SELECT block, data FROM yabby_vectors WHERE model = ?")?;
    let mut rows = statement.query([model])?;
    let mut all: Vec<(f32, u32)> = Vec::new();
    while let Some(row) = rows.next()? {
        let first = row.get::<_, u32>(0)? * BLOCK;
        let data = row.get_ref(1)?.as_blob().unwrap_or_default();
        for (id, packed) in (first..).zip(data.chunks_exact(width)) {
            let alike = likeness(&question, packed);
            if alike > 0.0 && reader.document(id)?.is_some_and(|document| reader.may_see(&document)) {
                all.push((alike, id));
            }
        }
    }
    if all.len() > MOST_ALIKE {
        all.select_nth_unstable_by(MOST_ALIKE, |one, other| {
            other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
        });
        all.truncate(MOST_ALIKE);
    }
    Ok(all.into_iter().map(|(alike, id)| (id, alike)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_vectors_are_as_alike_as_whole_ones() {
        let one: Vec<f32> = (0..100).map(|at| (at as f32 * 0.37).sin()).collect();
        let other: Vec<f32> = (0..100).map(|at| (at as f32 * 0.39).sin()).collect();
        let length = |vector: &[f32]| vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        let exact = one.iter().zip(&other).map(|(one, other)| one * other).sum::<f32>()
            / length(&one)
            / length(&other);
        let unit: Vec<f32> = one.iter().map(|number| number / length(&one)).collect();
        assert!((likeness(&unit, &pack(&other)) - exact).abs() < 0.01);
        assert!(likeness(&unit, &pack(&[0.0; 100])).abs() < 1e-9);
        assert!(likeness(&unit, &pack(&[f32::NAN; 100])).abs() < 1e-9);
    }
}
