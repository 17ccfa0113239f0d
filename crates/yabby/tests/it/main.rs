//! The binary, from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod doctor;
mod history;
