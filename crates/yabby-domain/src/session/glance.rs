//! The part of a record that a list of sessions shows or searches (`cli.md` §2).
//!
//! A list may hold thousands of records, and most of what is in one (prompts, snapshots of skills) is of
//! no interest to it. So only these fields are taken out of a record's text; the rest is skipped.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::{self, Value};
use crate::session::entry::SessionEntry;

macro_rules! fields {
    ($($field:ident $name:literal)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $($field),* }

        impl Field {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$field),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$field => $name),* }
            }

            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$field),)* _ => None }
            }
        }
    };
}

fields! {
    SessionId "sessionId"
    UpdatedAt "updatedAt"
    ChatType "chatType"
    SystemSent "systemSent"
    AbortedLastRun "abortedLastRun"
    ThinkingLevel "thinkingLevel"
    VerboseLevel "verboseLevel"
    ReasoningLevel "reasoningLevel"
    ElevatedLevel "elevatedLevel"
    ResponseUsage "responseUsage"
    GroupActivation "groupActivation"
    InputTokens "inputTokens"
    OutputTokens "outputTokens"
    TotalTokens "totalTokens"
    Model "model"
    ContextTokens "contextTokens"
    Label "label"
    Labels "labels"
    DisplayName "displayName"
    Subject "subject"
    SpawnedBy "spawnedBy"
    SessionFile "sessionFile"
    Channel "channel"
    GroupChannel "groupChannel"
    Space "space"
    Origin "origin"
}

/// Where the fields stand in a text. Nothing is copied out of it before somebody asks.
#[derive(Clone, Debug)]
pub struct Glance {
    text: Arc<String>,
    /// What the places are counted from.
    start: usize,
    places: Places,
}

/// Beginning and end of each value; both are 0 where there is none.
type Places = [(u32, u32); Field::ALL.len()];

impl Glance {
    /// Looks at the record that is this part of a text; `None` if it is none.
    pub fn at(text: &Arc<String>, place: Range<usize>) -> Option<Self> {
        let record = text.get(place.clone())?;
        Some(match json::readable(record) {
            Cow::Borrowed(record) => {
                Self { places: places_in(record)?, text: text.clone(), start: place.start }
            }
            Cow::Owned(readable) => {
                Self { places: places_in(&readable)?, text: Arc::new(readable), start: 0 }
            }
        })
    }

    /// The same of a record that was parsed already.
    pub fn of(entry: &SessionEntry) -> Self {
        let mut text = String::new();
        let mut places = Places::default();
        for (field, place) in Field::ALL.iter().zip(&mut places) {
            if let Some(value) = entry.get(field.name()) {
                let start = text.len();
                text.push_str(&value.to_string());
                *place = (offset(start), offset(text.len()));
            }
        }
        Self { text: Arc::new(text), start: 0, places }
    }

    /// The JSON text of a field.
    pub fn raw(&self, field: Field) -> Option<&str> {
        let (from, to) = *self.places.get(field as usize)?;
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        self.text.get(self.start + from..self.start + to).filter(|raw| !raw.is_empty())
    }

    pub fn value(&self, field: Field) -> Option<Value> {
        // It was made readable as a whole, and must not be once more. What is too large is null.
        Some(serde_json::from_str(self.raw(field)?).unwrap_or_default())
    }

    pub fn text(&self, field: Field) -> Option<Cow<'_, str>> {
        let raw = self.raw(field)?;
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        if inner.contains('\\') {
            return serde_json::from_str(raw).ok().map(Cow::Owned);
        }
        Some(Cow::Borrowed(inner))
    }

    pub fn number(&self, field: Field) -> Option<f64> {
        self.raw(field)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether a field says anything, as JavaScript has it.
    pub fn is_truthy(&self, field: Field) -> bool {
        match self.raw(field) {
            None | Some("null" | "false" | "\"\"") => false,
            Some(raw) => raw.parse() != Ok(0.0),
        }
    }

    /// All that the session is called by its person.
    pub fn labels(&self) -> Vec<String> {
        let further = match self.value(Field::Labels) {
            Some(Value::Array(labels)) => labels,
            _ => Vec::new(),
        };
        let further = further.into_iter().filter_map(|label| match label {
            Value::String(label) => Some(label),
            _ => None,
        });
        self.text(Field::Label).map(Cow::into_owned).into_iter().chain(further).collect()
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(0)
}

/// Where the fields stand in the text of a record.
fn places_in(record: &str) -> Option<Places> {
    // More than four gigabytes are no record.
    u32::try_from(record.len()).ok()?;
    let Looked(found) = serde_json::from_str(record).ok()?;
    // A part of a text begins as far behind its beginning as their addresses are apart.
    let place = |raw: &RawValue| {
        let start = raw.get().as_ptr().addr() - record.as_ptr().addr();
        (offset(start), offset(start + raw.get().len()))
    };
    Some(found.map(|raw| raw.map(place).unwrap_or_default()))
}

/// The texts of the fields of a record.
struct Looked<'t>([Option<&'t RawValue>; Field::ALL.len()]);

impl<'t> Deserialize<'t> for Looked<'t> {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(LookedVisitor)
    }
}

struct LookedVisitor;

impl<'t> Visitor<'t> for LookedVisitor {
    type Value = Looked<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session record")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Looked<'t>, A::Error> {
        let mut looked = Looked([None; Field::ALL.len()]);
        while let Some(name) = map.next_key::<Name>()? {
            match name.0.and_then(|field| looked.0.get_mut(field as usize)) {
                Some(place) => *place = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(looked)
    }
}

/// The name of a field, without a copy of it.
struct Name(Option<Field>);

impl<'t> Deserialize<'t> for Name {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(Field::named(name)))
            }
        }
        source.deserialize_str(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(record: &str) -> Option<Glance> {
        let text = Arc::new(format!("before {record} behind"));
        Glance::at(&text, 7..7 + record.len())
    }

    #[test]
    fn a_glance_sees_what_the_whole_record_says() {
        let records = [
            r#"{"sessionId":"s","updatedAt":7,"skillsSnapshot":{"prompt":"long"},"label":"a","labels":["b",3]}"#,
            r#"{"sessionId":"\ud83d","model":null,"totalTokens":"many","model":"tw\\ice","label":""}"#,
            r#"{ "updatedAt" : 1.5e3 , "systemSent":false,"abortedLastRun":true}"#,
            "{}",
        ];
        for record in records {
            let Ok(Value::Object(object)) = json::parse(record) else { panic!("{record}") };
            let entry = SessionEntry::new(object);
            for glance in [at(record).unwrap(), Glance::of(&entry)] {
                for field in Field::ALL {
                    let value = entry.get(field.name());
                    assert_eq!(glance.value(field).as_ref(), value, "{record} {field:?}");
                    assert_eq!(
                        glance.text(field).as_deref(),
                        value.and_then(Value::as_str),
                        "{record} {field:?}"
                    );
                    assert_eq!(glance.number(field), value.and_then(Value::as_f64), "{record} {field:?}");
                    assert_eq!(
                        glance.is_truthy(field),
                        value.is_some_and(json::truthy),
                        "{record} {field:?}"
                    );
                }
            }
        }
        assert_eq!(at(records[0]).unwrap().labels(), ["a", "b"]);
        for other in ["null", "[]", "7", "{"] {
            assert!(at(other).is_none(), "{other}");
        }
    }
}
