//! `agents.defaults`: what holds for every agent that does not say otherwise.

use serde_json::Value;
use yabby_config_derive::section;

use crate::sections::agents::cli_backend::CliBackend;
use crate::sections::agents::compaction::Compaction;
use crate::sections::agents::heartbeat::Heartbeat;
use crate::sections::agents::memory_search::MemorySearch;
use crate::sections::agents::model_choice::{ModelChoice, ModelReference};
use crate::sections::agents::pruning::ContextPruning;
use crate::sections::agents::sandbox::Sandbox;
use crate::sections::agents::streaming::{
    BlockChunks, BlockCoalescing, BlockStreaming, BlockStreamingBreak, HumanDelay,
};
use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::{PositiveInteger, PositiveNumber};
use crate::sections::session::TypingMode;
use crate::sections::word::Word;

/// What holds for every agent that does not say otherwise.
#[section(parts)]
pub struct AgentDefaults {
    /// The model, and those to fall back to. Default: anthropic/claude-opus-4-5.
    #[config(live)]
    #[schemars(with = "Option<ModelChoice>")]
    pub model: Option<ModelReference>,
    /// The model for pictures, where the other cannot see.
    #[config(live)]
    #[schemars(with = "Option<ModelChoice>")]
    pub image_model: Option<ModelReference>,
    /// Models by `provider/model`: short names and parameters. Where there are any, only these
    /// may be chosen.
    #[config(live)]
    pub models: Option<Map<CatalogEntry>>,
    /// The main agent's folder. Default: `~/.openclaw/workspace`, for others
    /// `~/.openclaw/workspace-<id>`.
    pub workspace: Option<String>,
    /// The repository the workspace belongs to. Default: the one it lies in.
    pub repo_root: Option<String>,
    /// Whether a new workspace stays without its first files.
    #[config(default = false)]
    pub skip_bootstrap: Option<bool>,
    /// How much of each workspace file goes into the prompt.
    #[config(default = 20000, live)]
    pub bootstrap_max_chars: Option<PositiveInteger>,
    /// The time zone of the clock in the prompt. Default: the host's.
    #[config(live)]
    pub user_timezone: Option<String>,
    /// The form of that clock.
    #[config(default = Auto, live)]
    pub time_format: Option<TimeFormat>,
    /// The time zone in the headers of messages.
    #[config(default = "local", live)]
    pub envelope_timezone: Option<String>,
    /// Whether headers have the time.
    #[config(default = On, live)]
    pub envelope_timestamp: Option<EnvelopePart>,
    /// Whether headers say how long ago the last message was.
    #[config(default = On, live)]
    pub envelope_elapsed: Option<EnvelopePart>,
    /// How many tokens a conversation may fill. Default: the model's window.
    #[config(live)]
    pub context_tokens: Option<PositiveInteger>,
    /// Command lines that serve as models, by provider name.
    pub cli_backends: Option<Map<CliBackend>>,
    /// The search over memory files and past sessions.
    #[serde(default)]
    pub memory_search: MemorySearch,
    /// How old tool results leave the context.
    #[config(live)]
    #[serde(default)]
    pub context_pruning: ContextPruning,
    /// How long sessions are folded into a summary.
    #[config(live)]
    #[serde(default)]
    pub compaction: Compaction,
    /// How much a model thinks. Default: low where it can.
    #[config(live)]
    pub thinking_default: Option<Word<ThinkingLevel>>,
    /// How much is told of tools. Default: off.
    #[config(live)]
    pub verbose_default: Option<Word<VerboseLevel>>,
    /// Whether elevated tools are on for those who may use them.
    #[config(default = On, live)]
    pub elevated_default: Option<ElevatedLevel>,
    /// Whether replies come in pieces. Default: off.
    #[config(live)]
    pub block_streaming_default: Option<BlockStreaming>,
    /// When a piece is sent. Default: text_end.
    #[config(live)]
    pub block_streaming_break: Option<BlockStreamingBreak>,
    /// How long pieces are. Default: 800 to 1200 characters.
    #[config(live)]
    #[serde(default)]
    pub block_streaming_chunk: BlockChunks,
    /// When small pieces are joined. Default: after 1000 ms without a new one.
    #[config(live)]
    #[serde(default)]
    pub block_streaming_coalesce: BlockCoalescing,
    /// Pauses between pieces. Default: off.
    #[serde(default)]
    pub human_delay: HumanDelay,
    /// How long a turn may take.
    #[config(default = 600, live)]
    pub timeout_seconds: Option<PositiveInteger>,
    /// How large files may be.
    #[config(default = 5)]
    pub media_max_mb: Option<PositiveNumber>,
    /// How often "is typing" is repeated.
    #[config(default = 6)]
    pub typing_interval_seconds: Option<PositiveInteger>,
    /// When "is typing" is shown.
    pub typing_mode: Option<TypingMode>,
    /// Turns that nobody asked for.
    #[serde(default)]
    pub heartbeat: Heartbeat,
    /// How many turns run at once.
    #[config(default = 4)]
    pub max_concurrent: Option<PositiveInteger>,
    /// Agents that agents start.
    #[serde(default)]
    pub subagents: SubagentDefaults,
    /// Where tools run when they should not run on the host.
    #[config(live)]
    #[serde(default)]
    pub sandbox: Sandbox,
}

/// A model that may be chosen.
#[section]
pub struct CatalogEntry {
    /// Its short name.
    pub alias: Option<String>,
    /// Parameters for its requests.
    pub params: Option<Map<Value>>,
}

/// Agents that agents start.
#[section]
pub struct SubagentDefaults {
    /// How many run at once.
    #[config(default = 8)]
    pub max_concurrent: Option<PositiveInteger>,
    /// When their sessions are put away.
    #[config(default = 60, live)]
    pub archive_after_minutes: Option<PositiveInteger>,
    /// Their model. Default: that of whoever starts them.
    #[config(live)]
    pub model: Option<ModelReference>,
    /// How much they think.
    #[config(live)]
    pub thinking: Option<String>,
}

/// Twelve or twenty-four hours.
#[section]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum TimeFormat {
    Auto,
    #[serde(rename = "12")]
    TwelveHours,
    #[serde(rename = "24")]
    TwentyFourHours,
}

/// Whether a part of the header is there.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EnvelopePart {
    On,
    Off,
}

/// How much a model thinks.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ThinkingLevel {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// How much is told of tools.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum VerboseLevel {
    Off,
    On,
    Full,
}

/// Whether elevated tools are on.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ElevatedLevel {
    Off,
    On,
    Ask,
    Full,
}
