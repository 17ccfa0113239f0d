//! The doors to the outside: whatever keeps state (here; `sessions.md` §6, `transcripts.md` §2, §4),
//! answers ([`model`]), knows what is alike ([`embedder`]), does things ([`tool`]) and has things done for
//! it ([`office`]), what an agent is told in writing ([`shelf`]), sends messages ([`channel`]) and remembers
//! turns ([`journal`]) and what they cost ([`ledger`]).
//!
//! One set of stories, `store_contract` in the test kit, is told to every back end that keeps state.

pub mod approvals;
pub mod channel;
pub mod embedder;
pub mod journal;
pub mod ledger;
pub mod model;
pub mod office;
pub mod recollection;
pub mod settled;
pub mod shelf;
pub mod tool;

use std::sync::Arc;

use async_trait::async_trait;

use crate::session::entry::SessionEntry;
use crate::session::glance::Glance;
use crate::session::key::SessionKey;
use crate::transcript::context::Context;
use crate::transcript::file_name::{ArchiveReason, TranscriptId};
use crate::transcript::tree::{BranchSummary, NewEntry, Transcript, UnknownEntry};

/// The time, as far as the rules know.
pub trait Clock: Send + Sync {
    fn now(&self) -> jiff::Timestamp;
}

/// What is to become of a record: it is given the record as it is, `None` if there is none, and leaves
/// it as it shall be; `None` removes it. It must not ask the store for anything: nobody would answer.
pub type Change = Box<dyn FnOnce(&mut Option<SessionEntry>) + Send>;

/// The records of one agent's sessions.
#[async_trait]
pub trait SessionStore: Send + Sync {
    async fn get(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError>;

    /// All records, in the order in which they were begun.
    async fn list(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError>;

    /// Changes a record in one atomic step, and answers with what became of it once that can no longer
    /// be lost. Of an error nothing remains.
    async fn update(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError>;

    /// The same for a change that nobody is told of: everybody can read it, and it survives the end of the process, when
    /// this answers; a power failure it survives a moment later.
    async fn note(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError>;

    /// Some records, those that changed last first; of those that changed at the same time, the one that was
    /// begun first. A store that has many looks at no more of them than it must, and may leave out of them what only
    /// runs of the session need.
    async fn newest(&self, choice: Choice) -> Result<Newest, StoreError>;

    /// The same records, each parsed only when it is read: for callers that go through many of them.
    async fn select(&self, choice: Choice) -> Result<Selection, StoreError>;

    /// How the store looks from outside, without reading it: as long as that is the same, so is every record. `None`
    /// if there is no telling.
    fn stamp(&self) -> Option<Stamp> {
        None
    }
}

/// How something looks from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64);

impl Stamp {
    pub fn of(looks: &impl std::hash::Hash) -> Self {
        use std::hash::{DefaultHasher, Hasher as _};
        let mut hasher = DefaultHasher::new();
        looks.hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// Which records are meant.
pub struct Choice {
    /// By their keys, which costs next to nothing.
    pub keys: Keys,
    /// By a look at each of them.
    pub records: Option<Records>,
    pub most: usize,
}

pub type Keys = Box<dyn Fn(&SessionKey) -> bool + Send + Sync>;

pub type Records = Box<dyn Fn(&SessionKey, &Glance) -> bool + Send + Sync>;

/// The records that changed last.
#[derive(Clone, Debug, PartialEq)]
pub struct Newest {
    /// How many sessions there are, meant or not. What everybody shares is none.
    pub count: usize,
    pub entries: Vec<(SessionKey, SessionEntry)>,
}

impl Newest {
    /// Those of all records that are meant, for stores that have few.
    pub fn of(all: Vec<(SessionKey, SessionEntry)>, choice: Choice) -> Self {
        let Choice { keys, records, most } = choice;
        let is_meant = |(key, entry): &(SessionKey, SessionEntry)| {
            keys(key) && records.as_ref().is_none_or(|records| records(key, &Glance::of(entry)))
        };
        let count = all.iter().filter(|(key, _)| !key.is_shared()).count();
        let mut entries: Vec<_> = all.into_iter().filter(is_meant).collect();
        let at = |entry: &SessionEntry| entry.updated_at().unwrap_or(0.0);
        entries.sort_by(|(_, a), (_, b)| at(b).total_cmp(&at(a)));
        entries.truncate(most);
        Self { count, entries }
    }
}

/// The records that changed last, as their store keeps them.
#[derive(Clone)]
pub struct Selection {
    /// As in [`Newest`].
    pub count: usize,
    pub records: Vec<SelectedRecord>,
}

/// A record that is parsed when it is read. It takes little memory beside the store's own.
#[derive(Clone)]
pub struct SelectedRecord {
    pub key: SessionKey,
    /// In milliseconds since 1970; zero if the record does not say.
    pub updated_at: f64,
    pub record: Arc<dyn StoredRecord>,
}

/// A record as a store keeps it.
pub trait StoredRecord: Send + Sync {
    /// Parses the record; `None` if it cannot be read.
    fn read(&self) -> Option<SessionEntry>;
}

impl StoredRecord for SessionEntry {
    fn read(&self) -> Option<SessionEntry> {
        Some(self.clone())
    }
}

impl From<Newest> for Selection {
    fn from(newest: Newest) -> Self {
        let select = |(key, entry): (SessionKey, SessionEntry)| SelectedRecord {
            key,
            updated_at: entry.updated_at().unwrap_or(0.0),
            record: Arc::new(entry),
        };
        Self { count: newest.count, records: newest.entries.into_iter().map(select).collect() }
    }
}

/// The conversations of one agent.
#[async_trait]
pub trait TranscriptStore: Send + Sync {
    /// The whole conversation, of every branch; `None` if there is none.
    async fn load(&self, id: &TranscriptId) -> Result<Option<Transcript>, StoreError>;

    /// What the model is told at the end of a conversation. Reads no more than it must.
    async fn context(&self, id: &TranscriptId) -> Result<Option<Context>, StoreError>;

    /// Opens a conversation to go on with it, or begins one. Nobody else can write it meanwhile.
    async fn open(&self, id: &TranscriptId, begin: Begin) -> Result<Box<dyn TranscriptWriter>, StoreError>;

    /// The first or the last bytes of a conversation, which may cut a line.
    async fn peek(&self, id: &TranscriptId, part: Part) -> Result<Option<Vec<u8>>, StoreError>;

    /// A new conversation that goes on from another one; its name.
    async fn fork(&self, id: &TranscriptId, fork: Fork) -> Result<TranscriptId, StoreError>;

    /// Keeps the last lines only, and the whole under another name.
    async fn compact(
        &self,
        id: &TranscriptId,
        keep: crate::transcript::line_compact::MaxLines,
    ) -> Result<Compacted, StoreError>;

    /// Undoes the last compaction, of either kind. Nothing is deleted.
    async fn undo_compaction(&self, id: &TranscriptId) -> Result<UndoneCompaction, StoreError>;

    /// Puts a conversation away, and what belongs to it; where to, if there was one.
    async fn archive(&self, id: &TranscriptId, reason: ArchiveReason) -> Result<Option<String>, StoreError>;

    /// All conversations, the one that changed last first.
    async fn list(&self) -> Result<Vec<TranscriptId>, StoreError>;
}

/// How a conversation begins if there is none yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    pub session_id: String,
    /// Where the agent works.
    pub cwd: String,
    /// The file of the conversation that this one comes from.
    pub parent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    First(usize),
    Last(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The branch that leads to this entry.
    At(String),
    /// The branch that leads to the leaf; just a header if there is none.
    Leaf,
    /// Every branch, in another folder of work.
    Whole { cwd: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compacted {
    Missing,
    Untouched { kept: usize },
    Done { kept: usize, archived: String },
}

/// What an undone compaction was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoneCompaction {
    /// There is no conversation.
    Missing,
    /// No compaction is left to undo.
    Nothing,
    /// A summary: the conversation continues on a branch that begins before it.
    Summary {
        /// The id of the compaction entry, if it has one.
        compaction: Option<String>,
        /// How many entries were copied to the new branch.
        copied: usize,
        context: ContextSize,
    },
    /// Lines that were dropped: they are back, in front of those that were kept.
    Lines {
        /// How many entries are back.
        restored: usize,
        /// The name of the file that they were restored from.
        backup: String,
        context: ContextSize,
    },
}

/// How much of a conversation the model gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextSize {
    pub messages: usize,
    /// An estimate.
    pub tokens: u64,
}

impl ContextSize {
    /// The size of the context at the leaf of a transcript.
    pub fn measure(transcript: &Transcript) -> Self {
        let messages = transcript.context().messages;
        Self { messages: messages.len(), tokens: crate::compaction::tokens::estimate_all(&messages) }
    }
}

/// A conversation that is being written. It is let go of when this is dropped.
#[async_trait]
pub trait TranscriptWriter: Send + Sync {
    /// The conversation; of a long one perhaps only what is needed to go on with it.
    fn transcript(&self) -> &Transcript;

    /// Appends entries below the leaf, and answers with their ids once none of them can be lost.
    async fn append(&mut self, entries: Vec<NewEntry>) -> Result<Vec<String>, StoreError>;

    /// Moves the leaf: the next entry starts a new branch there, `None` at the root.
    async fn move_leaf(&mut self, id: Option<&str>) -> Result<(), StoreError>;

    /// Moves the leaf, and appends a summary of the branch that is left; its id.
    async fn branch(&mut self, id: Option<&str>, left: BranchSummary) -> Result<String, StoreError>;
}

/// Why something was not read or not kept. Every text says what happened, to which thing, and what to
/// do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// What is there was left as it is.
    #[error("{path} is damaged: {what}. Nothing was changed; `yabby doctor --fix` repairs it")]
    Damaged { path: String, what: String },
    #[error(transparent)]
    StoreLocked(#[from] crate::session::store_lock::LockTimeout),
    #[error(transparent)]
    TranscriptLocked(#[from] crate::transcript::lock::Locked),
    #[error(transparent)]
    UnknownEntry(#[from] UnknownEntry),
    #[error(transparent)]
    NoSource(#[from] crate::transcript::fork::NoSource),
    #[error(transparent)]
    UnsafeName(#[from] crate::transcript::file_name::UnsafeName),
    /// A link, or a folder behind one, leads out of the folder that it has to stay in.
    #[error("{path} leads out of {folder}; move the file there, or name its folder in `session.store`")]
    Outside { path: String, folder: String },
    #[error("cannot {doing} {path}: {source}{}", remedy(.source))]
    Io { doing: &'static str, path: String, source: std::sync::Arc<std::io::Error> },
    /// The change itself failed; nothing was written.
    #[error("the change of {key} was given up half-way; nothing was written")]
    ChangePanicked { key: String },
    /// The record, or the change of it, has more levels than we read.
    #[error("the record of {key} in {path} is nested too deep; nothing was written")]
    TooDeep { path: String, key: String },
    #[error(
        "{path} is being changed all the time by a program that does not take its lock; stop that program"
    )]
    Busy { path: String },
    /// Another program put another file in its place, moved it away or took its lock.
    #[error("{path} was replaced or moved away by another program; open it again")]
    Replaced { path: String },
    #[error("{path} is closed; open it again")]
    Closed { path: String },
}

impl StoreError {
    /// Whether something could not be written for want of room, since the disk takes no writes, or since another program
    /// holds the file or has replaced it. What failed so can be done again later, once the file is opened again.
    pub fn is_write_failure(&self) -> bool {
        use std::io::ErrorKind;
        let (doing, source) = match self {
            Self::Io { doing, source, .. } => (doing, source),
            Self::StoreLocked(_) | Self::TranscriptLocked(_) | Self::Busy { .. } | Self::Replaced { .. } => {
                return true;
            }
            _ => return false,
        };
        let takes_no_writes =
            [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::ReadOnlyFilesystem];
        let writes =
            ["append to", "close", "create", "cut off", "finish", "rename", "replace", "sync", "truncate"];
        takes_no_writes.contains(&source.kind()) || *doing == "write" || writes.contains(doing)
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull => "; free some space, then try again",
        ErrorKind::QuotaExceeded => "; the quota is used up: free some space, then try again",
        ErrorKind::ReadOnlyFilesystem => "; the file system is mounted read-only",
        ErrorKind::PermissionDenied => "; check who owns it and its permissions",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_for_a_while_is_done_again() {
        let io = |doing, kind: std::io::ErrorKind| StoreError::Io {
            doing,
            path: "a".to_owned(),
            source: std::sync::Arc::new(kind.into()),
        };
        let path = || "a".to_owned();
        let table = [
            (io("write", std::io::ErrorKind::Other), true),
            (io("open", std::io::ErrorKind::StorageFull), true),
            (io("open", std::io::ErrorKind::PermissionDenied), false),
            (StoreError::Replaced { path: path() }, true),
            (StoreError::Busy { path: path() }, true),
            // Its process ends.
            (StoreError::Closed { path: path() }, false),
            (StoreError::Damaged { path: path(), what: "torn".to_owned() }, false),
        ];
        for (error, again) in table {
            assert_eq!(error.is_write_failure(), again, "{error}");
        }
    }
}
