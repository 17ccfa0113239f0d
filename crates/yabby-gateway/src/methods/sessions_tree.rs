//! `sessions.tree` (ours): every branch of a conversation, a line for each entry.

use std::collections::HashSet;

use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::pieces::headline;
use yabby_domain::transcript::tree::Transcript;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::{NON_EMPTY, Schema, between, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.tree",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("key", NON_EMPTY), optional("limit", between(1, 10_000))]),
    about: "Every branch of a conversation, a line for each entry.",
    answer: |call| Box::pin(answer(call)),
};

/// How many entries are told if nobody says so, and how long a line may be.
const USUAL: usize = 2000;
const LONGEST: usize = 200;

async fn answer(call: Call) -> Answer {
    let looked = call.gateway.look(call.text("key").unwrap_or_default()).await?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 10,000")]
    let limit = call.number("limit").map_or(USUAL, |limit| limit as usize);
    let found = looked.session.and_then(|session| Some((session.transcript()?, session.home)));
    let loaded = match found {
        Some((transcript, home)) => home.transcripts.load(&transcript).await?,
        None => None,
    };
    let key = looked.key.as_str().to_owned();
    on_disk(move || {
        let Some(transcript) = loaded else {
            return Ok(json!({"key": key, "sessionId": null, "leafId": null, "count": 0, "entries": []}));
        };
        Ok(json!({
            "key": key,
            "sessionId": transcript.session_id(),
            "leafId": transcript.leaf_id(),
            "count": transcript.entries().len(),
            "entries": entries(&transcript, limit),
        }))
    })
    .await?
}

/// The last entries of the file, each with the one that it hangs from.
fn entries(transcript: &Transcript, limit: usize) -> Vec<Value> {
    let active: HashSet<&str> = transcript.branch().iter().filter_map(|entry| entry.id()).collect();
    let all = transcript.entries();
    let told = |entry: &Entry| {
        let written = entry.object();
        let mut told = Object::new();
        for name in ["id", "parentId", "type", "timestamp"] {
            told.extend(written.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        let role = written.get("message").and_then(|message| message.get("role"));
        told.extend(role.map(|role| ("role".to_owned(), role.clone())));
        if let Some(line) = headline(entry) {
            told.insert("text".to_owned(), text::head(&line, LONGEST).into());
        }
        if let Some(label) = entry.key().and_then(|key| transcript.label(key)) {
            told.insert("label".to_owned(), label.into());
        }
        let is_active = entry.id().is_some_and(|id| active.contains(id));
        told.insert("active".to_owned(), is_active.into());
        Value::Object(told)
    };
    all.iter().skip(all.len().saturating_sub(limit)).map(told).collect()
}
