//! `#[section]`: makes a type a section of the configuration.
//!
//! On a struct it derives the JSON Schema and lenient reading, and takes from each field's `#[config(…)]`
//! - `default = …`: what holds where nothing is written. The doc line says so, and a method of the field's name gives the
//!   value or the default. A number, a flag, a text, or a variant of the field's choice. With `filled` the check puts it
//!   into a section that lacks it.
//! - `live`, `channel` or `restart`: what a change of it needs, for it and all below; else what its parent says.
//! - `group = "Label" @ 30`: how pages show a part, and where.
//! - `always`, `open`, `closed`: how the check walks it, where the struct is `#[section(parts)]`.
//! - `whole`: the section once more, read as another type; no part of its schema.
//! - `or_default`: a key that must be there counts as empty where it is not.
//!
//! A bare field is required: without it the section is none. With `#[serde(default)]` it is a section that is there even
//! where nobody wrote it. On an enum it derives the JSON Schema and reading: by the words of its variants, or (`untagged`) by the first variant that fits.

mod choice;
mod field;
mod section;

use proc_macro::TokenStream;
use syn::{Item, parse_macro_input};

#[proc_macro_attribute]
pub fn section(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(arguments as section::Options);
    let expanded = match parse_macro_input!(item as Item) {
        Item::Struct(item) => section::expand(&options, item),
        Item::Enum(item) => choice::expand(item),
        other => Err(syn::Error::new_spanned(other, "a section is a struct or an enum")),
    };
    expanded.unwrap_or_else(|error| error.into_compile_error()).into()
}
