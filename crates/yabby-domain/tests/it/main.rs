//! What holds for any input.

mod provider_rules;
mod transcripts;
