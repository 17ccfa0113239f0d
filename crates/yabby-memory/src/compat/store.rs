//! The index file (`memory.md` §3): the reference's tables, in a file that both programs may write in turn.
//!
//! Everything here blocks. A file that is damaged is set aside and never written over: an index can be
//! built again, but what was in it may be wanted by whoever looks into the damage.

mod rows;
mod schema;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};
use serde_json::json;
use yabby_domain::json::{self, Value, number, stringify};

use super::extension;
use crate::private_file::{create_folder, make_private};
use crate::settings::{Chunking, Settings};

pub use rows::{CacheKey, Counts, IndexedChunk, Within};

/// How long another program may keep the file to itself.
const PATIENCE: Duration = Duration::from_secs(5);

const META_KEY: &str = "memory_index_meta_v1";

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{path} is damaged: {source}; it is kept beside the new index as {path}.corrupt-…", path = .path.display())]
    Damaged { path: PathBuf, source: rusqlite::Error },
    #[error("{path} is in use by another program; try again when it is done", path = .path.display())]
    Busy { path: PathBuf },
    #[error("{path}: {source}", path = .path.display())]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("{path}: {source}", path = .path.display())]
    File { path: PathBuf, source: io::Error },
}

impl StoreError {
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }

    fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

/// What tells whether rows can be kept: of another model, or cut in another way, they cannot.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    pub model: String,
    pub provider: String,
    pub provider_key: String,
    pub chunking: Chunking,
    /// The length of the vectors in `chunks_vec`; none if there are none, or they may be out of date.
    pub vector_dims: Option<usize>,
}

impl Meta {
    fn parse(text: &str) -> Option<Self> {
        let value = json::parse(text).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |name: &str| value.get(name).and_then(Value::as_f64);
        value.is_object().then(|| Self {
            model: text("model"),
            provider: text("provider"),
            provider_key: text("providerKey"),
            chunking: Chunking {
                tokens: number("chunkTokens").unwrap_or(f64::NAN),
                overlap: number("chunkOverlap").unwrap_or(f64::NAN),
            },
            vector_dims: value
                .get("vectorDims")
                .and_then(Value::as_u64)
                .and_then(|dims| usize::try_from(dims).ok())
                .filter(|dims| *dims > 0),
        })
    }

    fn written(&self) -> String {
        let mut value = json!({
            "model": self.model,
            "provider": self.provider,
            "providerKey": self.provider_key,
            "chunkTokens": number(self.chunking.tokens),
            "chunkOverlap": number(self.chunking.overlap),
        });
        if let Some(dims) = self.vector_dims {
            value["vectorDims"] = dims.into();
        }
        stringify(&value)
    }
}

/// Which parts of an index are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub vectors: bool,
    pub words: bool,
}

impl Parts {
    pub fn of(settings: &Settings) -> Self {
        Self { vectors: settings.store.vector, words: settings.query.hybrid }
    }
}

/// What became of a part of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Off,
    Ready,
    Unavailable(String),
}

impl Part {
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }
}

/// An open index.
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Which file was opened, as another program may put another one in its place.
    identity: Option<(u64, u64)>,
    parts: Parts,
    vectors: Part,
    words: Part,
    /// The length of the vectors in `chunks_vec`.
    dims: Option<usize>,
}

impl Store {
    /// Opens an index, or begins one. A damaged one is set aside first.
    pub fn open_or_begin(path: &Path, parts: Parts) -> Result<Self, StoreError> {
        match Self::open(path, parts) {
            Err(StoreError::Damaged { source, .. }) => {
                tracing::warn!("{} is damaged and set aside: {source}", path.display());
                set_aside(path)?;
                Self::open(path, parts)
            }
            opened => opened,
        }
    }

    pub fn open(path: &Path, parts: Parts) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(|source| StoreError::file(folder, source))?;
        }
        make_private(path);
        let at = |source| sorted(path, source);
        let before = identity(path);
        let connection = Connection::open(path).map_err(at)?;
        connection.busy_timeout(PATIENCE).map_err(at)?;
        let vectors = match parts.vectors {
            false => Part::Off,
            true => match extension::load(&connection) {
                Ok(()) => Part::Ready,
                Err(problem) => Part::Unavailable(problem),
            },
        };
        let words = schema::create(&connection, parts.words).map_err(at)?;
        let dims = schema::vector_dims(&connection).map_err(at)?;
        // Should another file have taken its place meanwhile, nobody knows which one this is.
        let identity = identity(path).filter(|now| before.is_none_or(|before| before == *now));
        Ok(Self { identity, path: path.to_owned(), connection, parts, vectors, words, dims })
    }

    /// Begins an index that nobody sees yet. It is not made durable step by step, but as a whole when it
    /// takes its place; until then it may as well be lost.
    pub(super) fn begin(draft: &Draft, parts: Parts) -> Result<Self, StoreError> {
        let store = Self::open(draft.path(), parts)?;
        store
            .connection
            .execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY")
            .map_err(|source| store.sorted(source))?;
        Ok(store)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn vectors(&self) -> &Part {
        &self.vectors
    }

    pub fn words(&self) -> &Part {
        &self.words
    }

    /// The length of the vectors that are indexed.
    pub fn dims(&self) -> Option<usize> {
        self.dims
    }

    /// Makes sure that this is the file that others see, too. Returns whether it was another one.
    pub fn follow(&mut self) -> Result<bool, StoreError> {
        if self.identity.is_some() && self.identity == identity(&self.path) {
            return Ok(false);
        }
        *self = Self::open_or_begin(&self.path, self.parts)?;
        Ok(true)
    }

    /// Sets this file aside, and begins another one.
    pub fn begin_anew(&mut self) -> Result<(), StoreError> {
        let is_still_there = self.identity == identity(&self.path);
        if is_still_there {
            set_aside(&self.path)?;
        }
        *self = Self::open_or_begin(&self.path, self.parts)?;
        Ok(())
    }

    /// What the index was made with; `None` if that cannot be told.
    pub fn meta(&self) -> Result<Option<Meta>, StoreError> {
        let value = self
            .connection
            .query_row("SELECT value FROM meta WHERE key = ?1", [META_KEY], |row| row.get::<_, String>(0))
            .optional()
            .map_err(|source| self.sorted(source))?;
        Ok(value.and_then(|value| Meta::parse(&value)))
    }

    pub fn write_meta(&self, meta: &Meta) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO meta (key, value) VALUES (?1, ?2) \
                 ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                params![META_KEY, meta.written()],
            )
            .map(|_| ())
            .map_err(|source| self.sorted(source))
    }

    /// Says in the index of which length its vectors are now. Without vectors it says nothing, so that a
    /// program that has them builds them again.
    fn note_dims(&self) -> Result<(), StoreError> {
        let dims = if self.vectors.is_ready() { self.dims } else { None };
        match self.meta()? {
            Some(meta) if meta.vector_dims != dims => self.write_meta(&Meta { vector_dims: dims, ..meta }),
            _ => Ok(()),
        }
    }

    /// Several changes as one.
    fn all_or_nothing<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let changed = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).and_then(
            |transaction| {
                let done = act(&transaction)?;
                transaction.commit()?;
                Ok(done)
            },
        );
        changed.map_err(|source| sorted(&self.path, source))
    }

    fn sorted(&self, source: rusqlite::Error) -> StoreError {
        sorted(&self.path, source)
    }

    /// Puts another index in the place of this one. Whoever looks sees the one or the other.
    ///
    /// Nobody may be writing: SQLite would take the writer's journal for the new file's.
    pub fn replace_with(&mut self, other: Store) -> Result<(), StoreError> {
        let lock = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let lock = match lock.map_err(|source| sorted(&self.path, source)) {
            Err(StoreError::Busy { path }) => return Err(StoreError::Busy { path }),
            // What cannot be locked cannot be written by others, either.
            lock => lock.ok(),
        };
        let draft = other.path.clone();
        drop(other);
        let done = (|| {
            File::open(&draft)?.sync_all()?;
            for ending in ["-wal", "-shm"] {
                match fs::remove_file(with_ending(&self.path, ending)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            fs::rename(&draft, &self.path)?;
            sync_folder(&self.path)
        })();
        drop(lock);
        done.map_err(|source| StoreError::file(&self.path, source))?;
        *self = Self::open(&self.path, self.parts)?;
        Ok(())
    }
}

/// The draft of an index, which goes away with whoever works on it.
pub(super) struct Draft(PathBuf);

/// A draft that nobody has touched for so long is of a program that was killed.
const FORSAKEN: Duration = Duration::from_secs(24 * 60 * 60);

impl Draft {
    pub(super) fn beside(path: &Path) -> Self {
        remove_forsaken(path);
        Self(with_ending(path, &format!(".tmp-{}", uuid::Uuid::new_v4())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        for ending in ["", "-journal", "-wal", "-shm"] {
            // After the draft has taken its place, nothing is there.
            let _ = fs::remove_file(with_ending(&self.0, ending));
        }
    }
}

fn remove_forsaken(path: &Path) {
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return };
    let beginning = format!("{}.tmp-", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_draft = entry.file_name().to_string_lossy().starts_with(&beginning);
        let age = entry.metadata().and_then(|about| about.modified()).ok().and_then(|at| at.elapsed().ok());
        if is_draft && age.is_some_and(|age| age > FORSAKEN) {
            // Whoever may not remove it may still index.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Renames a file and what belongs to it, so that nothing is lost and nothing is in the way.
fn set_aside(path: &Path) -> Result<(), StoreError> {
    let time = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S.%3fZ").to_string();
    let mut aside = with_ending(path, &format!(".corrupt-{time}"));
    while fs::symlink_metadata(&aside).is_ok() {
        aside = with_ending(&aside, "+");
    }
    for ending in ["-journal", "-wal", "-shm", ""] {
        match fs::rename(with_ending(path, ending), with_ending(&aside, ending)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::file(path, error));
            }
            _ => {}
        }
    }
    sync_folder(path).map_err(|source| StoreError::file(path, source))
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

/// An error by what can be done about it.
fn sorted(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { path, source },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        _ => StoreError::Database { path, source },
    }
}
