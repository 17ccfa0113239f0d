//! What is left of a damaged `sessions.json` (`sessions.md` §6, §7).
//!
//! The reference reads a store that it cannot parse as an empty one, and overwrites it with the next
//! message. Here every record that stands in the text is found again: complete ones as they are, of those
//! that were cut or have garbage in them the fields that are complete.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;

use crate::json::{self, Object, Value};
use crate::text;

/// What a store turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    pub shape: Shape,
    /// Every record, in the order of the text; a key may come twice.
    pub records: Vec<Found>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Strict JSON.
    Json,
    /// With comments, other quotes or trailing commas.
    Json5,
    /// Nothing but white space.
    Blank,
    /// JSON, but a list or a single value.
    NoObject,
    /// No JSON at all.
    Broken,
}

/// A record in the text of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub key: String,
    pub record: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Whole(Value),
    /// The fields that are complete, of a record that is not.
    Part(Object),
    /// JSON that is nested deeper than we read: its text.
    TooDeep(String),
}

impl Content {
    /// The fields, if it is an object that can be read.
    pub fn fields(&self) -> Option<&Object> {
        match self {
            Self::Whole(value) => value.as_object(),
            Self::Part(fields) => Some(fields),
            Self::TooDeep(_) => None,
        }
    }
}

impl Survey {
    /// Looks through the text of a store.
    pub fn of(store: &str) -> Self {
        let store = store.strip_prefix('\u{feff}').unwrap_or(store);
        if text::trim(store).is_empty() {
            return Self { shape: Shape::Blank, records: Vec::new() };
        }
        let strict = serde_json::from_str::<serde::de::IgnoredAny>(store).is_ok();
        let readable = json::parse_json5(store);
        let shape = match (&readable, strict) {
            (Some(Value::Object(_)), true) => Shape::Json,
            (Some(Value::Object(_)), false) => Shape::Json5,
            (Some(_), _) => Shape::NoObject,
            (None, true) if text::trim(store).starts_with('{') => Shape::Json,
            (None, true) => Shape::NoObject,
            (None, false) => Shape::Broken,
        };
        let records = match (shape, readable) {
            // A list of records has no keys; what they are called is nowhere.
            (Shape::Blank | Shape::NoObject, _) => Vec::new(),
            (Shape::Json5, Some(Value::Object(store))) => {
                store.into_iter().map(|(key, value)| Found { key, record: Content::Whole(value) }).collect()
            }
            (Shape::Json, _) => members(store),
            (Shape::Json5 | Shape::Broken, _) => scattered(store),
        };
        Self { shape, records }
    }

    /// Keys that stand there more than once.
    pub fn repeated_keys(&self) -> Vec<&str> {
        let mut seen = HashMap::<&str, usize>::new();
        for found in &self.records {
            *seen.entry(&found.key).or_default() += 1;
        }
        let mut repeated: Vec<&str> =
            seen.into_iter().filter(|(_, count)| *count > 1).map(|(key, _)| key).collect();
        repeated.sort_unstable();
        repeated
    }

    /// Whether the store has to be written anew before anybody can work with it.
    pub fn needs_mending(&self) -> bool {
        match self.shape {
            Shape::NoObject | Shape::Broken => true,
            Shape::Json | Shape::Json5 => !self.repeated_keys().is_empty(),
            Shape::Blank => false,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "JSON",
            Self::Json5 => "JSON5",
            Self::Blank => "empty",
            Self::NoObject => "JSON, but no object",
            Self::Broken => "not JSON",
        })
    }
}

/// The members of a store that is strict JSON, also those whose key comes again.
fn members(store: &str) -> Vec<Found> {
    let layout = Layout::of(store);
    let start = store.find('{').map_or(store.len(), |at| at + 1);
    let mut scanner = Scanner { text: store, at: start, layout: &layout };
    let mut found = Vec::new();
    loop {
        scanner.skip_space();
        let Some((key, begin)) = scanner.name() else { break };
        let Some(end) = scanner.end_of_value(begin) else { break };
        scanner.at = end;
        let value = store.get(begin..end).unwrap_or_default();
        let record = match json::parse(value) {
            Ok(value) => Content::Whole(value),
            Err(_) => Content::TooDeep(value.to_owned()),
        };
        found.push(Found { key, record });
    }
    found
}

/// Fields of a record that are objects themselves. In the rest of a broken record they look like records.
const NESTED: [&str; 5] =
    ["cliSessionIds", "origin", "deliveryContext", "skillsSnapshot", "systemPromptReport"];

fn may_be_key(name: &str) -> bool {
    !NESTED.contains(&name)
}

/// The records in a text that is no JSON.
fn scattered(store: &str) -> Vec<Found> {
    let layout = Layout::of(store);
    let mut scanner = Scanner { text: store, at: store.find('{').map_or(0, |at| at + 1), layout: &layout };
    // Records are read once or twice; a text in which everything is within everything has no end.
    let mut patience = store.len().saturating_mul(16);
    let mut found = Vec::new();
    while let Some((key, begin)) = scanner.next_object() {
        if !may_be_key(&key) {
            continue;
        }
        let end = scanner.end_of_value(begin);
        let Some(left) = patience.checked_sub(end.unwrap_or(begin) - begin) else { break };
        patience = left;
        let whole = end.and_then(|end| {
            let value = json::parse_json5(store.get(begin..end)?)?;
            Some((end, value.as_object()?.clone()))
        });
        match whole {
            Some((end, fields)) if is_record(&fields) => {
                scanner.at = end;
                let (fields, inner) = without_inner_records(fields);
                found.push(Found { key, record: Content::Whole(Value::Object(fields)) });
                found.extend(inner);
            }
            // What it holds may be records all the same.
            Some(_) => {}
            None => {
                let (fields, read) = scanner.complete_fields(begin);
                patience = patience.saturating_sub(read);
                if is_record(&fields) {
                    found.push(Found { key, record: Content::Part(fields) });
                }
            }
        }
    }
    found
}

fn is_record(fields: &Object) -> bool {
    fields.get("sessionId").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
}

/// A record whose end is missing swallows those behind it: they are taken out again.
fn without_inner_records(fields: Object) -> (Object, Vec<Found>) {
    let (mut own, mut inner) = (Object::new(), Vec::new());
    for (name, value) in fields {
        if may_be_key(&name) && value.as_object().is_some_and(is_record) {
            inner.push(Found { key: name, record: Content::Whole(value) });
        } else {
            own.insert(name, value);
        }
    }
    (own, inner)
}

/// Reads JSON, or what looks like it.
#[derive(Clone, Copy)]
struct Scanner<'t> {
    text: &'t str,
    at: usize,
    layout: &'t Layout,
}

impl<'t> Scanner<'t> {
    fn at(mut self, at: usize) -> Self {
        self.at = at;
        self
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn step(&mut self) {
        self.at += self.peek().map_or(1, char::len_utf8);
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over white space, commas and comments.
    fn skip_space(&mut self) {
        loop {
            match self.layout.comment(self.text, self.at) {
                Some(length) => self.at += length,
                None if self.rest().starts_with(|c: char| text::is_space(c) || c == ',') => self.step(),
                None => return,
            }
        }
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(text::is_space) {
            self.step();
        }
    }

    /// The next name that an object follows, wherever it stands, and where that begins. The search goes on
    /// behind the name.
    fn next_object(&mut self) -> Option<(String, usize)> {
        while self.at < self.text.len() {
            self.skip_space();
            match self.name() {
                Some((name, value_at)) => {
                    self.at = value_at;
                    if self.peek() == Some('{') {
                        return Some((name, value_at));
                    }
                }
                None => self.pass(),
            }
        }
        None
    }

    /// Passes over a text, a word, or a character of something else.
    fn pass(&mut self) {
        let word = self.rest().find(|c| !is_of_word(c)).unwrap_or(self.rest().len());
        match self.layout.end_of_text(self.text, self.at) {
            Some(end) => self.at = end,
            None if word > 0 => self.at += word,
            None => self.step(),
        }
    }

    /// A name with a colon behind it, and where its value begins.
    fn name(&self) -> Option<(String, usize)> {
        let mut behind = *self;
        let quoted = self.layout.end_of_text(self.text, self.at);
        let word = self.rest().find(|c| !is_of_word(c)).unwrap_or(self.rest().len());
        behind.at = match quoted {
            Some(end) => end,
            None if word > 0 => self.at + word,
            None => return None,
        };
        let name = self.text.get(self.at..behind.at)?;
        behind.skip_blank();
        if behind.peek()? != ':' {
            return None;
        }
        behind.step();
        behind.skip_blank();
        let name = match quoted {
            Some(_) => json::parse_json5(name)?.as_str()?.to_owned(),
            None => name.to_owned(),
        };
        Some((name, behind.at))
    }

    /// Where a value ends, if it does: a text, a list or an object with its last bracket, or a word.
    fn end_of_value(&self, begin: usize) -> Option<usize> {
        let value = self.at(begin);
        match value.peek()? {
            '"' | '\'' => self.layout.end_of_text(self.text, begin),
            '{' | '[' => self.layout.ends.get(&begin).copied(),
            _ => {
                let is_part = |c: char| c.is_alphanumeric() || matches!(c, '+' | '-' | '.');
                // What nothing ends may be cut.
                value.rest().find(|c| !is_part(c)).filter(|length| *length > 0).map(|length| begin + length)
            }
        }
    }

    /// The complete fields of the object that begins at `begin`, up to where the next record seems to begin;
    /// and how much was read for them.
    fn complete_fields(&self, begin: usize) -> (Object, usize) {
        let mut fields = Object::new();
        let mut scanner = self.at(begin + 1);
        while scanner.at < self.text.len() {
            scanner.skip_space();
            let Some((name, value_at)) = scanner.name() else {
                if scanner.peek() == Some('}') {
                    break;
                }
                // Garbage.
                scanner.pass();
                continue;
            };
            let end = scanner.end_of_value(value_at);
            let value = end.and_then(|end| json::parse_json5(self.text.get(value_at..end)?));
            let is_nested = self.at(value_at).peek().is_some_and(|c| matches!(c, '{' | '['));
            match (end, value) {
                (Some(_), Some(Value::Object(inner))) if may_be_key(&name) && is_record(&inner) => break,
                (Some(end), Some(value)) => {
                    fields.insert(name, value);
                    scanner.at = end;
                }
                // It has no end, so nobody knows whose the rest is.
                _ if is_nested => break,
                _ => scanner.at = value_at,
            }
        }
        (fields, scanner.at - begin)
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// What is known of a text as a whole.
struct Layout {
    /// Where every list and object that has an end ends, by where it begins.
    ends: HashMap<usize, usize>,
    /// The end of the last comment that has one.
    last_comment: usize,
    /// How many more characters may be looked at in search of a closing quote. Quotes that belong to nobody
    /// could otherwise be searched for from everywhere.
    patience: Cell<usize>,
}

impl Layout {
    fn of(text: &str) -> Self {
        let mut layout = Self {
            ends: HashMap::new(),
            last_comment: text.rfind("*/").unwrap_or_default(),
            patience: Cell::new(text.len().saturating_mul(32)),
        };
        layout.ends = layout.brackets(text);
        layout
    }

    /// How long the comment is that begins here. One that has no end is none.
    fn comment(&self, text: &str, begin: usize) -> Option<usize> {
        let rest = text.get(begin..)?;
        if rest.starts_with("//") {
            return Some(rest.find('\n').unwrap_or(rest.len()));
        }
        if !rest.starts_with("/*") || begin + 2 > self.last_comment {
            return None;
        }
        rest.get(2..)?.find("*/").map(|end| end + 4)
    }

    /// Where the quoted text that begins here ends. One that goes over the end of its line is none, nor is
    /// one behind which nothing stands that can: there its quotes are those of its neighbours.
    fn end_of_text(&self, text: &str, begin: usize) -> Option<usize> {
        let rest = text.get(begin..)?;
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let mut characters = rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            self.patience.set(self.patience.get().checked_sub(1)?);
            match c {
                '\\' => drop(characters.next()),
                '\n' => return None,
                c if c == quote => {
                    let behind = text::trim_start(rest.get(at + 1..).unwrap_or_default());
                    let may_follow = behind.is_empty() || behind.starts_with([',', ':', '}', ']', '/']);
                    return may_follow.then_some(begin + at + 1);
                }
                _ => {}
            }
        }
        None
    }

    fn brackets(&self, text: &str) -> HashMap<usize, usize> {
        let mut ends = HashMap::new();
        let mut open = Vec::<(usize, char)>::new();
        let mut open_objects = 0_usize;
        let mut at = 0;
        let mut may_be_comment = true;
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            let next = at + c.len_utf8();
            if let Some(length) = self.comment(text, at).filter(|_| may_be_comment) {
                at += length;
                continue;
            }
            // Elsewhere two slashes belong to an address.
            may_be_comment = text::is_space(c) || matches!(c, ',' | '{' | '[' | '}' | ']');
            at = match c {
                '"' | '\'' => self.end_of_text(text, at).unwrap_or(next),
                '{' | '[' => {
                    open.push((at, c));
                    open_objects += usize::from(c == '{');
                    next
                }
                '}' | ']' => {
                    let begins = if c == '}' { '{' } else { '[' };
                    let is_open = if c == '}' { open_objects > 0 } else { open.len() > open_objects };
                    // What was opened since has no end of its own.
                    while let Some((begin, opened)) = open.pop_if(|_| is_open) {
                        open_objects -= usize::from(opened == '{');
                        if opened == begins {
                            ends.insert(begin, next);
                            break;
                        }
                    }
                    next
                }
                _ => next,
            };
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key and fields of everything that is found; parts are marked.
    fn found(store: &str) -> Vec<String> {
        let told = |found: &Found| match &found.record {
            Content::Whole(value) => format!("{} {}", found.key, json::stringify(value)),
            Content::Part(fields) => format!("{} part {}", found.key, json::stringify_object(fields)),
            Content::TooDeep(_) => format!("{} deep", found.key),
        };
        Survey::of(store).records.iter().map(told).collect()
    }

    const A: &str = r#""agent:main:a":{"sessionId":"a","origin":{"sessionId":"no"},"n":[1,{"x":"}"}]}"#;
    const B: &str = r#""agent:main:b":{"sessionId":"b","updatedAt":7}"#;
    const READ_A: &str = r#"agent:main:a {"sessionId":"a","origin":{"sessionId":"no"},"n":[1,{"x":"}"}]}"#;
    const READ_B: &str = r#"agent:main:b {"sessionId":"b","updatedAt":7}"#;

    #[test]
    fn the_shape_of_a_store_is_told() {
        let deep = format!("{{\"k\":{}{}}}", "[".repeat(600), "]".repeat(600));
        let endless = "[".repeat(200_000);
        let table = [
            ("", Shape::Blank),
            ("\u{feff} \n", Shape::Blank),
            ("{}", Shape::Json),
            (deep.as_str(), Shape::Json),
            ("{// mine\n}", Shape::Json5),
            ("[]", Shape::NoObject),
            ("7", Shape::NoObject),
            ("{", Shape::Broken),
            ("<html>", Shape::Broken),
            (endless.as_str(), Shape::Broken),
        ];
        for (store, shape) in table {
            assert_eq!(Survey::of(store).shape, shape, "{}", &store[..store.len().min(40)]);
        }
    }

    #[test]
    fn every_complete_record_is_found() {
        let both = [READ_A.to_owned(), READ_B.to_owned()];
        let whole = format!("{{{A},{B}}}");
        let table = [
            ("whole", whole.clone()),
            ("no end", whole[..whole.len() - 1].to_owned()),
            ("garbage between", format!("{{{A},\0\0 #?! {{]] {B}}}")),
            ("garbage before and behind", format!("HTTP/1.1 200\n{{{A},{B}}}}}}} trailing")),
            ("an end too many", format!("{{{A}}},{B}}}")),
            ("written twice", format!("{{{A},{B}")),
            ("comments", format!("{{// \"agent:x\": {{\n{A}, /* {{ */ {B},, ")),
        ];
        for (name, store) in table {
            assert_eq!(found(&store), both, "{name}");
        }
        // Something other than a record is kept where the store is whole.
        assert_eq!(
            found(r#"{"a":null,"b":[7],"a":{"sessionId":"s"}}"#),
            ["a null", "b [7]", r#"a {"sessionId":"s"}"#]
        );
        let survey = Survey::of(r#"{"a":null,"b":[7],"a":{"sessionId":"s"}}"#);
        assert_eq!((survey.repeated_keys(), survey.needs_mending()), (vec!["a"], true));
    }

    #[test]
    fn of_a_broken_record_the_complete_fields_are_found() {
        let a = r#"agent:main:a part {"sessionId":"a""#;
        let table = [
            // Cut in the middle of a text, of a number, of an object.
            (r#"{"agent:main:a":{"sessionId":"a","label":"x"#, vec![format!("{a}}}")]),
            (r#"{"agent:main:a":{"sessionId":"a","n":1"#, vec![format!("{a}}}")]),
            (r#"{"agent:main:a":{"sessionId":"a","n":1,"origin":{"to":"x""#, vec![format!(r#"{a},"n":1}}"#)]),
            // Without its session nothing can be said about it.
            (r#"{"agent:main:a":{"updatedAt":7,"sessionId":"#, vec![]),
            (r#"{"agent:main:a":{"#, vec![]),
        ];
        for (store, expected) in table {
            assert_eq!(found(store), expected, "{store}");
        }
        // A record without an end does not swallow the next.
        let unended = format!(r#"{{"agent:main:a":{{"sessionId":"a","n":1,{B}}}"#);
        assert_eq!(found(&unended), [r#"agent:main:a {"sessionId":"a","n":1}"#, READ_B]);
        let torn = format!("{{\"agent:main:a\":{{\"sessionId\":\"a\",\"label\":\"torn\n,{B}}}");
        assert_eq!(found(&torn), [format!("{a}}}"), READ_B.to_owned()]);
    }

    #[test]
    fn wherever_a_store_is_cut_the_records_before_are_whole() {
        let record = |n: usize| {
            let nested = r#"{"channel":"telegram","to":"}{\" \u00fc"}"#;
            format!(
                r#"{{"sessionId":"s{n}","updatedAt":{n},"deliveryContext":{nested},"skillsSnapshot":{{"skills":[{{"name":"a"}}]}},"systemPromptReport":{{"sessionId":"s{n}","x":{{}}}}}}"#
            )
        };
        let keys: Vec<String> = (0..4).map(|n| format!("agent:main:telegram:dm:{n}")).collect();
        let store: Object =
            keys.iter().enumerate().map(|(n, key)| (key.clone(), json::parse(&record(n)).unwrap())).collect();
        for text in [crate::session::store_text::store_text(&store), json::stringify_object(&store)] {
            // A record ends with the last bracket before the next key.
            let starts: Vec<usize> = keys.iter().map(|key| text.find(key.as_str()).unwrap()).collect();
            let last = text.rfind('}').unwrap();
            let ends = starts.iter().skip(1).copied().chain([last]);
            let ends: Vec<usize> = ends.map(|next| text[..next].rfind('}').unwrap() + 1).collect();
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let records = Survey::of(&text[..cut]).records;
                let whole = ends.iter().filter(|end| **end <= cut).count();
                let is_whole = |found: &&Found| matches!(found.record, Content::Whole(_));
                assert_eq!(records.iter().filter(is_whole).count(), whole, "{cut} of {text}");
                assert!(records.len() <= whole + 1, "{cut} of {text}");
                assert!(records.iter().zip(&keys).all(|(found, key)| found.key == *key), "{cut} of {text}");
            }
        }
    }

    #[test]
    fn nothing_runs_away_on_any_text() {
        let store = format!("{{{A},{B}}}");
        for cut in (0..store.len()).filter(|at| store.is_char_boundary(*at)) {
            let survey = Survey::of(&store[..cut]);
            assert!(survey.records.len() <= 2, "{cut}");
            Survey::of(&store[cut..]);
        }
        for text in [
            "{\"a\":{".repeat(5_000),
            "\"".repeat(20_000),
            "{'a':".repeat(5_000),
            "a:{".repeat(3_000),
            "/*".repeat(100_000),
            format!("{{\"{}", "\\\"".repeat(50_000)),
            format!("{{{}", "\"a\" ".repeat(50_000)),
            format!("{}{}", "[".repeat(50_000), "}".repeat(50_000)),
        ] {
            Survey::of(&text);
        }
    }
}
