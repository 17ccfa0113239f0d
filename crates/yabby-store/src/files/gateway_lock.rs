//! One gateway at a time on a folder: a lock of our own in the folder, and OpenClaw's, so that its gateway does not
//! start beside ours, nor ours beside it.
//!
//! Ours is held by the system and let go of however the process ends. OpenClaw's is a file with the id of a process
//! in the folder for temporary files; one of a process that is gone means nothing.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha1::{Digest as _, Sha1};
use yabby_domain::json::{self, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::session::store_lock::Process;

use crate::disk::Doing;
use crate::paths::Place;
use crate::process::look_up;

/// How long to wait for a gateway that is about to end.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Held for as long as this lives.
#[derive(Debug)]
pub struct GatewayLock {
    _ours: File,
    theirs: PathBuf,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("gateway already running{}", .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Held { pid: Option<i64> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GatewayLock {
    /// Takes both locks, or says which process has one of them.
    pub fn take(place: &Place, patience: Duration) -> Result<Self, LockError> {
        let begun = Instant::now();
        loop {
            match Self::try_take(place) {
                Err(LockError::Held { .. }) if begun.elapsed() < patience => {
                    std::thread::sleep(Duration::from_millis(100));
                }
                taken => return taken,
            }
        }
    }

    /// The process that runs a gateway on this folder. Only looks: nothing is taken, written or made.
    pub fn holder(place: &Place) -> Option<i64> {
        let file = File::open(ours(place)).ok();
        let is_held = |file: &File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        match file.filter(is_held) {
            Some(file) => named_in(file),
            None => {
                let theirs = openclaws(place);
                let is_safe = theirs.parent().is_some_and(|folder| check_folder(folder).is_ok());
                is_safe.then(|| holder_of(&std::fs::read_to_string(theirs).ok()?)).flatten()
            }
        }
    }

    fn try_take(place: &Place) -> Result<Self, LockError> {
        let folder = place.folder.path();
        std::fs::create_dir_all(folder).doing("create", folder)?;
        let ours = ours(place);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&ours)
            .doing("open", &ours)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { pid: named_in(file) }),
            Err(TryLockError::Error(error)) => Err(error).doing("lock", &ours)?,
        }
        let theirs = openclaws(place);
        claim(&theirs, place)?;
        let own = std::process::id();
        let ticks = start_ticks(i64::from(own)).map(|ticks| format!("{ticks}\n")).unwrap_or_default();
        let said = format!("{own}\n{ticks}");
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(said.as_bytes()));
        written.doing("write", &ours)?;
        Ok(Self { _ours: file, theirs })
    }
}

/// Our own lock.
fn ours(place: &Place) -> PathBuf {
    place.folder.path().join("gateway.lock")
}

/// The process that wrote itself into our lock, if it is that one which runs: its id, and when it started.
fn named_in(mut lock: File) -> Option<i64> {
    let mut said = String::new();
    lock.read_to_string(&mut said).ok()?;
    let mut lines = said.lines().map(str::trim);
    let pid = lines.next()?.parse().ok()?;
    let then = lines.next().and_then(|ticks| ticks.parse().ok());
    is_running(pid, then).then_some(pid)
}

impl Drop for GatewayLock {
    fn drop(&mut self) {
        // Whoever finds it there later sees that its process is gone.
        let _ = std::fs::remove_file(&self.theirs);
    }
}

/// Where OpenClaw keeps the lock of a configuration.
fn openclaws(place: &Place) -> PathBuf {
    let digest = Sha1::digest(place.config.to_string_lossy().as_bytes());
    let name: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let folder = format!("openclaw-{}", rustix::process::getuid().as_raw());
    std::env::temp_dir().join(folder).join(format!("gateway.{name}.lock"))
}

/// Writes OpenClaw's lock, unless a process that runs has it.
fn claim(lock: &Path, place: &Place) -> Result<(), LockError> {
    if let Some(folder) = lock.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.and_then(|()| check_folder(folder)).doing("use", folder)?;
    }
    loop {
        match OpenOptions::new().write(true).create_new(true).open(lock) {
            Ok(mut file) => {
                let written = file.write_all(json::stringify(&payload(place)).as_bytes());
                return Ok(written.doing("write", lock)?);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let text = std::fs::read_to_string(lock).unwrap_or_default();
                if let Some(pid) = holder_of(&text) {
                    return Err(LockError::Held { pid: Some(pid) });
                }
                match std::fs::remove_file(lock) {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error).doing("remove", lock)?,
                    _ => {}
                }
            }
            Err(error) => Err(error).doing("create", lock)?,
        }
    }
}

fn payload(place: &Place) -> Value {
    let mut payload = serde_json::json!({
        "pid": std::process::id(),
        "createdAt": format!("{:.3}", jiff::Timestamp::now()),
        "configPath": place.config.to_string_lossy(),
    });
    if let (Some(payload), Some(ticks)) =
        (payload.as_object_mut(), start_ticks(i64::from(std::process::id())))
    {
        payload.insert("startTime".to_owned(), ticks.into());
    }
    payload
}

/// Everybody may write where this folder is: only our own says something.
fn check_folder(folder: &Path) -> io::Result<()> {
    let found = std::fs::symlink_metadata(folder)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::getuid().as_raw();
    match is_ours && found.mode() & 0o002 == 0 {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "it belongs to somebody else, or everybody may write to it; remove it, or set TMPDIR to a folder of your own",
        )),
    }
}

/// The process that OpenClaw's lock names, if it still runs. Where the lock does not say when it started, it has to
/// look like a gateway: another process may have got the id since.
fn holder_of(text: &str) -> Option<i64> {
    let lock = json::parse(text).ok()?;
    let pid = lock.get("pid")?.as_i64()?;
    let then = lock.get("startTime").and_then(Value::as_i64);
    let is_it = is_running(pid, then) && (then.is_some() || looks_like_gateway(pid));
    is_it.then_some(pid)
}

/// Whether a process runs, and is the one that started then.
fn is_running(pid: i64, then: Option<i64>) -> bool {
    let is_another = then.is_some_and(|then| start_ticks(pid).is_some_and(|now| now != then));
    !is_another && look_up(pid) != Process::Gone
}

/// Whether a process was called as a gateway is; `true` where the system does not tell.
fn looks_like_gateway(pid: i64) -> bool {
    let Ok(called) = std::fs::read(format!("/proc/{pid}/cmdline")) else { return true };
    let called = String::from_utf8_lossy(&called).to_lowercase();
    let words: Vec<&str> = called.split(['\0', ' ']).collect();
    let is_known =
        |word: &&str| ["openclaw", "clawdbot", "moltbot", "yabby"].iter().any(|name| word.contains(name));
    words.iter().any(is_known) && words.iter().any(|word| *word == "gateway" || word.ends_with("-gateway"))
}

/// When a process started, as the system counts.
fn start_ticks(pid: i64) -> Option<i64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::Choice;

    fn place(home: &Path) -> Place {
        let choice = Choice { state: Some(home.join("state")), profile: None };
        Place::find_around(&choice, Vec::new().into_iter().collect(), home, home)
    }

    #[test]
    fn a_second_gateway_is_told_who_runs() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path());
        let lock = GatewayLock::take(&place, Duration::ZERO).unwrap();
        let own = Some(i64::from(std::process::id()));
        match GatewayLock::take(&place, Duration::ZERO) {
            Err(LockError::Held { pid }) => assert_eq!(pid, own),
            other => panic!("{other:?}"),
        }
        assert_eq!(GatewayLock::holder(&place), own);
        let theirs = openclaws(&place);
        assert!(theirs.exists());
        drop(lock);
        assert!(!theirs.exists());
        assert_eq!(GatewayLock::holder(&place), None);
    }

    #[test]
    fn a_look_takes_nothing_and_believes_no_stale_name() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path());
        assert_eq!(GatewayLock::holder(&place), None);
        assert!(!place.folder.path().exists(), "a look makes no folder");
        drop(GatewayLock::take(&place, Duration::ZERO).unwrap());
        let lock = ours(&place);
        let own = std::process::id();
        // Somebody else holds the lock, and the name in it is that of a process which started at another time.
        std::fs::write(&lock, format!("{own}\n1\n")).unwrap();
        let held = File::open(&lock).unwrap();
        held.lock().unwrap();
        assert_eq!(GatewayLock::holder(&place), None);
        let taken = GatewayLock::take(&place, Duration::ZERO);
        assert!(matches!(taken, Err(LockError::Held { pid: None })), "{taken:?}");
        drop(held);
        assert_eq!(std::fs::read_to_string(&lock).unwrap(), format!("{own}\n1\n"));
    }

    #[test]
    fn a_lock_of_a_process_that_is_no_gateway_means_nothing() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let text = serde_json::json!({"pid": child.id()}).to_string();
        let named = holder_of(&text);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(named, None);
    }

    #[test]
    fn a_folder_that_everybody_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        check_folder(home.path()).unwrap();
        std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        check_folder(home.path()).unwrap_err();
        let link = home.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        check_folder(&link).unwrap_err();
    }

    #[test]
    fn openclaws_lock_counts_while_its_process_runs() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path());
        let theirs = openclaws(&place);
        std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
        let own = i64::from(std::process::id());
        let running = serde_json::json!({"pid": own, "startTime": start_ticks(own)});
        std::fs::write(&theirs, running.to_string()).unwrap();
        assert!(
            matches!(GatewayLock::take(&place, Duration::ZERO), Err(LockError::Held { pid }) if pid == Some(own))
        );
        for gone in [serde_json::json!({"pid": i32::MAX}), serde_json::json!({"pid": own, "startTime": 1})] {
            std::fs::write(&theirs, gone.to_string()).unwrap();
            drop(GatewayLock::take(&place, Duration::ZERO).unwrap());
        }
    }
}
