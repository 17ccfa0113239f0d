//! The part of a record that a list of sessions shows or searches (`cli.md` §2).
//!
//! A list may hold thousands of records, and most of what is in one (prompts, snapshots of skills) is of
//! no interest to it. So only these fields are taken out of a record's text; the rest is skipped.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

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
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glance([Option<Scalar>; Field::ALL.len()]);

/// A value that is hardly ever a list or an object: a third of the size of one that may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    Null,
    Flag(bool),
    Number(Number),
    Text(Box<str>),
    Other(Box<Value>),
}

impl Scalar {
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    pub fn as_list(&self) -> Option<&[Value]> {
        if let Self::Other(value) = self { value.as_array().map(Vec::as_slice) } else { None }
    }

    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Flag(flag) => *flag,
            Self::Number(number) => number.as_f64().is_some_and(|number| number != 0.0 && !number.is_nan()),
            Self::Text(text) => !text.is_empty(),
            Self::Other(_) => true,
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Flag(flag) => Value::Bool(*flag),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::from(&**text),
            Self::Other(value) => Value::clone(value),
        }
    }
}

impl From<&Value> for Scalar {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text.as_str().into()),
            Value::Array(_) | Value::Object(_) => Self::Other(Box::new(value.clone())),
        }
    }
}

impl Glance {
    /// Looks at the text of a record; `None` if it is no record.
    pub fn at(text: &str) -> Option<Self> {
        // A record that the quick way does not take may still be one.
        serde_json::from_str(&json::readable(text)).ok().or_else(|| match json::parse(text).ok()? {
            Value::Object(object) => Some(Self::of(&SessionEntry::new(object))),
            _ => None,
        })
    }

    pub fn of(entry: &SessionEntry) -> Self {
        Self(Field::ALL.map(|field| entry.get(field.name()).map(Scalar::from)))
    }

    pub fn get(&self, field: Field) -> Option<&Scalar> {
        self.0.get(field as usize)?.as_ref()
    }

    pub fn text(&self, field: Field) -> Option<&str> {
        self.get(field)?.as_str()
    }

    pub fn number(&self, field: Field) -> Option<f64> {
        self.get(field)?.as_f64()
    }

    /// All that the session is called by its person.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let further = self.get(Field::Labels).and_then(Scalar::as_list).unwrap_or_default();
        self.text(Field::Label).into_iter().chain(further.iter().filter_map(Value::as_str))
    }
}

impl<'t> Deserialize<'t> for Glance {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_map(GlanceVisitor)
    }
}

struct GlanceVisitor;

impl<'t> Visitor<'t> for GlanceVisitor {
    type Value = Glance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a session record")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Glance, A::Error> {
        let mut glance = Glance::default();
        while let Some(name) = map.next_key::<Name>()? {
            match name.0.and_then(|field| glance.0.get_mut(field as usize)) {
                Some(place) => *place = Some(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(glance)
    }
}

impl<'t> Deserialize<'t> for Scalar {
    fn deserialize<D: Deserializer<'t>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'t> Visitor<'t> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Null)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Scalar, E> {
        Ok(Scalar::Flag(flag))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.into()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Number::from_f64(number).map_or(Scalar::Null, Scalar::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, list: A) -> Result<Scalar, A::Error> {
        let list = Value::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Scalar::Other(Box::new(list)))
    }

    fn visit_map<A: MapAccess<'t>>(self, map: A) -> Result<Scalar, A::Error> {
        let object = Value::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Scalar::Other(Box::new(object)))
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

    #[test]
    fn a_glance_sees_what_the_whole_record_says() {
        let records = [
            r#"{"sessionId":"s","updatedAt":7,"skillsSnapshot":{"prompt":"long"},"label":"a","labels":["b",3]}"#,
            r#"{"sessionId":"\ud83d","model":null,"totalTokens":"many","model":"twice"}"#,
            "{}",
        ];
        for record in records {
            let Ok(Value::Object(object)) = json::parse(record) else { panic!("{record}") };
            assert_eq!(Glance::at(record), Some(Glance::of(&SessionEntry::new(object))), "{record}");
        }
        let glance = Glance::at(records[0]).unwrap();
        assert_eq!(glance.labels().collect::<Vec<_>>(), ["a", "b"]);
        for other in ["null", "[]", "7", "{"] {
            assert_eq!(Glance::at(other), None, "{other}");
        }
    }
}
