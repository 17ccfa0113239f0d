//! Texts that are not any text.

use std::borrow::Cow;
use std::ops::Deref;

use yabby_base::json::{self, Value};
use yabby_config_derive::section;

use crate::sections::number::Number;

/// A name, number or id: platforms write them either way.
#[section]
#[serde(untagged)]
pub enum TextOrNumber {
    Text(String),
    Number(Number),
}

impl TextOrNumber {
    /// As text: a number as it prints.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Number(number) => json::number_text((*number).into()).into(),
        }
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => json::number((*number).into()),
        }
    }
}

/// Text that is not empty.
#[section]
#[schemars(inline)]
pub struct NonEmptyText(#[schemars(length(min = 1))] pub String);

impl Deref for NonEmptyText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A colour as six hexadecimal digits, with or without `#`.
#[section]
pub struct HexColor(#[schemars(regex(pattern = r"^#?[0-9a-fA-F]{6}$"))] pub String);

/// The name of a program or the path to it; no shell syntax.
#[section]
pub struct Executable(pub String);
