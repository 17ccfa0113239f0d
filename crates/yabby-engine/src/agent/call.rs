//! One call of a model: what is heard of it on the way, and how it ends.

use std::time::Instant;

use yabby_domain::ledger::CallRecord;
use yabby_domain::seam::model::{Answer, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Purpose};

use yabby_domain::usage::Usage;

use super::bounded_stream::stream_bounded;
use super::request::RunRequest;
use crate::durability::Recorded;
use crate::events::{Call, EventKind};

/// How a call ended.
pub(crate) enum Called {
    Answered(Answer),
    Failed {
        said: String,
        error: ModelError,
    },
    /// Somebody stopped it.
    Aborted {
        said: String,
    },
}

/// Asks the model once.
pub(crate) async fn call_model(
    request: &RunRequest<'_>,
    asked: &ModelRequest,
    _recorded: &Recorded,
) -> Called {
    let RunRequest { engine, opened, control, turn, .. } = request;
    if let Some(error) = refusal(request, request.purpose) {
        return Called::Failed { said: String::new(), error };
    }
    let began = Instant::now();
    let mut said = String::new();
    let is_turn = request.purpose == Purpose::Turn;
    let called = {
        let mut heard = |event: ModelEvent| match event {
            ModelEvent::Text(text) => {
                said.push_str(&text);
                if is_turn {
                    if let Some(blocks) = &request.blocks {
                        blocks.text(&text);
                    }
                    engine.tell(&opened.key, Some(turn), EventKind::Text(text));
                }
            }
            ModelEvent::Thinking(text) if is_turn => {
                engine.tell(&opened.key, Some(turn), EventKind::Thinking(text));
            }
            ModelEvent::Thinking(_) | ModelEvent::ToolCall { .. } | ModelEvent::ToolArguments { .. } => {}
        };
        let asking = stream_bounded(&*request.choice.provider, asked, &mut heard);
        tokio::select! {
            biased;
            () = control.cancel.cancelled() => None,
            () = tokio::time::sleep_until(request.deadline) => Some(Err(timed_out())),
            answer = asking => Some(answer),
        }
    };
    match called {
        Some(Ok(answer)) => {
            account(request, request.purpose, &answer, began);
            Called::Answered(answer)
        }
        // Some services quote the key that they refuse.
        Some(Err(error)) => {
            let message = engine.0.secrets.redact(&error.message).into_owned();
            Called::Failed { said, error: ModelError { message, ..error } }
        }
        None => Called::Aborted { said },
    }
}

pub(crate) fn timed_out() -> ModelError {
    ModelError::new(
        ModelErrorKind::TimedOut,
        "There was no answer in time. Try again, or allow more with `agents.defaults.timeoutSeconds`.",
    )
}

/// Puts a call on the books.
pub(crate) fn account(request: &RunRequest<'_>, purpose: Purpose, answer: &Answer, began: Instant) {
    let RunRequest { engine, opened, .. } = request;
    let cost =
        request.choice.prices(&opened.config).map(|prices| prices.parts_of(&answer.usage).iter().sum());
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let call = Call { model: request.choice.model.clone(), purpose, usage: answer.usage, cost, duration_ms };
    engine.0.ledger.record(record(request, &call));
    engine.tell(&opened.key, Some(request.turn), EventKind::Called(call));
}

/// Why a call must not be made: a budget is used up.
pub(crate) fn refusal(request: &RunRequest<'_>, purpose: Purpose) -> Option<ModelError> {
    let RunRequest { engine, choice, .. } = request;
    let call =
        Call { model: choice.model.clone(), purpose, usage: Usage::default(), cost: None, duration_ms: 0 };
    let why = engine.0.ledger.refusal(&record(request, &call), &engine.0.zone)?;
    Some(ModelError::new(ModelErrorKind::Refused, why))
}

fn record(request: &RunRequest<'_>, call: &Call) -> CallRecord {
    let record = CallRecord {
        at: request.engine.now_ms(),
        session_key: request.opened.key.as_str().to_owned(),
        session_id: request.opened.session_id.clone(),
        agent: request.agent.as_str().to_owned(),
        provider: call.model.provider.clone(),
        model: call.model.model.clone(),
        purpose: call.purpose,
        cost: call.cost,
        turn: Some(request.turn.as_str().to_owned()),
        duration_ms: call.duration_ms,
        sender: request.sender.clone(),
        ..CallRecord::default()
    };
    record.with_usage(&call.usage)
}
