//! What the model is told: the branch as messages (`transcripts.md` §5).

use super::entry::{Entry, EntryId, EntryKind, object_on};
use super::header::Version;
use super::tree::{EarlierSetting, Transcript};
use super::version::rename_hook;
use super::{seed, time};
use crate::json::{self, Object, Value, number};
use crate::message::{Content, Message, Role, text_block};

/// How a model is told about what was compacted.
pub const COMPACTION_INTRO: &str =
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const COMPACTION_END: &str = "\n</summary>";
/// How a model is told about a branch that was left.
pub const BRANCH_INTRO: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const BRANCH_END: &str = "</summary>";

#[derive(Clone, Debug, PartialEq)]
pub struct Context {
    pub messages: Vec<Message>,
    pub thinking_level: String,
    /// The model that was last chosen or that last answered.
    pub model: Option<ModelUsed>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelUsed {
    pub provider: Option<String>,
    pub model_id: Option<String>,
}

impl Transcript {
    /// The context at the leaf.
    pub fn context(&self) -> Context {
        self.context_of(&self.branch())
    }

    /// The context as it was when `id` was the leaf; at the last entry of the file if it is unknown.
    pub fn context_at(&self, id: &str) -> Context {
        self.context_of(&self.branch_near(id))
    }

    fn context_of(&self, branch: &[&Entry]) -> Context {
        let mut settings = Settings::of(branch);
        if let Some(earlier) = self.earlier(branch) {
            if let (None, EarlierSetting::Known(level)) = (&settings.thinking_level, &earlier.thinking_level)
            {
                settings.thinking_level = Some(level.clone());
            }
            if let (None, EarlierSetting::Known(model)) = (&settings.model, &earlier.model) {
                settings.model.clone_from(model);
            }
        }
        let mut told = told_on(branch);
        if self.header().version() < Version::Three {
            // As if it had been migrated.
            told.iter_mut().for_each(|message| rename_hook(message.as_object_mut()));
        }
        settings.with(told)
    }

    /// The entries that the context at the leaf tells word for word: not those that were summarised.
    pub fn told_entries(&self) -> Vec<&Entry> {
        let branch = self.branch();
        let Some(at) = last_compaction(&branch) else { return branch };
        let kept = kept_by(&branch, at, &branch[at].object());
        kept.iter().chain(&branch[at + 1..]).copied().collect()
    }

    /// The summary that stands in front of them, where something was summarised.
    pub fn told_summary(&self) -> Option<Message> {
        let branch = self.branch();
        let compaction = branch[last_compaction(&branch)?];
        Some(compaction_summary(&compaction.object(), compaction.time()))
    }

    /// Whether the entries that are held are enough to tell the context at the leaf.
    pub fn knows_its_context(&self) -> bool {
        let branch = self.branch();
        let leads_out = branch.first().is_some_and(|oldest| oldest.parent_key().is_some());
        if self.is_whole() || !leads_out {
            return true;
        }
        let Some(earlier) = self.earlier(&branch) else { return false };
        let settings = Settings::of(&branch);
        let knows_settings = (settings.thinking_level.is_some()
            || earlier.thinking_level != EarlierSetting::Unknown)
            && (settings.model.is_some() || earlier.model != EarlierSetting::Unknown);
        let knows_messages =
            last_compaction(&branch).is_some_and(|at| match FirstKept::of(&branch[at].object()) {
                FirstKept::None => true,
                FirstKept::Named(id) => branch[..at].iter().any(|entry| entry.key() == Some(&id)),
                FirstKept::AfterMessages(_) => false,
            });
        knows_settings && knows_messages
    }
}

/// The messages of a branch, settings in force at its end. Everything that the last compaction
/// summarised is replaced by its summary. Only what is told is parsed.
pub fn build_context(branch: &[&Entry]) -> Context {
    Settings::of(branch).with(told_on(branch))
}

/// What a branch sets, and `None` where it sets nothing.
struct Settings {
    /// A change without a readable level sets the default one.
    thinking_level: Option<Option<String>>,
    model: Option<ModelUsed>,
}

impl Settings {
    fn of(branch: &[&Entry]) -> Self {
        let latest = |wanted: fn(&Entry) -> bool| branch.iter().rev().find(|entry| wanted(entry));
        Self {
            thinking_level: latest(|entry| entry.kind() == EntryKind::ThinkingLevelChange)
                .map(|entry| level_in(&entry.object())),
            model: latest(|entry| entry.kind() == EntryKind::ModelChange || entry.is_assistant_message())
                .map(|entry| model_in(entry.kind(), &entry.object())),
        }
    }

    fn with(self, messages: Vec<Message>) -> Context {
        Context {
            messages,
            thinking_level: level_or_default(self.thinking_level.flatten()),
            model: self.model,
        }
    }
}

pub(super) fn level_or_default(level: Option<String>) -> String {
    level.unwrap_or_else(|| "off".to_owned())
}

/// The level that a change sets.
pub(super) fn level_in(change: &Object) -> Option<String> {
    change.get("thinkingLevel")?.as_str().map(str::to_owned)
}

/// The model that a change chose, or that answered.
pub(super) fn model_in(kind: EntryKind, object: &Object) -> ModelUsed {
    let (provider, model_id) = match kind {
        EntryKind::ModelChange => seed::model_of(object),
        _ => {
            let of_message = |field| json::at(object.get("message")?, &[field])?.as_str().map(str::to_owned);
            (of_message("provider"), of_message("model"))
        }
    };
    ModelUsed { provider, model_id }
}

fn last_compaction(branch: &[&Entry]) -> Option<usize> {
    branch.iter().rposition(|entry| entry.kind() == EntryKind::Compaction)
}

/// What a branch tells the model.
fn told_on(branch: &[&Entry]) -> Vec<Message> {
    let (summary, [kept, since]) = told_parts(branch);
    summary.into_iter().chain(told(kept)).chain(told(since)).collect()
}

/// The summary in front of what a branch tells the model, the entries that the last compaction kept, and those since.
pub(crate) fn told_parts<'b, 'e>(branch: &'b [&'e Entry]) -> (Option<Message>, [&'b [&'e Entry]; 2]) {
    let Some(at) = last_compaction(branch) else { return (None, [&[], branch]) };
    let compaction = branch[at].object();
    let summary = compaction_summary(&compaction, branch[at].time());
    (Some(summary), [kept_by(branch, at, &compaction), &branch[at + 1..]])
}

/// What the compaction at this place of a branch kept of what stands before it.
fn kept_by<'b, 'e>(branch: &'b [&'e Entry], at: usize, compaction: &Object) -> &'b [&'e Entry] {
    match line_kept_from(branch[at], compaction) {
        Some(line) => branch[..at].get(line..).unwrap_or_default(),
        None => kept_before(&branch[..at], compaction),
    }
}

/// In the oldest files, plain lists, a compaction counts the lines of the file instead of naming an
/// entry; the entry that it means. Migration gives it a name (`transcripts.md` §3).
fn line_kept_from(entry: &Entry, compaction: &Object) -> Option<usize> {
    let line = compaction.get("firstKeptEntryIndex").filter(|_| entry.is_of_a_list())?.as_u64()?;
    // The header is line 0; nothing is kept from there on.
    Some(usize::try_from(line).ok()?.checked_sub(1).unwrap_or(usize::MAX))
}

/// How a compaction says from where on it kept what stood before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FirstKept {
    /// It kept nothing.
    None,
    Named(EntryId),
    /// From behind so many messages of the branch on.
    AfterMessages(usize),
}

impl FirstKept {
    pub(super) fn of(compaction: &Object) -> Self {
        match seed::removed_count(compaction) {
            Some(count) => Self::AfterMessages(count),
            None => match compaction.get("firstKeptEntryId").and_then(EntryId::of_value) {
                Some(id) => Self::Named(id),
                None => Self::None,
            },
        }
    }
}

/// What a compaction left of the entries before it.
fn kept_before<'b, 'e>(before: &'b [&'e Entry], compaction: &Object) -> &'b [&'e Entry] {
    let first_kept = match FirstKept::of(compaction) {
        FirstKept::None => None,
        FirstKept::Named(id) => before.iter().position(|entry| entry.key() == Some(&id)),
        FirstKept::AfterMessages(count) => {
            behind_messages(count, before.iter().map(|entry| entry.kind() == EntryKind::Message))
        }
    };
    first_kept.and_then(|at| before.get(at..)).unwrap_or_default()
}

/// The place behind so many messages; `is_message` of each entry in order.
pub(super) fn behind_messages(count: usize, is_message: impl Iterator<Item = bool>) -> Option<usize> {
    match count.checked_sub(1) {
        None => Some(0),
        Some(last) => is_message.enumerate().filter(|(_, yes)| *yes).map(|(at, _)| at + 1).nth(last),
    }
}

/// The messages that entries tell.
fn told(entries: &[&Entry]) -> impl Iterator<Item = Message> {
    entries.iter().filter_map(|entry| message_of(entry))
}

/// The message that an entry tells, if it tells one.
pub fn message_of(entry: &Entry) -> Option<Message> {
    if entry.kind() == EntryKind::Message && entry.role().is_none() {
        return None;
    }
    message_on(entry.kind(), entry.line())
}

/// Whether entries of this kind can tell a message.
pub(super) fn tells(kind: EntryKind) -> bool {
    matches!(kind, EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary)
}

/// The message that the line of an entry of this kind tells.
pub(super) fn message_on(kind: EntryKind, line: &str) -> Option<Message> {
    let stated_time = |object: &Object| object.get("timestamp").and_then(time::of_value);
    match kind {
        EntryKind::Message => seed::message_on(line),
        EntryKind::CustomMessage => {
            let object = object_on(line);
            let time = stated_time(&object);
            Some(assembled("custom", object, &["customType", "content", "display", "details"], time))
        }
        EntryKind::BranchSummary => {
            let object = object_on(line);
            let time = stated_time(&object);
            let has_summary = object.get("summary").is_some_and(json::truthy);
            has_summary.then(|| assembled("branchSummary", object, &["summary", "fromId"], time))
        }
        EntryKind::Session
        | EntryKind::ThinkingLevelChange
        | EntryKind::ModelChange
        | EntryKind::Compaction
        | EntryKind::Custom
        | EntryKind::Label
        | EntryKind::SessionInfo
        | EntryKind::Unknown => None,
    }
}

/// The summary on the line of a compaction.
pub(super) fn summary_on(line: &str) -> Message {
    let compaction = object_on(line);
    let time = compaction.get("timestamp").and_then(time::of_value);
    compaction_summary(&compaction, time)
}

/// The summary that stands for what was compacted.
pub fn compaction_summary(compaction: &Object, time: Option<f64>) -> Message {
    assembled("compactionSummary", compaction.clone(), &["summary", "tokensBefore"], time)
}

/// A message of some fields of an entry and the entry's time; a time that cannot be read is null.
fn assembled(role: &str, mut entry: Object, fields: &[&str], time: Option<f64>) -> Message {
    let mut message = Message::default();
    message.set("role", role);
    for field in fields {
        if let Some(value) = entry.swap_remove(*field) {
            message.set(field, value);
        }
    }
    message.set("timestamp", time.map_or(Value::Null, number));
    message
}

/// The messages as a model understands them: users, assistants and tool results (§5.1).
pub fn for_model(messages: Vec<Message>) -> Vec<Message> {
    messages.into_iter().filter_map(one_for_model).collect()
}

fn one_for_model(message: Message) -> Option<Message> {
    let summary = || js_text(message.get("summary"));
    let text = match message.role() {
        Role::User | Role::ToolResult => return Some(message),
        Role::Assistant => return Some(seed::in_our_spelling(message)),
        Role::Custom => match message.content() {
            Content::Text(text) => text.to_owned(),
            Content::Blocks(_) | Content::Missing => {
                return Some(from_user(message.get("content").cloned(), &message));
            }
        },
        Role::CompactionSummary => format!("{COMPACTION_INTRO}{}{COMPACTION_END}", summary()),
        Role::BranchSummary => format!("{BRANCH_INTRO}{}{BRANCH_END}", summary()),
        Role::BashExecution if message.get("excludeFromContext").is_some_and(json::truthy) => return None,
        Role::BashExecution => bash_text(&message),
        Role::Other => {
            return Some(seed::in_our_spelling(message)).filter(|message| message.role() == Role::ToolResult);
        }
    };
    Some(from_user(Some(Value::Array(vec![text_block(&text)])), &message))
}

fn from_user(content: Option<Value>, original: &Message) -> Message {
    let mut message = Message::default();
    message.set("role", "user");
    if let Some(content) = content {
        message.set("content", content);
    }
    if let Some(timestamp) = original.get("timestamp") {
        message.set("timestamp", timestamp.clone());
    }
    message
}

fn bash_text(message: &Message) -> String {
    let given = |field: &str| message.get(field).filter(|value| json::truthy(value));
    let mut text = format!("Ran `{}`\n", js_text(message.get("command")));
    match given("output") {
        Some(output) => text.push_str(&format!("```\n{}\n```", js_text(Some(output)))),
        None => text.push_str("(no output)"),
    }
    let exit_code = message.get("exitCode").filter(|code| !code.is_null() && code.as_f64() != Some(0.0));
    if given("cancelled").is_some() {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(code) = exit_code {
        text.push_str(&format!("\n\nCommand exited with code {}", js_text(Some(code))));
    }
    if let (Some(_), Some(path)) = (given("truncated"), given("fullOutputPath")) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {}]", js_text(Some(path))));
    }
    text
}

/// A field as JavaScript puts it into a text.
fn js_text(value: Option<&Value>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(_)) => "[object Object]".to_owned(),
        Some(Value::Array(items)) => {
            let part = |item: &Value| if item.is_null() { String::new() } else { js_text(Some(item)) };
            items.iter().map(part).collect::<Vec<_>>().join(",")
        }
        Some(other) => json::stringify(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s"}"#;

    fn roles(context: &Context) -> String {
        let role = |message: &Message| message.text_field("role").unwrap_or("?").to_owned();
        context.messages.iter().map(role).collect::<Vec<_>>().join(" ")
    }

    fn message(id: &str, parent: &str, role: &str) -> String {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"{role}","provider":"p","model":"m"}}}}"#
        )
    }

    fn compaction(id: &str, parent: &str, first_kept: &str) -> String {
        format!(
            r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","summary":"S","firstKeptEntryId":"{first_kept}","tokensBefore":1}}"#
        )
    }

    #[test]
    fn a_compaction_replaces_what_it_did_not_keep() {
        let lines = [message("a", "", "user"), message("b", "a", "assistant"), message("c", "b", "user")];
        let after = message("e", "d", "user");
        //  first kept, roles
        let table = [
            ("a", "compactionSummary user assistant user user"),
            ("c", "compactionSummary user user"),
            ("gone", "compactionSummary user"),
        ];
        for (first_kept, expected) in table {
            let file =
                format!("{HEADER}\n{}\n{}\n{after}", lines.join("\n"), compaction("d", "c", first_kept));
            let context = Transcript::read(&file).expect("a header").context();
            assert_eq!(roles(&context), expected, "{first_kept}");
            let model = ModelUsed { provider: Some("p".into()), model_id: Some("m".into()) };
            assert_eq!(context.model, Some(model));
        }
    }

    #[test]
    fn in_the_oldest_files_a_compaction_counts_lines() {
        let line =
            |role: &str| format!(r#"{{"type":"message","message":{{"role":"{role}","content":"x"}}}}"#);
        let (user, assistant) = (line("user"), line("assistant"));
        //  line of the first kept, roles
        let table = [
            ("0", "compactionSummary user"),
            ("1", "compactionSummary user assistant user"),
            ("2", "compactionSummary assistant user"),
            ("3", "compactionSummary user"),
            ("99", "compactionSummary user"),
            ("\"2\"", "compactionSummary user"),
        ];
        for (first_kept, expected) in table {
            let compaction =
                format!(r#"{{"type":"compaction","summary":"S","firstKeptEntryIndex":{first_kept}}}"#);
            let header = r#"{"type":"session","id":"s"}"#;
            let file = [header, &user, &assistant, &compaction, &user].join("\n");
            let context = Transcript::read(&file).expect("a header").context();
            assert_eq!(roles(&context), expected, "{first_kept}");
        }
    }

    #[test]
    fn what_hooks_said_in_older_files_has_its_new_name() {
        for (version, expected) in [("2", "custom"), ("3", "hookMessage")] {
            let header = format!(r#"{{"type":"session","version":{version},"id":"s"}}"#);
            let file = format!("{header}\n{}", message("a", "", "hookMessage"));
            let context = Transcript::read(&file).expect("a header").context();
            assert_eq!(roles(&context), expected, "{version}");
        }
    }

    #[test]
    fn without_a_leaf_there_is_no_context_and_an_unknown_one_is_the_last() {
        let file = format!("{HEADER}\n{}\n{}", message("a", "", "user"), message("b", "a", "assistant"));
        let mut transcript = Transcript::read(&file).expect("a header");
        assert_eq!(roles(&transcript.context_at("a")), "user");
        assert_eq!(roles(&transcript.context_at("unknown")), "user assistant");
        transcript.reset_leaf();
        assert_eq!(roles(&transcript.context()), "");
    }

    #[test]
    fn commands_are_told_with_their_outcome() {
        let table = [
            (r#"{"command":"ls","output":"a","exitCode":0}"#, "Ran `ls`\n```\na\n```"),
            (
                r#"{"command":"ls","output":"","exitCode":2}"#,
                "Ran `ls`\n(no output)\n\nCommand exited with code 2",
            ),
            (
                r#"{"command":"ls","cancelled":true,"exitCode":2}"#,
                "Ran `ls`\n(no output)\n\n(command cancelled)",
            ),
            (
                r#"{"command":"ls","exitCode":null,"truncated":true,"fullOutputPath":"/o"}"#,
                "Ran `ls`\n(no output)\n\n[Output truncated. Full output: /o]",
            ),
        ];
        for (json, expected) in table {
            let message = Message::from_value(json::parse(json).expect(json)).expect("an object");
            assert_eq!(bash_text(&message), expected, "{json}");
        }
    }

    #[test]
    fn only_users_assistants_and_tool_results_reach_the_model() {
        let table = [
            (r#"{"role":"notification","content":"x"}"#, None),
            (r#"{"role":"bashExecution","command":"x","excludeFromContext":true}"#, None),
            (
                r#"{"role":"custom","content":"x","timestamp":1}"#,
                Some(r#"{"role":"user","content":[{"type":"text","text":"x"}],"timestamp":1}"#),
            ),
            (
                r#"{"role":"branchSummary","summary":"S","timestamp":1}"#,
                Some(concat!(
                    r#"{"role":"user","content":[{"type":"text","text":"The following is a summary of a branch "#,
                    r#"that this conversation came back from:\n\n<summary>\nS</summary>"}],"timestamp":1}"#
                )),
            ),
        ];
        for (json, expected) in table {
            let message = Message::from_value(json::parse(json).expect(json)).expect("an object");
            let told = for_model(vec![message]);
            let told = told.first().map(|message| json::stringify_object(message.as_object()));
            assert_eq!(told.as_deref(), expected, "{json}");
        }
    }
}
