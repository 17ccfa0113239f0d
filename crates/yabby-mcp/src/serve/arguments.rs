//! What a program calls a tool with. Numbers may come as text, as models write them; anything else that
//! does not fit is refused, and said.

use yabby_domain::json::{self, Object, Value};
use yabby_domain::text;

#[derive(Clone, Copy)]
pub(super) struct Arguments<'a>(pub(super) &'a Object);

impl<'a> Arguments<'a> {
    /// Blank is as good as nothing.
    pub(super) fn text(self, name: &str) -> Result<Option<&'a str>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(said)) => Ok(text::non_blank(said)),
            Some(_) => Err(format!("{name} has to be a text")),
        }
    }

    pub(super) fn required(self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("{name} is required"))
    }

    pub(super) fn number(self, name: &str) -> Result<Option<f64>, String> {
        let unfit = || format!("{name} has to be a number");
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => number.as_f64().map(Some).ok_or_else(unfit),
            Some(Value::String(written)) => match text::non_blank(written) {
                Some(written) => json::number_in(written).map(Some).ok_or_else(unfit),
                None => Ok(None),
            },
            Some(_) => Err(unfit()),
        }
    }

    /// How many, from one to `most`.
    pub(super) fn count(self, name: &str, usual: usize, most: usize) -> Result<usize, String> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let whole = |number: f64| (number.trunc() as usize).clamp(1, most);
        Ok(self.number(name)?.map_or(usual, whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_said() {
        let given = json!({
            "a": 3, "b": " 4 ", "c": "x", "d": -2, "e": 1e300, "f": null, "g": [], "h": " ", "i": 2.9,
        });
        let arguments = Arguments(given.as_object().unwrap());
        let unfit = |name: &str| Err(format!("{name} has to be a number"));
        //  name  count
        let table = [
            ("a", Ok(3)),
            ("b", Ok(4)),
            ("c", unfit("c")),
            ("d", Ok(1)),
            ("e", Ok(50)),
            ("f", Ok(10)),
            ("g", unfit("g")),
            ("h", Ok(10)),
            ("i", Ok(2)),
            ("missing", Ok(10)),
        ];
        for (name, count) in table {
            assert_eq!(arguments.count(name, 10, 50), count, "{name}");
        }
        assert_eq!(arguments.required("c"), Ok("x"));
        assert_eq!(arguments.required("h"), Err("h is required".to_owned()));
        assert_eq!(arguments.text("a"), Err("a has to be a text".to_owned()));
        assert_eq!(arguments.text("f"), Ok(None));
    }
}
