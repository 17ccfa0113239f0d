//! `sessions.undoCompaction` (ours): back to what the last compaction summarised or dropped. Nothing is deleted.

use serde_json::json;
use yabby_domain::json;
use yabby_domain::seam::UndoneCompaction;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::recounted;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
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
    let nothing = || Refusal::invalid(format!("nothing has been said yet in {}", session.key));
    let transcript = session.transcript().ok_or_else(nothing)?;
    let (mut told, context) = match session.home.transcripts.undo_compaction(&transcript).await? {
        UndoneCompaction::Missing => return Err(nothing()),
        UndoneCompaction::Nothing => {
            return Err(Refusal::invalid(format!(
                "no compaction in {} is left to undo; the model is told all of it",
                session.key
            )));
        }
        UndoneCompaction::Summary { compaction, copied, context } => (
            json!({"ok": true, "key": session.key.as_str(), "compaction": compaction, "copied": copied}),
            context,
        ),
        UndoneCompaction::Lines { restored, backup, context } => {
            let backup = session.file(&backup);
            (
                json!({"ok": true, "key": session.key.as_str(), "restored": restored, "backup": backup}),
                context,
            )
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = context.tokens as f64;
    let change = move |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry {
            entry.apply(&recounted(Some(tokens)));
        }
    };
    session.update(Box::new(change)).await?;
    told["messages"] = context.messages.into();
    told["totalTokens"] = json::number(tokens);
    Ok(told)
}
