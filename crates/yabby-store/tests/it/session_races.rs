//! What others do to a store between two steps of ours.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use yabby_store::files::sessions::Settings;

use crate::sessions::{Home, begin, key, set};
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
