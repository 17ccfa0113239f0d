//! The plugins that OpenClaw would find on the disk. None of them runs here, but a configuration that
//! names one of them is right (`config.md` §3).

use std::fs;
use std::path::{Path, PathBuf};

use yabby_config::read::read;
use yabby_config::sections::Sections;
use yabby_config::validate::{Origin, Plugin};
use yabby_domain::json::{self, Value};
use yabby_domain::session::path::user_path;
use yabby_domain::text::{self, lossy};

use crate::files::folder::read_plain;
use crate::paths::Place;

const MANIFEST: &str = "openclaw.plugin.json";

/// The plugins of the paths that a configuration names, of its workspace and of the state folder.
pub(super) fn found(config: &Value, place: &Place) -> Vec<Plugin> {
    let resolved = |path: &str| {
        PathBuf::from(user_path(path, &place.home.to_string_lossy(), &place.current.to_string_lossy()))
    };
    let mut plugins = Vec::new();
    let config: Sections = read(config).unwrap_or_default();
    let paths = config.plugins.load.paths.iter().flatten();
    for path in paths.filter_map(|path| text::non_blank(path)) {
        let path = resolved(path);
        // A file is told about by what lies beside it.
        let folder = if path.is_file() { path.parent().unwrap_or(&path) } else { &path };
        plugins.extend(plugin_in(folder, Origin::Config));
        plugins.extend(plugins_below(&path, Origin::Config));
    }
    if let Some(workspace) = config.agents.defaults.workspace.as_deref().and_then(text::non_blank) {
        plugins.extend(plugins_below(&resolved(workspace).join(".openclaw/extensions"), Origin::Workspace));
    }
    plugins.extend(plugins_below(&place.folder.path().join("extensions"), Origin::Global));
    plugins
}

fn plugins_below(folder: &Path, origin: Origin) -> Vec<Plugin> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| plugin_in(&entry.path(), origin)).collect()
}

fn plugin_in(folder: &Path, origin: Origin) -> Option<Plugin> {
    let manifest = json::parse(&lossy(&read_plain(&folder.join(MANIFEST)).ok()?)).ok()?;
    let texts = |key: &str| manifest.get(key).and_then(Value::as_array).into_iter().flatten();
    let channels = texts("channels").filter_map(Value::as_str).filter_map(text::non_blank);
    Some(Plugin {
        id: text::non_blank(manifest.get("id")?.as_str()?)?.to_owned(),
        channels: channels.map(str::to_owned).collect(),
        holds_memory: manifest.get("kind").and_then(Value::as_str) == Some("memory"),
        origin,
    })
}
