//! Null where it is not the same as nothing.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use yabby_base::json::Value;

use crate::read::{Read, Reading, Shape};

/// A value, or a null that hides what is said elsewhere. The check refuses it.
#[derive(Clone, Debug, PartialEq)]
pub enum OrNull<T> {
    Null,
    Value(T),
}

impl<T> OrNull<T> {
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Null => None,
            Self::Value(value) => Some(value),
        }
    }
}

impl<T: Read> Read for OrNull<T> {
    const TAKES_NULL: bool = true;

    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        if value.is_null() { Some(Self::Null) } else { T::read(value, reading).map(Self::Value) }
    }

    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: JsonSchema> JsonSchema for OrNull<T> {
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
