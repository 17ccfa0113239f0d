//! Transcript lines as the model of our promises reads them.

use yabby_domain::json::{self, Object, Value};
use yabby_domain::transcript::Transcript;

/// One entry and its place in the tree.
#[derive(Clone)]
pub struct Line {
    /// As it is on disk.
    pub text: String,
    pub fields: Object,
    pub id: String,
    pub parent: Option<String>,
}

impl Line {
    pub fn of(fields: Object) -> Self {
        let text_of = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        let (id, parent) = (text_of("id").unwrap_or_default(), text_of("parentId"));
        Self { text: stringified(&fields), fields, id, parent }
    }

    /// The same entry in another place.
    pub fn below(&self, parent: Option<&str>) -> Self {
        let mut fields = self.fields.clone();
        fields.insert("parentId".into(), parent.map_or(Value::Null, Value::from));
        fields.entry("id").or_insert_with(|| self.id.as_str().into());
        Self::of(fields)
    }

    /// The same entry, its place spelt out if the line does not name it.
    pub fn portable(&self) -> Self {
        if self.is_nameless() || (self.parent.is_some() && !self.fields.contains_key("parentId")) {
            let mut fields = self.fields.clone();
            fields.insert("id".into(), self.id.as_str().into());
            fields.insert("parentId".into(), self.parent.as_deref().map_or(Value::Null, Value::from));
            return Self::of(fields);
        }
        self.clone()
    }

    fn is_nameless(&self) -> bool {
        !self.fields.get("id").is_some_and(json::truthy)
    }
}

/// A file that begins with a header.
pub struct Read {
    pub header: Object,
    pub entries: Vec<Line>,
    /// There are lines of JSON that are no objects.
    pub has_foreign_lines: bool,
}

pub fn read(text: &str) -> Option<Read> {
    let values: Vec<Value> = text.split('\n').filter_map(|line| json::parse(line).ok()).collect();
    let has_foreign_lines = values.iter().any(|value| !value.is_object());
    let mut objects = text.split('\n').filter_map(|line| match json::parse(line) {
        Ok(Value::Object(object)) => Some((line.trim_matches([' ', '\t', '\r']), object)),
        _ => None,
    });
    let (_, header) = objects.next()?;
    if header.get("type")? != "session" || !header.get("id")?.is_string() {
        return None;
    }
    let entries = objects.filter(|(_, entry)| entry.get("type").is_none_or(|kind| kind != "session"));
    let mut entries: Vec<Line> =
        entries.map(|(line, entry)| Line { text: line.to_owned(), ..Line::of(entry) }).collect();
    // Ids that are made up are made up by the rule; everything else here is read again.
    let transcript = Transcript::read(text)?;
    for (line, entry) in entries.iter_mut().zip(transcript.entries()) {
        line.id = entry.id().unwrap_or_default().to_owned();
        line.parent = entry.parent_id().map(str::to_owned);
    }
    Some(Read { header, entries, has_foreign_lines })
}

/// Whether a line of a file is an entry.
pub fn is_entry(line: &str) -> bool {
    json::parse(line).is_ok_and(|line| line.is_object() && line["type"] != "session")
}

impl Read {
    fn version(&self) -> f64 {
        self.header.get("version").and_then(Value::as_f64).unwrap_or(1.0)
    }

    /// An older file in which no entry names its parent.
    pub fn is_list(&self) -> bool {
        self.version() < 3.0 && !self.entries.iter().any(|entry| entry.fields.contains_key("parentId"))
    }

    /// A second version that should be a tree and is a list.
    pub fn is_list_of_ids(&self) -> bool {
        self.version() >= 2.0 && self.is_list() && !self.entries.is_empty()
    }

    /// Entries of a tree that have no name.
    pub fn has_nameless_entries(&self) -> bool {
        self.version() >= 2.0 && self.entries.iter().any(Line::is_nameless)
    }

    /// Brings an older file up to date; false if it is.
    pub fn migrate(&mut self, mut fresh_id: impl FnMut() -> String) -> bool {
        let version = self.version();
        if version >= 3.0 {
            return false;
        }
        let is_list = self.is_list();
        let mut ids: Vec<Option<String>> = self
            .entries
            .iter()
            .map(|entry| entry.fields.get("id").and_then(Value::as_str).map(str::to_owned))
            .collect();
        let mut parent = Value::Null;
        for at in 0..self.entries.len() {
            let fields = &mut self.entries[at].fields;
            if version < 2.0 || is_list {
                let kept = ids[at].clone().filter(|id| version >= 2.0 && !id.is_empty());
                let id = kept.unwrap_or_else(&mut fresh_id);
                ids[at] = Some(id.clone());
                fields.insert("id".into(), id.as_str().into());
                fields.insert("parentId".into(), std::mem::replace(&mut parent, id.into()));
                if let Some(index) = fields.get("firstKeptEntryIndex").and_then(Value::as_u64) {
                    // The header is line 0.
                    let target = index.checked_sub(1).and_then(|at| ids.get(at as usize)).cloned();
                    if let Some(Some(id)) = target {
                        fields.insert("firstKeptEntryId".into(), id.into());
                    }
                    fields.shift_remove("firstKeptEntryIndex");
                }
            }
            if fields.get("message").is_some_and(|message| message["role"] == "hookMessage") {
                fields["message"]["role"] = "custom".into();
            }
        }
        self.header.insert("version".into(), 3.into());
        self.entries = self.entries.iter().map(|entry| Line::of(entry.fields.clone())).collect();
        true
    }

    pub fn text(&self) -> String {
        let entries = self.entries.iter().map(|entry| entry.text.clone());
        std::iter::once(stringified(&self.header)).chain(entries).map(|line| line + "\n").collect()
    }
}

/// The entries from the root to `leaf`.
pub fn path_to<'e>(entries: &'e [Line], leaf: &str) -> Vec<&'e Line> {
    let mut path = Vec::new();
    let mut next = Some(leaf);
    while let Some(entry) = next.and_then(|id| entries.iter().rfind(|entry| entry.id == id)) {
        path.push(entry);
        next = entry.parent.as_deref().filter(|_| path.len() <= entries.len());
    }
    path.reverse();
    path
}

/// The labels that are set, in the order in which they were.
pub fn labels(entries: &[Line]) -> Vec<(String, String)> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.fields["type"] == "label") {
        let field = |name: &str| entry.fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let (target, label) = (field("targetId"), field("label"));
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

/// The beginning of a new entry.
pub fn placed(kind: &str, id: &str, parent: Option<&str>) -> Object {
    let entry = [
        ("type", kind.into()),
        ("id", id.into()),
        ("parentId", parent.map_or(Value::Null, Value::from)),
        ("timestamp", "$ts".into()),
    ];
    entry.into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
}

pub fn stringified(object: &Object) -> String {
    json::stringify_object(object)
}
