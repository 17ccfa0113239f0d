//! Commands that wait until somebody allows them (`gateway.md` §4, §7 `exec.approval.*`): those of our own runs,
//! and those that clients ask about.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use yabby_domain::device::Role;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::office::{Decision, Question};
use yabby_domain::session::key::SessionKey;
use yabby_engine::approvals::{Approver, TIME_LIMIT};
use yabby_engine::events::{EngineEvent, EventKind};

use crate::hub::{APPROVALS, Client, Weight};
use crate::{Gateway, unpoisoned};

/// The capability of a command line at which somebody sits; one of our own.
const ANSWERS: &str = "approvals";

/// Shared, since some clients ask and others answer.
#[derive(Default)]
pub(crate) struct Approvals {
    /// What clients asked.
    open: Mutex<HashMap<String, oneshot::Sender<Decision>>>,
    /// Who decided what our own runs asked, until everybody was told.
    deciders: Mutex<HashMap<String, String>>,
}

/// The words for a decision; none for no decision.
pub(crate) fn told(decision: Decision) -> Value {
    match decision {
        Decision::Once => "allow-once".into(),
        Decision::Always => "allow-always".into(),
        Decision::Deny => "deny".into(),
        Decision::Unanswered => Value::Null,
    }
}

pub(crate) fn parse(decision: &str) -> Option<Decision> {
    match decision {
        "allow-once" => Some(Decision::Once),
        "allow-always" => Some(Decision::Always),
        "deny" => Some(Decision::Deny),
        _ => None,
    }
}

/// What a question depends on, in the words of the reference.
pub(crate) const ASKED: [&str; 8] =
    ["command", "cwd", "host", "security", "ask", "agentId", "resolvedPath", "sessionKey"];

impl Gateway {
    /// Whoever sees questions and may answer them, for as long as they are connected. A command line leaves
    /// again, and nobody should wait for it, unless it says that somebody sits there who answers.
    pub(crate) fn approver(&self, client: &Client) -> Option<Approver> {
        let is_asked = client.role == Role::Operator && client.scopes.iter().any(|scope| scope == APPROVALS);
        let says_so = client.about.capabilities.iter().any(|capability| capability == ANSWERS);
        let stays = !client.about.is_command_line() && client.about.mode != "probe";
        let answers = is_asked && (stays || says_so);
        answers.then(|| self.engine.approver())
    }

    /// Asks whoever may answer, on behalf of a client; `None` if such a question waits already.
    /// It stands for as long as they are there and want to wait.
    pub(crate) async fn ask_approval(
        &self,
        id: &str,
        request: Object,
        limit: Duration,
        client: &Client,
    ) -> Option<Asked> {
        let (decide, decided) = oneshot::channel();
        {
            let mut open = unpoisoned(&self.approvals.open);
            if open.contains_key(id) || self.engine.open_questions().iter().any(|open| open.id == id) {
                return None;
            }
            open.insert(id.to_owned(), decide);
        }
        let created = self.now();
        let asked =
            Asked { created, expires: created.saturating_add(millis(limit)), decision: Decision::Unanswered };
        self.tell_asked(id, request, &asked);
        let decision = tokio::select! {
            decision = decided => decision.unwrap_or(Decision::Unanswered),
            () = tokio::time::sleep(limit) => Decision::Unanswered,
            _ = client.out.ended() => {
                self.tell_decided(id, Decision::Unanswered, None);
                Decision::Unanswered
            }
        };
        unpoisoned(&self.approvals.open).remove(id);
        Some(Asked { decision, ..asked })
    }

    fn tell_asked(&self, id: &str, request: Object, asked: &Asked) {
        let payload = json!({
            "id": id,
            "request": request,
            "createdAtMs": asked.created,
            "expiresAtMs": asked.expires,
        });
        self.tell("exec.approval.requested", &payload, Weight::Droppable, Some(APPROVALS));
    }

    fn tell_decided(&self, id: &str, decision: Decision, by: Option<String>) {
        let payload = json!({"id": id, "decision": told(decision), "resolvedBy": by, "ts": self.now()});
        self.tell("exec.approval.resolved", &payload, Weight::Droppable, Some(APPROVALS));
    }

    /// Tells what our own runs ask, and what was decided.
    pub(crate) fn tell_approval(&self, event: EngineEvent) {
        let EngineEvent { session, kind, at, .. } = event;
        match kind {
            EventKind::ApprovalRequested { id, question } => {
                let expires = at.saturating_add(millis(TIME_LIMIT));
                let asked = Asked { created: at, expires, decision: Decision::Unanswered };
                self.tell_asked(&id, request(&question, &session), &asked);
            }
            EventKind::ApprovalResolved { id, decision } => {
                let by = unpoisoned(&self.approvals.deciders).remove(&id);
                self.tell_decided(&id, decision, by);
            }
            _ => {}
        }
    }

    /// Decides; whether there was such a question. Everybody is told.
    pub(crate) fn decide_approval(&self, id: &str, decision: Decision, client: &Client) -> bool {
        let by = client.about.display_name.clone().unwrap_or_else(|| client.about.id.clone());
        let asked = unpoisoned(&self.approvals.open).remove(id);
        if let Some(asked) = asked {
            let _ = asked.send(decision);
            self.tell_decided(id, decision, Some(by));
            return true;
        }
        if !self.engine.open_questions().iter().any(|open| open.id == id) {
            return false;
        }
        unpoisoned(&self.approvals.deciders).insert(id.to_owned(), by);
        let decided = self.engine.decide(id, decision);
        if !decided {
            unpoisoned(&self.approvals.deciders).remove(id);
        }
        decided
    }
}

/// What became of a question.
pub(crate) struct Asked {
    pub(crate) created: i64,
    pub(crate) expires: i64,
    pub(crate) decision: Decision,
}

fn request(question: &Question, session: &SessionKey) -> Object {
    let known = json!({
        "command": question.command,
        "cwd": question.folder,
        "host": "gateway",
        "security": question.security,
        "ask": question.ask,
        "agentId": session.agent_id().as_str(),
        "resolvedPath": question.program,
        "sessionKey": session.as_str(),
    });
    known.as_object().cloned().unwrap_or_default()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
