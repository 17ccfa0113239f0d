//! Transcripts: entries, the tree they form, what of them is on disk, and the context built from them
//! (`transcripts.md`).
//!
//! [`Transcript`] is the conversation; [`file::TranscriptFile`] knows which part of it the disk
//! already holds and says which bytes to write. Nobody here touches a file.

pub mod adopt;
pub mod before_run;
pub mod context;
pub mod damage;
pub mod entry;
pub mod envelope;
pub mod file;
pub mod file_name;
pub mod file_repair;
pub mod forget;
pub mod fork;
pub mod guard;
pub mod header;
pub mod journal;
pub mod line_compact;
pub mod listing;
pub mod lock;
pub mod mend;
pub mod mirror;
pub mod not_answered;
pub mod pieces;
pub mod preview;
pub mod seed;
pub mod tail;
pub mod tree;
pub mod undo;
pub mod version;

pub use crate::time;

pub use tree::Transcript;

/// The time and the ids that new entries and sessions are given.
pub struct Stamp<'a> {
    pub now: jiff::Timestamp,
    /// A fresh UUID at every call.
    pub fresh_id: &'a mut dyn FnMut() -> String,
}
