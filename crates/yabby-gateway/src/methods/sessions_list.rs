//! `sessions.list`: the sessions of all agents, those that changed last first (`gateway.md` §6).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::{Choice, Part, Records};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label;
use yabby_domain::session::listing::{self, Wanted};
use yabby_domain::session::title::{TitleSource, derive_title};
use yabby_domain::text;
use yabby_domain::transcript::preview::{FIRST_BYTES, LAST_BYTES, first_user_message, last_message};

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::asking::transcript_of;
use crate::frames::{Answer, Refusal};
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, TEXT, at_least, optional};

pub(super) const METHOD: Method = Method {
    name: "sessions.list",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        optional("limit", at_least(1)),
        optional("activeMinutes", at_least(1)),
        optional("includeGlobal", BOOLEAN),
        optional("includeUnknown", BOOLEAN),
        optional("includeDerivedTitles", BOOLEAN),
        optional("includeLastMessage", BOOLEAN),
        optional("label", Schema::Text { min: 1, max: label::MAX_UNITS }),
        optional("spawnedBy", NON_EMPTY),
        optional("agentId", NON_EMPTY),
        optional("search", TEXT),
    ]),
    about: "The sessions of all agents, those that changed last first.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let now = gateway.now_ms();
    let words = |name: &str| call.text(name).and_then(text::non_blank).map(str::to_owned);
    let wanted = Wanted {
        global: call.flag("includeGlobal") == Some(true),
        unknown: call.flag("includeUnknown") == Some(true),
        agent: call.text("agentId").map(AgentId::normalize),
        spawned_by: call.text("spawnedBy").map(str::to_owned),
        label: words("label"),
        search: words("search"),
        since: call.number("activeMinutes").map(|minutes| now - minutes.floor() * 60_000.0),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least one, and saturates"
    )]
    let most = call.number("limit").map_or(usize::MAX, |limit| limit as usize);
    let found = find(gateway, &Arc::new(wanted), most).await?;
    let mut models = gateway.usual_models();
    let mut rows = Vec::with_capacity(found.len());
    let path = shown_path(gateway);
    let peeks =
        ["includeDerivedTitles", "includeLastMessage"].iter().any(|name| call.flag(name) == Some(true));
    // Which stores there are is asked of the disk.
    let only_named = peeks && path == MULTIPLE && gateway.stores().len() > 1;
    let looking = Looking { gateway, only_named };
    for Found { agent, key, entry } in found {
        let mut row = listing::row(&key, &entry, &models.in_session(&key, &entry));
        if call.flag("includeDerivedTitles") == Some(true) {
            put(&mut row, "derivedTitle", looking.title(&agent, &entry).await);
        }
        if call.flag("includeLastMessage") == Some(true) {
            put(&mut row, "lastMessagePreview", looking.last_words(&agent, &entry).await);
        }
        rows.push(Value::Object(row));
    }
    let common = gateway.engine.common_model();
    let mut told = json!({
        "ts": gateway.now(),
        "path": path,
        "count": rows.len(),
        "defaults": {
            "modelProvider": common.provider,
            "model": common.model,
            "contextTokens": json::number(gateway.window_of(&common)),
        },
    });
    // Not within the macro, which would copy thousands of rows.
    if let Some(told) = told.as_object_mut() {
        told.insert("sessions".to_owned(), Value::Array(rows));
    }
    Ok(told)
}

/// How all stores are called together.
const MULTIPLE: &str = "(multiple)";

/// The store, or how all of them are called together.
fn shown_path(gateway: &Gateway) -> String {
    let config = gateway.config();
    match config.text(&["session", "store"]).and_then(text::non_blank) {
        None => MULTIPLE.to_owned(),
        Some(template) if template.contains("{agentId}") => template.to_owned(),
        Some(_) => gateway.store_path(&AgentId::default()),
    }
}

/// A session that is wanted.
pub(super) struct Found {
    /// The agent in whose store it is.
    pub(super) agent: AgentId,
    /// As clients see it.
    pub(super) key: SessionKey,
    pub(super) entry: SessionEntry,
}

/// Looks into all stores. One that cannot be read hides nobody else's sessions; it is told of where it is asked for, or
/// where nothing else is found.
pub(super) async fn find(
    gateway: &Gateway,
    wanted: &Arc<Wanted>,
    most: usize,
) -> Result<Vec<Found>, Refusal> {
    let mut found: Vec<Found> = Vec::new();
    let mut unread = None;
    for (agent, _) in gateway.stores() {
        let (by_key, by_record, of) = (wanted.clone(), wanted.clone(), agent.clone());
        let owner = agent.clone();
        let records: Records = Box::new(move |key, glance| by_record.keeps(&owner, key, glance));
        let choice = Choice {
            keys: Box::new(move |key| by_key.keeps_key(&of, key)),
            records: wanted.looks_at_records().then_some(records),
            most,
        };
        let newest = match gateway.newest(&agent, choice).await {
            Ok(newest) => newest,
            Err(refusal) => {
                tracing::warn!(%agent, error = %refusal, "the sessions of an agent cannot be listed");
                if wanted.agent.as_ref().is_none_or(|wanted| *wanted == agent) {
                    unread = Some(refusal);
                }
                continue;
            }
        };
        found.extend(newest.entries.into_iter().map(|(key, entry)| {
            let key = listing::listed_key(&agent, &key);
            Found { agent: agent.clone(), key, entry }
        }));
    }
    if let Some(refusal) = unread.filter(|_| found.is_empty()) {
        return Err(refusal);
    }
    let at = |found: &Found| found.entry.updated_at().unwrap_or(0.0);
    found.sort_by(|a, b| at(b).total_cmp(&at(a)));
    // A session may be in a store under two spellings; the newer record counts.
    let mut seen = std::collections::HashSet::new();
    found.retain(|found| seen.insert(found.key.clone()));
    found.truncate(most);
    Ok(found)
}

fn put(row: &mut Object, name: &str, text: Option<String>) {
    if let Some(text) = text {
        row.insert(name.to_owned(), text.into());
    }
}

/// Looks into conversations. As in the reference, that of several agents' sessions is looked for only where the
/// record names its file.
struct Looking<'l> {
    gateway: &'l Gateway,
    only_named: bool,
}

impl Looking<'_> {
    async fn title(&self, agent: &AgentId, entry: &SessionEntry) -> Option<String> {
        entry.session_id()?;
        let names = [entry.display_name(), entry.subject()];
        let is_named = names.into_iter().flatten().any(|name| text::non_blank(name).is_some());
        let first = match is_named {
            true => None,
            false => self.peek(agent, entry, Part::First(FIRST_BYTES)).await,
        };
        let first = first.and_then(|bytes| first_user_message(&bytes));
        derive_title(&TitleSource {
            display_name: entry.display_name(),
            subject: entry.subject(),
            first_user_message: first.as_deref(),
            session_id: entry.session_id(),
            updated_at: entry.updated_at(),
        })
    }

    async fn last_words(&self, agent: &AgentId, entry: &SessionEntry) -> Option<String> {
        last_message(&self.peek(agent, entry, Part::Last(LAST_BYTES)).await?)
    }

    async fn peek(&self, agent: &AgentId, entry: &SessionEntry, part: Part) -> Option<Vec<u8>> {
        let is_named = entry.session_file().is_some_and(|file| !file.is_empty());
        if self.only_named && !is_named {
            return None;
        }
        let home = self.gateway.engine.home(agent).ok()?;
        home.transcripts.peek(&transcript_of(entry)?, part).await.ok().flatten()
    }
}
