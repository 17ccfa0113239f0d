//! Line compaction: the last lines of a conversation only (`transcripts.md` §7.8). The whole is kept under another
//! name.

use yabby_domain::seam::{Compacted, StoreError};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::line_compact::MaxLines;

use super::SessionScope;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactOutcome {
    /// The record has no session id.
    NoSessionId,
    NoTranscript,
    /// It is short enough.
    Untouched {
        kept: usize,
    },
    Done {
        kept: usize,
        /// What the whole conversation is called.
        archived: String,
    },
}

/// Shortens a conversation. What was counted for the whole of it says nothing about the rest, and is forgotten.
pub async fn compact_lines(
    scope: &SessionScope,
    key: &SessionKey,
    keep: MaxLines,
    now: f64,
) -> Result<CompactOutcome, StoreError> {
    let entry = scope.sessions.get(key).await?.unwrap_or_default();
    if entry.session_id().is_none_or(str::is_empty) {
        return Ok(CompactOutcome::NoSessionId);
    }
    let Ok(transcript) = TranscriptId::of_record(&entry) else { return Ok(CompactOutcome::NoTranscript) };
    match scope.transcripts.compact(&transcript, keep).await? {
        Compacted::Missing => Ok(CompactOutcome::NoTranscript),
        Compacted::Untouched { kept } => Ok(CompactOutcome::Untouched { kept }),
        Compacted::Done { kept, archived } => {
            let mut patch = recounted(None);
            patch.set_updated_at(Some(now));
            scope.update_existing(key, move |entry| entry.take(patch)).await?;
            Ok(CompactOutcome::Done { kept, archived })
        }
    }
}
