//! The first line of a transcript (`transcripts.md` §1.1, §7.1).

use jiff::Timestamp;

use super::time;
use crate::json::{self, Object, Value};

/// The version that yabby and OpenClaw write.
pub const CURRENT_VERSION: u8 = 3;

/// The version that OpenClaw's run-time helper still gives a file it creates; opening migrates it.
const RUN_VERSION: u8 = 2;

/// A header: the object of its line, unknown fields included.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    object: Object,
    /// The line it was read from, while nothing was changed.
    line: Option<String>,
}

/// What a new session is called and where it works.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    pub id: &'a str,
    pub cwd: &'a str,
    /// The file it was forked from.
    pub parent: Option<&'a str>,
}

impl Header {
    pub fn new(session: NewSession<'_>, now: Timestamp) -> Self {
        Self::with_version(CURRENT_VERSION, session, now)
    }

    /// The header of a file that is created before its first run.
    pub fn for_run(session: NewSession<'_>, now: Timestamp) -> Self {
        Self::with_version(RUN_VERSION, session, now)
    }

    fn with_version(version: u8, session: NewSession<'_>, now: Timestamp) -> Self {
        let mut object = Object::new();
        object.insert("type".into(), "session".into());
        object.insert("version".into(), version.into());
        object.insert("id".into(), session.id.into());
        object.insert("timestamp".into(), time::iso(now).into());
        object.insert("cwd".into(), session.cwd.into());
        if let Some(parent) = session.parent {
            object.insert("parentSession".into(), parent.into());
        }
        Self { object, line: None }
    }

    /// The header on `line`, if it is one and names its session.
    pub fn parse(line: &str) -> Option<Self> {
        let Ok(Value::Object(object)) = json::parse(line) else { return None };
        let header = Self { object, line: Some(line.trim_matches([' ', '\t', '\r', '\n']).to_owned()) };
        header.is_valid().then_some(header)
    }

    fn is_valid(&self) -> bool {
        self.text("type") == Some("session") && self.named_id().is_some()
    }

    /// An older shape calls the id `sessionId`.
    fn named_id(&self) -> Option<&str> {
        self.text("id").or_else(|| self.text("sessionId").filter(|id| !id.is_empty()))
    }

    pub fn session_id(&self) -> &str {
        self.named_id().unwrap_or_default()
    }

    pub fn cwd(&self) -> Option<&str> {
        self.text("cwd")
    }

    pub fn parent_session(&self) -> Option<&str> {
        self.text("parentSession")
    }

    pub fn version(&self) -> Version {
        Version::of(self.object.get("version"))
    }

    pub fn object(&self) -> &Object {
        &self.object
    }

    /// The text of the line: the one it was read from, or a new one.
    pub fn line(&self) -> String {
        self.line.clone().unwrap_or_else(|| json::stringify_object(&self.object))
    }

    /// Gives a new file the name and folder of the run that opened it.
    pub(super) fn adopt(&mut self, session_id: &str, cwd: &str) {
        self.object.insert("id".into(), session_id.into());
        self.object.insert("cwd".into(), cwd.into());
        self.line = None;
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.object.get(field)?.as_str()
    }
}

/// How old the shape of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Entries have no ids: a list.
    One,
    /// A tree, with an old name for one role.
    Two,
    /// The current one, or one from the future, which is left alone.
    Three,
}

impl Version {
    /// Numbers and the text that spells them; without one it is the first version.
    pub fn of(field: Option<&Value>) -> Self {
        let number = match field {
            None | Some(Value::Null) => Some(1.0),
            Some(Value::Number(number)) => number.as_f64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(Value::Bool(flag)) => Some(f64::from(u8::from(*flag))),
            Some(Value::Array(_) | Value::Object(_)) => None,
        };
        match number {
            Some(number) if number < 2.0 => Self::One,
            Some(number) if number < 3.0 => Self::Two,
            _ => Self::Three,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_type_session_and_an_id() {
        //  line                                         session id
        let table = [
            (r#"{"type":"session","id":"a"}"#, Some("a")),
            (r#"{"type":"session","id":""}"#, Some("")),
            (r#"{"type":"session","sessionId":"main"}"#, Some("main")),
            (r#"{"type":"session","id":42}"#, None),
            (r#"{"type":"message","id":"a"}"#, None),
            (r#"{"type":"session"}"#, None),
            ("null", None),
        ];
        for (line, id) in table {
            let header = Header::parse(line);
            assert_eq!(header.as_ref().map(Header::session_id), id, "{line}");
            if let Some(header) = header {
                assert_eq!(header.line(), line);
            }
        }
    }

    #[test]
    fn versions_below_three_are_older() {
        let table = [
            ("{}", Version::One),
            (r#"{"version":1}"#, Version::One),
            (r#"{"version":2}"#, Version::Two),
            (r#"{"version":"2"}"#, Version::Two),
            (r#"{"version":3}"#, Version::Three),
            (r#"{"version":9}"#, Version::Three),
            (r#"{"version":"next"}"#, Version::Three),
        ];
        for (json, version) in table {
            let object = json::parse(json).expect(json);
            assert_eq!(Version::of(object.get("version")), version, "{json}");
        }
    }

    #[test]
    fn a_new_header_has_its_keys_in_order() {
        let now = Timestamp::from_millisecond(1_768_469_400_000).expect("in range");
        let header = Header::new(NewSession { id: "s", cwd: "/w", parent: Some("/p.jsonl") }, now);
        assert_eq!(
            header.line(),
            r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w","parentSession":"/p.jsonl"}"#
        );
    }

    #[test]
    fn a_fork_names_the_file_it_comes_from() {
        let header = Header::parse(r#"{"type":"session","id":"a","parentSession":"/s/b.jsonl"}"#).unwrap();
        assert_eq!(header.parent_session(), Some("/s/b.jsonl"));
    }
}
