//! JSON as JavaScript reads and writes it (`sessions.md` §1, `transcripts.md` §3).
//!
//! Reading accepts lone surrogate escapes (they become stand-ins, see [`crate::text`]). Writing
//! prints numbers, escapes and the order of integer-like keys exactly as `JSON.stringify` would, so
//! that a file that yabby rewrites is the file OpenClaw would have written.

pub mod as_written;
pub mod json5;

use std::borrow::Cow;
use std::fmt::Write as _;

pub use serde_json::{Map, Value};

pub use self::json5::Fault;
use self::json5::FaultKind;

use crate::text;

/// An object whose keys keep their order.
pub type Object = Map<String, Value>;

/// Parses strict JSON, nested at most [`MAX_DEPTH`] deep.
pub fn parse(source: &str) -> Result<Value, serde_json::Error> {
    let readable = readable(source);
    let mut parsed = serde_json::from_str(&readable);
    if parsed.is_err()
        && let Some(finite) = without_infinities(&readable)
    {
        parsed = serde_json::from_str(&finite);
    }
    // The parser gives up at a depth that real transcripts reach.
    if parsed.is_err() && (SHALLOW..=MAX_DEPTH).contains(&depth(&readable)) {
        let mut deep = serde_json::Deserializer::from_str(&readable);
        deep.disable_recursion_limit();
        let value = serde::Deserialize::deserialize(&mut deep)?;
        return deep.end().map(|()| value);
    }
    parsed
}

/// The same JSON with null for every number that is too large to be one: JavaScript reads infinity
/// and writes null. `None` if there is none.
pub fn without_infinities(source: &str) -> Option<String> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let bytes = source.as_bytes();
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    let mut in_text = false;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_text = !in_text,
            b'\\' if in_text => at += 1,
            b'-' | b'0'..=b'9' if !in_text => {
                let end = at + bytes[at..].iter().take_while(|byte| is_digit(byte)).count();
                if source[at..end].parse::<f64>().is_ok_and(f64::is_infinite) {
                    out.push_str(&source[copied..at]);
                    out.push_str("null");
                    copied = end;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str(&source[copied..]);
    (copied > 0).then_some(out)
}

/// What the parser takes without asking.
const SHALLOW: usize = 127;

/// How deep a document may be nested; deeper ones could exhaust the stack.
pub const MAX_DEPTH: usize = 512;

/// How deep lists and objects are nested; of text that is not JSON, any number.
fn depth(source: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut in_text = false;
    let mut bytes = source.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                bytes.next();
            }
            b'[' | b'{' if !in_text => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !in_text => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Parses JSON5, nested at most [`MAX_DEPTH`] deep.
pub fn parse_json5(source: &str) -> Option<Value> {
    read_json5(source).ok()
}

/// Parses JSON5, and says where it is broken; strict JSON, which is the common case and much faster to
/// read, is tried first.
pub fn read_json5(source: &str) -> Result<Value, Fault> {
    let text = source.strip_prefix('\u{feff}').unwrap_or(source);
    let readable = readable(text);
    if let Ok(value) = serde_json::from_str(&readable) {
        return Ok(value);
    }
    // The parser knows no limit of depth but the stack, and does not say where a text is broken.
    json5::check(source)?;
    let unreadable = |error: ::json5::Error| {
        let at = error.position().map_or((1, 1), |at| (at.line + 1, at.column + 1));
        Fault { kind: FaultKind::Unreadable, line: at.0, column: at.1 }
    };
    ::json5::from_str(&readable).map_err(unreadable)
}

/// The same JSON with every lone surrogate escape replaced by its stand-in, which `serde_json` can
/// hold, and real characters of that range spelt out as pairs of stand-ins.
pub fn readable(source: &str) -> Cow<'_, str> {
    let outside = text::from_outside(source);
    if !has_surrogate_escape(&outside) {
        return outside;
    }
    let bytes = outside.as_bytes();
    let mut out = String::with_capacity(outside.len());
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate_escape(bytes, at) {
            Some(high @ 0xD800..0xDC00) => match surrogate_escape(bytes, at + 6) {
                Some(low @ 0xDC00..0xE000) => {
                    // A pair is left alone, unless it spells a character of the stand-in range.
                    let c = char::decode_utf16([high, low]).next().and_then(Result::ok);
                    if c.is_some_and(|c| text::stood_for(c).is_some()) {
                        out.push_str(&outside[copied..at]);
                        out.push(text::stand_in(high));
                        out.push(text::stand_in(low));
                        copied = at + 12;
                    }
                    at += 12;
                }
                _ => {
                    out.push_str(&outside[copied..at]);
                    out.push(text::stand_in(high));
                    at += 6;
                    copied = at;
                }
            },
            Some(low) => {
                out.push_str(&outside[copied..at]);
                out.push(text::stand_in(low));
                at += 6;
                copied = at;
            }
            None => at += 2,
        }
    }
    out.push_str(&outside[copied..]);
    Cow::Owned(out)
}

fn has_surrogate_escape(source: &str) -> bool {
    // Few texts hold any such escape, and this is by far the faster look.
    source.contains('\\')
        && source.contains("\\u")
        && source.as_bytes().windows(4).any(|w| {
            w[0] == b'\\'
                && w[1] == b'u'
                && w[2].eq_ignore_ascii_case(&b'd')
                && matches!(w[3], b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F')
        })
}

/// The surrogate that the escape at `at` spells, if there is one.
fn surrogate_escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let unit = u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

/// Compact text, as `JSON.stringify(value)`.
pub fn stringify(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, None, 0);
    out
}

/// Compact text of an object.
pub fn stringify_object(object: &Object) -> String {
    let mut out = String::new();
    write_object(&mut out, object, None, 0);
    out
}

/// Text with an indent of two spaces, as `JSON.stringify(value, null, 2)`.
pub fn stringify_pretty(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value, Some(2), 0);
    out
}

/// A number as JavaScript prints it.
pub fn number_text(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// So many decimals, as `toFixed` rounds: a tie goes up, where Rust would go to the even digit.
pub fn fixed(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return number_text(number);
    }
    let exact = format!("{:.*}", decimals + 60, number);
    let cut = exact.len() - 60;
    let is_tie = exact[cut..].starts_with('5') && exact[cut + 1..].bytes().all(|digit| digit == b'0');
    // Half a step more is the next value up, without a tie.
    let half_step = if is_tie { 0.5 / 10_f64.powi(i32::try_from(decimals).unwrap_or(0)) } else { 0.0 };
    format!("{:.decimals$}", number + half_step)
}

/// A number value; whole numbers are kept whole so that they read back as integers.
pub fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
        return Value::from(value as i64);
    }
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The finite number that a text spells, as `Number(text)` has it; blank text spells zero.
pub fn number_in(text: &str) -> Option<f64> {
    let text = text::trim(text);
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok();
    #[expect(clippy::cast_precision_loss, reason = "JavaScript loses it as well")]
    match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => return radix(&text[2..], 16).map(|n| n as f64),
        Some("0o") => return radix(&text[2..], 8).map(|n| n as f64),
        Some("0b") => return radix(&text[2..], 2).map(|n| n as f64),
        _ => {}
    }
    let is_decimal = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    match text {
        "" => Some(0.0),
        _ if is_decimal => text.parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    }
}

/// The integer a text begins with, as `parseInt` reads it; what follows the digits does not matter.
pub fn leading_integer(text: &str) -> Option<f64> {
    let text = crate::text::trim_start(text);
    let sign = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { None } else { text[..sign + digits].parse().ok() }
}

/// What an `if` makes of a value.
pub fn truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(n) => n.as_f64().is_some_and(|n| n != 0.0 && !n.is_nan()),
        Value::String(s) => !s.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

/// The value under `path`, through objects only.
pub fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.as_object()?.get(*key))
}

/// Writes an object whose values are JSON text already, as [`stringify_pretty`] would at this depth: for
/// lists too long to be built first. No name may look like a number.
pub fn push_pretty_object(out: &mut String, members: &[(&str, Cow<'_, str>)], depth: usize) {
    out.push('{');
    for (i, (key, value)) in members.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_break(out, Some(2), depth + 1);
        push_string(out, key);
        out.push_str(": ");
        out.push_str(value);
    }
    write_break(out, Some(2), depth);
    out.push('}');
}

fn write_value(out: &mut String, value: &Value, indent: Option<usize>, depth: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => write_number(out, n),
        Value::String(s) => push_string(out, s),
        Value::Array(items) => write_array(out, items, indent, depth),
        Value::Object(object) => write_object(out, object, indent, depth),
    }
}

fn write_number(out: &mut String, number: &serde_json::Number) {
    const EXACT: u64 = 1 << 53;
    let whole = number.as_i64().filter(|n| n.unsigned_abs() <= EXACT);
    match whole {
        Some(n) => {
            // Writing into a string cannot fail.
            let _ = write!(out, "{n}");
        }
        None => {
            out.push_str(&number.as_f64().filter(|n| n.is_finite()).map_or("null".to_owned(), number_text))
        }
    }
}

fn write_array(out: &mut String, items: &[Value], indent: Option<usize>, depth: usize) {
    if items.is_empty() {
        out.push_str("[]");
        return;
    }
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_break(out, indent, depth + 1);
        write_value(out, item, indent, depth + 1);
    }
    write_break(out, indent, depth);
    out.push(']');
}

fn write_object(out: &mut String, object: &Object, indent: Option<usize>, depth: usize) {
    if object.is_empty() {
        out.push_str("{}");
        return;
    }
    out.push('{');
    for (i, (key, value)) in in_js_order(object).into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_break(out, indent, depth + 1);
        push_string(out, key);
        out.push_str(if indent.is_some() { ": " } else { ":" });
        write_value(out, value, indent, depth + 1);
    }
    write_break(out, indent, depth);
    out.push('}');
}

fn write_break(out: &mut String, indent: Option<usize>, depth: usize) {
    if let Some(width) = indent {
        const BLANKS: &str = "                                ";
        out.push('\n');
        let mut room = width * depth;
        while room > 0 {
            let some = room.min(BLANKS.len());
            out.push_str(&BLANKS[..some]);
            room -= some;
        }
    }
}

/// The members of an object in the order JavaScript enumerates them.
pub fn in_js_order(object: &Object) -> Vec<(&String, &Value)> {
    by_js_order(object.iter())
}

/// Keys in the order JavaScript enumerates them: integer-like keys first, in ascending order, then the
/// others as they were inserted.
pub fn by_js_order<K: AsRef<str>, V>(members: impl Iterator<Item = (K, V)>) -> Vec<(K, V)> {
    let mut members: Vec<_> = members.collect();
    if members.iter().any(|(key, _)| array_index(key.as_ref()).is_some()) {
        members.sort_by_key(|(key, _)| array_index(key.as_ref()).map_or(u64::MAX, u64::from));
    }
    members
}

/// The number a key spells if JavaScript treats it as an array index.
fn array_index(key: &str) -> Option<u32> {
    let canonical =
        key == "0" || (!key.starts_with('0') && !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit()));
    if !canonical {
        return None;
    }
    key.parse::<u32>().ok().filter(|index| *index != u32::MAX)
}

/// Appends a text in quotes.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let plain = rest.bytes().position(wants_care).unwrap_or(rest.len());
        let (run, special) = rest.split_at(plain);
        out.push_str(run);
        let mut chars = special.chars();
        let Some(c) = chars.next() else { break };
        push_special(out, c, &mut chars);
        rest = chars.as_str();
    }
    out.push('"');
}

/// Whether a character that begins with this byte may have to be spelt in another way: stand-ins begin
/// with `0xF4`.
fn wants_care(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..0x20 | 0xF4)
}

fn push_special(out: &mut String, c: char, rest: &mut std::str::Chars<'_>) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\u{1f}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        _ => match text::stood_for(c) {
            None => out.push(c),
            Some(unit) => {
                // Two halves that met again are one character, as they would be in JavaScript.
                let partner = rest.clone().next().and_then(text::stood_for);
                match partner.and_then(|low| char::decode_utf16([unit, low]).next().and_then(Result::ok)) {
                    Some(whole) => {
                        out.push(whole);
                        rest.next();
                    }
                    None => out.push_str(&format!("\\u{unit:04x}")),
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_as_javascript_would_write_it() {
        let table = [
            (r#"{"b":1.0,"10":2,"9":[],"a":{}}"#, r#"{"9":[],"10":2,"b":1,"a":{}}"#),
            (r#"[1e2,-0,1e21,1e-7,9007199254740993,0.1]"#, "[100,0,1e+21,1e-7,9007199254740992,0.1]"),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#""\u0041\/\u001F\ud83d\ude00""#, "\"A/\\u001f😀\""),
            (r#""\uD83D x \ude00""#, r#""\ud83d x \ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            ("\"\u{10d83d}\"", "\"\u{10d83d}\""),
            (r#""\udbf6\udc3d""#, "\"\u{10d83d}\""),
        ];
        for (source, expected) in table {
            assert_eq!(stringify(&parse(source).expect(source)), expected, "{source}");
        }
    }

    #[test]
    fn pretty_text_has_two_spaces_and_no_final_line_feed() {
        let value = parse(r#"{"a":[1,{"b":null}],"c":[],"d":{}}"#).unwrap();
        assert_eq!(
            stringify_pretty(&value),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": [],\n  \"d\": {}\n}"
        );
    }

    #[test]
    fn numbers_beyond_all_numbers_are_null() {
        let value = parse(r#"{"a":[1e999,-1e999,1],"b":"1e999 \" 1e999"}"#).expect("JSON");
        assert_eq!(stringify(&value), r#"{"a":[null,null,1],"b":"1e999 \" 1e999"}"#);
        assert!(parse("1e999x").is_err());
    }

    #[test]
    fn depth_has_a_limit_and_it_is_not_the_stack() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        for (depth, is_read) in
            [(127, true), (128, true), (MAX_DEPTH, true), (MAX_DEPTH + 1, false), (100_000, false)]
        {
            assert_eq!(parse(&nested(depth)).is_ok(), is_read, "{depth}");
        }
        assert!(parse(&format!("{}]", nested(200))).is_err());
    }

    #[test]
    fn texts_spell_numbers_as_in_javascript() {
        let table = [
            (" 1e2 ", Some(100.0)),
            ("0x10", Some(16.0)),
            ("-.5", Some(-0.5)),
            ("", Some(0.0)),
            ("Infinity", None),
            ("1_000", None),
            ("é", None),
        ];
        for (text, number) in table {
            assert_eq!(number_in(text), number, "{text}");
        }
    }

    #[test]
    fn json5_is_the_fallback() {
        let value = parse_json5("\u{feff}{/* c */ a: 'x', b: [1,],}").unwrap();
        assert_eq!(stringify(&value), r#"{"a":"x","b":[1]}"#);
        assert_eq!(parse_json5("{"), None);
        let deep = |depth: usize| format!("{}1,{}", "[".repeat(depth), ",]".repeat(depth));
        assert!(parse_json5(&deep(100_000)).is_none(), "without exhausting the stack");
    }
}
