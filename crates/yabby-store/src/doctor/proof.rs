//! Proving that a repair lost nothing: an inventory from before, held against what there is afterwards.
//!
//! Every file is known by what it holds, every record by its key and value, every line of a transcript that
//! is mended by its text. Each must be found again: where it was, in a file set aside beside it, or in the
//! backup.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use yabby_domain::session::store_text::record_text;

use super::backup::place_of;
use super::examination::Plan;
use super::names::Name;
use super::wards::Ward;
use crate::disk::beside;
use crate::files::folder::open_plain;
use crate::files::sessions::Look;

/// What became of everything that could be read before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    pub records: usize,
    pub lines: usize,
    pub files: usize,
    /// Of the records and lines, how many are not where they were, but in a file set aside or in the backup.
    pub set_aside: usize,
    /// What is nowhere.
    pub missing: Vec<String>,
}

impl Proof {
    pub fn holds(&self) -> bool {
        self.missing.is_empty()
    }
}

/// The copies that a repair began with.
pub(super) struct Backup<'b> {
    pub(super) state: &'b Path,
    pub(super) folder: &'b Path,
}

impl Backup<'_> {
    fn copy_of(&self, file: &Path) -> PathBuf {
        self.folder.join(place_of(self.state, file))
    }

    /// The keys of a store as it was copied.
    fn keys_of(&self, store: &Path) -> HashSet<String> {
        Look::at(&self.copy_of(store)).map(|look| look.records().into_keys().collect()).unwrap_or_default()
    }
}

/// Enough of a digest to tell anything from anything else.
type Mark = [u8; 16];

/// What there was.
pub(super) struct Inventory {
    files: Vec<Known>,
    records: Vec<Record>,
}

struct Known {
    path: PathBuf,
    mark: Mark,
    length: u64,
    /// How many lines a transcript has that are not blank.
    lines: usize,
    /// Their marks, if the file is to be mended.
    marks: Vec<Mark>,
    /// Whoever is at work here may change it at any time, and it is not ours to touch.
    is_others: bool,
    /// Whoever writes the store makes its changes part of it, and removes it.
    is_journal: bool,
}

struct Record {
    key: String,
    mark: Mark,
    store: PathBuf,
    /// What it was read from.
    sources: Vec<Mark>,
    will_change: bool,
}

impl Inventory {
    pub(super) fn take(plan: &Plan) -> Self {
        let mended: HashSet<PathBuf> =
            plan.transcripts.iter().map(|patient| patient.folder.join(patient.id.file_name())).collect();
        let touched = plan.touched();
        let mut inventory = Self { files: Vec::new(), records: Vec::new() };
        for ward in &plan.wards {
            for path in files_of(ward) {
                let name = ward.meaning(&path);
                let Some(read) = Reading::of(&path, mended.contains(&path)) else { continue };
                let lines = if matches!(name, Name::Transcript(_)) { read.lines } else { 0 };
                let is_lasting =
                    matches!(name, Name::Transcript(_) | Name::Archive | Name::Metadata | Name::Foreign);
                let is_others = !is_lasting && !touched.contains(&path);
                let is_journal = name == Name::StoreJournal;
                let Reading { mark, length, marks, .. } = read;
                inventory.files.push(Known { path, mark, length, lines, marks, is_others, is_journal });
            }
            for store in ward.store_paths() {
                let Ok(look) = Look::at(&store) else { continue };
                let sources = [store.clone(), beside(&store, ".journal")];
                let sources: Vec<Mark> =
                    sources.iter().filter_map(|path| Some(Reading::of(path, false)?.mark)).collect();
                let will_change = touched.contains(&store);
                inventory.records.extend(look.records().into_iter().map(|(key, record)| {
                    let mark = mark(record_text(&record).as_bytes());
                    Record { key, mark, store: store.clone(), sources: sources.clone(), will_change }
                }));
            }
        }
        inventory
    }

    /// Looks for everything. Whoever is at work may have changed something after the inventory was taken, and
    /// before the backup was: then what they made of it is in the backup, and what it was is not ours to prove.
    pub(super) fn check(&self, plan: &Plan, backup: Option<&Backup<'_>>) -> Proof {
        let mut kept = HashSet::<Mark>::new();
        let mut now = HashMap::<PathBuf, Mark>::new();
        for path in plan.wards.iter().flat_map(files_of) {
            if let Some(read) = Reading::of(&path, false) {
                kept.insert(read.mark);
                now.insert(path, read.mark);
            }
        }
        for path in backup.map(|backup| files_below(backup.folder)).unwrap_or_default() {
            kept.extend(Reading::of(&path, false).map(|read| read.mark));
        }
        let mut proof = Proof::default();
        for known in &self.files {
            self.look_for_file(known, &now, &kept, backup, &mut proof);
        }
        let mut copied = HashMap::<&Path, HashSet<String>>::new();
        let mut live = HashMap::<String, HashSet<Mark>>::new();
        for store in plan.wards.iter().flat_map(Ward::store_paths) {
            let Ok(look) = Look::at(&store) else { continue };
            for (key, record) in look.records() {
                live.entry(key).or_default().insert(mark(record_text(&record).as_bytes()));
            }
        }
        for record in &self.records {
            proof.records += 1;
            let found = live.get(&record.key);
            if found.is_some_and(|marks| marks.contains(&record.mark)) {
                continue;
            }
            // A store that we do not touch belongs to whoever writes it meanwhile.
            if found.is_some() && !record.will_change {
                continue;
            }
            proof.set_aside += 1;
            let is_kept = !record.sources.is_empty() && record.sources.iter().all(|it| kept.contains(it));
            let copied = copied
                .entry(&record.store)
                .or_insert_with(|| backup.map(|backup| backup.keys_of(&record.store)).unwrap_or_default());
            if !is_kept && !copied.contains(&record.key) {
                proof.missing.push(format!("the record of {}", record.key));
            }
        }
        proof
    }

    fn look_for_file(
        &self,
        known: &Known,
        now: &HashMap<PathBuf, Mark>,
        kept: &HashSet<Mark>,
        backup: Option<&Backup<'_>>,
        proof: &mut Proof,
    ) {
        proof.files += 1;
        proof.lines += known.lines;
        let is_as_it_was = now.get(&known.path) == Some(&known.mark);
        if known.is_others
            || is_as_it_was
            || (now.contains_key(&known.path) && begins_with(&known.path, known))
        {
            return;
        }
        let is_kept = kept.contains(&known.mark);
        let lines = |path: &Path| Reading::of(path, true).map(|read| read.marks).unwrap_or_default();
        let here: HashSet<Mark> = lines(&known.path).into_iter().collect();
        let gone: Vec<&Mark> = known.marks.iter().filter(|line| !here.contains(*line)).collect();
        proof.set_aside += gone.len();
        let copy = backup.map(|backup| backup.copy_of(&known.path)).filter(|copy| copy.is_file());
        let is_copied = || {
            let Some(copy) = &copy else { return known.is_journal };
            let copied: HashSet<Mark> = lines(copy).into_iter().collect();
            gone.iter().all(|line| copied.contains(*line))
        };
        if !is_kept && (!gone.is_empty() || known.marks.is_empty()) && !is_copied() {
            proof.missing.push(known.path.display().to_string());
        }
    }
}

/// Whether a file begins with all that it was; somebody may have gone on with it.
fn begins_with(path: &Path, known: &Known) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut start = Vec::new();
    let read = file.take(known.length).read_to_end(&mut start);
    read.is_ok() && start.len() as u64 == known.length && mark(&start) == known.mark
}

/// What is told of a file by reading it.
struct Reading {
    mark: Mark,
    length: u64,
    lines: usize,
    marks: Vec<Mark>,
}

impl Reading {
    fn of(path: &Path, with_lines: bool) -> Option<Self> {
        let mut file = open_plain(path).ok()?;
        if with_lines {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
            let marks: Vec<Mark> = lines.map(|line| self::mark(line.trim_ascii())).collect();
            return Some(Self { mark: mark(&bytes), length: bytes.len() as u64, lines: marks.len(), marks });
        }
        let mut digest = Sha256::new();
        let mut piece = vec![0; 256 * 1024];
        let (mut length, mut lines, mut last) = (0, 0, b'\n');
        loop {
            let count = file.read(&mut piece).ok()?;
            let bytes = piece.get(..count).filter(|bytes| !bytes.is_empty());
            let Some(bytes) = bytes else { break };
            digest.update(bytes);
            length += count as u64;
            for byte in bytes {
                lines += usize::from(*byte != b'\n' && last == b'\n');
                last = *byte;
            }
        }
        Some(Self { mark: shortened(&digest.finalize()), length, lines, marks: Vec::new() })
    }
}

fn mark(bytes: &[u8]) -> Mark {
    shortened(&Sha256::digest(bytes))
}

fn shortened(digest: &[u8]) -> Mark {
    let mut mark = Mark::default();
    mark.iter_mut().zip(digest).for_each(|(to, from)| *to = *from);
    mark
}

/// The files of a folder of sessions, but for locks.
fn files_of(ward: &Ward) -> Vec<PathBuf> {
    let entries = fs::read_dir(&ward.folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let files = files.filter(|entry| {
        let name = ward.meaning(&entry.path());
        let is_of_lock = matches!(&name, Name::Draft { of, .. } if of.ends_with(".lock"));
        ward.is_ours(&name) && !is_of_lock && !matches!(name, Name::StoreLock | Name::TranscriptLock(_))
    });
    files.map(|entry| entry.path()).chain(ward.older_store.clone().filter(|store| store.is_file())).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files
}
