//! Records for transcripts that nobody speaks of (`sessions.md` §5, §7).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use yabby_domain::json::{self, Object, Value};
use yabby_domain::seam::StoreError;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::salvage::Survey;
use yabby_domain::session::store_journal::{ChangeKind, Line};
use yabby_domain::text::lossy;
use yabby_domain::transcript::file_name::{TranscriptId, session_in};
use yabby_domain::transcript::listing::{holds_messages, last_said};

use super::Work;
use crate::disk::{beside, parent, shown};
use crate::doctor::backup::place_of;
use crate::doctor::names::{Name, meaning};
use crate::doctor::transcripts::read;
use crate::doctor::wards::Ward;
use crate::files::sessions::SessionFile;

/// A record to be made.
pub(super) struct Recovered {
    pub(super) key: String,
    pub(super) entry: SessionEntry,
    pub(super) file: PathBuf,
}

impl Work<'_> {
    /// The records that the orphans of a store should have: the one that a copy of the store remembers, or
    /// one made from the transcript.
    pub(super) fn recovered_records(
        &self,
        store: &Path,
        file: &SessionFile,
    ) -> Result<Vec<Recovered>, StoreError> {
        let orphans = self.plan.orphans.iter().filter_map(|orphan| {
            let ward = self.plan.wards.get(orphan.ward).filter(|ward| ward.store == store)?;
            Some((ward, &orphan.id))
        });
        let orphans: Vec<_> = orphans.collect();
        if orphans.is_empty() {
            return Ok(Vec::new());
        }
        let remembered = remembered(self.doctor.place.folder.path(), store);
        let records = file.list_blocking()?;
        let mut taken: HashSet<String> = records.iter().map(|(key, _)| key.as_str().to_owned()).collect();
        // While all was examined, a conversation may have begun: first its file was seen, then its record.
        let spoken_of: HashSet<String> = records.iter().filter_map(|(_, entry)| file_of(entry)).collect();
        let mut recovered = Vec::new();
        for (ward, id) in orphans {
            if spoken_of.contains(&id.file_name()) {
                continue;
            }
            let path = ward.folder.join(id.file_name());
            let bytes = match read(&path)? {
                Some(bytes) => bytes,
                None => read(&beside(&path, ".journal"))?.unwrap_or_default(),
            };
            let text = lossy(&bytes);
            // Mending may have shown that it is none.
            if !holds_messages(&text) {
                continue;
            }
            let name = id.file_name();
            let session = session_in(&name);
            let known = remembered.get(session).filter(|(key, _)| !taken.contains(key));
            let (key, fields) = match known {
                Some((key, fields)) => (key.clone(), fields.clone()),
                None => (free_key(ward, session, id.as_str(), &taken), Object::new()),
            };
            let updated = last_said(&text).or_else(|| modified(&path));
            let entry = record(fields, session, updated, &path);
            taken.insert(key.clone());
            recovered.push(Recovered { key, entry, file: path });
        }
        Ok(recovered)
    }
}

/// The name of the file that a record speaks of.
fn file_of(entry: &SessionEntry) -> Option<String> {
    Some(TranscriptId::of_record(entry).ok()?.file_name())
}

fn free_key(ward: &Ward, session: &str, name: &str, taken: &HashSet<String>) -> String {
    let mut number = 1_u32;
    let mut key = format!("agent:{}:recovered:{}", ward.agent, session.to_lowercase());
    while taken.contains(&key) {
        key = format!("agent:{}:recovered:{}", ward.agent, name.to_lowercase());
        if number > 1 {
            key = format!("{key}-{number}");
        }
        number += 1;
    }
    key
}

fn record(mut fields: Object, session: &str, updated: Option<f64>, path: &Path) -> SessionEntry {
    fields.insert("sessionId".to_owned(), session.into());
    let remembered = fields.get("updatedAt").and_then(Value::as_f64);
    let updated = remembered.or(updated).unwrap_or_default().floor();
    fields.insert("updatedAt".to_owned(), json::number(updated));
    let is_by_default =
        path.file_name().is_some_and(|name| name.to_string_lossy() == format!("{session}.jsonl"));
    if is_by_default {
        fields.shift_remove("sessionFile");
    } else {
        fields.insert("sessionFile".to_owned(), shown(path).into());
    }
    SessionEntry::new(fields)
}

fn modified(path: &Path) -> Option<f64> {
    let time = path.metadata().ok()?.modified().ok()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64() * 1000.0)
}

/// Key and record of every session that copies of a store, its drafts, its journals and earlier backups
/// remember; of two the one that was changed last.
fn remembered(state: &Path, store: &Path) -> HashMap<String, (String, Object)> {
    let mut remembered = HashMap::<String, (String, Object)>::new();
    let mut remember = |key: &str, fields: &Object| {
        let Some(session) = fields.get("sessionId").and_then(Value::as_str) else { return };
        let updated = |fields: &Object| fields.get("updatedAt").and_then(Value::as_f64).unwrap_or_default();
        let is_newer = remembered.get(session).is_none_or(|(_, known)| updated(known) < updated(fields));
        if is_newer {
            remembered.insert(session.to_owned(), (key.to_owned(), fields.clone()));
        }
    };
    for path in copies_of(state, store) {
        let Ok(Some(bytes)) = read(&path) else { continue };
        let text = lossy(&bytes);
        for line in text.lines().filter_map(Line::parse) {
            if let Line::Change(change) = line
                && let ChangeKind::Begun(entry) = change.kind
            {
                remember(&change.key, entry.as_object());
            }
        }
        for found in Survey::of(&text).records {
            if let Some(fields) = found.record.fields() {
                remember(&found.key, fields);
            }
        }
    }
    remembered
}

/// Files that hold what a store held once.
fn copies_of(state: &Path, store: &Path) -> Vec<PathBuf> {
    let names = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let backups = names(&state.join("backups")).map(|backup| backup.path().join(place_of(state, store)));
    let name = store.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside_it = names(parent(store)).filter(|entry| {
        let other = entry.file_name().to_string_lossy().into_owned();
        let is_copy =
            matches!(meaning(&other, &[&name]), Name::Archive | Name::Draft { .. } | Name::Unapplied);
        is_copy && other.starts_with(&name)
    });
    backups.chain(beside_it.map(|entry| entry.path())).collect()
}
