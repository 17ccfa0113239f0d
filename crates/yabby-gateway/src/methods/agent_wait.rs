//! `agent.wait`: waits for the end of a run.

use std::time::Duration;

use serde_json::json;
use yabby_domain::json::Value;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::runs::ms;
use crate::schema::{COUNT, NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "agent.wait",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("runId", NON_EMPTY), optional("timeoutMs", COUNT)]),
    about: "Waits until a run is over, half a minute unless told otherwise.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let run = call.text("runId").unwrap_or_default().trim().to_owned();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of milliseconds")]
    let limit = Duration::from_millis(call.number("timeoutMs").unwrap_or(30_000.0) as u64);
    let ended = tokio::select! {
        ended = call.gateway.runs.ended(&run) => ended,
        () = tokio::time::sleep(limit.min(super::LONGEST_WAIT)) => {
            return Ok(json!({"runId": run, "status": "timeout"}));
        }
        _ = call.client.out.ended() => return Err(Refusal::unavailable(super::LEFT)),
    };
    let status = if ended.error.is_some() { "error" } else { "ok" };
    let mut answer = json!({"runId": run, "status": status});
    if let Value::Object(answer) = &mut answer {
        if let Some(at) = ended.started_at {
            answer.insert("startedAt".to_owned(), ms(at));
        }
        answer.insert("endedAt".to_owned(), ms(ended.ended_at));
        if let Some(error) = ended.error {
            answer.insert("error".to_owned(), error.into());
        }
    }
    Ok(answer)
}
