//! What an agent is told in writing, from its folders: the workspace, and the folders that skills lie in
//! (`sessions.md` §20).
//!
//! Skills are looked at again when something below their folders changes. A process that does not live long
//! enough to see that happen knows it by the times of the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use yabby_domain::bootstrap::{FILES, WorkspaceFile};
use yabby_domain::config::Config;
use yabby_domain::json::Value;
use yabby_domain::seam::shelf::Shelf;
use yabby_domain::session::path::user_path;
use yabby_domain::skills::{SkillFile, SkillSource, finding_order, is_skill_file};
use yabby_domain::text;

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
        let listed = config.list(&["skills", "load", "extraDirs"]).unwrap_or_default().iter();
        let listed = listed.filter_map(Value::as_str).filter_map(text::non_blank);
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
}

#[derive(Default)]
struct Known {
    watcher: Option<RecommendedWatcher>,
    /// The folders that were looked at.
    folders: Vec<PathBuf>,
    version: f64,
    files: Vec<SkillFile>,
}

/// Nobody writes a longer one, and the prompt has no room for more.
const MOST_BYTES: u64 = 256 * 1024;
const MOST_SKILLS: usize = 500;
const DEEPEST: usize = 6;

impl FolderShelf {
    pub fn new(places: ShelfPlaces) -> Self {
        Self(Arc::new(Folders { places, changed: Arc::default(), known: Mutex::default() }))
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

impl Folders {
    /// Looks through the folders, if anything may have changed since.
    fn look(&self, config: &Config) -> (f64, Vec<SkillFile>) {
        let folders = self.places.folders(config);
        let paths: Vec<PathBuf> = folders.iter().map(|(_, path)| path.clone()).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = known.folders != paths;
        if is_first {
            let wanted = config.flag(&["skills", "load", "watch"]) != Some(false);
            known.watcher = wanted.then(|| watcher(&paths, self.changed.clone())).flatten();
            known.folders = paths;
        }
        let may_have_changed = self.changed.swap(false, Ordering::AcqRel) || known.watcher.is_none();
        if is_first || may_have_changed {
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

/// Tells when something changes below the folders that exist.
fn watcher(folders: &[PathBuf], changed: Arc<AtomicBool>) -> Option<RecommendedWatcher> {
    let heard = move |event: notify::Result<notify::Event>| {
        // What cannot be told is taken for a change.
        if event.as_ref().map_or(true, |event| !event.kind.is_access()) {
            changed.store(true, Ordering::Release);
        }
    };
    let mut watcher = notify::recommended_watcher(heard).ok()?;
    for folder in folders {
        // A folder that is made later is seen in the one above it.
        let watched = match folder.is_dir() {
            true => watcher.watch(folder, RecursiveMode::Recursive),
            false => match folder.parent().filter(|parent| parent.is_dir()) {
                Some(parent) => watcher.watch(parent, RecursiveMode::NonRecursive),
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
    let mut newest = 0.0_f64;
    for (source, folder) in folders {
        let mut found = Vec::new();
        walk(folder, "", 0, &mut found, &mut newest);
        found.sort_by(|one, other| finding_order(one, other));
        for name in found.into_iter().take(MOST_SKILLS) {
            let path = folder.join(&name);
            if fs::metadata(&path).is_ok_and(|meta| meta.is_file() && meta.len() <= MOST_BYTES)
                && let Ok(bytes) = fs::read(&path)
            {
                let text = text::from_outside(&text::lossy(&bytes)).into_owned();
                files.push(SkillFile { source: *source, path: path.to_string_lossy().into_owned(), text });
            }
        }
    }
    (files, newest)
}

fn walk(folder: &Path, below: &str, depth: usize, found: &mut Vec<String>, newest: &mut f64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    *newest = newest.max(changed_at(folder));
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        let relative = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if path.is_dir() {
            if !name.starts_with('.') && name != "node_modules" && depth < DEEPEST {
                walk(&path, &relative, depth + 1, found, newest);
            }
        } else if is_skill_file(&relative) {
            *newest = newest.max(changed_at(&path));
            found.push(relative);
        }
    }
}

/// In milliseconds since 1970.
fn changed_at(path: &Path) -> f64 {
    let changed = fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0.0, |since| (since.as_secs_f64() * 1000.0).floor())
}

#[async_trait]
impl Shelf for FolderShelf {
    async fn workspace_files(&self) -> Vec<WorkspaceFile> {
        let workspace = self.0.places.workspace.clone();
        let reading = move || {
            let file = |name: &&str| {
                let path = workspace.join(name);
                let bytes = fs::symlink_metadata(&path)
                    .ok()
                    .filter(fs::Metadata::is_file)
                    .and_then(|_| fs::read(&path).ok());
                WorkspaceFile {
                    name: (*name).to_owned(),
                    path: path.to_string_lossy().into_owned(),
                    text: bytes.map(|bytes| text::from_outside(&text::lossy(&bytes)).into_owned()),
                }
            };
            FILES.iter().map(file).collect()
        };
        tokio::task::spawn_blocking(reading).await.unwrap_or_default()
    }

    async fn skills(&self, config: &Config) -> Vec<SkillFile> {
        self.look(config).await.1
    }

    async fn skills_version(&self, config: &Config) -> f64 {
        self.look(config).await.0
    }

    fn has_program(&self, name: &str) -> bool {
        which::which_in(name, self.0.places.programs.as_deref(), &self.0.places.current).is_ok()
    }

    fn has_variable(&self, name: &str) -> bool {
        self.0.places.variables.iter().any(|known| known == name)
    }
}
