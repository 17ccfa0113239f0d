//! What a turn comes to.

use std::sync::Arc;

use yabby_domain::json::{Object, Value, number};
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
    pub system_prompt_report: Option<Arc<Object>>,
    /// The answer was complete before the engine was started: it may have been told already.
    pub is_replay: bool,
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
            is_replay: false,
        }
    }

    /// The answer as the reference tells it (`cli.md` §1, `gateway.md` §5.1).
    pub fn to_json(&self) -> Value {
        let payload = |payload: &ReplyPayload| {
            let mut object = Object::new();
            object.insert("text".to_owned(), payload.text.clone().unwrap_or_default().into());
            object.insert("mediaUrl".to_owned(), payload.media_url.clone().map_or(Value::Null, Value::from));
            if let Some(urls) = payload.media_urls.clone().filter(|urls| !urls.is_empty()) {
                object.insert("mediaUrls".to_owned(), urls.into());
            }
            if payload.is_error == Some(true) {
                object.insert("isError".to_owned(), true.into());
            }
            Value::Object(object)
        };
        let mut agent = Object::new();
        agent.insert("sessionId".to_owned(), self.session_id.clone().unwrap_or_default().into());
        if let Some(model) = &self.model {
            agent.insert("provider".to_owned(), model.provider.clone().into());
            agent.insert("model".to_owned(), model.model.clone().into());
        }
        // A model that was asked and did not answer used nothing.
        let usage = self.usage.or_else(|| self.asked_model().then(Usage::default));
        if let Some(usage) = &usage {
            let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write]
                .map(|part| part.unwrap_or(0.0));
            let names = ["input", "output", "cacheRead", "cacheWrite"];
            let mut object: Object = names.into_iter().map(str::to_owned).zip(parts.map(number)).collect();
            object.insert("total".to_owned(), number(usage.total.unwrap_or_else(|| parts.iter().sum())));
            agent.insert("usage".to_owned(), Value::Object(object));
        }
        let mut meta = Object::new();
        meta.insert("durationMs".to_owned(), self.duration_ms.into());
        meta.insert("agentMeta".to_owned(), Value::Object(agent));
        meta.insert("aborted".to_owned(), (self.outcome == Outcome::Aborted).into());
        if let Some(report) = &self.system_prompt_report {
            meta.insert("systemPromptReport".to_owned(), Value::Object(Object::clone(report)));
        }
        if let Some(error) = &self.error {
            meta.insert("error".to_owned(), error.clone().into());
        }
        let payloads: Vec<Value> = self.payloads.iter().map(payload).collect();
        Value::Object(Object::from_iter([
            ("payloads".to_owned(), payloads.into()),
            ("meta".to_owned(), Value::Object(meta)),
        ]))
    }

    /// Whether a model was told about the message.
    pub fn asked_model(&self) -> bool {
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
