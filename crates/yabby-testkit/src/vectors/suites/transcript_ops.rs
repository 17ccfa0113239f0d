//! `transcript-ops.json`: sequences of operations and the bytes that they leave on disk.
//!
//! The disk is a map of names to texts. Ids, times and paths that differ from run to run are given
//! their recorded names before the answer is compared.

mod promise;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::Message;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::recounted;
use yabby_domain::transcript::file::{
    Candidate, OnOpen, Planned, TranscriptFile, Write, header_before_mirror, header_before_run, most_recent,
};
use yabby_domain::transcript::file_name::{self, ArchiveReason};
use yabby_domain::transcript::file_repair::{Repair, repair};
use yabby_domain::transcript::fork::{self, Fork};
use yabby_domain::transcript::guard::{ToolResultGuard, Unanswered};
use yabby_domain::transcript::line_compact::{LineCompaction, MaxLines, compact};
use yabby_domain::transcript::mirror::{Delivered, injected_message, mirror, mirror_message};
use yabby_domain::transcript::tree::{BranchSummary, NewCompaction, NewEntry};
use yabby_domain::transcript::{Stamp, time};

use super::transcripts::{context_value, raw_lines};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite = Suite { file: "transcript-ops.json", cases, answer, differences: DIFFERENCES };

/// A difference that the model of our promises names when it comes to one.
macro_rules! difference {
    ($name:literal) => {
        Difference {
            name: $name,
            applies: |case| promise::promised(case).is_some_and(|promised| promised.because == Some($name)),
            expected: |case| promise::promised(case).map(|promised| promised.value).unwrap_or_default(),
        }
    };
}

const DIFFERENCES: &[Difference] = &[
    difference!("nothing-appended-is-lost"),
    difference!("a-run-keeps-earlier-lines"),
    difference!("a-fork-is-a-session-of-its-own"),
    difference!("injected-notes-hang-from-the-leaf"),
    difference!("line-compaction-keeps-the-header"),
    difference!("seed-shaped-lines-are-a-conversation"),
    difference!("lines-that-are-no-objects-are-skipped"),
];

fn cases(document: &Value) -> Vec<Case> {
    let case = |case: &Value| Case {
        rule: "cases".to_owned(),
        name: case["name"].as_str().unwrap_or_default().to_owned(),
        input: case["ops"].clone(),
        expected: case["expected"].clone(),
    };
    document["cases"].as_array().map(|cases| cases.iter().map(case).collect()).unwrap_or_default()
}

fn answer(case: &Case) -> Option<Value> {
    let mut world = World::default();
    let mut steps = Vec::new();
    for op in case.input.as_array()? {
        steps.push(world.step(op)?);
    }
    Some(world.told(steps))
}

/// The folder of the sessions.
const FOLDER: &str = "/sessions";

/// What stands for the name of a file that was named by its time and session.
const NAMED_BY_TIME: &str = "<timestamp with : and . replaced by ->_<session id>.jsonl";

const MAIN_KEY: &str = "agent:main:main";

/// 2030-01-01, which no recorded case mentions.
const NOW_MS: i64 = 1_893_456_000_000;

fn now() -> Timestamp {
    Timestamp::from_millisecond(NOW_MS).unwrap_or_default()
}

#[derive(Default)]
struct World {
    files: BTreeMap<String, String>,
    /// Names of files in the order in which they were last written.
    written: Vec<String>,
    /// Names of session files in the order in which they were first mentioned.
    mentioned: Vec<String>,
    open: Option<Open>,
    guard: Option<ToolResultGuard>,
    /// How many ids were made.
    made: Cell<u32>,
    /// Names given to ids that were made.
    names: HashMap<String, String>,
    sessions: usize,
    unnamed: usize,
}

struct Open {
    name: String,
    file: TranscriptFile,
}

/// What an append made, and what it added to the file.
pub(super) struct Appended {
    pub(super) id: String,
    pub(super) write: Option<String>,
}

/// Has entries written that somebody planned, as the stores do: what the journal gets is not in the file.
pub(super) fn written_down<E>(
    file: &mut TranscriptFile,
    plan: impl FnOnce(&TranscriptFile) -> Result<Planned, E>,
) -> Result<Appended, E> {
    let planned = plan(file)?;
    let id = planned.ids().pop().unwrap_or_default();
    let write = match &planned.write {
        Write::Journal(_) => None,
        Write::File(text) => Some(text.clone()),
    };
    file.keep(planned);
    Ok(Appended { id, write })
}

/// Whether a conversation that became shorter by hand forgets this of its record.
fn is_cleared(field: &str) -> bool {
    let mut entry = SessionEntry::new(Object::from_iter([(field.to_owned(), 1.into())]));
    entry.apply(&recounted(None));
    entry.as_object().is_empty()
}

/// What an operation gave back.
#[derive(Default)]
struct Outcome {
    returns: Option<Value>,
    error: Option<String>,
    /// The entry that it made.
    id: Option<String>,
}

impl Outcome {
    fn returning(value: Value) -> Self {
        Self { returns: Some(value), ..Self::default() }
    }

    fn failing(error: impl std::error::Error) -> Self {
        Self { error: Some(error.to_string()), ..Self::default() }
    }
}

impl World {
    fn step(&mut self, recorded: &Value) -> Option<Value> {
        let op = self.with_ids(recorded);
        let name = op["op"].as_str()?;
        if let Some(file) = op["file"].as_str() {
            self.mention(file);
        }
        let (outcome, stands_alone) = match self.alone(name, &op) {
            Some(outcome) => (outcome, true),
            None => (self.with_manager(name, &op)?, false),
        };
        self.name_new_ids(outcome.id.as_deref(), op["as"].as_str());
        let mut step = Object::new();
        step.insert("op".into(), name.into());
        if let Some(returns) = outcome.returns {
            step.insert("returns".into(), returns);
        }
        if let Some(error) = outcome.error {
            step.insert("error".into(), error.into());
        }
        if let Some(open) = self.open.as_ref().filter(|_| !stands_alone) {
            let text = self.files.get(&open.name);
            let transcript = open.file.transcript();
            step.insert("leaf".into(), transcript.leaf_id().map_or(Value::Null, Value::from));
            step.insert("file".into(), path(&open.name).into());
            step.insert("fileExists".into(), text.is_some().into());
            step.insert("rawLines".into(), text.map_or(0, |text| raw_lines(text)).into());
            step.insert("entries".into(), transcript.entries().len().into());
        }
        Some(Value::Object(step))
    }

    /// Operations that need no open session.
    fn alone(&mut self, name: &str, op: &Value) -> Option<Outcome> {
        let file = op["file"].as_str().unwrap_or_default().to_owned();
        let text = self.files.get(&file).cloned();
        Some(match name {
            "write" => {
                let text = match op["text"].as_str() {
                    Some(text) => text.to_owned(),
                    None => op["lines"].as_array()?.iter().map(|line| json::stringify(line) + "\n").collect(),
                };
                self.write(&file, text);
                Outcome::default()
            }
            "ensureSessionHeader" => {
                let (id, cwd) = (op["sessionId"].as_str()?, op["cwd"].as_str()?);
                let header = self.stamped(|stamp| header_before_run(text.is_some(), id, cwd, stamp));
                self.append_text(&file, header);
                Outcome::default()
            }
            "repairSessionFile" => self.repair(&file, text.as_deref()),
            "mirror" => self.mirror(&file, text, op),
            "chatInject" => self.inject(&file, text, op),
            "forkSessionFromParent" => {
                let Some(text) = text else { return Some(Outcome::returning(Value::Null)) };
                let parent = self.opened(&file, Some(&text));
                self.name_session(parent.transcript().session_id());
                let fork = self.stamped(|stamp| fork::thread(&parent, &path(&file), stamp));
                let name = self.forked(fork).name;
                Outcome::returning(
                    serde_json::json!({"sessionFile": path(&name), "sessionIdIsHeaderId": true}),
                )
            }
            "sessionsCompact" => self.line_compact(&file, text.as_deref(), op),
            _ => return None,
        })
    }

    fn repair(&mut self, file: &str, text: Option<&str>) -> Outcome {
        let returns = match repair(text) {
            Repair::Leave { dropped, reason } => {
                let mut told = serde_json::json!({"repaired": false, "droppedLines": dropped});
                if let Some(reason) = reason {
                    told["reason"] = reason.to_string().into();
                }
                told
            }
            Repair::Replace { dropped, text: repaired } => {
                let backup = file_name::repair_backup(file, 7, now());
                let suffix = backup.strip_prefix(file).unwrap_or_default();
                let pattern = suffix.replace("-7-", "-<pid>-").replace(&NOW_MS.to_string(), "<ms>");
                self.write(&backup, text.unwrap_or_default().to_owned());
                self.write(file, repaired);
                serde_json::json!({"repaired": true, "droppedLines": dropped, "backupSuffixPattern": pattern})
            }
        };
        Outcome::returning(returns)
    }

    fn mirror(&mut self, file: &str, text: Option<String>, op: &Value) -> Outcome {
        let stored = op["key"].as_str().unwrap_or(MAIN_KEY);
        let urls: Vec<&str> =
            op["mediaUrls"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let delivered = Delivered { text: op["text"].as_str(), media_urls: &urls };
        let key = op["sessionKey"].as_str().unwrap_or_default();
        let mirrored = match mirror(key, |key| key == stored, delivered) {
            Ok(mirrored) => mirrored,
            Err(reason) => {
                return Outcome::returning(serde_json::json!({"ok": false, "reason": reason.to_string()}));
            }
        };
        let session_id = op["sessionId"].as_str().unwrap_or_default();
        let header = self.stamped(|stamp| header_before_mirror(text.is_some(), session_id, "$cwd", stamp));
        self.append_text(file, header);
        let text = self.files.get(file).cloned();
        let mut opened = self.opened(file, text.as_deref());
        self.name_session(opened.transcript().session_id());
        let message = NewEntry::Message(mirror_message(&mirrored, now()));
        let appended =
            self.stamped(|stamp| written_down(&mut opened, |file| file.plan(vec![message], stamp)));
        self.written(file, appended);
        Outcome::returning(serde_json::json!({"ok": true}))
    }

    fn inject(&mut self, file: &str, text: Option<String>, op: &Value) -> Outcome {
        let Some(text) = text else {
            let error =
                serde_json::json!({"code": "INVALID_REQUEST", "message": "transcript file not found"});
            return Outcome::returning(serde_json::json!({"ok": false, "error": error}));
        };
        let mut opened = self.opened(file, Some(&text));
        let message =
            injected_message(op["message"].as_str().unwrap_or_default(), op["label"].as_str(), now());
        let appended = self.stamped(|stamp| {
            written_down(&mut opened, |file| file.plan(vec![NewEntry::Message(message)], stamp))
        });
        let id = appended.as_ref().ok().map(|appended| appended.id.clone());
        self.written(file, appended);
        Outcome { id, ..Outcome::returning(serde_json::json!({"ok": true})) }
    }

    fn line_compact(&mut self, file: &str, text: Option<&str>, op: &Value) -> Outcome {
        let key = op["key"].as_str().unwrap_or(MAIN_KEY);
        let mut record = vec![
            "sessionId",
            "updatedAt",
            "sessionFile",
            "inputTokens",
            "outputTokens",
            "totalTokens",
            "contextTokens",
        ];
        let max = match MaxLines::from_value(op.get("maxLines")) {
            Ok(max) => max,
            Err(invalid) => {
                let message = format!("invalid sessions.compact params: {invalid}");
                return Outcome::returning(serde_json::json!({
                    "ok": false,
                    "error": {"code": "INVALID_REQUEST", "message": message},
                    "storeEntryKeys": record,
                }));
            }
        };
        let payload = match text.map(|text| compact(text, max)) {
            None => {
                serde_json::json!({"ok": true, "key": key, "compacted": false, "reason": "no transcript"})
            }
            Some(LineCompaction::Untouched { kept }) => {
                serde_json::json!({"ok": true, "key": key, "compacted": false, "kept": kept})
            }
            Some(LineCompaction::Compacted { text: compacted, kept }) => {
                let archived = file_name::archive(file, ArchiveReason::Backup, now());
                self.write(&archived, text.unwrap_or_default().to_owned());
                self.write(file, compacted);
                record.retain(|field| !is_cleared(field));
                let archived = archived.replace(&time::iso(now()).replace(':', "-"), "<iso-with-dashes>");
                serde_json::json!({"ok": true, "key": key, "compacted": true, "archived": archived, "kept": kept})
            }
        };
        Outcome::returning(serde_json::json!({"ok": true, "payload": payload, "storeEntryKeys": record}))
    }

    /// Operations on the open session, and those that open one.
    fn with_manager(&mut self, name: &str, op: &Value) -> Option<Outcome> {
        let outcome = match name {
            "create" | "open" | "continueRecent" | "forkFrom" => {
                // The guard stands before the session that it was given, and goes with it.
                self.guard = None;
                self.opening(name, op)?
            }
            "newSession" | "createBranchedSession" => self.leaving(name, op)?,
            _ => self.on_open_session(name, op)?,
        };
        self.mention_open();
        Some(outcome)
    }

    fn opening(&mut self, name: &str, op: &Value) -> Option<Outcome> {
        let text = |field: &str| op[field].as_str();
        match name {
            "create" => self.begin(text("cwd")?, None),
            "open" => {
                let name =
                    text("file").map(str::to_owned).or_else(|| Some(self.open.as_ref()?.name.clone()))?;
                let text = self.files.get(&name).cloned();
                let file = self.opened(&name, text.as_deref());
                self.open = Some(Open { name, file });
            }
            "continueRecent" => match self.newest() {
                None => self.begin(text("cwd")?, None),
                Some(name) => {
                    let content = self.files.get(&name).cloned();
                    let file = self.opened(&name, content.as_deref()).working_in(text("cwd")?);
                    self.open = Some(Open { name, file });
                }
            },
            _ => {
                let (source, cwd) = (text("file")?, text("cwd")?);
                let content = self.files.get(source).cloned().unwrap_or_default();
                match self.stamped(|stamp| fork::fork_from(&content, &path(source), cwd, stamp)) {
                    Ok(fork) => self.open = Some(self.forked(fork)),
                    Err(error) => return Some(Outcome::failing(error)),
                }
            }
        }
        Some(Outcome::default())
    }

    fn newest(&self) -> Option<String> {
        let candidate = self.written.iter().enumerate().filter_map(|(at, name)| {
            let start = self.files.get(name)?.as_bytes();
            Some(Candidate { name, start, modified: at as i64 })
        });
        Some(most_recent(&candidate.collect::<Vec<_>>())?.name.to_owned())
    }

    /// Operations that go on in another file.
    fn leaving(&mut self, name: &str, op: &Value) -> Option<Outcome> {
        let open = self.open.as_ref()?;
        if name == "newSession" {
            let cwd = open.file.cwd().to_owned();
            self.begin(&cwd, op["parentSession"].as_str());
            return Some(Outcome::default());
        }
        let leaf = op["id"].as_str()?;
        match self.stamped(|stamp| fork::branch_off(&open.file, &path(&open.name), leaf, stamp)) {
            Ok(fork) => {
                let fork = self.forked(fork);
                let returns = path(&fork.name).into();
                self.open = Some(fork);
                Some(Outcome::returning(returns))
            }
            Err(error) => Some(Outcome::failing(error)),
        }
    }

    fn on_open_session(&mut self, name: &str, op: &Value) -> Option<Outcome> {
        let text = |field: &str| op[field].as_str();
        match name {
            "prepareSessionManagerForRun" => {
                let existed = op["hadSessionFile"].as_bool()?;
                self.open.as_mut()?.file.prepare_for_run(existed, text("sessionId")?, text("cwd")?);
            }
            "branch" => {
                let moved = self.open.as_mut()?.file.move_leaf(text("id")?);
                return Some(moved.map_or_else(Outcome::failing, |()| Outcome::default()));
            }
            "resetLeaf" => self.open.as_mut()?.file.reset_leaf(),
            "getSessionName" => {
                let name = self.open.as_ref()?.file.transcript().name();
                return Some(Outcome::returning(name.map_or(Value::Null, Value::from)));
            }
            "branchWithSummary" => {
                let left = BranchSummary {
                    summary: text("summary")?.to_owned(),
                    details: op.get("details").cloned(),
                    from_hook: op["fromHook"].as_bool(),
                };
                let mut open = self.open.take()?;
                let appended = self.stamped(|stamp| {
                    written_down(&mut open.file, |file| file.plan_summary(text("id"), left, stamp))
                });
                return Some(self.appended(open, appended));
            }
            "installToolResultGuard" => {
                let ignores =
                    ["allowSyntheticToolResults", "allowSynthetic"].iter().any(|flag| op[*flag] == false);
                let unanswered = if ignores { Unanswered::Ignore } else { Unanswered::Synthesize };
                self.guard = Some(ToolResultGuard::new(unanswered));
            }
            "flushPendingToolResults" => {
                let results = self.guard.as_mut().map(|guard| guard.flush(now())).unwrap_or_default();
                self.append_all(results)?;
            }
            "appendMessage" => {
                let message = Message::from_value(op["message"].clone())?;
                let messages = match &mut self.guard {
                    Some(guard) => guard.admit(message, now()),
                    None => vec![message],
                };
                return self.append_all(messages);
            }
            _ => {
                let new = new_entry(name, op)?;
                let mut open = self.open.take()?;
                let appended =
                    self.stamped(|stamp| written_down(&mut open.file, |file| file.plan(vec![new], stamp)));
                return Some(self.appended(open, appended));
            }
        }
        Some(Outcome::default())
    }

    /// Appends the messages; the last one is the one that was asked for.
    fn append_all(&mut self, messages: Vec<Message>) -> Option<Outcome> {
        let mut outcome = Outcome::default();
        for message in messages {
            let mut open = self.open.take()?;
            let appended = self.stamped(|stamp| {
                written_down(&mut open.file, |file| file.plan(vec![NewEntry::Message(message)], stamp))
            });
            outcome = self.appended(open, appended);
        }
        Some(outcome)
    }

    fn appended<E: std::error::Error>(&mut self, open: Open, appended: Result<Appended, E>) -> Outcome {
        let outcome = match appended {
            Ok(appended) => {
                self.append_text(&open.name, appended.write);
                Outcome { id: Some(appended.id), ..Outcome::default() }
            }
            Err(error) => Outcome::failing(error),
        };
        self.open = Some(open);
        outcome
    }

    fn written<E>(&mut self, file: &str, appended: Result<Appended, E>) {
        self.append_text(file, appended.ok().and_then(|appended| appended.write));
    }

    fn begin(&mut self, cwd: &str, parent: Option<&str>) {
        let file = self.stamped(|stamp| TranscriptFile::create(cwd, parent, stamp));
        let name = file_name::session_file(now(), file.transcript().session_id());
        self.open = Some(Open { name, file });
    }

    /// Opens a file and does to it what opening asks for.
    fn opened(&mut self, name: &str, text: Option<&str>) -> TranscriptFile {
        let (file, action) = self.stamped(|stamp| TranscriptFile::open(text, "$cwd", stamp));
        match action {
            OnOpen::Nothing => {}
            OnOpen::Replace { text, .. } => self.write(name, text),
            OnOpen::SetAside { text: fresh } => {
                let archive = file_name::archive(name, ArchiveReason::Backup, now());
                self.write(&archive, text.unwrap_or_default().to_owned());
                self.write(name, fresh);
            }
        }
        file
    }

    fn forked(&mut self, fork: Fork) -> Open {
        self.write(&fork.name, fork.text);
        self.mention(&fork.name);
        self.name_session(fork.file.transcript().session_id());
        Open { name: fork.name, file: fork.file }
    }

    fn append_text(&mut self, name: &str, text: Option<String>) {
        if let Some(text) = text {
            let before = self.files.remove(name).unwrap_or_default();
            self.write(name, before + &text);
        }
    }

    fn write(&mut self, name: &str, text: String) {
        self.written.retain(|known| known != name);
        self.written.push(name.to_owned());
        self.files.insert(name.to_owned(), text);
    }

    fn stamped<T>(&self, act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
        let mut fresh_id = || {
            self.made.set(self.made.get() + 1);
            made_id(self.made.get())
        };
        act(&mut Stamp { now: now(), fresh_id: &mut fresh_id })
    }

    fn mention(&mut self, name: &str) {
        if !self.mentioned.iter().any(|known| known == name) {
            self.mentioned.push(name.to_owned());
        }
    }

    fn mention_open(&mut self) {
        if let Some(open) = &self.open {
            let (name, id) = (open.name.clone(), open.file.transcript().session_id().to_owned());
            self.mention(&name);
            self.name_session(&id);
        }
    }

    fn name_session(&mut self, id: &str) {
        let is_made = (1..=self.made.get()).any(|k| made_id(k) == id);
        if is_made && !self.names.contains_key(id) {
            self.sessions += 1;
            self.names.insert(id.to_owned(), format!("$session{}", self.sessions));
        }
    }

    /// Names the entry ids that were made since the last step, in the order of their making.
    fn name_new_ids(&mut self, returned: Option<&str>, name: Option<&str>) {
        for k in 1..=self.made.get() {
            let whole = made_id(k);
            let id = whole[..8].to_owned();
            let quoted = format!("\"{id}\"");
            let in_memory =
                || self.open.as_ref().is_some_and(|open| open.file.transcript().entry(&id).is_some());
            let is_known = self.names.contains_key(&id) || self.names.contains_key(&whole);
            if is_known || !(in_memory() || self.files.values().any(|text| text.contains(&quoted))) {
                continue;
            }
            let name = match name.filter(|_| returned == Some(&id)) {
                Some(name) => format!("${name}"),
                None => {
                    self.unnamed += 1;
                    format!("$auto{}", self.unnamed)
                }
            };
            self.names.insert(id, name);
        }
    }

    /// The operation with ids in the place of their names.
    fn with_ids(&self, op: &Value) -> Value {
        let id_of =
            |name: &str| self.names.iter().find(|(_, known)| *known == name).map(|(id, _)| id.as_str());
        match op {
            Value::String(text) if text.starts_with('$') => id_of(text).unwrap_or(text).into(),
            Value::Array(items) => items.iter().map(|item| self.with_ids(item)).collect(),
            Value::Object(object) => {
                object.iter().map(|(key, value)| (key.clone(), self.with_ids(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn told(&self, steps: Vec<Value>) -> Value {
        let mut names = Object::new();
        let mut files = Object::new();
        for (at, file) in self.mentioned.iter().enumerate() {
            let mention = format!("$file{}", at + 1);
            let Some(text) = self.files.get(file) else {
                files.insert(mention, Value::Null);
                continue;
            };
            let by_time = (1..=self.made.get())
                .any(|k| *file == format!("2030-01-01T00-00-00-000Z_{}.jsonl", made_id(k)));
            names.insert(mention.clone(), if by_time { NAMED_BY_TIME } else { file }.into());
            let lines: Vec<String> = lines(text).map(|line| self.named_line(line)).collect();
            let ends_with_newline = text.ends_with('\n');
            files.insert(mention, serde_json::json!({"endsWithNewline": ends_with_newline, "lines": lines}));
        }
        let mut told = Object::new();
        told.insert("steps".into(), self.named(Value::Array(steps)));
        told.insert("fileNames".into(), Value::Object(names));
        told.insert("files".into(), Value::Object(files));
        if let Some(open) = &self.open {
            told.insert("context".into(), self.named(context_value(&open.file.transcript().context())));
        }
        Value::Object(told)
    }

    /// A value with recorded names in the place of what differs from run to run.
    fn named(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.named_text(&text).into(),
            Value::Number(number) if number.as_i64() == Some(NOW_MS) => "$nowMs".into(),
            Value::Array(items) => items.into_iter().map(|item| self.named(item)).collect(),
            Value::Object(object) => {
                object.into_iter().map(|(key, value)| (key, self.named(value))).collect()
            }
            other => other,
        }
    }

    fn named_line(&self, line: &str) -> String {
        self.named_text(line).replace(&NOW_MS.to_string(), "\"$nowMs\"")
    }

    fn named_text(&self, text: &str) -> String {
        let mut text = text.replace(&time::iso(now()), "$ts");
        for (at, file) in self.mentioned.iter().enumerate() {
            text = text.replace(&path(file), &format!("$file{}", at + 1));
        }
        let mut names: Vec<_> = self.names.iter().collect();
        // Session ids begin like entry ids do.
        names.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
        for (id, name) in names {
            text = text.replace(id, name);
        }
        text
    }
}

/// The lines of a file as they are recorded: what stands between line feeds.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_suffix('\n').unwrap_or(text).split('\n').filter(|_| !text.is_empty())
}

fn made_id(k: u32) -> String {
    format!("{:08x}-0000-4000-8000-{k:012x}", 0xf100_0000 + k)
}

fn path(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

fn new_entry(name: &str, op: &Value) -> Option<NewEntry> {
    let text = |field: &str| op[field].as_str().map(str::to_owned);
    Some(match name {
        "appendThinkingLevelChange" => NewEntry::ThinkingLevelChange(text("thinkingLevel")?),
        "appendModelChange" => {
            NewEntry::ModelChange { provider: text("provider")?, model_id: text("modelId")? }
        }
        "appendCompaction" => NewEntry::Compaction(NewCompaction {
            summary: text("summary")?,
            first_kept: text("firstKeptEntryId")?,
            tokens_before: op["tokensBefore"].as_f64()?,
            details: op.get("details").cloned(),
            from_hook: op["fromHook"].as_bool(),
        }),
        "appendCustomEntry" => {
            NewEntry::Custom { custom_type: text("customType")?, data: op.get("data").cloned() }
        }
        "appendCustomMessageEntry" => NewEntry::CustomMessage {
            custom_type: text("customType")?,
            content: op["content"].clone(),
            display: op["display"].as_bool()?,
            details: op.get("details").cloned(),
        },
        "appendLabelChange" => NewEntry::Label { target: text("targetId")?, label: text("label") },
        "appendSessionInfo" => NewEntry::SessionInfo { name: text("name")? },
        _ => return None,
    })
}
