//! `exec.approval.request`: asks whoever may answer whether a command may run, and waits (`gateway.md` §7).

use std::time::Duration;

use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;

use super::{Access, Call, Listing, Method};
use crate::approvals::{ASKED, told};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, TEXT, at_least, optional, required};

const WORDS: Schema = Schema::OneOf(&[TEXT, Schema::Null]);

pub(super) const METHOD: Method = Method {
    name: "exec.approval.request",
    access: Access::Approvals,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        optional("id", NON_EMPTY),
        required("command", NON_EMPTY),
        optional("cwd", WORDS),
        optional("host", WORDS),
        optional("security", WORDS),
        optional("ask", WORDS),
        optional("agentId", WORDS),
        optional("resolvedPath", WORDS),
        optional("sessionKey", WORDS),
        optional("timeoutMs", at_least(1)),
    ]),
    about: "Asks whether a command may run, and waits for the answer.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    const USUAL_MS: f64 = 120_000.0;
    let named = call.text("id").and_then(text::non_blank).map(str::to_owned);
    let id = named.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    let said = |name: &str| call.params.get(name).cloned().unwrap_or(Value::Null);
    let request: Object = ASKED.into_iter().map(|name| (name.to_owned(), said(name))).collect();
    let limit = Duration::from_secs_f64(call.number("timeoutMs").unwrap_or(USUAL_MS).min(1e12) / 1000.0);
    let asked = call.gateway.ask_approval(&id, request, limit.min(super::LONGEST_WAIT), &call.client).await;
    let asked = asked.ok_or_else(|| Refusal::invalid("approval id already pending"))?;
    Ok(json!({
        "id": id,
        "decision": told(asked.decision),
        "createdAtMs": asked.created,
        "expiresAtMs": asked.expires,
    }))
}
