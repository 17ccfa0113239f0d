//! Changing the text of a configuration: what is not changed stays as it is written, comments included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{
    CstArray, CstContainerNode, CstInputValue, CstLeafNode, CstNode, CstObject, CstObjectProp, CstRootNode,
};
use jsonc_parser::errors::ParseError;
use yabby_config::key_path::Step;
use yabby_domain::json::{self, Value};

/// JSON5, as far as it can be said.
pub(super) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: true,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: true,
    allow_hexadecimal_numbers: true,
    allow_unary_plus_numbers: true,
    allow_bare_decimal_point_numbers: true,
    allow_non_finite_numbers: true,
    allow_extended_string_escapes: true,
};

/// A text that is being changed.
pub(super) struct Text {
    root: CstRootNode,
    has_mark: bool,
}

impl Text {
    /// There is JSON5 that cannot be changed in place, such as `{a/* … */: 1}`.
    pub(super) fn parse(text: &str) -> Result<Self, ParseError> {
        let unmarked = text.strip_prefix('\u{feff}');
        let root = CstRootNode::parse(unmarked.unwrap_or(text), &OPTIONS)?;
        Ok(Self { root, has_mark: unmarked.is_some() })
    }

    /// Puts a value at the end of these steps; what is missing on the way is made.
    pub(super) fn set(&self, steps: &[Step], value: &Value) {
        let Some((last, above)) = steps.split_last() else { return };
        let mut holder = Holder::Object(self.root.object_value_or_set());
        for (step, next) in above.iter().zip(steps.iter().skip(1)) {
            holder = match holder.child(step).and_then(Holder::of) {
                Some(holder) => holder,
                None => {
                    holder.put(
                        step,
                        match next {
                            Step::Key(_) => CstInputValue::Object(vec![]),
                            Step::Index(_) => CstInputValue::Array(vec![]),
                        },
                    );
                    match holder.child(step).and_then(Holder::of) {
                        Some(holder) => holder,
                        None => return,
                    }
                }
            };
        }
        holder.put(last, input(value));
    }

    /// Removes what is at the end of these steps.
    pub(super) fn remove(&self, steps: &[Step]) {
        let Some((last, above)) = steps.split_last() else { return };
        let root = self.root.object_value().map(Holder::Object);
        let holder = above.iter().fold(root, |holder, step| holder?.child(step).and_then(Holder::of));
        match (holder, last) {
            (Some(Holder::Object(object)), Step::Key(key)) => {
                // A key that is written twice is gone only when both are.
                for member in members(&object, key) {
                    member.remove();
                }
            }
            (Some(holder @ Holder::List(_)), step) => {
                if let Some(element) = holder.child(step) {
                    element.remove();
                }
            }
            _ => {}
        }
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.has_mark {
            f.write_str("\u{feff}")?;
        }
        let text = self.root.to_string();
        f.write_str(&text)?;
        // The reference ends its files so.
        if text.ends_with('\n') { Ok(()) } else { f.write_str("\n") }
    }
}

enum Holder {
    Object(CstObject),
    List(CstArray),
}

impl Holder {
    fn of(node: CstNode) -> Option<Self> {
        node.as_object().map(Self::Object).or_else(|| node.as_array().map(Self::List))
    }

    fn child(&self, step: &Step) -> Option<CstNode> {
        match (self, step) {
            (Self::Object(object), Step::Key(key)) => members(object, key).pop()?.value(),
            (Self::List(list), Step::Index(index)) => list.elements().into_iter().nth(*index),
            _ => None,
        }
    }

    fn put(&self, step: &Step, value: CstInputValue) {
        match (self, step) {
            (Self::Object(object), Step::Key(key)) => match members(object, key).pop() {
                Some(member) => member.set_value(value),
                None => _ = object.append(key, value),
            },
            (Self::List(list), Step::Index(_)) => match self.child(step) {
                Some(old) => replace(old, value),
                None => _ = list.append(value),
            },
            // The steps were found in this very text.
            (Self::Object(_), Step::Index(_)) | (Self::List(_), Step::Key(_)) => {}
        }
    }
}

/// Puts a value in the place of an element, between the comments around it.
fn replace(element: CstNode, value: CstInputValue) {
    let replaced = match element {
        CstNode::Container(CstContainerNode::Object(object)) => object.replace_with(value),
        CstNode::Container(CstContainerNode::Array(list)) => list.replace_with(value),
        CstNode::Leaf(CstLeafNode::BooleanLit(leaf)) => leaf.replace_with(value),
        CstNode::Leaf(CstLeafNode::NullKeyword(leaf)) => leaf.replace_with(value),
        CstNode::Leaf(CstLeafNode::NumberLit(leaf)) => leaf.replace_with(value),
        CstNode::Leaf(CstLeafNode::StringLit(leaf)) => leaf.replace_with(value),
        CstNode::Leaf(CstLeafNode::WordLit(leaf)) => leaf.replace_with(value),
        // Nothing else is an element.
        CstNode::Container(_) | CstNode::Leaf(_) => None,
    };
    debug_assert!(replaced.is_some(), "an element is replaced");
}

/// The members of an object under a key; the last one counts.
fn members(object: &CstObject, key: &str) -> Vec<CstObjectProp> {
    let is_called = |member: &CstObjectProp| member.decoded_name().is_some_and(|name| name == key);
    object.properties().into_iter().filter(is_called).collect()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(_) => CstInputValue::Number(json::stringify(value)),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(object) => {
            CstInputValue::Object(object.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &str) -> Vec<Step> {
        let step = |part: &str| part.parse().map_or_else(|_| Step::Key(part.to_owned()), Step::Index);
        path.split('.').map(step).collect()
    }

    #[test]
    fn only_what_is_set_changes() {
        //  text                                path    value     text afterwards
        let table = [
            ("{\"a\":1}\n", "a", "2", "{\"a\":2}\n"),
            (
                "// c\n{\n  a: 1, // one\n  'b': [1, /* x */ 0x2,],\n}\n",
                "b.1",
                "3",
                "// c\n{\n  a: 1, // one\n  'b': [1, /* x */ 3,],\n}\n",
            ),
            (
                "{\n  \"a\": 1 // one\n}\n",
                "b.c",
                "\"x\"",
                "{\n  \"a\": 1, // one\n  \"b\": {\n    \"c\": \"x\"\n  }\n}\n",
            ),
            ("{\n\ta: {},\n}", "a.b", "true", "{\n\ta: {\n\t\t\"b\": true\n\t},\n}\n"),
            ("{}", "l.0", "{\"id\":1}", "{\n  \"l\": [\n    {\n      \"id\": 1\n    }\n  ]\n}\n"),
            ("{a: 1, a: 2}\n", "a", "3", "{a: 1, a: 3}\n"),
            ("{a: 's'}\n", "a.b", "1", "{a: {\n    \"b\": 1\n  }}\n"),
            ("\u{feff}{a: 1}\n", "a", "null", "\u{feff}{a: null}\n"),
            ("{l: [1]}\n", "l.1", "2", "{l: [1, 2]}\n"),
        ];
        for (text, path, value, expected) in table {
            let edited = Text::parse(text).unwrap();
            edited.set(&steps(path), &json::parse(value).unwrap());
            assert_eq!(edited.to_string(), expected, "{text:?} {path}");
        }
    }

    #[test]
    fn what_is_removed_takes_its_comma_along() {
        let table = [
            ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "b", "{\n  \"a\": 1\n}\n"),
            ("{\n  \"a\": 1,\n  \"b\": 2\n}\n", "a", "{\n  \"b\": 2\n}\n"),
            (
                "{\n  // kept\n  a: 1, // goes\n  b: {c: 1}, // stays\n}\n",
                "a",
                "{\n  // kept\n  b: {c: 1}, // stays\n}\n",
            ),
            ("{b: {c: 1}}\n", "b.c", "{b: {}}\n"),
            ("{b: [1, 2, 3]}\n", "b.1", "{b: [1, 3]}\n"),
            ("{b: [1]}\n", "b.0", "{b: []}\n"),
            ("{a: 1, a: 2}\n", "a", "{}\n"),
            ("{a: 1}\n", "x.y", "{a: 1}\n"),
        ];
        for (text, path, expected) in table {
            let edited = Text::parse(text).unwrap();
            edited.remove(&steps(path));
            assert_eq!(edited.to_string(), expected, "{text:?} {path}");
        }
    }
}
