//! Texts that are not any text.

use schemars::JsonSchema;

use crate::sections::number::Number;

/// A name, number or id: platforms write them either way.
#[derive(JsonSchema)]
#[serde(untagged)]
pub enum TextOrNumber {
    Text(String),
    Number(Number),
}

/// Text that is not empty.
#[derive(JsonSchema)]
#[schemars(inline)]
pub struct NonEmptyText(#[schemars(length(min = 1))] pub String);

/// A colour as six hexadecimal digits, with or without `#`.
#[derive(JsonSchema)]
pub struct HexColor(#[schemars(regex(pattern = r"^#?[0-9a-fA-F]{6}$"))] pub String);

/// The name of a program or the path to it; no shell syntax.
#[derive(JsonSchema)]
pub struct Executable(pub String);
