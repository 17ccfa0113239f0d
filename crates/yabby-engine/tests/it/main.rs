//! Whole turns, with a scripted model and a loopback channel.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod any_transcript;
mod blocks;
mod commands;
mod compaction;
mod compaction_in_parts;
mod groups;
mod hooks;
mod lifecycle;
mod mortal;
mod prompting;
mod props;
mod queue;
mod recall;
mod recovery;
mod requests;
mod services;
mod storm;
mod subagents;
mod tools;
mod turns;
