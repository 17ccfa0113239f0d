//! What an agent remembers, opened without an engine: for whoever only looks.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::SessionStore;
use yabby_domain::session::path;
use yabby_memory::memory::Memory;
use yabby_store::files::sessions::{self, SessionFile};
use yabby_store::paths::Place;

use super::{memory, secrets, workspace};

/// The memory of an agent, and the records of its sessions.
pub struct AgentMemory {
    pub memory: Memory,
    pub sessions: Arc<dyn SessionStore>,
}

/// Opens the memory of an agent. Begins an index if there is none.
pub fn open_memory(place: &Place, config: &Arc<Config>, agent: &AgentId) -> Result<AgentMemory> {
    let (store, transcripts, workspace) = place.with_folders(|folders| {
        (
            path::store_path(config.text(&["session", "store"]), agent, folders),
            path::sessions_folder(folders.state, agent),
            workspace(config, agent, folders),
        )
    });
    let sessions: Arc<dyn SessionStore> =
        Arc::new(SessionFile::open(store, sessions::Settings::from_environment())?);
    let settings = memory::settings(place, config, agent).with_context(|| {
        format!("the memory of the agent {agent} is switched off: memorySearch.enabled is false")
    })?;
    let ground = memory::Ground {
        agent,
        workspace: &workspace,
        transcripts: Path::new(&transcripts),
        sessions: sessions.clone(),
        secrets: Arc::new(secrets::secrets(place, config, &place.environment)),
    };
    Ok(AgentMemory { memory: memory::memory(place, config, &settings, ground)?, sessions })
}
