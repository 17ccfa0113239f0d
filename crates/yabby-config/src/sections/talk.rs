//! `talk`: spoken conversation.

use yabby_config_derive::section;

use crate::sections::map::Map;

/// Spoken conversation.
#[section]
pub struct Talk {
    pub voice_id: Option<String>,
    pub voice_aliases: Option<Map<String>>,
    pub model_id: Option<String>,
    pub output_format: Option<String>,
    /// The key for the voice. Default: the variable `ELEVENLABS_API_KEY`.
    pub api_key: Option<String>,
    pub interrupt_on_speech: Option<bool>,
}
