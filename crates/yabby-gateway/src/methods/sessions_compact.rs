//! `sessions.compact`: the last lines of a conversation only (`gateway.md` §6). Other than the reference we keep
//! the header besides, without which nothing could be read any more.

use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::Compacted;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::line_compact::MaxLines;

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
    let untouched = |name: &str, value: Value| {
        let mut told = told(session.key.as_str(), false);
        told.insert(name.to_owned(), value);
        Ok(Value::Object(told))
    };
    let has_id =
        session.entry.as_ref().is_some_and(|entry| entry.session_id().is_some_and(|id| !id.is_empty()));
    let Some(transcript) = session.transcript().filter(|_| has_id) else {
        return untouched("reason", "no sessionId".into());
    };
    match session.home.transcripts.compact(&transcript, keep).await? {
        Compacted::Missing => untouched("reason", "no transcript".into()),
        Compacted::Untouched { kept } => untouched("kept", kept.into()),
        Compacted::Done { kept, archived } => {
            let now = gateway.changed_ms();
            // What was counted for the whole conversation says nothing about the rest of it.
            let change = move |entry: &mut Option<SessionEntry>| {
                let Some(entry) = entry else { return };
                let mut patch = recounted(None);
                patch.set_updated_at(Some(now));
                entry.apply(&patch);
            };
            session.update(Box::new(change)).await?;
            let mut told = told(session.key.as_str(), true);
            told.insert("archived".to_owned(), session.file(&archived).into());
            told.insert("kept".to_owned(), kept.into());
            Ok(Value::Object(told))
        }
    }
}

fn told(key: &str, compacted: bool) -> Object {
    let told = json!({"ok": true, "key": key, "compacted": compacted});
    told.as_object().cloned().unwrap_or_default()
}
