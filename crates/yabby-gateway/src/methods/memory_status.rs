//! `memory.status` (ours): how much is remembered, and whether all of it was read.

use serde_json::json;

use super::remembering;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, optional};

pub(super) const METHOD: Method = Method {
    name: "memory.status",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[optional("agentId", NON_EMPTY)]),
    about: "How much an agent remembers.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (agent, memory) = remembering::of(&call)?;
    let Some(memory) = memory else {
        return Ok(json!({"agentId": agent.as_str(), "enabled": false}));
    };
    let totals = memory.blocking(|memory| memory.recall().totals()).await.map_err(remembering::failed)?;
    let embedded = memory.embedded().await.map_err(remembering::failed)?;
    let unread = memory.unread_files().await.map_err(remembering::failed)?;
    let model = memory
        .meaning()
        .map(|meaning| format!("{}/{}", meaning.embedder.provider(), meaning.embedder.model()));
    Ok(json!({
        "agentId": agent.as_str(),
        "enabled": true,
        "path": memory.recall().path().to_string_lossy(),
        "notes": totals.notes,
        "conversations": totals.conversations,
        "messages": totals.messages,
        "sessions": totals.sessions,
        "unreadFiles": unread,
        "model": model,
        "embedded": {"done": embedded.done, "all": embedded.all},
    }))
}
