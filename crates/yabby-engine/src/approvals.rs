//! Commands that wait until a person allows them.
//!
//! Whoever can answer says so by holding an [`Approver`]; without one nobody is asked, and nobody waits. In a
//! conversation of the owner, the question is also sent there, and `/approve` answers it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use yabby_domain::seam::office::{Decision, Question};
use yabby_domain::session::key::SessionKey;

use crate::events::EventKind;
use crate::{Engine, fresh_id, unpoisoned};

/// How long a question stands.
pub const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Shared, since runs ask and clients answer.
#[derive(Default)]
pub(crate) struct Approvals {
    /// In the order of asking.
    open: Mutex<Vec<Open>>,
    approvers: AtomicUsize,
}

impl Approvals {
    /// Takes a question off the list, if exactly one is meant.
    fn take(&self, is_meant: impl Fn(&str) -> bool) -> Option<Open> {
        let mut open = unpoisoned(&self.open);
        let mut meant = open.iter().enumerate().filter(|(_, open)| is_meant(&open.asked.id));
        match (meant.next(), meant.next()) {
            (Some((only, _)), None) => Some(open.remove(only)),
            _ => None,
        }
    }
}

struct Open {
    asked: OpenQuestion,
    decided: oneshot::Sender<Decision>,
}

/// A question that nobody has answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    pub id: String,
    pub session: SessionKey,
    pub question: Question,
}

/// Somebody who answers questions, for as long as this is held.
pub struct Approver(Engine);

impl Drop for Approver {
    fn drop(&mut self) {
        self.0.0.approvals.approvers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Engine {
    /// From now on there is somebody who sees [`EventKind::ApprovalRequested`] and answers.
    pub fn approver(&self) -> Approver {
        self.0.approvals.approvers.fetch_add(1, Ordering::Relaxed);
        Approver(self.clone())
    }

    /// The questions that wait for an answer, the oldest first.
    pub fn open_questions(&self) -> Vec<OpenQuestion> {
        unpoisoned(&self.0.approvals.open).iter().map(|open| open.asked.clone()).collect()
    }

    /// Answers a question, which may be named by the beginning of its name; whether there was one such.
    pub fn decide(&self, id: &str, decision: Decision) -> bool {
        let answered = self.0.approvals.take(|known| !id.is_empty() && known.starts_with(id));
        let Some(Open { asked, decided }) = answered else { return false };
        self.tell(&asked.session, None, EventKind::ApprovalResolved { id: asked.id, decision });
        decided.send(decision).is_ok()
    }

    /// Asks whoever can answer. `announced` tells the session's own people; it may find nobody, too.
    pub(crate) async fn ask(
        &self,
        session: &SessionKey,
        question: Question,
        announced: impl AsyncFnOnce(&str) -> bool,
    ) -> Decision {
        let id = fresh_id();
        let (decided, decision) = oneshot::channel();
        let asked = OpenQuestion { id: id.clone(), session: session.clone(), question: question.clone() };
        unpoisoned(&self.0.approvals.open).push(Open { asked, decided });
        let watched = self.0.approvals.approvers.load(Ordering::Relaxed) > 0;
        // Whoever stops waiting leaves no question behind.
        let _closing = Closing { engine: self, id: &id, watched };
        if watched {
            self.tell(session, None, EventKind::ApprovalRequested { id: id.clone(), question });
        }
        if !announced(&id).await && !watched {
            return Decision::Unanswered;
        }
        match tokio::time::timeout(TIME_LIMIT, decision).await {
            Ok(Ok(decision)) => decision,
            Ok(Err(_)) | Err(_) => Decision::Unanswered,
        }
    }
}

struct Closing<'c> {
    engine: &'c Engine,
    id: &'c str,
    /// Somebody was told of the question.
    watched: bool,
}

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let open = self.engine.0.approvals.take(|known| known == self.id);
        if let Some(open) = open.filter(|_| self.watched) {
            let kind = EventKind::ApprovalResolved { id: self.id.to_owned(), decision: Decision::Unanswered };
            self.engine.tell(&open.asked.session, None, kind);
        }
    }
}
