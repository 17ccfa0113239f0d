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

sections! {
    /// What holds for every agent that does not say otherwise.
    #[serde(deny_unknown_fields)]
    pub struct AgentDefaults {
        /// The model, and those to fall back to. Default: anthropic/claude-opus-4-5.
        "model" => model: ModelChoice,
        /// The model for pictures, where the other cannot see.
        "imageModel" => image_model: ModelChoice,
        /// Models by `provider/model`: short names and parameters. Where there are any, only these
        /// may be chosen.
        "models" => models: Map<CatalogEntry>,
        /// The main agent's folder. Default: `~/.openclaw/workspace`, for others
        /// `~/.openclaw/workspace-<id>`.
        "workspace" => workspace: String,
        /// The repository the workspace belongs to. Default: the one it lies in.
        "repoRoot" => repo_root: String,
        /// Whether a new workspace stays without its first files. Default: false.
        "skipBootstrap" => skip_bootstrap: bool,
        /// How much of each workspace file goes into the prompt. Default: 20000.
        "bootstrapMaxChars" => bootstrap_max_chars: PositiveInteger,
        /// The time zone of the clock in the prompt. Default: the host's.
        "userTimezone" => user_timezone: String,
        /// The form of that clock. Default: auto.
        "timeFormat" => time_format: TimeFormat,
        /// The time zone in the headers of messages. Default: local.
        "envelopeTimezone" => envelope_timezone: String,
        /// Whether headers have the time. Default: on.
        "envelopeTimestamp" => envelope_timestamp: EnvelopePart,
        /// Whether headers say how long ago the last message was. Default: on.
        "envelopeElapsed" => envelope_elapsed: EnvelopePart,
        /// How many tokens a conversation may fill. Default: the model's window.
        "contextTokens" => context_tokens: PositiveInteger,
        /// Command lines that serve as models, by provider name.
        "cliBackends" => cli_backends: Map<CliBackend>,
        /// The search over memory files and past sessions.
        "memorySearch" => memory_search: MemorySearch,
        /// How old tool results leave the context.
        "contextPruning" => context_pruning: ContextPruning,
        /// How long sessions are folded into a summary.
        "compaction" => compaction: Compaction,
        /// How much a model thinks. Default: low where it can.
        "thinkingDefault" => thinking_default: ThinkingLevel,
        /// How much is told of tools. Default: off.
        "verboseDefault" => verbose_default: VerboseLevel,
        /// Whether elevated tools are on for those who may use them. Default: on.
        "elevatedDefault" => elevated_default: ElevatedLevel,
        /// Whether replies come in pieces. Default: off.
        "blockStreamingDefault" => block_streaming_default: BlockStreaming,
        /// When a piece is sent. Default: text_end.
        "blockStreamingBreak" => block_streaming_break: BlockStreamingBreak,
        /// How long pieces are. Default: 800 to 1200 characters.
        "blockStreamingChunk" => block_streaming_chunk: BlockChunks,
        /// When small pieces are joined. Default: after 1000 ms without a new one.
        "blockStreamingCoalesce" => block_streaming_coalesce: BlockCoalescing,
        /// Pauses between pieces. Default: off.
        "humanDelay" => human_delay: HumanDelay,
        /// How long a turn may take. Default: 600.
        "timeoutSeconds" => timeout_seconds: PositiveInteger,
        /// How large files may be. Default: 5.
        "mediaMaxMb" => media_max_mb: PositiveNumber,
        /// How often "is typing" is repeated. Default: 6.
        "typingIntervalSeconds" => typing_interval_seconds: PositiveInteger,
        /// When "is typing" is shown.
        "typingMode" => typing_mode: TypingMode,
        /// Turns that nobody asked for.
        "heartbeat" => heartbeat: Heartbeat,
        /// How many turns run at once. Default: 4.
        "maxConcurrent" => max_concurrent: PositiveInteger,
        /// Agents that agents start.
        "subagents" => subagents: SubagentDefaults,
        /// Where tools run when they should not run on the host.
        "sandbox" => sandbox: Sandbox,
    }
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
