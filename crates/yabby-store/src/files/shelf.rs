//! What an agent is told in writing, from its folders: the workspace, and the folders that skills lie in
//! (`sessions.md` §20).
//!
//! Skills are looked at again when something below their folders changes. A process that does not live long
//! enough to see that happen knows it by the times of the files.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use yabby_domain::bootstrap::{FILES, WorkspaceFile};
use yabby_domain::config::Config;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::session::path::user_path;
use yabby_domain::skills::{SkillFile, SkillSource, finding_order, is_skill_file};
use yabby_domain::text;

use super::folder::plain;
use super::workspace_file;
use crate::disk::no_wait;
use crate::file_state::FileState;

/// Where an agent's texts are.
#[derive(Clone, Debug, Default)]
pub struct ShelfPlaces {
    pub workspace: PathBuf,
    /// The skills that the owner installed for all agents.
    pub managed: PathBuf,
    /// The skills that come with the program.
    pub bundled: Option<PathBuf>,
    pub home: PathBuf,
    pub current: PathBuf,
    /// Where programs are looked for, as `PATH` says it.
    pub programs: Option<String>,
    /// The names of the variables that are set.
    pub variables: Vec<String>,
}

impl ShelfPlaces {
    /// The folders that skills lie in, the ones that count least first.
    pub fn folders(&self, config: &Config) -> Vec<(SkillSource, PathBuf)> {
        let listed = config.skills.load.extra_dirs.iter().flatten();
        let listed = listed.filter_map(|folder| text::non_blank(folder));
        let [home, current] = [&self.home, &self.current].map(|path| path.to_string_lossy().into_owned());
        let extra =
            listed.map(|folder| (SkillSource::Extra, PathBuf::from(user_path(folder, &home, &current))));
        let bundled = self.bundled.clone().map(|folder| (SkillSource::Bundled, folder));
        let managed = (SkillSource::Managed, self.managed.clone());
        let own = (SkillSource::Workspace, self.workspace.join("skills"));
        extra.chain(bundled).chain([managed, own]).collect()
    }
}

pub struct FolderShelf(Arc<Folders>);

struct Folders {
    places: ShelfPlaces,
    /// Shared with the thread that is told of changes.
    changed: Arc<AtomicBool>,
    known: Mutex<Known>,
    read: Mutex<Option<Read>>,
}

/// The files of the workspace as they were read last, and what they looked like before that.
struct Read {
    states: Vec<FileState>,
    files: Vec<WorkspaceFile>,
}

#[derive(Default)]
struct Known {
    watcher: Option<RecommendedWatcher>,
    /// The folders that were looked at.
    folders: Vec<PathBuf>,
    /// Whether somebody is to watch them.
    watches: bool,
    version: f64,
    files: Vec<SkillFile>,
}

/// The clock of a disk does not tell shorter times apart.
const MOMENT: Duration = Duration::from_millis(100);

/// Nobody writes a longer one, and the prompt has no room for more.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_SKILLS: usize = 500;
const DEEPEST: usize = 6;
const MOST_FOLDERS: usize = 5000;

impl FolderShelf {
    pub fn new(places: ShelfPlaces) -> Self {
        Self(Arc::new(Folders {
            places,
            changed: Arc::default(),
            known: Mutex::default(),
            read: Mutex::default(),
        }))
    }

    /// Every skill that lies somewhere, now.
    pub fn files(&self, config: &Config) -> Vec<SkillFile> {
        self.0.look(config).1
    }

    async fn look(&self, config: &Config) -> (f64, Vec<SkillFile>) {
        let (folders, config) = (self.0.clone(), config.clone());
        tokio::task::spawn_blocking(move || folders.look(&config)).await.unwrap_or_default()
    }
}

fn is_watching_wanted(config: &Config) -> bool {
    config.skills.load.watch()
}

impl Folders {
    /// The files of the workspace as they were read last, if they look as they did then.
    fn unchanged_files(&self) -> Option<Vec<WorkspaceFile>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.as_ref().filter(|read| read.states == self.states()).map(|read| read.files.clone())
    }

    fn states(&self) -> Vec<FileState> {
        FILES.iter().map(|name| FileState::of_readable(&self.places.workspace.join(name))).collect()
    }

    /// Reads the files of the workspace.
    fn read_files(&self) -> Vec<WorkspaceFile> {
        let workspace = &self.places.workspace;
        let states = self.states();
        let file = |name: &&str| {
            let path = workspace.join(name);
            WorkspaceFile {
                name: (*name).to_owned(),
                path: path.to_string_lossy().into_owned(),
                text: text_of(workspace, name),
            }
        };
        let files: Vec<WorkspaceFile> = FILES.iter().map(file).collect();
        // A file that changed just now may change once more and look the same.
        let can_be_told_apart = states.iter().all(|state| state.is_older_than(MOMENT));
        let read = can_be_told_apart.then(|| Read { states, files: files.clone() });
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = read;
        files
    }

    /// The version of what was last seen, if somebody watches and nothing has changed since.
    fn unchanged(&self, config: &Config) -> Option<f64> {
        let folders = self.places.folders(config);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = known.watcher.is_some()
            && known.watches == is_watching_wanted(config)
            && known.folders.iter().eq(folders.iter().map(|(_, path)| path))
            && !self.changed.load(Ordering::Acquire);
        is_same.then_some(known.version)
    }

    /// Looks through the folders, if anything may have changed since.
    fn look(&self, config: &Config) -> (f64, Vec<SkillFile>) {
        let folders = self.places.folders(config);
        let paths: Vec<PathBuf> = folders.iter().map(|(_, path)| path.clone()).collect();
        let wanted = is_watching_wanted(config);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = known.folders != paths || known.watches != wanted;
        let has_changed = self.changed.swap(false, Ordering::AcqRel);
        if is_first || has_changed || known.watcher.is_none() {
            if is_first || has_changed {
                // Anew, before looking: a folder that has come is watched itself from now on, and nothing that
                // happens meanwhile is missed.
                known.watcher = wanted.then(|| watcher(&paths, self.changed.clone())).flatten();
            }
            (known.folders, known.watches) = (paths, wanted);
            let (files, newest) = read(&folders);
            if files != known.files {
                // Later than any change that was seen, whatever the clock of the files says.
                known.version = newest.max(known.version + 1.0);
                known.files = files;
            } else {
                known.version = known.version.max(newest);
            }
        }
        (known.version, known.files.clone())
    }
}

/// Tells when something changes below the folders.
fn watcher(folders: &[PathBuf], changed: Arc<AtomicBool>) -> Option<RecommendedWatcher> {
    // Under the name that events have it by, too.
    let real = folders.iter().filter_map(|folder| folder.canonicalize().ok());
    let wanted: Vec<PathBuf> = folders.iter().cloned().chain(real).collect();
    let heard = move |event: notify::Result<notify::Event>| {
        let concerns =
            |path: &PathBuf| wanted.iter().any(|folder| folder.starts_with(path) || path.starts_with(folder));
        // What cannot be told is taken for a change.
        if event.as_ref().map_or(true, |event| {
            !event.kind.is_access() && (event.paths.is_empty() || event.paths.iter().any(concerns))
        }) {
            changed.store(true, Ordering::Release);
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    for folder in folders {
        // A folder that is made later is seen in the nearest one above it.
        let watched = match folder.is_dir() {
            true => watcher.watch(folder, RecursiveMode::Recursive),
            false => match folder.ancestors().skip(1).find(|above| above.is_dir()) {
                Some(above) => watcher.watch(above, RecursiveMode::NonRecursive),
                None => continue,
            },
        };
        // Too many are watched already: then one looks each time.
        watched.ok()?;
    }
    Some(watcher)
}

/// The skill files below the folders, and when the newest of them or of their folders changed.
fn read(folders: &[(SkillSource, PathBuf)]) -> (Vec<SkillFile>, f64) {
    let mut files = Vec::new();
    let mut walk = Walk::default();
    for (source, folder) in folders {
        walk.seen.clear();
        walk.enter(folder, "", 0);
        let mut found = std::mem::take(&mut walk.found);
        found.sort_by(|one, other| finding_order(one, other));
        for name in found.into_iter().take(MOST_SKILLS) {
            let path = folder.join(&name);
            if fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES)
                && let Ok(bytes) = read_ends(&path)
            {
                let text = text::from_outside(&text::lossy(&bytes)).into_owned();
                files.push(SkillFile { source: *source, path: path.to_string_lossy().into_owned(), text });
            }
        }
    }
    (files, walk.newest)
}

#[derive(Default)]
struct Walk {
    /// From the folder on.
    found: Vec<String>,
    newest: f64,
    /// Links may lead round in circles: no folder is gone into twice.
    seen: HashSet<(u64, u64)>,
}

impl Walk {
    fn enter(&mut self, folder: &Path, below: &str, depth: usize) {
        let Ok(meta) = fs::metadata(folder) else { return };
        if !self.seen.insert((meta.dev(), meta.ino())) || self.seen.len() > MOST_FOLDERS {
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        self.newest = self.newest.max(changed_at(&meta));
        let mut entries: Vec<_> = entries.flatten().collect();
        // Which of two ways to the same folder is taken does not depend on the disk.
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = entry.path();
            let relative = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
            if path.is_dir() {
                if !name.starts_with('.') && name != "node_modules" && depth < DEEPEST {
                    self.enter(&path, &relative, depth + 1);
                }
            } else if is_skill_file(&relative) {
                self.newest = self.newest.max(fs::metadata(&path).map_or(0.0, |meta| changed_at(&meta)));
                self.found.push(relative);
            }
        }
    }
}

/// In milliseconds since 1970. A time that is still to come tells nothing, and would hide every change until
/// then.
fn changed_at(meta: &fs::Metadata) -> f64 {
    let changed = meta.modified().ok().filter(|at| *at <= SystemTime::now());
    let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0.0, |since| (since.as_secs_f64() * 1000.0).floor())
}

/// A file of the workspace. A link is followed as long as it stays in there.
fn text_of(workspace: &Path, name: &str) -> Option<String> {
    let file = workspace_file::open(workspace, Path::new(name)).ok()?;
    Some(text::from_outside(&text::lossy(&ends_of(file).ok()?)).into_owned())
}

/// As much as is read of either end of a large file. No prompt tells more than a small part of that.
const END_BYTES: u64 = 1024 * 1024;

/// A file; of a large one its beginning and its end, with a note in between.
fn read_ends(path: &Path) -> io::Result<Vec<u8>> {
    ends_of(plain(fs::OpenOptions::new().read(true).custom_flags(no_wait()).open(path)?)?)
}

fn ends_of(mut file: fs::File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= 2 * END_BYTES {
        // It may grow while it is read.
        file.take(2 * END_BYTES).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    file.by_ref().take(END_BYTES).read_to_end(&mut bytes)?;
    let left_out = length - 2 * END_BYTES;
    bytes.extend_from_slice(format!("\n\n[… {left_out} bytes left out …]\n\n").as_bytes());
    file.seek(SeekFrom::Start(length - END_BYTES))?;
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[async_trait]
impl Shelf for FolderShelf {
    async fn workspace_files(&self) -> Vec<WorkspaceFile> {
        if let Some(files) = self.0.unchanged_files() {
            return files;
        }
        let folders = self.0.clone();
        tokio::task::spawn_blocking(move || folders.read_files()).await.unwrap_or_default()
    }

    async fn skills(&self, config: &Config) -> Vec<SkillFile> {
        self.look(config).await.1
    }

    async fn skills_version(&self, config: &Config) -> f64 {
        match self.0.unchanged(config) {
            Some(version) => version,
            None => self.look(config).await.0,
        }
    }

    fn has_program(&self, name: &str) -> bool {
        which::which_in(name, self.0.places.programs.as_deref(), &self.0.places.current).is_ok()
    }

    fn has_variable(&self, name: &str) -> bool {
        self.0.places.variables.iter().any(|known| known == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_large_file_only_the_ends_are_read() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("AGENTS.md");
        let file = fs::File::create(&path).unwrap();
        // It takes no room on the disk.
        file.set_len(500 * 1024 * 1024).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"begins", 0).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"ends", 500 * 1024 * 1024 - 4).unwrap();
        let bytes = read_ends(&path).unwrap();
        assert!(bytes.len() < 3 * 1024 * 1024, "{} bytes were read", bytes.len());
        assert!(bytes.starts_with(b"begins") && bytes.ends_with(b"ends"));
        assert!(text::lossy(&bytes).contains("bytes left out"));
        fs::write(&path, "small").unwrap();
        assert_eq!(read_ends(&path).unwrap(), b"small");
    }
}
