//! Hearing of every change of a memory's files (`memory.md` §4.3).
//!
//! Changes are heard of a moment after they happen. Whoever needs to know that nothing is on its way rings: a
//! file of our own is made where it is heard of, too, and everything that happened before it is heard before it.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::oneshot;

use crate::compat::files::{self, Kind};
use crate::compat::paths::extra_paths;
use crate::memory::Places;
use crate::news::{News, Told};

/// Whoever is not heard after this long is not listened to: one looks then.
const PATIENCE: Duration = Duration::from_millis(500);

/// Tells the news of a memory what happens to its files.
pub(crate) struct Watch {
    places: Places,
    ear: Arc<Ear>,
    watcher: Mutex<RecommendedWatcher>,
    rung: AtomicU64,
}

/// What hears, on a thread of the watcher's.
struct Ear {
    news: Arc<News>,
    roots: Roots,
    bell: Bell,
    /// Folders have come or gone, so that others have to be watched.
    has_moved: AtomicBool,
    /// The number of the watcher that counts. One that was replaced may hear the bell sooner than the new
    /// one hears what happened before.
    current: AtomicU64,
    /// Those who rang and wait; held for a line.
    waiting: Mutex<HashMap<PathBuf, oneshot::Sender<()>>>,
}

/// What is listened for, under every name that events may have it by.
struct Roots {
    /// Notes are these files, or below these folders.
    notes: Vec<PathBuf>,
    /// Transcripts are in these folders.
    transcripts: Vec<PathBuf>,
}

/// A folder of our own, which goes away with us.
struct Bell(PathBuf);

impl Drop for Bell {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Watch {
    /// Begins to listen. Nothing that happens from now on is missed.
    pub(crate) fn begin(places: &Places, news: Arc<News>) -> notify::Result<Self> {
        let bell = std::env::temp_dir().join(format!("yabby-bell-{}", uuid::Uuid::new_v4()));
        fs::create_dir(&bell).map_err(notify::Error::io)?;
        let ear = Arc::new(Ear {
            news,
            roots: Roots::of(places),
            bell: Bell(bell),
            has_moved: AtomicBool::new(false),
            current: AtomicU64::new(0),
            waiting: Mutex::default(),
        });
        let watcher = Mutex::new(watcher(places, &ear, 0)?);
        Ok(Self { places: places.clone(), ear, watcher, rung: AtomicU64::new(0) })
    }

    /// Waits until everything that has happened is heard of. Returns whether that can be relied on.
    pub(crate) async fn has_heard_everything(self: &Arc<Self>) -> bool {
        let name = self.ear.bell.0.join(self.rung.fetch_add(1, Ordering::Relaxed).to_string());
        let (sender, heard) = oneshot::channel();
        self.ear.waiting().insert(name.clone(), sender);
        let (watch, file) = (Arc::clone(self), name.clone());
        let rings = tokio::task::spawn_blocking(move || watch.ring(&file)).await;
        let heard = match rings {
            Ok(Ok(())) => tokio::time::timeout(PATIENCE, heard).await.is_ok_and(|heard| heard.is_ok()),
            Ok(Err(_)) | Err(_) => false,
        };
        self.ear.waiting().remove(&name);
        // Nobody looks at it again.
        let _ = fs::remove_file(&name);
        heard && !self.ear.has_moved.load(Ordering::Acquire)
    }

    fn ring(&self, file: &Path) -> io::Result<()> {
        // Held all the time: nobody rings while another one has the watcher changed.
        let mut known = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ear.has_moved.swap(false, Ordering::AcqRel) {
            // Anew, before anybody looks: nothing that happens meanwhile is missed.
            let number = self.ear.current.load(Ordering::Acquire) + 1;
            match watcher(&self.places, &self.ear, number) {
                Ok(new) => {
                    *known = new;
                    self.ear.current.store(number, Ordering::Release);
                }
                Err(problem) => {
                    self.ear.has_moved.store(true, Ordering::Release);
                    return Err(io::Error::other(problem));
                }
            }
            self.ear.news.tell(Told::Something);
        }
        let rung = fs::File::create_new(file).map(drop);
        drop(known);
        rung
    }
}

fn watcher(places: &Places, ear: &Arc<Ear>, number: u64) -> notify::Result<RecommendedWatcher> {
    let hears = Arc::clone(ear);
    let config = Config::default().with_follow_symlinks(false);
    let mut is_first = true;
    let hear = move |event| {
        if std::mem::take(&mut is_first) {
            give_way();
        }
        hears.hear(event, number);
    };
    let mut watcher = RecommendedWatcher::new(hear, config)?;
    watcher.watch(&ear.bell.0, RecursiveMode::NonRecursive)?;
    for (path, mode) in watched(places) {
        watcher.watch(&path, mode)?;
    }
    Ok(watcher)
}

/// Has the thread of a watcher wait for others. Whatever we write ourselves is heard of as well, several times a turn, and
/// nobody should wait for that.
fn give_way() {
    // Elsewhere it would be the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(10);
}

/// The folders to be watched. One that is not there is seen coming in the nearest one above it; a file is
/// watched in its folder, as editors replace files.
fn watched(places: &Places) -> Vec<(PathBuf, RecursiveMode)> {
    let mut watched: Vec<(PathBuf, RecursiveMode)> = Vec::new();
    let mut add = |path: &Path, mode: RecursiveMode| {
        let is_folder = files::kind_of(path) == Some(Kind::Folder) || mode == RecursiveMode::NonRecursive;
        let there = match is_folder && path.is_dir() {
            true => Some((path, mode)),
            false => {
                let above = path.ancestors().skip(1).find(|above| above.is_dir());
                above.map(|above| (above, RecursiveMode::NonRecursive))
            }
        };
        let Some((path, mode)) = there else { return };
        match watched.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) if mode == RecursiveMode::Recursive => *known = mode,
            Some(_) => {}
            None => watched.push((path.to_owned(), mode)),
        }
    };
    if places.has_notes {
        add(&places.workspace, RecursiveMode::NonRecursive);
        add(&places.workspace.join("memory"), RecursiveMode::Recursive);
        for extra in extras(places) {
            add(&extra, RecursiveMode::Recursive);
        }
    }
    if places.has_sessions {
        add(&places.transcripts, RecursiveMode::NonRecursive);
    }
    watched
}

fn extras(places: &Places) -> Vec<PathBuf> {
    let extra = extra_paths(&places.workspace.to_string_lossy(), &places.extra_paths);
    extra.into_iter().map(PathBuf::from).collect()
}

impl Roots {
    fn of(places: &Places) -> Self {
        let mut notes = Vec::new();
        if places.has_notes {
            notes.extend(["MEMORY.md", "memory.md", "memory"].map(|name| places.workspace.join(name)));
            notes.extend(extras(places));
        }
        let transcripts = if places.has_sessions { vec![places.transcripts.clone()] } else { Vec::new() };
        Self { notes: under_real_names(notes), transcripts: under_real_names(transcripts) }
    }

    fn are_below(&self, path: &Path) -> bool {
        self.notes.iter().chain(&self.transcripts).any(|root| root.starts_with(path))
    }
}

/// Some systems tell paths without links.
fn under_real_names(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let real: Vec<PathBuf> = paths
        .iter()
        .filter_map(|path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
        .filter(|real| !paths.contains(real))
        .collect();
    paths.extend(real);
    paths
}

impl Ear {
    fn hear(&self, event: notify::Result<Event>, watcher: u64) {
        let event = match event {
            Ok(event) if event.need_rescan() || event.paths.is_empty() => return self.something(),
            Ok(event) => event,
            // What cannot be told may be anything.
            Err(_) => return self.something(),
        };
        if event.kind.is_access() {
            return;
        }
        for path in &event.paths {
            match path.starts_with(&self.bell.0) {
                true => self.hear_bell(path, watcher),
                false => self.hear_of(path, &event.kind),
            }
        }
    }

    fn hear_bell(&self, path: &Path, watcher: u64) {
        if watcher == self.current.load(Ordering::Acquire)
            && let Some(waiting) = self.waiting().remove(path)
        {
            let _ = waiting.send(());
        }
    }

    fn hear_of(&self, path: &Path, kind: &EventKind) {
        let comes_or_goes = match kind {
            EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => true,
            EventKind::Modify(ModifyKind::Any) | EventKind::Any | EventKind::Other => true,
            EventKind::Modify(_) | EventKind::Access(_) => false,
        };
        if comes_or_goes && self.roots.are_below(path) && !self.is_note_file(path) {
            return self.something();
        }
        if self.roots.notes.iter().any(|root| path.starts_with(root)) {
            // What was in a folder before it was watched was not heard of.
            if comes_or_goes && files::kind_of(path) == Some(Kind::Folder) {
                return self.something();
            }
            self.news.tell(Told::Notes);
        }
        let in_transcripts = |folder: &PathBuf| path.parent() == Some(folder);
        if self.roots.transcripts.iter().any(in_transcripts)
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
            && name.ends_with(".jsonl")
        {
            self.news.tell(Told::Transcript(name.to_owned()));
        }
    }

    /// A note that is named itself, and no folder of notes.
    fn is_note_file(&self, path: &Path) -> bool {
        path.extension().is_some_and(|ending| ending == "md")
            && files::kind_of(path) != Some(Kind::Folder)
            && self.roots.notes.iter().any(|root| root == path)
    }

    /// Everything has to be looked at, and watched anew.
    fn something(&self) {
        self.has_moved.store(true, Ordering::Release);
        self.news.tell(Told::Something);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<PathBuf, oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
