//! What can be done with a session besides talking in it: one function for each use case. Command lines, the gateway,
//! tools and chat commands translate to and from these.
//!
//! The functions work on the [`SessionScope`] of an agent. Where turns may run beside them, [`Engine`](crate::Engine)
//! has a method for each, which holds the lane of the session meanwhile.

mod append;
mod compact;
mod delete;
mod find;
mod fork;
mod in_lane;
mod label;
mod patch;
mod reset;
mod undo_compaction;

use std::sync::Arc;

use yabby_domain::seam::recollection::Recollection;
use yabby_domain::seam::{Choice, SessionStore, StoreError, TranscriptStore};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path;

pub use append::{AppendError, WithoutTranscript, append_message};
pub use compact::{CompactOutcome, compact_lines};
pub use delete::{DeleteError, DeleteOutcome, DeleteRequest, delete_session};
pub use find::find_by_id;
pub use fork::{ForkError, ForkOutcome, ForkRequest, fork_session};
pub(crate) use in_lane::{HoldMode, ServiceState, SessionHold};
pub use in_lane::{InLaneError, SessionBusy};
pub use label::{LabelConflict, Relabel, RelabelError, ensure_label_is_free, further_labels, relabel};
pub use patch::{PatchError, PatchOutcome, PatchRequest};
pub use reset::{ResetOutcome, reset_session};
pub use undo_compaction::{UndoError, UndoOutcome, undo_compaction};

/// The sessions of one agent, as services change them.
#[derive(Clone)]
pub struct SessionScope {
    pub sessions: Arc<dyn SessionStore>,
    pub transcripts: Arc<dyn TranscriptStore>,
    /// What is remembered of the conversations.
    pub memory: Option<Arc<dyn Recollection>>,
    /// The folder of the conversations, as records name it.
    pub conversations: String,
}

impl SessionScope {
    /// The file of a conversation, as records name it.
    pub fn file(&self, name: &str) -> String {
        path::join(&self.conversations, name)
    }

    /// Whether a record is chosen by `choice`.
    async fn has_any(&self, choice: Choice) -> Result<bool, StoreError> {
        Ok(!self.sessions.newest(Choice { most: 1, ..choice }).await?.entries.is_empty())
    }

    /// Indexes a conversation before its session lets go of it: whose it was is known by the record of the session.
    pub(crate) async fn index_conversations(&self) {
        if let Some(memory) = &self.memory {
            memory.catch_up().await;
        }
    }

    /// Changes a record if there is one.
    async fn update_existing(
        &self,
        key: &SessionKey,
        change: impl FnOnce(&mut SessionEntry) + Send + 'static,
    ) -> Result<Option<SessionEntry>, StoreError> {
        let change = move |entry: &mut Option<SessionEntry>| {
            if let Some(entry) = entry {
                change(entry);
            }
        };
        self.sessions.update(key, Box::new(change)).await
    }
}
