//! `audio`: transcription in its old place.

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

/// Transcription in its old place.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Audio {
    pub transcription: Option<Transcription>,
}

/// A program that turns sound into text.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transcription {
    pub command: TranscriptionCommand,
    pub timeout_seconds: Option<PositiveInteger>,
}

/// A program and its arguments.
#[derive(JsonSchema)]
pub struct TranscriptionCommand(pub Vec<String>);
