//! Checks of plugins, channels and heartbeat targets (`config.md` §3).
//!
//! yabby runs no plugin of OpenClaw's, but it reads the same configuration: what names a plugin that
//! OpenClaw brings along is right, and what names one that nobody has is a mistake worth telling.

use serde_json::Value;
use yabby_base::json::{self, Object};
use yabby_base::text;

use super::World;
use super::agents::user_path;
use crate::issue::Issue;

/// A plugin that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    pub id: String,
    /// The channels it adds.
    pub channels: Vec<String>,
    /// Whether it can hold the memory slot.
    pub holds_memory: bool,
    pub origin: Origin,
}

/// Where a plugin came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A path in `plugins.load.paths`.
    Config,
    /// The workspace's folder of extensions.
    Workspace,
    /// The state folder's.
    Global,
    /// OpenClaw itself.
    Bundled,
}

/// The issues and the warnings.
pub fn check(config: &Value, world: &World<'_>) -> (Vec<Issue>, Vec<Issue>) {
    let bundled = bundled();
    let plugins: Vec<&Plugin> = world.plugins.iter().chain(&bundled).collect();
    let settings = Settings::read(&config["plugins"]);
    let mut issues = missing_paths(&config["plugins"], world);
    issues.extend(unknown_plugins(&config["plugins"], &settings, &plugins));
    issues.extend(unknown_channels(config, &plugins));
    issues.extend(unknown_targets(config, &plugins));
    let mut warnings = Vec::new();
    for plugin in each_once(&plugins) {
        let why_off = settings.why_off(plugin);
        let entry = settings.entry(&plugin.id);
        let options = entry.and_then(|entry| entry.get("config"));
        if why_off.is_none() || options.is_some() {
            issues.extend(wrong_options(plugin, options));
        }
        if let (Some(why), Some(_)) = (why_off, options) {
            let message = format!("plugin disabled ({why}) but config is present");
            warnings.push(Issue::new(format!("plugins.entries.{}", plugin.id), message));
        }
    }
    (issues, warnings)
}

/// The plugins that OpenClaw 2026.2.3 brings along.
fn bundled() -> Vec<Plugin> {
    const CHANNELS: [&str; 18] = [
        "bluebubbles",
        "discord",
        "feishu",
        "googlechat",
        "imessage",
        "line",
        "matrix",
        "mattermost",
        "msteams",
        "nextcloud-talk",
        "nostr",
        "signal",
        "slack",
        "telegram",
        "tlon",
        "twitch",
        "whatsapp",
        "zalo",
    ];
    const OTHERS: [&str; 12] = [
        "copilot-proxy",
        "diagnostics-otel",
        "google-antigravity-auth",
        "google-gemini-cli-auth",
        "llm-task",
        "lobster",
        "memory-core",
        "memory-lancedb",
        "minimax-portal-auth",
        "open-prose",
        "qwen-portal-auth",
        "voice-call",
    ];
    let channels = CHANNELS.into_iter().chain(["zalouser"]).map(|id| (id, vec![id.to_owned()]));
    let mut all: Vec<_> = channels.chain(OTHERS.into_iter().map(|id| (id, Vec::new()))).collect();
    all.sort_by_key(|(id, _)| *id);
    let plugin = |(id, channels): (&str, _)| Plugin {
        id: id.to_owned(),
        channels,
        holds_memory: id.starts_with("memory-"),
        origin: Origin::Bundled,
    };
    all.into_iter().map(plugin).collect()
}

/// The section `plugins`, as far as it decides what is on.
struct Settings<'c> {
    is_on: bool,
    allow: Vec<&'c str>,
    deny: Vec<&'c str>,
    memory: MemorySlot<'c>,
    entries: Option<&'c Value>,
}

#[derive(Clone, Copy, PartialEq)]
enum MemorySlot<'c> {
    Empty,
    For(&'c str),
}

impl<'c> Settings<'c> {
    fn read(plugins: &'c Value) -> Self {
        let slot = json::at(plugins, &["slots", "memory"]).and_then(Value::as_str).and_then(text::non_blank);
        let memory = match slot {
            Some(none) if text::lower(none) == "none" => MemorySlot::Empty,
            slot => MemorySlot::For(slot.unwrap_or("memory-core")),
        };
        Self {
            is_on: plugins["enabled"] != false,
            allow: names(&plugins["allow"]).filter_map(text::non_blank).collect(),
            deny: names(&plugins["deny"]).filter_map(text::non_blank).collect(),
            memory,
            entries: plugins.get("entries"),
        }
    }

    fn entry(&self, id: &str) -> Option<&'c Value> {
        self.entries?.get(id)
    }

    /// Why a plugin is off; `None` if it is on.
    fn why_off(&self, plugin: &Plugin) -> Option<String> {
        let id = plugin.id.as_str();
        let switch = self.entry(id).and_then(|entry| entry["enabled"].as_bool());
        let holds_slot = self.memory == MemorySlot::For(id);
        let why = if !self.is_on {
            Some("plugins disabled")
        } else if self.deny.contains(&id) {
            Some("blocked by denylist")
        } else if !self.allow.is_empty() && !self.allow.contains(&id) {
            Some("not in allowlist")
        } else if holds_slot || switch == Some(true) {
            None
        } else if switch == Some(false) {
            Some("disabled in config")
        } else if plugin.origin == Origin::Bundled {
            Some("bundled (disabled by default)")
        } else {
            None
        };
        match (why, self.memory) {
            (Some(why), _) => Some(why.to_owned()),
            (None, _) if !plugin.holds_memory || holds_slot => None,
            (None, MemorySlot::Empty) => Some("memory slot disabled".to_owned()),
            (None, MemorySlot::For(other)) => Some(format!("memory slot set to \"{other}\"")),
        }
    }
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn each_once<'p>(plugins: &[&'p Plugin]) -> Vec<&'p Plugin> {
    let mut once: Vec<&Plugin> = Vec::new();
    for plugin in plugins {
        if once.iter().all(|seen| seen.id != plugin.id) {
            once.push(plugin);
        }
    }
    once
}

fn missing_paths(plugins: &Value, world: &World<'_>) -> Vec<Issue> {
    let paths = names(&plugins["load"]["paths"]).filter_map(text::non_blank);
    paths
        .map(|path| user_path(path, world))
        .filter(|path| !(world.exists)(path))
        .map(|path| Issue::new("plugins.load.paths", format!("plugin: plugin path not found: {path}")))
        .collect()
}

fn unknown_plugins(plugins: &Value, settings: &Settings<'_>, known: &[&Plugin]) -> Vec<Issue> {
    let is_unknown = |id: &str| known.iter().all(|plugin| plugin.id != id);
    let entries = plugins["entries"].as_object().map(json::in_js_order).unwrap_or_default();
    let entries = entries.iter().map(|(id, _)| (format!("plugins.entries.{id}"), id.as_str()));
    let listed = |key: &'static str| {
        let ids = names(&plugins[key]).filter(|id| text::non_blank(id).is_some());
        ids.map(move |id| (format!("plugins.{key}"), id))
    };
    let slot = match settings.memory {
        MemorySlot::For(id) => Some(("plugins.slots.memory".to_owned(), id)),
        MemorySlot::Empty => None,
    };
    entries
        .chain(listed("allow"))
        .chain(listed("deny"))
        .chain(slot)
        .filter(|(_, id)| is_unknown(id))
        .map(|(path, id)| Issue::new(path, format!("plugin not found: {id}")))
        .collect()
}

fn unknown_channels(config: &Value, plugins: &[&Plugin]) -> Vec<Issue> {
    let channels = config["channels"].as_object().map(json::in_js_order).unwrap_or_default();
    channels
        .into_iter()
        .filter_map(|(key, _)| text::non_blank(key))
        .filter(|key| {
            *key != "defaults" && !plugins.iter().any(|plugin| plugin.channels.iter().any(|id| id == key))
        })
        .map(|key| Issue::new(format!("channels.{key}"), format!("unknown channel id: {key}")))
        .collect()
}

fn unknown_targets(config: &Value, plugins: &[&Plugin]) -> Vec<Issue> {
    let is_channel = |name: &str| {
        let mut channels = plugins.iter().flat_map(|plugin| &plugin.channels);
        matches!(name, "imsg" | "google-chat" | "gchat")
            || channels.any(|channel| text::lower(text::trim(channel)) == name)
    };
    let wrong = |target: &str| match text::lower_non_blank(target).as_deref() {
        None => Some("heartbeat target must not be empty".to_owned()),
        Some("last" | "none") => None,
        Some(name) if is_channel(name) => None,
        Some(_) => Some(format!("unknown heartbeat target: {target}")),
    };
    let agents = &config["agents"];
    let defaults = ("agents.defaults.heartbeat.target".to_owned(), &agents["defaults"]);
    let listed = agents["list"].as_array().into_iter().flatten().enumerate();
    let listed = listed.map(|(index, agent)| (format!("agents.list.{index}.heartbeat.target"), agent));
    std::iter::once(defaults)
        .chain(listed)
        .filter_map(|(path, agent)| Some(Issue::new(path, wrong(agent["heartbeat"]["target"].as_str()?)?)))
        .collect()
}

/// Bundled plugins without options of their own take none. The three that have some check them
/// themselves, save for the one key that `memory-lancedb` cannot do without.
fn wrong_options(plugin: &Plugin, options: Option<&Value>) -> Vec<Issue> {
    let given = options.and_then(Value::as_object).map_or(0, Object::len);
    let is_missing = |key: &str| options.and_then(|options| options.get(key)).is_none();
    let wrong = match (plugin.origin, plugin.id.as_str()) {
        (Origin::Bundled, "llm-task" | "voice-call") => Vec::new(),
        (Origin::Bundled, "memory-lancedb") if is_missing("embedding") => {
            vec!["must have required property 'embedding'"]
        }
        (Origin::Bundled, "memory-lancedb") => Vec::new(),
        (Origin::Bundled, _) => vec!["must NOT have additional properties"; given],
        _ => Vec::new(),
    };
    let path = format!("plugins.entries.{}.config", plugin.id);
    wrong.into_iter().map(|wrong| Issue::new(&path, format!("invalid config: <root>: {wrong}"))).collect()
}
