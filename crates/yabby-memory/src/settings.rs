//! `memorySearch`: how memory is indexed and searched (`memory.md` §13).
//!
//! What is said about an agent goes before what is said about all of them, value by value.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value, number, truthy};
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
        let own = config.agent(agent).and_then(|agent| agent.get("memorySearch"));
        let of_all = config.get(&["agents", "defaults", "memorySearch"]);
        Self::resolve(&Layers { own, of_all }, agent, folders)
    }

    fn resolve(layers: &Layers<'_>, agent: &AgentId, folders: &Folders<'_>) -> Option<Self> {
        if !layers.flag(&["enabled"], true) {
            return None;
        }
        let session_memory = layers.flag(&["experimental", "sessionMemory"], false);
        let provider = Provider::parse(layers.text(&["provider"]).unwrap_or("auto"));
        let model = layers.text(&["model"]).unwrap_or(provider.default_model()).to_owned();
        let fallback = layers.text(&["fallback"]).filter(|name| *name != "none").map(Provider::parse);
        let extension_path = layers.text(&["store", "vector", "extensionPath"]).map(str::to_owned);
        Some(Self {
            sources: sources(layers, session_memory),
            extra_paths: extra_paths(layers),
            remote: remote(layers, &provider),
            provider,
            model,
            fallback,
            local: Local {
                model_path: layers.text(&["local", "modelPath"]).map(str::to_owned),
                model_cache_dir: layers.text(&["local", "modelCacheDir"]).map(str::to_owned),
            },
            session_memory,
            store: StoreSettings {
                driver: layers.text(&["store", "driver"]).unwrap_or("sqlite").to_owned(),
                path: store_path(layers.text(&["store", "path"]), agent, folders),
                vector: layers.flag(&["store", "vector", "enabled"], true),
                extension_path,
            },
            chunking: chunking(layers),
            sync: sync(layers),
            query: query(layers),
            cache: CacheSettings {
                enabled: layers.flag(&["cache", "enabled"], true),
                max_entries: layers.number(&["cache", "maxEntries"]).map(|most| most.floor().max(1.0)),
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
    own: Option<&'c Value>,
    of_all: Option<&'c Value>,
}

impl<'c> Layers<'c> {
    fn get(&self, path: &[&str]) -> Option<&'c Value> {
        let mut layers = [self.own, self.of_all].into_iter().flatten();
        layers.find_map(|layer| json::at(layer, path).filter(|value| !value.is_null()))
    }

    fn text(&self, path: &[&str]) -> Option<&'c str> {
        self.get(path)?.as_str()
    }

    fn number(&self, path: &[&str]) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    fn flag(&self, path: &[&str], default: bool) -> bool {
        self.get(path).map_or(default, truthy)
    }
}

fn sources(layers: &Layers<'_>, session_memory: bool) -> Vec<Source> {
    let named = layers.get(&["sources"]).and_then(Value::as_array);
    let wanted = |name: &Value| match name.as_str()? {
        "memory" => Some(Source::Memory),
        "sessions" if session_memory => Some(Source::Sessions),
        _ => None,
    };
    let mut sources = Vec::new();
    for source in named.into_iter().flatten().filter_map(wanted) {
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    if sources.is_empty() { vec![Source::Memory] } else { sources }
}

/// Both lists, since more places do not exclude others.
fn extra_paths(layers: &Layers<'_>) -> Vec<String> {
    let of_layer = |layer: Option<&Value>| -> Vec<String> {
        let list = layer.and_then(|layer| layer.get("extraPaths")).and_then(Value::as_array);
        let paths = list.into_iter().flatten().filter_map(Value::as_str).filter_map(text::non_blank);
        paths.map(str::to_owned).collect()
    };
    unique([layers.of_all, layers.own].into_iter().flat_map(of_layer))
}

fn remote(layers: &Layers<'_>, provider: &Provider) -> Option<Remote> {
    // An empty text hides what is said about all agents, and yet that counts here.
    let is_set = |field| {
        let mut layers = [layers.own, layers.of_all].into_iter().flatten();
        layers.any(|layer| json::at(layer, &["remote", field]).is_some_and(truthy))
    };
    let is_remote = match provider {
        Provider::Local => false,
        Provider::Auto | Provider::Openai | Provider::Gemini | Provider::Voyage | Provider::Other(_) => true,
    };
    if !is_remote && !["baseUrl", "apiKey", "headers"].into_iter().any(is_set) {
        return None;
    }
    let standard = BatchSettings::default();
    let number = |field, default| layers.number(&["remote", "batch", field]).unwrap_or(default);
    let headers = layers.get(&["remote", "headers"]).and_then(Value::as_object);
    let header = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    Some(Remote {
        base_url: layers.text(&["remote", "baseUrl"]).map(str::to_owned),
        api_key: layers.text(&["remote", "apiKey"]).map(str::to_owned),
        headers: headers.map(|headers| headers.iter().filter_map(header).collect()),
        batch: BatchSettings {
            enabled: layers.flag(&["remote", "batch", "enabled"], standard.enabled),
            wait: layers.flag(&["remote", "batch", "wait"], standard.wait),
            concurrency: number("concurrency", standard.concurrency).max(1.0),
            poll_interval_ms: number("pollIntervalMs", standard.poll_interval_ms),
            timeout_minutes: number("timeoutMinutes", standard.timeout_minutes),
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
    let tokens = layers.number(&["chunking", "tokens"]).unwrap_or(400.0).max(1.0);
    let overlap = layers.number(&["chunking", "overlap"]).unwrap_or(80.0);
    Chunking { tokens, overlap: overlap.max(0.0).min(tokens - 1.0) }
}

fn sync(layers: &Layers<'_>) -> SyncSettings {
    let usual = SyncSettings::default();
    let flag = |field, default| layers.flag(&["sync", field], default);
    let number = |field, default| layers.number(&["sync", field]).unwrap_or(default);
    let delta =
        |field, default| layers.number(&["sync", "sessions", field]).unwrap_or(default).floor().max(0.0);
    SyncSettings {
        on_session_start: flag("onSessionStart", usual.on_session_start),
        on_search: flag("onSearch", usual.on_search),
        watch: flag("watch", usual.watch),
        watch_debounce_ms: number("watchDebounceMs", usual.watch_debounce_ms),
        interval_minutes: number("intervalMinutes", usual.interval_minutes),
        sessions: SessionDeltas {
            bytes: delta("deltaBytes", usual.sessions.bytes),
            messages: delta("deltaMessages", usual.sessions.messages),
        },
    }
}

fn query(layers: &Layers<'_>) -> QuerySettings {
    let number = |path: &[&str], default| layers.number(path).unwrap_or(default);
    let hybrid = |field, default| number(&["query", "hybrid", field], default);
    let vector = hybrid("vectorWeight", DEFAULT_WEIGHTS.vector).clamp(0.0, 1.0);
    let text = hybrid("textWeight", DEFAULT_WEIGHTS.text).clamp(0.0, 1.0);
    let sum = vector + text;
    QuerySettings {
        max_results: number(&["query", "maxResults"], 6.0),
        min_score: number(&["query", "minScore"], 0.35).clamp(0.0, 1.0),
        hybrid: layers.flag(&["query", "hybrid", "enabled"], true),
        weights: match sum > 0.0 {
            true => Weights { vector: vector / sum, text: text / sum },
            false => DEFAULT_WEIGHTS,
        },
        candidate_multiplier: hybrid("candidateMultiplier", 4.0).floor().clamp(1.0, 20.0),
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
