//! Where an agent lives: its sessions, its conversations, its folder of work, its tools.

use std::path::PathBuf;
use std::sync::Arc;

use yabby_domain::seam::recollection::Recollection;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::seam::tool::{Tool, ToolSource, ToolSpec};
use yabby_domain::seam::{Change, SessionStore, StoreError, TranscriptStore};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::{json, text};

use crate::services::SessionScope;

pub struct AgentHome {
    pub sessions: Arc<dyn SessionStore>,
    pub transcripts: Arc<dyn TranscriptStore>,
    /// The folder that holds everything, as records name it.
    pub state: String,
    /// The folder of the conversations, as records name it.
    pub conversations: String,
    pub workspace: PathBuf,
    pub tools: Tools,
    /// What the agent is told in writing.
    pub shelf: Arc<dyn Shelf>,
    /// What is remembered, for turns that are to begin with it.
    pub memory: Option<Arc<dyn Recollection>>,
    /// Where more tools come from.
    pub sources: Vec<Arc<dyn ToolSource>>,
}

/// The tools of an agent, in the order in which models are told about them, which stays the same.
#[derive(Default)]
pub struct Tools(Vec<Known>);

/// A tool, and what models are told about it. That is the same in every turn.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) spec: Arc<ToolSpec>,
    /// How long its schema is.
    pub(crate) schema_chars: usize,
}

impl Known {
    pub(crate) fn of(tool: Arc<dyn Tool>) -> Self {
        let spec = Arc::new(tool.spec());
        let schema_chars = text::units(&json::stringify(&spec.parameters));
        Self { tool, spec, schema_chars }
    }
}

impl Tools {
    pub(crate) fn known(&self) -> &[Known] {
        &self.0
    }
}

impl From<Vec<Arc<dyn Tool>>> for Tools {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self(tools.into_iter().map(Known::of).collect())
    }
}

impl AgentHome {
    /// The sessions, as services change them.
    pub fn scope(&self) -> SessionScope {
        SessionScope {
            sessions: self.sessions.clone(),
            transcripts: self.transcripts.clone(),
            memory: self.memory.clone(),
            conversations: self.conversations.clone(),
        }
    }

    /// Changes the record of a session, if there is one, for good; what became of it.
    pub(crate) async fn change(
        &self,
        key: &SessionKey,
        change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static,
    ) -> Result<Option<SessionEntry>, StoreError> {
        self.sessions.update(key, patching(change)).await
    }

    /// The same for what the record can do without, should there be a power failure now.
    pub(crate) async fn note(
        &self,
        key: &SessionKey,
        change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static,
    ) -> Result<Option<SessionEntry>, StoreError> {
        self.sessions.note(key, patching(change)).await
    }
}

/// Changes a record if there is one.
fn patching(change: impl FnOnce(&SessionEntry) -> Option<Patch> + Send + 'static) -> Change {
    Box::new(move |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry
            && let Some(patch) = change(entry)
        {
            entry.take(patch);
        }
    })
}
