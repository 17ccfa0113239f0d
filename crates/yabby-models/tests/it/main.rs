//! Providers in conversation: the offline helper with real tools, and the others with stand-ins on
//! loopback for the services they ask.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod any_text;
#[cfg(unix)]
mod claude;
mod claude_through_engine;
mod clients;
mod compaction;
mod conversation;
mod embed;
mod embed_choice;
mod embed_jobs;
mod embed_local;
#[cfg(unix)]
mod real_claude;
mod room;
mod round_trip;
mod service;
mod through_engine;
