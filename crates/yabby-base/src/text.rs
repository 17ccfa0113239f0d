//! Text as the reference counts, cuts and compares it (`sessions.md` §1).
//!
//! OpenClaw is JavaScript: a length is a number of UTF-16 units, a cut may fall inside a surrogate
//! pair, and white space is ECMAScript's. Rust strings cannot hold half a pair, so a lone surrogate
//! `U+D83D` travels as the private-use character `U+10D83D` (its *stand-in*), which counts as one
//! unit here and is turned back into `\ud83d` by [`crate::json`]. See ADR 0003.

use std::borrow::Cow;

use regex::Regex;

/// Where the stand-ins begin: the stand-in of surrogate `s` is `STAND_INS + s`.
const STAND_INS: u32 = 0x10_0000;

/// The private-use character that stands for the lone surrogate `unit`.
pub fn stand_in(unit: u16) -> char {
    debug_assert!((0xD800..0xE000).contains(&unit), "not a surrogate: {unit:#x}");
    char::from_u32(STAND_INS + u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The surrogate that `c` stands for, if it is a stand-in.
pub fn stood_for(c: char) -> Option<u16> {
    let code = u32::from(c).checked_sub(STAND_INS)?;
    u16::try_from(code).ok().filter(|unit| (0xD800..0xE000).contains(unit))
}

/// Whether `text` may hold a stand-in; a cheap test for the common case.
pub fn has_stand_ins(text: &str) -> bool {
    !text.is_ascii() && text.as_bytes().contains(&0xF4) && text.chars().any(|c| stood_for(c).is_some())
}

/// Text that came from outside as UTF-8: real characters in the stand-in range are spelt as the two
/// surrogates they are made of, so that no character of a user's can pass for half a pair.
pub fn from_outside(text: &str) -> Cow<'_, str> {
    if !has_stand_ins(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if stood_for(c).is_some() {
            out.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| stand_in(*unit)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The text as valid Unicode for the outside, e.g. for a hash: what JavaScript encodes as UTF-8. Half a
/// pair becomes U+FFFD.
pub fn to_outside(text: &str) -> Cow<'_, str> {
    if !has_stand_ins(text) {
        return Cow::Borrowed(text);
    }
    let decoded = char::decode_utf16(to_units(text));
    Cow::Owned(decoded.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Bytes as text; what is not UTF-8 becomes U+FFFD.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all bytes are text, and this is by far the faster look.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// How many UTF-16 units one character is.
pub fn char_units(c: char) -> usize {
    if stood_for(c).is_some() { 1 } else { c.len_utf16() }
}

/// Length in UTF-16 units: what the reference calls `length`.
pub fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char_units).sum() }
}

/// The text as UTF-16 units, lone surrogates included.
pub fn to_units(text: &str) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        match stood_for(c) {
            Some(unit) => out.push(unit),
            None => out.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
    out
}

/// Text from UTF-16 units; a surrogate without its partner becomes a stand-in.
pub fn from_units(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied())
        .flat_map(|decoded| match decoded {
            // A real character in the stand-in range stays two stand-ins; see `from_outside`.
            Ok(c) if stood_for(c).is_some() => {
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| stand_in(*unit)).collect()
            }
            Ok(c) => vec![c],
            Err(lone) => vec![stand_in(lone.unpaired_surrogate())],
        })
        .collect()
}

/// The first `count` units.
pub fn head(text: &str, count: usize) -> Cow<'_, str> {
    if count == 0 {
        return Cow::Borrowed("");
    }
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        if seen == count {
            return Cow::Borrowed(&text[..at]);
        }
        seen += char_units(c);
        if seen > count {
            let first = c.encode_utf16(&mut [0; 2])[0];
            return Cow::Owned(format!("{}{}", &text[..at], stand_in(first)));
        }
    }
    Cow::Borrowed(text)
}

/// What is left after the first `count` units.
pub fn skip(text: &str, count: usize) -> Cow<'_, str> {
    let mut seen = 0;
    for (at, c) in text.char_indices() {
        if seen == count {
            return Cow::Borrowed(&text[at..]);
        }
        seen += char_units(c);
        if seen > count {
            let second = c.encode_utf16(&mut [0; 2])[1];
            return Cow::Owned(format!("{}{}", stand_in(second), &text[at + c.len_utf8()..]));
        }
    }
    Cow::Borrowed("")
}

/// The last `count` units.
pub fn tail(text: &str, count: usize) -> Cow<'_, str> {
    skip(text, units(text).saturating_sub(count))
}

/// ECMAScript white space and line ends: also U+FEFF, not U+0085.
pub fn is_space(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}'
        | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// [`is_space`] as a class for the `regex` crate, without its brackets.
pub const SPACE_CLASS: &str =
    r"\t\n\x0b\x0c\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

/// A pattern that is part of our own source, for a static: if it does not compile, the first use says so.
pub fn pattern(source: &str) -> Regex {
    Regex::new(source).expect("a constant pattern compiles")
}

pub fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

pub fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

pub fn trim_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// The trimmed text, unless nothing is left of it.
pub fn non_blank(text: &str) -> Option<&str> {
    Some(trim(text)).filter(|trimmed| !trimmed.is_empty())
}

/// Whether a text shows anything: characters without a width, such as a zero width space, are as blank as white space.
pub fn is_visible(text: &str) -> bool {
    let has_no_width = |c: char| matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    !text.chars().all(|c| c.is_whitespace() || has_no_width(c))
}

/// Lower case by the full Unicode mapping, as `toLowerCase` has it.
pub fn lower(text: &str) -> String {
    text.to_lowercase()
}

/// Trimmed and lower-cased, unless nothing is left.
pub fn lower_non_blank(text: &str) -> Option<String> {
    non_blank(text).map(lower)
}

/// Every run of white space becomes one space; the ends are not trimmed.
pub fn collapse_spaces(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_space = false;
    for c in text.chars() {
        if is_space(c) {
            if !in_space {
                out.push(' ');
            }
            in_space = true;
        } else {
            out.push(c);
            in_space = false;
        }
    }
    out
}

/// A word character of a JavaScript pattern: `[A-Za-z0-9_]`.
pub fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Case-blind search for an ASCII needle; the index is in bytes of `text`.
pub fn find_ignoring_ascii_case(text: &str, needle: &str) -> Option<usize> {
    text.as_bytes()
        .windows(needle.len().max(1))
        .position(|window| window.eq_ignore_ascii_case(needle.as_bytes()))
}

/// Whether `text` begins with the ASCII `prefix`, in any case.
pub fn starts_with_ignoring_ascii_case(text: &str, prefix: &str) -> bool {
    text.len() >= prefix.len() && text.as_bytes()[..prefix.len()].eq_ignore_ascii_case(prefix.as_bytes())
}

/// What follows the ASCII `prefix`, in any case.
pub fn strip_prefix_ignoring_ascii_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    starts_with_ignoring_ascii_case(text, prefix).then(|| &text[prefix.len()..])
}

/// Whether two characters are the same letter to a case-blind JavaScript pattern (`/i` without `u`):
/// upper-cased one to one, and never across the border of ASCII.
pub fn same_letter(a: char, b: char) -> bool {
    a == b || upper_one_to_one(a) == upper_one_to_one(b)
}

fn upper_one_to_one(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) if c <= '\u{ffff}' && !one.is_ascii() => one,
        _ => c,
    }
}

/// Whether a pattern matches the whole of a name; `*` in it stands for any letters.
pub fn matches_star(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_cuts_count_utf16_units() {
        let half = stand_in(0xD83D).to_string();
        let other_half = stand_in(0xDE00).to_string();
        //  text        units  cut  head                     rest
        let table = [
            ("abc", 3, 2, "ab".to_owned(), "c".to_owned()),
            ("a😀b", 4, 1, "a".to_owned(), "😀b".to_owned()),
            ("a😀b", 4, 2, format!("a{half}"), format!("{other_half}b")),
            ("a😀b", 4, 3, "a😀".to_owned(), "b".to_owned()),
            ("é", 1, 1, "é".to_owned(), String::new()),
            ("ab", 2, 9, "ab".to_owned(), String::new()),
        ];
        for (text, length, cut, first, rest) in table {
            assert_eq!(units(text), length, "{text}");
            assert_eq!(head(text, cut), first, "{text} {cut}");
            assert_eq!(skip(text, cut), rest, "{text} {cut}");
        }
        assert_eq!(units(&half), 1);
    }

    #[test]
    fn units_survive_a_round_trip() {
        for text in ["", "plain", "a😀b", "\u{10d83d}"] {
            let inside = from_outside(text);
            assert_eq!(from_units(&to_units(&inside)), inside, "{text:?}");
        }
        assert_eq!(from_outside("\u{10d83d}"), format!("{}{}", stand_in(0xDBF6), stand_in(0xDC3D)));
        assert_eq!(to_outside(&from_outside("\u{10d83d}")), "\u{10d83d}");
        assert_eq!(to_outside(&format!("a{}", stand_in(0xD83D))), "a\u{fffd}");
    }

    #[test]
    fn white_space_is_the_ecmascript_one() {
        assert_eq!(trim("\u{feff}\u{a0} x\u{2029}"), "x");
        assert_eq!(trim("\u{200b}x\u{85}"), "\u{200b}x\u{85}");
        assert_eq!(collapse_spaces(" a\n\t b "), " a b ");
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        let table = [
            ("mcp_*", "mcp_a", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c", "ab", false),
            ("read", "reader", false),
            ("*_get", "memory_get", true),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(matches_star(pattern, name), expected, "{pattern} {name}");
        }
    }
}
