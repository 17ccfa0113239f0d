//! `memory_search`: what the memory files and earlier conversations say about something (`memory.md`
//! §6, §10).
//!
//! Reads and ranks everything anew for each query; there is no index.

mod spoken;

use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::tool::{Company, Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;

use crate::Conversations;
use crate::arguments::Arguments;
use crate::memory_files;
use crate::passages::{self, Passage};
use crate::ranking::Query;
use crate::workspace::Workspace;
use spoken::Spoken;

const DEFAULT_RESULTS: usize = 6;
const MAX_RESULTS: usize = 50;
const DEFAULT_SCORE: f64 = 0.2;
/// How long a snippet may be, in characters.
const SNIPPET: usize = 700;

/// What is told where others listen.
const ONLY_THIS_CONVERSATION: &str = "MEMORY.md, memory/ and other conversations: they are private, and others are in this conversation; only what was said in it was searched";

pub(crate) struct MemorySearch {
    conversations: Conversations,
}

impl MemorySearch {
    pub(crate) fn new(conversations: Conversations) -> Self {
        Self { conversations }
    }
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
        let wanted = Wanted {
            query,
            results: arguments.count("maxResults", 1).unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS),
            score: arguments.number("minScore").unwrap_or(DEFAULT_SCORE),
            cites: is_direct(&context.session_key),
            company: context.company,
        };
        let mut unread = Vec::new();
        let spoken = spoken::visible(&self.conversations, context, &mut unread).await;
        let workspace = context.workspace.clone();
        crate::blocking(move || Ok(search(&workspace, spoken, unread, &wanted))).await
    }
}

/// Whether results name their source: in a conversation with one person (`memory.md` §10, `auto`).
fn is_direct(key: &SessionKey) -> bool {
    let key = text::lower(key.as_str());
    let rest = key
        .strip_prefix("agent:")
        .and_then(|rest| rest.split_once(':'))
        .map_or(key.as_str(), |(_, rest)| rest);
    !rest.split(':').any(|part| matches!(part, "channel" | "group"))
}

struct Wanted {
    query: String,
    results: usize,
    score: f64,
    cites: bool,
    company: Company,
}

/// Something that may be found.
enum Source {
    Note { path: String, passage: Passage },
    Spoken(Spoken),
}

impl Source {
    /// What is looked through, heading included.
    fn searched(&self) -> String {
        match self {
            Self::Note { passage, .. } => format!("{}\n{}", passage.heading, passage.text),
            Self::Spoken(spoken) => spoken.text.clone(),
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::Note { passage, .. } => &passage.text,
            Self::Spoken(spoken) => &spoken.text,
        }
    }

    /// What was written down counts more than what was said, and that more than what the agent answered
    /// or what was only asked.
    fn weight(&self) -> f64 {
        match self {
            Self::Note { passage, .. } if passage.text.starts_with('#') => 0.6,
            Self::Note { .. } => 1.0,
            Self::Spoken(spoken) if spoken.text.ends_with('?') => 0.5,
            Self::Spoken(Spoken { by_user: true, .. }) => 0.9,
            Self::Spoken(_) => 0.7,
        }
    }
}

fn search(workspace: &Path, spoken: Vec<Spoken>, mut unread: Vec<String>, wanted: &Wanted) -> ToolOutput {
    let notes = match (wanted.company, Workspace::open(workspace)) {
        (Company::OwnerAlone, Ok(workspace)) => memory_files::all(&workspace, &mut unread),
        (Company::OwnerAlone, Err(problem)) => {
            unread.push(problem);
            Vec::new()
        }
        (Company::Others | Company::OthersNoted, _) => {
            unread.push(ONLY_THIS_CONVERSATION.to_owned());
            Vec::new()
        }
    };
    let of_note = |file: memory_files::MemoryFile| {
        let passages = passages::of_note(&file.text);
        passages.into_iter().map(move |passage| Source::Note { path: file.path.clone(), passage })
    };
    let sources: Vec<Source> =
        notes.into_iter().flat_map(of_note).chain(spoken.into_iter().map(Source::Spoken)).collect();
    let query = Query::new(&wanted.query);
    let searched: Vec<String> = sources.iter().map(Source::searched).collect();
    let mut scored: Vec<(f64, &Source)> = query
        .score(searched.iter().map(String::as_str))
        .into_iter()
        .map(|(at, score)| (score * sources[at].weight(), &sources[at]))
        .filter(|(score, _)| *score >= wanted.score)
        .collect();
    // Stable: of equals the one that stands first counts, which is the latest note.
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    let mut results: Vec<Value> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (score, source) in scored {
        if results.len() == wanted.results || query.is_empty() {
            break;
        }
        let near = query.first_in(source.text()).unwrap_or(0);
        let snippet = passages::snippet(source.text(), near, SNIPPET);
        // What was said and then written down is one thing.
        let bare = text::lower(snippet.trim_start_matches(['-', '*', ' ']));
        if !seen.contains(&bare) {
            results.push(result(source, score, &snippet, wanted.cites));
            seen.push(bare);
        }
    }
    let mut payload = json!({
        "results": results,
        "provider": "none",
        "model": "words",
        "citations": "auto",
    });
    if !unread.is_empty() {
        payload["unread"] = unread.into();
    }
    let text = json::stringify_pretty(&payload);
    ToolOutput { details: Some(payload), ..ToolOutput::text(&text) }
}

fn result(source: &Source, score: f64, snippet: &str, cites: bool) -> Value {
    let (path, first, last) = match source {
        Source::Note { path, passage } => (path.clone(), passage.first_line, passage.last_line),
        Source::Spoken(spoken) => (spoken.path.clone(), spoken.line, spoken.line),
    };
    let mut result = json!({
        "path": path,
        "startLine": first,
        "endLine": last,
        "score": json::number((score * 1000.0).round() / 1000.0),
        "snippet": snippet,
        "source": match source {
            Source::Note { .. } => "memory",
            Source::Spoken(_) => "sessions",
        },
    });
    if let Source::Spoken(spoken) = source {
        result["speaker"] = if spoken.by_user { "user" } else { "assistant" }.into();
        if let Some(time) = &spoken.time {
            result["time"] = time.as_str().into();
        }
    }
    if cites {
        let lines = if first == last { format!("#L{first}") } else { format!("#L{first}-L{last}") };
        let citation = format!("{path}{lines}");
        result["snippet"] = format!("{}\n\nSource: {citation}", text::trim(snippet)).into();
        result["citation"] = citation.into();
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_named_to_one_person_only() {
        let table = [
            ("agent:main:main", true),
            ("agent:main:telegram:dm:42", true),
            ("agent:main:telegram:group:42", false),
            ("agent:group:main", true),
            ("agent:main:slack:Channel:x", false),
            ("global", true),
        ];
        for (key, expected) in table {
            assert_eq!(is_direct(&SessionKey::new(key)), expected, "{key}");
        }
    }
}
