//! The walk over a configuration along the schema (`config.md` §3).
//!
//! It goes as the reference's validator goes, because the order and the words of its messages are
//! what people see: keys in the order of the schema, unknown keys after the known ones, the rules of
//! a type ([`super::rules`]) once its value has the right form.

use serde_json::Value;
use yabby_base::json::{self, Object};

use super::allowed;
use super::rules::{self, Breach};
use super::scalar::{self, Complaint, Form, Patterns};
use crate::issue::Issue;
use crate::schema::{Content, Parts, Room};
use crate::sections::Sections;

/// What a walk found.
pub struct Walked {
    /// The configuration in the order of the schema, with its defaults.
    pub config: Value,
    pub issues: Vec<Issue>,
    pub unknown_keys: Vec<String>,
}

/// Walks a whole configuration.
pub fn config(config: &Value) -> Walked {
    let nothing = Value::Null;
    let mut walk = Walk::along(&nothing, Vec::new(), Found::default());
    let mut config = walk.parts(Sections::PARTS, Room::Closed, config);
    walk.rule("Config", &mut config, 0);
    let Found { findings, unknown_keys } = walk.found;
    Walked { config, issues: findings.into_iter().map(|finding| finding.issue).collect(), unknown_keys }
}

/// Walks a value along one schema.
pub fn by_schema(schema: &Value, value: &Value) -> Vec<Issue> {
    let nothing = Value::Null;
    let mut walk = Walk::along(&nothing, Vec::new(), Found::default());
    walk.section(schema, value);
    walk.found.findings.into_iter().map(|finding| finding.issue).collect()
}

struct Walk<'s> {
    /// The schema with the definitions.
    schema: &'s Value,
    path: Vec<String>,
    found: Found,
    patterns: Patterns,
}

#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    unknown_keys: Vec<String>,
}

struct Finding {
    issue: Issue,
    form: Form,
}

/// What becomes of keys beyond the known ones.
enum Others<'s> {
    Refused,
    /// Kept, although nobody reads them.
    Ignored,
    Welcome,
    /// Of this type, and with names of this pattern.
    Like(&'s Value, Option<&'s str>),
}

impl Found {
    fn is_well_formed(&self, since: usize) -> bool {
        self.findings[since..].iter().all(|finding| finding.form == Form::Right)
    }
}

impl<'s> Walk<'s> {
    fn along(schema: &'s Value, path: Vec<String>, found: Found) -> Self {
        Self { schema, path, found, patterns: Patterns::default() }
    }

    /// An object made of parts; only the schemas of those present are built.
    fn parts(&mut self, parts: Parts, room: Room, value: &Value) -> Value {
        let Value::Object(members) = value else {
            let complaint = Complaint::of_type("object", Some(value));
            self.report(complaint.message, complaint.form, Some("an object".to_owned()));
            return value.clone();
        };
        let mut out = Object::new();
        for part in parts {
            let empty = Value::Object(Object::new());
            let member = members.get(part.key);
            let Some(member) = member.or(part.always.then_some(&empty)) else { continue };
            let walked = self.below(part.key, |walk| match part.content {
                Content::Value(schema) => walk.section(&schema(), member),
                Content::Parts(parts, room) => walk.parts(parts, room, member),
            });
            out.insert(part.key.to_owned(), walked);
        }
        let known: Vec<_> = parts.iter().map(|part| part.key).collect();
        let others = match room {
            Room::Open => Others::Welcome,
            Room::Closed => Others::Refused,
        };
        self.others(members, &known, &others, &mut out);
        Value::Object(out)
    }

    fn section(&mut self, schema: &Value, value: &Value) -> Value {
        let mut walk = Walk::along(schema, std::mem::take(&mut self.path), std::mem::take(&mut self.found));
        let since = walk.found.findings.len();
        let mut out = walk.value(schema, Some(value));
        if let Some(name) = schema["title"].as_str() {
            walk.rule(name, &mut out, since);
        }
        self.path = walk.path;
        self.found = walk.found;
        out
    }

    /// One value; `None` where a key that must be there is missing.
    fn value(&mut self, schema: &'s Value, value: Option<&Value>) -> Value {
        let since = self.found.findings.len();
        let (name, schema) = self.resolve(schema);
        let mut out = self.unruled(name, schema, value);
        if let Some(name) = name {
            self.rule(name, &mut out, since);
        }
        out
    }

    fn unruled(&mut self, name: Option<&str>, schema: &'s Value, value: Option<&Value>) -> Value {
        if let Some(Value::Array(alternatives)) = schema.get("anyOf") {
            return self.alternatives(schema, alternatives, value);
        }
        match (schema.get("type").and_then(Value::as_str), value) {
            (Some("array"), Some(Value::Array(items))) => self.list(schema, items),
            (Some("object"), Some(Value::Object(members))) => self.object(schema, members),
            _ => {
                for Complaint { message, form } in scalar::complaints(name, schema, value, &mut self.patterns)
                {
                    self.report(message, form, allowed::of(self.schema, schema));
                }
                value.cloned().unwrap_or_default()
            }
        }
    }

    fn list(&mut self, schema: &'s Value, items: &[Value]) -> Value {
        let Some(of) = schema.get("items") else { return Value::Array(items.to_vec()) };
        let walked = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.below(&index.to_string(), |walk| walk.value(of, Some(item))));
        Value::Array(walked.collect())
    }

    fn object(&mut self, schema: &'s Value, members: &Object) -> Value {
        let mut out = Object::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |key: &str| required.is_some_and(|keys| keys.iter().any(|name| name == key));
        for (key, property) in properties.into_iter().flatten() {
            let member = members.get(key);
            if member.is_some() || is_required(key) {
                let walked = self.below(key, |walk| walk.value(property, member));
                out.insert(key.clone(), walked);
            } else if let Some(default) = property.get("default") {
                out.insert(key.clone(), default.clone());
            }
        }
        let known: Vec<_> = properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => Others::Refused,
            Some(Value::Bool(true)) => Others::Welcome,
            Some(like) => Others::Like(like, name_pattern(schema)),
            None => Others::Ignored,
        };
        self.others(members, &known, &others, &mut out);
        Value::Object(out)
    }

    /// The members beyond the known ones.
    fn others(&mut self, members: &Object, known: &[&str], others: &Others<'s>, out: &mut Object) {
        let mut unknown = Vec::new();
        for (key, value) in json::in_js_order(members) {
            if known.contains(&key.as_str()) {
                continue;
            }
            let kept = match others {
                Others::Refused | Others::Ignored => {
                    self.found.unknown_keys.push(self.path_to(key));
                    unknown.push(key.as_str());
                    value.clone()
                }
                Others::Welcome => value.clone(),
                Others::Like(_, Some(pattern)) if !self.patterns.matches(pattern, key) => {
                    let allowed = format!("a name that matches {pattern}");
                    self.below(key, |walk| walk.report("Invalid key in record", Form::Wrong, Some(allowed)));
                    continue;
                }
                Others::Like(like, _) => self.below(key, |walk| walk.value(like, Some(value))),
            };
            out.insert(key.clone(), kept);
        }
        if matches!(others, Others::Refused) && !unknown.is_empty() {
            let names: Vec<_> = unknown.iter().map(|key| format!("\"{key}\"")).collect();
            let plural = if unknown.len() > 1 { "s" } else { "" };
            let message = format!("Unrecognized key{plural}: {}", names.join(", "));
            self.report(message, Form::Right, Some(allowed::instead_of(&unknown, known)));
        }
    }

    /// A choice between types; the first that takes the value without complaint.
    fn alternatives(&mut self, schema: &'s Value, alternatives: &'s [Value], value: Option<&Value>) -> Value {
        let mut well_formed = Vec::new();
        for alternative in alternatives {
            let before = std::mem::take(&mut self.found);
            let out = self.value(alternative, value);
            let found = std::mem::replace(&mut self.found, before);
            if found.findings.is_empty() {
                self.found.unknown_keys.extend(found.unknown_keys);
                return out;
            }
            if found.is_well_formed(0) {
                well_formed.push((out, found));
            }
        }
        match (well_formed.pop(), well_formed.is_empty()) {
            // Only one type was meant: what it has to say says more than "none of these".
            (Some((out, found)), true) => {
                self.found.findings.extend(found.findings);
                self.found.unknown_keys.extend(found.unknown_keys);
                out
            }
            _ => {
                self.report("Invalid input", Form::Wrong, allowed::of(self.schema, schema));
                value.cloned().unwrap_or_default()
            }
        }
    }

    /// Asks the rule of a type, if it has one and the value has the type's form.
    fn rule(&mut self, name: &str, value: &mut Value, since: usize) {
        if !self.found.is_well_formed(since) {
            return;
        }
        for Breach { path, message } in rules::check(name, value) {
            let depth = self.path.len();
            self.path.extend(path);
            self.report(message, Form::Right, None);
            self.path.truncate(depth);
        }
    }

    fn below<T>(&mut self, key: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(key.to_owned());
        let done = act(self);
        self.path.pop();
        done
    }

    fn path_to(&self, key: &str) -> String {
        let mut path = self.path.join(".");
        if !path.is_empty() {
            path.push('.');
        }
        path + key
    }

    /// Follows references to the schema itself and the name of its type.
    fn resolve(&self, schema: &'s Value) -> (Option<&'s str>, &'s Value) {
        let (mut name, mut schema) = (None, schema);
        while let Some(reference) = schema.get("$ref").or_else(|| schema["allOf"][0].get("$ref")) {
            let Some(definition) = reference.as_str().and_then(|path| path.strip_prefix("#/definitions/"))
            else {
                break;
            };
            name = Some(definition);
            schema = &self.schema["definitions"][definition];
        }
        (name, schema)
    }

    fn report(&mut self, message: impl Into<String>, form: Form, allowed: Option<String>) {
        let issue = Issue { path: self.path.join("."), message: message.into(), allowed };
        self.found.findings.push(Finding { issue, form });
    }
}

fn name_pattern(schema: &Value) -> Option<&str> {
    schema.get("propertyNames")?.get("pattern")?.as_str()
}
