//! `tools.media`: images, sound and film turned into text.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{Number, PositiveInteger};
use crate::sections::session::send_policy::SendPolicy;

/// Images, sound and film turned into text.
#[section]
pub struct MediaTools {
    pub models: Option<Vec<MediaModel>>,
    /// How many files at once.
    pub concurrency: Option<PositiveInteger>,
    #[serde(default)]
    pub image: MediaUnderstanding,
    #[serde(default)]
    pub audio: MediaUnderstanding,
    #[serde(default)]
    pub video: MediaUnderstanding,
}

/// A model or a program that does it.
#[section]
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
    #[serde(default)]
    pub deepgram: Deepgram,
    pub base_url: Option<String>,
    pub headers: Option<Map<String>>,
    pub profile: Option<String>,
    pub preferred_profile: Option<String>,
}

/// Transcription with Deepgram.
#[section]
pub struct Deepgram {
    pub detect_language: Option<bool>,
    pub punctuate: Option<bool>,
    pub smart_format: Option<bool>,
}

/// How one kind of file is turned into text.
#[section]
pub struct MediaUnderstanding {
    pub enabled: Option<bool>,
    #[serde(default)]
    pub scope: SendPolicy,
    pub max_bytes: Option<PositiveInteger>,
    pub max_chars: Option<PositiveInteger>,
    pub prompt: Option<String>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub language: Option<String>,
    pub provider_options: Option<Map<Map<OptionValue>>>,
    #[serde(default)]
    pub deepgram: Deepgram,
    pub base_url: Option<String>,
    pub headers: Option<Map<String>>,
    #[serde(default)]
    pub attachments: MediaAttachments,
    pub models: Option<Vec<MediaModel>>,
}

/// Which files of a message count.
#[section]
pub struct MediaAttachments {
    pub mode: Option<AttachmentMode>,
    pub max_attachments: Option<PositiveInteger>,
    pub prefer: Option<AttachmentPreference>,
}

/// One option of a provider.
#[section]
#[serde(untagged)]
pub enum OptionValue {
    Text(String),
    Number(Number),
    Switch(bool),
}

/// A kind of file.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum MediaModelType {
    Provider,
    Cli,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum AttachmentMode {
    First,
    All,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum AttachmentPreference {
    First,
    Last,
    Path,
    Url,
}
