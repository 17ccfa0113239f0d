//! `transcripts/<case>/`: whole files, opened, read, appended to.
//!
//! One case a section of `expected.json`; its input is the text of the file and the other sections.

use std::borrow::Cow;
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use yabby_domain::compaction::prepare::{Preparation, prepare};
use yabby_domain::compaction::{Settings, tokens};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::{Message, Role};
use yabby_domain::session::title::{TitleSource, derive_title};
use yabby_domain::text;
use yabby_domain::transcript::context::{Context, for_model};
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::file::{OnOpen, TranscriptFile};
use yabby_domain::transcript::file_repair::{Repair, repair};
use yabby_domain::transcript::listing::{Listing, listing};
use yabby_domain::transcript::preview::{self, PreviewItem, PreviewLimits};
use yabby_domain::transcript::tree::{NewEntry, Node};
use yabby_domain::transcript::{Stamp, time};

use super::transcript_ops::written_down;
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "transcripts", cases: |_| Vec::new(), answer, differences: DIFFERENCES };

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "usage-without-cache-fields",
        applies: |case| {
            matches!(case.rule.as_str(), "tokens" | "prepareCompaction")
                && with_whole_usages(text_of(case)).is_some()
        },
        expected: |case| {
            let completed = with_text(case, &with_whole_usages(text_of(case)).unwrap_or_default());
            let mut promised = answer(&completed).unwrap_or_default();
            if case.rule == "tokens" {
                // What the file says is told as it is.
                promised["lastAssistantUsage"] = case.expected["lastAssistantUsage"].clone();
            }
            promised
        },
    },
    Difference {
        name: "lines-that-are-no-objects-are-skipped",
        applies: |case| has_foreign_lines(text_of(case)),
        expected: |case| answer(&with_text(case, &without_foreign_lines(text_of(case)))).unwrap_or_default(),
    },
    Difference {
        name: "seed-shaped-lines-are-a-conversation",
        applies: |case| spelt_out(text_of(case)).is_some(),
        expected: |case| {
            let spelt_out = spelt_out(text_of(case)).unwrap_or_default();
            answer(&with_text(case, &spelt_out)).unwrap_or_default()
        },
    },
    Difference {
        name: "nothing-appended-is-lost",
        applies: |case| {
            case.rule == "appendProbe" && (!has_assistant(text_of(case)) || is_unterminated(text_of(case)))
        },
        expected: promised_probe,
    },
];

/// Everything that `expected.json` may hold besides sections.
const NO_SECTIONS: [&str; 4] = ["name", "description", "reference", "generatedIds"];

/// One case a section of `expected.json`.
pub fn load(folder: &Path) -> std::io::Result<Vec<Case>> {
    let text = std::fs::read(folder.join("session.jsonl"))?;
    let expected = std::fs::read_to_string(folder.join("expected.json"))?;
    let Ok(Value::Object(sections)) = json::parse(&expected) else {
        return Err(std::io::Error::other("expected.json is not an object"));
    };
    let mut input = Object::new();
    // The recorder gave its folder another name wherever it found it, but not where the file spells
    // it with escapes; the input is made to agree with what was expected of it.
    let text = String::from_utf8_lossy(&text).replace(r"\/work\/project", r"\/home\/project");
    input.insert("text".into(), text.into());
    for (name, section) in &sections {
        input.insert(name.clone(), section.clone());
    }
    let mut cases = Vec::new();
    for (rule, expected) in sections.iter().filter(|(name, _)| !NO_SECTIONS.contains(&name.as_str())) {
        let expected = match (rule.as_str(), expected) {
            ("afterOpenFile", Value::String(file)) => {
                let text = std::fs::read_to_string(folder.join(file))?;
                text.lines().map(Value::from).collect()
            }
            // Recorded is the text that the title is made of; `titles.json` has what becomes of it.
            ("title", Value::String(words)) => title_of(Some(words)),
            _ => expected.clone(),
        };
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cases.push(Case { rule: rule.clone(), name, input: Value::Object(input.clone()), expected });
    }
    Ok(cases)
}

fn preparation(prepared: &Preparation) -> Value {
    json!({
        "firstKeptEntryId": prepared.first_kept_entry_id,
        "isSplitTurn": prepared.splits_turn,
        "tokensBefore": json::number(prepared.tokens_before),
        "messagesToSummarize": prepared.history.len(),
        "turnPrefixMessages": prepared.turn_prefix.len(),
        "previousSummary": prepared.previous_summary,
        "fileOps": super::compaction::file_operations(&prepared.files),
    })
}

/// The file with every usage complete; `None` if they all are.
fn with_whole_usages(text: &str) -> Option<String> {
    let complete = |line: &str| {
        let mut entry = json::parse(line).ok()?;
        let usage = entry.get_mut("message")?.get_mut("usage")?;
        let whole = super::compaction::complete(usage);
        let was_whole = *usage == whole;
        *usage = whole;
        (!was_whole).then(|| json::stringify(&entry))
    };
    text.lines().any(|line| complete(line).is_some()).then(|| {
        let lines = text.lines().map(|line| complete(line).unwrap_or_else(|| line.to_owned()));
        lines.map(|line| line + "\n").collect()
    })
}

fn text_of(case: &Case) -> &str {
    case.text("text").unwrap_or_default()
}

fn with_text(case: &Case, text: &str) -> Case {
    let mut changed = case.clone();
    changed.input["text"] = text.into();
    changed
}

/// 2030-01-01, which no recorded file mentions.
const NOW_MS: i64 = 1_893_456_000_000;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS).unwrap_or_default()
}

/// Runs with `$gen1`, `$gen2`, … as fresh ids.
fn stamped<T>(act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
    let mut count = 0;
    let mut fresh_id = || {
        count += 1;
        format!("$gen{count}")
    };
    act(&mut Stamp { now: now(), fresh_id: &mut fresh_id })
}

fn answer(case: &Case) -> Option<Value> {
    let text = text_of(case);
    let (file, action) = stamped(|stamp| TranscriptFile::open(Some(text), "$cwd", stamp));
    let transcript = file.transcript();
    Some(match case.rule.as_str() {
        "header" => with_now(Value::Object(transcript.header().object().clone())),
        "sessionId" => transcript.session_id().into(),
        "cwd" => file.cwd().into(),
        "entriesCount" => transcript.entries().len().into(),
        "entryTypes" => transcript.entries().iter().map(entry_type).collect(),
        "leafId" => transcript.leaf().map_or(Value::Null, entry_id),
        "branchIds" => transcript.branch().into_iter().map(entry_id).collect(),
        "context" => {
            let context = transcript.context();
            let messages = messages(context.messages.clone());
            settings(&context, "messages", messages)
        }
        "llmMessages" => messages(for_model(transcript.context().messages)),
        "contextAt" => {
            let at = |recorded: &Value| {
                let mut moved = file.clone();
                // An entry that nobody knows is no reason to move.
                let _ = moved.move_leaf(recorded["leafId"].as_str().unwrap_or_default());
                let context = moved.transcript().context();
                let mut told = settings(&context, "roles", roles(&context.messages));
                told["leafId"] = recorded["leafId"].clone();
                told
            };
            case.arg("contextAt").as_array()?.iter().map(at).collect()
        }
        "sessionName" => transcript.name().map_or(Value::Null, Value::from),
        "labels" => {
            let labels = transcript.labels().into_iter();
            labels
                .map(|(id, label)| (id.as_text().unwrap_or_default().to_owned(), Value::from(label)))
                .collect()
        }
        "tree" => transcript.tree().roots().map(node).collect(),
        "tokens" => json!({
            "estimate": super::compaction::context_estimate(&transcript.context().messages),
            "lastAssistantUsage": transcript.branch().into_iter().rev().find_map(tokens::reported_usage),
        }),
        "prepareCompaction" => {
            let keep_recent_tokens =
                case.arg("prepareCompaction")["keepRecentTokens"].as_u64().unwrap_or_default();
            let settings = Settings { keep_recent_tokens, ..Settings::default() };
            let prepared = prepare(&transcript.branch(), &settings);
            let mut answer = match prepared {
                None => json!({"result": null}),
                Some(prepared) => preparation(&prepared),
            };
            answer["keepRecentTokens"] = keep_recent_tokens.into();
            answer
        }
        "rewrittenOnOpen" => match &action {
            OnOpen::Nothing => false.into(),
            OnOpen::Replace { text: new, .. } | OnOpen::SetAside { text: new } => (new != text).into(),
        },
        "afterOpenFile" => {
            after_open(text, &action).lines().map(|line| with_now(Value::from(line))).collect()
        }
        "appendProbe" => append_probe(text),
        "title" => title_of(preview::first_user_message(text.as_bytes()).as_deref()),
        "previews" => previews(text),
        "piSessionInfo" => listing(text).map_or(Value::Null, |listed| session_info(&listed)),
        "fileRepair" => file_repair(text),
        // Where the reference throws, ours opens.
        "openError" | "quirk" => Value::Null,
        _ => return None,
    })
}

/// The title of a session that has nothing but a first message.
fn title_of(first_user_message: Option<&str>) -> Value {
    let source = TitleSource { first_user_message, ..TitleSource::default() };
    derive_title(&source).map_or(Value::Null, Value::from)
}

fn after_open<'t>(text: &'t str, action: &'t OnOpen) -> &'t str {
    match action {
        OnOpen::Nothing => text,
        OnOpen::Replace { text, .. } | OnOpen::SetAside { text } => text,
    }
}

/// The clock's answer under its recorded name.
fn with_now(value: Value) -> Value {
    match value {
        Value::String(text) => text.replace(&time::iso(now()), "$now").into(),
        Value::Object(object) => object.into_iter().map(|(key, value)| (key, with_now(value))).collect(),
        other => other,
    }
}

fn entry_id(entry: &Entry) -> Value {
    entry.key().map_or(Value::Null, |id| id.to_value())
}

fn entry_type(entry: &Entry) -> Value {
    entry.object().get("type").cloned().unwrap_or_default()
}

fn settings(context: &Context, field: &str, value: Value) -> Value {
    let mut told = Object::new();
    told.insert(field.into(), value);
    told.insert("thinkingLevel".into(), context.thinking_level.as_str().into());
    let model = context.model.as_ref().map_or(Value::Null, |model| {
        let fields = [("provider", &model.provider), ("modelId", &model.model_id)];
        fields
            .into_iter()
            .filter_map(|(name, text)| Some((name.to_owned(), Value::from(text.as_deref()?))))
            .collect()
    });
    told.insert("model".into(), model);
    Value::Object(told)
}

/// A context as it is recorded.
pub(super) fn context_value(context: &Context) -> Value {
    settings(context, "messages", messages(context.messages.clone()))
}

fn messages(messages: Vec<Message>) -> Value {
    messages.into_iter().map(Message::into_value).collect()
}

fn roles(messages: &[Message]) -> Value {
    messages.iter().map(|message| message.get("role").cloned().unwrap_or_default()).collect()
}

fn node(node: Node<'_>) -> Value {
    let mut told = Object::new();
    told.insert("id".into(), entry_id(node.entry()));
    told.insert("type".into(), entry_type(node.entry()));
    if let Some(label) = node.label() {
        told.insert("label".into(), label.into());
    }
    told.insert("children".into(), node.children().map(self::node).collect());
    Value::Object(told)
}

/// Opens, appends a user message and an assistant message, and opens again.
fn append_probe(text: &str) -> Value {
    stamped(|stamp| {
        let (mut file, action) = TranscriptFile::open(Some(text), "$cwd", stamp);
        let mut disk = after_open(text, &action).to_owned();
        let leaf = file.transcript().leaf_id().map(str::to_owned);
        let before = raw_lines(&disk);
        let mut append = |role: &str, disk: &mut String| {
            let mut message = Message::default();
            message.set("role", role);
            message.set("content", Vec::<Value>::new());
            let plan = |file: &TranscriptFile| file.plan(vec![NewEntry::Message(message)], stamp);
            let appended = written_down(&mut file, plan).ok();
            let (id, write) = appended.map(|done| (done.id, done.write)).unwrap_or_default();
            disk.push_str(&write.unwrap_or_default());
            let parent = file.transcript().entry(&id).and_then(Entry::parent_id).map(str::to_owned);
            (id, parent, raw_lines(disk))
        };
        let (user, user_parent, after_user) = append("user", &mut disk);
        let (assistant, _, after_assistant) = append("assistant", &mut disk);
        let (reopened, _) = TranscriptFile::open(Some(&disk), "$cwd", stamp);
        let reopened = reopened.transcript();
        serde_json::json!({
            "rawLinesBefore": before,
            "rawLinesAfterUser": after_user,
            "rawLinesAfterAssistant": after_assistant,
            "userParentIsOldLeaf": user_parent == leaf,
            "reopened": {
                "entriesCount": reopened.entries().len(),
                "leafIsAssistantProbe": reopened.leaf_id() == Some(&assistant),
                "userProbePresent": reopened.entry(&user).is_some(),
                "contextRoles": roles(&reopened.context().messages),
            },
        })
    })
}

/// How many lines a file has that are not blank.
pub(super) fn raw_lines(text: &str) -> usize {
    text.split('\n').filter(|line| !line.trim().is_empty()).count()
}

fn previews(text: &str) -> Value {
    let messages = preview::messages(text);
    let optional = |text: Option<String>| text.map_or(Value::Null, Value::from);
    serde_json::json!({
        "messagesCount": messages.len(),
        "messageRoles": roles(&messages),
        "firstUserMessage": optional(preview::first_user_message(text.as_bytes())),
        "lastMessagePreview": optional(preview::last_message(text.as_bytes())),
        "items": items(text, 12, 240),
        "itemsSmall": items(text, 3, 25),
    })
}

fn items(text: &str, limit: usize, max_chars: usize) -> Value {
    let tail = |bytes| Cow::Borrowed(preview::tail(text.as_bytes(), bytes));
    let item = |item: PreviewItem| serde_json::json!({"role": item.role.as_str(), "text": item.text});
    let result: Vec<_> =
        preview::preview_items(tail, PreviewLimits::new(limit, max_chars)).into_iter().map(item).collect();
    serde_json::json!({"limit": limit, "maxChars": max_chars, "result": result})
}

fn session_info(listed: &Listing) -> Value {
    let date = |ms: Option<f64>| ms.and_then(iso).map_or(Value::Null, Value::from);
    let mut told = Object::new();
    told.insert("id".into(), listed.header.get("id").cloned().unwrap_or_default());
    told.insert("cwd".into(), listed.header.get("cwd").and_then(Value::as_str).unwrap_or_default().into());
    if let Some(name) = &listed.name {
        told.insert("name".into(), name.as_str().into());
    }
    if let Some(parent) = listed.header.get("parentSession") {
        told.insert("parentSessionPath".into(), parent.clone());
    }
    told.insert("created".into(), date(listed.created));
    told.insert("modified".into(), date(listed.modified));
    told.insert("messageCount".into(), listed.message_count.into());
    told.insert("firstMessage".into(), listed.first_message.as_str().into());
    told.insert("allMessagesTextLength".into(), text::units(&listed.all_text).into());
    Value::Object(told)
}

#[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
fn iso(ms: f64) -> Option<String> {
    Timestamp::from_millisecond(ms as i64).ok().map(time::iso)
}

fn file_repair(text: &str) -> Value {
    match repair(Some(text)) {
        Repair::Replace { dropped, .. } => serde_json::json!({"repaired": true, "droppedLines": dropped}),
        Repair::Leave { dropped, reason: None } => {
            serde_json::json!({"repaired": false, "droppedLines": dropped})
        }
        Repair::Leave { dropped, reason: Some(reason) } => {
            serde_json::json!({"repaired": false, "droppedLines": dropped, "reason": reason.to_string()})
        }
    }
}

/// Both messages reach the disk and the context grows by both, whatever the file was like.
fn promised_probe(case: &Case) -> Value {
    let text = text_of(case);
    let after_open = match case.arg("rewrittenOnOpen") {
        Value::Bool(true) => case.expected["rawLinesBefore"].as_u64().unwrap_or_default(),
        _ => raw_lines(text) as u64,
    };
    let answered = has_assistant(text) && case.arg("entriesCount").as_u64() != Some(0);
    let mut roles: Vec<Value> = case.arg("context")["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| message["role"].clone())
        .collect();
    roles.extend(["user".into(), "assistant".into()]);
    serde_json::json!({
        "rawLinesBefore": after_open,
        "rawLinesAfterUser": after_open + u64::from(answered),
        "rawLinesAfterAssistant": after_open + 2,
        "userParentIsOldLeaf": true,
        "reopened": {
            "entriesCount": case.arg("entriesCount").as_u64().unwrap_or_default() + 2,
            "leafIsAssistantProbe": true,
            "userProbePresent": true,
            "contextRoles": roles,
        },
    })
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text::trim(text).split('\n').filter(|line| !text::trim(line).is_empty())
}

fn has_assistant(text: &str) -> bool {
    let is_transcript = lines(text).find_map(Entry::parse).is_some_and(|first| {
        let first = first.object();
        first.get("type").and_then(Value::as_str) == Some("session")
            && first.get("id").is_some_and(Value::is_string)
    });
    is_transcript
        && lines(text)
            .filter_map(Entry::parse)
            .any(|entry| entry.kind() == EntryKind::Message && entry.role() == Some(Role::Assistant))
}

fn is_unterminated(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

/// Lines that are JSON, but no objects: the reference throws at `null`, and loses its way at others.
fn has_foreign_lines(text: &str) -> bool {
    lines(text).any(is_foreign)
}

fn is_foreign(line: &str) -> bool {
    json::parse(line).is_ok_and(|value| !value.is_object())
}

fn without_foreign_lines(text: &str) -> String {
    let kept: Vec<&str> = text.split('\n').filter(|line| !is_foreign(line)).collect();
    kept.join("\n")
}

/// A file in the shape of the seed documents, as the reference would have written it: `None` if it is
/// in no such shape.
fn spelt_out(text: &str) -> Option<String> {
    let mut objects = Vec::new();
    for line in lines(text) {
        match json::parse(line) {
            Ok(Value::Object(object)) => objects.push(object),
            _ => return None,
        }
    }
    let (header, entries) = objects.split_first_mut()?;
    if header.get("type").and_then(Value::as_str) != Some("session") {
        return None;
    }
    let version = header.get("version").and_then(Value::as_f64).unwrap_or(1.0);
    let other_id = match (header.get("id"), header.get("sessionId")) {
        (None, Some(Value::String(id))) if !id.is_empty() => Some(id.clone()),
        _ => None,
    };
    let is_list = version < 3.0 && !entries.iter().any(|entry| entry.contains_key("parentId"));
    let has_nameless = entries.iter().any(is_nameless);
    // The first version is a list to the reference, too.
    let changed = other_id.is_some() || (version >= 2.0 && (has_nameless || (is_list && entries.len() > 1)));
    if !changed {
        return None;
    }
    if let Some(id) = other_id {
        header.insert("id".into(), id.into());
    }
    // An id that is made up is whatever the rule makes up; all else is spelt out here.
    let (made_up, _) = stamped(|stamp| TranscriptFile::open(Some(text), "$cwd", stamp));
    let mut made_up = made_up.transcript().entries().iter().map(entry_id);
    let mut previous = Value::Null;
    let is_header = |entry: &Object| entry.get("type").and_then(Value::as_str) == Some("session");
    for entry in entries.iter_mut().filter(|entry| version >= 2.0 && !is_header(entry)) {
        let nameless = is_nameless(entry);
        let made_up = made_up.next().unwrap_or_default();
        if nameless {
            entry.insert("id".into(), made_up);
        }
        if !entry.contains_key("parentId") && (nameless || is_list) {
            entry.insert("parentId".into(), previous.clone());
        }
        previous = entry.get("id").cloned().unwrap_or_default();
    }
    Some(objects.iter().map(|object| json::stringify_object(object) + "\n").collect())
}

/// Lists and objects are no names.
fn is_nameless(entry: &Object) -> bool {
    !entry.get("id").is_some_and(|id| json::truthy(id) && !id.is_object() && !id.is_array())
}
