//! Where our commands deliberately answer otherwise. `docs/compatibility.md` explains each rule by its name.

use yabby_domain::json::{self, Object, Value};

use super::home::Home;
use super::normal::Normal;
use super::{Sample, begins_with_one_of};
use crate::vectors::gateway::{LATER_METHODS, MARK, SECRETS};

/// A deliberate difference.
struct Rule {
    name: &'static str,
    /// Changes what was recorded into what we promise, where it touches it. It sees the command and the home that it
    /// was run on, and nothing of what it did.
    promise: fn(&Sample, &Home, &Normal, &mut Value),
}

const RULES: [Rule; 7] = [
    // Where there is no OpenClaw folder, ours is used.
    Rule { name: "a-new-home-gets-our-own-folder", promise: own_folder },
    // Our own index is told beside the reference's, and the extension for vectors is built in.
    Rule { name: "memory-status-tells-of-both-indexes", promise: own_memory },
    // An error is told like any other, and not as one that nobody caught.
    Rule { name: "every-error-is-told-alike", promise: caught },
    Rule { name: SECRETS, promise: secrets },
    // What was used is told from our own ledger, and not from all transcripts, every time.
    Rule { name: "usage-is-what-the-ledger-has", promise: own_ledger },
    // An edit leaves `$include` and `${NAME}` as they were written, where the reference writes what they resolve to.
    Rule { name: "config-edits-keep-references", promise: references_kept },
    Rule { name: LATER_METHODS, promise: later },
];

/// The names of our deliberate differences.
pub(in crate::vectors) fn differences() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// What we promise instead of a recording, and the rules that changed it.
pub(super) fn promised(
    sample: &Sample,
    home: &Home,
    normal: &Normal,
    recorded: &Value,
) -> (Value, Vec<&'static str>) {
    let mut promised = recorded.clone();
    let mut names = Vec::new();
    for rule in &RULES {
        let before = promised.clone();
        (rule.promise)(sample, home, normal, &mut promised);
        if promised != before {
            names.push(rule.name);
        }
    }
    (promised, names)
}

fn own_folder(_: &Sample, home: &Home, _: &Normal, told: &mut Value) {
    if !home.was_of_openclaw() {
        in_texts(told, &|text| {
            let text = text.replace(".openclaw/openclaw.json", ".yabby/yabby.json");
            text.replace("/.openclaw", "/.yabby")
        });
    }
}

fn in_texts(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| in_texts(item, change)),
        Value::Object(object) => object.values_mut().for_each(|member| in_texts(member, change)),
        _ => {}
    }
}

fn own_memory(sample: &Sample, _: &Home, _: &Normal, told: &mut Value) {
    let command = sample.command();
    if !begins_with_one_of(&[&["memory", "status"]], &command) {
        return;
    }
    match told.get_mut("stdout") {
        // The labels of the lines alone.
        Some(Value::Array(labels)) => {
            labels.extend(["Recall index", "Recall", "Recall embedded"].map(Value::from))
        }
        Some(Value::String(text)) => {
            let agent =
                command.iter().skip_while(|word| *word != "--agent").nth(1).map_or("main", String::as_str);
            let is_path = |line: &str| line.starts_with("Vector path:");
            let lines = text.lines().map(|line| if is_path(line) { "Vector path: built in" } else { line });
            // Of an agent whom nobody has talked to.
            let of_ours = [
                format!("Recall index: ~/.openclaw/recall/{agent}.sqlite"),
                "Recall: 0 notes · 0 conversations · 0 messages · 0 sessions".to_owned(),
                "Recall embedded: 0/0 (openai/text-embedding-3-small)\n".to_owned(),
            ];
            *text = lines.map(str::to_owned).chain(of_ours).collect::<Vec<_>>().join("\n");
        }
        _ => {}
    }
}

/// What the reference says of an error that it did not catch.
const UNCAUGHT: &str = "[yabby] Failed to start CLI: ";

fn caught(_: &Sample, _: &Home, _: &Normal, told: &mut Value) {
    let stderr = told.get("stderr").and_then(Value::as_str);
    if let Some(caught) = stderr.and_then(|stderr| stderr.strip_prefix(UNCAUGHT)) {
        told["stderr"] = caught.to_owned().into();
    }
}

fn secrets(sample: &Sample, _: &Home, _: &Normal, told: &mut Value) {
    const KEYS: [&str; 4] = ["token", "password", "apiKey", "botToken"];
    if !begins_with_one_of(&[&["gateway", "call"]], &sample.command()) {
        return;
    }
    for (path, value) in exact(told) {
        let is_secret = path.rsplit('.').next().is_some_and(|key| KEYS.contains(&key));
        if is_secret && value.is_string() {
            *value = MARK.into();
        }
    }
}

/// Values that are compared by their paths.
fn exact(told: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    told.get_mut("exact").and_then(Value::as_object_mut).into_iter().flatten()
}

/// Nothing was used where there is no ledger.
fn own_ledger(sample: &Sample, home: &Home, _: &Normal, told: &mut Value) {
    if !begins_with_one_of(&[&["gateway", "usage-cost"]], &sample.command()) || home.had_ledger() {
        return;
    }
    for (path, value) in exact(told) {
        *value = if path.starts_with("totals.") { 0.into() } else { Value::Null };
    }
}

fn references_kept(sample: &Sample, home: &Home, normal: &Normal, told: &mut Value) {
    const FILE: &str = ".openclaw/openclaw.json";
    let command = sample.command();
    let [config, set, path, value] = command.as_slice() else { return };
    let is_touched = config == "config" && set == "set" && home.used_references();
    let Some(after) = told.get_mut("after").and_then(|after| after.get_mut(FILE)).filter(|_| is_touched)
    else {
        return;
    };
    let mut edited = home.configuration().clone();
    let mut place = &mut edited;
    for key in path.split('.') {
        if place.is_null() {
            *place = Value::Object(Object::new());
        }
        let Some(object) = place.as_object_mut() else { return };
        place = object.entry(key).or_insert(Value::Null);
    }
    *place = json::parse(value).unwrap_or_else(|_| value.as_str().into());
    let files = Object::from_iter([(FILE.to_owned(), edited)]);
    if let Some(edited) = normal.file_contents(&Value::Object(files)).get(FILE) {
        *after = edited.clone();
    }
}

/// Commands that ask for methods which come later, and what is said of it.
const LATER_COMMANDS: [&[&str]; 2] =
    [&["system", "heartbeat", "enable"], &["system", "heartbeat", "disable"]];
const LATER: &str = "Error: yabby has no heartbeat yet that could be woken";

fn later(sample: &Sample, _: &Home, _: &Normal, told: &mut Value) {
    if !begins_with_one_of(&LATER_COMMANDS, &sample.command()) {
        return;
    }
    told["exit"] = 1.into();
    let streams = [("stdout", ""), ("stderr", LATER)];
    for (stream, text) in streams {
        if let Some(told) = told.get_mut(stream) {
            *told = text.into();
        }
    }
}
