//! The lock file beside a transcript, in OpenClaw's protocol (`transcripts.md` §7.4).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::transcript::lock::{Holder, Locked, REFRESH_AFTER, Taken, lock_text, retry_delay, taken};

use crate::clock::millis;
use crate::disk::{Disk, Doing, beside, shown};
use crate::files::folder::resolved_inside;
use crate::files::lock_file::{LockFile, Seen};
use crate::process;

/// The lock, held until this is dropped.
pub(super) struct TranscriptLock {
    lock: LockFile,
    written: Instant,
    _claim: Claim,
}

impl TranscriptLock {
    /// Waits for the lock of a transcript, whose folder exists.
    pub(super) fn acquire(
        disk: &Arc<dyn Disk>,
        clock: &dyn Clock,
        transcript: &Path,
        timeout: Duration,
    ) -> Result<Self, StoreError> {
        let path = beside(&with_real_folder(transcript)?, ".lock");
        let deadline = Instant::now() + timeout;
        let mut holder = None;
        if let Some(claim) = Claim::until(deadline, &path) {
            for attempt in 1.. {
                match look(disk, clock, &path)? {
                    Look::Taken(lock) => return Ok(Self { lock, written: Instant::now(), _claim: claim }),
                    Look::Held(by) => holder = by,
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                thread::sleep(retry_delay(attempt).min(left));
            }
        } else {
            holder = seen_at(&path)?.and_then(|seen| holder_of(&seen));
        }
        Err(Locked { timeout, holder, lock_file: shown(&path) }.into())
    }

    /// Makes sure that the lock is still ours, and does not look abandoned.
    pub(super) fn keep(&mut self, clock: &dyn Clock) -> Result<(), StoreError> {
        let path = self.lock.path();
        if !self.lock.is_ours() {
            return Err(StoreError::Replaced { path: shown(&path.with_extension("")) });
        }
        if self.written.elapsed() > REFRESH_AFTER {
            let path = path.to_owned();
            self.lock.renew(&lock_text(std::process::id(), clock.now())).doing("replace", &path)?;
            self.written = Instant::now();
        }
        Ok(())
    }
}

/// The path with its folder resolved: one transcript has one lock, whatever it is called.
fn with_real_folder(path: &Path) -> Result<PathBuf, StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().doing("resolve", folder)?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

/// Within this process a transcript has one writer as well. A lock with our own process number that
/// nobody here has claimed is left over from somebody who had the number before us.
struct Claim(PathBuf);

/// The locks that this process holds or waits for. All handles on a folder must agree on them, however
/// they were made; nobody holds the mutex for longer than it takes to look.
static CLAIMED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);
static LET_GO: Condvar = Condvar::new();

impl Claim {
    /// Waits for the claim; `None` if somebody else still has it then.
    fn until(deadline: Instant, path: &Path) -> Option<Self> {
        let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
        while !claimed.insert(path.to_owned()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            (claimed, _) = LET_GO.wait_timeout(claimed, left).unwrap_or_else(PoisonError::into_inner);
        }
        Some(Self(path.to_owned()))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        CLAIMED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
        LET_GO.notify_all();
    }
}

/// What a look at a lock led to.
enum Look {
    /// It is ours.
    Taken(LockFile),
    Held(Option<Holder>),
}

/// Takes the lock if nobody holds it.
fn look(disk: &Arc<dyn Disk>, clock: &dyn Clock, path: &Path) -> Result<Look, StoreError> {
    if let Some(seen) = seen_at(path)?
        && (is_held(&seen, clock) || !seen.evict(&**disk).doing("remove", path)?)
    {
        return Ok(Look::Held(holder_of(&seen)));
    }
    let created = LockFile::create(disk, path, &lock_text(std::process::id(), clock.now()));
    Ok(created.doing("create", path)?.map_or(Look::Held(None), Look::Taken))
}

/// The lock at this path. A link that leads out of the folder is an error.
fn seen_at(path: &Path) -> Result<Option<Seen>, StoreError> {
    Seen::at(&resolved_inside(path)?).doing("look at", path)
}

/// Who a lock says it belongs to.
pub(crate) fn holder_of(seen: &Seen) -> Option<Holder> {
    seen.text.as_deref().and_then(Holder::read)
}

/// Whether somebody holds a lock that is there.
pub(crate) fn is_held(seen: &Seen, clock: &dyn Clock) -> bool {
    /// OpenClaw creates its lock and then writes it: for a moment it is empty.
    const MOMENT_MS: f64 = 1000.0;
    let Some(holder) = holder_of(seen) else {
        return (millis(clock) - seen.written()).abs() < MOMENT_MS;
    };
    let is_alive = |pid: i64| {
        let is_our_own = pid == i64::from(std::process::id());
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
        let since = holder.created_at().unwrap_or_default() as f64;
        !is_our_own && !process::look_up(pid).is_not_the_one(since)
    };
    taken(Some(holder), clock.now(), is_alive) == Taken::Wait
}
