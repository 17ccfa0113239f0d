//! `sessions.delete`: a session goes, its conversation is kept under another name (`gateway.md` §6).

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::seam::Choice;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::{Field, Glance};
use yabby_domain::session::key::KeyPolicy;
use yabby_domain::transcript::file_name::ArchiveReason;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, optional, required};
use crate::sessions::Session;

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
    let main = KeyPolicy::from_config(&gateway.config()).main_session();
    if session.key == main {
        return Err(Refusal::invalid(format!("Cannot delete the main session ({main}).")));
    }
    gateway.stop_session(&session.key).await?;
    session.home.let_go_of_conversation().await;
    // What can fail comes first: then nothing has changed yet.
    let archived = match session.transcript() {
        Some(transcript) if call.flag("deleteTranscript") != Some(false) && !is_shared(&session).await? => {
            session.home.transcripts.archive(&transcript, ArchiveReason::Deleted).await?
        }
        _ => None,
    };
    let existed = session.entry.is_some();
    let id = session.entry.as_ref().and_then(|entry| entry.session_id().map(str::to_owned));
    // Somebody may have begun the session anew meanwhile; that one is not meant.
    let change = move |entry: &mut Option<SessionEntry>| {
        if entry.as_ref().is_some_and(|entry| entry.session_id() == id.as_deref()) {
            *entry = None;
        }
    };
    let left = if existed { session.update(Box::new(change)).await? } else { None };
    Ok(json!({
        "ok": true,
        "key": session.key.as_str(),
        "deleted": existed && left.is_none(),
        "archived": archived.map(|name| Value::from(session.file(&name))).into_iter().collect::<Vec<_>>(),
    }))
}

/// Whether another session has its conversation in the same file.
async fn is_shared(session: &Session) -> Result<bool, Refusal> {
    let (own, id) =
        (session.key.clone(), session.entry.as_ref().and_then(|entry| entry.session_id().map(str::to_owned)));
    let Some(file) = session.transcript().map(|transcript| transcript.file_name()) else { return Ok(false) };
    let may_be_in_it = move |glance: &Glance| {
        let named = glance.text(Field::SessionFile);
        let is_named = named.as_deref().is_some_and(|named| named.rsplit('/').next() == Some(file.as_str()));
        let other = glance.text(Field::SessionId);
        is_named
            || other.as_deref().is_some_and(|other| {
                Some(other) == id.as_deref() || file.strip_suffix(".jsonl") == Some(other)
            })
    };
    let choice = Choice {
        keys: Box::new(move |key| *key != own),
        records: Some(Box::new(move |_, glance| may_be_in_it(glance))),
        most: 1,
    };
    Ok(!session.home.sessions.newest(choice).await?.entries.is_empty())
}
