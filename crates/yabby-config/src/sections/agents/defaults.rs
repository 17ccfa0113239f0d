//! `agents.defaults`: what holds for every agent that does not say otherwise.

use schemars::JsonSchema;
use serde_json::Value;

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

/// What holds for every agent that does not say otherwise.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentDefaults {
    /// The model, and those to fall back to. Default: anthropic/claude-opus-4-5.
    pub model: Option<ModelChoice>,
    /// The model for pictures, where the other cannot see.
    pub image_model: Option<ModelChoice>,
    /// Models by `provider/model`: short names and parameters. Where there are any, only these may
    /// be chosen.
    pub models: Option<Map<CatalogEntry>>,
    /// The main agent's folder. Default: `~/.openclaw/workspace`, for others
    /// `~/.openclaw/workspace-<id>`.
    pub workspace: Option<String>,
    /// The repository the workspace belongs to. Default: the one it lies in.
    pub repo_root: Option<String>,
    /// Whether a new workspace stays without its first files. Default: false.
    pub skip_bootstrap: Option<bool>,
    /// How much of each workspace file goes into the prompt. Default: 20000.
    pub bootstrap_max_chars: Option<PositiveInteger>,
    /// The time zone of the clock in the prompt. Default: the host's.
    pub user_timezone: Option<String>,
    /// The form of that clock. Default: auto.
    pub time_format: Option<TimeFormat>,
    /// The time zone in the headers of messages. Default: local.
    pub envelope_timezone: Option<String>,
    /// Whether headers have the time. Default: on.
    pub envelope_timestamp: Option<EnvelopePart>,
    /// Whether headers say how long ago the last message was. Default: on.
    pub envelope_elapsed: Option<EnvelopePart>,
    /// How many tokens a conversation may fill. Default: the model's window.
    pub context_tokens: Option<PositiveInteger>,
    /// Command lines that serve as models, by provider name.
    pub cli_backends: Option<Map<CliBackend>>,
    /// The search over memory files and past sessions.
    pub memory_search: Option<MemorySearch>,
    /// How old tool results leave the context.
    pub context_pruning: Option<ContextPruning>,
    /// How long sessions are folded into a summary.
    pub compaction: Option<Compaction>,
    /// How much a model thinks. Default: low where it can.
    pub thinking_default: Option<ThinkingLevel>,
    /// How much is told of tools. Default: off.
    pub verbose_default: Option<VerboseLevel>,
    /// Whether elevated tools are on for those who may use them. Default: on.
    pub elevated_default: Option<ElevatedLevel>,
    /// Whether replies come in pieces. Default: off.
    pub block_streaming_default: Option<BlockStreaming>,
    /// When a piece is sent. Default: text_end.
    pub block_streaming_break: Option<BlockStreamingBreak>,
    /// How long pieces are. Default: 800 to 1200 characters.
    pub block_streaming_chunk: Option<BlockChunks>,
    /// When small pieces are joined. Default: after 1000 ms without a new one.
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    /// Pauses between pieces. Default: off.
    pub human_delay: Option<HumanDelay>,
    /// How long a turn may take. Default: 600.
    pub timeout_seconds: Option<PositiveInteger>,
    /// How large files may be. Default: 5.
    pub media_max_mb: Option<PositiveNumber>,
    /// How often "is typing" is repeated. Default: 6.
    pub typing_interval_seconds: Option<PositiveInteger>,
    /// When "is typing" is shown.
    pub typing_mode: Option<TypingMode>,
    /// Turns that nobody asked for.
    pub heartbeat: Option<Heartbeat>,
    /// How many turns run at once. Default: 4.
    pub max_concurrent: Option<PositiveInteger>,
    /// Agents that agents start.
    pub subagents: Option<SubagentDefaults>,
    /// Where tools run when they should not run on the host.
    pub sandbox: Option<Sandbox>,
}

/// A model that may be chosen.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogEntry {
    /// Its short name.
    pub alias: Option<String>,
    /// Parameters for its requests.
    pub params: Option<Map<Value>>,
}

/// Agents that agents start.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentDefaults {
    /// How many run at once. Default: 8.
    pub max_concurrent: Option<PositiveInteger>,
    /// When their sessions are put away. Default: 60.
    pub archive_after_minutes: Option<PositiveInteger>,
    /// Their model. Default: that of whoever starts them.
    pub model: Option<ModelReference>,
    /// How much they think.
    pub thinking: Option<String>,
}

/// Twelve or twenty-four hours.
#[derive(JsonSchema)]
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
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EnvelopePart {
    On,
    Off,
}

/// How much a model thinks.
#[derive(JsonSchema)]
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
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum VerboseLevel {
    Off,
    On,
    Full,
}

/// Whether elevated tools are on.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ElevatedLevel {
    Off,
    On,
    Ask,
    Full,
}
