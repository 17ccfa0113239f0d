//! `sessions.json` and its journal.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use yabby_domain::json::{self, Value};
use yabby_domain::seam::{Change, Choice, SessionStore as _, StoreError};
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_store::files::sessions::{SessionFile, Settings};

use crate::watched_disk::{Step, WatchedDisk};

/// A folder with a store in it.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn with_store(text: &str) -> Self {
        let home = Self::new();
        fs::write(home.path("sessions.json"), text).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A store that is folded only when somebody asks for it.
    pub(crate) fn open(&self) -> SessionFile {
        self.open_with(Self::settings())
    }

    pub(crate) fn settings() -> Settings {
        Settings { follow_after: Duration::from_secs(3600), ..Settings::default() }
    }

    pub(crate) fn open_with(&self, settings: Settings) -> SessionFile {
        SessionFile::open(self.path("sessions.json"), settings).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn store(&self) -> Value {
        json::parse(&self.text("sessions.json")).unwrap()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Everything that can be seen of a folder.
    pub(crate) fn state(&self) -> Vec<(String, u64, i64, Vec<u8>)> {
        let look = |name: String| {
            let path = self.path(&name);
            let metadata = path.metadata().unwrap();
            (name, metadata.ino(), metadata.mtime_nsec(), fs::read(path).unwrap())
        };
        self.files().into_iter().map(look).collect()
    }
}

pub(crate) fn key(text: &str) -> SessionKey {
    SessionKey::new(text)
}

pub(crate) fn entry(text: &str) -> SessionEntry {
    SessionEntry::new(json::parse(text).unwrap().as_object().unwrap().clone())
}

pub(crate) fn begin(text: &str) -> Change {
    let new = entry(text);
    Box::new(move |record| *record = Some(new))
}

pub(crate) fn set(field: &str, value: impl Into<Value>) -> Change {
    let mut patch = Patch::default();
    patch.put(field, Some(value.into()));
    Box::new(move |record| {
        record.get_or_insert_default().apply(&patch);
    })
}

pub(crate) fn remove() -> Change {
    Box::new(|record| *record = None)
}

pub(crate) fn count_up(field: &'static str) -> Change {
    Box::new(move |record| {
        let record = record.get_or_insert_default();
        let count = record.get(field).and_then(Value::as_f64).unwrap_or(0.0);
        let mut patch = Patch::default();
        patch.put(field, Some(json::number(count + 1.0)));
        record.apply(&patch);
    })
}

/// The process of this store died: nothing is written any more.
pub(crate) fn die(store: SessionFile) {
    std::mem::forget(store);
}

#[test]
fn an_update_is_in_the_journal_at_once_and_in_the_store_later() {
    let home = Home::new();
    let store = home.open();
    let main = key("agent:main:main");
    store.update_blocking(&main, begin(r#"{"sessionId":"s","updatedAt":1}"#)).unwrap();
    let updated = store.update_blocking(&main, set("label", "mine")).unwrap().unwrap();
    assert_eq!(updated.label(), Some("mine"));
    assert_eq!(home.files(), ["sessions.json.journal"]);
    assert_eq!(home.text("sessions.json.journal").lines().count(), 3);
    assert_eq!(home.path("sessions.json.journal").metadata().unwrap().mode() & 0o777, 0o600);
    store.flush().unwrap();
    let text = "{\n  \"agent:main:main\": {\n    \"sessionId\": \"s\",\n    \"updatedAt\": 1,\n    \"label\": \"mine\"\n  }\n}";
    assert_eq!(home.text("sessions.json"), text);
    assert_eq!(home.text("sessions.json.journal").lines().count(), 1);
    assert_eq!(home.path("sessions.json").metadata().unwrap().mode() & 0o777, 0o600);
    drop(store);
    assert_eq!(home.files(), ["sessions.json"]);
}

#[test]
fn the_store_follows_on_exit_and_by_itself() {
    assert!(Settings::default().follow_after < Duration::from_secs(1));
    let home = Home::new();
    let store = home.open();
    store.update_blocking(&key("k"), begin(r#"{"sessionId":"s"}"#)).unwrap();
    drop(store);
    assert_eq!(home.store()["k"]["sessionId"], "s");
    assert_eq!(home.files(), ["sessions.json"]);

    let store = home.open_with(Settings { follow_after: Duration::ZERO, ..Settings::default() });
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    while home.store()["k"]["label"] != "x" {
        std::thread::yield_now();
    }
}

/// Bytes that are written for each of `changes` changes in a store of so many sessions, one after the other with time
/// in between for the store to follow.
fn bytes_for_a_change(sessions: usize, changes: usize) -> usize {
    let record = |at: usize| {
        format!(
            "  \"agent:main:s{at}\": {{\n    \"sessionId\": \"{at}\",\n    \"updatedAt\": 1,\n    \"note\": \"{}\"\n  }}",
            "x".repeat(900)
        )
    };
    let home =
        Home::with_store(&format!("{{\n{}\n}}", (0..sessions).map(record).collect::<Vec<_>>().join(",\n")));
    let written = Arc::new(AtomicUsize::new(0));
    let counted = written.clone();
    let disk = WatchedDisk::new(move |step| {
        if let Step::Write(bytes) = step {
            counted.fetch_add(bytes, Ordering::Relaxed);
        }
        Ok(())
    });
    let store = home.open_with(Settings { disk, follow_after: Duration::ZERO, ..Settings::default() });
    for change in 0..changes {
        let label = format!("{change} {}", "y".repeat(900));
        store.update_blocking(&key("agent:main:s1"), set("label", label.as_str())).unwrap();
        // A store that follows at once has done so by then.
        let before = std::time::Instant::now();
        while before.elapsed() < Duration::from_millis(20) && home.store()["agent:main:s1"]["label"] != label
        {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let bytes = written.load(Ordering::Relaxed) / changes;
    drop(store);
    assert!(
        home.store()["agent:main:s1"]["label"].as_str().unwrap().starts_with(&format!("{} ", changes - 1))
    );
    assert!(!home.path("sessions.json.journal").exists(), "everything is in the store after the end");
    bytes
}

#[test]
fn what_is_written_for_a_change_does_not_grow_with_the_store() {
    let few = bytes_for_a_change(10, 40);
    for sessions in [40, 200, 3000] {
        let many = bytes_for_a_change(sessions, 40);
        assert!(many <= 3 * few, "{sessions} sessions: {many} bytes, with 10: {few}");
    }
}

#[test]
fn reading_alone_changes_nothing() {
    let home = Home::with_store("{ /* by hand */ 'k': {sessionId: 's', provider: 'x'}, n: null }");
    let writer = home.open();
    writer.update_blocking(&key("new"), begin(r#"{"sessionId":"n"}"#)).unwrap();
    die(writer);
    let before = home.state();
    let reader = home.open();
    assert_eq!(reader.get_blocking(&key("k")).unwrap().unwrap().channel(), Some("x"));
    assert_eq!(reader.get_blocking(&key("n")).unwrap(), None);
    assert_eq!(reader.get_blocking(&key("missing")).unwrap(), None);
    assert_eq!(reader.list_blocking().unwrap().len(), 2);
    drop(reader);
    assert_eq!(home.state(), before);

    let empty = Home::new();
    assert_eq!(empty.open().list_blocking().unwrap(), vec![]);
    assert_eq!(empty.files(), [""; 0]);
}

#[test]
fn what_a_dead_writer_promised_is_there() {
    let home = Home::with_store(r#"{"old":{"sessionId":"o","x":1}}"#);
    let writer = home.open();
    writer.update_blocking(&key("new"), begin(r#"{"sessionId":"n"}"#)).unwrap();
    writer.update_blocking(&key("old"), set("x", 2)).unwrap();
    writer.update_blocking(&key("new"), remove()).unwrap();
    writer.update_blocking(&key("new"), begin(r#"{"sessionId":"m"}"#)).unwrap();
    die(writer);
    let store = home.open();
    assert_eq!(store.get_blocking(&key("new")).unwrap().unwrap().session_id(), Some("m"));
    assert_eq!(store.get_blocking(&key("old")).unwrap().unwrap().get("x"), Some(&Value::from(2)));
    store.flush().unwrap();
    assert_eq!(json::stringify(&home.store()), r#"{"old":{"sessionId":"o","x":2},"new":{"sessionId":"m"}}"#);
    assert_eq!(store.notices().unwrap(), vec![]);
}

#[test]
fn two_processes_never_undo_each_other() {
    let home = Home::new();
    let stores = [home.open(), home.open()];
    std::thread::scope(|scope| {
        for store in &stores {
            scope.spawn(|| {
                for round in 0..100 {
                    store.update_blocking(&key("shared"), count_up("count")).unwrap();
                    if round % 10 == 0 {
                        store.flush().unwrap();
                    }
                }
            });
        }
    });
    let [one, other] = stores;
    assert_eq!(one.get_blocking(&key("shared")).unwrap(), other.get_blocking(&key("shared")).unwrap());
    drop(one);
    drop(other);
    assert_eq!(home.store()["shared"]["count"], 200);
    assert_eq!(home.files(), ["sessions.json"]);
}

#[test]
fn after_a_foreign_write_changes_are_made_again_where_they_belong() {
    let home = Home::with_store(
        r#"{"kept":{"sessionId":"a"},"gone":{"sessionId":"b"},"reset":{"sessionId":"c"},"left":{"sessionId":"d"}}"#,
    );
    let store = home.open();
    for name in ["kept", "gone", "reset"] {
        store.update_blocking(&key(name), set("totalTokens", 7)).unwrap();
    }
    store.update_blocking(&key("begun"), begin(r#"{"sessionId":"e"}"#)).unwrap();
    store.update_blocking(&key("left"), remove()).unwrap();
    let foreign = r#"{"kept":{"sessionId":"a","label":"theirs"},"reset":{"sessionId":"c2"},"left":{"sessionId":"d"},"theirs":{"sessionId":"f"}}"#;
    fs::write(home.path("sessions.json"), foreign).unwrap();

    assert_eq!(store.get_blocking(&key("gone")).unwrap(), None);
    let notices = store.notices().unwrap();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].0.contains("gone") && notices[1].0.contains("reset"), "{notices:?}");
    let kept_in = home.path("sessions.json.unapplied").display().to_string();
    assert!(notices.iter().all(|notice| notice.0.contains(&kept_in)), "{notices:?}");
    store.flush().unwrap();
    assert_eq!(
        json::stringify(&home.store()),
        r#"{"kept":{"sessionId":"a","label":"theirs","totalTokens":7},"reset":{"sessionId":"c2"},"theirs":{"sessionId":"f"},"begun":{"sessionId":"e"}}"#
    );
    let unapplied = home.text("sessions.json.unapplied");
    assert_eq!(unapplied.lines().count(), 2);
    assert!(unapplied.contains(r#""key":"gone","sessionId":"b","set":{"totalTokens":7}"#), "{unapplied}");
    assert_eq!(store.notices().unwrap(), vec![]);
}

#[test]
fn a_store_that_cannot_be_read_is_never_written() {
    for damaged in [&b"{\"k\": {\"sessionId\": \"s\"}, "[..], b"[1]", b"\xff\xfe{}", b"{\"a\":1}}"] {
        let home = Home::new();
        fs::write(home.path("sessions.json"), damaged).unwrap();
        let store = home.open();
        for error in [
            store.get_blocking(&key("k")).unwrap_err(),
            store.update_blocking(&key("k"), set("label", "x")).unwrap_err(),
            store.flush().unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("sessions.json") && text.contains("yabby doctor --fix"), "{text}");
        }
        drop(store);
        assert_eq!(fs::read(home.path("sessions.json")).unwrap(), damaged);
        assert_eq!(home.files(), ["sessions.json"]);
    }
    let home = Home::with_store("{");
    let store = home.open();
    store.get_blocking(&key("k")).unwrap_err();
    fs::write(home.path("sessions.json"), r#"{"k":{"sessionId":"s"}}"#).unwrap();
    assert!(store.update_blocking(&key("k"), set("label", "x")).unwrap().is_some());
}

#[test]
fn a_record_that_is_nested_too_deep_is_neither_replaced_nor_promised() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deep = format!(r#"{{"sessionId":"d","x":{}}}"#, nested(1000));
    let home = Home::with_store(&format!(r#"{{"deep":{deep},"k":{{"sessionId":"s"}}}}"#));
    let store = home.open();
    for error in [
        store.get_blocking(&key("deep")).unwrap_err(),
        store.update_blocking(&key("deep"), begin(r#"{"sessionId":"new"}"#)).unwrap_err(),
    ] {
        assert!(error.to_string().contains("deep"), "{error}");
    }
    assert_eq!(store.list_blocking().unwrap().len(), 1);
    // As deep as a record can be read, but not the line that speaks of it.
    for depth in 500..=json::MAX_DEPTH {
        let x = json::parse(&nested(depth)).unwrap();
        let promised = store.update_blocking(&key("k"), set("x", x)).is_ok();
        let kept = home.open().get_blocking(&key("k")).unwrap().unwrap();
        assert_eq!(store.get_blocking(&key("k")).unwrap().as_ref(), Some(&kept), "{depth}");
        assert_eq!(promised, kept.get("x").unwrap().to_string().len() == 2 * depth, "{depth}");
    }
    assert_eq!(home.open().notices().unwrap(), vec![]);
    drop(store);
    assert!(home.text("sessions.json").contains(&deep));
}

#[test]
fn an_empty_file_is_a_store_without_sessions() {
    for empty in ["", " \n", "{}"] {
        let home = Home::with_store(empty);
        let store = home.open();
        assert_eq!(store.list_blocking().unwrap(), vec![]);
        store.update_blocking(&key("k"), begin(r#"{"sessionId":"s"}"#)).unwrap();
        drop(store);
        assert_eq!(home.store()["k"]["sessionId"], "s");
    }
}

#[test]
fn a_line_that_was_being_written_is_dropped_and_a_damaged_one_is_kept() {
    let home = Home::new();
    let writer = home.open();
    writer.update_blocking(&key("a"), begin(r#"{"sessionId":"a"}"#)).unwrap();
    writer.update_blocking(&key("b"), begin(r#"{"sessionId":"b"}"#)).unwrap();
    die(writer);
    let journal = home.text("sessions.json.journal");
    let lines: Vec<&str> = journal.lines().collect();

    fs::write(home.path("sessions.json.journal"), format!("{}\n{}\n{}", lines[0], lines[1], &lines[2][..20]))
        .unwrap();
    let store = home.open();
    assert_eq!(store.list_blocking().unwrap().len(), 1);
    store.update_blocking(&key("c"), begin(r#"{"sessionId":"c"}"#)).unwrap();
    die(store);
    assert_eq!(home.open().list_blocking().unwrap().len(), 2);
    assert_eq!(home.files(), ["sessions.json.journal"]);

    fs::write(home.path("sessions.json.journal"), format!("{}\nrot\n{}\n", lines[0], lines[2])).unwrap();
    let store = home.open();
    store.flush().unwrap();
    assert!(store.notices().unwrap()[0].0.contains("line 2"));
    drop(store);
    assert_eq!(home.store()["b"]["sessionId"], "b");
    let copies: Vec<String> = home.files().into_iter().filter(|name| name.contains("damaged")).collect();
    assert_eq!(copies.len(), 1);
    assert!(home.text(&copies[0]).contains("\nrot\n"));
}

#[test]
fn a_lock_is_waited_for_and_a_dead_holder_s_is_removed() {
    let home = Home::new();
    let store = home.open();
    store.update_blocking(&key("k"), begin(r#"{"sessionId":"s"}"#)).unwrap();
    let lock = home.path("sessions.json.lock");

    fs::write(&lock, format!(r#"{{"pid":{},"startedAt":{}}}"#, std::process::id(), now_ms())).unwrap();
    std::thread::scope(|scope| {
        let flushed = scope.spawn(|| store.flush());
        // Updates do not wait for anybody's lock.
        store.update_blocking(&key("k"), set("label", "x")).unwrap();
        assert!(!home.path("sessions.json").exists());
        fs::remove_file(&lock).unwrap();
        flushed.join().unwrap().unwrap();
    });
    assert!(home.path("sessions.json").exists());

    store.update_blocking(&key("k"), set("label", "y")).unwrap();
    fs::write(&lock, format!(r#"{{"pid":{},"startedAt":{}}}"#, i32::MAX, now_ms())).unwrap();
    File::open(&lock).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3)).unwrap();
    store.flush().unwrap();
    assert_eq!(home.store()["k"]["label"], "y");

    store.update_blocking(&key("k"), set("label", "z")).unwrap();
    fs::write(&lock, "").unwrap();
    File::open(&lock).unwrap().set_modified(SystemTime::now() - Duration::from_secs(31)).unwrap();
    store.flush().unwrap();
    assert_eq!(home.store()["k"]["label"], "z");
    assert!(!lock.exists());
}

pub(crate) fn now_ms() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()
}

#[tokio::test]
async fn all_that_wait_share_one_sync_and_none_is_answered_before_it() {
    use yabby_domain::seam::SessionStore;
    let home = Home::new();
    let syncs = Arc::new(AtomicUsize::new(0));
    let is_open = Arc::new((Mutex::new(false), Condvar::new()));
    let disk = WatchedDisk::new({
        let (syncs, is_open) = (syncs.clone(), is_open.clone());
        move |step| {
            if step == Step::Sync {
                syncs.fetch_add(1, Ordering::SeqCst);
                drop(is_open.1.wait_while(is_open.0.lock().unwrap(), |is_open| !*is_open).unwrap());
            }
            Ok(())
        }
    });
    let store = home.open_with(Settings { disk, ..Home::settings() });
    let update = |number: usize| {
        let store = store.clone();
        tokio::spawn(async move { store.update(&key(&format!("k{number}")), set("n", number)).await })
    };
    let first = update(0);
    while syncs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let others: Vec<_> = (1..64).map(update).collect();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert!(!first.is_finished());
    *is_open.0.lock().unwrap() = true;
    is_open.1.notify_all();
    first.await.unwrap().unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(syncs.load(Ordering::SeqCst), 2);
    assert_eq!(store.list().await.unwrap().len(), 64);
}

#[test]
fn an_older_program_s_store_is_read_and_then_taken_over() {
    let home = Home::new();
    let folder = home.path("agents/main/sessions");
    fs::create_dir_all(&folder).unwrap();
    let older = home.path("agents/main/sessions.json");
    fs::write(&older, r#"{"agent:main:main":{"sessionId":"main","channel":"whatsapp","to":"+1"}}"#).unwrap();
    let open = || {
        let settings = Settings { follow_after: Duration::from_secs(3600), ..Settings::default() };
        SessionFile::open(folder.join("sessions.json"), settings).unwrap()
    };
    let reader = open();
    assert_eq!(reader.get_blocking(&key("agent:main:main")).unwrap().unwrap().session_id(), Some("main"));
    drop(reader);
    assert!(older.exists() && !folder.join("sessions.json").exists());

    let store = open();
    store.update_blocking(&key("k"), begin(r#"{"sessionId":"s"}"#)).unwrap();
    store.update_blocking(&key("agent:main:main"), remove()).unwrap();
    drop(store);
    assert!(!older.exists());
    let names: Vec<_> =
        fs::read_dir(home.path("agents/main")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().any(|name| name.to_string_lossy().starts_with("sessions.json.bak.")), "{names:?}");
    assert_eq!(open().list_blocking().unwrap().len(), 1);

    fs::write(&older, "{").unwrap();
    let store = open();
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    assert!(store.notices().unwrap()[0].0.contains("agents/main/sessions.json"));
    drop(store);
    assert_eq!(fs::read_to_string(&older).unwrap(), "{");
}

#[test]
fn a_file_beside_somebody_s_own_folder_is_no_older_store() {
    let home = Home::new();
    fs::create_dir(home.path("sessions")).unwrap();
    fs::write(home.path("sessions.json"), r#"{"theirs":{"sessionId":"t"}}"#).unwrap();
    let store = SessionFile::open(home.path("sessions/sessions.json"), Home::settings()).unwrap();
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    assert_eq!(store.list_blocking().unwrap().len(), 1);
    drop(store);
    assert_eq!(home.files(), ["sessions", "sessions.json"]);
}

#[test]
fn drafts_of_dead_writers_are_cleared_away_and_nothing_else() {
    let home = Home::new();
    let id = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
    let dead = format!("sessions.json.{}.{id}.tmp", i32::MAX);
    let alive = format!("sessions.json.{}.{id}.tmp", std::process::id());
    for name in [&dead, &alive, "sessions.json.bak", "notes.1.tmp"] {
        fs::write(home.path(name), "{}").unwrap();
    }
    let store = home.open();
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    drop(store);
    let mut left = vec![alive, "notes.1.tmp".into(), "sessions.json".into(), "sessions.json.bak".into()];
    left.sort();
    assert_eq!(home.files(), left);
}

#[test]
fn nothing_is_written_through_a_link() {
    for name in ["sessions.json.journal", "sessions.json.unapplied"] {
        let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
        let victim = home.path("victim.txt");
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, home.path(name)).unwrap();
        let store = home.open();
        let updated = store.update_blocking(&key("k"), set("label", "x"));
        // Then the change belongs nowhere.
        fs::write(home.path("sessions.json"), "{}").unwrap();
        let error = updated.map(|_| ()).and_then(|()| store.flush()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        drop(store);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
    }
}

#[test]
fn a_journal_that_is_no_file_is_told_and_not_waited_for() {
    let link = |home: &Home| {
        fs::write(home.path("other"), "").unwrap();
        symlink("other", home.path("sessions.json.journal")).unwrap();
    };
    let folder = |home: &Home| fs::create_dir(home.path("sessions.json.journal")).unwrap();
    let pipe = |home: &Home| {
        let made = Command::new("mkfifo").arg(home.path("sessions.json.journal")).status().unwrap();
        assert!(made.success());
    };
    for odd in [&link as &dyn Fn(&Home), &folder, &pipe] {
        let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
        odd(&home);
        let store = home.open();
        for error in [
            store.get_blocking(&key("k")).unwrap_err(),
            store.update_blocking(&key("k"), set("label", "x")).unwrap_err(),
            store.flush().unwrap_err(),
        ] {
            assert!(error.to_string().contains("sessions.json.journal"), "{error}");
        }
    }
}

#[test]
fn a_change_that_panics_changes_nothing_and_stops_nobody() {
    let home = Home::new();
    let store = home.open();
    let error = store.update_blocking(&key("k"), Box::new(|_| panic!("half-way"))).unwrap_err();
    assert!(matches!(error, StoreError::ChangePanicked { .. }), "{error}");
    store.update_blocking(&key("k"), set("label", "x")).unwrap();
    assert_eq!(store.list_blocking().unwrap().len(), 1);
}

#[test]
fn an_update_without_change_writes_nothing() {
    let home = Home::with_store(r#"{"k":{"sessionId":"s"}}"#);
    let store = home.open();
    let same = store.update_blocking(&key("k"), set("sessionId", "s")).unwrap();
    assert_eq!(same.unwrap().session_id(), Some("s"));
    assert_eq!(store.update_blocking(&key("none"), Box::new(|_| {})).unwrap(), None);
    assert_eq!(home.text("sessions.json.journal"), "");
    drop(store);
    assert_eq!(home.text("sessions.json"), r#"{"k":{"sessionId":"s"}}"#);
    assert_eq!(home.files(), ["sessions.json"]);
}

#[test]
fn delivery_fields_are_in_one_form_as_soon_as_they_are_written() {
    let home = Home::new();
    let store = home.open();
    let written =
        store.update_blocking(&key("k"), begin(r#"{"sessionId":"s","lastChannel":"IMSG","lastTo":" 1 "}"#));
    let text = json::stringify_object(written.unwrap().unwrap().as_object());
    assert!(text.contains(r#""deliveryContext":{"channel":"imessage","to":"1"}"#), "{text}");
    store.flush().unwrap();
    assert_eq!(json::stringify(&home.store()["k"]), text);
}

#[test]
fn a_change_of_the_file_is_seen_at_once_even_if_its_time_is_set_back() {
    let home = Home::with_store(r#"{"k":{"sessionId":"1"}}"#);
    let file = File::options().write(true).open(home.path("sessions.json")).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    let store = home.open();
    let id = || store.get_blocking(&key("k")).unwrap().unwrap().session_id().unwrap().to_owned();
    assert_eq!(id(), "1");
    fs::write(home.path("sessions.json"), r#"{"k":{"sessionId":"2"}}"#).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(id(), "2");
}

#[tokio::test]
async fn the_newest_are_those_of_the_file_whoever_wrote_it() {
    let home = Home::with_store(r#"{"a":{"updatedAt":1},"none":null,"b":{"updatedAt":2},"list":[3]}"#);
    let store = home.open();
    let newest = || async {
        let choice = Choice { keys: Box::new(|_| true), records: None, most: 2 };
        let newest = store.newest(choice).await.unwrap();
        let keys = newest.entries.iter().map(|(key, _)| key.as_str().to_owned());
        (keys.collect::<Vec<_>>().join(" "), newest.count)
    };
    assert_eq!(newest().await, ("b a".to_owned(), 2));
    fs::write(home.path("sessions.json"), r#"{"a":{"updatedAt":9},"b":{"updatedAt":2},"c":{"updatedAt":3}}"#)
        .unwrap();
    assert_eq!(newest().await, ("a c".to_owned(), 3));
    store.update(&key("b"), set("updatedAt", 10)).await.unwrap();
    assert_eq!(newest().await, ("b a".to_owned(), 3));
    fs::remove_file(home.path("sessions.json")).unwrap();
    assert_eq!(newest().await.1, 0);
}

async fn flush(store: &SessionFile) {
    let store = store.clone();
    tokio::task::spawn_blocking(move || store.flush()).await.unwrap().unwrap();
}

#[tokio::test]
async fn whoever_looks_at_a_record_sees_what_was_written_last_whoever_wrote_it() {
    let home = Home::with_store(r#"{"a":{"sessionId":"s","updatedAt":1}}"#);
    let (one, other) = (home.open(), home.open());
    let label = async |store: &SessionFile| {
        let record = store.get(&key("a")).await.unwrap();
        // Once more, of what was kept.
        assert_eq!(store.get(&key("a")).await.unwrap(), record);
        record.map(|record| record.label().unwrap_or_default().to_owned())
    };
    let both = async || (label(&one).await, label(&other).await);
    let said = |label: &str| (Some(label.to_owned()), Some(label.to_owned()));
    assert_eq!(both().await, said(""));
    for number in 0..3 {
        let (first, second) = (format!("one {number}"), format!("other {number}"));
        one.update(&key("a"), set("label", first.as_str())).await.unwrap();
        assert_eq!(both().await, said(&first));
        other.update(&key("a"), set("label", second.as_str())).await.unwrap();
        assert_eq!(both().await, said(&second));
        // What happens to others does not matter.
        other.update(&key("b"), set("label", "b")).await.unwrap();
        assert_eq!(both().await, said(&second));
    }
    flush(&one).await;
    assert_eq!(both().await, said("other 2"));
    // As OpenClaw writes it: another file in its place.
    fs::write(home.path("draft"), r#"{"a":{"sessionId":"s","updatedAt":1,"label":"theirs"}}"#).unwrap();
    fs::rename(home.path("draft"), home.path("sessions.json")).unwrap();
    assert_eq!(both().await, said("theirs"));
    one.update(&key("a"), remove()).await.unwrap();
    assert_eq!(both().await, (None, None));
}

#[tokio::test]
async fn a_store_looks_the_same_as_long_as_its_records_are_the_same() {
    let home = Home::with_store(r#"{"a":{"sessionId":"s","updatedAt":1}}"#);
    let store = home.open();
    let mut seen = vec![store.stamp().unwrap()];
    store.get(&key("a")).await.unwrap();
    assert_eq!(store.stamp(), Some(seen[0]), "looking changes nothing");
    let mut changed = |what: &str| {
        let now = store.stamp().unwrap();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    store.update(&key("a"), set("label", "l")).await.unwrap();
    changed("an update");
    flush(&store).await;
    changed("a fold");
    fs::write(home.path("sessions.json"), "{}").unwrap();
    changed("another text");
    let always_read = home.open_with(Settings { cache_ms: 0.0, ..Home::settings() });
    assert_eq!(always_read.stamp(), None);
}
