//! `sessions.list`: the sessions of all agents, those that changed last first (`gateway.md` §6).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Object};
use yabby_domain::seam::{Choice, Part, Records, SelectedRecord, StoredRecord};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label;
use yabby_domain::session::listing::{self, Wanted};
use yabby_domain::session::title::{TitleSource, derive_title};
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::preview::{FIRST_BYTES, LAST_BYTES, first_user_message, last_message};

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::{Refusal, Written};
use crate::kept::{Known, ListText};
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

async fn answer(call: Call) -> Result<Written, Refusal> {
    let gateway = &call.gateway;
    let seen = match gateway.kept.look(gateway, &call.params, call.came) {
        Known::Written(list) => return Ok(list),
        Known::Keepable(seen) => Some(seen),
        Known::Fleeting => None,
    };
    let list = write_list(&call).await?;
    let written = list.at(gateway.now());
    if let Some(seen) = seen {
        gateway.kept.keep(call.params, seen, list, call.came);
    }
    Ok(written)
}

async fn write_list(call: &Call) -> Result<ListText, Refusal> {
    /// So many rows are written in less time than it takes to hand them over.
    const FEW: usize = 100;
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
    let path = shown_path(gateway);
    let titles = call.flag("includeDerivedTitles") == Some(true);
    let last_messages = call.flag("includeLastMessage") == Some(true);
    let rows = if titles || last_messages {
        // Which stores there are is asked of the disk.
        let only_named = path == MULTIPLE && gateway.stores().len() > 1;
        write_rows_with_words(&Looking { gateway, only_named }, found, titles, last_messages).await
    } else {
        let (is_long, gateway) = (found.len() > FEW, gateway.clone());
        let write = move || {
            let mut models = gateway.usual_models();
            write_rows(found, |key, entry| listing::row(key, entry, &models.in_session(key, entry)))
        };
        if is_long {
            let writing = tokio::task::spawn_blocking(write);
            writing.await.map_err(|error| Refusal::unavailable(format!("Error: {error}")))?
        } else {
            write()
        }
    };
    let common = gateway.engine.common_model();
    let defaults = json!({
        "modelProvider": common.provider,
        "model": common.model,
        "contextTokens": json::number(gateway.window_of(&common)),
    });
    let head = format!(
        "\"path\":{},\"count\":{},\"defaults\":{},\"sessions\":[",
        json::stringify(&path.into()),
        rows.count,
        json::stringify(&defaults)
    );
    Ok(ListText { head, rows: Arc::new(rows.text + "]}") })
}

/// The rows of a list as text. Each record is dropped before the next one is parsed, so that a list of all sessions
/// takes little more memory than its text.
#[derive(Default)]
struct RowsText {
    text: String,
    count: usize,
}

impl RowsText {
    fn push(&mut self, row: &Object) {
        if self.count > 0 {
            self.text.push(',');
        }
        self.text.push_str(&json::stringify_object(row));
        self.count += 1;
    }
}

fn write_rows(found: Vec<Found>, mut row: impl FnMut(&SessionKey, &SessionEntry) -> Object) -> RowsText {
    let mut rows = RowsText::default();
    for Found { key, record, .. } in found {
        if let Some(entry) = record.read() {
            rows.push(&row(&key, &entry));
        }
    }
    rows
}

/// The same with words of the conversations.
async fn write_rows_with_words(
    looking: &Looking<'_>,
    found: Vec<Found>,
    titles: bool,
    last_messages: bool,
) -> RowsText {
    let mut models = looking.gateway.usual_models();
    let mut rows = RowsText::default();
    for Found { agent, key, record, .. } in found {
        let Some(entry) = record.read() else { continue };
        let mut row = listing::row(&key, &entry, &models.in_session(&key, &entry));
        if titles {
            put(&mut row, "derivedTitle", looking.title(&agent, &entry).await);
        }
        if last_messages {
            put(&mut row, "lastMessagePreview", looking.last_words(&agent, &entry).await);
        }
        rows.push(&row);
    }
    rows
}

/// How all stores are called together.
const MULTIPLE: &str = "(multiple)";

/// The store, or how all of them are called together.
fn shown_path(gateway: &Gateway) -> String {
    let config = gateway.config();
    match config.session.store.as_deref().and_then(text::non_blank) {
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
    updated_at: f64,
    pub(super) record: Arc<dyn StoredRecord>,
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
        let selection = match gateway.select(&agent, choice).await {
            Ok(selection) => selection,
            Err(refusal) => {
                tracing::warn!(%agent, error = %refusal, "the sessions of an agent cannot be listed");
                if wanted.agent.as_ref().is_none_or(|wanted| *wanted == agent) {
                    unread = Some(refusal);
                }
                continue;
            }
        };
        found.extend(selection.records.into_iter().map(|SelectedRecord { key, updated_at, record }| {
            let key = listing::listed_key(&agent, &key);
            Found { agent: agent.clone(), key, updated_at, record }
        }));
    }
    if let Some(refusal) = unread.filter(|_| found.is_empty()) {
        return Err(refusal);
    }
    found.sort_by(|a, b| b.updated_at.total_cmp(&a.updated_at));
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
        home.transcripts.peek(&TranscriptId::of_record(entry).ok()?, part).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::unpoisoned;

    /// Notes when it is parsed, and when nobody needs it any more.
    struct Noted {
        number: usize,
        notes: Arc<Mutex<Vec<(&'static str, usize)>>>,
    }

    impl StoredRecord for Noted {
        fn read(&self) -> Option<SessionEntry> {
            unpoisoned(&self.notes).push(("read", self.number));
            let label = format!("label {}", self.number);
            (self.number != 2)
                .then(|| SessionEntry::new([("label".to_owned(), label.into())].into_iter().collect()))
        }
    }

    impl Drop for Noted {
        fn drop(&mut self) {
            unpoisoned(&self.notes).push(("dropped", self.number));
        }
    }

    #[test]
    fn one_record_at_a_time_is_parsed_and_its_row_written() {
        let notes = Arc::<Mutex<Vec<_>>>::default();
        let found = (0..4).map(|number| Found {
            agent: AgentId::default(),
            key: SessionKey::new(format!("agent:main:{number}")),
            updated_at: 0.0,
            record: Arc::new(Noted { number, notes: notes.clone() }),
        });
        let rows = write_rows(found.collect(), |key, entry| {
            [("key".to_owned(), key.as_str().into()), ("label".to_owned(), entry.label().into())]
                .into_iter()
                .collect()
        });
        assert_eq!(rows.count, 3, "what cannot be read is left out");
        let written: Vec<json::Value> = serde_json::from_str(&format!("[{}]", rows.text)).unwrap();
        assert_eq!(written[2], json!({"key": "agent:main:3", "label": "label 3"}));
        let one_after_the_other: Vec<_> =
            (0..4).flat_map(|number| [("read", number), ("dropped", number)]).collect();
        assert_eq!(*unpoisoned(&notes), one_after_the_other);
    }
}
