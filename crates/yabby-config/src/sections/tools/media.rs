//! `tools.media`: images, sound and film turned into text.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Number, PositiveInteger};
use crate::sections::session::send_policy::SendPolicy;

/// Images, sound and film turned into text.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaTools {
    pub models: Option<Vec<MediaModel>>,
    /// How many files at once.
    pub concurrency: Option<PositiveInteger>,
    pub image: Option<MediaUnderstanding>,
    pub audio: Option<MediaUnderstanding>,
    pub video: Option<MediaUnderstanding>,
}

/// A model or a program that does it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaModel {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub capabilities: Option<Vec<MediaKind>>,
    pub r#type: Option<MediaModelType>,
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub prompt: Option<String>,
    pub max_chars: Option<PositiveInteger>,
    pub max_bytes: Option<PositiveInteger>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub language: Option<String>,
    pub provider_options: Option<Map<Map<OptionValue>>>,
    pub deepgram: Option<Deepgram>,
    pub base_url: Option<String>,
    pub headers: Option<Map<String>>,
    pub profile: Option<String>,
    pub preferred_profile: Option<String>,
}

/// Transcription with Deepgram.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deepgram {
    pub detect_language: Option<bool>,
    pub punctuate: Option<bool>,
    pub smart_format: Option<bool>,
}

/// How one kind of file is turned into text.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaUnderstanding {
    pub enabled: Option<bool>,
    pub scope: Option<SendPolicy>,
    pub max_bytes: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub prompt: Option<String>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub language: Option<String>,
    pub provider_options: Option<Map<Map<OptionValue>>>,
    pub deepgram: Option<Deepgram>,
    pub base_url: Option<String>,
    pub headers: Option<Map<String>>,
    pub attachments: Option<MediaAttachments>,
    pub models: Option<Vec<MediaModel>>,
}

/// Which files of a message count.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MediaAttachments {
    pub mode: Option<AttachmentMode>,
    pub max_attachments: Option<PositiveInteger>,
    pub prefer: Option<AttachmentPreference>,
}

/// One option of a provider.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum OptionValue {
    Text(String),
    Number(Number),
    Switch(bool),
}

/// A kind of file.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MediaModelType {
    Provider,
    Cli,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum AttachmentMode {
    First,
    All,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum AttachmentPreference {
    First,
    Last,
    Path,
    Url,
}
