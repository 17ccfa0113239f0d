//! Where in a text a value stands.

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};
use yabby_config::include::{Resolved, Traced};
use yabby_config::issue::Issue;
use yabby_config::key_path::Step;

use super::text::OPTIONS;

/// The value that an issue is about, as far down as there is one.
pub(super) fn traced<'r>(resolved: &'r Resolved, issue: &Issue) -> &'r Traced {
    let mut traced = &resolved.root;
    let segments: Vec<&str> = issue.path.split('.').filter(|segment| !segment.is_empty()).collect();
    let mut rest = segments.as_slice();
    // A key may hold dots itself.
    while let Some((count, child)) =
        (1..=rest.len()).find_map(|count| Some((count, traced.child(&rest[..count].join("."))?)))
    {
        traced = child;
        rest = &rest[count..];
    }
    // An unknown key is told with the object that holds it.
    let unknown = issue.message.strip_prefix("Unrecognized key").and_then(|keys| keys.split('"').nth(1));
    unknown.and_then(|key| traced.child(key)).unwrap_or(traced)
}

/// The value at the end of these steps, as far down as there is one.
pub(super) fn follow<'r>(root: &'r Traced, steps: &[Step]) -> &'r Traced {
    let mut traced = root;
    for step in steps {
        let child = match step {
            Step::Key(key) => traced.child(key),
            Step::Index(index) => traced.child(&index.to_string()),
        };
        let Some(child) = child else { break };
        traced = child;
    }
    traced
}

/// The line of a value or, if it has one, of its key; the first line is 1. `None` if the text cannot be
/// read that way.
pub(super) fn line_at(text: &str, steps: &[Step]) -> Option<usize> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let text = &text[mark..];
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?;
    let mut value = parsed.value.as_ref()?;
    let mut start = value.range().start;
    for step in steps {
        match (value, step) {
            (Value::Object(object), Step::Key(key)) => {
                let Some(member) = object.properties.iter().rev().find(|member| is_called(member, key))
                else {
                    break;
                };
                (value, start) = (&member.value, member.range.start);
            }
            (Value::Array(array), Step::Index(index)) => {
                let Some(element) = array.elements.get(*index) else { break };
                (value, start) = (element, element.range().start);
            }
            _ => break,
        }
    }
    Some(text.get(..start)?.matches('\n').count() + 1)
}

fn is_called(member: &ObjectProp<'_>, key: &str) -> bool {
    member.name.as_str() == key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_on_the_line_of_its_key() {
        let text = "\u{feff}// first\n{\n  a: {\n    'b': 1,\n    b:\n      2, list: [1,\n 2]\n  }\n}\n";
        let key = |key: &str| Step::Key(key.to_owned());
        //  steps                                          line
        let table = [
            (vec![], 2),
            (vec![key("a")], 3),
            (vec![key("a"), key("b")], 5),
            (vec![key("a"), key("list")], 6),
            (vec![key("a"), key("list"), Step::Index(1)], 7),
            (vec![key("a"), key("none"), key("none")], 3),
        ];
        for (steps, line) in table {
            assert_eq!(line_at(text, &steps), Some(line), "{steps:?}");
        }
        assert_eq!(line_at("{", &[]), None);
    }
}
