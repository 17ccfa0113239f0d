//! Our own settings, which OpenClaw's configuration has no room for: `yabby-extras.json`.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::PositiveInteger;
use crate::sections::text::NonEmptyText;
use crate::sections::word::Word;

/// Settings that only yabby knows.
#[section]
pub struct Extras {
    /// Agents.
    #[serde(default)]
    pub agents: ExtraAgents,
    /// The gateway.
    #[serde(default)]
    pub gateway: ExtraGateway,
    /// What agents remember.
    #[serde(default)]
    pub memory: ExtraMemory,
    /// What agents may use, and how.
    #[serde(default)]
    pub tools: ExtraTools,
}

/// The gateway.
#[section]
pub struct ExtraGateway {
    /// Scopes whose clients are the owner, besides `operator.admin`: `operator.write` for those that may only chat.
    pub owner_scopes: Option<Vec<String>>,
}

/// Agents.
#[section]
pub struct ExtraAgents {
    /// All of them.
    #[serde(default)]
    pub defaults: ExtraDefaults,
}

/// All agents.
#[section]
pub struct ExtraDefaults {
    /// The search in their memory.
    #[serde(default)]
    pub memory_search: ExtraMemorySearch,
}

/// The search in the memory of agents.
#[section]
pub struct ExtraMemorySearch {
    /// Who tells what is alike in meaning: a service, a server of your own, or nobody.
    pub provider: Option<Word<ExtraEmbeddings>>,
    /// Who else may.
    pub fallback: Option<Word<ExtraEmbeddings>>,
    /// A service or a server.
    #[serde(default)]
    pub remote: ExtraRemote,
}

/// Who tells what is alike in meaning.
#[section]
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
#[section]
pub struct ExtraRemote {
    /// The `input_type` of every text.
    pub input_type: Option<String>,
    /// That of questions.
    pub query_input_type: Option<String>,
    /// That of what may answer them.
    pub document_input_type: Option<String>,
}

/// What agents remember.
#[section]
pub struct ExtraMemory {
    /// How what is found is put in order.
    #[config(default = Own)]
    pub ranking: Option<Ranking>,
    /// What is shared beyond the rule that people stay apart.
    #[serde(default)]
    pub share: Share,
    /// Whether what is remembered is put before a message.
    #[serde(default)]
    pub auto_recall: AutoRecall,
}

/// How what is found is put in order.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Ranking {
    /// By yabby's own index.
    Own,
    /// As OpenClaw does, by its index.
    Compat,
}

/// What is shared beyond the rule that people stay apart.
#[section]
pub struct Share {
    /// Session keys, perhaps with `*`, whose conversations may find the owner's notes.
    pub notes: Option<Vec<String>>,
    /// Whether the owner finds what was said in groups.
    #[config(default = false)]
    pub groups: Option<bool>,
}

/// What is remembered, put before a message.
#[section]
pub struct AutoRecall {
    #[config(default = false)]
    pub enabled: Option<bool>,
    /// How much.
    #[config(default = 5)]
    pub max_results: Option<PositiveInteger>,
}

/// What agents may use, and how.
#[section]
pub struct ExtraTools {
    /// Running commands.
    #[config(live)]
    #[serde(default)]
    pub exec: ExtraExec,
    /// Files outside of the workspace.
    #[config(live)]
    #[serde(default)]
    pub fs: ExtraFiles,
    /// How often a run may ask for tools before it is stopped.
    #[config(default = 500)]
    pub max_rounds: Option<PositiveInteger>,
    /// Searching and fetching.
    #[serde(default)]
    pub web: ExtraWeb,
    /// Servers of the Model Context Protocol.
    #[serde(default)]
    pub mcp: Mcp,
    /// Which tools are allowed by who asks.
    #[serde(default)]
    pub by_trust: ByTrust,
}

/// Running commands.
#[section]
pub struct ExtraExec {
    /// What keeps commands in the workspace. Default: auto, whatever this system has.
    pub confine: Option<Word<Confine>>,
    /// Whether commands that are not confined run where others than the owner talk.
    #[config(default = false)]
    pub among_others: Option<bool>,
}

/// What an agent alone does differently.
#[section]
pub struct ExtraAgent {
    /// The search in its memory.
    #[serde(default)]
    pub memory_search: ExtraMemorySearch,
    /// What it may use.
    #[serde(default)]
    pub tools: ExtraAgentTools,
}

/// What an agent alone may use.
#[section]
pub struct ExtraAgentTools {
    /// Running commands.
    #[serde(default)]
    pub exec: ExtraExec,
}

/// What keeps commands in the workspace.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Confine {
    Off,
    Auto,
    Bubblewrap,
    Landlock,
}

/// Files outside of the workspace.
#[section]
pub struct ExtraFiles {
    /// Folders beside the workspace that tools may read and write.
    pub allow: Option<Vec<String>>,
}

/// Searching and fetching.
#[section]
pub struct ExtraWeb {
    /// Hosts, addresses and ranges that pages may be fetched from although they are not public.
    pub allow_private: Option<Vec<String>>,
    /// Searching the web.
    #[serde(default)]
    pub search: ExtraSearch,
}

/// Searching the web.
#[section]
pub struct ExtraSearch {
    /// Who is asked: a SearXNG of your own.
    pub provider: Option<Word<ExtraProvider>>,
    /// Searching with SearXNG.
    #[serde(default)]
    pub searxng: Searxng,
}

/// Who searches.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ExtraProvider {
    Searxng,
}

/// Searching with SearXNG.
#[section]
pub struct Searxng {
    /// Where it is.
    pub base_url: Option<NonEmptyText>,
}

/// Servers of the Model Context Protocol.
#[section]
pub struct Mcp {
    /// The servers, by a name that goes before the names of their tools.
    pub servers: Option<Map<McpServer>>,
}

/// A server: a program that is started (`command`), or one that runs already (`url`).
#[section]
pub struct McpServer {
    /// Whether it is used.
    #[config(default = true)]
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
    /// How long a call may take.
    #[config(default = 60)]
    pub timeout_seconds: Option<PositiveInteger>,
    /// The only tools of it that are used. Default: all.
    pub tools: Option<Vec<String>>,
}

/// Which tools are allowed by who asks.
#[section]
pub struct ByTrust {
    /// Whoever owns the agent.
    pub owner: Option<TrustPolicy>,
    /// Everybody else.
    pub stranger: Option<TrustPolicy>,
}

/// Which tools are allowed and which are not.
#[section]
pub struct TrustPolicy {
    /// The only tools allowed: names, `group:…` or `*`.
    pub allow: Option<Vec<String>>,
    /// Tools that are not allowed; this wins.
    pub deny: Option<Vec<String>>,
}
