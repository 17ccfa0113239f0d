//! Sessions: keys, records, lifecycle (`sessions.md` §2–§10).
pub mod entry;
pub mod title;
