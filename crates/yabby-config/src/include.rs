//! `$include`: one configuration in several files (`config.md` §2.1).
//!
//! What comes out remembers where each value stands, so that issues can name a line of the right file
//! and edits go where they belong.

use indexmap::IndexMap;
use yabby_base::json::json5::Fault;
use yabby_base::json::{self, Value};
use yabby_base::path::{absolute, parent};

use crate::key_path::{KeyPath, Step, index};

const INCLUDE: &str = "$include";

/// How many files may include each other.
const MAX_DEPTH: usize = 10;

/// How many files are read in all: a few that include each other in lists could ask for billions.
const MAX_FILES: usize = 1000;

/// A configuration with its includes in place.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub root: Traced,
    /// The files that it is made of; the main file is the first.
    pub files: Vec<String>,
}

/// A value, and where it stands.
#[derive(Clone, Debug)]
pub struct Traced {
    /// Its file, by its place in [`Resolved::files`]. An object that an include brings in counts to the
    /// file that includes it, for there it can be added to; its members stand where they stand.
    pub file: usize,
    /// The way to it in that file.
    pub steps: Vec<Step>,
    pub shape: Shape,
}

#[derive(Clone, Debug)]
pub enum Shape {
    Scalar(Value),
    List(Vec<Traced>),
    Object(IndexMap<String, Traced>),
}

/// Why includes cannot be resolved.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct IncludeError {
    pub why: Why,
    /// The file that asks for it, and where in it.
    pub file: String,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum Why {
    #[error("Failed to read include file: {name} (resolved: {path})")]
    Unreadable { name: String, path: String },
    #[error("Failed to parse include file: {name} (resolved: {path})")]
    Broken { name: String, path: String, fault: Fault },
    #[error("Circular include detected: {}", .0.join(" -> "))]
    Circular(Vec<String>),
    #[error("Maximum include depth ({MAX_DEPTH}) exceeded at: {0}")]
    TooDeep(String),
    #[error("Invalid $include value: expected string or array of strings, got {0}")]
    NotAFile(&'static str),
    #[error("Invalid $include array item: expected string, got {0}")]
    ItemIsNotAFile(&'static str),
    #[error("Sibling keys require included content to be an object")]
    Siblings,
    #[error("More than {MAX_FILES} files are included at: {0}")]
    TooMany(String),
}

/// Puts the included files in the place of their directives. `read` gives the text of a file.
pub fn resolve(
    main: &str,
    value: Value,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Resolved, IncludeError> {
    let mut reader = Includes { read, files: vec![absolute(main, "/")], chain: vec![0] };
    let root = reader.value(value, &mut Vec::new())?;
    Ok(Resolved { root, files: reader.files })
}

/// Whether a value includes anything.
pub fn includes(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.contains_key(INCLUDE) || object.values().any(includes),
        Value::Array(items) => items.iter().any(includes),
        _ => false,
    }
}

impl Resolved {
    pub fn value(&self) -> Value {
        self.root.value()
    }

    /// What stands under a path.
    pub fn get(&self, path: &KeyPath) -> Option<&Traced> {
        path.segments().iter().try_fold(&self.root, |traced, segment| traced.child(segment))
    }
}

impl Traced {
    pub fn child(&self, segment: &str) -> Option<&Traced> {
        match &self.shape {
            Shape::Scalar(_) => None,
            Shape::List(items) => items.get(index(segment)?),
            Shape::Object(members) => members.get(segment),
        }
    }

    pub fn value(&self) -> Value {
        match &self.shape {
            Shape::Scalar(value) => value.clone(),
            Shape::List(items) => items.iter().map(Self::value).collect(),
            Shape::Object(members) => {
                members.iter().map(|(key, member)| (key.clone(), member.value())).collect()
            }
        }
    }

    /// What this becomes with another value laid over it: objects are joined, lists are put one behind
    /// the other, and of anything else the later wins.
    fn under(self, over: Self) -> Self {
        let shape = match (self.shape, over.shape) {
            (Shape::List(mut first), Shape::List(then)) => {
                first.extend(then);
                Shape::List(first)
            }
            (Shape::Object(mut below), Shape::Object(above)) => {
                for (key, member) in above {
                    let joined = match below.get_mut(&key) {
                        Some(old) => old.clone().under(member),
                        None => member,
                    };
                    below.insert(key, joined);
                }
                Shape::Object(below)
            }
            (_, shape) => shape,
        };
        Self { file: over.file, steps: over.steps, shape }
    }
}

struct Includes<'r> {
    read: &'r mut dyn FnMut(&str) -> Option<String>,
    files: Vec<String>,
    /// The files that include each other down to the one at hand.
    chain: Vec<usize>,
}

impl Includes<'_> {
    fn value(&mut self, value: Value, steps: &mut Vec<Step>) -> Result<Traced, IncludeError> {
        let shape = match value {
            Value::Array(items) => {
                let mut traced = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    traced.push(self.below(item, steps, Step::Index(index))?);
                }
                Shape::List(traced)
            }
            Value::Object(mut object) => {
                let directive = object.shift_remove(INCLUDE);
                let has_siblings = !object.is_empty();
                let included = match directive {
                    Some(directive) => Some(self.directive(&directive, steps)?),
                    None => None,
                };
                if has_siblings && included.as_ref().is_some_and(|it| !matches!(it.shape, Shape::Object(_))) {
                    return Err(self.error(Why::Siblings, steps));
                }
                let mut members = IndexMap::new();
                for (key, member) in object {
                    let step = Step::Key(key.clone());
                    members.insert(key, self.below(member, steps, step)?);
                }
                match included {
                    None => Shape::Object(members),
                    Some(included) if !has_siblings => match included.shape {
                        // Here it can be added to.
                        Shape::Object(members) => Shape::Object(members),
                        _ => return Ok(included),
                    },
                    Some(included) => included.under(self.here(Shape::Object(members), steps)).shape,
                }
            }
            scalar => Shape::Scalar(scalar),
        };
        Ok(self.here(shape, steps))
    }

    fn below(&mut self, value: Value, steps: &mut Vec<Step>, step: Step) -> Result<Traced, IncludeError> {
        steps.push(step);
        let traced = self.value(value, steps);
        steps.pop();
        traced
    }

    fn here(&self, shape: Shape, steps: &[Step]) -> Traced {
        Traced { file: self.file(), steps: steps.to_vec(), shape }
    }

    fn file(&self) -> usize {
        self.chain.last().copied().unwrap_or_default()
    }

    fn error(&self, why: Why, steps: &[Step]) -> IncludeError {
        let file = self.files.get(self.file()).cloned().unwrap_or_default();
        let steps = steps.iter().cloned().chain([Step::Key(INCLUDE.to_owned())]).collect();
        IncludeError { why, file, steps }
    }

    fn directive(&mut self, directive: &Value, steps: &[Step]) -> Result<Traced, IncludeError> {
        match directive {
            Value::String(name) => self.load(name, steps),
            Value::Array(names) => {
                let mut merged = self.here(Shape::Object(IndexMap::new()), steps);
                for name in names {
                    let Value::String(name) = name else {
                        return Err(self.error(Why::ItemIsNotAFile(type_of(name)), steps));
                    };
                    merged = merged.under(self.load(name, steps)?);
                }
                Ok(merged)
            }
            other => Err(self.error(Why::NotAFile(type_of(other)), steps)),
        }
    }

    fn load(&mut self, name: &str, steps: &[Step]) -> Result<Traced, IncludeError> {
        let folder = self.files.get(self.file()).map(|file| parent(file)).unwrap_or("/");
        let path = absolute(name, folder);
        let chain: Vec<&String> = self.chain.iter().filter_map(|file| self.files.get(*file)).collect();
        if chain.contains(&&path) {
            let circle = chain.into_iter().cloned().chain([path]).collect();
            return Err(self.error(Why::Circular(circle), steps));
        }
        if self.chain.len() > MAX_DEPTH {
            return Err(self.error(Why::TooDeep(name.to_owned()), steps));
        }
        if self.files.len() > MAX_FILES {
            return Err(self.error(Why::TooMany(name.to_owned()), steps));
        }
        let name = name.to_owned();
        let Some(text) = (self.read)(&path) else {
            return Err(self.error(Why::Unreadable { name, path }, steps));
        };
        let value = match json::read_json5(&text) {
            Ok(value) => value,
            Err(fault) => return Err(self.error(Why::Broken { name, path, fault }, steps)),
        };
        self.chain.push(self.files.len());
        self.files.push(path);
        let traced = self.value(value, &mut Vec::new())?;
        self.chain.pop();
        Ok(traced)
    }
}

/// What JavaScript calls the type of a value.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(main: &str, files: &[(&str, &str)]) -> Result<Resolved, IncludeError> {
        let main = json::parse_json5(main).unwrap();
        let text =
            |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        resolve("/c/main.json", main, &mut { text })
    }

    #[test]
    fn included_files_take_the_place_of_their_directive() {
        let files = [
            ("/c/a.json", "{list: ['a'], o: {x: 1, y: 1}}"),
            ("/c/b.json", "{$include: './d/c.json', list: ['b'], o: {y: 2}}"),
            ("/c/d/c.json", "{list: ['c'], deep: {$include: '../e.json'}}"),
            ("/c/e.json", "[1, 2]"),
            ("/x.json", "'text'"),
        ];
        //  main file                                            resolved
        let table = [
            ("{$include: 'a.json'}", r#"{"list":["a"],"o":{"x":1,"y":1}}"#),
            (
                "{$include: ['a.json', './b.json'], o: {z: 3}}",
                r#"{"list":["a","c","b"],"o":{"x":1,"y":2,"z":3},"deep":[1,2]}"#,
            ),
            ("{k: {$include: 'e.json'}, l: [{$include: '/x.json'}]}", r#"{"k":[1,2],"l":["text"]}"#),
            ("{a: {$include: 'e.json'}, b: {$include: 'e.json'}}", r#"{"a":[1,2],"b":[1,2]}"#),
            ("{$include: []}", "{}"),
            ("{$include: ['a.json', 'e.json']}", "[1,2]"),
        ];
        for (main, value) in table {
            assert_eq!(json::stringify(&resolved(main, &files).unwrap().value()), value, "{main}");
        }
    }

    #[test]
    fn includes_that_cannot_be_resolved_say_why() {
        let files = [
            ("/c/broken.json", "{"),
            ("/c/x.json", "{$include: './y.json'}"),
            ("/c/y.json", "{$include: 'x.json'}"),
            ("/c/list.json", "[]"),
        ];
        let table = [
            ("{$include: './no.json'}", "Failed to read include file: ./no.json (resolved: /c/no.json)"),
            (
                "{a: [{$include: 'broken.json'}]}",
                "Failed to parse include file: broken.json (resolved: /c/broken.json)",
            ),
            (
                "{$include: 'x.json'}",
                "Circular include detected: /c/main.json -> /c/x.json -> /c/y.json -> /c/x.json",
            ),
            ("{$include: 'main.json'}", "Circular include detected: /c/main.json -> /c/main.json"),
            ("{$include: 3}", "Invalid $include value: expected string or array of strings, got number"),
            ("{$include: null}", "Invalid $include value: expected string or array of strings, got object"),
            ("{$include: [true]}", "Invalid $include array item: expected string, got boolean"),
            ("{$include: 'list.json', a: 1}", "Sibling keys require included content to be an object"),
        ];
        for (main, error) in table {
            assert_eq!(resolved(main, &files).unwrap_err().to_string(), error, "{main}");
        }
    }

    #[test]
    fn ten_files_below_the_main_file_is_the_limit() {
        let nested = |count: usize| {
            let mut read = |path: &str| {
                let number: usize = path.trim_start_matches("/d").trim_end_matches(".json").parse().ok()?;
                Some(if number == count {
                    "{}".to_owned()
                } else {
                    format!("{{$include: 'd{}.json'}}", number + 1)
                })
            };
            resolve("/main.json", json::parse_json5("{$include: 'd1.json'}").unwrap(), &mut read)
        };
        assert!(nested(10).is_ok());
        assert_eq!(nested(11).unwrap_err().to_string(), "Maximum include depth (10) exceeded at: d11.json");
    }

    #[test]
    fn a_few_files_cannot_ask_for_billions() {
        let ten = |next: &str| format!("{{$include: [{}]}}", format!("'{next}',").repeat(10));
        let mut read = |path: &str| Some(ten(&format!("{path}x")));
        let main = json::parse_json5(&ten("/a")).unwrap();
        let error = resolve("/main.json", main, &mut read).unwrap_err().to_string();
        assert!(error.starts_with("Maximum include depth") || error.starts_with("More than 1000"), "{error}");
        let mut read =
            |path: &str| Some(if path.len() > 8 { "{}".to_owned() } else { ten(&format!("{path}x")) });
        let main = json::parse_json5(&ten("/a")).unwrap();
        let error = resolve("/main.json", main, &mut read).unwrap_err().to_string();
        assert!(error.starts_with("More than 1000 files"), "{error}");
    }

    #[test]
    fn values_remember_where_they_stand() {
        let files = [("/c/a.json", "{list: ['a'], o: {x: 1}}")];
        let resolved = resolved("{k: {$include: 'a.json', list: ['b'], o: {y: 2}}}", &files).unwrap();
        //  path          file  way in it
        let table = [
            ("k", 0, "k"),
            ("k.list[0]", 1, "list.0"),
            ("k.list[1]", 0, "k.list.0"),
            ("k.o", 0, "k.o"),
            ("k.o.x", 1, "o.x"),
            ("k.o.y", 0, "k.o.y"),
        ];
        for (path, file, way) in table {
            let traced = resolved.get(&KeyPath::parse(path).unwrap()).unwrap();
            let steps: Vec<String> = traced
                .steps
                .iter()
                .map(|step| match step {
                    Step::Key(key) => key.clone(),
                    Step::Index(index) => index.to_string(),
                })
                .collect();
            assert_eq!((traced.file, steps.join(".").as_str()), (file, way), "{path}");
        }
    }
}
