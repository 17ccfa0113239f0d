//! What is left of a store when the disk fails, at every single operation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use yabby_domain::json::{self, Value};
use yabby_domain::seam::{Change, StoreError};
use yabby_domain::session::entry::Patch;
use yabby_domain::session::key::SessionKey;
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};

const FOREIGN: &str = r#"{"foreign":{"sessionId":"f","unknown":{"kept":[1,null]}},"note":null}"#;

/// What was promised: the value of a field of each record, `None` for one that was removed.
type Promised = BTreeMap<String, Option<u64>>;

struct Story {
    promised: Promised,
    /// What was being changed when something went wrong: it may be there or not.
    open_question: Option<String>,
    errors: Vec<StoreError>,
}

fn settings(disk: &Arc<FaultyDisk>) -> Settings {
    Settings { disk: disk.clone(), follow_after: Duration::from_secs(3600), ..Settings::default() }
}

/// Begins, changes and removes records, with folds in between.
fn tell(folder: &Path, disk: &Arc<FaultyDisk>) -> Story {
    let mut story = Story { promised: Promised::new(), open_question: None, errors: Vec::new() };
    let Ok(store) = SessionFile::open(folder.join("sessions.json"), settings(disk)) else { return story };
    for round in 1..=2 {
        for name in ["a", "b", "c"] {
            story.update(&store, name, Some(round));
        }
        story.update(&store, "b", None);
        story.note(store.flush());
        story.update(&store, "late", Some(round));
    }
    // The fold on exit is part of the story.
    drop(store);
    story
}

impl Story {
    fn update(&mut self, store: &SessionFile, name: &str, value: Option<u64>) {
        let mut patch = Patch::default();
        patch.set_session_id(Some(name));
        patch.put("value", value.map(Value::from));
        let change: Change = Box::new(move |record| match value {
            Some(_) => record.get_or_insert_default().apply(&patch),
            None => *record = None,
        });
        match store.update_blocking(&SessionKey::new(name), change) {
            Ok(_) => {
                self.promised.insert(name.to_owned(), value);
                if self.open_question.as_deref() == Some(name) {
                    self.open_question = None;
                }
            }
            Err(error) => {
                self.open_question.get_or_insert_with(|| name.to_owned());
                self.errors.push(error);
            }
        }
    }

    fn note(&mut self, done: Result<(), StoreError>) {
        self.errors.extend(done.err());
    }

    /// Everything that was promised is there, in yabby's eyes and, after a fold, in everybody's.
    fn check(&self, folder: &Path, fault: Fault) {
        let store = SessionFile::open(folder.join("sessions.json"), Settings::default()).unwrap();
        let value = |name: &str| {
            let entry = store.get_blocking(&SessionKey::new(name)).unwrap()?;
            entry.get("value").and_then(Value::as_u64)
        };
        for (name, promised) in
            self.promised.iter().filter(|(name, _)| self.open_question.as_ref() != Some(name))
        {
            assert_eq!(value(name), *promised, "{name} after {fault:?}: {:?}", self.errors);
        }
        let change: Change = Box::new(|record| *record = Some(Default::default()));
        store.update_blocking(&SessionKey::new("afterwards"), change).unwrap();
        let listed = store.list_blocking().unwrap();
        drop(store);
        let text = fs::read_to_string(folder.join("sessions.json")).unwrap();
        let written = json::parse(&text).unwrap();
        for (key, entry) in &listed {
            assert_eq!(written[key.as_str()].as_object(), Some(entry.as_object()), "{key:?} after {fault:?}");
        }
        let foreign = json::parse(FOREIGN).unwrap();
        assert_eq!((&written["foreign"], &written["note"]), (&foreign["foreign"], &Value::Null), "{fault:?}");
        let names: Vec<String> = names(folder);
        assert!(
            !names.iter().any(|name| name.ends_with(".journal") || name.ends_with(".unapplied")),
            "{fault:?}: {names:?}"
        );
    }
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn told_with(fault: Fault) -> (TempDir, Story, usize) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("sessions.json"), FOREIGN).unwrap();
    let disk = Arc::new(FaultyDisk::new(fault));
    let story = tell(folder.path(), &disk);
    (folder, story, disk.operations())
}

#[test]
fn a_machine_that_stops_at_any_operation_loses_nothing_that_was_promised() {
    let (_, _, operations) = told_with(Fault::Never);
    assert!(operations > 40, "{operations}");
    for at in 0..operations {
        let fault = Fault::DeadFrom(at);
        let (folder, story, _) = told_with(fault);
        // Whoever died held the lock; it is as old as it is dead.
        let _ = fs::remove_file(folder.path().join("sessions.json.lock"));
        story.check(folder.path(), fault);
    }
}

#[test]
fn a_single_fault_is_told_clearly_and_later_writes_work() {
    let (_, _, operations) = told_with(Fault::Never);
    for kind in Kind::ALL {
        for at in 0..operations {
            let fault = Fault::At { operation: at, kind };
            let (folder, story, _) = told_with(fault);
            assert!(story.errors.len() <= 1, "{fault:?}: {:?}", story.errors);
            for error in &story.errors {
                let text = error.to_string();
                let names_the_place = text.contains(&folder.path().display().to_string());
                assert!(names_the_place && text.starts_with("cannot "), "{fault:?}: {text}");
                let remedy = match kind {
                    Kind::NoSpace => "free some space",
                    Kind::ReadOnly => "read-only",
                    Kind::Io | Kind::ShortWrite => "",
                };
                assert!(text.contains(remedy), "{text}");
            }
            if kind == Kind::ShortWrite {
                assert!(story.errors.is_empty(), "{fault:?}: {:?}", story.errors);
            }
            let _ = fs::remove_file(folder.path().join("sessions.json.lock"));
            story.check(folder.path(), fault);
        }
    }
}
