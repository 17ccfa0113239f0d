//! `memory_search`: what notes and conversations say about something.

use jiff::Timestamp;
use serde_json::{Value, json};
use yabby_domain::text;
use yabby_memory::recall::Filter;
use yabby_memory::request::SearchRequest;
use yabby_memory::shown;

use super::arguments::Arguments;
use super::{Look, Spec};

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
                "maxResults": {"type": "number", "description": "Max results (default 6, or what memorySearch.query.maxResults says)"},
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
    let max_results = match arguments.number("maxResults")? {
        #[expect(clippy::cast_precision_loss, reason = "at most fifty")]
        Some(_) => Some(arguments.count("maxResults", MOST, MOST)? as f64),
        None => None,
    };
    let request = SearchRequest {
        query: arguments.required("query")?.to_owned(),
        viewer: look.viewer.clone(),
        filter: Filter {
            session_key: arguments.text("sessionKey")?.map(|named| look.key(named)),
            channel: arguments.text("channel")?.map(text::lower),
            ..Filter::default()
        },
        max_results,
        min_score: arguments.number("minScore")?,
        around: 1,
        now: Timestamp::now(),
    };
    let search = request.in_memory(memory);
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
