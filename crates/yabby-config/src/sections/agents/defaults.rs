//! MISSING agents/defaults

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

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentDefaults {
    pub model: Option<ModelChoice>,
    pub image_model: Option<ModelChoice>,
    pub models: Option<Map<CatalogEntry>>,
    pub workspace: Option<String>,
    pub repo_root: Option<String>,
    pub skip_bootstrap: Option<bool>,
    pub bootstrap_max_chars: Option<PositiveInteger>,
    pub user_timezone: Option<String>,
    pub time_format: Option<TimeFormat>,
    pub envelope_timezone: Option<String>,
    pub envelope_timestamp: Option<EnvelopePart>,
    pub envelope_elapsed: Option<EnvelopePart>,
    pub context_tokens: Option<PositiveInteger>,
    pub cli_backends: Option<Map<CliBackend>>,
    pub memory_search: Option<MemorySearch>,
    pub context_pruning: Option<ContextPruning>,
    pub compaction: Option<Compaction>,
    pub thinking_default: Option<ThinkingLevel>,
    pub verbose_default: Option<VerboseLevel>,
    pub elevated_default: Option<ElevatedLevel>,
    pub block_streaming_default: Option<BlockStreaming>,
    pub block_streaming_break: Option<BlockStreamingBreak>,
    pub block_streaming_chunk: Option<BlockChunks>,
    pub block_streaming_coalesce: Option<BlockCoalescing>,
    pub human_delay: Option<HumanDelay>,
    pub timeout_seconds: Option<PositiveInteger>,
    pub media_max_mb: Option<PositiveNumber>,
    pub typing_interval_seconds: Option<PositiveInteger>,
    pub typing_mode: Option<TypingMode>,
    pub heartbeat: Option<Heartbeat>,
    pub max_concurrent: Option<PositiveInteger>,
    pub subagents: Option<SubagentDefaults>,
    pub sandbox: Option<Sandbox>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogEntry {
    pub alias: Option<String>,
    pub params: Option<Map<Value>>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentDefaults {
    pub max_concurrent: Option<PositiveInteger>,
    pub archive_after_minutes: Option<PositiveInteger>,
    pub model: Option<ModelReference>,
    pub thinking: Option<String>,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum EnvelopePart {
    On,
    Off,
}

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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum VerboseLevel {
    Off,
    On,
    Full,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ElevatedLevel {
    Off,
    On,
    Ask,
    Full,
}
