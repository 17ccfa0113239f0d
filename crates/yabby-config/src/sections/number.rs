//! Numbers with bounds.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

macro_rules! numbers {
    ($($(#[$doc:meta])+ $name:ident($inner:ty): $schema:tt;)+) => {$(
        $(#[$doc])+
        pub struct $name(pub $inner);

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
    Number(f64): { "type": "number" };
    /// A number above zero.
    PositiveNumber(f64): { "type": "number", "exclusiveMinimum": 0 };
    /// Zero or more.
    NonNegativeNumber(f64): { "type": "number", "minimum": 0 };
    /// A share, from none to all.
    Fraction(f64): { "type": "number", "minimum": 0, "maximum": 1 };
    /// A whole number above zero.
    PositiveInteger(u64): { "type": "integer", "exclusiveMinimum": 0 };
    /// A whole number, zero or more.
    NonNegativeInteger(u64): { "type": "integer", "minimum": 0 };
    /// A whole number, one or more; told apart from [`PositiveInteger`] in messages only.
    IntegerFromOne(u64): { "type": "integer", "minimum": 1 };
    /// An hour of the day.
    Hour(u8): { "type": "integer", "minimum": 0, "maximum": 23 };
    /// A port.
    Port(u16): { "type": "integer", "minimum": 1, "maximum": 65535 };
    /// A time to wait: one second to two minutes, in milliseconds.
    TimeoutMs(u32): { "type": "integer", "minimum": 1000, "maximum": 120_000 };
}
