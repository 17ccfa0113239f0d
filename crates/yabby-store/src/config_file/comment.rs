//! Keys that nobody understands, made into comments: out of the way, and still there to be read.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, parse_to_ast};
use yabby_config::key_path::Step;

use super::text::OPTIONS;

/// The text with the members at these paths in comments, and which of the paths that were. `None` if
/// the text cannot be taken apart.
pub(super) fn commented_out(text: &str, paths: &[Vec<Step>]) -> Option<(String, Vec<Vec<Step>>)> {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let (mark, text) = text.split_at(mark);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?;
    let root = parsed.value.as_ref()?;
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut done = Vec::new();
    for path in paths {
        let found = members(root, path, text);
        if !found.is_empty() {
            ranges.extend(found);
            done.push(path.clone());
        }
    }
    ranges.sort_unstable();
    // A key inside of another one goes with it.
    ranges.dedup_by(|next, before| next.0 < before.1);
    let mut out = String::from(mark);
    let mut copied = 0;
    for (start, end) in ranges {
        out.push_str(text.get(copied..start)?);
        out.push_str(&comment(text.get(start..end)?));
        copied = end;
    }
    out.push_str(text.get(copied..)?);
    Some((out, done))
}

/// Where the member at a path stands, with the comma behind it; twice if it is written twice.
fn members(root: &Value<'_>, path: &[Step], text: &str) -> Vec<(usize, usize)> {
    let Some((Step::Key(key), above)) = path.split_last() else { return Vec::new() };
    let holder = above.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Object(object), Step::Key(key)) => last(object, key),
        (Value::Array(list), Step::Index(index)) => list.elements.get(*index),
        _ => None,
    });
    let Some(Value::Object(object)) = holder else { return Vec::new() };
    let named = object.properties.iter().filter(|member| member.name.as_str() == key);
    named.map(|member| (member.range.start, with_comma(text, member.range().end))).collect()
}

fn last<'v, 'a>(object: &'v Object<'a>, key: &str) -> Option<&'v Value<'a>> {
    object.properties.iter().rev().find(|member| member.name.as_str() == key).map(|member| &member.value)
}

/// The end of a member, or of the comma behind it if nothing but blanks is between them.
fn with_comma(text: &str, end: usize) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    if rest[blanks..].starts_with(',') { end + blanks + 1 } else { end }
}

fn comment(member: &str) -> String {
    if member.contains("*/") {
        // Such a comment would end too early; one that ends with its line cannot.
        let lines: Vec<String> = member.lines().map(|line| format!("// {}", line.trim_start())).collect();
        return lines.join("\n") + "\n";
    }
    format!("/* {member} */")
}

#[cfg(test)]
mod tests {
    use super::*;
    use yabby_domain::json;

    fn steps(path: &str) -> Vec<Step> {
        let step = |part: &str| match part.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(part.to_owned()),
        };
        path.split('.').map(step).collect()
    }

    #[test]
    fn only_the_unknown_goes_into_comments() {
        //  before                                  unknown          after
        let table = [
            ("{a: 1, foo: 2}", "foo", "{a: 1, /* foo: 2 */}"),
            ("{foo: 2, a: 1}", "foo", "{/* foo: 2, */ a: 1}"),
            (
                "{\n  // why\n  \"foo\": {\n    b: [1] },\n  a: 1\n}",
                "foo",
                "{\n  // why\n  /* \"foo\": {\n    b: [1] }, */\n  a: 1\n}",
            ),
            ("{l: [{x: 1, y: 2}], a: 1}", "l.0.y", "{l: [{x: 1, /* y: 2 */}], a: 1}"),
            ("{foo: '*/', a: 1}", "foo", "{// foo: '*/',\n a: 1}"),
            ("{foo: 1, a: 1, foo: 2}", "foo", "{/* foo: 1, */ a: 1, /* foo: 2 */}"),
            ("\u{feff}{a: 1}", "foo", "\u{feff}{a: 1}"),
        ];
        for (before, unknown, after) in table {
            let (text, done) = commented_out(before, &[steps(unknown)]).unwrap();
            assert_eq!(text, after);
            assert_eq!(done.len(), usize::from(before != after), "{before}");
            assert!(json::parse_json5(&text).is_some(), "{text}");
        }
        assert_eq!(commented_out("{", &[]), None);
    }

    #[test]
    fn a_key_inside_of_another_goes_with_it() {
        let (text, _) = commented_out("{foo: {bar: 1}, a: 1}", &[steps("foo.bar"), steps("foo")]).unwrap();
        assert_eq!(text, "{/* foo: {bar: 1}, */ a: 1}");
    }
}
