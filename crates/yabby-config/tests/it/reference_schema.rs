//! Our schema says what the reference's says.

use std::collections::BTreeSet;

use serde_json::Value;
use yabby_config::schema::{schema, written_out};

/// Where the two differ, and why.
const DIFFERENCES: [&str; 8] = [
    // The reference drops other keys in silence; here they are kept, and `doctor` points them out.
    "hooks.mappings[].match: closed there, open here",
    // The copy was taken with six channels switched on; the check knows these as well.
    "channels: only here: bluebubbles, defaults, googlechat, msteams",
    // The reference cannot describe text that it changes while reading.
    "channels.telegram.customCommands[].command: {} there, string here",
    "channels.telegram.customCommands[].description: {} there, string here",
    "channels.telegram.accounts.*.customCommands[].command: {} there, string here",
    "channels.telegram.accounts.*.customCommands[].description: {} there, string here",
    // As for `hooks.mappings[].match`.
    "gateway.tls: closed there, open here",
    // Options of plugins are the plugins' business; the copy has those of the bundled ones.
    "plugins.entries: only there: 31 keys",
];

#[test]
fn the_schema_is_the_references_but_for_known_differences() {
    for ours in [schema(), written_out(&schema())] {
        let mut comparison = Comparison { ours: &ours, differences: Vec::new() };
        comparison.compare("", &reference(), &ours);
        assert_eq!(comparison.differences, DIFFERENCES);
    }
}

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/reference/config-schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

struct Comparison<'s> {
    ours: &'s Value,
    differences: Vec<String>,
}

impl<'s> Comparison<'s> {
    fn compare(&mut self, path: &str, theirs: &Value, ours: &'s Value) {
        let default = ours.get("default");
        if theirs.get("default") != default {
            self.differ(path, format!("default {:?} there, {default:?} here", theirs.get("default")));
        }
        let ours = self.resolve(ours);
        if let (Some(Value::Array(theirs)), Some(Value::Array(ours))) =
            (theirs.get("anyOf"), ours.get("anyOf"))
        {
            if theirs.len() != ours.len() {
                self.differ(path, format!("{} alternatives there, {} here", theirs.len(), ours.len()));
            }
            for (theirs, ours) in theirs.iter().zip(ours) {
                self.compare(path, theirs, ours);
            }
            return;
        }
        let (their_kind, our_kind) = (kind(theirs), kind(ours));
        if their_kind != our_kind {
            self.differ(path, format!("{their_kind} there, {our_kind} here"));
            return;
        }
        match theirs["type"].as_str() {
            Some("object") => self.compare_objects(path, theirs, ours),
            Some("array") => self.compare(&format!("{path}[]"), &theirs["items"], &ours["items"]),
            _ => {}
        }
    }

    fn compare_objects(&mut self, path: &str, theirs: &Value, ours: &'s Value) {
        let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let keys = |schema: &Value| -> Vec<String> {
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let (their_keys, our_keys) = (keys(theirs), keys(ours));
        for (whose, some, others) in [("there", &their_keys, &our_keys), ("here", &our_keys, &their_keys)] {
            let only: BTreeSet<&str> =
                some.iter().filter(|key| !others.contains(key)).map(String::as_str).collect();
            match only.len() {
                0 => {}
                1..=5 => self.differ(path, format!("only {whose}: {}", Vec::from_iter(only).join(", "))),
                many => self.differ(path, format!("only {whose}: {many} keys")),
            }
        }
        // The order decides the order of messages; a plugin's section is put in front of its copy.
        if path != "channels" && their_keys.len() == our_keys.len() && their_keys != our_keys {
            self.differ(path, "another order".to_owned());
        }
        if required(theirs) != required(ours) {
            self.differ(path, format!("required: {:?} there, {:?} here", required(theirs), required(ours)));
        }
        for key in their_keys.iter().filter(|key| our_keys.contains(key)) {
            self.compare(&below(key), &theirs["properties"][key], &ours["properties"][key]);
        }
        if theirs["propertyNames"]["pattern"] != ours["propertyNames"]["pattern"] {
            self.differ(path, "other names".to_owned());
        }
        match (open(theirs), open(ours)) {
            (Some(Others::Like(theirs)), Some(Others::Like(ours))) => self.compare(&below("*"), theirs, ours),
            (theirs, ours) if theirs == ours => {}
            (None, Some(_)) => self.differ(path, "closed there, open here".to_owned()),
            (theirs, ours) => self.differ(path, format!("open: {theirs:?} there, {ours:?} here")),
        }
    }

    fn resolve(&self, schema: &'s Value) -> &'s Value {
        match schema.get("$ref").or_else(|| schema["allOf"][0].get("$ref")).and_then(Value::as_str) {
            Some(reference) => self.resolve(self.ours.pointer(&reference[1..]).unwrap()),
            None => schema,
        }
    }

    fn differ(&mut self, path: &str, how: String) {
        let path = if path.is_empty() { "<root>" } else { path };
        self.differences.push(format!("{path}: {how}"));
    }
}

/// What a value must be, bounds and all, in one line.
fn kind(schema: &Value) -> String {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let Some(name) = schema.get("type").and_then(Value::as_str) else { return "{}".to_owned() };
    let mut kind = name.to_owned();
    let facts =
        ["const", "enum", "pattern", "minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum"];
    for fact in facts {
        match schema.get(fact) {
            // Whole numbers are safe ones, which goes without saying.
            Some(bound) if name == "integer" && bound.as_f64().is_some_and(|bound| bound.abs() >= SAFE) => {}
            Some(Value::Number(bound)) => kind += &format!(" {fact} {}", bound.as_f64().unwrap()),
            Some(value) => kind += &format!(" {fact} {value}"),
            None => {}
        }
    }
    kind
}

/// The keys that must be written: those with a default are filled in.
fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| schema["properties"][name].get("default").is_none()).collect()
}

#[derive(Debug, PartialEq)]
enum Others<'s> {
    Anything,
    Like(&'s Value),
}

/// What other keys may hold; `None` if there may be none.
fn open(schema: &Value) -> Option<Others<'_>> {
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) | None => Some(Others::Anything),
        Some(Value::Object(like)) if like.is_empty() => Some(Others::Anything),
        Some(like) => Some(Others::Like(like)),
    }
}

#[test]
fn a_schema_that_is_written_out_refers_to_nothing() {
    let schema = schema();
    let written = written_out(&schema);
    assert!(schema.to_string().contains("$ref") && !written.to_string().contains("$ref"));
    assert!(written.get("definitions").is_none());
    for path in
        ["/channels/properties/telegram/properties/botToken", "/gateway/properties/auth/properties/token"]
    {
        let node =
            written.pointer(&format!("/properties{path}")).unwrap_or_else(|| panic!("{path} is not there"));
        assert_eq!(node["type"], "string", "{path}");
    }
    // What is said beside a reference is kept.
    assert_eq!(
        written["properties"]["gateway"]["description"],
        schema["properties"]["gateway"]["description"]
    );
}
