//! Transcripts: entries, the tree they form, and the context built from them (`transcripts.md`).
pub mod entry;
