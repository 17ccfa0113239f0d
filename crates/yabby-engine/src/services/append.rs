//! Append: a message of the agent that no model made, at the end of a conversation.

use yabby_domain::message::Message;
use yabby_domain::seam::{Begin, Part, StoreError};
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::tree::NewEntry;

use super::SessionScope;

#[derive(Clone, Debug, thiserror::Error)]
pub enum AppendError {
    /// There is no record, or it has no session id.
    #[error("session not found")]
    NoSession,
    #[error("transcript file not found")]
    NoTranscript,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What becomes of a message where nothing has been said yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WithoutTranscript {
    Refuse,
    /// It begins the conversation, in this folder of work.
    Begin {
        cwd: String,
    },
}

/// Puts a message at the end of a conversation; the id of its entry.
pub async fn append_message(
    scope: &SessionScope,
    key: &SessionKey,
    message: Message,
    without: WithoutTranscript,
) -> Result<String, AppendError> {
    let entry = scope.sessions.get(key).await?.ok_or(AppendError::NoSession)?;
    let session_id = entry.session_id().filter(|id| !id.is_empty()).ok_or(AppendError::NoSession)?.to_owned();
    let id = TranscriptId::of_record(&entry).map_err(|_| AppendError::NoTranscript)?;
    let cwd = match without {
        WithoutTranscript::Begin { cwd } => cwd,
        WithoutTranscript::Refuse if scope.transcripts.peek(&id, Part::First(1)).await?.is_none() => {
            return Err(AppendError::NoTranscript);
        }
        WithoutTranscript::Refuse => String::new(),
    };
    let mut writer = scope.transcripts.open(&id, Begin { session_id, cwd, parent: None }).await?;
    let ids = writer.append(vec![NewEntry::Message(message)]).await?;
    ids.into_iter().next_back().ok_or(AppendError::NoTranscript)
}
