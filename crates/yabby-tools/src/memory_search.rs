//! `memory_search`: what the memory files and earlier conversations say about something (`memory.md`
//! §6, §10).

use async_trait::async_trait;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;
use yabby_memory::compat::citations::CitationMode;
use yabby_memory::memory::{Found, Meaning, Memory, Search};
use yabby_memory::recall::{Filter, Hit};
use yabby_memory::shown;

use crate::arguments::Arguments;

const DEFAULT_RESULTS: usize = 6;
const MAX_RESULTS: usize = 50;

/// What is told where others listen.
const ONLY_THIS_CONVERSATION: &str = "MEMORY.md, memory/ and other conversations: they are private, and others are in this conversation; only what was said in it was searched";

pub(crate) struct MemorySearch {
    pub(crate) memory: Memory,
}

#[async_trait]
impl Tool for MemorySearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "memory_search".to_owned(),
            description: "Mandatory recall step: search MEMORY.md + memory/*.md and earlier conversations before \
                answering questions about prior work, decisions, dates, people, preferences, or todos; returns \
                top snippets with path + lines."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string"},
                    "maxResults": {"type": "number"},
                    "minScore": {"type": "number"},
                },
                "required": ["query"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let query = match arguments.required("query") {
            Ok(query) => query.to_owned(),
            Err(problem) => return ToolOutput::error(&problem),
        };
        let most = arguments.count("maxResults", 1).unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS);
        #[expect(clippy::cast_possible_truncation, reason = "a score is not that precise")]
        let least = arguments.number("minScore").unwrap_or(0.0) as f32;
        let found = self.found(query, most, least, context).await;
        let payload = match found {
            Ok(found) => self.payload(&found, context),
            Err(problem) => json!({"results": [], "disabled": true, "error": problem}),
        };
        let text = json::stringify_pretty(&payload);
        ToolOutput { details: Some(payload), ..ToolOutput::text(&text) }
    }
}

impl MemorySearch {
    async fn found(
        &self,
        query: String,
        most: usize,
        least: f32,
        context: &ToolContext,
    ) -> Result<Found, String> {
        let is_owner_alone = context.company == Company::OwnerAlone && context.sender_is_owner;
        let told = |error: yabby_memory::memory::MemoryError| error.to_string();
        let viewer = self.memory.viewer(&context.session_key, is_owner_alone).await.map_err(told)?;
        let filter = Filter { current_session: Some(context.session_id.clone()), ..Filter::default() };
        let search = Search {
            text: query,
            viewer,
            filter,
            most,
            least,
            around: 1,
            now: context.now,
            zone: TimeZone::system(),
        };
        let mut found = self.memory.search(search).await.map_err(told)?;
        if !is_owner_alone {
            found.unread.push(ONLY_THIS_CONVERSATION.to_owned());
        }
        Ok(found)
    }

    fn payload(&self, found: &Found, context: &ToolContext) -> Value {
        let citations = CitationMode::from_config(&context.config);
        let cites = citations.is_on_in(Some(context.session_key.as_str()));
        let (provider, model) = match (self.memory.meaning(), &found.model) {
            (Some(Meaning { embedder, .. }), Some(_)) => {
                (embedder.provider().to_owned(), embedder.model().to_owned())
            }
            _ => ("none".to_owned(), "words".to_owned()),
        };
        let mut payload = json!({
            "results": found.hits.iter().map(|hit| result(hit, cites)).collect::<Vec<_>>(),
            "provider": provider,
            "model": model,
            "citations": citations.as_str(),
        });
        if !found.unread.is_empty() {
            payload["unread"] = found.unread.clone().into();
        }
        payload
    }
}

fn result(hit: &Hit, cites: bool) -> Value {
    let mut result = shown::hit(hit);
    if cites {
        let citation = shown::citation(hit);
        let snippet = result["snippet"].as_str().unwrap_or_default();
        result["snippet"] = format!("{}\n\nSource: {citation}", text::trim(snippet)).into();
        result["citation"] = citation.into();
    }
    result
}
