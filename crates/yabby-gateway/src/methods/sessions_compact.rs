//! `sessions.compact`: the last lines of a conversation only (`gateway.md` §6). Other than the reference we keep
//! the header besides, without which nothing could be read any more.

use serde_json::json;
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_engine::services::CompactOutcome;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, at_least, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.compact",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY), optional("maxLines", at_least(1))]),
    about: "Shortens a conversation to its last lines; the whole is kept under another name.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let keep = MaxLines::from_value(call.params.get("maxLines")).unwrap_or_default();
    let outcome = gateway.engine.compact_lines(&session.agent, &session.key, keep).await?;
    let is_compacted = matches!(outcome, CompactOutcome::Done { .. });
    let mut told = json!({"ok": true, "key": session.key.as_str(), "compacted": is_compacted});
    match outcome {
        CompactOutcome::NoSessionId => told["reason"] = "no sessionId".into(),
        CompactOutcome::NoTranscript => told["reason"] = "no transcript".into(),
        CompactOutcome::Untouched { kept } => told["kept"] = kept.into(),
        CompactOutcome::Done { kept, archived } => {
            told["archived"] = session.file(&archived).into();
            told["kept"] = kept.into();
        }
    }
    Ok(told)
}
