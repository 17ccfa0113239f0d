//! `audio`: transcription in its old place.

use yabby_config_derive::section;

use crate::sections::number::PositiveInteger;

/// Transcription in its old place.
#[section]
pub struct Audio {
    pub transcription: Option<Transcription>,
}

/// A program that turns sound into text.
#[section]
pub struct Transcription {
    pub command: TranscriptionCommand,
    pub timeout_seconds: Option<PositiveInteger>,
}

/// A program and its arguments.
#[section]
pub struct TranscriptionCommand(pub Vec<String>);
