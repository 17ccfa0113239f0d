//! `sessions.fork` (ours): goes on from a conversation in a new session.

use serde_json::json;
use yabby_domain::seam::Fork;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::label::{self, parse_label};
use yabby_domain::session::renew::forked;
use yabby_domain::text;

use super::sessions_patch::check_free;
use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, optional, required};
use crate::sessions::Session;

pub(super) const METHOD: Method = Method {
    name: "sessions.fork",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("key", NON_EMPTY),
        optional("at", NON_EMPTY),
        optional("newKey", NON_EMPTY),
        optional("label", Schema::Text { min: 1, max: label::MAX_UNITS }),
    ]),
    about: "Goes on from a conversation, or from one of its entries, in a new session.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let label = call.text("label").map(|label| parse_label(Some(label))).transpose();
    let label = label.map_err(|error| Refusal::invalid(error.to_string()))?;
    let _labelling = match label {
        Some(label) => {
            let labelling = gateway.labelling.lock().await;
            check_free(&session, label).await?;
            Some(labelling)
        }
        None => None,
    };
    let wanted = match call.text("newKey") {
        Some(key) => Some(free_key(gateway, &session, key).await?),
        None => None,
    };
    let nothing = || Refusal::invalid(format!("nothing has been said yet in {}", session.key));
    let transcript = session.transcript().ok_or_else(nothing)?;
    if session.home.transcripts.load(&transcript).await?.is_none() {
        return Err(nothing());
    }
    let how = call.text("at").map_or(Fork::Leaf, |entry| Fork::At(entry.to_owned()));
    let fork = session.home.transcripts.fork(&transcript, how).await;
    let fork = fork.map_err(|error| Refusal::invalid(error.to_string()))?;
    let gone = || Refusal::unavailable("Error: the fork is gone already; try again");
    let id = session.home.transcripts.load(&fork).await?.ok_or_else(gone)?.session_id().to_owned();
    let beginning: String = id.chars().take(8).collect();
    let key = wanted.unwrap_or_else(|| SessionKey::new(format!("agent:{}:fork:{beginning}", session.agent)));
    let file = session.file(&fork.file_name());
    record(&session, &key, &id, &file, label, gateway.changed_ms()).await?;
    Ok(json!({
        "ok": true,
        "key": key.as_str(),
        "sessionId": id,
        "sessionFile": file,
        "forkedFrom": session.key.as_str(),
    }))
}

/// A key that nobody has, in the store that the fork will be in.
async fn free_key(gateway: &Gateway, session: &Session, key: &str) -> Result<SessionKey, Refusal> {
    let policy = KeyPolicy::from_config(&gateway.config());
    let key = match text::lower(text::trim(key)) {
        bare if !bare.contains(':') => {
            policy.resolve_main_alias(&session.agent, &format!("agent:{}:{bare}", session.agent))
        }
        key => policy.store_key(&key),
    };
    if policy.session_agent(key.as_str()) != session.agent {
        let why = format!("{key} belongs to another agent; a fork stays with {}", session.agent);
        return Err(Refusal::invalid(why));
    }
    match session.home.sessions.get(&key).await? {
        Some(_) => Err(Refusal::invalid(format!("there is a session {key} already; choose another newKey"))),
        None => Ok(key),
    }
}

async fn record(
    session: &Session,
    key: &SessionKey,
    id: &str,
    file: &str,
    label: Option<&str>,
    now: f64,
) -> Result<(), Refusal> {
    let mut record = forked(session.entry.as_ref(), id, now).into_object();
    record.insert("sessionFile".to_owned(), file.into());
    if let Some(label) = label {
        record.insert("label".to_owned(), label.into());
    }
    let record = SessionEntry::new(record);
    let expected = record.clone();
    // Between the look and this, somebody may have taken the key: theirs stays.
    let change = move |entry: &mut Option<SessionEntry>| {
        entry.get_or_insert(record);
    };
    let kept = session.home.sessions.update(key, Box::new(change)).await?;
    match kept.as_ref() == Some(&expected) {
        true => Ok(()),
        false => Err(Refusal::invalid(format!("there is a session {key} already; the fork is in {file}"))),
    }
}
