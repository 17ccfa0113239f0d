//! What we promise where the reference loses data (`transcripts.md` §9), as a plain model.
//!
//! It knows nothing of the rules under test: entries are JSON lines, ids are the recorded names. It
//! covers the operations that come to a difference; for others it has no answer, and the recorded
//! one counts.

use yabby_domain::json::{self, Object, Value};
use yabby_domain::transcript::Transcript;

use super::super::transcripts::context_value;
use super::NAMED_BY_TIME;
use crate::vectors::Case;

pub struct Promised {
    /// The first difference that the operations came to.
    pub because: Option<&'static str>,
    pub value: Value,
}

pub fn promised(case: &Case) -> Option<Promised> {
    let mut model = Model::default();
    let mut steps = Vec::new();
    for op in case.input.as_array()? {
        steps.push(model.step(op)?);
    }
    let value = model.told(steps);
    Some(Promised { because: model.because, value })
}

#[derive(Default)]
struct Model {
    files: Vec<File>,
    open: Option<Open>,
    because: Option<&'static str>,
    sessions: usize,
    unnamed: usize,
}

struct File {
    /// As it is recorded.
    name: String,
    text: Option<String>,
}

struct Open {
    file: usize,
    cwd: String,
    header: String,
    entries: Vec<Object>,
    leaf: Option<String>,
    has_header: bool,
    written: usize,
}

impl Open {
    fn is_answered(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.get("message").is_some_and(|message| message["role"] == "assistant"))
    }

    fn has(&self, id: &str) -> bool {
        self.entries.iter().any(|entry| id_of(entry) == Some(id))
    }

    fn path(&self, leaf: &str) -> Vec<Object> {
        let mut path = Vec::new();
        let mut next = Some(leaf.to_owned());
        while let Some(id) = next {
            let Some(entry) = self.entries.iter().find(|entry| id_of(entry) == Some(&id)) else { break };
            path.insert(0, entry.clone());
            next = parent_of(entry).map(str::to_owned);
        }
        path
    }
}

impl Model {
    fn step(&mut self, op: &Value) -> Option<Value> {
        let name = op["op"].as_str()?;
        let text = |field: &str| op[field].as_str();
        let mut step = Object::new();
        step.insert("op".into(), name.into());
        let file = text("file").map(|file| self.mention(file));
        let mut error = None;
        match name {
            "write" => {
                let written = match text("text") {
                    Some(text) => text.to_owned(),
                    None => op["lines"].as_array()?.iter().map(|line| json::stringify(line) + "\n").collect(),
                };
                self.files[file?].text = Some(written);
                return Some(Value::Object(step));
            }
            "chatInject" => {
                let old = self.files[file?].text.clone()?;
                let (_, entries) = read(&old)?;
                let id = self.name(op);
                let body = text("message")?;
                let said = text("label").map_or(body.to_owned(), |label| format!("[{label}]\n\n{body}"));
                let mut line = placed("message", &id, entries.last().and_then(id_of));
                line.insert(
                    "message".into(),
                    serde_json::json!({
                        "role": "assistant",
                        "content": [{"type": "text", "text": said}],
                        "timestamp": "$nowMs",
                        "stopReason": "injected",
                        "usage": {"input": 0, "output": 0, "totalTokens": 0},
                    }),
                );
                self.add(file?, &json::stringify_object(&line));
                self.because("injected-notes-hang-from-the-leaf");
                step.insert("returns".into(), serde_json::json!({"ok": true}));
                return Some(Value::Object(step));
            }
            "sessionsCompact" => {
                step.insert("returns".into(), self.compact(file?, op)?);
                return Some(Value::Object(step));
            }
            "mirror" => {
                self.mirror(file?, op)?;
                step.insert("returns".into(), serde_json::json!({"ok": true}));
                return Some(Value::Object(step));
            }
            "getSessionName" => {
                let infos =
                    self.open.as_ref()?.entries.iter().rev().filter(|entry| entry["type"] == "session_info");
                let name = infos.filter_map(|info| info.get("name")?.as_str()).find(|name| !name.is_empty());
                step.insert("returns".into(), name.map_or(Value::Null, Value::from));
            }
            "create" => self.begin(text("cwd")?, None),
            "newSession" => {
                let cwd = self.open.as_ref()?.cwd.clone();
                self.begin(&cwd, text("parentSession"));
            }
            "open" => {
                let file = file.or_else(|| Some(self.open.as_ref()?.file))?;
                self.open(file)?;
            }
            "prepareSessionManagerForRun" => {
                let open = self.open.as_mut()?;
                if op["hadSessionFile"] == false {
                    open.header = header(text("sessionId")?, text("cwd")?, None);
                } else if !open.is_answered() {
                    open.leaf = None;
                    if !open.entries.is_empty() {
                        self.because("a-run-keeps-earlier-lines");
                    }
                }
            }
            "branch" if !self.open.as_ref()?.has(text("id")?) => error = text("id"),
            "branch" => self.open.as_mut()?.leaf = Some(text("id")?.to_owned()),
            "resetLeaf" => self.open.as_mut()?.leaf = None,
            "branchWithSummary" => match text("id") {
                Some(id) if !self.open.as_ref()?.has(id) => error = Some(id),
                id => {
                    self.open.as_mut()?.leaf = id.map(str::to_owned);
                    self.append(
                        op,
                        "branch_summary",
                        &[("fromId", id.unwrap_or("root").into())],
                        &["summary", "details", "fromHook"],
                    )?;
                }
            },
            "createBranchedSession" => match self.fork(text("id")?)? {
                Some(file) => {
                    step.insert("returns".into(), format!("$file{}", file + 1).into());
                }
                None => error = text("id"),
            },
            "appendLabelChange" if !self.open.as_ref()?.has(text("targetId")?) => error = text("targetId"),
            "appendLabelChange" => self.append(op, "label", &[], &["targetId", "label"])?,
            "appendMessage" => self.append(op, "message", &[], &["message"])?,
            "appendThinkingLevelChange" => {
                self.append(op, "thinking_level_change", &[], &["thinkingLevel"])?
            }
            "appendModelChange" => self.append(op, "model_change", &[], &["provider", "modelId"])?,
            "appendCompaction" => {
                let fields = ["summary", "firstKeptEntryId", "tokensBefore", "details", "fromHook"];
                self.append(op, "compaction", &[], &fields)?;
            }
            "appendSessionInfo" => {
                self.append(op, "session_info", &[("name", text("name")?.trim().into())], &[])?;
            }
            "appendCustomEntry" => self.append_custom(op, "custom", &["customType", "data"])?,
            "appendCustomMessageEntry" => {
                self.append_custom(op, "custom_message", &["customType", "content", "display", "details"])?;
            }
            _ => return None,
        }
        if let Some(id) = error {
            step.insert("error".into(), format!("Entry {id} not found").into());
        }
        let open = self.open.as_ref()?;
        let on_disk = self.files[open.file].text.as_deref();
        step.insert("leaf".into(), open.leaf.as_deref().map_or(Value::Null, Value::from));
        step.insert("file".into(), format!("$file{}", open.file + 1).into());
        step.insert("fileExists".into(), on_disk.is_some().into());
        step.insert(
            "rawLines".into(),
            on_disk.map_or(0, |text| text.lines().filter(|line| !line.trim().is_empty()).count()).into(),
        );
        step.insert("entries".into(), open.entries.len().into());
        Some(Value::Object(step))
    }

    fn because(&mut self, name: &'static str) {
        self.because.get_or_insert(name);
    }

    fn mention(&mut self, name: &str) -> usize {
        match self.files.iter().position(|file| file.name == name) {
            Some(at) => at,
            None => self.new_file(name),
        }
    }

    fn new_file(&mut self, name: &str) -> usize {
        self.files.push(File { name: name.to_owned(), text: None });
        self.files.len() - 1
    }

    fn name(&mut self, op: &Value) -> String {
        match op["as"].as_str() {
            Some(name) => format!("${name}"),
            None => {
                self.unnamed += 1;
                format!("$auto{}", self.unnamed)
            }
        }
    }

    fn session(&mut self) -> String {
        self.sessions += 1;
        format!("$session{}", self.sessions)
    }

    fn begin(&mut self, cwd: &str, parent: Option<&str>) {
        let file = self.new_file(NAMED_BY_TIME);
        let header = header(&self.session(), cwd, parent);
        self.open = Some(fresh(file, cwd, header));
    }

    fn open(&mut self, file: usize) -> Option<()> {
        let Some(text) = self.files[file].text.clone() else {
            let header = header(&self.session(), "$cwd", None);
            self.open = Some(fresh(file, "$cwd", header));
            return Some(());
        };
        let Some((header_line, entries)) = read(&text) else {
            let header = header(&self.session(), "$cwd", None);
            self.files[file].text = Some(format!("{header}\n"));
            self.open = Some(Open { has_header: true, ..fresh(file, "$cwd", header) });
            return Some(());
        };
        let header = json::parse(&header_line).ok()?;
        // Older versions are not part of any promise.
        if header["version"] != 3 || entries.iter().any(|entry| id_of(entry).is_none()) {
            return None;
        }
        let leaf = entries.last().and_then(id_of).map(str::to_owned);
        let cwd = header["cwd"].as_str()?.to_owned();
        self.open = Some(Open {
            file,
            cwd,
            header: header_line,
            leaf,
            has_header: true,
            written: entries.len(),
            entries,
        });
        Some(())
    }

    fn append(&mut self, op: &Value, kind: &str, given: &[(&str, Value)], fields: &[&str]) -> Option<()> {
        let id = self.name(op);
        let mut entry = placed(kind, &id, self.open.as_ref()?.leaf.as_deref());
        entry.extend(given.iter().map(|(field, value)| ((*field).to_owned(), value.clone())));
        entry.extend(taken(op, fields));
        self.push(id, entry)
    }

    fn append_custom(&mut self, op: &Value, kind: &str, fields: &[&str]) -> Option<()> {
        let id = self.name(op);
        let mut entry = Object::new();
        entry.insert("type".into(), kind.into());
        entry.extend(taken(op, fields));
        let place = placed(kind, &id, self.open.as_ref()?.leaf.as_deref());
        entry.extend(place.into_iter().filter(|(field, _)| field != "type"));
        self.push(id, entry)
    }

    fn push(&mut self, id: String, entry: Object) -> Option<()> {
        let open = self.open.as_mut()?;
        open.entries.push(entry);
        open.leaf = Some(id);
        if !open.is_answered() {
            return Some(());
        }
        let mut lines: Vec<String> = Vec::new();
        if !open.has_header {
            lines.push(open.header.clone());
        }
        lines.extend(open.entries[open.written..].iter().map(json::stringify_object));
        let loses = open.has_header && lines.len() > 1;
        open.has_header = true;
        open.written = open.entries.len();
        let file = open.file;
        if loses {
            self.because("nothing-appended-is-lost");
        }
        lines.iter().for_each(|line| self.add(file, line));
        Some(())
    }

    /// Appends a line; one without its end is ended first.
    fn add(&mut self, file: usize, line: &str) {
        let mut text = self.files[file].text.take().unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
            self.because("nothing-appended-is-lost");
        }
        self.files[file].text = Some(text + line + "\n");
    }

    /// The new file, or nothing if there is no such entry.
    fn fork(&mut self, leaf: &str) -> Option<Option<usize>> {
        let open = self.open.take()?;
        let path = open.path(leaf);
        if path.is_empty() {
            self.open = Some(open);
            return Some(None);
        }
        let file = self.new_file(NAMED_BY_TIME);
        let header = header(&self.session(), &open.cwd, Some(&format!("$file{}", open.file + 1)));
        let mut entries: Vec<Object> = Vec::new();
        for mut entry in path.into_iter().filter(|entry| entry["type"] != "label") {
            // Whatever hung from a label now hangs from the entry before it.
            let parent = entries.last().and_then(id_of);
            if parent != parent_of(&entry) {
                entry.insert("parentId".into(), parent.map_or(Value::Null, Value::from));
            }
            entries.push(entry);
        }
        for (target, label) in labels(&open.entries) {
            if entries.iter().any(|entry| id_of(entry) == Some(&target)) {
                self.unnamed += 1;
                let mut entry =
                    placed("label", &format!("$auto{}", self.unnamed), entries.last().and_then(id_of));
                entry.insert("targetId".into(), target.into());
                entry.insert("label".into(), label.into());
                entries.push(entry);
            }
        }
        self.because("a-fork-is-a-session-of-its-own");
        let lines = std::iter::once(header.clone()).chain(entries.iter().map(json::stringify_object));
        self.files[file].text = Some(lines.map(|line| line + "\n").collect());
        let leaf = entries.last().and_then(id_of).map(str::to_owned);
        let cwd = open.cwd;
        self.open = Some(Open { file, cwd, header, leaf, has_header: true, written: entries.len(), entries });
        Some(Some(file))
    }

    /// Text alone; what becomes of media is no matter of a promise.
    fn mirror(&mut self, file: usize, op: &Value) -> Option<()> {
        let said = op["text"]
            .as_str()
            .map(str::trim)
            .filter(|said| !said.is_empty() && op.get("mediaUrls").is_none())?;
        if op["sessionKey"] != op["key"].as_str().unwrap_or(super::MAIN_KEY) {
            return None;
        }
        if self.files[file].text.is_none() {
            self.add(file, &header(op["sessionId"].as_str()?, "$cwd", None));
        }
        let (_, entries) = read(self.files[file].text.as_deref()?)?;
        let mut line = placed("message", &self.name(op), entries.last().and_then(id_of));
        line.insert(
            "message".into(),
            serde_json::json!({
                "role": "assistant",
                "content": [{"type": "text", "text": said}],
                "api": "openai-responses",
                "provider": "openclaw",
                "model": "delivery-mirror",
                "usage": {
                    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
                },
                "stopReason": "stop",
                "timestamp": "$nowMs",
            }),
        );
        self.add(file, &json::stringify_object(&line));
        Some(())
    }

    fn compact(&mut self, file: usize, op: &Value) -> Option<Value> {
        let max = match op.get("maxLines").map(Value::as_u64) {
            None => 400,
            Some(Some(0)) => return Some(refused("must be >= 1")),
            Some(Some(max)) => usize::try_from(max).ok()?,
            Some(None) => return Some(refused("must be integer")),
        };
        let key = op["key"].as_str().unwrap_or(super::MAIN_KEY);
        let text = self.files[file].text.clone()?;
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let (header, _) = read(&text)?;
        if lines.len() <= max {
            let payload =
                serde_json::json!({"ok": true, "key": key, "compacted": false, "kept": lines.len()});
            return Some(serde_json::json!({"ok": true, "payload": payload, "storeEntryKeys": RECORD}));
        }
        let mut kept: Vec<String> =
            lines[lines.len() - max..].iter().map(|line| (*line).to_owned()).collect();
        if let Ok(Value::Object(mut first)) = json::parse(&kept[0]) {
            first.insert("parentId".into(), Value::Null);
            kept[0] = json::stringify_object(&first);
        }
        self.because("line-compaction-keeps-the-header");
        self.files[file].text = Some(format!("{header}\n{}\n", kept.join("\n")));
        let archived = format!("{}.bak.<iso-with-dashes>", self.files[file].name);
        Some(serde_json::json!({
            "ok": true,
            "payload": {"ok": true, "key": key, "compacted": true, "archived": archived, "kept": max},
            "storeEntryKeys": ["sessionId", "updatedAt", "sessionFile", "contextTokens"],
        }))
    }

    fn told(&self, steps: Vec<Value>) -> Value {
        let mut names = Object::new();
        let mut files = Object::new();
        for (at, file) in self.files.iter().enumerate() {
            let mention = format!("$file{}", at + 1);
            let Some(text) = &file.text else {
                files.insert(mention, Value::Null);
                continue;
            };
            names.insert(mention.clone(), file.name.as_str().into());
            let lines: Vec<&str> = text.lines().collect();
            files.insert(
                mention,
                serde_json::json!({"endsWithNewline": text.ends_with('\n'), "lines": lines}),
            );
        }
        let mut told = serde_json::json!({"steps": steps, "fileNames": names, "files": files});
        if let Some(open) = &self.open {
            let mut transcript = open.header.clone();
            for entry in &open.entries {
                transcript.push('\n');
                transcript.push_str(&json::stringify_object(entry));
            }
            let context = Transcript::read(&transcript).map(|mut transcript| {
                match &open.leaf {
                    // Only leaves that are in the file are ever named.
                    Some(leaf) => transcript.move_leaf(leaf).unwrap_or_default(),
                    None => transcript.reset_leaf(),
                }
                transcript.context()
            });
            told["context"] = context.map_or(Value::Null, |context| with_now(context_value(&context)));
        }
        told
    }
}

/// The fields of the stored session that is compacted.
const RECORD: [&str; 7] =
    ["sessionId", "updatedAt", "sessionFile", "inputTokens", "outputTokens", "totalTokens", "contextTokens"];

fn refused(what: &str) -> Value {
    let message = format!("invalid sessions.compact params: at /maxLines: {what}");
    serde_json::json!({"ok": false, "error": {"code": "INVALID_REQUEST", "message": message}, "storeEntryKeys": RECORD})
}

/// Times that are `$ts` in an entry cannot be read, and stand for now.
fn with_now(mut context: Value) -> Value {
    for message in context["messages"].as_array_mut().into_iter().flatten() {
        if message.get("timestamp").is_some_and(Value::is_null) {
            message["timestamp"] = "$nowMs".into();
        }
    }
    context
}

fn fresh(file: usize, cwd: &str, header: String) -> Open {
    let cwd = cwd.to_owned();
    Open { file, cwd, header, entries: Vec::new(), leaf: None, has_header: false, written: 0 }
}

fn header(id: &str, cwd: &str, parent: Option<&str>) -> String {
    let mut header =
        serde_json::json!({"type": "session", "version": 3, "id": id, "timestamp": "$ts", "cwd": cwd});
    if let Some(parent) = parent {
        header["parentSession"] = parent.into();
    }
    json::stringify(&header)
}

fn placed(kind: &str, id: &str, parent: Option<&str>) -> Object {
    let entry = [
        ("type", kind.into()),
        ("id", id.into()),
        ("parentId", parent.map_or(Value::Null, Value::from)),
        ("timestamp", "$ts".into()),
    ];
    entry.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
}

fn taken<'o>(op: &'o Value, fields: &'o [&str]) -> impl Iterator<Item = (String, Value)> + 'o {
    fields.iter().filter_map(|field| Some(((*field).to_owned(), op.get(*field)?.clone())))
}

/// Header line and entries of a file that begins with a header.
fn read(text: &str) -> Option<(String, Vec<Object>)> {
    let mut lines = text.lines().filter_map(|line| match json::parse(line) {
        Ok(Value::Object(object)) => Some((line.to_owned(), object)),
        _ => None,
    });
    let (line, header) = lines.next()?;
    let is_header = header.get("type")? == "session" && header.get("id")?.is_string();
    is_header
        .then(|| (line, lines.map(|(_, entry)| entry).filter(|entry| entry["type"] != "session").collect()))
}

/// The labels that are set, in the order in which they were.
fn labels(entries: &[Object]) -> Vec<(String, String)> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry["type"] == "label") {
        let target = entry["targetId"].as_str().unwrap_or_default();
        let label = entry.get("label").and_then(Value::as_str).unwrap_or_default();
        let known = labels.iter().position(|(known, _)| known == target);
        match (known, label) {
            (Some(at), "") => {
                labels.remove(at);
            }
            (Some(at), label) => labels[at].1 = label.to_owned(),
            (None, "") => {}
            (None, label) => labels.push((target.to_owned(), label.to_owned())),
        }
    }
    labels
}

fn id_of(entry: &Object) -> Option<&str> {
    entry.get("id")?.as_str()
}

fn parent_of(entry: &Object) -> Option<&str> {
    entry.get("parentId")?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::compare;

    #[test]
    fn the_model_agrees_with_the_recording_where_nothing_differs() {
        let recorded = include_str!("../../../../../../vectors/transcript-ops.json");
        let recorded = json::parse(recorded).expect("JSON");
        let mut compared = 0;
        for case in super::super::cases(&recorded) {
            if let Some(Promised { because: None, value }) = promised(&case) {
                assert!(compare::matches(&case.expected, &value), "{}", case.name);
                compared += 1;
            }
        }
        assert!(compared >= 10, "{compared}");
    }
}
