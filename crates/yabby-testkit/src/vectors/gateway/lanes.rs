//! A recording in lanes: lists that are compared one by one, each in its order. The order between lanes is free.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};
use yabby_domain::json;

use super::scenario::Scenario;

/// Events that may come at any time.
const AMBIENT: [&str; 2] = ["health", "tick"];
/// Headers that count.
const HEADERS: [&str; 9] = [
    "content-type",
    "allow",
    "location",
    "cache-control",
    "www-authenticate",
    "retry-after",
    "x-content-type-options",
    "x-frame-options",
    "content-security-policy",
];

/// A connection and what is ordered on it.
pub(super) type Lane = (String, String);

#[derive(Default)]
pub(super) struct Lanes {
    pub(super) lanes: BTreeMap<Lane, Vec<Value>>,
    /// Events that may come at any time, by connection and name.
    pub(super) ambient: BTreeMap<Lane, Vec<Value>>,
    /// What must never happen, and did.
    pub(super) broken: Vec<String>,
    pub(super) features: Vec<Value>,
    pub(super) health: Vec<Value>,
    /// Parts of answers that are compared by their shape.
    pub(super) shaped: Vec<(String, Value)>,
}

impl Lanes {
    /// Sorts a recording; `shapes` are the parts that the scenario wants compared by shape.
    pub(super) fn of(recording: &Scenario, shapes: &Value) -> Self {
        let mut sorting = Sorting { shapes, asked: asked(recording), ..Sorting::new(shapes) };
        for step in recording.steps() {
            if let Some(key) = step["frame"]["params"]["idempotencyKey"].as_str() {
                sorting.keys.insert(key.to_owned());
            }
        }
        for line in &recording.lines {
            if line["dir"] == "note" {
                let problem = line["error"].as_str().unwrap_or_default();
                sorting.lanes.broken.push(format!("it could not be played to its end: {problem}"));
            } else if line["dir"] == "s2c" {
                sorting.line(line);
            }
        }
        sorting.lanes
    }
}

/// The method of each request, by connection and id.
fn asked(recording: &Scenario) -> HashMap<(String, String), String> {
    let request = |step: &Value| {
        let method = step["frame"]["method"].as_str()?;
        Some((place(step), method.to_owned()))
    };
    recording.steps().filter_map(request).collect()
}

fn place(line: &Value) -> (String, String) {
    (text(&line["conn"]), line["frame"]["id"].to_string())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

struct Sorting<'s> {
    shapes: &'s Value,
    asked: HashMap<(String, String), String>,
    /// Runs that the client named.
    keys: BTreeSet<String>,
    /// Names of the others.
    runs: HashMap<String, String>,
    last_sequence: HashMap<String, f64>,
    run_sequence: HashMap<(String, String), f64>,
    lanes: Lanes,
}

impl<'s> Sorting<'s> {
    fn new(shapes: &'s Value) -> Self {
        Self {
            shapes,
            asked: HashMap::new(),
            keys: BTreeSet::new(),
            runs: HashMap::new(),
            last_sequence: HashMap::new(),
            run_sequence: HashMap::new(),
            lanes: Lanes::default(),
        }
    }

    fn lane(&mut self, connection: &str, name: &str) -> &mut Vec<Value> {
        self.lanes.lanes.entry((connection.to_owned(), name.to_owned())).or_default()
    }

    fn run_lane(&mut self, connection: &str, run: &str) -> &mut Vec<Value> {
        let name = if self.keys.contains(run) {
            format!("run:{run}")
        } else {
            let next = format!("run#{}", self.runs.len() + 1);
            self.runs.entry(run.to_owned()).or_insert(next).clone()
        };
        self.lane(connection, &name)
    }

    fn line(&mut self, line: &Value) {
        if let Some(answer) = line.get("http") {
            let seen = http_seen(answer);
            self.lane("", "http").push(seen);
            return;
        }
        let connection = text(&line["conn"]);
        let Some(frame) = line.get("frame") else {
            let kinds = ["close", "raw", "error"].into_iter();
            let kept = kinds.filter_map(|kind| Some((kind.to_owned(), line.get(kind)?.clone())));
            let kept = Value::Object(kept.collect());
            self.lane(&connection, "wire").push(kept);
            return;
        };
        match frame["type"] == "event" {
            true => self.event(&connection, frame.clone()),
            false => self.answer(&connection, line, frame.clone()),
        }
    }

    fn event(&mut self, connection: &str, mut frame: Value) {
        match frame.get("seq").map(Value::as_f64) {
            None => {}
            Some(Some(sequence)) => {
                let last = self.last_sequence.insert(connection.to_owned(), sequence);
                if let Some(last) = last.filter(|last| sequence <= *last) {
                    self.lanes.broken.push(format!("conn {connection}: seq {sequence} after {last}"));
                }
            }
            Some(None) => self.lanes.broken.push(format!("conn {connection}: seq is {}", frame["seq"])),
        }
        frame["seq"] = if frame.get("seq").is_some() { "present".into() } else { "absent".into() };
        let name = text(&frame["event"]);
        match name.as_str() {
            ambient if AMBIENT.contains(&ambient) => {
                let payload = frame["payload"].take();
                self.lanes.ambient.entry((connection.to_owned(), name)).or_default().push(payload);
            }
            "connect.challenge" => self.lane(connection, "wire").push(frame),
            "agent" | "chat" => self.run_event(connection, &name, frame),
            _ => self.lane(connection, &format!("event:{name}")).push(frame),
        }
    }

    fn run_event(&mut self, connection: &str, name: &str, mut frame: Value) {
        let run = text(&frame["payload"]["runId"]);
        if run.is_empty() {
            self.lanes.broken.push(format!("{name} event of no run: {}", frame["payload"]));
        }
        let sequence = frame["payload"]["seq"].as_f64().unwrap_or(f64::NAN);
        let known = (connection.to_owned(), run.clone());
        if name == "agent" {
            let last = self.run_sequence.insert(known, sequence).unwrap_or_default();
            // What is no number comes after nothing.
            if sequence.is_nan() || sequence <= last {
                self.lanes.broken.push(format!("run {run}: agent seq {sequence} after {last}"));
            }
        } else if frame["payload"]["state"] == "final"
            && let Some(last) = self.run_sequence.get(&known)
        {
            frame["payload"]["seqIsLast"] = (sequence == *last).into();
        }
        let lane = self.run_lane(connection, &run);
        match name {
            "chat" if frame["payload"]["state"] == "delta" => chat_delta(lane, &frame["payload"]),
            "agent" if frame["payload"]["stream"] == "assistant" => said(lane, &frame),
            "agent"
                if frame["payload"]["stream"] == "tool" && frame["payload"]["data"]["phase"] == "update" => {}
            _ => lane.push(frame),
        }
    }

    fn answer(&mut self, connection: &str, line: &Value, mut frame: Value) {
        let method = self.asked.get(&place(line)).cloned().unwrap_or_default();
        let is_good = frame["ok"] == true;
        if method == "connect" && is_good {
            self.lanes.features.push(taken(frame.get_mut("payload"), "features"));
            self.lanes.health.push(taken(frame.pointer_mut("/payload/snapshot"), "health"));
            if let Some(version) = frame.pointer_mut("/payload/server/version") {
                *version = "<version>".into();
            }
        }
        if method == "config.schema" && is_good {
            frame["payload"] = schema_seen(&frame["payload"]);
        }
        for shape in self.shapes.as_array().into_iter().flatten().filter(|_| is_good) {
            let pointer = shape["pointer"].as_str().unwrap_or_default();
            if shape["res"] != frame["id"] {
                continue;
            }
            if let Some(part) = frame.pointer_mut(pointer) {
                let name = format!("{}{pointer}", text(&shape["res"]));
                self.lanes.shaped.push((name, std::mem::replace(part, "<shape>".into())));
            }
        }
        if ["agent", "chat.send", "chat.abort"].contains(&method.as_str()) {
            let payload = &frame["payload"];
            let several = payload["runIds"].as_array().filter(|runs| !runs.is_empty());
            let runs: Vec<String> = match (several, payload["runId"].as_str()) {
                (Some(runs), _) => runs.iter().map(text).collect(),
                (None, Some(run)) => vec![run.to_owned()],
                (None, None) => Vec::new(),
            };
            let mark = json!({"res": frame["id"], "status": payload["status"]});
            for run in runs {
                self.run_lane(connection, &run).push(mark.clone());
            }
        }
        self.lane(connection, "wire").push(frame);
    }
}

/// Takes a member out of an object.
fn taken(holder: Option<&mut Value>, key: &str) -> Value {
    holder.and_then(Value::as_object_mut).and_then(|object| object.shift_remove(key)).unwrap_or_default()
}

/// What was said so far in a chat must be the beginning of what the run said.
fn chat_delta(lane: &mut Vec<Value>, payload: &Value) {
    let Some(so_far) = payload["message"]["content"][0]["text"].as_str() else {
        lane.push(json!({"bad chat delta": payload["message"]}));
        return;
    };
    let last = lane.iter_mut().rev().find(|item| item.get("text").is_some());
    match last {
        Some(last) if last["text"].as_str().is_some_and(|said| said.starts_with(so_far)) => {
            last["chatDelta"] = true.into();
        }
        _ => lane.push(json!({"bad chat delta": so_far})),
    }
}

/// Consecutive pieces of a text are one; each must add just what it says.
fn said(lane: &mut Vec<Value>, frame: &Value) {
    let payload = &frame["payload"];
    let data = &payload["data"];
    let (Some(whole), Some(piece)) = (data["text"].as_str(), data["delta"].as_str()) else {
        lane.push(json!({"bad delta": data}));
        return;
    };
    let (whole, piece) = (whole.to_owned(), piece.to_owned());
    if let Some(last) = lane.last_mut()
        && let Some(before) = last["text"].as_str().map(str::to_owned)
        && whole.starts_with(&before)
    {
        if whole == format!("{before}{piece}") {
            last["text"] = whole.into();
        } else {
            // As the reference rules have it, what follows goes on from the wrong piece.
            lane.push(json!({"bad delta": data, "text": whole}));
        }
        return;
    }
    if whole != piece {
        lane.push(json!({"bad first delta": data}));
    }
    let mut keys: Vec<&String> = data.as_object().into_iter().flat_map(|data| data.keys()).collect();
    keys.sort();
    let session = payload.get("sessionKey").cloned().unwrap_or_default();
    lane.push(json!({"text": whole, "keys": keys, "sessionKey": session, "seq": frame["seq"]}));
}

/// Of a schema only the names of the sections.
fn schema_seen(payload: &Value) -> Value {
    let mut keys: Vec<&String> = payload["schema"]["properties"]
        .as_object()
        .into_iter()
        .flat_map(|sections| sections.keys())
        .collect();
    keys.sort();
    let hints = if payload["uiHints"].is_object() { "object".into() } else { Value::Null };
    json!({"version": "<version>", "generatedAt": payload["generatedAt"], "keys": keys, "uiHints": hints})
}

/// What counts of an answer over HTTP.
fn http_seen(answer: &Value) -> Value {
    if answer.get("error").is_some() || answer["status"] == 413 {
        return json!({"status": "413 or connection reset"});
    }
    let kind = answer["headers"]["content-type"].as_str().unwrap_or_default();
    let is_good = answer["status"] == 200;
    let body = match &answer["body"] {
        Value::String(events) if kind.contains("text/event-stream") => json_in_text(&streamed(events)),
        Value::String(page) if is_good && kind.contains("text/html") => json!({"injected": injected(page)}),
        Value::String(_) if is_good && !kind.starts_with("text/plain") => "<asset>".into(),
        Value::String(text) => text.as_str().into(),
        other => json_in_text(other),
    };
    let headers = answer["headers"].as_object().into_iter().flatten();
    let counted = headers.filter(|(name, _)| HEADERS.contains(&name.as_str()));
    let headers: serde_json::Map<_, _> = counted.map(|(name, value)| (name.clone(), value.clone())).collect();
    json!({"status": answer["status"], "headers": headers, "body": body})
}

/// What a page is told by the server.
fn injected(page: &str) -> Vec<&str> {
    static ASSIGNMENT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"window\.__[A-Z_]+__\s*=\s*[^;<]*").ok());
    let found =
        ASSIGNMENT.as_ref().map(|pattern| pattern.find_iter(page).map(|found| found.as_str()).collect());
    found.unwrap_or_default()
}

/// The results of tools are JSON within a text.
fn json_in_text(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            Value::Object(object.iter().map(|(key, value)| (key.clone(), json_in_text(value))).collect())
        }
        Value::Array(items) => items.iter().map(json_in_text).collect(),
        Value::String(text) if text.starts_with(['{', '[']) && text.ends_with(['}', ']']) => {
            json::parse(text).map_or_else(|_| value.clone(), |inner| json!({"<json>": inner}))
        }
        other => other.clone(),
    }
}

/// The events of a stream; text that comes in pieces is joined.
fn streamed(body: &str) -> Value {
    let mut events: Vec<Value> = Vec::new();
    for block in body.split("\n\n") {
        let (mut name, mut data) = (Value::Null, None);
        for line in block.split('\n') {
            if let Some(told) = line.strip_prefix("event:") {
                name = told.trim().into();
            } else if let Some(told) = line.strip_prefix("data:") {
                data = Some(told.trim());
            }
        }
        let Some(data) = data else { continue };
        let mut data = json::parse(data).unwrap_or_else(|_| data.into());
        if let Some(object) = data.as_object_mut() {
            object.shift_remove("sequence_number");
            if let Some(before) = events.last_mut()
                && is_joined(&mut before["data"], &data)
            {
                continue;
            }
        }
        events.push(json!({"event": name, "data": data}));
    }
    events.into()
}

/// Adds a piece of text to the one before; whether they are two pieces of one text.
fn is_joined(before: &mut Value, data: &Value) -> bool {
    const DELTA: &str = "response.output_text.delta";
    const PIECE: &str = "/choices/0/delta/content";
    let pointer = if data["type"] == DELTA && before["type"] == DELTA {
        "/delta"
    } else if data.pointer("/choices/0/delta/role").is_none()
        && before.pointer("/choices/0/delta/role").is_none()
    {
        PIECE
    } else {
        return false;
    };
    let more = data.pointer(pointer).and_then(Value::as_str);
    let begun = before.pointer_mut(pointer).filter(|begun| begun.is_string());
    let (Some(more), Some(begun)) = (more, begun) else { return false };
    *begun = format!("{}{more}", begun.as_str().unwrap_or_default()).into();
    true
}
