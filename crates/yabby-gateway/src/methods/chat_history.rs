//! `chat.history`: what was said in a session, as people read it (`gateway.md` §5.4).

use serde_json::json;
use yabby_domain::config::word::Word;
use yabby_domain::directive::level::default_think_level;
use yabby_domain::history_limit::cap_json_bytes;
use yabby_domain::json::Value;
use yabby_domain::message::Message;
use yabby_domain::model::CatalogModel;
use yabby_domain::seam::Part;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::envelope::without_envelope;
use yabby_domain::transcript::preview::branch_messages;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, between, optional, required};
use crate::sessions::Session;
use crate::{Gateway, asking, on_disk};

pub(super) const METHOD: Method = Method {
    name: "chat.history",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("sessionKey", NON_EMPTY), optional("limit", between(1, 1000))]),
    about: "What was said in a session.",
    answer: |call| Box::pin(answer(call)),
};

/// How many messages are told if nobody says so.
const USUAL: usize = 200;
/// How much all of them may be, as JSON.
const MOST_BYTES: usize = 6 * 1024 * 1024;
/// How much of the end of a conversation is read, one after the other until there are enough messages.
const WINDOWS: [usize; 4] = [128 * 1024, 1024 * 1024, 8 * 1024 * 1024, usize::MAX];

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let told_key = call.text("sessionKey").unwrap_or_default();
    let looked = gateway.look(told_key).await?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 1000")]
    let limit = call.number("limit").map_or(USUAL, |limit| limit as usize);
    let said = match &looked.session {
        Some(session) => said(session, limit).await?,
        None => Vec::new(),
    };
    let entry = looked.entry();
    let config = gateway.config();
    let verbose = entry.and_then(|entry| entry.verbose_level());
    let verbose = verbose.or_else(|| config.agents.defaults.verbose_default.as_ref().map(Word::as_str));
    let mut told = json!({
        "sessionKey": told_key,
        "messages": said,
        "thinkingLevel": thinking(gateway, &looked.key, entry),
    });
    if let Some(id) = entry.and_then(|entry| entry.session_id()) {
        told["sessionId"] = id.into();
    }
    if let Some(verbose) = verbose {
        told["verboseLevel"] = verbose.into();
    }
    Ok(told)
}

fn thinking(gateway: &Gateway, key: &SessionKey, entry: Option<&SessionEntry>) -> String {
    let set = entry.and_then(|entry| entry.thinking_level()).filter(|level| !level.is_empty());
    if let Some(level) = set {
        return level.to_owned();
    }
    let config = gateway.config();
    let model = gateway.model_in(key, entry);
    let known = gateway.engine.model_info(&model);
    let known = known.map(|info| CatalogModel { model: model.clone(), reasoning: info.reasoning });
    let configured = config.agents.defaults.thinking_default.as_ref().map(Word::as_str);
    default_think_level(configured, known.as_slice(), &model.provider, &model.model).to_owned()
}

/// The last messages, the newest of them certainly.
async fn said(session: &Session, limit: usize) -> Result<Vec<Value>, Refusal> {
    let Some(transcript) = session.transcript() else { return Ok(Vec::new()) };
    for window in WINDOWS {
        let Some(bytes) = session.home.transcripts.peek(&transcript, Part::Last(window)).await? else {
            return Ok(Vec::new());
        };
        let is_all = bytes.len() < window;
        let found = on_disk(move || newest(&bytes, limit, is_all)).await?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The last messages in the end of a file; `None` if there may be more of them before it.
fn newest(bytes: &[u8], limit: usize, is_all: bool) -> Option<Vec<Value>> {
    let text = yabby_domain::text::lossy(bytes);
    // A line that is cut is none.
    let whole = if is_all { &text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
    let mut found: Vec<Message> = branch_messages(whole);
    found.drain(..found.len().saturating_sub(limit));
    let is_enough = is_all || found.len() == limit;
    let mut told: Vec<Value> =
        found.into_iter().map(|message| asking::value_of(&without_envelope(message))).collect();
    // Whoever asks sees the last message, however long it is.
    let fitting = cap_json_bytes(&told, MOST_BYTES).items.len();
    let is_full = fitting < told.len();
    told.drain(..told.len() - fitting);
    (is_enough || is_full).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(count: usize, words: &str) -> String {
        (0..count)
            .map(|at| format!("{{\"message\":{{\"role\":\"user\",\"content\":\"{words}{at}\"}}}}\n"))
            .collect()
    }

    fn words(told: &Option<Vec<Value>>) -> Option<Vec<&str>> {
        Some(told.as_ref()?.iter().filter_map(|message| message["content"].as_str()).collect())
    }

    #[test]
    fn the_last_messages_are_told_once_there_are_enough() {
        let all = file(4, "m");
        assert_eq!(words(&newest(all.as_bytes(), 2, true)), Some(vec!["m2", "m3"]));
        assert_eq!(words(&newest(all.as_bytes(), 9, true)), Some(vec!["m0", "m1", "m2", "m3"]));
        // The first line may be cut, and there may be more before it.
        assert_eq!(words(&newest(all.as_bytes(), 4, false)), None);
        assert_eq!(words(&newest(all.as_bytes(), 3, false)), Some(vec!["m1", "m2", "m3"]));
    }

    #[test]
    fn no_more_is_told_than_fits_into_a_frame() {
        let long = file(4, &"x".repeat(MOST_BYTES / 2 - 100));
        assert_eq!(newest(long.as_bytes(), 9, true).map(|told| told.len()), Some(2));
        let longer = file(1, &"x".repeat(MOST_BYTES));
        assert_eq!(newest(longer.as_bytes(), 9, true).map(|told| told.len()), Some(1));
    }
}
