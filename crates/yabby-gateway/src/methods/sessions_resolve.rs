//! `sessions.resolve`: the key of a session, by whatever it is called (`gateway.md` §6).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::session::label::{self, parse_label};
use yabby_domain::session::listing::Wanted;
use yabby_domain::text;

use super::sessions_list::{Found, find};
use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, optional};

pub(super) const METHOD: Method = Method {
    name: "sessions.resolve",
    access: Access::Admin,
    listing: Listing::Known,
    params: Schema::Object(&[
        optional("key", NON_EMPTY),
        optional("sessionId", NON_EMPTY),
        optional("label", Schema::Text { min: 1, max: label::MAX_UNITS }),
        optional("agentId", NON_EMPTY),
        optional("spawnedBy", NON_EMPTY),
        optional("includeGlobal", BOOLEAN),
        optional("includeUnknown", BOOLEAN),
    ]),
    about: "The key of a session, by its key, id or label.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let said = |name: &str| call.text(name).and_then(text::non_blank);
    let wanted = Wanted {
        global: call.flag("includeGlobal") == Some(true),
        unknown: call.flag("includeUnknown") == Some(true),
        agent: call.text("agentId").map(AgentId::normalize),
        spawned_by: call.text("spawnedBy").map(str::to_owned),
        ..Wanted::default()
    };
    let key = match (said("key"), said("sessionId"), said("label")) {
        (None, None, None) => return Err(Refusal::invalid("Either key, sessionId, or label is required")),
        (Some(key), None, None) => {
            let session = gateway.session(key).await?;
            session.entry.as_ref().ok_or_else(|| Refusal::invalid(format!("No session found: {key}")))?;
            session.key
        }
        (None, Some(id), None) => {
            let wanted = Arc::new(Wanted { search: Some(id.to_owned()), ..wanted });
            let mut found = find(gateway, &wanted, usize::MAX).await?;
            let has_id =
                |found: &Found| found.record.read().is_some_and(|entry| entry.session_id() == Some(id));
            found.retain(|found| found.key.as_str() == id || has_id(found));
            one(found, "for sessionId", id, format!("No session found: {id}"))?
        }
        (None, None, Some(label)) => {
            let label = parse_label(Some(label)).map_err(|error| Refusal::invalid(error.to_string()))?;
            let wanted = Arc::new(Wanted { label: Some(label.to_owned()), ..wanted });
            let found = find(gateway, &wanted, 2).await?;
            one(found, "with label", label, format!("No session found with label: {label}"))?
        }
        _ => return Err(Refusal::invalid("Provide either key, sessionId, or label (not multiple)")),
    };
    Ok(json!({"ok": true, "key": key.as_str()}))
}

fn one(
    mut found: Vec<Found>,
    how: &str,
    name: &str,
    none: String,
) -> Result<yabby_domain::session::key::SessionKey, Refusal> {
    match found.len() {
        0 => Err(Refusal::invalid(none)),
        1 => Ok(found.remove(0).key),
        _ => {
            let keys: Vec<&str> = found.iter().map(|found| found.key.as_str()).collect();
            Err(Refusal::invalid(format!("Multiple sessions found {how}: {name} ({})", keys.join(", "))))
        }
    }
}
