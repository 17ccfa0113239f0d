//! Undoing a compaction: back to what the last one summarised or dropped. Nothing is deleted.

use yabby_domain::seam::{ContextSize, StoreError, UndoneCompaction};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::file_name::TranscriptId;

use super::SessionScope;

/// What is back, and how much of the conversation the model gets now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The conversation continues on a branch that begins before a summary.
    Summary {
        /// The id of the compaction entry, if it has one.
        compaction: Option<String>,
        /// How many entries were copied to the new branch.
        copied: usize,
        context: ContextSize,
    },
    /// Lines that were dropped.
    Lines {
        restored: usize,
        /// The name of the file that they were restored from.
        backup: String,
        context: ContextSize,
    },
}

impl UndoOutcome {
    pub fn context(&self) -> ContextSize {
        match self {
            Self::Summary { context, .. } | Self::Lines { context, .. } => *context,
        }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum UndoError {
    /// There is no conversation.
    #[error("nothing has been said yet in {0}")]
    Silent(SessionKey),
    #[error("no compaction in {0} is left to undo; the model is told all of it")]
    NothingToUndo(SessionKey),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Undoes the last compaction of a session, and records how long its conversation is estimated to be now.
pub async fn undo_compaction(scope: &SessionScope, key: &SessionKey) -> Result<UndoOutcome, UndoError> {
    let silent = || UndoError::Silent(key.clone());
    let entry = scope.sessions.get(key).await?.ok_or_else(silent)?;
    let transcript = TranscriptId::of_record(&entry).map_err(|_| silent())?;
    let outcome = match scope.transcripts.undo_compaction(&transcript).await? {
        UndoneCompaction::Missing => return Err(silent()),
        UndoneCompaction::Nothing => return Err(UndoError::NothingToUndo(key.clone())),
        UndoneCompaction::Summary { compaction, copied, context } => {
            UndoOutcome::Summary { compaction, copied, context }
        }
        UndoneCompaction::Lines { restored, backup, context } => {
            UndoOutcome::Lines { restored, backup, context }
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = outcome.context().tokens as f64;
    scope.update_existing(key, move |entry| entry.take(recounted(Some(tokens)))).await?;
    Ok(outcome)
}
