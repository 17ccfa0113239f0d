//! The offline helper in conversation, with real tools.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod any_text;
mod compaction;
mod conversation;
mod room;
