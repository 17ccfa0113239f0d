//! `exec-approvals.json`: which programs agents may run, shared with OpenClaw (`state-files.md` §4).
//!
//! The rules of it are `leash::approvals`. A file that cannot be read allows nothing, and is not written
//! over: whoever repairs it finds what was in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use yabby_domain::json::Object;
use yabby_domain::leash::approvals::Approvals;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::approvals::ApprovalBook;
use yabby_domain::text::lossy;

use super::atomic::Draft;
use super::folder::read_plain;
use super::lock_folder::LockFolder;
use crate::disk::{Disk, Doing, beside, shown};
use crate::paths::Place;

#[derive(Clone)]
pub struct ExecApprovalsFile {
    path: PathBuf,
    disk: Arc<dyn Disk>,
}

impl ExecApprovalsFile {
    /// Where OpenClaw looks for it, on a folder of OpenClaw's; else in the folder itself.
    pub fn of(place: &Place, disk: Arc<dyn Disk>) -> Self {
        let folder = place.folder.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let is_openclaws = folder.parent() == Some(&place.home) && name.starts_with(".openclaw");
        let folder = if is_openclaws { place.home.join(".openclaw") } else { folder.to_owned() };
        Self { path: folder.join("exec-approvals.json"), disk }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the file; `None` if there is none.
    pub fn text(&self) -> Result<Option<String>, StoreError> {
        match read_plain(&self.path) {
            Ok(bytes) => Ok(Some(lossy(&bytes).into_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).doing("read", &self.path),
        }
    }

    /// The lower-case SHA-256 of the text; of nothing if there is none.
    pub fn hash(&self) -> Result<String, StoreError> {
        let text = self.text()?.unwrap_or_default();
        Ok(Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Puts other approvals in the place of these, whatever they were.
    pub fn replace(&self, object: Object) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        self.write(Approvals::from_object(object))
    }

    fn lock(&self) -> Result<LockFolder, StoreError> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.exists()) {
            self.disk.create_folder(folder).doing("create", folder)?;
        }
        LockFolder::take(&beside(&self.path, ".lock"))
    }

    fn write(&self, mut approvals: Approvals) -> Result<(), StoreError> {
        let socket = self.path.with_extension("sock");
        let id = || uuid::Uuid::new_v4().to_string();
        approvals.complete(&socket.to_string_lossy(), &mut token, &mut { id });
        Draft::write(&*self.disk, &self.path, approvals.text().as_bytes())?.place()
    }
}

impl ApprovalBook for ExecApprovalsFile {
    fn read(&self) -> Result<Approvals, StoreError> {
        match self.text()? {
            None => Ok(Approvals::default()),
            Some(text) => Approvals::parse(&text).ok_or_else(|| StoreError::Damaged {
                path: shown(&self.path),
                what: "it holds no approvals of version 1".to_owned(),
            }),
        }
    }

    fn update(&self, change: &mut dyn FnMut(&mut Approvals)) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let mut approvals = self.read()?;
        change(&mut approvals);
        self.write(approvals)
    }
}

/// What a companion proves itself with: 32 letters of base64url, which are 24 bytes.
fn token() -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bytes = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
    // Of every id six bits are fixed, in bytes that are not used.
    let random = bytes.iter().flat_map(|id| {
        let bytes = id.into_bytes();
        [&bytes[..6], &bytes[9..15]].concat()
    });
    random.take(32).map(|byte| char::from(LETTERS[usize::from(byte % 64)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::LocalDisk;
    use crate::paths::Choice;

    fn file(state: &str) -> (tempfile::TempDir, ExecApprovalsFile) {
        let home = tempfile::tempdir().unwrap();
        let choice = Choice { state: Some(home.path().join(state)), profile: None };
        let place = Place::find_around(&choice, Vec::new().into_iter().collect(), home.path(), home.path());
        let file = ExecApprovalsFile::of(&place, Arc::new(LocalDisk));
        (home, file)
    }

    #[test]
    fn the_file_is_where_openclaw_looks_for_it() {
        for (state, expected) in [
            (".openclaw", ".openclaw"),
            (".openclaw-dev", ".openclaw"),
            (".yabby", ".yabby"),
            ("x/.openclaw", "x/.openclaw"),
        ] {
            let (home, file) = file(state);
            assert_eq!(file.path(), home.path().join(expected).join("exec-approvals.json"), "{state}");
        }
    }

    #[test]
    fn the_first_approval_makes_the_file_and_the_next_keeps_what_others_wrote() {
        let (_home, file) = file(".yabby");
        assert_eq!(file.read().unwrap(), Approvals::default());
        file.update(&mut |approvals| assert!(approvals.allow("main", "/bin/ls", "1".into(), 5))).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\"pattern\": \"/bin/ls\"") && text.contains("exec-approvals.sock"), "{text}");
        let token = text.split("\"token\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(token.len(), 32, "{text}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&file.path().metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(file.path(), text.replacen('{', "{\n  \"other\": 1,", 1)).unwrap();
        file.update(&mut |approvals| assert!(approvals.allow("main", "/bin/cat", "2".into(), 5))).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(text.contains("\"other\": 1") && text.contains(&token) && text.contains("/bin/ls"), "{text}");
    }

    #[test]
    fn a_file_that_cannot_be_read_allows_nothing_and_stays() {
        let (_home, file) = file(".yabby");
        std::fs::create_dir_all(file.path().parent().unwrap()).unwrap();
        for text in ["{ broken", "{\"version\": 2}"] {
            std::fs::write(file.path(), text).unwrap();
            assert!(file.read().is_err());
            assert!(file.update(&mut |_| {}).is_err());
            assert_eq!(std::fs::read_to_string(file.path()).unwrap(), text);
        }
        file.replace(Object::new()).unwrap();
        assert_eq!(file.read().unwrap().agents().count(), 0);
    }
}
