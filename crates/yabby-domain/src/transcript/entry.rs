//! One line of a transcript (`transcripts.md` §1.2).
//!
//! An entry keeps the text of its line; what we did not write goes back byte for byte. A small head
//! (kind, id, parent, time, role) is read at once, the rest is parsed when somebody needs it, so that
//! a long transcript stays cheap to open. The entries of one file share its text.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use sha1::{Digest, Sha1};

use super::{seed, time};
use crate::json::{self, Object, Value};
use crate::message::{Message, Role};

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    line: Line,
    head: Head,
    tokens: TokenEstimate,
}

/// Cached token estimate of the message of an entry. Two entries are equal whether or not it was computed.
#[derive(Clone, Debug, Default)]
struct TokenEstimate(OnceLock<u64>);

impl PartialEq for TokenEstimate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A part of a text.
#[derive(Clone)]
struct Line {
    text: Arc<String>,
    place: Range<usize>,
}

impl Line {
    fn whole(text: String) -> Self {
        Self { place: 0..text.len(), text: Arc::new(text) }
    }

    fn as_str(&self) -> &str {
        self.text.get(self.place.clone()).unwrap_or_default()
    }
}

impl PartialEq for Line {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A header line; only the first of a file counts.
    Session,
    Message,
    ThinkingLevelChange,
    ModelChange,
    Compaction,
    BranchSummary,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    /// Kept, and part of the parent chain.
    Unknown,
}

/// What an entry is addressed by. OpenClaw writes text; a number or a flag is told from the text that
/// spells it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryId {
    Text(Arc<str>),
    /// The JSON text of a number or a flag.
    Other(Arc<str>),
}

#[derive(Clone, Debug, PartialEq)]
struct Head {
    kind: EntryKind,
    id: Option<EntryId>,
    parent: Parent,
    /// The line does not name its id or its parent; they were made up when the transcript was read.
    made_up: bool,
    time: Option<f64>,
    role: Option<Role>,
}

#[derive(Clone, Debug, PartialEq)]
enum Parent {
    /// The line says nothing about it.
    Unsaid,
    Root,
    Of(EntryId),
}

impl Entry {
    /// The entry on `line`, if it holds a JSON object.
    pub fn parse(line: &str) -> Option<Self> {
        let head = Glance::at(line, Head::of)?;
        Some(Self {
            line: Line::whole(line.trim_matches(JSON_SPACE).to_owned()),
            head,
            tokens: TokenEstimate::default(),
        })
    }

    /// The entry on a line of a text that other entries share.
    pub(super) fn parse_in(text: &Arc<String>, line: Range<usize>) -> Option<Self> {
        let whole = text.get(line.clone())?;
        let head = Glance::at(whole, Head::of)?;
        let start = line.start + (whole.len() - whole.trim_start_matches(JSON_SPACE).len());
        let end = start + whole.trim_matches(JSON_SPACE).len();
        let line = Line { text: Arc::clone(text), place: start..end };
        Some(Self { line, head, tokens: TokenEstimate::default() })
    }

    pub fn from_object(object: Object) -> Self {
        let field = |name: &str| object.get(name).map(Peeked::of);
        let head = Head::of(&Glance {
            kind: field("type"),
            id: field("id"),
            parent: field("parentId"),
            timestamp: field("timestamp"),
            message: field("message"),
        });
        Self { line: Line::whole(json::stringify_object(&object)), head, tokens: TokenEstimate::default() }
    }

    /// The text of the line, as it is on disk.
    pub fn line(&self) -> &str {
        self.line.as_str()
    }

    /// The estimated tokens of its message, computed with `estimate` on the first call.
    pub fn estimated_tokens(&self, estimate: impl FnOnce(&Self) -> u64) -> u64 {
        *self.tokens.0.get_or_init(|| estimate(self))
    }

    /// How many bytes the line has.
    pub fn line_length(&self) -> usize {
        self.line.place.len()
    }

    /// The whole entry, parsed; empty if it is nested too deep to be parsed.
    pub fn object(&self) -> Object {
        object_on(self.line())
    }

    pub fn kind(&self) -> EntryKind {
        self.head.kind
    }

    pub fn id(&self) -> Option<&str> {
        self.head.id.as_ref().and_then(EntryId::as_text)
    }

    pub fn parent_id(&self) -> Option<&str> {
        self.parent_key().and_then(EntryId::as_text)
    }

    pub fn key(&self) -> Option<&EntryId> {
        self.head.id.as_ref()
    }

    /// What the entry hangs from; `None` for a root.
    pub fn parent_key(&self) -> Option<&EntryId> {
        match &self.head.parent {
            Parent::Of(id) => Some(id),
            Parent::Unsaid | Parent::Root => None,
        }
    }

    /// Epoch milliseconds of the entry; `None` if it has no readable time.
    pub fn time(&self) -> Option<f64> {
        self.head.time
    }

    /// The role of a message entry.
    pub fn role(&self) -> Option<Role> {
        self.head.role
    }

    pub fn is_assistant_message(&self) -> bool {
        self.kind() == EntryKind::Message && self.role() == Some(Role::Assistant)
    }

    /// The message of a message entry.
    pub fn message(&self) -> Option<Message> {
        self.head.role?;
        seed::message_on(self.line())
    }

    /// The line as it must stand in another file: the same text, unless its place in the tree is only
    /// known from its place in this file.
    pub fn portable_line(&self) -> Cow<'_, str> {
        if !self.head.made_up {
            return Cow::Borrowed(self.line());
        }
        let mut object = self.object();
        object.insert("id".into(), self.key().map_or(Value::Null, EntryId::to_value));
        object.insert("parentId".into(), self.parent_key().map_or(Value::Null, EntryId::to_value));
        Cow::Owned(json::stringify_object(&object))
    }

    /// The same entry under another parent.
    pub(super) fn with_parent(&self, parent: Option<&EntryId>) -> Self {
        let mut object = self.object();
        object.insert("parentId".into(), parent.map_or(Value::Null, EntryId::to_value));
        if self.head.made_up {
            object.insert("id".into(), self.key().map_or(Value::Null, EntryId::to_value));
        }
        Self::from_object(object)
    }

    /// Gives a line its place where it does not name one itself. Older shapes are plain lists of lines:
    /// a line without id gets one that is the same at every reading, and hangs from the line before
    /// it; in a `linear` file every line does.
    pub(super) fn settle(&mut self, position: usize, previous: Option<&EntryId>, linear: bool) {
        let nameless = self.head.id.is_none();
        if nameless {
            let digest = Sha1::digest(format!("{position}:{}", self.line()));
            let id: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            self.head.id = Some(EntryId::Text(id.into()));
        }
        let hangs_from_previous = (nameless || linear) && self.head.parent == Parent::Unsaid;
        // Most entries hang from the one before them anyway, and can share its name.
        if hangs_from_previous || previous.is_some_and(|previous| self.parent_key() == Some(previous)) {
            self.head.parent = previous.cloned().map_or(Parent::Root, Parent::Of);
        }
        self.head.made_up = nameless || hangs_from_previous;
    }

    /// Whether its place in the tree is only that of its line.
    pub(super) fn is_of_a_list(&self) -> bool {
        self.head.made_up
    }

    /// Whether the line says what it hangs from, if only that it is a root.
    pub(super) fn names_its_parent(&self) -> bool {
        self.head.parent != Parent::Unsaid
    }
}

/// The object on a line; empty if it is nested too deep to be parsed.
pub(super) fn object_on(line: &str) -> Object {
    match json::parse(line) {
        Ok(Value::Object(object)) => object,
        _ => Object::new(),
    }
}

impl EntryId {
    pub(super) fn name(&self) -> Name<'_> {
        match self {
            Self::Text(text) => Name::Text(text),
            Self::Other(json) => Name::Other(json.to_string()),
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(_) => None,
        }
    }

    pub fn of_value(value: &Value) -> Option<Self> {
        Peeked::of(value).name().map(Name::into_id)
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::from(&**text),
            Self::Other(json) => json::parse(json).unwrap_or_default(),
        }
    }
}

impl From<&str> for EntryId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl EntryKind {
    fn of(name: &str) -> Self {
        match name {
            "session" => Self::Session,
            "message" => Self::Message,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "model_change" => Self::ModelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            _ => Self::Unknown,
        }
    }
}

impl Head {
    fn of(glance: &Glance<'_>) -> Self {
        Self {
            kind: glance.kind(),
            id: glance.id().map(Name::into_id),
            parent: match &glance.parent {
                None => Parent::Unsaid,
                Some(_) => glance.parent().map_or(Parent::Root, |parent| Parent::Of(parent.into_id())),
            },
            made_up: false,
            time: glance.timestamp.as_ref().and_then(Peeked::time),
            role: glance.role(),
        }
    }
}

/// White space around JSON.
const JSON_SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// What is seen of a line without keeping anything of it.
pub(super) struct Glance<'j> {
    kind: Option<Peeked<'j>>,
    id: Option<Peeked<'j>>,
    parent: Option<Peeked<'j>>,
    timestamp: Option<Peeked<'j>>,
    message: Option<Peeked<'j>>,
}

/// What an entry is addressed by, where it is read; see [`EntryId`].
pub(super) enum Name<'j> {
    Text(&'j str),
    Other(String),
}

impl Glance<'_> {
    /// Looks at a line, if it holds a JSON object. All of it is checked.
    pub(super) fn at<T>(line: &str, look: impl Fn(&Glance<'_>) -> T) -> Option<T> {
        let readable = json::readable(line);
        let read = |source: &str| {
            let mut source = serde_json::Deserializer::from_str(source);
            let glance = source.deserialize_map(GlanceVisitor).ok()?;
            source.end().ok()?;
            Some(look(&glance))
        };
        read(&readable).or_else(|| read(&json::without_infinities(&readable)?))
    }

    pub(super) fn kind(&self) -> EntryKind {
        match &self.kind {
            Some(Peeked::Text(name)) => EntryKind::of(name),
            _ => EntryKind::Unknown,
        }
    }

    pub(super) fn id(&self) -> Option<Name<'_>> {
        self.id.as_ref().and_then(Peeked::name)
    }

    /// What the line says that it hangs from; `None` if it says that it is a root, or nothing.
    pub(super) fn parent(&self) -> Option<Name<'_>> {
        self.parent.as_ref().and_then(Peeked::name)
    }

    pub(super) fn role(&self) -> Option<Role> {
        match &self.message {
            Some(Peeked::Object { role }) => Some(*role),
            _ => None,
        }
    }
}

impl Name<'_> {
    pub(super) fn into_id(self) -> EntryId {
        match self {
            Self::Text(text) => EntryId::Text(text.into()),
            Self::Other(json) => EntryId::Other(json.into()),
        }
    }
}

/// The little of a JSON value that a head needs.
enum Peeked<'j> {
    Null,
    Flag(bool),
    Number(f64),
    Text(Cow<'j, str>),
    List,
    Object { role: Role },
}

impl<'j> Peeked<'j> {
    fn of(value: &'j Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Array(_) => Self::List,
            Value::Object(object) => Self::Object {
                role: object.get("role").and_then(Value::as_str).map_or(Role::Other, Role::from_text),
            },
        }
    }

    /// Empty text, zero and `false` name no entry, as null does not; and two lists or objects are never
    /// the same.
    fn name(&self) -> Option<Name<'_>> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(Name::Text(text)),
            Self::Number(number) if *number != 0.0 => Some(Name::Other(json::number_text(*number))),
            Self::Flag(true) => Some(Name::Other("true".to_owned())),
            _ => None,
        }
    }

    fn time(&self) -> Option<f64> {
        match self {
            Self::Text(text) => time::parse(text),
            Self::Number(number) => time::of_number(*number),
            Self::Null => Some(0.0),
            Self::Flag(flag) => Some(f64::from(u8::from(*flag))),
            Self::List | Self::Object { .. } => None,
        }
    }
}

/// Glances at an object and skips everything else; the last of two equal keys counts.
struct GlanceVisitor;

impl<'de> Visitor<'de> for GlanceVisitor {
    type Value = Glance<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a transcript entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Glance<'de>, A::Error> {
        let mut glance = Glance { kind: None, id: None, parent: None, timestamp: None, message: None };
        while let Some(field) = map.next_key::<Field>()? {
            let slot = match field {
                Field::Type => &mut glance.kind,
                Field::Id => &mut glance.id,
                Field::ParentId => &mut glance.parent,
                Field::Timestamp => &mut glance.timestamp,
                Field::Message => &mut glance.message,
                Field::Role | Field::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = Some(map.next_value::<Peeked<'de>>()?);
        }
        Ok(glance)
    }
}

enum Field {
    Type,
    Id,
    ParentId,
    Timestamp,
    Message,
    Role,
    Other,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl Visitor<'_> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: de::Error>(self, key: &str) -> Result<Field, E> {
                Ok(match key {
                    "type" => Field::Type,
                    "id" => Field::Id,
                    "parentId" => Field::ParentId,
                    "timestamp" => Field::Timestamp,
                    "message" => Field::Message,
                    "role" => Field::Role,
                    _ => Field::Other,
                })
            }
        }
        source.deserialize_identifier(FieldVisitor)
    }
}

impl<'de> Deserialize<'de> for Peeked<'de> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(PeekVisitor)
    }
}

struct PeekVisitor;

impl<'de> Visitor<'de> for PeekVisitor {
    type Value = Peeked<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Null)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Flag(flag))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript's numbers have no more precision")]
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Number(number as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "JavaScript's numbers have no more precision")]
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Number(number as f64))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Number(number))
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Peeked<'de>, E> {
        Ok(Peeked::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Peeked<'de>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Peeked::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Peeked<'de>, A::Error> {
        let mut role = Role::Other;
        while let Some(field) = map.next_key::<Field>()? {
            if let Field::Role = field {
                role = match map.next_value::<Peeked<'de>>()? {
                    Peeked::Text(name) => Role::from_text(&name),
                    _ => Role::Other,
                };
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Peeked::Object { role })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_from_any_object() {
        use EntryKind::{Label, Message, Unknown};
        //  line                                             kind     id          parent     role
        let table = [
            (
                r#"{"type":"message","id":"a","parentId":null,"message":{"content":[],"role":"user"}}"#,
                Message,
                Some("a"),
                None,
                Some(Role::User),
            ),
            (r#"{"type":"label","id":"a","id":"b","parentId":"a"}"#, Label, Some("b"), Some("a"), None),
            (r#"{"id":"\ud83d","parentId":""}"#, Unknown, Some("\u{10d83d}"), None, None),
            (r#"{"type":7,"id":null,"parentId":[1],"message":"m"}"#, Unknown, None, None, None),
            (r#"{"id":5,"parentId":6}"#, Unknown, None, None, None),
            (r#"{"message":{"role":3}}"#, Unknown, None, None, Some(Role::Other)),
        ];
        for (line, kind, id, parent, role) in table {
            let entry = Entry::parse(line).expect(line);
            assert_eq!(
                (entry.kind(), entry.id(), entry.parent_id(), entry.role()),
                (kind, id, parent, role),
                "{line}"
            );
            let Ok(Value::Object(object)) = json::parse(line) else { panic!("{line}") };
            let rebuilt = Entry::from_object(object);
            assert_eq!(rebuilt.head, entry.head, "{line}");
        }
    }

    #[test]
    fn only_whole_objects_are_entries() {
        for line in [
            "",
            "null",
            "3",
            "[]",
            "\"x\"",
            "{",
            "{}}",
            "{\"a\":\"\\u12\"}",
            "{\"type\":\"message\",\"id\":\"aa",
        ] {
            assert_eq!(Entry::parse(line), None, "{line}");
        }
    }

    #[test]
    fn numbers_address_by_value_and_never_by_spelling() {
        let id = |line: &str| Entry::parse(line).and_then(|entry| entry.key().cloned());
        assert_eq!(id(r#"{"id":5}"#), id(r#"{"id":5.0}"#));
        assert_ne!(id(r#"{"id":5}"#), id(r#"{"id":"5"}"#));
        for nobody in [r#"{"id":0}"#, r#"{"id":""}"#, r#"{"id":{}}"#, r#"{"id":false}"#, "{}"] {
            assert_eq!(id(nobody), None, "{nobody}");
        }
    }

    #[test]
    fn a_line_without_id_gets_the_same_one_at_every_reading() {
        let settled = |position| {
            let mut entry = Entry::parse(r#"{"type":"message","message":{}}"#).expect("an object");
            entry.settle(position, Some(&"before".into()), false);
            entry
        };
        assert_eq!(settled(3), settled(3));
        assert_ne!(settled(3).id(), settled(4).id());
        assert_eq!(settled(3).parent_id(), Some("before"));
        assert_eq!(settled(3).line(), r#"{"type":"message","message":{}}"#);
        let moved = Entry::parse(&settled(3).portable_line()).expect("an object");
        assert_eq!((moved.id(), moved.parent_id()), (settled(3).id(), Some("before")));
    }
}
