//! A conversation as a person reads it: who said what, with the work of tools folded into one line
//! each, and marks where history was summarised or branches off (`transcripts.md` §2, §4).

use std::collections::{HashMap, VecDeque};

use super::entry::{Entry, EntryKind};
use super::tree::{Node, Transcript};
use super::{context, not_answered};
use crate::json::{self, Object, Value};
use crate::message::{Block, Content, Message, Role};
use crate::recollection::without_memories;
use crate::text;

/// One thing to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The entry that it comes from.
    pub id: Option<String>,
    /// Milliseconds since 1970.
    pub time: Option<f64>,
    pub what: What,
    /// How many other branches leave the conversation behind this piece.
    pub other_branches: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Said(Said),
    /// What came before was summarised.
    Compaction {
        summary: String,
        tokens_before: Option<f64>,
    },
    /// A branch was left, and this is what happened in it.
    BranchLeft {
        summary: String,
    },
    /// A setting that changed, as `model: openai/gpt-5.2`.
    Changed {
        setting: &'static str,
        value: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    pub speaker: Speaker,
    pub text: String,
    pub thinking: String,
    pub images: usize,
    pub calls: Vec<Call>,
    /// What went wrong, if the answer ended with an error.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speaker {
    #[default]
    User,
    Assistant,
    /// A result whose call is not shown.
    Tool,
    /// A command that the user ran.
    Command,
    Note,
}

/// A tool that was used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// What it answered; `None` if it never did.
    pub result: Option<CallResult>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    pub text: String,
    pub failed: bool,
}

/// Which part of a conversation to show: so many messages, after skipping so many at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    pub limit: Option<usize>,
    pub offset: usize,
}

impl Window {
    /// The entries of a branch that it shows: the chosen messages and whatever stands between them.
    pub fn of<'b, 't>(self, branch: &'b [&'t Entry]) -> &'b [&'t Entry] {
        let messages: Vec<usize> =
            branch.iter().enumerate().filter(|(_, entry)| is_message(entry)).map(|(at, _)| at).collect();
        let end = messages.len().saturating_sub(self.offset);
        let start = end.saturating_sub(self.limit.unwrap_or(usize::MAX));
        let from = if start == 0 { 0 } else { messages.get(start).copied().unwrap_or(branch.len()) };
        let to = messages.get(end).copied().unwrap_or(branch.len());
        if start >= end && self.limit.is_some() { &[] } else { branch.get(from..to).unwrap_or_default() }
    }
}

/// Whether an entry is something that somebody said.
pub fn is_message(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Message && entry.role().is_some()
}

/// The pieces of some entries of a branch.
pub fn pieces(transcript: &Transcript, entries: &[&Entry]) -> Vec<Piece> {
    let mut results = Results::of(entries);
    let branches = branches(transcript);
    let mut pieces: Vec<Piece> = Vec::new();
    for entry in entries {
        if let Some(what) = what(entry, &mut results) {
            let id = entry.id().map(str::to_owned);
            pieces.push(Piece { id, time: entry.time(), what, other_branches: 0 });
        }
        // A branch may leave at an entry that shows nothing; it is marked at the one before.
        let leaving = entry.id().and_then(|id| branches.get(id)).copied().unwrap_or(0);
        if let Some(last) = pieces.last_mut() {
            last.other_branches += leaving;
        }
    }
    pieces
}

/// One line about an entry, for where there is no room for more.
pub fn headline(entry: &Entry) -> Option<String> {
    let field = |name: &str| entry.object().get(name).and_then(Value::as_str).map(str::to_owned);
    match entry.kind() {
        EntryKind::Label => return Some(field("label").unwrap_or_else(|| "(taken away)".to_owned())),
        EntryKind::Custom => return field("customType"),
        _ => {}
    }
    let told = match what(entry, &mut Results::default())? {
        What::Said(said) if !said.text.is_empty() => said.text,
        What::Said(said) => match said.calls.first() {
            Some(call) if said.speaker == Speaker::Command => call.arguments.clone(),
            Some(call) => format!("{} {}", call.name, call.arguments),
            None => said.error.unwrap_or_default(),
        },
        What::Compaction { summary, .. } | What::BranchLeft { summary } => summary,
        What::Changed { setting, value } => format!("{setting}: {value}"),
    };
    Some(text::collapse_spaces(text::trim(&told)))
}

/// What a tool was asked, in a few words: the value alone if there is just one.
pub fn asked(arguments: &Object) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| json::stringify(value), str::to_owned);
    match arguments.values().next() {
        Some(value) if arguments.len() == 1 => plain(value),
        _ => {
            let named = arguments.iter().map(|(name, value)| format!("{name}={}", plain(value)));
            named.collect::<Vec<_>>().join(" ")
        }
    }
}

/// The same of arguments that are a text still.
pub fn asked_in(arguments: &str) -> String {
    match json::parse(arguments) {
        Ok(Value::Object(arguments)) => asked(&arguments),
        _ => arguments.to_owned(),
    }
}

/// How many children of an entry are not on the branch of the leaf, where that is.
fn branches(transcript: &Transcript) -> HashMap<String, usize> {
    let tree = transcript.tree();
    let mut open: Vec<Node<'_>> = tree.roots().collect();
    let mut leaving = HashMap::new();
    while let Some(node) = open.pop() {
        let children: Vec<Node<'_>> = node.children().collect();
        if let (Some(id), 2..) = (node.entry().id(), children.len()) {
            leaving.insert(id.to_owned(), children.len() - 1);
        }
        open.extend(children);
    }
    leaving
}

fn what(entry: &Entry, results: &mut Results) -> Option<What> {
    let field = |name: &str| entry.object().get(name).and_then(Value::as_str).map(str::to_owned);
    match entry.kind() {
        EntryKind::Message => said(&context::message_of(entry)?, results).map(What::Said),
        EntryKind::CustomMessage => {
            let message = context::message_of(entry)?;
            let is_shown = message.get("display").is_none_or(json::truthy);
            is_shown.then(|| said(&message, results)).flatten().map(What::Said)
        }
        EntryKind::Compaction => Some(What::Compaction {
            summary: field("summary").unwrap_or_default(),
            tokens_before: entry.object().get("tokensBefore").and_then(Value::as_f64),
        }),
        EntryKind::BranchSummary => Some(What::BranchLeft { summary: field("summary")? }),
        EntryKind::ModelChange => {
            let model = field("modelId").or_else(|| field("model"))?;
            let value = field("provider").map_or(model.clone(), |provider| format!("{provider}/{model}"));
            Some(What::Changed { setting: "model", value })
        }
        EntryKind::ThinkingLevelChange => {
            Some(What::Changed { setting: "thinking", value: field("thinkingLevel")? })
        }
        EntryKind::SessionInfo => Some(What::Changed { setting: "name", value: field("name")? }),
        EntryKind::Custom => {
            let (_, message, reason) = not_answered::read(entry)?;
            let said = said(&message, results)?;
            Some(What::Said(Said { error: Some(reason.notice().to_owned()), ..said }))
        }
        EntryKind::Session | EntryKind::Label | EntryKind::Unknown => None,
    }
}

fn said(message: &Message, results: &mut Results) -> Option<Said> {
    let speaker = match message.role() {
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::ToolResult if results.are_folded(message) => return None,
        Role::ToolResult => Speaker::Tool,
        Role::BashExecution => Speaker::Command,
        Role::Custom | Role::BranchSummary | Role::CompactionSummary | Role::Other => Speaker::Note,
    };
    if speaker == Speaker::Command {
        let text = |field: &str| message.text_field(field).unwrap_or_default().to_owned();
        let result = Some(CallResult { text: text("output"), failed: false });
        let call = Call { name: "command".to_owned(), arguments: text("command"), result };
        return Some(Said { speaker, calls: vec![call], ..Said::default() });
    }
    let mut said =
        Said { speaker, error: message.text_field("errorMessage").map(str::to_owned), ..Said::default() };
    match message.content() {
        Content::Text(text) => said.text = text.to_owned(),
        Content::Missing => said.text = message.text_field("summary").unwrap_or_default().to_owned(),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| said.add(block, results)),
    }
    if speaker == Speaker::User {
        said.text = without_memories(&said.text).to_owned();
    }
    Some(said)
}

impl Said {
    fn add(&mut self, block: &Value, results: &mut Results) {
        let append = |all: &mut String, text: &str| {
            if !all.is_empty() && !text.is_empty() {
                all.push('\n');
            }
            all.push_str(text);
        };
        match Block::of(block) {
            Block::Text(text) => append(&mut self.text, text),
            Block::Thinking { text, .. } => append(&mut self.thinking, text),
            Block::Image => self.images += 1,
            Block::ToolCall(call) => self.calls.push(Call {
                name: call.name.unwrap_or("tool").to_owned(),
                arguments: call.arguments.map(json::stringify).unwrap_or_default(),
                result: call.id.and_then(|id| results.take(id)),
            }),
            Block::Other => append(&mut self.text, "[content of a kind that is not known here]"),
        }
    }
}

/// The results of tools by the call that they answer, in order: an id may be used again.
#[derive(Default)]
struct Results {
    waiting: HashMap<String, VecDeque<CallResult>>,
    folded: HashMap<String, usize>,
}

impl Results {
    fn of(entries: &[&Entry]) -> Self {
        let mut results = Self::default();
        let answers = entries.iter().filter(|entry| entry.role() == Some(Role::ToolResult));
        for message in answers.filter_map(|entry| context::message_of(entry)) {
            if let Some(id) = message.text_field("toolCallId") {
                let failed = message.get("isError").is_some_and(json::truthy);
                let result = CallResult { text: text_of(&message), failed };
                results.waiting.entry(id.to_owned()).or_default().push_back(result);
            }
        }
        results
    }

    /// The next result of a call.
    fn take(&mut self, id: &str) -> Option<CallResult> {
        let result = self.waiting.get_mut(id)?.pop_front()?;
        *self.folded.entry(id.to_owned()).or_default() += 1;
        Some(result)
    }

    /// Whether the result in a message was shown with its call.
    fn are_folded(&mut self, message: &Message) -> bool {
        let folded = message.text_field("toolCallId").and_then(|id| self.folded.get_mut(id));
        match folded {
            Some(count @ 1..) => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

fn text_of(message: &Message) -> String {
    let mut said = Said::default();
    match message.content() {
        Content::Text(text) => return text.to_owned(),
        Content::Missing => return String::new(),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| said.add(block, &mut Results::default())),
    }
    if said.images > 0 && said.text.is_empty() {
        return "[image]".to_owned();
    }
    said.text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(lines: &[&str]) -> Transcript {
        let header =
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
        Transcript::read(&format!("{header}\n{}\n", lines.join("\n"))).expect("a header")
    }

    const ASKED: &str =
        r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"hi"}}"#;
    const CALLED: &str = r#"{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"x"}}]}}"#;
    const ANSWERED: &str = r#"{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"one\ntwo"}],"isError":true}}"#;
    const COMPACTED: &str = r#"{"type":"compaction","id":"4","parentId":"3","summary":"They met.","firstKeptEntryId":"4","tokensBefore":9}"#;
    const AGAIN: &str =
        r#"{"type":"message","id":"5","parentId":"1","message":{"role":"user","content":"otherwise"}}"#;

    fn shown(transcript: &Transcript) -> Vec<String> {
        let branch = transcript.branch();
        let pieces = pieces(transcript, &branch);
        let told = |piece: &Piece| match &piece.what {
            What::Said(said) => {
                let calls = said.calls.iter().map(|call| {
                    let result =
                        call.result.as_ref().map_or("", |result| result.text.lines().next().unwrap_or(""));
                    format!(" [{} {} → {result}]", call.name, call.arguments)
                });
                format!("{:?}: {}{}", said.speaker, said.text, calls.collect::<String>())
            }
            What::Compaction { summary, .. } => format!("compacted: {summary}"),
            other => format!("{other:?}"),
        };
        let branches = |piece: &Piece| if piece.other_branches > 0 { " +" } else { "" };
        pieces.iter().map(|piece| format!("{}{}", told(piece), branches(piece))).collect()
    }

    #[test]
    fn a_result_is_shown_with_its_call() {
        let expected =
            ["User: hi", "Assistant: Let me see. [read {\"path\":\"x\"} → one]", "compacted: They met."];
        assert_eq!(shown(&transcript(&[ASKED, CALLED, ANSWERED, COMPACTED])), expected);
    }

    #[test]
    fn a_result_without_its_call_stands_alone() {
        assert_eq!(shown(&transcript(&[ASKED, ANSWERED])), ["Tool: one\ntwo"]);
    }

    #[test]
    fn a_branch_is_marked_where_it_leaves() {
        assert_eq!(shown(&transcript(&[ASKED, CALLED, ANSWERED, AGAIN])), ["User: hi +", "User: otherwise"]);
    }

    #[test]
    fn a_window_counts_messages_from_the_end() {
        let transcript = transcript(&[ASKED, CALLED, ANSWERED, COMPACTED]);
        let branch = transcript.branch();
        //  limit    offset  ids
        let table = [
            (None, 0, "1234"),
            (Some(1), 0, "34"),
            (Some(2), 0, "234"),
            (Some(9), 0, "1234"),
            (Some(1), 1, "2"),
            (None, 1, "12"),
            (Some(1), 3, ""),
            (Some(0), 0, ""),
        ];
        for (limit, offset, ids) in table {
            let chosen = Window { limit, offset }.of(&branch);
            let chosen: String = chosen.iter().filter_map(|entry| entry.id()).collect();
            assert_eq!(chosen, ids, "{limit:?} {offset}");
        }
    }
}
