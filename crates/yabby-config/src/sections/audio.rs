//! MISSING audio

use schemars::JsonSchema;

use crate::sections::number::PositiveInteger;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Audio {
    pub transcription: Option<Transcription>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transcription {
    pub command: TranscriptionCommand,
    pub timeout_seconds: Option<PositiveInteger>,
}

/// A program and its arguments.
#[derive(JsonSchema)]
pub struct TranscriptionCommand(pub Vec<String>);
