//! `sessions.undoCompaction` (ours): back to what the last compaction summarised or dropped. Nothing is deleted.

use serde_json::json;
use yabby_domain::json;
use yabby_engine::services::UndoOutcome;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.undoCompaction",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY)]),
    about: "Goes back to what the last compaction summarised or dropped.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let undone = gateway.engine.undo_compaction(&session.agent, &session.key).await?;
    let context = undone.context();
    let mut told = json!({"ok": true, "key": session.key.as_str()});
    match undone {
        UndoOutcome::Summary { compaction, copied, .. } => {
            told["compaction"] = compaction.into();
            told["copied"] = copied.into();
        }
        UndoOutcome::Lines { restored, backup, .. } => {
            told["restored"] = restored.into();
            told["backup"] = session.file(&backup).into();
        }
    }
    told["messages"] = context.messages.into();
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = context.tokens as f64;
    told["totalTokens"] = json::number(tokens);
    Ok(told)
}
