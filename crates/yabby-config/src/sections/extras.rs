//! Our own settings, which OpenClaw's configuration has no room for: `yabby-extras.json`.

use schemars::JsonSchema;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::PositiveInteger;
use crate::sections::text::NonEmptyText;

/// Settings that only yabby knows.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Extras {
    /// Agents.
    pub agents: Option<ExtraAgents>,
    /// The gateway.
    pub gateway: Option<ExtraGateway>,
    /// What agents remember.
    pub memory: Option<ExtraMemory>,
    /// What agents may use, and how.
    pub tools: Option<ExtraTools>,
}

/// The gateway.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraGateway {
    /// Scopes whose clients are the owner, besides `operator.admin`: `operator.write` for those that may only chat.
    pub owner_scopes: Option<Vec<String>>,
}

/// Agents.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraAgents {
    /// All of them.
    pub defaults: Option<ExtraDefaults>,
}

/// All agents.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraDefaults {
    /// The search in their memory.
    pub memory_search: Option<ExtraMemorySearch>,
}

/// The search in the memory of agents.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraMemorySearch {
    /// Who tells what is alike in meaning: a service, a server of your own, or nobody.
    pub provider: Option<ExtraEmbeddings>,
    /// Who else may.
    pub fallback: Option<ExtraEmbeddings>,
    /// A service or a server.
    pub remote: Option<ExtraRemote>,
}

/// Who tells what is alike in meaning.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(transform = as_literals)]
pub enum ExtraEmbeddings {
    Auto,
    None,
    Voyage,
    Ollama,
    OpenaiCompatible,
}

/// What a server is told about texts.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraRemote {
    /// The `input_type` of every text.
    pub input_type: Option<String>,
    /// That of questions.
    pub query_input_type: Option<String>,
    /// That of what may answer them.
    pub document_input_type: Option<String>,
}

/// What agents remember.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraMemory {
    /// How what is found is put in order. Default: own.
    pub ranking: Option<Ranking>,
    /// What is shared beyond the rule that people stay apart.
    pub share: Option<Share>,
    /// Whether what is remembered is put before a message.
    pub auto_recall: Option<AutoRecall>,
}

/// How what is found is put in order.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Ranking {
    /// By yabby's own index.
    Own,
    /// As OpenClaw does, by its index.
    Compat,
}

/// What is shared beyond the rule that people stay apart.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Share {
    /// Session keys, perhaps with `*`, whose conversations may find the owner's notes.
    pub notes: Option<Vec<String>>,
    /// Whether the owner finds what was said in groups. Default: false.
    pub groups: Option<bool>,
}

/// What is remembered, put before a message.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AutoRecall {
    /// Default: false.
    pub enabled: Option<bool>,
    /// How much. Default: 5.
    pub max_results: Option<PositiveInteger>,
}

/// What agents may use, and how.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraTools {
    /// Running commands.
    pub exec: Option<ExtraExec>,
    /// Files outside of the workspace.
    pub fs: Option<ExtraFiles>,
    /// How often a run may ask for tools before it is stopped. Default: 500.
    pub max_rounds: Option<PositiveInteger>,
    /// Searching and fetching.
    pub web: Option<ExtraWeb>,
    /// Servers of the Model Context Protocol.
    pub mcp: Option<Mcp>,
    /// Which tools are allowed by who asks.
    pub by_trust: Option<ByTrust>,
}

/// Running commands.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraExec {
    /// What keeps commands in the workspace. Default: auto, whatever this system has.
    pub confine: Option<Confine>,
    /// Whether commands that are not confined run where others than the owner talk. Default: false.
    pub among_others: Option<bool>,
}

/// What keeps commands in the workspace.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Confine {
    Off,
    Auto,
    Bubblewrap,
    Landlock,
}

/// Files outside of the workspace.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraFiles {
    /// Folders beside the workspace that tools may read and write.
    pub allow: Option<Vec<String>>,
}

/// Searching and fetching.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraWeb {
    /// Hosts, addresses and ranges that pages may be fetched from although they are not public.
    pub allow_private: Option<Vec<String>>,
    /// Searching the web.
    pub search: Option<ExtraSearch>,
}

/// Searching the web.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExtraSearch {
    /// Who is asked: a SearXNG of your own.
    pub provider: Option<ExtraProvider>,
    /// Searching with SearXNG.
    pub searxng: Option<Searxng>,
}

/// Who searches.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ExtraProvider {
    Searxng,
}

/// Searching with SearXNG.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Searxng {
    /// Where it is.
    pub base_url: Option<NonEmptyText>,
}

/// Servers of the Model Context Protocol.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mcp {
    /// The servers, by a name that goes before the names of their tools.
    pub servers: Option<Map<McpServer>>,
}

/// A server: a program that is started (`command`), or one that runs already (`url`).
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// Whether it is used. Default: true.
    pub enabled: Option<bool>,
    /// The program.
    pub command: Option<NonEmptyText>,
    /// What it is told.
    pub args: Option<Vec<String>>,
    /// Variables of its own. It sees none of ours but PATH, HOME and the like.
    pub env: Option<Map<String>>,
    /// The folder that it works in.
    pub cwd: Option<NonEmptyText>,
    /// Where it is.
    pub url: Option<NonEmptyText>,
    /// What requests to it say of themselves.
    pub headers: Option<Map<String>>,
    /// How long a call may take. Default: 60.
    pub timeout_seconds: Option<PositiveInteger>,
    /// The only tools of it that are used. Default: all.
    pub tools: Option<Vec<String>>,
}

/// Which tools are allowed by who asks.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ByTrust {
    /// Whoever owns the agent.
    pub owner: Option<TrustPolicy>,
    /// Everybody else.
    pub stranger: Option<TrustPolicy>,
}

/// Which tools are allowed and which are not.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
}
