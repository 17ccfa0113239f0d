//! The memory of an agent, put together from what the configuration names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore;
use yabby_domain::seam::embedder::Embedder;
use yabby_domain::secrets::Secrets;
use yabby_domain::session::path::{self, Folders};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::{self, CompatIndex, Embedders, IndexError};
use yabby_memory::memory::{Meaning, Memory, MemoryError, Parts, Places};
use yabby_memory::settings::Settings;
use yabby_models::embed::Choice;
use yabby_store::files::sessions::{self, SessionFile};
use yabby_store::paths::Place;

use super::embeddings;
use super::secrets::secrets;

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
    let choice = embeddings::choice(place, config, ground.agent, settings).ok();
    memory_with(place, config, settings, choice.as_ref(), ground)
}

fn memory_with(
    place: &Place,
    config: &Arc<Config>,
    settings: &Settings,
    choice: Option<&Choice>,
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
    let embedder = choice.and_then(|choice| {
        let sees_sessions = embeddings::sees_sessions(choice, settings);
        Some(Meaning { embedder: choice.embedder.clone().ok()?, sees_sessions })
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

/// The memory of an agent, and how it came about: what commands work on.
pub struct AgentMemory {
    pub agent: AgentId,
    pub settings: Settings,
    pub memory: Memory,
    pub sessions: Arc<dyn SessionStore>,
    pub choice: Choice,
    pub workspace: PathBuf,
    pub transcripts: PathBuf,
    /// Whether the reference's ranking was asked for (`memory.ranking`).
    pub ranks_like_reference: bool,
    fallback: Option<Arc<dyn Embedder>>,
}

impl AgentMemory {
    /// `None` if the agent has no memory.
    pub fn open(place: &Place, config: &Arc<Config>, agent: &AgentId) -> Result<Option<Self>> {
        let Some(settings) = settings(place, config, agent) else { return Ok(None) };
        let store = place
            .with_folders(|folders| path::store_path(config.text(&["session", "store"]), agent, folders));
        let sessions: Arc<dyn SessionStore> =
            Arc::new(SessionFile::open(store, sessions::Settings::from_environment())?);
        let transcripts = place.with_folders(|folders| path::sessions_folder(folders.state, agent));
        let transcripts = PathBuf::from(transcripts);
        let workspace = place.with_folders(|folders| super::workspace(config, agent, folders));
        let choice = embeddings::choice(place, config, agent, &settings)?;
        let ground = Ground {
            agent,
            workspace: &workspace,
            transcripts: &transcripts,
            sessions: sessions.clone(),
            secrets: Arc::new(secrets(place, config, &place.environment)),
        };
        let memory = memory_with(place, config, &settings, Some(&choice), ground)?;
        let chosen = choice.embedder.as_ref().map_or("", |embedder| embedder.provider());
        let fallback = embeddings::fallback(place, config, agent, &settings, chosen);
        let ranks_like_reference = config.text(&["memory", "ranking"]) == Some("compat");
        let agent = agent.clone();
        Ok(Some(Self {
            agent,
            settings,
            memory,
            sessions,
            choice,
            workspace,
            transcripts,
            ranks_like_reference,
            fallback,
        }))
    }

    /// The reference's index, where it is kept up: with a provider that the reference knows, or if its ranking
    /// was asked for. Without anybody who embeds there is none.
    pub async fn reference(&self) -> Result<Option<CompatIndex>, IndexError> {
        let Ok(chosen) = &self.choice.embedder else { return Ok(None) };
        let is_known = ["openai", "gemini", "voyage"].contains(&chosen.provider());
        if !is_known && !self.ranks_like_reference {
            return Ok(None);
        }
        let places = compat::Places { workspace: self.workspace.clone(), sessions: self.transcripts.clone() };
        let stands_in_for = self
            .choice
            .fallback_from
            .map(|from| (from.as_str().to_owned(), self.choice.fallback_reason.clone().unwrap_or_default()));
        let embedders = Embedders { chosen: chosen.clone(), fallback: self.fallback.clone(), stands_in_for };
        CompatIndex::open(places, self.settings.clone(), embedders).await.map(Some)
    }
}

/// What was said is remembered unless somebody named the sources, and left it out.
fn has_sessions(config: &Config, agent: &AgentId, settings: &Settings) -> bool {
    let own = config.agent(agent).and_then(|agent| agent.get("memorySearch")?.get("sources"));
    let named = own.or_else(|| config.get(&["agents", "defaults", "memorySearch", "sources"]));
    settings.sources.contains(&Source::Sessions) || named.is_none()
}
