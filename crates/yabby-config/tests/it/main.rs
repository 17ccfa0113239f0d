//! The schema against the reference's, any input at all, the page of settings, and who looks settings up by their paths.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod any_input;
mod lookups;
mod page;
mod reference_schema;
