//! Bringing older files up to date (`transcripts.md` §3).
//!
//! The file is then written anew in full, as JavaScript would write it, so that OpenClaw reads what
//! yabby migrated.

use std::collections::HashSet;

use super::Stamp;
use super::header::{CURRENT_VERSION, Header, Version};
use crate::json::{self, Object, Value};
use crate::text;

/// The current text of an older file; `None` if it is up to date, or no transcript at all.
pub fn migrate(file: &str, stamp: &mut Stamp<'_>) -> Option<Migrated> {
    let lines = || text::trim(file).split('\n').filter(|line| !text::trim(line).is_empty());
    // Most files are up to date; only their first line needs to be read to know.
    let object = |line| json::parse(line).ok().filter(Value::is_object);
    let first = lines().find_map(object)?;
    let header = Header::parse(&json::stringify(&first))?;
    if header.version() == Version::Three {
        return None;
    }
    let mut unreadable = 0;
    // A line that is no object keeps its place: older compactions count lines.
    let mut lines: Vec<Option<Object>> = lines()
        .filter_map(|line| match json::parse(line) {
            Ok(Value::Object(object)) => Some(Some(object)),
            Ok(_) => Some(None),
            Err(_) => {
                unreadable += 1;
                None
            }
        })
        .collect();
    match header.version() {
        Version::Three => return None,
        Version::One => link(&mut lines, Link::Anew, stamp),
        // A tree without a single parent is a list that calls itself a tree.
        Version::Two if !entries(&lines).any(|entry| entry.contains_key("parentId")) => {
            link(&mut lines, Link::KeepingIds, stamp);
        }
        Version::Two => {}
    }
    for line in lines.iter_mut().flatten() {
        if is_header(line) {
            line.insert("version".into(), CURRENT_VERSION.into());
        } else {
            rename_hook_role(line);
        }
    }
    if let Some(first) = lines.iter_mut().flatten().next() {
        // An older shape calls the id `sessionId`; OpenClaw would not know the file.
        if first.get("id").and_then(Value::as_str).is_none() {
            first.insert("id".into(), header.session_id().into());
        }
    }
    let text = lines.iter().flatten().map(|line| json::stringify_object(line) + "\n").collect();
    Some(Migrated { text, unreadable })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    pub text: String,
    /// How many lines could not be read and are not in the new text.
    pub unreadable: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Link {
    /// Every entry gets a new id.
    Anew,
    KeepingIds,
}

/// Makes a chain of a list: every entry hangs from the one before it.
fn link(lines: &mut [Option<Object>], how: Link, stamp: &mut Stamp<'_>) {
    let mut taken = HashSet::new();
    let mut previous = Value::Null;
    for at in 0..lines.len() {
        let Some(entry) = lines[at].as_mut().filter(|entry| !is_header(entry)) else { continue };
        let id = match entry.get("id") {
            Some(id) if how == Link::KeepingIds && json::truthy(id) => id.clone(),
            _ => Value::from(fresh(&taken, stamp)),
        };
        taken.insert(json::stringify(&id));
        entry.insert("id".into(), id.clone());
        entry.insert("parentId".into(), std::mem::replace(&mut previous, id));
        name_first_kept(lines, at);
    }
}

/// The first version of a compaction counted lines, the header included, to the first one kept. A
/// line further down still has its old id, if any.
fn name_first_kept(lines: &mut [Option<Object>], at: usize) {
    let counted =
        |entry: &Object| is_compaction(entry).then(|| entry.get("firstKeptEntryIndex")?.as_f64())?;
    let Some(index) = lines[at].as_ref().and_then(counted) else { return };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and not negative")]
    let position = (index >= 0.0 && index.fract() == 0.0).then_some(index as usize);
    let target = position.and_then(|position| lines.get(position)?.as_ref()).filter(|line| !is_header(line));
    let first_kept = target.map(|target| target.get("id").cloned());
    let Some(compaction) = lines[at].as_mut() else { return };
    match first_kept {
        Some(Some(id)) => {
            compaction.insert("firstKeptEntryId".into(), id);
        }
        Some(None) => {
            compaction.shift_remove("firstKeptEntryId");
        }
        None => {}
    }
    compaction.shift_remove("firstKeptEntryIndex");
}

fn is_compaction(entry: &Object) -> bool {
    entry.get("type").and_then(Value::as_str) == Some("compaction")
}

fn is_header(line: &Object) -> bool {
    line.get("type").and_then(Value::as_str) == Some("session")
}

fn entries(lines: &[Option<Object>]) -> impl Iterator<Item = &Object> {
    lines.iter().flatten().filter(|line| !is_header(line))
}

fn fresh(taken: &HashSet<String>, stamp: &mut Stamp<'_>) -> String {
    for _ in 0..100 {
        let id = text::head(&(stamp.fresh_id)(), 8).into_owned();
        if !taken.contains(&json::stringify(&Value::from(id.as_str()))) {
            return id;
        }
    }
    (stamp.fresh_id)()
}

/// What version 2 called a hook's message is a custom one.
fn rename_hook_role(entry: &mut Object) {
    if entry.get("type").and_then(Value::as_str) != Some("message") {
        return;
    }
    if let Some(Value::Object(message)) = entry.get_mut("message") {
        rename_hook(message);
    }
}

/// What hooks say is called `custom` today.
pub(super) fn rename_hook(message: &mut Object) {
    if message.get("role").and_then(Value::as_str) == Some("hookMessage") {
        message.insert("role".into(), "custom".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn migrated(file: &str) -> Option<Migrated> {
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            format!("{count:08}-0000")
        };
        migrate(file, &mut Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh })
    }

    #[test]
    fn version_one_becomes_a_chain() {
        let file = concat!(
            r#"{"type":"session","id":"s"}"#,
            "\n",
            r#"{"type":"message","id":"old","message":{"role":"hookMessage"}}"#,
            "\n",
            "torn{\n",
            r#"{"type":"compaction","summary":"S","firstKeptEntryIndex":1}"#,
            "\n",
            r#"{"type":"compaction","summary":"T","firstKeptEntryIndex":9}"#,
        );
        let expected = concat!(
            r#"{"type":"session","id":"s","version":3}"#,
            "\n",
            r#"{"type":"message","id":"00000001","message":{"role":"custom"},"parentId":null}"#,
            "\n",
            r#"{"type":"compaction","summary":"S","id":"00000002","parentId":"00000001","firstKeptEntryId":"00000001"}"#,
            "\n",
            r#"{"type":"compaction","summary":"T","id":"00000003","parentId":"00000002"}"#,
            "\n",
        );
        assert_eq!(migrated(file), Some(Migrated { text: expected.to_owned(), unreadable: 1 }));
    }

    #[test]
    fn version_two_is_renamed_and_a_list_is_linked() {
        let tree = "{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n{\"type\":\"x\",\"id\":\"a\",\"parentId\":\"b\",\"n\":1.0}";
        assert_eq!(
            migrated(tree).map(|migrated| migrated.text).as_deref(),
            Some(
                "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"x\",\"id\":\"a\",\"parentId\":\"b\",\"n\":1}\n"
            )
        );
        let list = "{\"type\":\"session\",\"version\":2,\"sessionId\":\"s\"}\n{\"id\":\"a\"}\n{}";
        assert_eq!(
            migrated(list).map(|migrated| migrated.text).as_deref(),
            Some(concat!(
                "{\"type\":\"session\",\"version\":3,\"sessionId\":\"s\",\"id\":\"s\"}\n",
                "{\"id\":\"a\",\"parentId\":null}\n{\"id\":\"00000001\",\"parentId\":\"a\"}\n"
            ))
        );
    }

    #[test]
    fn current_and_foreign_files_are_left_alone() {
        for file in ["", "null", "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}", "{\"type\":\"x\"}"] {
            assert_eq!(migrated(file), None, "{file}");
        }
    }
}
