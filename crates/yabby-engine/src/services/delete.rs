//! Delete: the record of a session goes, its conversation is kept under another name (`gateway.md` §6).

use yabby_domain::seam::{Choice, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::Glance;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};

use super::SessionScope;

/// What is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteRequest {
    pub key: SessionKey,
    /// The transcript stays where it is.
    pub keeps_transcript: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteOutcome {
    pub existed: bool,
    /// The session was begun anew meanwhile, and that one stays.
    pub was_begun_anew: bool,
    /// What the transcript is called now, if it was put away.
    pub archived: Option<String>,
}

impl DeleteOutcome {
    pub fn is_deleted(&self) -> bool {
        self.existed && !self.was_begun_anew
    }
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum DeleteError {
    #[error("Cannot delete the main session ({0}).")]
    MainSession(SessionKey),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl DeleteRequest {
    /// The main session is never deleted: what belongs to nobody else goes there.
    pub fn check(&self, policy: &KeyPolicy) -> Result<(), DeleteError> {
        match self.key == policy.main_session() {
            true => Err(DeleteError::MainSession(self.key.clone())),
            false => Ok(()),
        }
    }
}

/// Deletes a session. A transcript that another session uses, or may use, stays.
pub async fn delete_session(
    scope: &SessionScope,
    request: &DeleteRequest,
) -> Result<DeleteOutcome, StoreError> {
    let DeleteRequest { key, keeps_transcript } = request;
    scope.index_conversations().await;
    let Some(entry) = scope.sessions.get(key).await? else {
        return Ok(DeleteOutcome { existed: false, was_begun_anew: false, archived: None });
    };
    // What can fail comes first: then nothing has changed yet.
    let archived = match TranscriptId::of_record(&entry) {
        Ok(transcript) if !keeps_transcript && !is_shared(scope, key, &entry, &transcript).await? => {
            scope.transcripts.archive(&transcript, ArchiveReason::Deleted).await?
        }
        _ => None,
    };
    let id = entry.session_id().map(str::to_owned);
    // Another process may have begun the session anew meanwhile; that one is not meant.
    let change = move |entry: &mut Option<SessionEntry>| {
        if entry.as_ref().is_some_and(|entry| entry.session_id() == id.as_deref()) {
            *entry = None;
        }
    };
    let left = scope.sessions.update(key, Box::new(change)).await?;
    Ok(DeleteOutcome { existed: true, was_begun_anew: left.is_some(), archived })
}

async fn is_shared(
    scope: &SessionScope,
    key: &SessionKey,
    entry: &SessionEntry,
    transcript: &TranscriptId,
) -> Result<bool, StoreError> {
    let (own, id, transcript) = (key.clone(), entry.session_id().map(str::to_owned), transcript.clone());
    let shares = move |_: &SessionKey, other: &Glance| transcript.may_be_shared_with(other, id.as_deref());
    let choice = Choice { keys: Box::new(move |key| *key != own), records: Some(Box::new(shares)), most: 1 };
    scope.has_any(choice).await
}
