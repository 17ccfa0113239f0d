//! Waiting for the lock that OpenClaw and yabby take before they write a store (`sessions.md` §6).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::session::store_lock::{Held, Holder, LockTimeout, WhenLocked, lock_text, when_locked};

use crate::clock::millis;
use crate::disk::{Disk, Doing, beside, parent, shown};
use crate::files::lock_file::{LockFile, Seen};
use crate::process;

/// Waits for the lock of a store, at most as long as OpenClaw would.
pub(super) fn acquire(disk: &Arc<dyn Disk>, clock: &dyn Clock, store: &Path) -> Result<LockFile, StoreError> {
    let path = beside(store, ".lock");
    let started = millis(clock);
    loop {
        match LockFile::create(disk, &path, &lock_text(std::process::id(), millis(clock))) {
            Ok(Some(lock)) => return Ok(lock),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = parent(store);
                disk.create_folder(folder).doing("create", folder)?;
                continue;
            }
            Err(error) => return Err(error).doing("create", &path),
        }
        let Some(seen) = Seen::at(&path).doing("look at", &path)? else { continue };
        let holder = seen.text.as_deref().and_then(Holder::read);
        let held = Held { written: Some(seen.written()), holder };
        match when_locked(millis(clock), started, held, process::look_up) {
            WhenLocked::Remove => drop(seen.evict(&**disk).doing("remove", &path)?),
            WhenLocked::Wait(ms) => thread::sleep(Duration::from_secs_f64(ms / 1000.0)),
            WhenLocked::GiveUp => return Err(LockTimeout { path: shown(&path) }.into()),
        }
    }
}
