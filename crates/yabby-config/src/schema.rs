//! The JSON Schema of the configuration (draft-07), generated from the types of [`crate::sections`].

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::sections::Sections;

/// The schema of a whole configuration.
pub fn schema() -> Value {
    of::<Sections>()
}

/// A key, and what stands there.
pub struct Part {
    pub key: &'static str,
    pub content: Content,
    /// Whether the part is there even where nobody wrote it, for the defaults in it.
    pub always: bool,
    /// Whether pages show it as a group.
    pub group: Option<Group>,
}

/// How pages show a part.
pub struct Group {
    pub label: &'static str,
    pub order: i32,
}

/// Parts in the order of the schema.
///
/// A whole schema takes milliseconds to build; a configuration uses a few parts of it.
pub type Parts = &'static [Part];

/// What a part holds.
pub enum Content {
    /// A value with this schema.
    Value(fn() -> Value),
    /// Parts again.
    Parts(Parts, Room),
}

/// Whether there is room for keys beyond the parts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Room {
    Open,
    Closed,
}

/// The schema of a type, with those of all types it is made of as `definitions`.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.transforms.clear());
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// The same schema with every type written out where it is used, for readers that follow no references: OpenClaw's page
/// shows nothing of what is behind one. What holds itself may hold anything there.
pub fn written_out(schema: &Value) -> Value {
    let definitions = schema.get("definitions").and_then(Value::as_object);
    let mut whole = Writer { definitions, within: Vec::new() }.write(schema);
    if let Value::Object(keywords) = &mut whole {
        keywords.shift_remove("definitions");
    }
    whole
}

struct Writer<'s> {
    definitions: Option<&'s Map<String, Value>>,
    /// The types that we are in the midst of.
    within: Vec<&'s str>,
}

impl<'s> Writer<'s> {
    fn write(&mut self, schema: &'s Value) -> Value {
        match schema {
            Value::Object(keywords) => self.keywords(keywords).into(),
            Value::Array(schemas) => schemas.iter().map(|schema| self.write(schema)).collect(),
            _ => schema.clone(),
        }
    }

    fn keywords(&mut self, keywords: &'s Map<String, Value>) -> Map<String, Value> {
        let mut written = Map::new();
        for (keyword, value) in keywords {
            // A reference stands alone, or as the only one of `allOf` beside what else is said.
            let reference = match (keyword.as_str(), value) {
                ("$ref", value) => value.as_str(),
                ("allOf", Value::Array(schemas)) => match schemas.as_slice() {
                    [Value::Object(only)] => only.get("$ref").and_then(Value::as_str),
                    _ => None,
                },
                _ => None,
            };
            match reference {
                Some(reference) => {
                    for (keyword, value) in self.referenced(reference) {
                        written.entry(keyword).or_insert(value);
                    }
                }
                None => {
                    written.insert(keyword.clone(), self.write(value));
                }
            }
        }
        written
    }

    fn referenced(&mut self, reference: &'s str) -> Map<String, Value> {
        let name = reference.trim_start_matches("#/definitions/");
        let found = self.definitions.and_then(|definitions| definitions.get(name));
        let Some(Value::Object(keywords)) = found.filter(|_| !self.within.contains(&name)) else {
            return Map::new();
        };
        self.within.push(name);
        let written = self.keywords(keywords);
        self.within.pop();
        written
    }
}

/// Says "optional" as JSON Schema does: by not requiring the key. The generator would also allow
/// `null`, which the configuration does not. And draft-07 wants a reference to stand alone.
fn tidy(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    drop_null(keywords);
    for (keyword, value) in keywords.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "definitions", Value::Object(schemas)) => {
                schemas.values_mut().for_each(tidy);
            }
            ("items" | "additionalProperties", schema) => tidy(schema),
            ("anyOf" | "allOf", Value::Array(schemas)) => schemas.iter_mut().for_each(tidy),
            _ => {}
        }
    }
    if keywords.len() > 1
        && let Some(reference) = keywords.shift_remove("$ref")
    {
        keywords.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    }
}

fn drop_null(keywords: &mut Map<String, Value>) {
    if let Some(kind) = keywords.get_mut("type")
        && let Value::Array(kinds) = kind
    {
        kinds.retain(|name| name != "null");
        if kinds.len() == 1
            && let Some(only) = kinds.pop()
        {
            *kind = only;
        }
    }
    if let Some(Value::Array(alternatives)) = keywords.get_mut("anyOf") {
        alternatives.retain(|schema| schema.get("type").is_none_or(|kind| kind != "null"));
        if alternatives.len() == 1
            && let Some(Value::Object(only)) = alternatives.pop()
        {
            keywords.shift_remove("anyOf");
            keywords.extend(only);
        }
    }
}
