//! Fork: a new session that goes on from the conversation of another one. The source is only read.

use yabby_domain::id::AgentId;
use yabby_domain::seam::{Fork, Part, StoreError};
use yabby_domain::session::address::Address;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::label::{LabelError, parse_label};
use yabby_domain::session::renew::forked;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::fork::NoSource;

use super::SessionScope;
use super::label::{LabelConflict, ensure_label_is_free};

/// What is forked, and what the fork is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRequest {
    pub source: SessionKey,
    /// The agent whose session it is.
    pub agent: AgentId,
    /// The entry to go on from; the last one if none is named.
    pub at: Option<String>,
    /// A key for the fork; one is made up if none is named.
    pub key: Option<String>,
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkOutcome {
    pub key: SessionKey,
    pub session_id: String,
    /// The name of its transcript.
    pub transcript: TranscriptId,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error(transparent)]
    LabelInUse(#[from] LabelConflict),
    #[error("a session needs a key, such as agent:{agent}:what-if")]
    BlankKey { agent: AgentId },
    #[error("{key} belongs to another agent; a fork stays with {agent}")]
    OtherAgent { key: SessionKey, agent: AgentId },
    #[error("there is a session {0} already")]
    KeyInUse(SessionKey),
    /// Another session took the key while the fork was made.
    #[error("there is a session {key} already; the fork is in {file}")]
    KeyTakenMeanwhile { key: SessionKey, file: String },
    /// The record names no transcript, or there is none.
    #[error("nothing has been said yet in {0}")]
    Silent(SessionKey),
    #[error("{0} is gone already; try again")]
    Gone(String),
    /// The transcript cannot be forked there.
    #[error(transparent)]
    NotForked(StoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Forks a session.
pub async fn fork_session(
    scope: &SessionScope,
    request: &ForkRequest,
    policy: &KeyPolicy,
    now: f64,
) -> Result<ForkOutcome, ForkError> {
    let label = request.label.as_deref().map(|label| parse_label(Some(label))).transpose()?;
    if let Some(label) = label {
        ensure_label_is_free(scope, label, None).await??;
    }
    let wanted = match &request.key {
        Some(key) => Some(free_key(scope, request, key, policy).await?),
        None => None,
    };
    let source = scope.sessions.get(&request.source).await?;
    let silent = || ForkError::Silent(request.source.clone());
    let transcript =
        source.as_ref().and_then(|entry| TranscriptId::of_record(entry).ok()).ok_or_else(silent)?;
    if scope.transcripts.peek(&transcript, Part::First(1)).await?.is_none() {
        return Err(ForkError::NotForked(NoSource(transcript.file_name()).into()));
    }
    let at = request.at.clone().map_or(Fork::Leaf, Fork::At);
    let fork = scope.transcripts.fork(&transcript, at).await.map_err(ForkError::NotForked)?;
    let loaded = scope.transcripts.load(&fork).await?;
    let session_id = loaded.ok_or_else(|| ForkError::Gone(fork.file_name()))?.session_id().to_owned();
    let beginning: String = session_id.chars().take(8).collect();
    let key = wanted.unwrap_or_else(|| SessionKey::new(format!("agent:{}:fork:{beginning}", request.agent)));
    let file = scope.file(&fork.file_name());
    let mut record = forked(source.as_ref(), &session_id, now).into_object();
    record.insert("sessionFile".to_owned(), file.as_str().into());
    if let Some(label) = label {
        record.insert("label".to_owned(), label.into());
    }
    let record = SessionEntry::new(record);
    let expected = record.clone();
    let change = move |entry: &mut Option<SessionEntry>| {
        entry.get_or_insert(record);
    };
    let kept = scope.sessions.update(&key, Box::new(change)).await?;
    if kept.as_ref().and_then(SessionEntry::session_id) != expected.session_id() {
        return Err(ForkError::KeyTakenMeanwhile { key, file });
    }
    Ok(ForkOutcome { key, session_id, transcript: fork })
}

/// The key that is wanted, if no session has it. A bare one is a key of the source's agent.
async fn free_key(
    scope: &SessionScope,
    request: &ForkRequest,
    wanted: &str,
    policy: &KeyPolicy,
) -> Result<SessionKey, ForkError> {
    let agent = || request.agent.clone();
    let wanted = text::non_blank(wanted).ok_or_else(|| ForkError::BlankKey { agent: agent() })?;
    let Address { key, agent: owner, .. } = Address::of_agent(wanted, &request.agent, policy);
    if owner != request.agent {
        return Err(ForkError::OtherAgent { key, agent: agent() });
    }
    match scope.sessions.get(&key).await? {
        Some(_) => Err(ForkError::KeyInUse(key)),
        None => Ok(key),
    }
}
