//! The binary, from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod config;
mod docs;
mod doctor;
mod history;
mod shared_transcript;
