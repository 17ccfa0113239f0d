//! Properties: no input makes a rule panic or run away, and what must always hold does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod directives;
mod inbound;
mod keys;
mod mending;
mod provider_rules;
mod queue;
mod reply;
mod store;
mod store_journal;
mod texts;
mod transcripts;
