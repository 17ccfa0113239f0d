//! `chat.send`: says something in a session, as a person in a browser does. It is answered when the message is on
//! record; what comes of it is told by events (`gateway.md` §5.4).

use serde_json::json;
use yabby_domain::command::is_abort_word;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::text;
use yabby_domain::transcript::mirror::injected_message;
use yabby_domain::turn::{Outcome, TurnOptions};
use yabby_engine::{TurnHandle, TurnReport};

use super::chat_abort::stop;
use super::{Access, Call, Listing, Method, attachments};
use crate::asking::{self, Asked, Question, WEBCHAT};
use crate::frames::{Answer, Refusal};
use crate::runs::{self, Ending, Run};
use crate::schema::{BOOLEAN, COUNT, NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "chat.send",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("sessionKey", NON_EMPTY),
        required("message", TEXT),
        optional("thinking", TEXT),
        optional("deliver", BOOLEAN),
        optional("attachments", Schema::List { of: &Schema::Any, min: 0, max: usize::MAX }),
        optional("timeoutMs", COUNT),
        required("idempotencyKey", NON_EMPTY),
    ]),
    about: "Says something in a session; the answer comes as events.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let told_key = call.text("sessionKey").unwrap_or_default().to_owned();
    let said = call.text("message").unwrap_or_default().to_owned();
    let run_id = call.text("idempotencyKey").unwrap_or_default().to_owned();
    let pictures = attachments::pictures(&call.params)?;
    if text::non_blank(&said).is_none() && pictures.is_empty() {
        return Err(Refusal::invalid("message or attachment required"));
    }
    let gateway = &call.gateway;
    let _turn = call.turn_in(&told_key).await;
    let named = gateway.named(&told_key).await?;
    gateway.check_send_policy(&named, &gateway.config())?;
    let word = text::trim(&said);
    if word.eq_ignore_ascii_case("/stop") || is_abort_word(word) {
        return Ok(stop(gateway, &named.key, "stop").await);
    }
    let remembered = format!("chat:{run_id}");
    if let Some(answer) = gateway.dedupe.find(&remembered) {
        return answer;
    }
    if gateway.runs.recorded(&run_id).await.is_some() {
        return Ok(json!({"runId": run_id, "status": "in_flight"}));
    }
    let about = &call.client.about;
    let message = InboundMessage {
        provider: Some(WEBCHAT.to_owned()),
        surface: Some(WEBCHAT.to_owned()),
        originating_channel: Some(WEBCHAT.to_owned()),
        chat_type: Some("direct".to_owned()),
        message_id: Some(run_id.clone()),
        sender_id: Some(about.id.clone()),
        sender_name: about.display_name.clone(),
        sender_username: about.display_name.clone(),
        ..asking::spoken(gateway, &said)
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of milliseconds")]
    let timeout_ms = call.number("timeoutMs").filter(|limit| *limit > 0.0).map(|limit| longest(limit as u64));
    let thinking = call.text("thinking").and_then(text::non_blank).map(str::to_owned);
    let question = Question {
        run_id: &run_id,
        key: &named.key,
        told_key: &told_key,
        message,
        options: TurnOptions { timeout_ms, thinking, pictures, ..TurnOptions::default() },
        dedupe: remembered.clone(),
    };
    match asking::ask(gateway, &call.client, question).await? {
        Asked::Accepted(ticket, run, held) => {
            let following = call.clone();
            call.after_answer(move || {
                drop(held);
                tokio::spawn(async move { follow(&following, ticket, &run, &remembered).await });
            });
            Ok(json!({"runId": run_id, "status": "started"}))
        }
        Asked::Repeated if gateway.runs.active(&run_id).is_some() => {
            Ok(json!({"runId": run_id, "status": "in_flight"}))
        }
        // It came before, perhaps before we were started, and was answered.
        Asked::Repeated => Ok(json!({"runId": run_id, "status": "ok"})),
    }
}

/// How long a run may take whose client wants to wait for so long: the wish is about the client's patience, and a run
/// that is nearly done is worth a little more (`gateway.md` §8).
fn longest(patience_ms: u64) -> u64 {
    const MINUTE: u64 = 60_000;
    patience_ms.saturating_add(MINUTE).clamp(2 * MINUTE, 24 * 60 * MINUTE)
}

/// Tells the end of the run.
async fn follow(call: &Call, ticket: TurnHandle, run: &std::sync::Arc<Run>, remembered: &str) {
    let gateway = &call.gateway;
    let ending = match ticket.done.await {
        Ok(report) => runs::ending_of(&report, told(call, run, &report).await),
        Err(_) => Ending::Failed(asking::INTERRUPTED.to_owned()),
    };
    let answer = match &ending {
        Ending::Failed(error) => {
            let payload = json!({"runId": run.id, "status": "error", "summary": error});
            Err(Refusal::unavailable(error.clone()).with_payload(payload))
        }
        Ending::OfRun { .. } | Ending::Injected(_) | Ending::Replay(_) | Ending::NotAnswered(_) => {
            Ok(json!({"runId": run.id, "status": "ok"}))
        }
    };
    gateway.dedupe.remember(remembered, &answer);
    gateway.runs.finish(run, ending).await;
}

/// What the program itself said, which is kept in the conversation.
async fn told(call: &Call, run: &Run, report: &TurnReport) -> Option<yabby_domain::json::Value> {
    if report.asked_model() || report.outcome != Outcome::Answered {
        return None;
    }
    let texts: Vec<&str> =
        report.payloads.iter().filter_map(|payload: &ReplyPayload| payload.text.as_deref()).collect();
    let said = text::non_blank(&texts.join("\n\n")).map(str::to_owned)?;
    let gateway = &call.gateway;
    let message = injected_message(&said, None, gateway.timestamp());
    let kept = match gateway.named(run.key.as_str()).await {
        Ok(named) => asking::say(gateway, &named, &message).await,
        Err(refusal) => Err(refusal),
    };
    if let Err(refusal) = kept {
        tracing::warn!(session = %run.key, why = %refusal, "what was said is not in the transcript");
    }
    Some(asking::value_of(&message))
}
