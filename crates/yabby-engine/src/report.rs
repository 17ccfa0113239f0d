//! What a turn comes to.

use yabby_domain::json::Object;
use yabby_domain::model::ModelRef;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::key::SessionKey;
use yabby_domain::turn::{Outcome, TurnId};
use yabby_domain::usage::Usage;

#[derive(Clone, Debug, PartialEq)]
pub struct TurnReport {
    pub turn: TurnId,
    /// The turn whose run answered, if it was another one's.
    pub answered_by: Option<TurnId>,
    pub session_key: SessionKey,
    pub session_id: Option<String>,
    pub outcome: Outcome,
    /// What was said, whether it was sent or is for the caller.
    pub payloads: Vec<ReplyPayload>,
    pub error: Option<String>,
    pub model: Option<ModelRef>,
    /// What the last call of the model used.
    pub usage: Option<Usage>,
    pub duration_ms: u64,
    pub system_prompt_report: Option<Object>,
}

impl TurnReport {
    pub(crate) fn new(turn: &TurnId, session_key: &SessionKey, outcome: Outcome) -> Self {
        Self {
            turn: turn.clone(),
            answered_by: None,
            session_key: session_key.clone(),
            session_id: None,
            outcome,
            payloads: Vec::new(),
            error: None,
            model: None,
            usage: None,
            duration_ms: 0,
            system_prompt_report: None,
        }
    }

    /// Whether a model was told about the message.
    pub(crate) fn asked_model(&self) -> bool {
        self.system_prompt_report.is_some()
    }

    /// The report of a message that another turn's run took along.
    pub(crate) fn joined(&self, turn: &TurnId) -> Self {
        let outcome = match self.outcome {
            Outcome::Answered => Outcome::Joined,
            other => other,
        };
        Self { answered_by: Some(self.turn.clone()), payloads: Vec::new(), outcome, ..self.with_turn(turn) }
    }

    fn with_turn(&self, turn: &TurnId) -> Self {
        Self { turn: turn.clone(), ..self.clone() }
    }
}
