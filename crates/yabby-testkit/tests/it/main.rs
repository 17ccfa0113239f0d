//! The vector runner over the project's own cases, and what the whole project promises of its shape.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod domain_is_pure;
mod formats;
mod fuzz_corpora;
mod memory_journal;
mod memory_store;
mod vectors;

use std::path::PathBuf;

/// A path from the project's root.
fn project(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}
