//! Stories about the stores, told with real files.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod transcripts;
