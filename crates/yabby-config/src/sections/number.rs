//! Numbers with bounds. The check knows the bounds; whatever number is written is read.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use yabby_base::json::Value;

use crate::read::{Read, Reading};

macro_rules! numbers {
    ($($(#[$doc:meta])+ $name:ident: $schema:tt;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name(f64);

        impl From<$name> for f64 {
            fn from(number: $name) -> Self {
                number.0
            }
        }

        impl Read for $name {
            fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
                value.as_f64().map(Self).or_else(|| reading.wrong("a number"))
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

numbers! {
    /// Any number.
    Number: { "type": "number" };
    /// A number above zero.
    PositiveNumber: { "type": "number", "exclusiveMinimum": 0 };
    /// Zero or more.
    NonNegativeNumber: { "type": "number", "minimum": 0 };
    /// A share, from none to all.
    Fraction: { "type": "number", "minimum": 0, "maximum": 1 };
    /// A whole number above zero.
    PositiveInteger: { "type": "integer", "exclusiveMinimum": 0 };
    /// A whole number, zero or more.
    NonNegativeInteger: { "type": "integer", "minimum": 0 };
    /// A whole number, one or more; told apart from [`PositiveInteger`] in messages only.
    IntegerFromOne: { "type": "integer", "minimum": 1 };
    /// An hour of the day.
    Hour: { "type": "integer", "minimum": 0, "maximum": 23 };
    /// A port.
    Port: { "type": "integer", "minimum": 1, "maximum": 65535 };
    /// A time to wait: one second to two minutes, in milliseconds.
    TimeoutMs: { "type": "integer", "minimum": 1000, "maximum": 120_000 };
}
