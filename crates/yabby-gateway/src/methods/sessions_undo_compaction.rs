//! `sessions.undoCompaction` (ours): back to what the last compaction summarised. Nothing is deleted.

use serde_json::json;
use yabby_domain::compaction::tokens::estimate_all;
use yabby_domain::json;
use yabby_domain::seam::Begin;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::undo::undo_compaction;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.undoCompaction",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY)]),
    about: "Goes back to what the last compaction summarised.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let nothing = || Refusal::invalid(format!("nothing has been said yet in {}", session.key));
    let transcript = session.transcript().ok_or_else(nothing)?;
    let transcripts = &session.home.transcripts;
    // Opening would begin a conversation where there is none.
    let whole = transcripts.load(&transcript).await?.ok_or_else(nothing)?;
    let begin = Begin { session_id: whole.session_id().to_owned(), cwd: String::new(), parent: None };
    let mut writer = transcripts.open(&transcript, begin).await?;
    // Of a long conversation a writer knows the end only, and since we looked somebody may have written.
    let whole = match writer.transcript().is_whole() {
        true => writer.transcript().clone(),
        false => transcripts.load(&transcript).await?.unwrap_or(whole),
    };
    let plan = undo_compaction(&whole).ok_or_else(|| {
        Refusal::invalid(format!(
            "no compaction in {} is left to undo; the model is told all of it",
            session.key
        ))
    })?;
    writer.move_leaf(plan.leaf.as_deref()).await?;
    let ids = writer.append(plan.entries.clone()).await?;
    let labels = plan.labels(&ids);
    if !labels.is_empty() {
        writer.append(labels).await?;
    }
    let messages = writer.transcript().context().messages;
    drop(writer);
    #[expect(clippy::cast_precision_loss, reason = "no conversation is that long")]
    let tokens = estimate_all(&messages) as f64;
    let change = move |entry: &mut Option<SessionEntry>| {
        if let Some(entry) = entry {
            entry.apply(&recounted(Some(tokens)));
        }
    };
    session.update(Box::new(change)).await?;
    Ok(json!({
        "ok": true,
        "key": session.key.as_str(),
        "compaction": plan.compaction,
        "copied": plan.copied(),
        "messages": messages.len(),
        "totalTokens": json::number(tokens),
    }))
}
