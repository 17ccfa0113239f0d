//! What others do to a store between two steps of ours.

use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime};

use yabby_domain::json;
use yabby_domain::seam::{Change, SessionStore};
use yabby_store::files::sessions::{SessionFile, Settings};

use crate::sessions::{Home, begin, die, key, now_ms, remove, set};
use crate::watched_disk::{Step, WatchedDisk};

/// Whether this is the draft of something that is called like this.
fn is_draft_of(path: &Path, name: &str) -> bool {
    let path = path.file_name().unwrap().to_string_lossy().into_owned();
    let pid = std::process::id().to_string();
    path.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')).is_some_and(|rest| rest.starts_with(&pid))
}

const STORE: &str = "sessions.json";
const JOURNAL: &str = "sessions.json.journal";

/// What another process promised while we were writing the store is there, though we died before the
/// journal followed.
#[test]
fn what_another_process_promised_during_a_fold_outlives_the_death_of_the_folder() {
    let home = Home::new();
    let other = home.open();
    let is_last_fold = Arc::new(AtomicBool::new(false));
    let disk = WatchedDisk::new({
        let (other, is_last_fold) = (other.clone(), is_last_fold.clone());
        move |step| match step {
            _ if !is_last_fold.load(Ordering::SeqCst) => Ok(()),
            Step::CreateNew(path) if is_draft_of(path, STORE) => {
                other.update_blocking(&key("theirs"), set("label", "late")).unwrap();
                Ok(())
            }
            Step::CreateNew(path) if is_draft_of(path, JOURNAL) => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    for round in 0..3 {
        store.update_blocking(&key("ours"), set("round", round)).unwrap();
    }
    store.flush().unwrap();
    other.update_blocking(&key("theirs"), begin(r#"{"sessionId":"t"}"#)).unwrap();

    is_last_fold.store(true, Ordering::SeqCst);
    store.flush().unwrap_err();
    assert_eq!(home.store()["theirs"].get("label"), None);
    for reader in [&store, &other, &home.open()] {
        let seen = reader.get_blocking(&key("theirs")).unwrap().unwrap();
        assert_eq!(seen.label(), Some("late"));
    }
}

/// Asks for a change without waiting for it. Each change asks for the next one while it is made, so that
/// the store is never without work, until `is_enough` or so many of them were made.
fn keep_busy(store: &SessionFile, most: usize, is_enough: Arc<dyn Fn() -> bool + Send + Sync>) {
    if most == 0 || is_enough() {
        return;
    }
    let again = store.clone();
    let change: Change = Box::new(move |record| {
        set("left", most)(record);
        keep_busy(&again, most - 1, is_enough);
    });
    let busy = key("busy");
    let mut update = pin!(store.update(&busy, change));
    assert!(update.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[test]
fn the_store_follows_though_there_is_never_a_pause() {
    let home = Home::new();
    let store = home.open_with(Settings { follow_after: Duration::ZERO, ..Settings::default() });
    let path = home.path(STORE);
    keep_busy(&store, 20_000, Arc::new(move || path.exists()));
    let left = loop {
        let seen = store.get_blocking(&key("busy")).unwrap();
        let left = seen.and_then(|busy| busy.get("left")?.as_u64());
        if left == Some(1) || home.path(STORE).exists() {
            break left;
        }
    };
    assert_ne!(left, Some(1), "the store was written only when there was nothing else to do");
}

#[test]
fn a_change_may_hold_the_last_handle_of_its_store() {
    let home = Home::new();
    let (works, ends) = mpsc::channel::<()>();
    let disk = WatchedDisk::new(move |_| {
        let _ = &works;
        Ok(())
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    let last = store.clone();
    let asked = key("k");
    let change: Change = Box::new(move |record| {
        drop(last);
        set("label", "x")(record);
    });
    // Nobody waits for the answer.
    let mut update = store.update(&asked, change);
    let _ = update.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(update);
    drop(store);
    // The disk is let go of when all work on the store has ended.
    assert!(ends.recv().is_err());
    assert_eq!(home.store()["k"]["label"], "x");
}

/// A store on a disk that fails to keep one batch, and fails to take it back as well, when it is told to.
fn open_failing(home: &Home) -> (SessionFile, Arc<AtomicBool>) {
    let fails = Arc::new(AtomicBool::new(false));
    let disk = WatchedDisk::new({
        let fails = fails.clone();
        move |step| match step {
            Step::Sync if fails.load(Ordering::SeqCst) => Err(io::Error::other("no sync")),
            Step::Truncate if fails.swap(false, Ordering::SeqCst) => Err(io::Error::other("no truncate")),
            _ => Ok(()),
        }
    });
    (home.open_with(Settings { disk, ..Home::settings() }), fails)
}

#[test]
fn what_could_not_be_taken_back_is_taken_back_later() {
    let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
    let (store, fails) = open_failing(&home);
    store.update_blocking(&key("k"), set("label", "kept")).unwrap();
    fails.store(true, Ordering::SeqCst);
    store.update_blocking(&key("k"), set("label", "failed")).unwrap_err();
    assert_eq!(store.get_blocking(&key("k")).unwrap().unwrap().label(), Some("kept"));
    store.update_blocking(&key("k"), set("n", 1)).unwrap();
    assert_eq!(home.open().get_blocking(&key("k")).unwrap().unwrap().label(), Some("kept"));
}

#[test]
fn taking_back_what_failed_takes_nothing_from_another_process() {
    for is_folded in [false, true] {
        let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
        let (store, fails) = open_failing(&home);
        let other = home.open();
        for round in 0..9 {
            store.update_blocking(&key("k"), set("round", round)).unwrap();
        }
        fails.store(true, Ordering::SeqCst);
        store.update_blocking(&key("k"), set("failed", true)).unwrap_err();
        if is_folded {
            other.flush().unwrap();
        }
        for round in 0..if is_folded { 20 } else { 1 } {
            other.update_blocking(&key("theirs"), set("round", round)).unwrap();
        }
        let promised = other.get_blocking(&key("theirs")).unwrap();
        assert_eq!(store.get_blocking(&key("theirs")).unwrap(), promised, "{is_folded}");
        store.update_blocking(&key("k"), set("label", "later")).unwrap();
        for reader in [&store, &other, &home.open()] {
            assert_eq!(reader.get_blocking(&key("theirs")).unwrap(), promised, "{is_folded}");
            assert_eq!(reader.get_blocking(&key("k")).unwrap().unwrap().label(), Some("later"));
        }
        assert_eq!(home.open().notices().unwrap(), vec![]);
    }
}

/// A power failure takes everything that was not synced, and may leave the rest in any order.
#[test]
fn nothing_is_built_on_what_is_not_safe_yet() {
    let home = Home::new();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let disk = WatchedDisk::new({
        let (steps, lock) = (steps.clone(), home.path("sessions.json.lock"));
        move |step| {
            let step = match step {
                Step::OpenAppend(_) => "journal",
                Step::CreateNew(path) if is_draft_of(path, STORE) => "draft of the store",
                Step::CreateNew(path) if is_draft_of(path, JOURNAL) => "draft of a journal",
                Step::Sync => "sync",
                Step::SyncFolder(_) => "sync folder",
                Step::Write(_) => "write",
                Step::Rename(from, _) if is_draft_of(from, STORE) => "place the store",
                Step::Rename(from, _) if is_draft_of(from, JOURNAL) => "place the journal",
                Step::Link(_, name) if name == lock => "lock",
                Step::Remove(path) if path == lock => "unlock",
                _ => return Ok(()),
            };
            steps.lock().unwrap().push(step);
            if step == "place the store" {
                let holder = json::parse(&fs::read_to_string(&lock).unwrap()).unwrap();
                assert_eq!(holder["pid"], std::process::id());
                assert!(holder["startedAt"].is_u64());
            }
            Ok(())
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    store.update_blocking(&key("k"), set("label", "y")).unwrap();
    store.flush().unwrap();
    let steps = std::mem::take(&mut *steps.lock().unwrap()).join(", ");
    assert_eq!(
        steps,
        "journal, write, sync, sync folder, \
         write, sync, \
         write, lock, \
         draft of the store, write, sync, sync folder, \
         write, sync, place the store, sync folder, \
         draft of a journal, write, sync, place the journal, sync folder, \
         unlock"
    );
}

/// The journal says that a draft is about to take the place of the store, which another program then
/// writes: as long as the draft is there it did not, and what it holds must not be forgotten.
#[test]
fn a_draft_that_the_journal_speaks_of_stays() {
    let promised = |store: &SessionFile| {
        let entry = store.get_blocking(&key("k")).unwrap().unwrap();
        assert_eq!(entry.label(), Some("promised"));
    };
    let foreign = r#"{"k":{"sessionId":"s"},"foreign":{"sessionId":"f"}}"#;

    // The line could neither be kept nor taken back.
    let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
    let is_drafted = Arc::new(AtomicBool::new(false));
    let disk = WatchedDisk::new({
        let is_drafted = is_drafted.clone();
        move |step| match step {
            Step::SyncFolder(_) => {
                is_drafted.store(true, Ordering::SeqCst);
                Ok(())
            }
            Step::Sync | Step::Truncate if is_drafted.load(Ordering::SeqCst) => {
                Err(io::Error::other("broken"))
            }
            _ => Ok(()),
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), set("x", 1)).unwrap();
    is_drafted.store(false, Ordering::SeqCst);
    store.update_blocking(&key("k"), set("label", "promised")).unwrap();
    store.flush().unwrap_err();
    die(store);
    fs::write(home.path(STORE), foreign).unwrap();
    promised(&home.open());

    // A journal with a line that is no text is a journal as well.
    let home = Home::with_store(foreign);
    let draft = format!("sessions.json.{}.5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11.tmp", i32::MAX);
    fs::write(home.path(&draft), "{}").unwrap();
    let change =
        r#"{"n":1,"at":"2026-01-15T09:30:00Z","key":"k","sessionId":"s","set":{"label":"promised"}}"#;
    let lines = [
        br#"{"journal":"sessions","version":1,"id":"j"}"#.as_slice(),
        change.as_bytes(),
        b"\xff",
        &format!(r#"{{"folded":1,"draft":"{draft}","base":"1-2-3"}}"#).into_bytes(),
        b"",
    ];
    fs::write(home.path(JOURNAL), lines.join(b"\n".as_slice())).unwrap();
    let store = home.open_with(Settings { cache_ms: 0.0, ..Home::settings() });
    promised(&store);
    store.flush().unwrap();
    promised(&store);
    assert_eq!(home.store()["k"]["label"], "promised");
    assert!(!home.path(&draft).exists());

    // Neither a file elsewhere nor one of another name is a draft.
    let home = Home::with_store(foreign);
    fs::write(home.path("notes.tmp"), "mine").unwrap();
    let folded = |draft: &str| format!(r#"{{"folded":1,"draft":"{draft}","base":"1-2-3"}}"#);
    let lines = [change, &folded("../x.tmp"), &folded("notes.tmp"), ""];
    fs::write(home.path(JOURNAL), lines.join("\n")).unwrap();
    promised(&home.open());
    home.open().flush().unwrap();
    assert_eq!(home.text("notes.tmp"), "mine");
}

/// A program that takes no lock writes the store in the midst of a fold, without what the fold holds.
#[test]
fn a_foreign_write_in_the_midst_of_a_fold_is_seen_and_ours_is_made_again() {
    const FOREIGN: &str = r#"{"k":{"sessionId":"s","theirs":true}}"#;
    //  when they write
    type When = fn(Step<'_>, &[String]) -> bool;
    let table: [(&str, When); 4] = [
        (
            "while the draft is written",
            |step, _| matches!(step, Step::CreateNew(path) if is_draft_of(path, STORE)),
        ),
        ("when it is about to be placed", |step, done| {
            step == Step::Sync && done.last().unwrap() == "sync folder"
        }),
        ("when it was placed", |step, done| {
            matches!(step, Step::SyncFolder(_)) && done.last().unwrap() == "place"
        }),
        (
            "when the journal follows",
            |step, _| matches!(step, Step::CreateNew(path) if is_draft_of(path, JOURNAL)),
        ),
    ];
    for (when, is_now) in table {
        let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
        let done = Mutex::new(vec![String::new()]);
        let path = home.path(STORE);
        let is_armed = Arc::new(AtomicBool::new(false));
        let disk = WatchedDisk::new({
            let is_armed = is_armed.clone();
            move |step| {
                let mut done = done.lock().unwrap();
                if is_now(step, &done) && is_armed.swap(false, Ordering::SeqCst) {
                    fs::write(&path, FOREIGN).unwrap();
                }
                done.push(match step {
                    Step::SyncFolder(_) => "sync folder".to_owned(),
                    Step::Rename(from, _) if is_draft_of(from, STORE) => "place".to_owned(),
                    Step::Write(_) => return Ok(()),
                    step => format!("{step:?}"),
                });
                Ok(())
            }
        });
        let store = home.open_with(Settings { disk, ..Home::settings() });
        store.update_blocking(&key("k"), set("label", "ours")).unwrap();
        is_armed.store(true, Ordering::SeqCst);
        store.flush().unwrap();
        assert!(!is_armed.load(Ordering::SeqCst), "{when}");
        let seen = store.get_blocking(&key("k")).unwrap().unwrap();
        assert_eq!(seen.get("theirs"), Some(&true.into()), "{when}");
        // Once the fold is over, who does not take the lock undoes it.
        let is_over = when == "when the journal follows";
        assert_eq!(seen.label(), (!is_over).then_some("ours"), "{when}");
        store.update_blocking(&key("k"), set("n", 1)).unwrap();
        drop(store);
        assert_eq!(home.store()["k"]["theirs"], true, "{when}");
        assert_eq!(home.files(), [STORE], "{when}");
    }
}

#[test]
fn what_belongs_nowhere_is_kept_once_though_the_fold_has_to_be_tried_again() {
    let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
    let fails = Arc::new(AtomicBool::new(true));
    let disk = WatchedDisk::new({
        let fails = fails.clone();
        move |step| match step {
            Step::Rename(from, _) if is_draft_of(from, STORE) && fails.load(Ordering::SeqCst) => {
                Err(io::Error::other("no rename"))
            }
            _ => Ok(()),
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    fs::write(home.path(STORE), "{}").unwrap();
    fs::write(home.path("sessions.json.unapplied"), "torn").unwrap();
    for _ in 0..3 {
        store.flush().unwrap_err();
    }
    fails.store(false, Ordering::SeqCst);
    store.flush().unwrap();
    let unapplied = home.text("sessions.json.unapplied");
    let lines: Vec<&str> = unapplied.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "torn"), "{unapplied}");
    assert!(lines[1].contains(r#""set":{"label":"x"}"#), "{unapplied}");
}

#[test]
fn nobody_waits_for_a_fold_that_panicked() {
    let home = Home::new();
    let disk = WatchedDisk::new(|step| match step {
        Step::CreateNew(path) if is_draft_of(path, STORE) => panic!("a fold may fail"),
        _ => Ok(()),
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    let error = store.flush().unwrap_err();
    assert!(error.to_string().contains(STORE), "{error}");
    store.update_blocking(&key("k"), set("label", "y")).unwrap();
    drop(store);
    assert_eq!(home.open().get_blocking(&key("k")).unwrap().unwrap().label(), Some("y"));
}

/// While we look at a lock that was left behind, its place and the number of its file may be taken by
/// somebody who is alive.
#[test]
fn a_fresh_lock_in_the_place_of_a_stale_one_is_given_back() {
    let home = Home::new();
    let lock = home.path("sessions.json.lock");
    let fresh = format!(r#"{{"pid":{},"startedAt":{}}}"#, std::process::id(), now_ms());
    let given_back = Arc::new(AtomicBool::new(false));
    let disk = WatchedDisk::new({
        let (lock, fresh, given_back) = (lock.clone(), fresh.clone(), given_back.clone());
        let aside = Mutex::new(None);
        move |step| {
            match step {
                Step::Rename(from, to) if from == lock => {
                    fs::write(&lock, &fresh).unwrap();
                    *aside.lock().unwrap() = Some(to.to_owned());
                }
                Step::Remove(path) if aside.lock().unwrap().as_deref() == Some(path) => {
                    given_back.store(lock.exists(), Ordering::SeqCst);
                }
                _ => {}
            }
            Ok(())
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    fs::write(&lock, "").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(31);
    File::open(&lock).unwrap().set_modified(long_ago).unwrap();
    std::thread::scope(|scope| {
        let flushed = scope.spawn(|| store.flush());
        while !given_back.load(Ordering::SeqCst) && !flushed.is_finished() {
            std::thread::yield_now();
        }
        assert!(given_back.load(Ordering::SeqCst));
        assert_eq!(fs::read_to_string(&lock).unwrap(), fresh);
        fs::remove_file(&lock).unwrap();
        flushed.join().unwrap().unwrap();
    });
    assert_eq!(home.store()["k"]["label"], "x");
}

/// The journal of a writer that died right after its fold is cleared away by whoever writes next.
#[test]
fn a_journal_that_was_folded_and_left_behind_goes_with_the_next_flush() {
    let home = Home::new();
    let is_dead = Arc::new(AtomicBool::new(false));
    let disk = WatchedDisk::new({
        let is_dead = is_dead.clone();
        move |step| match step {
            Step::CreateNew(path) if is_dead.load(Ordering::SeqCst) && is_draft_of(path, JOURNAL) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update_blocking(&key("k"), begin(r#"{"sessionId":"s"}"#)).unwrap();
    is_dead.store(true, Ordering::SeqCst);
    store.flush().unwrap_err();
    die(store);
    assert_eq!(home.store()["k"]["sessionId"], "s");
    assert_eq!(home.text(JOURNAL).lines().count(), 3);
    let next = home.open();
    next.flush().unwrap();
    assert_eq!(home.text(JOURNAL).lines().count(), 1);
    drop(next);
    assert_eq!(home.files(), [STORE]);
}

#[test]
fn what_was_removed_does_not_come_back_from_an_older_store() {
    let home = Home::new();
    let older = home.path("agents/main/sessions.json");
    fs::create_dir_all(home.path("agents/main/sessions")).unwrap();
    fs::write(&older, r#"{"old":{"sessionId":"o"},"kept":{"sessionId":"k"}}"#).unwrap();
    let disk = WatchedDisk::new({
        let older = older.clone();
        move |step| match step {
            Step::Rename(from, _) if from == older => Err(io::Error::other("no rename")),
            _ => Ok(()),
        }
    });
    let path = home.path("agents/main/sessions/sessions.json");
    let store = SessionFile::open(&path, Settings { disk, ..Home::settings() }).unwrap();
    store.update_blocking(&key("old"), remove()).unwrap();
    store.flush().unwrap_err();
    let reader = SessionFile::open(&path, Home::settings()).unwrap();
    for seen in [&store, &reader] {
        assert_eq!(seen.get_blocking(&key("old")).unwrap(), None);
        assert!(seen.get_blocking(&key("kept")).unwrap().is_some());
    }
    die(store);
    reader.flush().unwrap();
    assert!(!older.exists());
    assert_eq!(reader.list_blocking().unwrap().len(), 1);
}

/// What is only noted waits for no disk, and is synced without anybody asking for it.
#[tokio::test]
async fn a_note_is_there_for_everybody_before_it_is_synced_and_is_synced_a_moment_later() {
    let home = Home::new();
    let (is_slow, synced) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let disk = WatchedDisk::new({
        let (is_slow, synced) = (is_slow.clone(), synced.clone());
        move |step| {
            if step == Step::Sync {
                while is_slow.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                synced.store(true, Ordering::SeqCst);
            }
            Ok(())
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    store.update(&key("k"), begin(r#"{"sessionId":"s"}"#)).await.unwrap();
    synced.store(false, Ordering::SeqCst);
    is_slow.store(true, Ordering::SeqCst);
    let session = key("k");
    let noting = store.note(&session, set("label", "x"));
    let noted = tokio::time::timeout(Duration::from_secs(20), noting).await.unwrap().unwrap();
    assert_eq!(noted.unwrap().label(), Some("x"));
    assert!(!synced.load(Ordering::SeqCst));
    let other = home.open();
    assert_eq!(other.get(&key("k")).await.unwrap().unwrap().label(), Some("x"), "also for other processes");
    is_slow.store(false, Ordering::SeqCst);
    let begun = std::time::Instant::now();
    while !synced.load(Ordering::SeqCst) {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody synced it");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    die(store);
    assert_eq!(home.open().get(&key("k")).await.unwrap().unwrap().label(), Some("x"));
}
