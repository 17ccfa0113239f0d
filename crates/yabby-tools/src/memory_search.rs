//! `memory_search`: what the memory files and earlier conversations say about something (`memory.md`
//! §6, §10).

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_memory::audience::Viewer;
use yabby_memory::compat::citations::{self, CitationMode, cited_snippet};
use yabby_memory::compat::{Reference, SearchOptions};
use yabby_memory::memory::{Meaning, Memory, Ranking};
use yabby_memory::recall::Filter;
use yabby_memory::request::SearchRequest;
use yabby_memory::shown;

use crate::arguments::Arguments;

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
        let most = arguments.count("maxResults", 1).map(|most| most.min(MAX_RESULTS));
        let least = arguments.number("minScore");
        let payload = match self.memory.ranking() {
            Ranking::Own => self.found(query, most, least, context).await,
            Ranking::Reference(Ok(reference)) => {
                self.found_there(reference, &query, most, least, context).await
            }
            Ranking::Reference(Err(reason)) => Err(reason.clone()),
        };
        let payload =
            payload.unwrap_or_else(|problem| json!({"results": [], "disabled": true, "error": problem}));
        let text = json::stringify_pretty(&payload);
        ToolOutput { details: Some(payload), ..ToolOutput::text(&text) }
    }
}

impl MemorySearch {
    async fn found(
        &self,
        query: String,
        most: Option<usize>,
        least: Option<f64>,
        context: &ToolContext,
    ) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        let filter = Filter { current_session: Some(context.session_id.clone()), ..Filter::default() };
        #[expect(clippy::cast_precision_loss, reason = "at most fifty")]
        let max_results = most.map(|most| most as f64);
        let (min_score, now) = (least, context.now);
        let request = SearchRequest { query, viewer, filter, max_results, min_score, around: 1, now };
        let found =
            self.memory.search(request.in_memory(&self.memory)).await.map_err(|error| error.to_string())?;
        let (provider, model) = match (self.memory.meaning(), &found.model) {
            (Some(Meaning { embedder, .. }), Some(_)) => (embedder.provider(), embedder.model()),
            _ => ("none", "words"),
        };
        let results = found.hits.iter().map(|hit| (shown::hit(hit), shown::citation(hit)));
        let payload = json!({"results": cited(results, context), "provider": provider, "model": model});
        Ok(told(payload, found.unread, context))
    }

    /// The same as the reference ranks it, in its own index.
    async fn found_there(
        &self,
        reference: &Reference,
        query: &str,
        most: Option<usize>,
        least: Option<f64>,
        context: &ToolContext,
    ) -> Result<Value, String> {
        let viewer = self.viewer(context).await?;
        #[expect(clippy::cast_precision_loss, reason = "at most fifty")]
        let options = SearchOptions {
            max_results: most.map(|most| most as f64),
            min_score: least,
            session_key: Some(context.session_key.as_str().to_owned()),
            seen: None,
        };
        let found = self.memory.search_like_reference(reference, query, &viewer, options).await?;
        let results = found.hits.iter().map(|hit| (hit.to_json(), citations::citation(hit)));
        let mut payload = json!({
            "results": cited(results, context), "provider": found.by.provider, "model": found.by.model,
        });
        if let Some(fallback) = found.by.fallback {
            payload["fallback"] = json!({"from": fallback.from, "reason": fallback.reason});
        }
        Ok(told(payload, found.unread, context))
    }

    async fn viewer(&self, context: &ToolContext) -> Result<Viewer, String> {
        let viewer = self.memory.viewer(&context.session_key, is_owner_alone(context)).await;
        viewer.map_err(|error| error.to_string())
    }
}

fn is_owner_alone(context: &ToolContext) -> bool {
    context.company == Company::OwnerAlone && context.sender_is_owner
}

/// What is told besides the results.
fn told(mut payload: Value, mut unread: Vec<String>, context: &ToolContext) -> Value {
    payload["citations"] = CitationMode::from_config(&context.config).as_str().into();
    if !is_owner_alone(context) {
        unread.push(ONLY_THIS_CONVERSATION.to_owned());
    }
    if !unread.is_empty() {
        payload["unread"] = unread.into();
    }
    payload
}

/// Results with where they are from, if that is to be told.
fn cited(results: impl Iterator<Item = (Value, String)>, context: &ToolContext) -> Vec<Value> {
    let cites = CitationMode::from_config(&context.config).is_on_in(Some(context.session_key.as_str()));
    let cite = |(mut result, citation): (Value, String)| {
        if cites {
            let snippet = result["snippet"].as_str().unwrap_or_default();
            result["snippet"] = cited_snippet(snippet, &citation).into();
            result["citation"] = citation.into();
        }
        result
    };
    results.map(cite).collect()
}
