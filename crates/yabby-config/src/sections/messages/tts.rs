//! `messages.tts`: replies as speech.

use yabby_config_derive::section;

use crate::sections::number::{Fraction, IntegerFromOne, NonNegativeInteger, Number, TimeoutMs};

/// Replies as speech.
#[section]
pub struct Tts {
    /// When replies are spoken.
    #[config(default = Off)]
    pub auto: Option<TtsAuto>,
    /// The old form of `auto`.
    pub enabled: Option<bool>,
    /// Which replies are spoken.
    #[config(default = Final)]
    pub mode: Option<TtsMode>,
    /// Whose voice.
    pub provider: Option<TtsProvider>,
    pub summary_model: Option<String>,
    #[serde(default)]
    pub model_overrides: TtsModelOverrides,
    #[serde(default)]
    pub elevenlabs: ElevenLabs,
    #[serde(default)]
    pub openai: OpenAiSpeech,
    #[serde(default)]
    pub edge: EdgeSpeech,
    pub prefs_path: Option<String>,
    pub max_text_length: Option<IntegerFromOne>,
    pub timeout_ms: Option<TimeoutMs>,
}

/// What a model may decide about its voice.
#[section]
pub struct TtsModelOverrides {
    pub enabled: Option<bool>,
    pub allow_text: Option<bool>,
    pub allow_provider: Option<bool>,
    pub allow_voice: Option<bool>,
    pub allow_model_id: Option<bool>,
    pub allow_voice_settings: Option<bool>,
    pub allow_normalization: Option<bool>,
    pub allow_seed: Option<bool>,
}

/// Speech by ElevenLabs.
#[section]
pub struct ElevenLabs {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub voice_id: Option<String>,
    pub model_id: Option<String>,
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub seed: Option<NonNegativeInteger>,
    pub apply_text_normalization: Option<TextNormalization>,
    pub language_code: Option<String>,
    #[serde(default)]
    pub voice_settings: VoiceSettings,
}

/// How the voice sounds.
#[section]
pub struct VoiceSettings {
    pub stability: Option<Fraction>,
    pub similarity_boost: Option<Fraction>,
    pub style: Option<Fraction>,
    pub use_speaker_boost: Option<bool>,
    #[schemars(range(min = 0.5, max = 2))]
    pub speed: Option<Number>,
}

/// Speech by OpenAI.
#[section]
pub struct OpenAiSpeech {
    pub api_key: Option<String>,
    pub model: Option<String>,
    pub voice: Option<String>,
}

/// Speech by Microsoft Edge.
#[section]
pub struct EdgeSpeech {
    pub enabled: Option<bool>,
    pub voice: Option<String>,
    pub lang: Option<String>,
    pub output_format: Option<String>,
    pub pitch: Option<String>,
    pub rate: Option<String>,
    pub volume: Option<String>,
    pub save_subtitles: Option<bool>,
    pub proxy: Option<String>,
    pub timeout_ms: Option<TimeoutMs>,
}

/// When replies are spoken.
#[section]
#[serde(rename_all = "lowercase")]
pub enum TtsAuto {
    Off,
    Always,
    Inbound,
    Tagged,
}

/// Which replies are spoken.
#[section]
#[serde(rename_all = "lowercase")]
pub enum TtsMode {
    Final,
    All,
}

/// Whose voice speaks.
#[section]
#[serde(rename_all = "lowercase")]
pub enum TtsProvider {
    Elevenlabs,
    Openai,
    Edge,
}

#[section]
#[serde(rename_all = "lowercase")]
pub enum TextNormalization {
    Auto,
    On,
    Off,
}
