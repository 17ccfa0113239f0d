//! What is left of conversations when the disk fails, at every single operation.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use yabby_domain::seam::{Compacted, Fork, StoreError, UndoneCompaction};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::damage::DamageKind;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::transcript::tree::BranchSummary;
use yabby_store::files::transcripts::{Settings, TranscriptFolder, Writer};
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};

use crate::transcripts::{begin, id, said, settings, told};

/// What somebody else wrote: one conversation that nobody may touch, one without an answer, one whose
/// header is lost, a long one, and one of an older program with its metadata.
const FOREIGN: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"f\"}\n{\"type\":\"message\",\"id\":\"f1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"foreign\"}]}}\n";
const LOST: &str = "{\"type\":\"message\",\"id\":\"h1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"lost\"}]}}\n";
const OLD: &str = "{\"type\":\"session\",\"id\":\"o\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"old\"}]}}\ntorn{\n";

fn prepare(folder: &Path) {
    for (name, text) in [
        ("foreign.jsonl", FOREIGN),
        ("unanswered.jsonl", FOREIGN),
        ("headless.jsonl", LOST),
        ("old.jsonl", OLD),
        ("old.json", "{}"),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// What became of a story.
struct Story<'f> {
    folder: &'f Path,
    store: TranscriptFolder,
    fault: Fault,
    /// The texts that each conversation must tell, in order.
    promised: Vec<(TranscriptId, Vec<String>)>,
    /// All that was ever acknowledged, on whatever branch.
    acknowledged: Vec<(TranscriptId, String)>,
    /// What was promised to be gone.
    archived: Vec<TranscriptId>,
    errors: Vec<StoreError>,
}

/// The machine has stopped.
struct Stopped;

impl<'f> Story<'f> {
    fn new(folder: &'f Path, disk: &Arc<FaultyDisk>, fault: Fault) -> Self {
        let store = TranscriptFolder::open_with(folder, Settings { disk: disk.clone(), ..settings() });
        Self {
            folder,
            store,
            fault,
            promised: Vec::new(),
            acknowledged: Vec::new(),
            archived: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Does something; if it fails for once it must work the second time.
    fn attempt<T>(&mut self, mut act: impl FnMut(&Self) -> Result<T, StoreError>) -> Result<T, Stopped> {
        match act(self) {
            Ok(done) => return Ok(done),
            Err(error) => self.errors.push(error),
        }
        if matches!(self.fault, Fault::DeadFrom(_)) {
            return Err(Stopped);
        }
        Ok(act(self).unwrap_or_else(|error| panic!("{:?}: still {error}", self.fault)))
    }

    fn open(&mut self, id: &TranscriptId) -> Result<Writer, Stopped> {
        self.attempt(|story| story.store.open_blocking(id, &begin()))
    }

    fn append(
        &mut self,
        writer: &mut Writer,
        id: &TranscriptId,
        role: &str,
        text: &str,
    ) -> Result<String, Stopped> {
        let before = writer.transcript().entries().len();
        let fault = self.fault;
        let ids = self.attempt(|_| {
            let done = writer.append(vec![said(role, text)]);
            if done.is_err() {
                assert_eq!(
                    writer.transcript().entries().len(),
                    before,
                    "{fault:?}: what failed is not there"
                );
            }
            done
        })?;
        self.promise(id).push(text.to_owned());
        self.acknowledged.push((id.clone(), text.to_owned()));
        Ok(ids[0].clone())
    }

    fn promise(&mut self, id: &TranscriptId) -> &mut Vec<String> {
        if !self.promised.iter().any(|(known, _)| known == id) {
            self.promised.push((id.clone(), Vec::new()));
        }
        let known = self.promised.iter_mut().find(|(known, _)| known == id);
        &mut known.unwrap().1
    }

    fn tell(&mut self) -> Result<(), Stopped> {
        let new = id("new");
        let mut writer = self.open(&new)?;
        let first = self.append(&mut writer, &new, "user", "one")?;
        self.append(&mut writer, &new, "user", "two")?;
        self.append(&mut writer, &new, "assistant", "three")?;
        self.append(&mut writer, &new, "user", "four")?;
        let left = BranchSummary { summary: "left".to_owned(), ..BranchSummary::default() };
        self.attempt(|_| writer.branch(Some(&first), left.clone()))?;
        *self.promise(&new) = vec!["one".to_owned(), "left".to_owned()];
        self.append(&mut writer, &new, "user", "five")?;
        drop(writer);

        let fork = self.attempt(|story| story.store.fork_blocking(&new, &Fork::Leaf))?;
        *self.promise(&fork) = vec!["one".to_owned(), "left".to_owned(), "five".to_owned()];
        let mut writer = self.open(&fork)?;
        self.append(&mut writer, &fork, "assistant", "six")?;
        drop(writer);

        for (name, existing) in [("unanswered", "foreign"), ("headless", "lost"), ("old", "old")] {
            let name = id(name);
            *self.promise(&name) = vec![existing.to_owned()];
            let mut writer = self.open(&name)?;
            self.append(&mut writer, &name, "user", "more")?;
            self.append(&mut writer, &name, "user", "and more")?;
            drop(writer);
        }
        let unanswered = id("unanswered");
        let mut writer = self.open(&unanswered)?;
        self.append(&mut writer, &unanswered, "assistant", "an answer")?;
        drop(writer);
        let compacted =
            self.attempt(|story| story.store.compact_blocking(&unanswered, MaxLines::at_most(2)))?;
        // Where only the last step failed, it was done at the first attempt.
        assert!(!matches!(compacted, Compacted::Missing));
        let dropped: Vec<String> = self.promise(&unanswered).drain(..2).collect();
        let mut writer = self.open(&unanswered)?;
        self.append(&mut writer, &unanswered, "user", "since then")?;
        drop(writer);
        let undone = self.attempt(|story| story.store.undo_compaction_blocking(&unanswered))?;
        assert!(!matches!(undone, UndoneCompaction::Missing));
        self.promise(&unanswered).splice(..0, dropped);

        for name in ["new", "old", "headless"] {
            self.attempt(|story| story.store.archive_blocking(&id(name), ArchiveReason::Deleted))?;
            self.archived.push(id(name));
        }
        Ok(())
    }

    /// Looks at what is left, with a disk that works.
    fn check(&self) {
        let sound = Settings { disk: Arc::new(FaultyDisk::sound()), ..settings() };
        let store = TranscriptFolder::open_with(self.folder, sound);
        let fault = self.fault;
        assert_eq!(fs::read_to_string(self.folder.join("foreign.jsonl")).unwrap(), FOREIGN, "{fault:?}");
        for (id, promised) in &self.promised {
            drop(store.open_blocking(id, &begin()).unwrap_or_else(|error| panic!("{fault:?}: {error}")));
            let loaded = store.load_blocking(id).unwrap();
            assert!(loaded.is_none() || !self.archived.contains(id), "{fault:?}: {id:?} was put away");
            let here: Vec<String> = loaded.iter().flat_map(Transcript::entries).filter_map(text_of).collect();
            let away: Vec<String> =
                self.archives(id).iter().flat_map(Transcript::entries).filter_map(text_of).collect();
            for (_, text) in self.acknowledged.iter().filter(|(of, _)| of == id) {
                assert!(here.contains(text) || away.contains(text), "{fault:?}: {id:?} has lost {text}");
            }
            for text in &here {
                let times = here.iter().filter(|other| *other == text).count();
                assert_eq!(times, 1, "{fault:?}: {id:?} says {text} again");
            }
            if !fault_is_death(fault) {
                let told = match loaded {
                    Some(_) => told(&store, id),
                    None => self.archives(id)[0].branch().into_iter().filter_map(text_of).collect(),
                };
                assert_eq!(&told, promised, "{fault:?}: {id:?}");
            }
        }
        for id in store.list_blocking().unwrap() {
            drop(store.open_blocking(&id, &begin()).unwrap());
            for damage in store.inspect(&id).unwrap() {
                let was_cut = matches!(damage.kind, DamageKind::CutOff | DamageKind::NotJson);
                assert!(
                    was_cut && (fault_is_death(fault) || id.as_str() == "old"),
                    "{fault:?}: {id:?} {damage}"
                );
            }
            // And it goes on.
            let mut writer = store.open_blocking(&id, &begin()).unwrap();
            let before = writer.transcript().context().messages.len();
            writer.append(vec![said("assistant", "after all")]).unwrap();
            assert_eq!(told(&store, &id).len(), before + 1, "{fault:?}: {id:?}");
        }
        for file in fs::read_dir(self.folder).unwrap() {
            let name = file.unwrap().file_name().into_string().unwrap();
            // What cannot be removed stays, but never under a name that somebody else reads.
            assert!(!name.ends_with(".lock") || fault_is_death(fault), "{fault:?}: {name} is left");
        }
    }

    /// What was put away of a conversation, the deleted one first.
    fn archives(&self, id: &TranscriptId) -> Vec<Transcript> {
        let mut names: Vec<String> = fs::read_dir(self.folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.strip_prefix(&id.file_name()).is_some_and(is_archive))
            .collect();
        names.sort_by_key(|name| !name.contains(".deleted."));
        let texts = names.iter().map(|name| fs::read_to_string(self.folder.join(name)).unwrap());
        texts.filter_map(|text| Transcript::read(&text)).collect()
    }
}

fn is_archive(ending: &str) -> bool {
    ending.starts_with(".deleted.") || ending.starts_with(".bak")
}

fn text_of(entry: &Entry) -> Option<String> {
    let object = entry.object();
    let text = object.get("message").and_then(|message| message["content"][0]["text"].as_str());
    text.or(object.get("summary").and_then(|summary| summary.as_str())).map(str::to_owned)
}

fn fault_is_death(fault: Fault) -> bool {
    matches!(fault, Fault::DeadFrom(_))
}

/// Tells the story with a fault and looks at what is left; the number of operations.
fn tell(fault: Fault) -> usize {
    let folder = TempDir::new().unwrap();
    prepare(folder.path());
    let disk = Arc::new(FaultyDisk::new(fault));
    let mut story = Story::new(folder.path(), &disk, fault);
    let stopped = story.tell().is_err();
    assert_eq!(stopped, fault_is_death(fault) && disk.has_failed() && !story.errors.is_empty(), "{fault:?}");
    for error in &story.errors {
        let error = error.to_string();
        let is_clear = error.starts_with("cannot ") && error.contains(&*folder.path().to_string_lossy());
        assert!(is_clear, "{fault:?}: {error}");
    }
    story.check();
    disk.operations()
}

#[test]
fn nothing_goes_wrong_with_a_sound_disk() {
    assert!(tell(Fault::Never) > 50);
}

#[test]
fn a_machine_that_stops_at_any_moment_loses_nothing() {
    for operation in 0..tell(Fault::Never) {
        tell(Fault::DeadFrom(operation));
    }
}

#[test]
fn a_disk_that_fails_once_at_any_moment_loses_nothing() {
    for operation in 0..tell(Fault::Never) {
        for kind in Kind::ALL {
            tell(Fault::At { operation, kind });
        }
    }
}
