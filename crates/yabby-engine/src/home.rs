//! Where an agent lives: its sessions, its conversations, its folder of work, its tools.

use std::path::PathBuf;
use std::sync::Arc;

use yabby_domain::seam::recollection::Recollection;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::seam::tool::{Tool, ToolSource};
use yabby_domain::seam::{SessionStore, StoreError, TranscriptStore};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;

pub struct AgentHome {
    pub sessions: Arc<dyn SessionStore>,
    pub transcripts: Arc<dyn TranscriptStore>,
    /// The folder that holds everything, as records name it.
    pub state: String,
    /// The folder of the conversations, as records name it.
    pub conversations: String,
    pub workspace: PathBuf,
    /// In the order in which models are told about them, which stays the same.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What the agent is told in writing.
    pub shelf: Arc<dyn Shelf>,
    /// What is remembered, for turns that are to begin with it.
    pub memory: Option<Arc<dyn Recollection>>,
    /// Where more tools come from.
    pub sources: Vec<Arc<dyn ToolSource>>,
}

impl AgentHome {
    /// Changes the record of a session, if there is one; what became of it.
    pub(crate) async fn change(
        &self,
        key: &SessionKey,
        change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static,
    ) -> Result<Option<SessionEntry>, StoreError> {
        let change = move |entry: &mut Option<SessionEntry>| {
            if let Some(entry) = entry
                && let Some(patch) = change(entry)
            {
                entry.apply(&patch);
            }
        };
        self.sessions.update(key, Box::new(change)).await
    }
}
