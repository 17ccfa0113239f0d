//! Paths to a value of the configuration: `agents.list[0].name` (`config.md` §5, `cli.md` §11).

use std::fmt;

use yabby_base::json::{Object, Value};
use yabby_base::text;

/// The keys and indexes that lead to a value. Whether a segment is an index is decided by what it is
/// applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

/// One way down in a document: an object's member or a list's element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("Path is empty.")]
    Empty,
    #[error("Invalid path (missing \"]\"): {0}")]
    Unclosed(String),
    #[error("Invalid path (empty \"[]\"): {0}")]
    NoIndex(String),
}

/// Why there can be no value under a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("Expected numeric index for array segment \"{0}\"")]
    NotAnIndex(String),
    #[error("Cannot set \"{0}\" (parent is not an object)")]
    NotAnObject(String),
    #[error("Cannot set [{index}] of a list of {length}; the next free index is [{length}]")]
    BeyondEnd { index: usize, length: usize },
}

impl KeyPath {
    /// Exactly these keys, whatever is in them.
    pub fn of<'s>(segments: impl IntoIterator<Item = &'s str>) -> Self {
        Self(segments.into_iter().map(str::to_owned).collect())
    }

    /// Segments are parted by dots or stand in brackets; a backslash takes the next character as it is.
    pub fn parse(raw: &str) -> Result<Self, PathError> {
        let mut segments = Vec::new();
        let mut segment = String::new();
        let mut rest = text::trim(raw).chars();
        while let Some(c) = rest.next() {
            match c {
                '\\' => segment.extend(rest.next()),
                '.' => segments.push(std::mem::take(&mut segment)),
                '[' => {
                    segments.push(std::mem::take(&mut segment));
                    let (inside, behind) =
                        rest.as_str().split_once(']').ok_or_else(|| PathError::Unclosed(raw.to_owned()))?;
                    let inside = text::non_blank(inside).ok_or_else(|| PathError::NoIndex(raw.to_owned()))?;
                    segments.push(inside.to_owned());
                    rest = behind.chars();
                }
                c => segment.push(c),
            }
        }
        segments.push(segment);
        let segments: Vec<String> =
            segments.iter().filter_map(|segment| text::non_blank(segment)).map(str::to_owned).collect();
        if segments.is_empty() { Err(PathError::Empty) } else { Ok(Self(segments)) }
    }

    pub fn segments(&self) -> &[String] {
        &self.0
    }

    pub fn get<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, segment| match value {
            Value::Object(object) => object.get(segment),
            Value::Array(items) => items.get(index(segment)?),
            _ => None,
        })
    }

    /// Puts a value there; objects and lists on the way are made, in the place of whatever cannot hold
    /// anything.
    pub fn set(&self, root: &mut Value, value: Value) -> Result<(), SetError> {
        let Some((last, above)) = self.0.split_last() else { return Ok(()) };
        let mut holder = root;
        for (segment, next) in above.iter().zip(self.0.iter().skip(1)) {
            holder = slot(holder, segment)?;
            if !(holder.is_object() || holder.is_array()) {
                *holder =
                    if index(next).is_some() { Value::Array(vec![]) } else { Value::Object(Object::new()) };
            }
        }
        *slot(holder, last)? = value;
        Ok(())
    }

    /// Removes the value; tells whether there was one.
    pub fn unset(&self, root: &mut Value) -> bool {
        let Some((last, above)) = self.0.split_last() else { return false };
        let holder = above.iter().try_fold(root, |value, segment| match value {
            Value::Object(object) => object.get_mut(segment),
            Value::Array(items) => items.get_mut(index(segment)?),
            _ => None,
        });
        match holder {
            Some(Value::Object(object)) => object.shift_remove(last).is_some(),
            Some(Value::Array(items)) => match index(last).filter(|index| *index < items.len()) {
                Some(index) => {
                    items.remove(index);
                    true
                }
                None => false,
            },
            _ => false,
        }
    }
}

/// The place for a value in an object or a list; a new one is null.
fn slot<'v>(holder: &'v mut Value, segment: &str) -> Result<&'v mut Value, SetError> {
    match holder {
        Value::Object(object) => Ok(object.entry(segment).or_insert(Value::Null)),
        Value::Array(items) => {
            let index = index(segment).ok_or_else(|| SetError::NotAnIndex(segment.to_owned()))?;
            let length = items.len();
            if index == length {
                items.push(Value::Null);
            }
            items.get_mut(index).ok_or(SetError::BeyondEnd { index, length })
        }
        _ => Err(SetError::NotAnObject(segment.to_owned())),
    }
}

/// The index that a segment spells.
pub fn index(segment: &str) -> Option<usize> {
    if segment.bytes().all(|byte| byte.is_ascii_digit()) { segment.parse().ok() } else { None }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, segment) in self.0.iter().enumerate() {
            let escaped = segment.replace('\\', "\\\\").replace('.', "\\.").replace('[', "\\[");
            match number {
                _ if index(segment).is_some() => write!(f, "[{segment}]")?,
                0 => f.write_str(&escaped)?,
                _ => write!(f, ".{escaped}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use yabby_base::json;

    use super::*;

    #[test]
    fn dots_and_brackets_part_the_segments() {
        //  path                        segments
        let table: [(&str, &[&str]); 8] = [
            ("gateway.port", &["gateway", "port"]),
            (" agents.list[0].name ", &["agents", "list", "0", "name"]),
            ("a[ x ]", &["a", "x"]),
            ("a[b.c]", &["a", "b.c"]),
            ("models.gpt-5\\.2.alias", &["models", "gpt-5.2", "alias"]),
            ("a..b.", &["a", "b"]),
            ("a. b .c", &["a", "b", "c"]),
            ("a\\", &["a"]),
        ];
        for (raw, segments) in table {
            let path = KeyPath::parse(raw).unwrap();
            assert_eq!(path.segments(), segments, "{raw}");
            assert_eq!(KeyPath::parse(&path.to_string()), Ok(path), "{raw}");
        }
        for (raw, error) in [
            ("", "Path is empty."),
            (" . ", "Path is empty."),
            ("a[0", "Invalid path (missing \"]\"): a[0"),
            ("a[ ]", "Invalid path (empty \"[]\"): a[ ]"),
        ] {
            assert_eq!(KeyPath::parse(raw).unwrap_err().to_string(), error, "{raw}");
        }
    }

    #[test]
    fn values_are_found_put_and_removed() {
        let root = json::parse(r#"{"a":{"b":[1,{"c":2}]},"s":"x"}"#).unwrap();
        let path = |raw| KeyPath::parse(raw).unwrap();
        let got = |raw| path(raw).get(&root).map(json::stringify);
        assert_eq!(got("a.b[1].c").as_deref(), Some("2"));
        assert_eq!(got("a.b.01.c").as_deref(), Some("2"));
        assert_eq!((got("a.b[2]"), got("a.b.x"), got("s.x"), got("n")), (None, None, None, None));

        //  path        result of setting it to 7, or why not
        let table = [
            ("a.b[0]", Ok(r#"{"a":{"b":[7,{"c":2}]},"s":"x"}"#)),
            ("a.b[2]", Ok(r#"{"a":{"b":[1,{"c":2},7]},"s":"x"}"#)),
            ("s.t", Ok(r#"{"a":{"b":[1,{"c":2}]},"s":{"t":7}}"#)),
            ("n[0].m", Ok(r#"{"a":{"b":[1,{"c":2}]},"s":"x","n":[{"m":7}]}"#)),
            ("a.b.x", Err("Expected numeric index for array segment \"x\"")),
            ("a.b[9]", Err("Cannot set [9] of a list of 2; the next free index is [2]")),
        ];
        for (raw, expected) in table {
            let mut root = root.clone();
            let set = path(raw).set(&mut root, 7.into()).map(|()| json::stringify(&root));
            assert_eq!(
                set.map_err(|error| error.to_string()).as_deref(),
                expected.map_err(str::to_owned).as_deref()
            );
        }

        for (raw, expected) in [
            ("a.b[0]", Some(r#"{"a":{"b":[{"c":2}]},"s":"x"}"#)),
            ("a", Some(r#"{"s":"x"}"#)),
            ("a.b[2]", None),
            ("s.x", None),
        ] {
            let mut root = root.clone();
            let removed = path(raw).unset(&mut root).then(|| json::stringify(&root));
            assert_eq!(removed.as_deref(), expected, "{raw}");
        }
    }
}
