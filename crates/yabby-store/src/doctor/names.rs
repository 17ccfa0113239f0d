//! What the files of a sessions folder are, by their names (`sessions.md` §5, §6, `transcripts.md` §1.5, §7).

use uuid::Uuid;
use yabby_domain::transcript::file_name::TranscriptId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Store,
    StoreJournal,
    /// Changes that belong nowhere.
    Unapplied,
    StoreLock,
    /// Which conversations its keys had before.
    EarlierSessions,
    Transcript(TranscriptId),
    /// Called like a transcript, but nobody would open it.
    Unsafe,
    TranscriptJournal(TranscriptId),
    TranscriptLock(TranscriptId),
    /// Half-way to another file, and who wrote it.
    Draft {
        of: String,
        pid: i64,
    },
    /// Put away or kept: by either program, or by us.
    Archive,
    /// What an earlier program wrote beside a transcript.
    Metadata,
    Foreign,
}

/// What a name means beside stores of these names.
pub(super) fn meaning(name: &str, stores: &[&str]) -> Name {
    if let Some((of, pid)) = draft(name) {
        return Name::Draft { of: of.to_owned(), pid };
    }
    for store in stores {
        match name.strip_prefix(store) {
            Some("") => return Name::Store,
            Some(".journal") => return Name::StoreJournal,
            Some(".unapplied") => return Name::Unapplied,
            Some(".lock") => return Name::StoreLock,
            Some(".earlier") => return Name::EarlierSessions,
            Some(rest) if is_archive(rest) || rest.strip_prefix(".journal").is_some_and(is_archive) => {
                return Name::Archive;
            }
            _ => {}
        }
    }
    let Some((id, ending)) = name.rsplit_once(".jsonl") else {
        return if name.ends_with(".json") { Name::Metadata } else { Name::Foreign };
    };
    if ending.is_empty() && TranscriptId::of_file(name).is_err() {
        return Name::Unsafe;
    }
    let Ok(transcript) = TranscriptId::of_file(&format!("{id}.jsonl")) else { return Name::Foreign };
    match ending {
        "" => Name::Transcript(transcript),
        ".journal" => Name::TranscriptJournal(transcript),
        ".lock" => Name::TranscriptLock(transcript),
        _ if is_archive(ending) || ending.strip_prefix(".journal").is_some_and(is_archive) => Name::Archive,
        _ => Name::Foreign,
    }
}

fn is_archive(ending: &str) -> bool {
    [".bak", ".deleted.", ".reset.", ".damaged-", ".set-aside-"].iter().any(|kind| ending.starts_with(kind))
}

/// What a draft is going to be, and who writes it: `<file>.<pid>.<uuid>.tmp`, or as OpenClaw's repair calls
/// it, `<file>.repair-<pid>-<milliseconds>.tmp`.
pub(super) fn draft(name: &str) -> Option<(&str, i64)> {
    let name = name.strip_suffix(".tmp")?;
    let (rest, last) = name.rsplit_once('.')?;
    if let Some((pid, _)) = last.strip_prefix("repair-").and_then(|repair| repair.split_once('-')) {
        return Some((rest, pid.parse().ok()?));
    }
    Uuid::try_parse(last).ok()?;
    let (of, pid) = rest.rsplit_once('.')?;
    Some((of, pid.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_what_a_file_is() {
        let id = |name: &str| TranscriptId::new(name, None).unwrap();
        let uuid = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
        let draft = |of: &str| Name::Draft { of: of.to_owned(), pid: 42 };
        let table = [
            ("sessions.json".to_owned(), Name::Store),
            ("sessions.json.journal".to_owned(), Name::StoreJournal),
            ("sessions.json.journal.damaged-17".to_owned(), Name::Archive),
            ("sessions.json.unapplied".to_owned(), Name::Unapplied),
            ("sessions.json.lock".to_owned(), Name::StoreLock),
            ("sessions.json.earlier".to_owned(), Name::EarlierSessions),
            ("sessions.json.bak.2026".to_owned(), Name::Archive),
            ("sessions.json.damaged-0a1b".to_owned(), Name::Archive),
            (format!("sessions.json.42.{uuid}.tmp"), draft("sessions.json")),
            (format!("sessions.json.lock.42.{uuid}.tmp"), draft("sessions.json.lock")),
            (format!("a.jsonl.42.{uuid}.tmp"), draft("a.jsonl")),
            ("a.jsonl.repair-42-1700.tmp".to_owned(), draft("a.jsonl")),
            ("a.jsonl".to_owned(), Name::Transcript(id("a"))),
            ("a-topic-7.jsonl".to_owned(), Name::Transcript(id("a-topic-7"))),
            ("a.jsonl.journal".to_owned(), Name::TranscriptJournal(id("a"))),
            ("a.jsonl.journal.bak.2026".to_owned(), Name::Archive),
            ("a.jsonl.lock".to_owned(), Name::TranscriptLock(id("a"))),
            ("a.jsonl.deleted.2026-01-15T09-30-00.000Z".to_owned(), Name::Archive),
            ("a.jsonl.reset.2026".to_owned(), Name::Archive),
            ("a.jsonl.bak-7-1700".to_owned(), Name::Archive),
            ("a.jsonl.set-aside-0a1b".to_owned(), Name::Archive),
            ("a.json".to_owned(), Name::Metadata),
            (".hidden.jsonl".to_owned(), Name::Unsafe),
            ("notes.txt".to_owned(), Name::Foreign),
            ("a.jsonl~".to_owned(), Name::Foreign),
            ("a.tmp".to_owned(), Name::Foreign),
        ];
        for (name, expected) in table {
            assert_eq!(meaning(&name, &["sessions.json"]), expected, "{name}");
        }
    }
}
