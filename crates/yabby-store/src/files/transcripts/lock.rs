//! The lock file beside a transcript, in OpenClaw's protocol (`transcripts.md` §7.4).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use uuid::Uuid;
use yabby_domain::seam::{Clock, StoreError};
use yabby_domain::transcript::lock::{Holder, Locked, REFRESH_AFTER, Taken, lock_text, retry_delay, taken};

use crate::disk::{Disk, Doing, beside, names_file, shown, write_all};
use crate::files::folder::{open_inside, resolved_inside};
use crate::process;

use super::keeping::cannot_link;

/// The lock, held until this is dropped.
pub(super) struct TranscriptLock {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    /// The lock itself, which tells whether it is still the one that we made.
    file: File,
    written: Instant,
    _claim: Claim,
}

impl TranscriptLock {
    /// Waits for the lock of a transcript, whose folder exists.
    pub(super) fn acquire(
        disk: Arc<dyn Disk>,
        clock: &dyn Clock,
        transcript: &Path,
        timeout: Duration,
    ) -> Result<Self, StoreError> {
        let path = beside(&with_real_folder(transcript)?, ".lock");
        let deadline = Instant::now() + timeout;
        let mut holder = None;
        if let Some(claim) = Claim::until(deadline, &path) {
            for attempt in 1.. {
                match look(&*disk, clock, &path)? {
                    Look::Taken(file) => {
                        let written = Instant::now();
                        return Ok(Self { disk, path, file, written, _claim: claim });
                    }
                    Look::Held(by) => holder = by,
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                thread::sleep(retry_delay(attempt).min(left));
            }
        } else {
            holder = Seen::at(&path)?.and_then(|seen| seen.holder);
        }
        Err(Locked { timeout, holder, lock_file: shown(&path) }.into())
    }

    /// Makes sure that the lock is still ours, and does not look abandoned.
    pub(super) fn keep(&mut self, clock: &dyn Clock) -> Result<(), StoreError> {
        if !names_file(&self.path, &self.file) {
            return Err(StoreError::Closed { path: shown(&self.path.with_extension("")) });
        }
        if self.written.elapsed() > REFRESH_AFTER {
            let disk = &*self.disk;
            let (draft, file) = draft(disk, clock, &self.path)?;
            disk.rename(&draft, &self.path).doing("replace", &self.path)?;
            self.file = file;
            self.written = Instant::now();
        }
        Ok(())
    }
}

impl Drop for TranscriptLock {
    fn drop(&mut self) {
        // Another one may have thought us dead; its lock is not ours to remove.
        if names_file(&self.path, &self.file) {
            let disk = &*self.disk;
            let _ = disk.remove(&self.path).or_else(|_| disk.remove(&self.path));
        }
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
    Taken(File),
    Held(Option<Holder>),
}

/// Takes the lock if nobody holds it.
fn look(disk: &dyn Disk, clock: &dyn Clock, path: &Path) -> Result<Look, StoreError> {
    if let Some(seen) = Seen::at(path)?
        && (seen.is_held(clock) || !seen.evict(disk, path)?)
    {
        return Ok(Look::Held(seen.holder));
    }
    Ok(create(disk, clock, path)?.map_or(Look::Held(None), Look::Taken))
}

/// A lock that is there.
struct Seen {
    file: File,
    holder: Option<Holder>,
}

impl Seen {
    /// The lock at this path. A link is not looked through if it leads out of the folder.
    fn at(path: &Path) -> Result<Option<Self>, StoreError> {
        let Some(mut file) = open_inside(path)? else {
            // A link to nowhere would be taken for a lock that cannot be read.
            return resolved_inside(path).map(|_| None);
        };
        let mut text = String::new();
        let holder = file.read_to_string(&mut text).ok().and_then(|_| Holder::read(&text));
        Ok(Some(Self { file, holder }))
    }

    fn is_held(&self, clock: &dyn Clock) -> bool {
        let Some(holder) = self.holder else { return self.is_being_written() };
        let is_alive = |pid: i64| {
            let is_our_own = pid == i64::from(std::process::id());
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of this age of the world")]
            let since = holder.created_at().unwrap_or_default() as f64;
            !is_our_own && !process::look_up(pid).is_not_the_one(since)
        };
        taken(Some(holder), clock.now(), is_alive) == Taken::Wait
    }

    /// OpenClaw creates its lock and then writes it: for a moment it is empty.
    fn is_being_written(&self) -> bool {
        const MOMENT: Duration = Duration::from_secs(1);
        let modified = self.file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age < MOMENT)
    }

    /// Removes the lock, but not the one that somebody else may have put in its place since. Of those who
    /// found it abandoned only one goes on. Tells whether it is gone.
    fn evict(&self, disk: &dyn Disk, path: &Path) -> Result<bool, StoreError> {
        if self.file.try_lock().is_err() || !names_file(path, &self.file) {
            return Ok(false);
        }
        let aside = beside(path, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
        disk.rename(path, &aside).doing("remove", path)?;
        let is_the_one = names_file(&aside, &self.file);
        if !is_the_one {
            // That was a fresh one: give it back, unless there is another already.
            let _ = disk.link(&aside, path);
        }
        let _ = disk.remove(&aside);
        Ok(is_the_one)
    }
}

/// Makes the lock; `None` if somebody else did first. It appears with its text: OpenClaw would remove an
/// empty one.
fn create(disk: &dyn Disk, clock: &dyn Clock, path: &Path) -> Result<Option<File>, StoreError> {
    let (draft, file) = draft(disk, clock, path)?;
    let linked = disk.link(&draft, path);
    let _ = disk.remove(&draft);
    match linked {
        Ok(()) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) if cannot_link(&error) => create_in_place(disk, clock, path),
        Err(error) => Err(error).doing("create", path),
    }
}

/// A lock that is not in its place yet.
fn draft(disk: &dyn Disk, clock: &dyn Clock, lock: &Path) -> Result<(PathBuf, File), StoreError> {
    let path = beside(lock, &format!(".{}.{}.tmp", std::process::id(), Uuid::new_v4()));
    let file = disk.create_new(&path).doing("create", &path)?;
    write_lock(disk, clock, &path, &file)?;
    Ok((path, file))
}

fn write_lock(disk: &dyn Disk, clock: &dyn Clock, path: &Path, file: &File) -> Result<(), StoreError> {
    let text = lock_text(std::process::id(), clock.now());
    write_all(disk, file, text.as_bytes()).doing("write", path).inspect_err(|_| {
        let _ = disk.remove(path);
    })
}

fn create_in_place(disk: &dyn Disk, clock: &dyn Clock, path: &Path) -> Result<Option<File>, StoreError> {
    match disk.create_new(path) {
        Ok(file) => write_lock(disk, clock, path, &file).map(|()| Some(file)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(error) => Err(error).doing("create", path),
    }
}
