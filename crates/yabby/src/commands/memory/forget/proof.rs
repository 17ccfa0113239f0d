//! Whether anything is left of what was forgotten: every file that an agent's memory is made of, or was, is
//! read byte by byte.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::transcript::entry::Entry;
use yabby_memory::compat::paths::extra_paths;

use super::super::Desk;
use crate::wire::memory::AgentMemory;

/// Fewer characters are everywhere, and prove nothing.
const SHORTEST: usize = 4;

/// An index keeps long texts in pieces. So many bytes of one are its own.
const PIECE: usize = 48;

/// More places in one file are not told.
const MOST_PLACES: usize = 5;

pub(super) struct Proof {
    pub(super) searched: usize,
    pub(super) traces: Vec<Trace>,
    /// Whether there was anything long enough to be looked for.
    pub(super) was_possible: bool,
}

/// Where something still stands.
pub(super) struct Trace {
    pub(super) path: PathBuf,
    pub(super) line: Option<usize>,
    /// What it is there.
    pub(super) what: String,
}

impl Proof {
    pub(super) fn of(desk: &Desk<'_>, kept: &AgentMemory, needles: &[String]) -> Self {
        let needles: BTreeSet<String> = needles
            .iter()
            .filter(|needle| needle.chars().count() >= SHORTEST)
            .map(|needle| needle.to_lowercase())
            .collect();
        let mut proof = Self { searched: 0, traces: Vec::new(), was_possible: !needles.is_empty() };
        if !proof.was_possible {
            return proof;
        }
        for file in files(desk, kept) {
            let Ok(bytes) = fs::read(&file) else {
                proof.traces.push(Trace { path: file, line: None, what: "it cannot be read".to_owned() });
                continue;
            };
            proof.searched += 1;
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            match bytes.starts_with(b"SQLite format 3") || is_log(&file) {
                true => proof.look_into_index(&file, &text, &needles),
                false => proof.look_into_text(&file, &text, &needles),
            }
        }
        proof
    }

    fn look_into_index(&mut self, file: &Path, text: &str, needles: &BTreeSet<String>) {
        if needles.iter().flat_map(|needle| pieces(needle)).any(|piece| !places(text, piece).is_empty()) {
            self.traces.push(Trace { path: file.to_owned(), line: None, what: "an index".to_owned() });
        }
    }

    fn look_into_text(&mut self, file: &Path, text: &str, needles: &BTreeSet<String>) {
        let spelt = needles.iter().flat_map(|needle| spellings(needle));
        let places: BTreeSet<usize> = spelt
            .flat_map(|needle| text.match_indices(&needle).map(|(at, _)| at).collect::<Vec<_>>())
            .collect();
        let lines: BTreeSet<usize> = places.into_iter().map(|at| text[..at].matches('\n').count()).collect();
        for line in lines.into_iter().take(MOST_PLACES) {
            let what = kind_of(file, text.lines().nth(line).unwrap_or_default());
            self.traces.push(Trace { path: file.to_owned(), line: Some(line + 1), what });
        }
    }

    pub(super) fn json(&self) -> Value {
        let trace = |trace: &Trace| json!({"path": trace.path.display().to_string(), "line": trace.line, "what": trace.what});
        json!({
            "noTraceLeft": self.was_possible && self.traces.is_empty(),
            "searched": self.searched,
            "traces": self.traces.iter().map(trace).collect::<Vec<_>>(),
        })
    }
}

/// Every file in which something of the agent's memory stands, or may.
fn files(desk: &Desk<'_>, kept: &AgentMemory) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    if let Some(folder) = kept.transcripts.parent() {
        walk(folder, &mut files);
    }
    walk(&desk.setting.place.folder.turns(), &mut files);
    for name in ["MEMORY.md", "memory.md", "memory"] {
        walk(&kept.workspace.join(name), &mut files);
    }
    for place in extra_paths(&kept.workspace.to_string_lossy(), &kept.settings.extra_paths) {
        walk(Path::new(&place), &mut files);
    }
    for index in [kept.memory.recall().path(), Path::new(&kept.settings.store.path)] {
        walk_beside(index, &mut files);
    }
    files
}

/// A file, or all files in a folder; links are not followed.
fn walk(place: &Path, files: &mut BTreeSet<PathBuf>) {
    let Ok(about) = fs::symlink_metadata(place) else { return };
    if about.is_file() {
        files.insert(place.to_owned());
    } else if about.is_dir() {
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            walk(&entry.path(), files);
        }
    }
}

/// An index with its log, and the damaged ones and drafts that were left beside it.
fn walk_beside(index: &Path, files: &mut BTreeSet<PathBuf>) {
    let Some((folder, name)) = index.parent().zip(index.file_name()) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(name.as_encoded_bytes()) {
            walk(&entry.path(), files);
        }
    }
}

/// Whether a file is what SQLite writes beside an index.
fn is_log(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    ["-wal", "-shm", "-journal"].iter().any(|ending| name.ends_with(ending))
}

/// Where some words stand. Among the digits of a hash or an id everything turns up by chance.
fn places(text: &str, words: &str) -> Vec<usize> {
    const SHORTEST_HASH: usize = 32;
    let is_digit = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b'-';
    let is_in_hash = |at: usize| {
        let (before, after) = text.as_bytes().split_at(at);
        let run =
            before.iter().rev().take_while(is_digit).count() + after.iter().take_while(is_digit).count();
        words.bytes().all(|byte| is_digit(&&byte)) && run >= SHORTEST_HASH
    };
    text.match_indices(words).map(|(at, _)| at).filter(|at| !is_in_hash(*at)).collect()
}

/// A text as it may stand in a file: as it is, in JSON, and in JSON within JSON.
fn spellings(needle: &str) -> BTreeSet<String> {
    let quoted = |text: &str| {
        let written = json::stringify(&Value::from(text));
        written[1..written.len() - 1].to_owned()
    };
    let once = quoted(needle);
    let twice = quoted(&once);
    BTreeSet::from([needle.to_owned(), once, twice])
}

/// A text in pieces that an index keeps together.
fn pieces(needle: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = needle;
    while rest.len() > PIECE {
        let end = (1..=PIECE).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    // A short end is no proof of anything, unless it is all there is.
    if pieces.is_empty() || rest.len() > PIECE / 2 {
        pieces.push(rest);
    }
    pieces
}

/// What a line of a file is.
fn kind_of(file: &Path, line: &str) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if !name.contains(".jsonl") {
        return "a file".to_owned();
    }
    let kind = Entry::parse(line).map(|entry| entry.object());
    let kind = kind.as_ref().and_then(|entry| {
        entry.get("message").and_then(|message| message.get("role")).or_else(|| entry.get("type"))?.as_str()
    });
    let kind = kind.unwrap_or("a line").to_owned();
    match name.ends_with(".jsonl") || name.ends_with(".journal") {
        true => kind,
        false => format!("{kind}, in a copy that was put away"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_for_as_it_may_be_written() {
        let spelt = spellings("say \"hi\"");
        assert!(spelt.contains(r#"say \"hi\""#) && spelt.contains(r#"say \\\"hi\\\""#), "{spelt:?}");
        assert_eq!(spellings("plain").len(), 1);
        let long = "é".repeat(60);
        let pieces = pieces(&long);
        assert_eq!(pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>(), [48, 48]);
        assert_eq!(super::pieces("short"), ["short"]);
    }

    #[test]
    fn digits_of_an_id_are_no_trace() {
        let id = "5d1c4711-6f0e-4c52-9a35-2b1f0c6f8e11";
        assert_eq!(places(id, "4711"), Vec::<usize>::new());
        assert_eq!(places(&format!("{id} is 4711"), "4711"), [id.len() + 4]);
        assert_eq!(places("user4711 is it", "4711"), [4]);
    }
}
