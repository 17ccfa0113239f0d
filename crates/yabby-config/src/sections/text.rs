//! Texts that are not any text.

use yabby_config_derive::section;

use crate::sections::number::Number;

/// A name, number or id: platforms write them either way.
#[section]
#[serde(untagged)]
pub enum TextOrNumber {
    Text(String),
    Number(Number),
}

/// Text that is not empty.
#[section]
#[schemars(inline)]
pub struct NonEmptyText(#[schemars(length(min = 1))] pub String);

/// A colour as six hexadecimal digits, with or without `#`.
#[section]
pub struct HexColor(#[schemars(regex(pattern = r"^#?[0-9a-fA-F]{6}$"))] pub String);

/// The name of a program or the path to it; no shell syntax.
#[section]
pub struct Executable(pub String);
