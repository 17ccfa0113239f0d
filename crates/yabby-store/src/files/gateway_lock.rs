//! One gateway at a time on a folder: a lock of our own in the folder, and OpenClaw's, so that its gateway does not
//! start beside ours, nor ours beside it.
//!
//! Ours is held by the system and let go of however the process ends. OpenClaw's is a file with the id of a process
//! in the folder for temporary files; one of a process that is gone means nothing.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
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

    /// The process that runs a gateway on this folder.
    pub fn holder(place: &Place) -> Option<i64> {
        match Self::try_take(place) {
            Err(LockError::Held { pid }) => pid,
            _ => None,
        }
    }

    fn try_take(place: &Place) -> Result<Self, LockError> {
        let folder = place.folder.path();
        std::fs::create_dir_all(folder).doing("create", folder)?;
        let ours = folder.join("gateway.lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&ours)
            .doing("open", &ours)?;
        if file.try_lock().is_err() {
            let mut said = String::new();
            let _ = file.read_to_string(&mut said);
            return Err(LockError::Held { pid: said.trim().parse().ok() });
        }
        let theirs = openclaws(place);
        claim(&theirs, place)?;
        let said = format!("{}\n", std::process::id());
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(said.as_bytes()));
        written.doing("write", &ours)?;
        Ok(Self { _ours: file, theirs })
    }
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
        std::fs::create_dir_all(folder).doing("create", folder)?;
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

/// The process that a lock names, if it still runs.
fn holder_of(text: &str) -> Option<i64> {
    let lock = json::parse(text).ok()?;
    let pid = lock.get("pid")?.as_i64()?;
    let is_another = lock
        .get("startTime")
        .and_then(Value::as_i64)
        .is_some_and(|then| start_ticks(pid).is_some_and(|now| now != then));
    (!is_another && look_up(pid) != Process::Gone).then_some(pid)
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
