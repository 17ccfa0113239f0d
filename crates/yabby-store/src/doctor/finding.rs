//! What can be found in a state folder, and what it means for whoever owns it.

use std::path::PathBuf;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub code: Code,
    pub path: PathBuf,
    /// What it is, in a sentence.
    pub what: String,
    /// The lines that it is about, counted from one; of many the first ones.
    pub lines: Vec<usize>,
    /// Somebody else is at work there, so that it cannot be repaired now.
    pub held_by: Option<i64>,
}

impl Finding {
    pub(super) fn new(code: Code, path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self { code, path: path.into(), what: what.into(), lines: Vec::new(), held_by: None }
    }

    /// Whether `--fix` does something about it.
    pub fn is_fixable(&self) -> bool {
        self.code.is_fixable() && self.held_by.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something should be done, but everything is there.
    Warning,
    /// Something cannot be read, or is about to be lost.
    Damage,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Damage => "damage",
        }
    }
}

/// What a finding is about, in the order in which findings are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    Folder,
    Config,
    Permissions,
    Stores,
    Journals,
    Transcripts,
    Locks,
    Leftovers,
    OtherFiles,
}

impl Area {
    pub const ALL: [Self; 9] = [
        Self::Folder,
        Self::Config,
        Self::Permissions,
        Self::Stores,
        Self::Journals,
        Self::Transcripts,
        Self::Locks,
        Self::Leftovers,
        Self::OtherFiles,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Config => "config",
            Self::Permissions => "permissions",
            Self::Stores => "stores",
            Self::Journals => "journals",
            Self::Transcripts => "transcripts",
            Self::Locks => "locks",
            Self::Leftovers => "leftovers",
            Self::OtherFiles => "other-files",
        }
    }
}

macro_rules! codes {
    ($($variant:ident $name:literal $area:ident $severity:ident $fix:ident $remedy:literal;)*) => {
        /// The kinds of findings. Their names are stable: scripts may look for them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($variant,)* }

        impl Code {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub fn area(self) -> Area {
                match self { $(Self::$variant => Area::$area,)* }
            }

            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }

            /// What can be recovered, and how.
            pub fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)* }
            }

            fn is_fixable(self) -> bool {
                match self { $(Self::$variant => codes!(@$fix),)* }
            }
        }
    };
    (@fixed) => { true };
    (@left) => { false };
}

codes! {
    FolderMissing "folder-missing" Folder Note left "It is made when something is first written.";
    FolderUnreadable "folder-unreadable" Folder Damage left "Check who owns it and its permissions.";
    FolderOutside "folder-outside" Folder Warning left "It is not examined. Move the folder here, or name it in `session.store`.";
    ReadOnly "file-system-read-only" Folder Damage left "Nothing can be written until it is mounted for writing.";
    SpaceLow "space-low" Folder Warning left "Free some space before a message cannot be written.";

    ConfigUnreadable "config-unreadable" Config Damage left "Correct the file by hand; it is left as it is.";
    ConfigInvalid "config-invalid" Config Damage left "Correct the value by hand; `yabby config validate` names its line.";
    ConfigUnknownKey "config-unknown-key" Config Damage fixed "No command runs with it. Check its spelling; --fix makes it a comment.";
    ConfigLegacyKey "config-legacy-key" Config Damage fixed "--fix gives it its present name.";
    ConfigUnusedKey "config-unused-key" Config Note left "It is kept and has no effect. Check its spelling.";
    ConfigPathMoved "config-path-moved" Config Warning fixed "The folder was moved; --fix writes down where it is now.";
    ConfigPathOutside "config-path-outside" Config Note left "Both programs use it. It is not moved or saved together with this folder.";
    ConfigWarning "config-warning" Config Note left "The configuration is valid.";

    OpenToOthers "open-to-others" Permissions Warning fixed "--fix takes away the rights of others.";
    ClosedToOwner "closed-to-owner" Permissions Damage fixed "--fix gives its owner the right to read and write.";
    ForeignOwner "foreign-owner" Permissions Warning left "Give it to yourself with chown.";

    StoreUnreadable "store-unreadable" Stores Damage left "Check what it is, who owns it and its permissions.";
    StoreDamaged "store-damaged" Stores Damage fixed "--fix keeps the original beside it and writes every record that can be found in it.";
    StoreNotUtf8 "store-not-utf8" Stores Damage fixed "--fix keeps the original beside it and writes every record that can be found in it.";
    StoreNoObject "store-no-object" Stores Damage fixed "--fix puts it aside; records are made from the transcripts.";
    StoreRepeatedKey "store-repeated-key" Stores Damage fixed "--fix keeps the original beside it and the last record of the key.";
    StoreJson5 "store-json5" Stores Note left "It is read. Comments are lost when it is next written.";
    StoreMark "store-byte-order-mark" Stores Note left "It is read, and gone when the store is next written.";
    StoreEmpty "store-empty" Stores Note left "It is read as a store without sessions.";
    StoreMissing "store-missing" Stores Warning left "Records can be made from the transcripts, which are told of below.";
    StoreOlderPlace "store-older-place" Stores Note fixed "--fix makes its records part of the store and puts it away.";
    RecordNoObject "record-no-object" Stores Warning left "It is kept where it is and not shown.";
    RecordWrongType "record-wrong-type" Stores Warning left "It is kept where it is and not used.";
    RecordTooDeep "record-too-deep" Stores Warning left "It is kept where it is and not read.";
    RecordNoTranscript "record-without-transcript" Stores Note left "The next message begins a new conversation under its key.";
    RecordLostTranscript "record-lost-transcript" Stores Warning left "Look for the file in a backup. The next message begins a new conversation under its key.";
    RecordOutside "session-file-outside" Stores Warning left "It is left alone. Move the file here, and correct `sessionFile`.";
    RecordMoved "session-file-moved" Stores Warning fixed "--fix names the file that is here.";
    TranscriptShared "transcript-shared" Stores Warning left "Both go on with one conversation. Reset one of them to part them.";

    JournalWaiting "journal-waiting" Journals Note fixed "They are safe and seen by yabby; --fix makes them part of the store.";
    JournalCutOff "journal-cut-off" Journals Note fixed "Nobody was told that it was written; --fix removes it.";
    JournalDamaged "journal-damaged-line" Journals Damage fixed "--fix keeps a copy of the journal and goes on with its other lines.";
    Unapplied "changes-unapplied" Journals Warning left "They belong to sessions that another program removed or reset. Read the file, then remove it.";

    TurnsWaiting "turns-waiting" Journals Note left "They are finished when yabby next takes turns; `yabby turns` tells how far they came.";
    TurnJournalDamaged "turn-journal-damaged-line" Journals Warning left "They are skipped. The file is kept under another name when its turns are finished.";
    LedgerDamaged "ledger-damaged-line" Journals Warning left "They are skipped and kept as they are; all others count.";

    TranscriptUnreadable "transcript-unreadable" Transcripts Damage left "Check what it is, who owns it and its permissions.";
    NotJson "transcript-not-json" Transcripts Damage fixed "--fix puts these lines into a file beside it; all others stay.";
    CutOff "transcript-cut-off" Transcripts Damage fixed "--fix puts the torn line into a file beside it.";
    NoEntry "transcript-no-entry" Transcripts Damage fixed "OpenClaw cannot open such a file; --fix puts these lines into a file beside it.";
    Unterminated "transcript-unterminated" Transcripts Damage fixed "OpenClaw would write the next entry onto the same line; --fix ends it.";
    NoHeader "transcript-no-header" Transcripts Damage fixed "OpenClaw would wipe the file; --fix puts a header in front.";
    RepeatedId "transcript-repeated-id" Transcripts Damage fixed "--fix gives the later one an id of its own, and puts a line that is merely repeated beside it.";
    UnknownParent "transcript-unknown-parent" Transcripts Damage fixed "What was said before is not seen; --fix hangs it from the entry before it.";
    ParentCycle "transcript-parent-cycle" Transcripts Damage fixed "OpenClaw hangs on such a file; --fix breaks the circle at its first entry.";
    NotATranscript "transcript-none" Transcripts Damage fixed "OpenClaw would wipe the file; --fix puts it away under another name.";
    BeginsInTheMiddle "transcript-begins-in-the-middle" Transcripts Note left "It is read from there.";
    NotUtf8 "transcript-not-utf8" Transcripts Note left "They are read as \u{fffd} and kept as they are.";
    TooDeep "transcript-too-deep" Transcripts Note left "It is kept, and its content is not shown.";
    LoneSurrogate "transcript-lone-surrogate" Transcripts Note left "It is read and kept as it is.";
    SecondHeader "transcript-second-header" Transcripts Note left "The first one counts; the other is kept.";
    OlderVersion "transcript-older-version" Transcripts Note left "It is brought up to date when the conversation goes on.";
    TranscriptEmpty "transcript-empty" Transcripts Note left "The conversation begins with the next message.";
    Orphan "transcript-orphaned" Transcripts Warning fixed "After /new that is usual; --fix makes a record, so that it is listed and can be gone on with.";
    UnsafeName "transcript-unsafe-name" Transcripts Warning left "Neither program opens a file of that name. Give it a plain one.";
    TranscriptJournalWaiting "transcript-journal-waiting" Transcripts Note left "They are safe and seen by yabby, and go to the transcript with the first answer.";
    TranscriptJournalOvertaken "transcript-journal-overtaken" Transcripts Warning fixed "--fix puts the journal away under another name.";

    LockHeld "lock-held" Locks Note left "What it protects is not repaired while that process works on it.";
    LockStale "lock-stale" Locks Warning fixed "--fix removes it.";
    LockForeign "lock-foreign" Locks Warning fixed "Both programs take it for abandoned; --fix removes it.";

    DraftLeft "draft-left" Leftovers Warning fixed "--fix removes it if everything in it is in its file, and otherwise keeps it under another name.";
    DraftLive "draft-live" Leftovers Note left "Its writer is at work.";
    BackupUnfinished "backup-unfinished" Leftovers Note left "A repair was interrupted before it changed anything. Remove it when all is well.";
    LinkOutside "link-outside" Leftovers Warning left "It is not followed. Move the file here if it is meant to be read.";
    LinkDangling "link-dangling" Leftovers Note left "It is left alone.";
    ForeignFile "foreign-file" Leftovers Note left "It is left alone.";

    JsonDamaged "json-damaged" OtherFiles Damage left "Its program reads it as empty and overwrites it. Correct it by hand, or restore it from a backup.";
    JsonUnreadable "json-unreadable" OtherFiles Damage left "Check what it is, who owns it and its permissions.";
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_a_name_of_its_own_and_a_remedy() {
        let names: HashSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let name = code.as_str();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(code.remedy().ends_with('.'), "{name}");
            assert_eq!(code.is_fixable(), code.remedy().contains("--fix"), "{name}");
        }
    }

    #[test]
    fn the_manual_names_every_code() {
        let manual = include_str!("../../../../docs/doctor.md");
        for code in Code::ALL {
            assert!(manual.contains(&format!("`{}`", code.as_str())), "{}", code.as_str());
        }
    }
}
