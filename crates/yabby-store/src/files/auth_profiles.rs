//! `auth-profiles.json`: the keys and tokens of an agent's providers, shared with OpenClaw
//! (`state-files.md` §1).
//!
//! An agent also has the main agent's profiles, as far as its own file does not name the same; what is
//! learnt about any of them is written to its own. Both programs take a lock, a folder beside the file,
//! before they change it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use yabby_domain::auth::AuthProfiles;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;

use super::atomic::Draft;
use super::folder::read_plain;
use super::lock_folder::LockFolder;
use crate::disk::{Disk, Doing, beside, shown};

/// The profiles of one agent.
#[derive(Clone)]
pub struct AuthProfileFile {
    path: PathBuf,
    /// The main agent's, for every other agent.
    main: Option<PathBuf>,
    /// Where signing in was kept in earlier releases.
    old_sign_ins: PathBuf,
    disk: Arc<dyn Disk>,
}

impl AuthProfileFile {
    /// For an agent whose folder is `folder`; `main` is the main agent's, and `state` holds everything.
    pub fn of(folder: &Path, main: &Path, state: &Path, disk: Arc<dyn Disk>) -> Self {
        let file = |folder: &Path| folder.join("auth-profiles.json");
        Self {
            path: file(folder),
            main: (folder != main).then(|| file(main)),
            old_sign_ins: state.join("credentials/oauth.json"),
            disk,
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All profiles that the agent may use.
    pub fn read(&self) -> Result<AuthProfiles, StoreError> {
        let own = self.own(&self.path)?;
        Ok(match &self.main {
            Some(main) => own.over(&self.own(main)?),
            None => own,
        })
    }

    /// Changes the agent's own file. What the change is told of the main agent's profiles becomes its own.
    pub fn update(&self, change: impl FnOnce(&mut AuthProfiles)) -> Result<(), StoreError> {
        if let Some(folder) = self.path.parent().filter(|folder| !folder.exists()) {
            self.disk.create_folder(folder).doing("create", folder)?;
        }
        let _lock = LockFolder::take(&beside(&self.path, ".lock"))?;
        let mut profiles = self.read()?;
        change(&mut profiles);
        Draft::write(&*self.disk, &self.path, profiles.text().as_bytes())?.place()?;
        Ok(())
    }

    /// The profiles of one file, or of the files that earlier releases kept instead.
    fn own(&self, path: &Path) -> Result<AuthProfiles, StoreError> {
        if let Some(text) = text_of(path)? {
            let damaged =
                || StoreError::Damaged { path: shown(path), what: "it holds no profiles".to_owned() };
            return AuthProfiles::parse(&text).ok_or_else(damaged);
        }
        let mut profiles = Object::new();
        let sign_ins = text_of(&self.old_sign_ins)?.map(|text| (text, Some("oauth")));
        let older = text_of(&path.with_file_name("auth.json"))?.map(|text| (text, None));
        for (text, kind) in [sign_ins, older].into_iter().flatten() {
            let found = json::parse_json5(&text);
            for (provider, credential) in found.as_ref().and_then(Value::as_object).into_iter().flatten() {
                let Some(mut credential) = credential.as_object().cloned() else { continue };
                credential.entry("provider".to_owned()).or_insert_with(|| provider.as_str().into());
                if let Some(kind) = kind {
                    credential.entry("type".to_owned()).or_insert_with(|| kind.into());
                }
                profiles.insert(format!("{provider}:default"), Value::Object(credential));
            }
        }
        let mut file = Object::new();
        file.insert("version".to_owned(), 1.into());
        file.insert("profiles".to_owned(), Value::Object(profiles));
        Ok(AuthProfiles::parse(&json::stringify_object(&file)).unwrap_or_default())
    }
}

fn text_of(path: &Path) -> Result<Option<String>, StoreError> {
    match read_plain(path) {
        Ok(bytes) => Ok(Some(lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).doing("read", path),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::disk::LocalDisk;

    fn files() -> (tempfile::TempDir, AuthProfileFile, AuthProfileFile) {
        let state = tempfile::tempdir().unwrap();
        let [main, ops] = ["main", "ops"].map(|agent| state.path().join("agents").join(agent).join("agent"));
        let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
        let main_file = AuthProfileFile::of(&main, &main, state.path(), disk.clone());
        let ops_file = AuthProfileFile::of(&ops, &main, state.path(), disk);
        (state, main_file, ops_file)
    }

    #[test]
    fn what_is_learnt_about_a_profile_is_kept_in_the_agents_own_file() {
        let (_state, main, ops) = files();
        assert_eq!(main.read().unwrap(), AuthProfiles::default());
        let text = r#"{"version":1,"profiles":{"a:b":{"type":"api_key","provider":"a","key":"k"}}}"#;
        std::fs::create_dir_all(main.path().parent().unwrap()).unwrap();
        std::fs::write(main.path(), text).unwrap();
        ops.update(|profiles| profiles.succeeded("a:b", 5.0)).unwrap();
        assert_eq!(std::fs::read_to_string(main.path()).unwrap(), text);
        let own = std::fs::read_to_string(ops.path()).unwrap();
        assert!(own.contains("\"lastUsed\": 5"), "{own}");
        assert!(!beside(ops.path(), ".lock").exists());
        let mode = std::os::unix::fs::PermissionsExt::mode(&ops.path().metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_written_over() {
        let (_state, main, _) = files();
        std::fs::create_dir_all(main.path().parent().unwrap()).unwrap();
        std::fs::write(main.path(), "{ broken").unwrap();
        assert!(matches!(main.update(|_| {}), Err(StoreError::Damaged { .. })));
        assert_eq!(std::fs::read_to_string(main.path()).unwrap(), "{ broken");
    }

    #[test]
    fn keys_of_earlier_releases_are_found() {
        let (state, main, _) = files();
        std::fs::create_dir_all(main.path().parent().unwrap()).unwrap();
        std::fs::write(main.path().with_file_name("auth.json"), r#"{"x":{"type":"api_key","key":"k"}}"#)
            .unwrap();
        std::fs::create_dir_all(state.path().join("credentials")).unwrap();
        std::fs::write(state.path().join("credentials/oauth.json"), r#"{"y":{"access":"a","expires":9}}"#)
            .unwrap();
        let found = main.read().unwrap();
        assert_eq!(found.credential("x:default").map(|found| found.kind()), Some("api_key"));
        assert_eq!(found.credential("y:default").map(|found| found.kind()), Some("oauth"));
    }

    #[test]
    fn a_lock_that_was_left_behind_is_taken_over() {
        let (_state, main, _) = files();
        let lock = beside(main.path(), ".lock");
        std::fs::create_dir_all(&lock).unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::open(&lock).unwrap().set_modified(old).unwrap();
        main.update(|_| {}).unwrap();
        assert!(main.path().exists() && !lock.exists());
    }
}
