//! `memorySearch`: how memory is indexed and searched (`memory.md` §13).
//!
//! What is said about an agent goes before what is said about all of them, value by value.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::config::agents::memory_search::{MemorySearch, MemorySource};
use yabby_domain::config::word::Word;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::session::path::{Folders, user_path};
use yabby_domain::text;

use crate::compat::files::Source;
use crate::compat::hybrid::Weights;
use crate::compat::paths::unique;

#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What is searched, in the order it was named; never empty.
    pub sources: Vec<Source>,
    /// Files and folders besides the workspace's own memory, as they were written.
    pub extra_paths: Vec<String>,
    pub provider: Provider,
    /// Empty where the provider decides.
    pub model: String,
    /// Whom to ask instead if the provider fails.
    pub fallback: Option<Provider>,
    /// How providers elsewhere are asked; `None` if only a local one can be.
    pub remote: Option<Remote>,
    pub local: Local,
    pub session_memory: bool,
    pub store: StoreSettings,
    pub chunking: Chunking,
    pub sync: SyncSettings,
    pub query: QuerySettings,
    pub cache: CacheSettings,
}

/// Who turns texts into vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Whoever there is a key for.
    Auto,
    Openai,
    Gemini,
    Voyage,
    Local,
    /// One that the reference does not know.
    Other(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Remote {
    pub base_url: Option<String>,
    pub api_key: Option<String>,
    /// In the order they were written.
    pub headers: Option<Vec<(String, String)>>,
    pub batch: BatchSettings,
}

/// The providers' own queues for many texts at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchSettings {
    pub enabled: bool,
    pub wait: bool,
    pub concurrency: f64,
    pub poll_interval_ms: f64,
    pub timeout_minutes: f64,
}

impl Default for BatchSettings {
    fn default() -> Self {
        Self { enabled: true, wait: true, concurrency: 2.0, poll_interval_ms: 2000.0, timeout_minutes: 60.0 }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Local {
    pub model_path: Option<String>,
    pub model_cache_dir: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// `sqlite`; there is no other.
    pub driver: String,
    /// The index of the reference; absolute.
    pub path: String,
    pub vector: bool,
    /// Where the reference finds its extension. Ours is built in.
    pub extension_path: Option<String>,
}

/// The size of chunks, in tokens of four characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chunking {
    pub tokens: f64,
    pub overlap: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyncSettings {
    pub on_session_start: bool,
    pub on_search: bool,
    pub watch: bool,
    pub watch_debounce_ms: f64,
    pub interval_minutes: f64,
    pub sessions: SessionDeltas,
}

impl Default for SyncSettings {
    fn default() -> Self {
        Self {
            on_session_start: true,
            on_search: true,
            watch: true,
            watch_debounce_ms: 1500.0,
            interval_minutes: 0.0,
            sessions: SessionDeltas { bytes: 100_000.0, messages: 50.0 },
        }
    }
}

/// How much a transcript grows before it is indexed again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionDeltas {
    pub bytes: f64,
    pub messages: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuerySettings {
    pub max_results: f64,
    pub min_score: f64,
    pub hybrid: bool,
    /// Of one in all.
    pub weights: Weights,
    pub candidate_multiplier: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CacheSettings {
    pub enabled: bool,
    pub max_entries: Option<f64>,
}

const DEFAULT_WEIGHTS: Weights = Weights { vector: 0.7, text: 0.3 };

impl Settings {
    /// The settings of an agent; `None` if it has no memory search.
    pub fn from_config(config: &Config, agent: &AgentId, folders: &Folders<'_>) -> Option<Self> {
        Self::resolve(&Layers::of(config, agent), agent, folders)
    }

    fn resolve(layers: &Layers<'_>, agent: &AgentId, folders: &Folders<'_>) -> Option<Self> {
        let all = layers.of_all;
        if !layers.flag(|of| of.enabled, all.enabled()) {
            return None;
        }
        let session_memory =
            layers.flag(|of| of.experimental.session_memory, all.experimental.session_memory());
        let provider = layers.find(|of| of.provider.as_ref()).map_or("auto", Word::as_str);
        let provider = Provider::parse(provider);
        let model = layers.text(|of| &of.model).unwrap_or(provider.default_model().to_owned());
        let fallback = layers.find(|of| of.fallback.as_ref()).map(Word::as_str);
        let driver = layers.find(|of| of.store.driver.as_ref()).map_or("sqlite", Word::as_str);
        let max_entries = layers.find(|of| of.cache.max_entries).map(f64::from);
        Some(Self {
            sources: sources(layers, session_memory),
            extra_paths: extra_paths(layers),
            remote: remote(layers, &provider),
            provider,
            model,
            fallback: fallback.filter(|name| *name != "none").map(Provider::parse),
            local: Local {
                model_path: layers.text(|of| &of.local.model_path),
                model_cache_dir: layers.text(|of| &of.local.model_cache_dir),
            },
            session_memory,
            store: StoreSettings {
                driver: driver.to_owned(),
                path: store_path(layers.find(|of| of.store.path.as_deref()), agent, folders),
                vector: layers.flag(|of| of.store.vector.enabled, all.store.vector.enabled()),
                extension_path: layers.text(|of| &of.store.vector.extension_path),
            },
            chunking: chunking(layers),
            sync: sync(layers),
            query: query(layers),
            cache: CacheSettings {
                enabled: layers.flag(|of| of.cache.enabled, all.cache.enabled()),
                max_entries: max_entries.map(|most| most.floor().max(1.0)),
            },
        })
    }

    /// How the providers' own queues are used.
    pub fn batch(&self) -> BatchSettings {
        self.remote.as_ref().map(|remote| remote.batch).unwrap_or_default()
    }

    /// As the reference shows them.
    pub fn to_json(&self) -> Value {
        let mut shown = json!({
            "enabled": true,
            "sources": self.sources.iter().map(|source| source.as_str()).collect::<Vec<_>>(),
            "extraPaths": self.extra_paths,
            "provider": self.provider.as_str(),
            "experimental": {"sessionMemory": self.session_memory},
            "fallback": self.fallback.as_ref().map_or("none", Provider::as_str),
            "model": self.model,
            "local": present([
                ("modelPath", self.local.model_path.clone().map(Value::from)),
                ("modelCacheDir", self.local.model_cache_dir.clone().map(Value::from)),
            ]),
            "store": {
                "driver": self.store.driver,
                "path": self.store.path,
                "vector": present([
                    ("enabled", Some(self.store.vector.into())),
                    ("extensionPath", self.store.extension_path.clone().map(Value::from)),
                ]),
            },
            "chunking": {
                "tokens": number(self.chunking.tokens),
                "overlap": number(self.chunking.overlap),
            },
            "sync": {
                "onSessionStart": self.sync.on_session_start,
                "onSearch": self.sync.on_search,
                "watch": self.sync.watch,
                "watchDebounceMs": number(self.sync.watch_debounce_ms),
                "intervalMinutes": number(self.sync.interval_minutes),
                "sessions": {
                    "deltaBytes": number(self.sync.sessions.bytes),
                    "deltaMessages": number(self.sync.sessions.messages),
                },
            },
            "query": {
                "maxResults": number(self.query.max_results),
                "minScore": number(self.query.min_score),
                "hybrid": {
                    "enabled": self.query.hybrid,
                    "vectorWeight": number(self.query.weights.vector),
                    "textWeight": number(self.query.weights.text),
                    "candidateMultiplier": number(self.query.candidate_multiplier),
                },
            },
            "cache": present([
                ("enabled", Some(self.cache.enabled.into())),
                ("maxEntries", self.cache.max_entries.map(number)),
            ]),
        });
        if let Some(remote) = &self.remote {
            shown["remote"] = remote.to_json();
        }
        shown
    }
}

impl Remote {
    fn to_json(&self) -> Value {
        let headers = self.headers.as_ref().map(|headers| {
            headers
                .iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                .collect::<Object>()
        });
        present([
            ("baseUrl", self.base_url.clone().map(Value::from)),
            ("apiKey", self.api_key.clone().map(Value::from)),
            ("headers", headers.map(Value::Object)),
            (
                "batch",
                Some(json!({
                    "enabled": self.batch.enabled,
                    "wait": self.batch.wait,
                    "concurrency": number(self.batch.concurrency),
                    "pollIntervalMs": number(self.batch.poll_interval_ms),
                    "timeoutMinutes": number(self.batch.timeout_minutes),
                })),
            ),
        ])
    }
}

/// An object of the members that there are.
fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Object>().into()
}

impl Provider {
    pub fn parse(name: &str) -> Self {
        match name {
            "auto" => Self::Auto,
            "openai" => Self::Openai,
            "gemini" => Self::Gemini,
            "voyage" => Self::Voyage,
            "local" => Self::Local,
            other => Self::Other(other.to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Auto => "auto",
            Self::Openai => "openai",
            Self::Gemini => "gemini",
            Self::Voyage => "voyage",
            Self::Local => "local",
            Self::Other(name) => name,
        }
    }

    /// The model if none is named; empty where the provider decides.
    pub fn default_model(&self) -> &'static str {
        match self {
            Self::Openai => "text-embedding-3-small",
            Self::Gemini => "gemini-embedding-001",
            Self::Voyage => "voyage-4-large",
            Self::Auto | Self::Local | Self::Other(_) => "",
        }
    }
}

/// What is configured for an agent, over what is for all of them.
struct Layers<'c> {
    own: Option<&'c MemorySearch>,
    of_all: &'c MemorySearch,
}

impl<'c> Layers<'c> {
    fn of(config: &'c Config, agent: &AgentId) -> Self {
        let own = config.agent(agent).map(|agent| &agent.memory_search);
        Self { own, of_all: &config.agents.defaults.memory_search }
    }

    fn find<T>(&self, pick: impl Fn(&'c MemorySearch) -> Option<T>) -> Option<T> {
        self.own.and_then(&pick).or_else(|| pick(self.of_all))
    }

    fn text(&self, pick: impl Fn(&'c MemorySearch) -> &'c Option<String>) -> Option<String> {
        self.find(|of| pick(of).clone())
    }

    /// The agent's own setting, else that of all, which knows the default.
    fn flag(&self, own: impl Fn(&'c MemorySearch) -> Option<bool>, of_all: bool) -> bool {
        self.own.and_then(own).unwrap_or(of_all)
    }

    fn number<N: Into<f64>>(&self, own: impl Fn(&'c MemorySearch) -> Option<N>, of_all: f64) -> f64 {
        self.own.and_then(own).map_or(of_all, Into::into)
    }
}

fn sources(layers: &Layers<'_>, session_memory: bool) -> Vec<Source> {
    let wanted = |source: &MemorySource| match source {
        MemorySource::Memory => Some(Source::Memory),
        MemorySource::Sessions => session_memory.then_some(Source::Sessions),
    };
    let mut sources = Vec::new();
    for source in layers.find(|of| of.sources.as_ref()).into_iter().flatten().filter_map(wanted) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    if sources.is_empty() { vec![Source::Memory] } else { sources }
}

/// Both lists, since more places do not exclude others.
fn extra_paths(layers: &Layers<'_>) -> Vec<String> {
    let both = [Some(layers.of_all), layers.own].into_iter().flatten();
    let paths = both.filter_map(|of| of.extra_paths.as_ref()).flatten();
    unique(paths.filter_map(|path| text::non_blank(path)).map(str::to_owned))
}

fn remote(layers: &Layers<'_>, provider: &Provider) -> Option<Remote> {
    // An empty text hides what is said about all agents, and yet that counts here.
    let says_where = |of: &MemorySearch| {
        let is_said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        is_said(&of.remote.base_url) || is_said(&of.remote.api_key) || of.remote.headers.is_some()
    };
    let is_remote = match provider {
        Provider::Local => false,
        Provider::Auto | Provider::Openai | Provider::Gemini | Provider::Voyage | Provider::Other(_) => true,
    };
    if !is_remote && !says_where(layers.of_all) && !layers.own.is_some_and(says_where) {
        return None;
    }
    let all = &layers.of_all.remote.batch;
    let header = |(name, value): (&String, &String)| (name.clone(), value.clone());
    Some(Remote {
        base_url: layers.text(|of| &of.remote.base_url),
        api_key: layers.text(|of| &of.remote.api_key),
        headers: layers
            .find(|of| of.remote.headers.as_ref())
            .map(|headers| headers.iter().map(header).collect()),
        batch: BatchSettings {
            enabled: layers.flag(|of| of.remote.batch.enabled, all.enabled()),
            wait: layers.flag(|of| of.remote.batch.wait, all.wait()),
            concurrency: layers.number(|of| of.remote.batch.concurrency, all.concurrency()).max(1.0),
            poll_interval_ms: layers.number(|of| of.remote.batch.poll_interval_ms, all.poll_interval_ms()),
            timeout_minutes: layers.number(|of| of.remote.batch.timeout_minutes, all.timeout_minutes()),
        },
    })
}

/// The reference's index: where it is configured, else below the state folder.
fn store_path(configured: Option<&str>, agent: &AgentId, folders: &Folders<'_>) -> String {
    match configured.filter(|path| !path.is_empty()) {
        Some(path) => user_path(&path.replace("{agentId}", agent.as_str()), folders.home, folders.current),
        None => format!("{}/memory/{agent}.sqlite", folders.state.trim_end_matches('/')),
    }
}

fn chunking(layers: &Layers<'_>) -> Chunking {
    let all = &layers.of_all.chunking;
    let tokens = layers.number(|of| of.chunking.tokens, all.tokens()).max(1.0);
    let overlap = layers.number(|of| of.chunking.overlap, all.overlap());
    Chunking { tokens, overlap: overlap.max(0.0).min(tokens - 1.0) }
}

fn sync(layers: &Layers<'_>) -> SyncSettings {
    let all = &layers.of_all.sync;
    let delta = |delta: f64| delta.floor().max(0.0);
    SyncSettings {
        on_session_start: layers.flag(|of| of.sync.on_session_start, all.on_session_start()),
        on_search: layers.flag(|of| of.sync.on_search, all.on_search()),
        watch: layers.flag(|of| of.sync.watch, all.watch()),
        watch_debounce_ms: layers.number(|of| of.sync.watch_debounce_ms, all.watch_debounce_ms()),
        interval_minutes: layers.number(|of| of.sync.interval_minutes, all.interval_minutes()),
        sessions: SessionDeltas {
            bytes: delta(layers.number(|of| of.sync.sessions.delta_bytes, all.sessions.delta_bytes())),
            messages: delta(
                layers.number(|of| of.sync.sessions.delta_messages, all.sessions.delta_messages()),
            ),
        },
    }
}

/// How many results a search of an agent's memory has where nothing is said.
pub fn usual_results(config: &Config, agent: &AgentId) -> f64 {
    query(&Layers::of(config, agent)).max_results
}

fn query(layers: &Layers<'_>) -> QuerySettings {
    let all = &layers.of_all.query;
    let share = |share: f64| share.clamp(0.0, 1.0);
    let vector = share(layers.number(|of| of.query.hybrid.vector_weight, all.hybrid.vector_weight()));
    let text = share(layers.number(|of| of.query.hybrid.text_weight, all.hybrid.text_weight()));
    let candidates =
        layers.number(|of| of.query.hybrid.candidate_multiplier, all.hybrid.candidate_multiplier());
    let sum = vector + text;
    QuerySettings {
        max_results: layers.number(|of| of.query.max_results, all.max_results()),
        min_score: share(layers.number(|of| of.query.min_score, all.min_score())),
        hybrid: layers.flag(|of| of.query.hybrid.enabled, all.hybrid.enabled()),
        weights: match sum > 0.0 {
            true => Weights { vector: vector / sum, text: text / sum },
            false => DEFAULT_WEIGHTS,
        },
        candidate_multiplier: candidates.floor().clamp(1.0, 20.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(config: Value) -> Option<Settings> {
        let folders = Folders { state: "/s", home: "/h", current: "/c" };
        Settings::from_config(&Config::new(config), &AgentId::normalize("work"), &folders)
    }

    #[test]
    fn an_agent_says_it_for_itself() {
        let config = json!({"agents": {
            "defaults": {"memorySearch": {
                "query": {"maxResults": 3, "hybrid": {"vectorWeight": 0, "textWeight": 0}},
                "remote": {"headers": {"X": "1"}},
                "extraPaths": ["~/a", "b"],
            }},
            "list": [{"id": "Work", "memorySearch": {
                "provider": "local",
                "query": {"maxResults": 9},
                "store": {"path": "~/m/{agentId}.db"},
                "extraPaths": [" b ", "c"],
            }}],
        }});
        let parsed = Config::new(config.clone());
        let usual = ["work", "other"].map(|agent| usual_results(&parsed, &AgentId::normalize(agent)));
        assert_eq!(usual, [9.0, 3.0]);
        assert_eq!(usual_results(&Config::default(), &AgentId::default()), 6.0);
        let settings = settings(config).expect("memory search is on");
        assert_eq!(settings.query.max_results, 9.0);
        assert_eq!(settings.query.weights, DEFAULT_WEIGHTS);
        assert_eq!(settings.store.path, "/h/m/work.db");
        assert_eq!(settings.extra_paths, ["~/a", "b", "c"]);
        assert_eq!(settings.provider, Provider::Local);
        assert!(settings.remote.is_some_and(|remote| remote.headers == Some(vec![("X".into(), "1".into())])));
    }

    #[test]
    fn memory_search_can_be_switched_off() {
        assert_eq!(settings(json!({"agents": {"defaults": {"memorySearch": {"enabled": false}}}})), None);
        let back_on = json!({"agents": {
            "defaults": {"memorySearch": {"enabled": false}},
            "list": [{"id": "work", "memorySearch": {"enabled": true}}],
        }});
        assert!(settings(back_on).is_some());
    }
}
