//! What the program is told: the question, and whatever of the conversation it does not know.

use sha2::{Digest as _, Sha256};
use yabby_domain::json::Value;
use yabby_domain::message::{Block, Message, Role};
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::text;
use yabby_domain::transcript::context::COMPACTION_INTRO;

use super::PROVIDER;

/// The whole conversation.
pub(super) fn everything(request: &ModelRequest) -> String {
    told(&request.messages)
}

/// A prompt behind the words that an agent is told to heed.
pub(super) fn instructed(system: &str, prompt: &str) -> String {
    format!("These are your instructions:\n\n<instructions>\n{system}\n</instructions>\n\n{prompt}")
}

/// What came after the last answer of the program. Where there is none, its session was kept by somebody
/// who did not write it down, and it knows nothing of what was.
pub(super) fn news(request: &ModelRequest, provider: &str) -> String {
    let is_own = |message: &Message| {
        message.role() == Role::Assistant
            && message.text_field("api") == Some(PROVIDER)
            && message.text_field("provider") == Some(provider)
    };
    let known = request.messages.iter().rposition(is_own).map_or(0, |last| last + 1);
    told(&request.messages[known..])
}

/// The question alone.
pub(super) fn last(request: &ModelRequest) -> String {
    let from = request.messages.iter().rposition(|message| message.role() == Role::User).unwrap_or(0);
    told(&request.messages[from..])
}

/// The id of a session that the program begins: the same for the same session of ours, so that one whose
/// first answer never came is found again; another after a compaction, and when one is lost.
pub(super) fn fresh_session(request: &ModelRequest) -> String {
    let first = request.messages.first().map(words).unwrap_or_default();
    let summary = if first.contains(COMPACTION_INTRO) { first.as_str() } else { "" };
    let lost = request.cli_session.as_deref().unwrap_or_default();
    if summary.is_empty()
        && lost.is_empty()
        && let Ok(id) = uuid::Uuid::try_parse(&request.session_id)
    {
        return id.to_string();
    }
    let digest = Sha256::digest(format!("{}\0{summary}\0{lost}", request.session_id));
    let bytes = std::array::from_fn(|at| digest[at]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

fn told(messages: &[Message]) -> String {
    let from = messages.iter().rposition(|message| message.role() != Role::User).map_or(0, |at| at + 1);
    let (earlier, question) = messages.split_at(from);
    let question: Vec<String> = question.iter().map(words).collect();
    let question = question.join("\n\n");
    if earlier.is_empty() {
        return question;
    }
    let earlier: Vec<String> = earlier.iter().map(line).collect();
    format!(
        "This is what was said in the conversation so far:\n\n<conversation>\n{}\n</conversation>\n\nAnswer what comes now:\n\n{question}",
        earlier.join("\n\n")
    )
}

fn line(message: &Message) -> String {
    match message.role() {
        Role::Assistant => format!("Assistant: {}", words(message)),
        Role::ToolResult => {
            format!("Result of {}: {}", message.text_field("toolName").unwrap_or("a tool"), words(message))
        }
        _ => format!("User: {}", words(message)),
    }
}

fn words(message: &Message) -> String {
    let part = |block: &Value| match Block::of(block) {
        Block::Text(said) => text::non_blank(said).map(str::to_owned),
        Block::ToolCall(call) => Some(format!("(uses {})", call.name.unwrap_or("a tool"))),
        Block::Image => Some("(a picture)".to_owned()),
        Block::Thinking { .. } | Block::Other => None,
    };
    message.to_blocks().iter().filter_map(part).collect::<Vec<_>>().join("\n")
}
