//! Sessions that begin with the history of another one (`transcripts.md` §4.1, §4.2, §7.8).

use std::collections::{HashMap, HashSet};

use super::Stamp;
use super::entry::{Entry, EntryId, EntryKind};
use super::file::TranscriptFile;
use super::file_name;
use super::header::{Header, NewSession};
use super::tree::{NewEntry, Transcript, UnknownEntry};

/// A new file beside the one it was forked from, and the session it holds. From here on the session
/// is this one: appends go to the new file.
#[derive(Clone, Debug)]
pub struct Fork {
    pub file: TranscriptFile,
    /// The name of the new file.
    pub name: String,
    /// Its text.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Cannot fork: source session file is empty or invalid: {0}")]
pub struct NoSource(pub String);

/// A new session with the branch that leads to `leaf`, and the labels on it. `path` is the file it is
/// forked from.
pub fn branch_off(
    from: &TranscriptFile,
    path: &str,
    leaf: &str,
    stamp: &mut Stamp<'_>,
) -> Result<Fork, UnknownEntry> {
    let branch = from.transcript().branch_to(leaf);
    if branch.is_empty() {
        return Err(UnknownEntry(leaf.to_owned()));
    }
    Ok(with_branch(from, path, &branch, stamp))
}

/// A session for a thread: the branch of the parent, or just a header if the parent is empty.
pub fn thread(parent: &TranscriptFile, path: &str, stamp: &mut Stamp<'_>) -> Fork {
    with_branch(parent, path, &parent.transcript().branch(), stamp)
}

fn with_branch(from: &TranscriptFile, path: &str, branch: &[&Entry], stamp: &mut Stamp<'_>) -> Fork {
    let mut fork = begin(from.cwd(), path, stamp);
    for entry in without_labels(branch) {
        fork.push(entry);
    }
    let on_branch: HashSet<EntryId> = fork.entries().iter().filter_map(Entry::key).cloned().collect();
    let labels = from.transcript().labels();
    for (target, label) in labels.into_iter().filter(|(target, _)| on_branch.contains(*target)) {
        let Some(target) = target.as_text() else { continue };
        let label = NewEntry::Label { target: target.to_owned(), label: Some(label.to_owned()) };
        // The target is on the branch, so it is known.
        let _ = fork.append(label, stamp);
    }
    finish(fork, from.cwd(), stamp)
}

/// The entries of a branch without its labels; what hung from a label hangs from what the label hung
/// from.
fn without_labels(branch: &[&Entry]) -> Vec<Entry> {
    let mut instead_of = HashMap::<&EntryId, Option<&EntryId>>::new();
    let mut kept = Vec::with_capacity(branch.len());
    for entry in branch {
        let parent = entry.parent_key();
        let replaced = parent.and_then(|parent| instead_of.get(parent)).copied();
        if entry.kind() == EntryKind::Label {
            if let Some(id) = entry.key() {
                instead_of.insert(id, replaced.unwrap_or(parent));
            }
            continue;
        }
        kept.push(match replaced {
            Some(ancestor) => entry.with_parent(ancestor),
            None => Entry::parse(&entry.portable_line()).unwrap_or_else(|| (*entry).clone()),
        });
    }
    kept
}

/// A new session in another folder with all entries of a file, of every branch and as they are.
pub fn fork_from(source: &str, path: &str, cwd: &str, stamp: &mut Stamp<'_>) -> Result<Fork, NoSource> {
    let source = Transcript::read(source).ok_or_else(|| NoSource(path.to_owned()))?;
    let header = begin(cwd, path, stamp).header().clone();
    let text = file_text(&header, source.entries());
    let name = file_name::session_file(stamp.now, header.session_id());
    let (file, _) = TranscriptFile::open(Some(&text), cwd, stamp);
    Ok(Fork { file, name, text })
}

fn begin(cwd: &str, path: &str, stamp: &mut Stamp<'_>) -> Transcript {
    let id = (stamp.fresh_id)();
    Transcript::new(Header::new(NewSession { id: &id, cwd, parent: Some(path) }, stamp.now))
}

fn finish(fork: Transcript, cwd: &str, stamp: &Stamp<'_>) -> Fork {
    let text = file_text(fork.header(), fork.entries());
    let name = file_name::session_file(stamp.now, fork.session_id());
    Fork { file: TranscriptFile::on_disk(fork, &text, cwd), name, text }
}

fn file_text(header: &Header, entries: &[Entry]) -> String {
    let mut text = header.line() + "\n";
    for entry in entries {
        text.push_str(entry.line());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    const FILE: &str = concat!(
        r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
        "\n",
        r#"{"type":"label","id":"l","parentId":"a","targetId":"a","label":"one"}"#,
        "\n",
        r#"{"type":"label","id":"m","parentId":"l","targetId":"gone","label":"two"}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"m","message":{"role":"assistant","n":1.0}}"#,
        "\n",
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","n":1.0}}"#,
        "\n",
        r#"{"type":"message","id":"off","parentId":"a","message":{"role":"user"}}"#,
        "\n",
    );

    fn stamped<T>(act: impl FnOnce(&mut Stamp<'_>) -> T) -> T {
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            format!("{count:08}-")
        };
        act(&mut Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh })
    }

    #[test]
    fn a_branch_is_taken_without_its_labels_and_stays_whole() {
        stamped(|stamp| {
            let (from, _) = TranscriptFile::open(Some(FILE), "/cwd", stamp);
            let mut fork = branch_off(&from, "/dir/s.jsonl", "c", stamp).expect("a known leaf");
            assert_eq!(
                fork.text,
                concat!(
                    r#"{"type":"session","version":3,"id":"00000001-","timestamp":"1970-01-01T00:00:00.000Z","cwd":"/w","parentSession":"/dir/s.jsonl"}"#,
                    "\n",
                    r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
                    "\n",
                    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","n":1}}"#,
                    "\n",
                    r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","n":1.0}}"#,
                    "\n",
                    r#"{"type":"label","id":"00000002","parentId":"c","timestamp":"1970-01-01T00:00:00.000Z","targetId":"a","label":"one"}"#,
                    "\n",
                )
            );
            assert_eq!(fork.name, "1970-01-01T00-00-00-000Z_00000001-.jsonl");
            let reread = Transcript::read(&fork.text).expect("a header");
            assert_eq!(reread.context().messages.len(), 3);
            let written = fork.file.append(NewEntry::Message(Message::default()), stamp).expect("appended");
            assert!(written.write.is_some_and(|text| text.contains("\"parentId\":\"00000002\"")));
            let unknown = branch_off(&from, "/dir/s.jsonl", "zz", stamp);
            assert_eq!(unknown.map(|fork| fork.text), Err(UnknownEntry("zz".into())));
        });
    }

    #[test]
    fn a_thread_of_an_empty_parent_has_a_header_only() {
        stamped(|stamp| {
            let (from, _) = TranscriptFile::open(FILE.lines().next(), "/cwd", stamp);
            assert_eq!(thread(&from, "/dir/s.jsonl", stamp).text.lines().count(), 1);
        });
    }

    #[test]
    fn a_copy_has_every_line_as_it_was() {
        stamped(|stamp| {
            let fork = fork_from(FILE, "/dir/s.jsonl", "/elsewhere", stamp).expect("a source");
            assert_eq!(fork.file.transcript().header().cwd(), Some("/elsewhere"));
            let lines: Vec<_> = fork.text.lines().skip(1).collect();
            assert_eq!(lines, FILE.lines().skip(1).collect::<Vec<_>>());
            let none = fork_from("", "/x.jsonl", "/w", stamp).map(|fork| fork.text);
            assert_eq!(
                none.expect_err("no source").to_string(),
                "Cannot fork: source session file is empty or invalid: /x.jsonl"
            );
        });
    }
}
