//! The services of an engine, in whose sessions turns may run: what changes a conversation has the lane of its session
//! to itself.

use std::sync::atomic::AtomicI64;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard, oneshot};
use yabby_domain::id::AgentId;
use yabby_domain::message::Message;
use yabby_domain::seam::StoreError;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::transcript::line_compact::MaxLines;

use super::{
    AppendError, CompactOutcome, DeleteError, DeleteOutcome, DeleteRequest, ForkError, ForkOutcome,
    ForkRequest, ResetOutcome, SessionScope, UndoError, UndoOutcome, WithoutTranscript,
};
use crate::{Engine, later_than};

/// How long a session may take to stop.
const STOPPING: Duration = Duration::from_secs(15);

/// A session that is the holder's alone: no turn runs in it until this is dropped.
#[derive(Debug)]
pub(crate) struct SessionHold(
    #[expect(dead_code, reason = "dropped to let go")] pub(crate) oneshot::Sender<()>,
);

/// What becomes of the turns of a session that is to be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoldMode {
    /// They are stopped, and what waits is given up.
    Stopping,
    /// The one that runs comes to its end; what waits is taken afterwards.
    BetweenTurns,
}

/// The turn of a session did not end in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Session {0} is still active; try again in a moment.")]
pub struct SessionBusy(pub SessionKey);

/// Why a service did not act on a session.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InLaneError<E> {
    #[error(transparent)]
    Busy(#[from] SessionBusy),
    #[error(transparent)]
    Service(E),
}

/// What services that change records share.
#[derive(Debug)]
pub(crate) struct ServiceState {
    /// Names are given by one at a time, so that no two sessions get the same.
    labelling: Mutex<()>,
    /// When a session was changed last by a service.
    last_change: AtomicI64,
}

impl Default for ServiceState {
    fn default() -> Self {
        Self { labelling: Mutex::default(), last_change: AtomicI64::new(i64::MIN) }
    }
}

impl ServiceState {
    pub(super) async fn labelling(&self) -> MutexGuard<'_, ()> {
        self.labelling.lock().await
    }
}

impl Engine {
    /// Begins a session anew; its turns are stopped first.
    pub async fn reset_session(
        &self,
        agent: &AgentId,
        key: &SessionKey,
    ) -> Result<ResetOutcome, InLaneError<StoreError>> {
        let scope = self.scope(agent)?;
        let (key, now) = (key.clone(), self.changed_at());
        self.hold_and(key.clone(), HoldMode::Stopping, async move {
            super::reset_session(&scope, &key, now).await
        })
        .await
    }

    /// Deletes a session; its turns are stopped first.
    pub async fn delete_session(
        &self,
        agent: &AgentId,
        request: DeleteRequest,
    ) -> Result<DeleteOutcome, InLaneError<DeleteError>> {
        let scope = self.scope(agent)?;
        request.check(&KeyPolicy::from_config(&self.config())).map_err(InLaneError::Service)?;
        self.hold_and(request.key.clone(), HoldMode::Stopping, async move {
            Ok(super::delete_session(&scope, &request).await?)
        })
        .await
    }

    /// Shortens a conversation to its last lines, between two turns.
    pub async fn compact_lines(
        &self,
        agent: &AgentId,
        key: &SessionKey,
        keep: MaxLines,
    ) -> Result<CompactOutcome, InLaneError<StoreError>> {
        let scope = self.scope(agent)?;
        let (key, now) = (key.clone(), self.changed_at());
        self.hold_and(key.clone(), HoldMode::BetweenTurns, async move {
            super::compact_lines(&scope, &key, keep, now).await
        })
        .await
    }

    /// Undoes the last compaction of a session, between two turns.
    pub async fn undo_compaction(
        &self,
        agent: &AgentId,
        key: &SessionKey,
    ) -> Result<UndoOutcome, InLaneError<UndoError>> {
        let (scope, key) = (self.scope(agent)?, key.clone());
        self.hold_and(key.clone(), HoldMode::BetweenTurns, async move {
            super::undo_compaction(&scope, &key).await
        })
        .await
    }

    /// Puts a message at the end of a conversation, between two turns.
    pub async fn append_message(
        &self,
        agent: &AgentId,
        key: &SessionKey,
        message: Message,
        without: WithoutTranscript,
    ) -> Result<String, InLaneError<AppendError>> {
        let (scope, key) = (self.scope(agent)?, key.clone());
        self.hold_and(key.clone(), HoldMode::BetweenTurns, async move {
            super::append_message(&scope, &key, message, without).await
        })
        .await
    }

    /// Forks a session. That only reads it, and so needs no lane.
    pub async fn fork_session(&self, request: &ForkRequest) -> Result<ForkOutcome, ForkError> {
        let scope = self.home(&request.agent)?.scope();
        let _labelling = self.0.services.labelling().await;
        let policy = KeyPolicy::from_config(&self.config());
        super::fork_session(&scope, request, &policy, self.changed_at()).await
    }

    /// The sessions of an agent.
    fn scope<E: From<StoreError>>(&self, agent: &AgentId) -> Result<SessionScope, InLaneError<E>> {
        Ok(self.home(agent).map_err(|error| InLaneError::Service(E::from(error)))?.scope())
    }

    /// The time of a change of a session. It is later than the one before, however soon it comes after it: in lists, what
    /// was changed last stands first.
    pub(super) fn changed_at(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
        let at = later_than(&self.0.services.last_change, self.now_ms()) as f64;
        at
    }

    /// Does something to a session while no turn runs in it. It is done to its end, whoever stops waiting for it.
    async fn hold_and<T: Send + 'static, E: From<StoreError> + Send + 'static>(
        &self,
        key: SessionKey,
        mode: HoldMode,
        act: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, InLaneError<E>> {
        let held = tokio::time::timeout(STOPPING, self.0.lanes.hold(self, &key, mode)).await;
        let Ok(Ok(hold)) = held else { return Err(SessionBusy(key).into()) };
        let acting = tokio::spawn(async move {
            let done = act.await;
            drop(hold);
            done
        });
        match acting.await {
            Ok(done) => done.map_err(InLaneError::Service),
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => {
                    Err(InLaneError::Service(StoreError::Closed { path: "the engine".to_owned() }.into()))
                }
            },
        }
    }
}
