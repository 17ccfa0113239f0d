//! Limits as the reference's language compares with them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use yabby_base::json::{self, Value};

use crate::read::{Read, Reading};
use crate::sections::number::NonNegativeInteger;

/// A limit: a text counts as the number in it, and what is no number limits nothing, whatever is said elsewhere. The check
/// lets whole numbers through alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit(Option<f64>);

impl Limit {
    pub fn number(self) -> Option<f64> {
        self.0
    }
}

impl Read for Limit {
    const TAKES_NULL: bool = true;

    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => json::number_in(text),
            Value::Bool(true) => Some(1.0),
            _ => None,
        };
        if !value.is_number() {
            reading.wrong::<()>("a number");
        }
        Some(Self(number))
    }
}

impl JsonSchema for Limit {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        NonNegativeInteger::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        NonNegativeInteger::json_schema(generator)
    }
}
