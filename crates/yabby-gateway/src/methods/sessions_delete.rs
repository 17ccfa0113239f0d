//! `sessions.delete`: a session goes, its conversation is kept under another name (`gateway.md` §6).

use serde_json::json;
use yabby_engine::services::DeleteRequest;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.delete",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY), optional("deleteTranscript", BOOLEAN)]),
    about: "Removes a session; its conversation is kept under another name.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let keeps_transcript = call.flag("deleteTranscript") == Some(false);
    let request = DeleteRequest { key: session.key.clone(), keeps_transcript };
    let deleted = gateway.engine.delete_session(&session.agent, request).await?;
    Ok(json!({
        "ok": true,
        "key": session.key.as_str(),
        "deleted": deleted.is_deleted(),
        "archived": deleted.archived.map(|name| session.file(&name)).into_iter().collect::<Vec<_>>(),
    }))
}
