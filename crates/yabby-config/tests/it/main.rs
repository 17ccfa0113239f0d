//! The schema against the reference's, and any input at all.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod any_input;
mod reference_schema;
