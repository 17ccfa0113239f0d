//! `memory_search`: what notes and conversations say about something.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use yabby_domain::text;
use yabby_memory::memory::Search;
use yabby_memory::recall::Filter;
use yabby_memory::shown;

use super::arguments::Arguments;
use super::{Look, Spec};

const USUAL: usize = 10;
const MOST: usize = 50;

pub(super) fn spec() -> Spec {
    (
        "Search the memory",
        "Search notes (MEMORY.md, memory/*.md) and past conversations for what answers a question. Returns \
         the best snippets with path and lines, and for conversations who said it, when, and in which session.",
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What is looked for: words, or a question"},
                "maxResults": {"type": "number", "description": "Max results (default 10)"},
                "minScore": {"type": "number", "description": "Only results at least this good, from 0 to 1"},
                "channel": {"type": "string", "description": "Only conversations of this channel (telegram, whatsapp, discord)"},
                "sessionKey": {"type": "string", "description": "Only this conversation"},
            },
            "required": ["query"],
        }),
    )
}

pub(super) async fn call(look: &Look<'_>, arguments: Arguments<'_>) -> Result<Value, String> {
    let memory = &look.opened.memory;
    let search = Search {
        text: arguments.required("query")?.to_owned(),
        viewer: look.viewer.clone(),
        filter: Filter {
            session_key: arguments.text("sessionKey")?.map(|named| look.key(named)),
            channel: arguments.text("channel")?.map(text::lower),
            ..Filter::default()
        },
        most: arguments.count("maxResults", USUAL, MOST)?,
        #[expect(clippy::cast_possible_truncation, reason = "a score is not that precise")]
        least: arguments.number("minScore")?.unwrap_or(0.0) as f32,
        around: 1,
        now: Timestamp::now(),
        zone: TimeZone::system(),
    };
    let found = memory.search(search).await.map_err(|error| error.to_string())?;
    let result = |hit| {
        let mut result = shown::hit(hit);
        result["citation"] = shown::citation(hit).into();
        result
    };
    let (provider, model) = match (memory.meaning(), &found.model) {
        (Some(meaning), Some(_)) => (meaning.embedder.provider(), meaning.embedder.model()),
        _ => ("none", "words"),
    };
    let results: Vec<Value> = found.hits.iter().map(result).collect();
    Ok(look.with_unread(json!({"results": results, "provider": provider, "model": model}), found.unread))
}
