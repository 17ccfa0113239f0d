//! What a model wrote as the arguments of a call.
//!
//! Models are lax about types: a number may come as text, a flag as `"true"`.

use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a>(pub(crate) &'a Object);

impl<'a> Arguments<'a> {
    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    /// A text that has to be there, and not blank.
    pub(crate) fn required(self, name: &str) -> Result<&'a str, String> {
        self.text(name).and_then(text::non_blank).ok_or_else(|| format!("{name} required"))
    }

    /// `path`; models that were trained on other tools call it `file_path`.
    pub(crate) fn path(self) -> Option<&'a str> {
        self.text("path").or_else(|| self.text("file_path")).and_then(text::non_blank)
    }

    pub(crate) fn number(self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(written) => text::non_blank(written).and_then(json::number_in),
            _ => None,
        }
    }

    /// A whole number from `least` on; smaller ones are `least`.
    pub(crate) fn count(self, name: &str, least: usize) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        self.number(name).map(|number| (number.trunc() as usize).max(least))
    }

    /// A list of texts; one alone may stand without a list.
    pub(crate) fn texts(self, name: &str) -> Vec<&'a str> {
        match self.0.get(name) {
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).filter_map(text::non_blank).collect()
            }
            Some(Value::String(one)) => text::non_blank(one).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn flag(self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(written)) => text::trim(written).eq_ignore_ascii_case("true"),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_and_flags_may_come_as_text() {
        let given = json!({"a": 3, "b": " 4 ", "c": "x", "d": -2, "e": "true", "f": 2.9, "g": 1e300});
        let arguments = Arguments(given.as_object().unwrap());
        //  name  count
        let table = [
            ("a", Some(3)),
            ("b", Some(4)),
            ("c", None),
            ("d", Some(1)),
            ("e", None),
            ("f", Some(2)),
            ("g", Some(usize::MAX)),
            ("missing", None),
        ];
        for (name, count) in table {
            assert_eq!(arguments.count(name, 1), count, "{name}");
        }
        assert!(arguments.flag("e") && !arguments.flag("a"));
        assert_eq!(arguments.required("c"), Ok("x"));
        assert_eq!(arguments.required("missing").unwrap_err(), "missing required");
    }
}
