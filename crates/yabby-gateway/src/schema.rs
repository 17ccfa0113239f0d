//! What the parameters of a request may be, and what is said of those that are not (`gateway.md` §1,
//! "Validation text"). Every object is closed: what is not named is refused.

use yabby_domain::json::Value;
use yabby_domain::text;

/// The shape of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Schema {
    Any,
    Null,
    Boolean,
    Text {
        min: usize,
        max: usize,
    },
    /// `i64::MIN` and `i64::MAX` are no limits.
    Integer {
        min: i64,
        max: i64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// This text and no other.
    Constant(&'static str),
    /// This number and no other.
    Exactly(i64),
    /// This, or null, which counts as nothing.
    OrNull(&'static Schema),
    /// Any of these.
    OneOf(&'static [Schema]),
    List {
        of: &'static Schema,
        min: usize,
        max: usize,
    },
    /// Any names, with values of one shape.
    Map(&'static Schema),
    Object(&'static [Field]),
    /// An object with any names at all.
    OpenObject,
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    name: &'static str,
    schema: Schema,
    required: bool,
}

pub(crate) const fn required(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, required: true }
}

pub(crate) const fn optional(name: &'static str, schema: Schema) -> Field {
    Field { name, schema, required: false }
}

/// Any text, even none.
pub(crate) const TEXT: Schema = Schema::Text { min: 0, max: usize::MAX };
/// A text that says something.
pub(crate) const NON_EMPTY: Schema = Schema::Text { min: 1, max: usize::MAX };
pub(crate) const BOOLEAN: Schema = Schema::Boolean;
/// A number of things.
pub(crate) const COUNT: Schema = at_least(0);
/// Texts that say something.
pub(crate) const TEXTS: Schema = Schema::List { of: &NON_EMPTY, min: 0, max: usize::MAX };
/// No parameters at all.
pub(crate) const NOTHING: Schema = Schema::Object(&[]);

pub(crate) const fn at_least(min: i64) -> Schema {
    Schema::Integer { min, max: i64::MAX }
}

pub(crate) const fn between(min: i64, max: i64) -> Schema {
    Schema::Integer { min, max }
}

impl Schema {
    /// What is wrong with a value, in the words of the reference; `None` if nothing is.
    pub(crate) fn fault(&self, value: &Value) -> Option<String> {
        let mut faults = Faults(Vec::new());
        self.check(value, "", &mut faults);
        (!faults.0.is_empty()).then(|| faults.0.join("; "))
    }

    fn check(&self, value: &Value, path: &str, faults: &mut Faults) {
        match self {
            Self::Any => {}
            Self::Null => faults.unless(value.is_null(), path, "must be null"),
            Self::Boolean => faults.unless(value.is_boolean(), path, "must be boolean"),
            Self::Text { min, max } => match value.as_str() {
                None => faults.add(path, "must be string"),
                Some(said) => {
                    let length = said.chars().count();
                    if length < *min {
                        faults.add(path, &format!("must NOT have fewer than {min} characters"));
                    }
                    if length > *max {
                        faults.add(path, &format!("must NOT have more than {max} characters"));
                    }
                }
            },
            Self::Integer { min, max } => {
                let number = value.as_f64();
                let is_whole = number.is_some_and(|number| number.fract() == 0.0);
                faults.unless(is_whole, path, "must be integer");
                if let Some(number) = number {
                    faults.check_range(path, number, limit(*min), limit(*max));
                }
            }
            Self::Number { min, max } => match value.as_f64() {
                None => faults.add(path, "must be number"),
                Some(number) => faults.check_range(path, number, *min, *max),
            },
            Self::Constant(constant) => {
                faults.unless(value.is_string(), path, "must be string");
                faults.unless(value.as_str() == Some(constant), path, "must be equal to constant");
            }
            Self::Exactly(number) => {
                faults.unless(value.is_number(), path, "must be number");
                faults.unless(value.as_i64() == Some(*number), path, "must be equal to constant");
            }
            Self::OrNull(schema) => {
                if !value.is_null() {
                    schema.check(value, path, faults);
                }
            }
            Self::OneOf(schemas) => {
                if schemas.iter().all(|schema| schema.fault(value).is_some()) {
                    schemas.iter().for_each(|schema| schema.check(value, path, faults));
                    faults.add(path, "must match a schema in anyOf");
                }
            }
            Self::List { of, min, max } => match value.as_array() {
                None => faults.add(path, "must be array"),
                Some(items) => {
                    if items.len() < *min {
                        faults.add(path, &format!("must NOT have fewer than {min} items"));
                    }
                    if items.len() > *max {
                        faults.add(path, &format!("must NOT have more than {max} items"));
                    }
                    for (number, item) in items.iter().enumerate() {
                        of.check(item, &format!("{path}/{number}"), faults);
                    }
                }
            },
            Self::Map(of) => match value.as_object() {
                None => faults.add(path, "must be object"),
                Some(object) => {
                    object.iter().for_each(|(name, value)| of.check(value, &below(path, name), faults));
                }
            },
            Self::OpenObject => faults.unless(value.is_object(), path, "must be object"),
            Self::Object(fields) => check_object(fields, value, path, faults),
        }
    }
}

fn check_object(fields: &[Field], value: &Value, path: &str, faults: &mut Faults) {
    let Some(object) = value.as_object() else { return faults.add(path, "must be object") };
    for field in fields.iter().filter(|field| field.required && !object.contains_key(field.name)) {
        faults.add(path, &format!("must have required property '{}'", field.name));
    }
    for name in object.keys().filter(|name| fields.iter().all(|field| field.name != name.as_str())) {
        if text::trim(name).is_empty() {
            // There is nothing to call it by.
            faults.add(path, "must NOT have additional properties");
        } else {
            let place = if path.is_empty() { "root" } else { path };
            faults.say(format!("at {place}: unexpected property '{name}'"));
        }
    }
    for field in fields {
        if let Some(value) = object.get(field.name) {
            field.schema.check(value, &below(path, field.name), faults);
        }
    }
}

/// A limit of a whole number, which may be none.
fn limit(number: i64) -> f64 {
    match number {
        i64::MIN => f64::NEG_INFINITY,
        i64::MAX => f64::INFINITY,
        #[expect(clippy::cast_precision_loss, reason = "limits are small")]
        number => number as f64,
    }
}

/// The path of a member, as JSON pointers are written.
fn below(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// What is wrong, each thing once.
struct Faults(Vec<String>);

impl Faults {
    fn say(&mut self, fault: String) {
        // Nobody reads a thousand of them.
        const ENOUGH: usize = 100;
        let fault = text::head(&fault, 1000).into_owned();
        if self.0.len() < ENOUGH && !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    fn add(&mut self, path: &str, what: &str) {
        self.say(if path.is_empty() { what.to_owned() } else { format!("at {path}: {what}") });
    }

    fn unless(&mut self, holds: bool, path: &str, what: &str) {
        if !holds {
            self.add(path, what);
        }
    }

    fn check_range(&mut self, path: &str, number: f64, min: f64, max: f64) {
        let told = yabby_domain::json::number_text;
        if number > max {
            self.add(path, &format!("must be <= {}", told(max)));
        }
        if number < min {
            self.add(path, &format!("must be >= {}", told(min)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_are_told_as_the_reference_tells_them() {
        const MODE: Schema = Schema::OneOf(&[Schema::Constant("now"), Schema::Constant("later")]);
        const LABEL: Schema = Schema::OneOf(&[Schema::Text { min: 1, max: 64 }, Schema::Null]);
        const SCHEMA: Schema = Schema::Object(&[
            required("key", NON_EMPTY),
            required("again", TEXT),
            optional("limit", between(1, 1000)),
            optional("mode", MODE),
            optional("label", LABEL),
            optional("keys", Schema::List { of: &NON_EMPTY, min: 1, max: usize::MAX }),
            optional("client", Schema::Object(&[required("id", TEXT)])),
            optional("version", Schema::Exactly(1)),
            optional("count", COUNT),
            optional("error", Schema::OrNull(&Schema::Object(&[]))),
        ]);
        let table = [
            (json!({"key": "k", "again": ""}), None),
            (json!([]), Some("must be object")),
            (
                json!({"bogus": 1, "key": ""}),
                Some(
                    "must have required property 'again'; at root: unexpected property 'bogus'; at /key: must NOT have fewer than 1 characters",
                ),
            ),
            (json!({"key": "k", "again": "", "limit": 0}), Some("at /limit: must be >= 1")),
            (json!({"key": "k", "again": "", "limit": 1001}), Some("at /limit: must be <= 1000")),
            (json!({"key": "k", "again": "", "limit": 1.5}), Some("at /limit: must be integer")),
            (
                json!({"key": "k", "again": "", "limit": 0.5}),
                Some("at /limit: must be integer; at /limit: must be >= 1"),
            ),
            (json!({"key": "k", "again": "", "count": 1e300}), None),
            (json!({"key": "k", "again": "", "error": null}), None),
            (json!({"key": "k", "again": "", "error": 5}), Some("at /error: must be object")),
            (json!({"key": "k", "again": "", "": 1, " ": 2}), Some("must NOT have additional properties")),
            (
                json!({"key": "k", "again": "", "version": "1"}),
                Some("at /version: must be number; at /version: must be equal to constant"),
            ),
            (
                json!({"key": "k", "again": "", "mode": 5}),
                Some(
                    "at /mode: must be string; at /mode: must be equal to constant; at /mode: must match a schema in anyOf",
                ),
            ),
            (
                json!({"key": "k", "again": "", "keys": []}),
                Some("at /keys: must NOT have fewer than 1 items"),
            ),
            (
                json!({"key": "k", "again": "", "mode": "x"}),
                Some("at /mode: must be equal to constant; at /mode: must match a schema in anyOf"),
            ),
            (
                json!({"key": "k", "again": "", "label": ""}),
                Some(
                    "at /label: must NOT have fewer than 1 characters; at /label: must be null; at /label: must match a schema in anyOf",
                ),
            ),
            (
                json!({"key": "k", "again": "", "client": {"x": 1}}),
                Some("at /client: must have required property 'id'; at /client: unexpected property 'x'"),
            ),
        ];
        for (value, fault) in table {
            assert_eq!(SCHEMA.fault(&value).as_deref(), fault, "{value}");
        }
    }
}
