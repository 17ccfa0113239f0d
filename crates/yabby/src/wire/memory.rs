//! The memory of an agent, put together from what the configuration names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore;
use yabby_domain::secrets::Secrets;
use yabby_domain::session::path::Folders;
use yabby_memory::compat::files::Source;
use yabby_memory::memory::{Meaning, Memory, MemoryError, Parts, Places};
use yabby_memory::settings::Settings;
use yabby_store::paths::Place;

use super::embeddings;

/// Where our own index of an agent is.
pub fn index_path(place: &Place, agent: &AgentId) -> PathBuf {
    place.folder.path().join("recall").join(format!("{agent}.sqlite"))
}

/// Where an agent keeps what it remembers.
pub struct Ground<'g> {
    pub agent: &'g AgentId,
    pub workspace: &'g Path,
    pub transcripts: &'g Path,
    pub sessions: Arc<dyn SessionStore>,
    pub secrets: Arc<Secrets>,
}

/// The memory of an agent.
pub fn memory(
    place: &Place,
    config: &Arc<Config>,
    settings: &Settings,
    ground: Ground<'_>,
) -> Result<Memory, MemoryError> {
    let places = Places {
        agent: ground.agent.clone(),
        index: index_path(place, ground.agent),
        transcripts: ground.transcripts.to_owned(),
        workspace: ground.workspace.to_owned(),
        extra_paths: settings.extra_paths.clone(),
        has_notes: settings.sources.contains(&Source::Memory),
        has_sessions: has_sessions(config, ground.agent, settings),
    };
    let choice = embeddings::choice(place, config, ground.agent, settings).ok();
    let embedder = choice.and_then(|choice| {
        let sees_sessions = embeddings::sees_sessions(&choice, settings);
        Some(Meaning { embedder: choice.embedder.ok()?, sees_sessions })
    });
    Memory::open(Parts {
        places,
        config: config.clone(),
        sessions: ground.sessions,
        secrets: ground.secrets,
        meaning: embedder,
    })
}

/// The settings of an agent's memory; `None` if it has none.
pub fn settings(place: &Place, config: &Config, agent: &AgentId) -> Option<Settings> {
    let [state, home, current] =
        [place.folder.path(), &place.home, &place.current].map(|path| path.to_string_lossy().into_owned());
    Settings::from_config(config, agent, &Folders { state: &state, home: &home, current: &current })
}

/// What was said is remembered unless somebody named the sources, and left it out.
fn has_sessions(config: &Config, agent: &AgentId, settings: &Settings) -> bool {
    let own = config.agent(agent).and_then(|agent| agent.get("memorySearch")?.get("sources"));
    let named = own.or_else(|| config.get(&["agents", "defaults", "memorySearch", "sources"]));
    settings.sources.contains(&Source::Sessions) || named.is_none()
}
