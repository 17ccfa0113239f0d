//! What transcript files and their copies are called (`transcripts.md` §1.5, §7.3, §7.8).

use jiff::Timestamp;

use super::time;

/// A file that pi names: the time of its header and its session.
pub fn session_file(now: Timestamp, session_id: &str) -> String {
    format!("{}_{session_id}.jsonl", time::iso(now).replace([':', '.'], "-"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveReason {
    /// Replaced by a shorter or a fresh one.
    Backup,
    Deleted,
}

/// What a file is renamed to when it is put away.
pub fn archive(file: &str, reason: ArchiveReason, now: Timestamp) -> String {
    let reason = match reason {
        ArchiveReason::Backup => "bak",
        ArchiveReason::Deleted => "deleted",
    };
    format!("{file}.{reason}.{}", time::iso(now).replace(':', "-"))
}

/// The copy that a repair leaves of the original.
pub fn repair_backup(file: &str, pid: u32, now: Timestamp) -> String {
    format!("{file}.bak-{pid}-{}", now.as_millisecond())
}

/// Where a repair writes before it renames.
pub fn repair_draft(file: &str, pid: u32, now: Timestamp) -> String {
    format!("{file}.repair-{pid}-{}.tmp", now.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_the_time() {
        let now = Timestamp::from_millisecond(1_768_469_400_001).expect("in range");
        assert_eq!(session_file(now, "abc"), "2026-01-15T09-30-00-001Z_abc.jsonl");
        assert_eq!(archive("s.jsonl", ArchiveReason::Backup, now), "s.jsonl.bak.2026-01-15T09-30-00.001Z");
        assert_eq!(
            archive("s.jsonl", ArchiveReason::Deleted, now),
            "s.jsonl.deleted.2026-01-15T09-30-00.001Z"
        );
        assert_eq!(repair_backup("s.jsonl", 7, now), "s.jsonl.bak-7-1768469400001");
        assert_eq!(repair_draft("s.jsonl", 7, now), "s.jsonl.repair-7-1768469400001.tmp");
    }
}
