//! Words of a choice that are kept as they are written.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use yabby_base::json::Value;

use crate::read::{Read, Reading};

/// A word of the choice `T`, as it is written: for rules that understand more spellings than the check lets through, or
/// that refuse a word which is none of the choice.
#[derive(Clone, Debug)]
pub struct Word<T> {
    written: String,
    choice: PhantomData<T>,
}

impl<T> Default for Word<T> {
    fn default() -> Self {
        Self { written: String::new(), choice: PhantomData }
    }
}

impl<T> Word<T> {
    pub fn as_str(&self) -> &str {
        &self.written
    }
}

impl<T> PartialEq for Word<T> {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl<T> Read for Word<T> {
    /// What is no text is kept as it is written, too: it is none of the choice.
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        let written = match value {
            Value::String(text) => text.clone(),
            other => {
                reading.wrong::<()>("a word");
                other.to_string()
            }
        };
        Some(Self { written, choice: PhantomData })
    }
}

impl<T: JsonSchema> JsonSchema for Word<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
