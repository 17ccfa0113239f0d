//! The memory of an agent, put together from what the configuration names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use yabby_domain::config::Config;
use yabby_domain::config::extras;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore;
use yabby_domain::seam::embedder::Embedder;
use yabby_domain::secrets::Secrets;
use yabby_domain::session::path::{self, Folders};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::{self, CompatIndex, Embedders, IndexError, Reference};
use yabby_memory::memory::{Meaning, Memory, MemoryError, Parts, Places, Ranking};
use yabby_memory::settings::{Settings, SyncSettings};
use yabby_memory::upkeep::Upkeep;
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

/// What an agent remembers, and OpenClaw's index of it where that is kept up.
pub struct Remembering {
    pub memory: Memory,
    reference: Option<Reference>,
    sync: SyncSettings,
}

impl Remembering {
    /// Keeps it up with the files for as long as the result is kept: for a process that stays. On a runtime
    /// only.
    pub fn upkeep(&self) -> Upkeep {
        Upkeep::begin(&self.memory, self.sync, self.reference.clone())
    }
}

/// What an agent remembers.
pub fn remembering(
    place: &Place,
    config: &Arc<Config>,
    settings: &Settings,
    ground: Ground<'_>,
) -> Result<Remembering, MemoryError> {
    let choice = embeddings::choice(place, config, ground.agent, settings);
    let embedders = embedders(place, config, ground.agent, settings, &choice);
    let reference = embedders.map(|embedders| reference(settings, &ground, embedders));
    let memory = memory(place, config, settings, &choice, &reference, ground)?;
    let reference = reference.ok().filter(|_| is_kept_up(config, &choice));
    Ok(Remembering { memory, reference, sync: settings.sync })
}

fn memory(
    place: &Place,
    config: &Arc<Config>,
    settings: &Settings,
    choice: &Choice,
    reference: &Result<Reference, String>,
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
    let sees_sessions = embeddings::sees_sessions(choice, settings);
    let embedder = choice.embedder.clone().ok().map(|embedder| Meaning { embedder, sees_sessions });
    Memory::open(Parts {
        places,
        config: config.clone(),
        sessions: ground.sessions,
        secrets: ground.secrets,
        meaning: embedder,
        ranking: match ranks_like_reference(config) {
            true => Ranking::Reference(reference.clone()),
            false => Ranking::Own,
        },
    })
}

/// Whether the reference's ranking was asked for (`memory.ranking`).
fn ranks_like_reference(config: &Config) -> bool {
    config.extras.memory.ranking() == extras::Ranking::Compat
}

/// Whether the reference's index is kept up: with a provider that the reference knows, or if its ranking was
/// asked for.
fn is_kept_up(config: &Config, choice: &Choice) -> bool {
    let is_known = |embedder: &Arc<dyn Embedder>| {
        ["openai", "gemini", "voyage"].contains(&embedder.provider()) || ranks_like_reference(config)
    };
    choice.embedder.as_ref().is_ok_and(is_known)
}

/// The reference's index, opened when it is needed.
fn reference(settings: &Settings, ground: &Ground<'_>, embedders: Embedders) -> Reference {
    let places = compat::Places {
        agent: ground.agent.clone(),
        workspace: ground.workspace.to_owned(),
        sessions: ground.transcripts.to_owned(),
    };
    Reference::new(places, settings.clone(), embedders)
}

/// Who embeds for the reference's index, or why nobody does.
fn embedders(
    place: &Place,
    config: &Arc<Config>,
    agent: &AgentId,
    settings: &Settings,
    choice: &Choice,
) -> Result<Embedders, String> {
    let chosen = choice.embedder.clone()?;
    let fallback = embeddings::fallback(place, config, agent, settings, chosen.provider());
    let reason = choice.fallback_reason.clone().unwrap_or_default();
    let stands_in_for = choice.fallback_from.map(|from| (from.as_str().to_owned(), reason));
    Ok(Embedders { chosen, fallback, stands_in_for })
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
    /// The reference's index, where it is kept up.
    reference: Option<Reference>,
}

impl AgentMemory {
    /// `None` if the agent has no memory.
    pub fn open(place: &Place, config: &Arc<Config>, agent: &AgentId) -> Result<Option<Self>> {
        let Some(settings) = settings(place, config, agent) else { return Ok(None) };
        let store =
            place.with_folders(|folders| path::store_path(config.session.store.as_deref(), agent, folders));
        let sessions: Arc<dyn SessionStore> =
            Arc::new(SessionFile::open(store, sessions::Settings::from_environment())?);
        let transcripts = place.with_folders(|folders| path::sessions_folder(folders.state, agent));
        let transcripts = PathBuf::from(transcripts);
        let workspace = place.with_folders(|folders| super::workspace(config, agent, folders));
        let choice = embeddings::choice(place, config, agent, &settings);
        let ground = Ground {
            agent,
            workspace: &workspace,
            transcripts: &transcripts,
            sessions: sessions.clone(),
            secrets: Arc::new(secrets(place, config, &place.environment)),
        };
        let embedders = embedders(place, config, agent, &settings, &choice);
        let reference = embedders.map(|embedders| reference(&settings, &ground, embedders));
        let memory = memory(place, config, &settings, &choice, &reference, ground)?;
        let reference = reference.ok().filter(|_| is_kept_up(config, &choice));
        let (agent, ranks_like_reference) = (agent.clone(), ranks_like_reference(config));
        Ok(Some(Self {
            agent,
            settings,
            memory,
            sessions,
            choice,
            workspace,
            transcripts,
            ranks_like_reference,
            reference,
        }))
    }

    /// The reference's index, where it is kept up. Without anybody who embeds there is none.
    pub async fn reference(&self) -> Result<Option<CompatIndex>, IndexError> {
        match &self.reference {
            Some(reference) => reference.index().await.cloned().map(Some),
            None => Ok(None),
        }
    }

    /// Keeps it up with the files for as long as the result is kept. On a runtime only.
    pub fn upkeep(&self) -> Upkeep {
        Upkeep::begin(&self.memory, self.settings.sync, self.reference.clone())
    }
}

/// What was said is remembered unless somebody named the sources, and left it out.
fn has_sessions(config: &Config, agent: &AgentId, settings: &Settings) -> bool {
    let own = config.agent(agent).is_some_and(|agent| agent.memory_search.sources.is_some());
    let is_named = own || config.agents.defaults.memory_search.sources.is_some();
    settings.sources.contains(&Source::Sessions) || !is_named
}
