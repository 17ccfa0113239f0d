//! Making a damaged transcript whole again (`transcripts.md` §2, §7.3, §9).
//!
//! What stays is kept byte for byte; what has no place in a transcript is set aside, and never dropped. The
//! result is a file that the reference opens without wiping it, and whose conversation is as long as the
//! lines allow: an entry whose parent is lost hangs from the one before it, one that was given a name that
//! is taken gets one of its own, and no entry is its own ancestor.

use std::collections::{HashMap, HashSet};

use super::entry::{Entry, EntryId, EntryKind};
use super::header::{Header, NewSession, Version};
use super::{Stamp, damage};
use crate::json::Value;
use crate::text;

/// What is to be done about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    Nothing,
    /// Put this in its place.
    Replace(Mended),
    /// It holds something, but nothing of a conversation: put it away before somebody begins one there.
    PutAway,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    pub text: Vec<u8>,
    /// Lines that cannot be read, and such that stood there before; each ended by a line feed.
    pub aside: Vec<u8>,
    /// What was done, in a few words each.
    pub done: Vec<String>,
}

/// Decides over the bytes of a file; `session` is what to call it if it does not say so itself.
pub fn mend(file: &[u8], session: NewSession<'_>, stamp: &mut Stamp<'_>) -> Mend {
    let file = text_of(file);
    let (mut lines, aside) = sort_out(file);
    if lines.is_empty() {
        return if aside.is_empty() { Mend::Nothing } else { Mend::PutAway };
    }
    let mut done = Vec::new();
    if !aside.is_empty() {
        done.push(counted(aside.len(), "line that cannot be read or stood there before", "set aside"));
    }
    let Some(version) = put_header_first(&mut lines, session, stamp, &mut done) else { return Mend::PutAway };
    if version == Version::Three {
        done.extend(mend_links(&mut lines, stamp));
    }
    let text: Vec<u8> = lines.iter().flat_map(|line| [line.bytes.as_slice(), b"\n"].concat()).collect();
    if aside.is_empty() && without_blank_lines(file) == text && file.ends_with(b"\n") {
        return Mend::Nothing;
    }
    if done.is_empty() {
        done.push("the last line was ended".to_owned());
    }
    let aside = aside.iter().flat_map(|line| [line, b"\n".as_slice()].concat()).collect();
    Mend::Replace(Mended { text, aside, done })
}

/// A line that stays.
struct Line {
    bytes: Vec<u8>,
    entry: Entry,
}

impl Line {
    /// The line with another value in a field.
    fn set(&mut self, field: &str, value: Value) {
        let mut object = self.entry.object();
        object.insert(field.to_owned(), value);
        self.entry = Entry::from_object(object);
        self.bytes = self.entry.line().as_bytes().to_vec();
    }

    /// Whether it can be changed: of one that is nested too deep not even its fields are known.
    fn is_readable(&self) -> bool {
        !self.entry.object().is_empty()
    }
}

/// The file without the white space around it, which readers do not see, but for a last line feed.
fn text_of(file: &[u8]) -> &[u8] {
    let file = file.get(damage::leading_space(file)..).unwrap_or_default();
    if file.ends_with(b"\n") {
        return file;
    }
    let last = file.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let visible = match std::str::from_utf8(last) {
        Ok(last) => text::trim_end(last).len(),
        Err(_) => last.len(),
    };
    file.get(..file.len() - last.len() + visible).unwrap_or(file)
}

/// The lines that hold entries, and the others. A line that stands there twice, name and all, is seen once.
fn sort_out(file: &[u8]) -> (Vec<Line>, Vec<&[u8]>) {
    let (mut lines, mut aside) = (Vec::<Line>::new(), Vec::new());
    let mut seen = HashSet::<&[u8]>::new();
    for bytes in non_blank_lines(file) {
        let read = text::lossy(bytes);
        match Entry::parse(&read) {
            Some(entry) if entry.key().is_none() || seen.insert(bytes) => {
                lines.push(Line { bytes: bytes.to_vec(), entry });
            }
            _ => aside.push(bytes),
        }
    }
    (lines, aside)
}

fn non_blank_lines(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.split(|byte| *byte == b'\n').filter(|line| !text::trim(&text::lossy(line)).is_empty())
}

fn without_blank_lines(file: &[u8]) -> Vec<u8> {
    non_blank_lines(file).flat_map(|line| [line, b"\n".as_slice()].concat()).collect()
}

/// Makes sure that the first line is a header; the version of the file, or `None` if nothing in it belongs
/// to a conversation.
fn put_header_first(
    lines: &mut Vec<Line>,
    session: NewSession<'_>,
    stamp: &Stamp<'_>,
    done: &mut Vec<String>,
) -> Option<Version> {
    let header_on = |line: &Line| Header::parse(line.entry.line());
    if let Some(header) = lines.first().and_then(header_on) {
        return Some(header.version());
    }
    if let Some(at) = lines.iter().position(|line| header_on(line).is_some()) {
        let line = lines.remove(at);
        let version = header_on(&line).map(|header| header.version());
        lines.insert(0, line);
        done.push("the header was put first".to_owned());
        return version;
    }
    if lines.iter().all(|line| line.entry.kind() == EntryKind::Unknown) {
        return None;
    }
    let mut header = Header::new(session, stamp.now).object().clone();
    let mut version = Version::Three;
    if lines.iter().all(|line| line.entry.key().is_none()) {
        // Lines without names are a list, which the reference puts in order if the header says so.
        header.insert("version".into(), 1.into());
        version = Version::One;
    }
    let entry = Entry::from_object(header);
    lines.insert(0, Line { bytes: entry.line().as_bytes().to_vec(), entry });
    done.push("a header was put in front".to_owned());
    Some(version)
}

/// Gives every entry a name of its own and a parent that is there.
fn mend_links(lines: &mut [Line], stamp: &mut Stamp<'_>) -> Vec<String> {
    let (renamed, taken) = give_own_names(lines, stamp);
    let mut rehung = hang_from_what_is_there(lines, &taken);
    rehung += break_circles(lines);
    let mut done = Vec::new();
    if renamed > 0 {
        done.push(counted(renamed, "entry whose id was taken", "given one of its own"));
    }
    if rehung > 0 {
        done.push(counted(rehung, "entry whose parent is not there", "hung from the one before it"));
    }
    done
}

/// Of entries with one id the later ones get a new one, and so do those that refer to them: an entry can
/// only have meant what stood there before it. How many, and all ids there are then.
fn give_own_names(lines: &mut [Line], stamp: &mut Stamp<'_>) -> (usize, HashSet<EntryId>) {
    /// Fields that name another entry.
    const REFERENCES: [&str; 4] = ["parentId", "firstKeptEntryId", "targetId", "fromId"];
    let mut taken: HashSet<EntryId> = lines.iter().filter_map(|line| line.entry.key().cloned()).collect();
    let mut seen = HashSet::<EntryId>::new();
    let mut now_called = HashMap::<EntryId, String>::new();
    let mut renamed = 0;
    for line in lines.iter_mut().skip(1) {
        if !now_called.is_empty() && line.is_readable() {
            for field in REFERENCES {
                let refers_to = line.entry.object().get(field).and_then(EntryId::of_value);
                if let Some(name) = refers_to.and_then(|id| now_called.get(&id)) {
                    let name = Value::from(name.as_str());
                    line.set(field, name);
                }
            }
        }
        let Some(id) = line.entry.key().cloned() else { continue };
        if seen.insert(id.clone()) || !line.is_readable() {
            continue;
        }
        let name = free_name(&taken, stamp);
        line.set("id", Value::from(name.as_str()));
        taken.insert(EntryId::from(name.as_str()));
        now_called.insert(id, name);
        renamed += 1;
    }
    (renamed, taken)
}

fn free_name(taken: &HashSet<EntryId>, stamp: &mut Stamp<'_>) -> String {
    loop {
        let fresh = (stamp.fresh_id)();
        let short = fresh.get(..8).unwrap_or(&fresh).to_owned();
        if let Some(free) =
            [short, fresh].into_iter().find(|name| !taken.contains(&EntryId::from(name.as_str())))
        {
            return free;
        }
    }
}

/// An entry whose parent is nowhere hangs from the one before it; the first one stays a beginning.
fn hang_from_what_is_there(lines: &mut [Line], names: &HashSet<EntryId>) -> usize {
    let mut rehung = 0;
    let mut before: Option<EntryId> = None;
    for line in lines.iter_mut().skip(1) {
        let is_lost = line.entry.parent_key().is_some_and(|parent| !names.contains(parent));
        if let Some(before) = before.as_ref().filter(|_| is_lost && line.is_readable()) {
            line.set("parentId", before.to_value());
            rehung += 1;
        }
        if line.entry.kind() != EntryKind::Session {
            before = line.entry.key().cloned().or(before);
        }
    }
    rehung
}

/// Where entries are each other's ancestors, the first of them in the file hangs from the one before it.
fn break_circles(lines: &mut [Line]) -> usize {
    let mut broken = 0;
    // Few files have a circle, and none needs more; without patience it becomes a beginning.
    let mut patience = lines.len().saturating_mul(8);
    let places: HashMap<EntryId, usize> =
        (1..lines.len()).filter_map(|at| Some((lines[at].entry.key()?.clone(), at))).collect();
    let mut walked_by = vec![0; lines.len()];
    for start in 1..lines.len() {
        let mut path = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next.filter(|at| walked_by[*at] == 0) {
            walked_by[at] = start;
            path.push(at);
            next = lines[at].entry.parent_key().and_then(|parent| places.get(parent)).copied();
        }
        let Some(again) = next.filter(|at| walked_by[*at] == start) else { continue };
        let circle = path.iter().skip_while(|at| **at != again);
        let Some(first) = circle.copied().min().filter(|at| lines[*at].is_readable()) else { continue };
        let before = (1..first).rev().find(|at| {
            lines[*at].entry.key().is_some() && !hangs_from(lines, &places, *at, first, &mut patience)
        });
        let before = before.and_then(|at| lines[at].entry.key()).map_or(Value::Null, EntryId::to_value);
        lines[first].set("parentId", before);
        broken += 1;
    }
    broken
}

/// Whether one entry is below another one; also if that would take too long to find out.
fn hangs_from(
    lines: &[Line],
    places: &HashMap<EntryId, usize>,
    mut at: usize,
    ancestor: usize,
    patience: &mut usize,
) -> bool {
    while at != ancestor {
        let Some(left) = patience.checked_sub(1) else { return true };
        *patience = left;
        let above = lines[at].entry.parent_key().and_then(|parent| places.get(parent)).copied();
        let Some(above) = above else { return false };
        at = above;
    }
    true
}

fn counted(count: usize, what: &str, done: &str) -> String {
    match (count, what.split_once(' ')) {
        (1, _) | (_, None) => format!("{count} {what} was {done}"),
        (_, Some((noun, rest))) => {
            let plural = if noun == "entry" { "entries".to_owned() } else { format!("{noun}s") };
            format!("{count} {plural} {rest} were {done}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z"}"#;

    fn mended(lines: &[&str], end: &str) -> Mend {
        let file = format!("{}{end}", lines.join("\n"));
        let mut count = 0;
        let mut fresh_id = || {
            count += 1;
            format!("{count:08x}-fresh")
        };
        let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
        let session = NewSession { id: "named", cwd: "/w", parent: None };
        let mend = mend(file.as_bytes(), session, &mut stamp);
        if let Mend::Replace(mended) = &mend {
            // Once is enough, and what is left is sound but for a beginning without its parent.
            assert_eq!(super::mend(&mended.text, session, &mut stamp), Mend::Nothing, "{file}");
            let left = damage::inspect(&mended.text);
            assert!(left.iter().all(|damage| damage.line <= 2), "{file}\n{left:?}");
        }
        mend
    }

    /// The lines of the mended file, and those that are set aside.
    fn lines_of(mend: &Mend) -> (Vec<String>, Vec<String>) {
        let lines = |bytes: &[u8]| text::lossy(bytes).lines().map(str::to_owned).collect();
        match mend {
            Mend::Replace(mended) => (lines(&mended.text), lines(&mended.aside)),
            other => panic!("{other:?}"),
        }
    }

    fn entry(id: &str, parent: &str) -> String {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"x":1.0}}"#)
    }

    #[test]
    fn a_sound_file_is_left_alone() {
        let (a, b) = (entry("a", ""), entry("b", "a"));
        assert_eq!(mended(&[HEADER, &a, "", &b], "\n"), Mend::Nothing);
        assert_eq!(mended(&["\u{feff}", HEADER, &a], "\r\n"), Mend::Nothing);
        assert_eq!(mended(&[], ""), Mend::Nothing);
        let old = r#"{"type":"session","id":"s"}"#;
        assert_eq!(mended(&[old, r#"{"type":"message"}"#, r#"{"type":"message"}"#], "\n"), Mend::Nothing);
        // Where a conversation begins in the middle, nothing stands before it.
        assert_eq!(mended(&[HEADER, &entry("b", "gone")], "\n"), Mend::Nothing);
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let (a, b) = (entry("a", ""), entry("b", "a"));
        for bad in ["{\"torn", "null", "7", "[]", "\u{0}\u{0}"] {
            let (text, aside) = lines_of(&mended(&[HEADER, &a, bad, &b], "\n"));
            assert_eq!((text, aside), (vec![HEADER.to_owned(), a.clone(), b.clone()], vec![bad.to_owned()]));
        }
        let (text, aside) = lines_of(&mended(&[HEADER, &a, "{\"id"], ""));
        assert_eq!((text.len(), aside), (2, vec!["{\"id".to_owned()]));
        let (text, aside) = lines_of(&mended(&[HEADER, &a, &b], ""));
        assert_eq!((text.len(), aside), (3, vec![]));
        // The same line again would make the conversation end there.
        let (text, aside) = lines_of(&mended(&[HEADER, &a, &b, &a], "\n"));
        assert_eq!((text.len(), aside), (3, vec![a.clone()]));
        for nothing in ["garbage", "null\n[]", r#"{"level":"info"}"#] {
            assert_eq!(mended(&[nothing], "\n"), Mend::PutAway, "{nothing}");
        }
    }

    #[test]
    fn a_file_gets_its_header_back() {
        let (a, b) = (entry("a", ""), entry("b", "a"));
        let (text, _) = lines_of(&mended(&[&a, &b], "\n"));
        assert!(text[0].contains(r#""id":"named""#) && text[1..] == [a.clone(), b.clone()], "{text:?}");
        let nameless = r#"{"type":"message","message":{"role":"user","content":"hello"}}"#;
        let (text, _) = lines_of(&mended(&[nameless, nameless], "\n"));
        assert!(text[0].contains(r#""version":1"#) && text[1..] == [nameless, nameless], "{text:?}");
        let (text, _) = lines_of(&mended(&[&a, HEADER, &b], "\n"));
        assert_eq!(text, [HEADER, &a, &b]);
        let (text, _) = lines_of(&mended(&["null", HEADER, &a], "\n"));
        assert_eq!(text, [HEADER, &a]);
    }

    #[test]
    fn every_entry_has_a_name_and_a_parent_of_its_own() {
        let parents = |lines: &[&str]| -> Vec<String> {
            let (text, _) = lines_of(&mended(lines, "\n"));
            let told = |line: &String| {
                let entry = Entry::parse(line).unwrap();
                format!("{}<{}", entry.id().unwrap_or("-"), entry.parent_id().unwrap_or("-"))
            };
            text[1..].iter().map(told).collect()
        };
        let (a, b) = (entry("a", ""), entry("b", "a"));
        // A lost line in the middle.
        assert_eq!(parents(&[HEADER, &a, &entry("c", "b"), &entry("d", "c")]), ["a<-", "c<a", "d<c"]);
        // The same id again, with others that hang from it.
        assert_eq!(
            parents(&[HEADER, &a, &b, &entry("a", "b"), &entry("c", "a")]),
            ["a<-", "b<a", "00000001<b", "c<00000001"]
        );
        // Circles: of one, of two, behind a beginning.
        assert_eq!(parents(&[HEADER, &entry("a", "a"), &b]), ["a<-", "b<a"]);
        assert_eq!(parents(&[HEADER, &a, &entry("c", "d"), &entry("d", "c")]), ["a<-", "c<a", "d<c"]);
        assert_eq!(
            parents(&[HEADER, &entry("x", "d"), &entry("c", "d"), &entry("d", "c")]),
            ["x<d", "c<-", "d<c"]
        );
    }
}
